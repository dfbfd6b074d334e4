//! News from work that goes on beside the conversation: a job that ended, a watch that failed.

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
}

impl Notices {
    /// A way for news, and its end.
    pub fn channel() -> (Self, mpsc::Receiver<Notice>) {
        let (sender, receiver) = mpsc::channel(WAITING);
        (Notices { sender: Some(sender) }, receiver)
    }

    /// News that nobody reads.
    pub fn none() -> Self {
        Notices::default()
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
