//! Shows what calls will change while the model still writes them.

use crate::Previews;
use model::{CallId, Chunk};
use session::{Delta, Glimpse, Op, Sight};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use tool::{Preview, Registry};

/// The calls of a reply that can be previewed.
pub(crate) struct Watching {
    previews: Previews,
    /// Never contended: the lock only makes a preview, which need not be `Sync`, shareable.
    calls: HashMap<CallId, Mutex<Box<dyn Preview>>>,
}

impl Watching {
    pub(crate) fn new(previews: Previews) -> Self {
        Watching {
            previews,
            calls: HashMap::new(),
        }
    }

    /// What the next chunk lets one see.
    pub(crate) fn see(&mut self, chunk: &Chunk, tools: &Registry) -> Vec<Delta> {
        if self.previews == Previews::Skip {
            return Vec::new();
        }
        match chunk {
            Chunk::ToolStart { id, name } => {
                let watch = AssertUnwindSafe(|| tools.get(name).and_then(|tool| tool.preview()));
                if let Ok(Some(preview)) = catch_unwind(watch) {
                    self.calls.insert(id.clone(), Mutex::new(preview));
                }
                Vec::new()
            }
            Chunk::ToolInput { id, delta } => {
                let preview = self.calls.get_mut(id).and_then(|preview| preview.get_mut().ok());
                let look = AssertUnwindSafe(|| preview.map(|preview| preview.push(delta)).unwrap_or_default());
                // A preview that breaks on what a model writes is given up; the session goes on.
                let Ok(glimpses) = catch_unwind(look) else {
                    self.calls.remove(id);
                    return Vec::new();
                };
                glimpses
                    .into_iter()
                    .map(|glimpse| Delta::Preview {
                        call: id.clone(),
                        glimpse: shown(glimpse),
                    })
                    .collect()
            }
            Chunk::ToolEnd { id } => {
                self.calls.remove(id);
                Vec::new()
            }
            Chunk::Text(_)
            | Chunk::Thinking(_)
            | Chunk::Replay { .. }
            | Chunk::Usage(_)
            | Chunk::Cost(_)
            | Chunk::Notice(_)
            | Chunk::Sent(_)
            | Chunk::Stop(_) => Vec::new(),
        }
    }
}

fn shown(glimpse: tool::Glimpse) -> Glimpse {
    let sight = match glimpse.sight {
        tool::Sight::Resolving { first_line, last_line } => Sight::Resolving { first_line, last_line },
        tool::Sight::Ambiguous { lines } => Sight::Ambiguous { lines },
        tool::Sight::Unresolved => Sight::Unresolved,
        tool::Sight::Edited { first_line, ops } => Sight::Edited {
            first_line,
            ops: ops.into_iter().map(operation).collect(),
        },
        tool::Sight::Finished => Sight::Finished,
    };
    Glimpse {
        edit: glimpse.edit,
        path: glimpse.path,
        sight,
    }
}

fn operation(op: tool::Op) -> Op {
    match op {
        tool::Op::Keep(bytes) => Op::Keep(bytes),
        tool::Op::Delete(bytes) => Op::Delete(bytes),
        tool::Op::Insert(text) => Op::Insert(text),
    }
}
