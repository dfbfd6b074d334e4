//! The version of content that can only be compared by reading it.

use std::future::Future;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Content that is read within this time is read each time.
const FAST: Duration = Duration::from_millis(200);
/// Reading other content takes at most one in this number of seconds.
const SHARE: u32 = 20;

/// The last version, which is kept until reading it again is cheap in relation to the time since.
#[derive(Default)]
pub(super) struct PolledVersion(Mutex<Option<LastReading>>);

#[derive(Clone, Copy)]
struct LastReading {
    version: u64,
    at: Instant,
    took: Duration,
}

impl PolledVersion {
    /// The version of what `read` returns.
    pub(super) async fn get(&self, read: impl Future<Output = Option<String>>) -> u64 {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = last.filter(|last| last.took > FAST && last.at.elapsed() < last.took * SHARE) {
            return last.version;
        }
        let started = Instant::now();
        let mut hasher = DefaultHasher::new();
        read.await.hash(&mut hasher);
        let reading = LastReading {
            version: hasher.finish(),
            at: Instant::now(),
            took: started.elapsed(),
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(reading);
        reading.version
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn slow_content_is_read_again_when_that_took_a_small_part_of_the_time() {
        let polled = PolledVersion::default();
        let read = |text: &'static str| async move { Some(text.to_owned()) };
        let first = polled.get(read("a")).await;
        let set_duration = |took: Duration| {
            let mut last = polled.0.lock().unwrap_or_else(PoisonError::into_inner);
            last.as_mut().unwrap().took = took;
        };
        set_duration(Duration::from_secs(60));
        assert_eq!(polled.get(read("b")).await, first);
        set_duration(Duration::ZERO);
        assert_ne!(polled.get(read("b")).await, first);
    }
}
