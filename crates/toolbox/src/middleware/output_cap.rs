//! Limits the size of every result. Longer text is saved to a file, and the result points to it.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use model::Block;
use tool::{CallContext, CallInput, Error, Output};

use crate::middleware::{Middleware, WrappedTool};
use crate::support::spill::Spill;

/// Limits the size of results. The text that is cut goes to the spill directory.
pub(crate) struct OutputCapped(pub(crate) Spill);

impl Middleware for OutputCapped {
    fn run(
        wrapped: Arc<WrappedTool<Self>>,
        input: CallInput,
        context: CallContext,
    ) -> BoxFuture<'static, Result<Output, Error>> {
        let running = Arc::clone(&wrapped.tool).run(input, context);
        async move {
            let name = &wrapped.tool.spec().name;
            let most = wrapped.tool.facts().cap.result;
            match running.await {
                Ok(mut output) => {
                    output.content = shorten(output.content, name, most, &wrapped.middleware.0);
                    Ok(output)
                }
                Err(Error::Failed(why)) => Err(Error::Failed(wrapped.middleware.0.shorten(name, why, most))),
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
