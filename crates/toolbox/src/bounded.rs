//! Bounds every tool's answer: what is longer than its row in the table of caps goes to a file, with a pointer to it.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use model::Block;
use serde_json::Value;
use tool::{Context, Error, Output};

use crate::around::{Around, Wrap};
use crate::caps;
use crate::spill::Spill;

/// A bound for a tool's answers, and where the rest of them goes.
pub(crate) struct Bounded(pub(crate) Spill);

impl Wrap for Bounded {
    fn run(around: Arc<Around<Self>>, input: Value, context: Context) -> BoxFuture<'static, Result<Output, Error>> {
        let running = Arc::clone(&around.tool).run(input, context);
        async move {
            let name = &around.tool.spec().name;
            let most = caps::of(name).answer;
            match running.await {
                Ok(mut output) => {
                    output.content = shorten(output.content, name, most, &around.wrap.0);
                    Ok(output)
                }
                Err(Error::Failed(why)) => Err(Error::Failed(around.wrap.0.shorten(name, why, most))),
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
