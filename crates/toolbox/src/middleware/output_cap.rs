//! Limits the size of every result, and removes keys from errors. Longer text is saved to a file, and the result points
//! to it. Paths in titles are relative to the project.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use model::Block;
use tool::{CallContext, CallInput, DynTool, Error, Output, ToolKind};

use crate::middleware::{Middleware, WrappedTool};
use crate::support::spill::Spill;

/// Limits the size of results, and removes keys from errors.
pub(crate) struct OutputCapped {
    /// Receives the text that is cut.
    pub(crate) spill: Spill,
    /// The keys, the longest first.
    pub(crate) secrets: Arc<[String]>,
    /// The project's root with a final slash; it is removed from the paths in titles.
    pub(crate) root: Arc<str>,
}

impl OutputCapped {
    fn redact(&self, mut text: String) -> String {
        for secret in self.secrets.iter() {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), "[secret]");
            }
        }
        text
    }
}

impl Middleware for OutputCapped {
    fn title(&self, tool: &dyn DynTool, input: &CallInput) -> String {
        let title = tool.title(input);
        // A command is shown as it runs.
        if tool.facts().kind == ToolKind::Execute || !title.contains(&*self.root) {
            return title;
        }
        let words = title
            .split(' ')
            .map(|word| word.strip_prefix(&*self.root).unwrap_or(word));
        words.collect::<Vec<_>>().join(" ")
    }

    fn run(
        wrapped: Arc<WrappedTool<Self>>,
        input: CallInput,
        context: CallContext,
    ) -> BoxFuture<'static, Result<Output, Error>> {
        let running = Arc::clone(&wrapped.tool).run(input, context);
        async move {
            let name = &wrapped.tool.spec().name;
            let most = wrapped.tool.facts().cap.result;
            let cap = &wrapped.middleware;
            match running.await {
                Ok(mut output) => {
                    output.content = shorten(output.content, name, most, &cap.spill);
                    Ok(output)
                }
                Err(Error::Failed(why)) => Err(Error::Failed(cap.spill.shorten(name, cap.redact(why), most))),
                Err(other @ Error::Input { .. }) => Err(other),
            }
        }
        .boxed()
    }
}

/// Limits the text of all blocks to `most` bytes in total.
fn shorten(blocks: Vec<Block>, name: &str, most: usize, spill: &Spill) -> Vec<Block> {
    let mut left = most;
    let shortened = blocks.into_iter().map(|block| match block {
        Block::Text { text } => {
            // Every block shows at least some text.
            let text = spill.shorten(name, text, left.max(most / 16));
            left = left.saturating_sub(text.len());
            Block::Text { text }
        }
        media @ Block::Media(_) => media,
    });
    shortened.collect()
}
