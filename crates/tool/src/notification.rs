//! Notifications from background work: a job that ended, a watched command that failed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::mpsc;

/// Capacity of the channel. Further notifications would add no information.
const CAPACITY: usize = 64;

/// A notification from background work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolNotification {
    /// The source, such as `job 3`.
    pub source: String,
    /// The text for the model. The sender limits its size.
    pub text: String,
}

/// Sends notifications without waiting. If the channel is full, new notifications are dropped, so important state must
/// also be available by a tool.
#[derive(Debug, Clone, Default)]
pub struct NotificationSender {
    sender: Option<mpsc::Sender<ToolNotification>>,
    pending: Arc<AtomicUsize>,
}

/// Announces a notification until it is dropped.
#[derive(Debug)]
pub struct PendingNotification(Arc<AtomicUsize>);

impl Drop for PendingNotification {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

impl NotificationSender {
    /// Creates a channel.
    pub fn channel() -> (Self, mpsc::Receiver<ToolNotification>) {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        let notices = NotificationSender {
            sender: Some(sender),
            pending: Arc::default(),
        };
        (notices, receiver)
    }

    /// Discards notifications.
    pub fn none() -> Self {
        NotificationSender::default()
    }

    /// Announces a notification that is worth waiting for, such as the end of a job. Send it before dropping the guard.
    pub fn expect(&self) -> PendingNotification {
        self.pending.fetch_add(1, Ordering::Acquire);
        PendingNotification(Arc::clone(&self.pending))
    }

    /// Whether a notification has been announced and not sent.
    pub fn has_pending(&self) -> bool {
        self.pending.load(Ordering::Acquire) > 0
    }

    /// Whether unread notifications exist.
    pub fn has_unread(&self) -> bool {
        self.sender
            .as_ref()
            .is_some_and(|sender| sender.capacity() < sender.max_capacity())
    }

    /// Whether a receiver exists.
    pub fn has_receiver(&self) -> bool {
        self.sender.as_ref().is_some_and(|sender| !sender.is_closed())
    }

    /// Waits until no receiver exists.
    pub async fn closed(&self) {
        if let Some(sender) = &self.sender {
            sender.closed().await;
        }
    }

    /// Sends a notification.
    pub fn send(&self, notice: ToolNotification) {
        if let Some(sender) = &self.sender {
            // Dropped if the channel is full or closed.
            drop(sender.try_send(notice));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_are_queued_up_to_the_capacity() {
        let (notices, mut receiver) = NotificationSender::channel();
        for number in 0..CAPACITY + 10 {
            notices.send(ToolNotification {
                source: format!("job {number}"),
                text: "ended".into(),
            });
        }
        let mut read = Vec::new();
        while let Ok(notice) = receiver.try_recv() {
            read.push(notice.source);
        }
        assert_eq!((read.len(), read[0].as_str()), (CAPACITY, "job 0"));
        drop(receiver);
        notices.send(ToolNotification {
            source: "job".into(),
            text: "no receiver".into(),
        });
    }
}
