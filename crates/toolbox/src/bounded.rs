//! Bounds every tool's answer: what is longer than its row in the table of caps goes to a file, with a pointer to it.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use model::{Block, ToolSpec};
use policy::Action;
use serde_json::Value;
use tool::{Context, DynTool, Effect, Error, Output, Preview, Registry};

use crate::caps;
use crate::spill::Spill;

/// A tool whose answers are bounded.
pub(crate) struct Bounded {
    tool: Arc<dyn DynTool>,
    spill: Spill,
}

impl Bounded {
    pub(crate) fn new(tool: Arc<dyn DynTool>, spill: &Spill) -> Self {
        Bounded {
            tool,
            spill: spill.clone(),
        }
    }
}

impl DynTool for Bounded {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn aliases(&self) -> &[&'static str] {
        self.tool.aliases()
    }

    fn effect(&self) -> Effect {
        self.tool.effect()
    }

    fn title(&self, input: &Value) -> String {
        self.tool.title(input)
    }

    fn actions(&self, input: &Value) -> Result<Vec<Action>, Error> {
        self.tool.actions(input)
    }

    fn preview(&self) -> Option<Box<dyn Preview>> {
        self.tool.preview()
    }

    fn resolve(&self, input: &Value, tools: &Registry) -> Option<(Arc<dyn DynTool>, Value)> {
        self.tool.resolve(input, tools)
    }

    fn run(self: Arc<Self>, input: Value, context: Context) -> BoxFuture<'static, Result<Output, Error>> {
        let running = Arc::clone(&self.tool).run(input, context);
        async move {
            let name = &self.tool.spec().name;
            let most = caps::of(name).answer;
            match running.await {
                Ok(mut output) => {
                    output.content = shorten(output.content, name, most, &self.spill);
                    Ok(output)
                }
                Err(Error::Failed(why)) => Err(Error::Failed(self.spill.shorten(name, why, most))),
                Err(other @ Error::Input { .. }) => Err(other),
            }
        }
        .boxed()
    }
}

/// The same blocks, with at most so many bytes of text in all.
fn shorten(blocks: Vec<Block>, name: &str, most: usize, spill: &Spill) -> Vec<Block> {
    let mut left = most;
    let shortened = blocks.into_iter().map(|block| match block {
        Block::Text { text } => {
            // However much there was before, something of each text is shown.
            let text = spill.shorten(name, text, left.max(most / 16));
            left = left.saturating_sub(text.len());
            Block::Text { text }
        }
        media @ Block::Media(_) => media,
    });
    shortened.collect()
}
