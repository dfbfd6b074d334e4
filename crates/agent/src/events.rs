//! Sends the events of a session to its front end.

use session::{Event, Item, NoticeLevel};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;

/// Sends events. Events are dropped after the front end has ended; the session continues.
pub(crate) struct EventSender {
    sender: mpsc::Sender<Event>,
    /// Events of synchronous code, sent by the next `send_queued`.
    queued: Mutex<VecDeque<Event>>,
}

impl EventSender {
    pub(crate) fn new(sender: mpsc::Sender<Event>) -> Self {
        EventSender {
            sender,
            queued: Mutex::default(),
        }
    }

    /// Sends an event; waits if the channel is full.
    pub(crate) async fn send(&self, event: Event) {
        drop(self.sender.send(event).await);
    }

    pub(crate) async fn notice(&self, level: NoticeLevel, text: impl Into<String>) {
        let text = text.into();
        self.send(Event::Notice { level, text }).await;
    }

    /// Queues an event until [`EventSender::send_queued`].
    pub(crate) fn queue(&self, event: Event) {
        self.lock().push_back(event);
    }

    /// Sends the queued events. Cancel-safe: an event leaves the queue only when it is sent.
    pub(crate) async fn send_queued(&self) {
        while !self.lock().is_empty() {
            let permit = self.sender.reserve().await;
            let Some(event) = self.lock().pop_front() else { return };
            if let Ok(permit) = permit {
                permit.send(event);
            }
        }
    }

    /// Sends the items after the first `sent` ones. Cancel-safe: an item counts as sent only when it is.
    pub(crate) async fn send_items(&self, items: &[Arc<Item>], sent: &mut usize) {
        while let Some(item) = items.get(*sent) {
            let permit = self.sender.reserve().await;
            *sent += 1;
            if let Ok(permit) = permit {
                permit.send(Event::ItemFinished { item: Arc::clone(item) });
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Event>> {
        // A panic while the lock is held cannot leave an operation incomplete.
        self.queued.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
