//! Previews of the changes that calls will make, while the model writes them.

use crate::Previews;
use model::{CallId, Chunk};
use session::ItemDelta;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use tool::{CallPreview, Registry};

/// The previewable calls of a reply.
pub(crate) struct CallPreviews {
    previews: Previews,
    /// Never contended: the lock makes a preview, which is not `Sync`, shareable.
    calls: HashMap<CallId, Mutex<Box<dyn CallPreview>>>,
}

impl CallPreviews {
    pub(crate) fn new(previews: Previews) -> Self {
        CallPreviews {
            previews,
            calls: HashMap::new(),
        }
    }

    /// Returns the preview updates for the next chunk.
    pub(crate) fn observe(&mut self, chunk: &Chunk, tools: &Registry) -> Vec<ItemDelta> {
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
                // A preview that panics is removed; the session continues.
                let Ok(glimpses) = catch_unwind(look) else {
                    self.calls.remove(id);
                    return Vec::new();
                };
                glimpses
                    .into_iter()
                    .map(|glimpse| ItemDelta::Preview {
                        call: id.clone(),
                        update: glimpse,
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
            | Chunk::PromptSize(_)
            | Chunk::Stop(_) => Vec::new(),
        }
    }
}
