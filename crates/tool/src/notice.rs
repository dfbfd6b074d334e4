//! News from work that goes on beside the conversation: a job that ended, a watch that failed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::mpsc;

/// As many as may wait to be read; more than that say nothing new.
const WAITING: usize = 64;

/// Something that happened outside of any call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What tells, such as `job 3`.
    pub source: String,
    /// What happened, in words for the model. Bounded by whoever tells it.
    pub text: String,
}

/// Where news goes. It never waits: when nobody reads, the oldest news stays and the newest is dropped, so whatever
/// matters must also be found by asking.
#[derive(Debug, Clone, Default)]
pub struct Notices {
    sender: Option<mpsc::Sender<Notice>>,
    expected: Arc<AtomicUsize>,
}

/// News that will come, as long as this is held.
#[derive(Debug)]
pub struct Expected(Arc<AtomicUsize>);

impl Drop for Expected {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

impl Notices {
    /// A way for news, and its end.
    pub fn channel() -> (Self, mpsc::Receiver<Notice>) {
        let (sender, receiver) = mpsc::channel(WAITING);
        let notices = Notices {
            sender: Some(sender),
            expected: Arc::default(),
        };
        (notices, receiver)
    }

    /// News that nobody reads.
    pub fn none() -> Self {
        Notices::default()
    }

    /// Says that news will come which is worth waiting for, such as the end of a job. It must be told before this is dropped.
    pub fn announce(&self) -> Expected {
        self.expected.fetch_add(1, Ordering::Acquire);
        Expected(Arc::clone(&self.expected))
    }

    /// Whether news will come that is worth waiting for.
    pub fn is_expected(&self) -> bool {
        self.expected.load(Ordering::Acquire) > 0
    }

    /// Whether news has been told that nobody has read yet.
    pub fn is_waiting(&self) -> bool {
        self.sender
            .as_ref()
            .is_some_and(|sender| sender.capacity() < sender.max_capacity())
    }

    /// Whether anybody can still read the news.
    pub fn is_heard(&self) -> bool {
        self.sender.as_ref().is_some_and(|sender| !sender.is_closed())
    }

    /// Tells the news.
    pub fn tell(&self, notice: Notice) {
        if let Some(sender) = &self.sender {
            // A full or closed channel only means that nobody listens.
            drop(sender.try_send(notice));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_waits_to_be_read_but_not_without_end() {
        let (notices, mut receiver) = Notices::channel();
        for number in 0..WAITING + 10 {
            notices.tell(Notice {
                source: format!("job {number}"),
                text: "ended".into(),
            });
        }
        let mut read = Vec::new();
        while let Ok(notice) = receiver.try_recv() {
            read.push(notice.source);
        }
        assert_eq!((read.len(), read[0].as_str()), (WAITING, "job 0"));
        drop(receiver);
        notices.tell(Notice {
            source: "job".into(),
            text: "nobody listens".into(),
        });
    }
}
