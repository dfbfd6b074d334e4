//! What is being written is kept, a moment after the last key, so that a crash does not lose it.

use crate::house::House;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long after a change the draft is kept.
const BEHIND: Duration = Duration::from_millis(400);

/// Keeps what is being written.
#[derive(Default)]
pub(crate) struct Drafts {
    /// The newest text that is not kept yet; also whether somebody is on their way to keep it.
    waiting: Arc<Mutex<Option<String>>>,
}

impl Drafts {
    /// The text is now this. It is kept soon; what comes until then is kept with it.
    pub(crate) fn note(&self, text: String, house: &Arc<dyn House>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let under_way = waiting.replace(text).is_some();
        if under_way || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let (slot, house) = (Arc::clone(&self.waiting), Arc::clone(house));
        tokio::spawn(async move {
            tokio::time::sleep(BEHIND).await;
            let text = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(text) = text {
                house.save_draft(text);
            }
        });
    }

    /// What was not kept yet is kept now.
    pub(crate) fn flush(&self, house: &dyn House) {
        let text = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(text) = text {
            house.save_draft(text);
        }
    }
}
