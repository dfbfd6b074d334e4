//! Saves the draft shortly after the last key, so that a crash does not lose it.

use crate::backend::Backend;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Delay between a change and saving.
const SAVE_DELAY: Duration = Duration::from_millis(400);

/// Saves drafts.
#[derive(Default)]
pub(crate) struct DraftSaver {
    /// The newest unsaved text. `Some` while a save is scheduled.
    unsaved: Arc<Mutex<Option<String>>>,
}

impl DraftSaver {
    /// Schedules a save; later changes until then are included.
    pub(crate) fn schedule(&self, text: String, backend: &Arc<dyn Backend>) {
        let mut waiting = self.unsaved.lock().unwrap_or_else(PoisonError::into_inner);
        let under_way = waiting.replace(text).is_some();
        if under_way || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let (slot, backend) = (Arc::clone(&self.unsaved), Arc::clone(backend));
        tokio::spawn(async move {
            tokio::time::sleep(SAVE_DELAY).await;
            let text = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(text) = text {
                backend.save_draft(text);
            }
        });
    }

    /// Saves the draft now.
    pub(crate) fn flush(&self, backend: &dyn Backend) {
        let text = self.unsaved.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(text) = text {
            backend.save_draft(text);
        }
    }
}
