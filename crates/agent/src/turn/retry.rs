//! The delay before a failed request is retried.

use model::{Error, Retry};
use std::time::Duration;

/// The longest `Retry-After` to wait for.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(120);
/// The delay before the first reconnection.
const RECONNECT_DELAY: Duration = Duration::from_millis(50);
/// The upper limit of the exponential backoff.
const MAX_BACKOFF: Duration = Duration::from_secs(60);

/// The delay before the next attempt; `None` if the request is not retried. `failed` counts the attempts so far.
pub(crate) fn delay(error: &Error, failed: u32, base: Duration) -> Option<Duration> {
    match error.retry() {
        // Servers close idle connections; a new connection usually works immediately.
        Retry::UpTo { .. } if matches!(error, Error::Connection { .. }) && failed == 1 => {
            Some(RECONNECT_DELAY.min(base))
        }
        Retry::Never => None,
        Retry::UpTo { times, .. } if failed > times => None,
        Retry::UpTo { after: Some(after), .. } => (after <= MAX_RETRY_AFTER).then_some(after),
        Retry::UpTo { after: None, .. } => Some(
            base.saturating_mul(1 << (failed - 1).min(16))
                .min(MAX_BACKOFF.max(base)),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(retry_after: Option<u64>) -> Error {
        let retry_after = retry_after.map(Duration::from_secs);
        Error::RateLimited {
            provider: "p".into(),
            detail: "slow down".into(),
            retry_after,
        }
    }

    #[test]
    fn the_delay_is_what_the_provider_asks_or_doubles_and_ends() {
        let base = Duration::from_secs(2);
        let delays: Vec<_> = (1..=5).map(|failed| delay(&limited(None), failed, base)).collect();
        let seconds = |n| Some(Duration::from_secs(n));
        assert_eq!(delays, [seconds(2), seconds(4), seconds(8), seconds(16), None]);
        assert_eq!(delay(&limited(Some(7)), 1, base), seconds(7));
        assert_eq!(delay(&limited(Some(3600)), 1, base), None);
        let closed = Error::Connection {
            provider: "p".into(),
            detail: "closed".into(),
        };
        let delays: Vec<_> = (1..=4).map(|failed| delay(&closed, failed, base)).collect();
        assert_eq!(delays, [Some(RECONNECT_DELAY), seconds(4), seconds(8), None]);
        let overflow = Error::ContextOverflow {
            detail: "too long".into(),
            window: None,
        };
        assert_eq!(delay(&overflow, 1, base), None);
    }
}
