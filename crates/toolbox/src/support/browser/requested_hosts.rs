//! The hosts requested by the page.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use url::Url;

/// The event for a request may arrive slightly later than the request.
const TIMEOUT: Duration = Duration::from_millis(500);
/// Maximum number of hosts per page.
const MAX_HOSTS: usize = 2_000;

/// The hosts requested by the page. Clones share state.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestedHosts {
    hosts: Arc<Mutex<HashSet<(String, u16)>>>,
    changed: Arc<Notify>,
}

impl RequestedHosts {
    pub(super) fn add(&self, url: &Url) {
        let Some(host) = host(url) else { return };
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() < MAX_HOSTS && hosts.insert(host) {
            self.changed.notify_waiters();
        }
    }

    /// Whether the page has requested the host of this URL, or does so within a short time.
    pub(super) async fn include(&self, url: &Url) -> bool {
        let Some(host) = host(url) else { return false };
        let asked = || {
            self.hosts
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .contains(&host)
        };
        let soon = async {
            loop {
                let changed = self.changed.notified();
                tokio::pin!(changed);
                // From here on no event is missed.
                changed.as_mut().enable();
                if asked() {
                    return;
                }
                changed.await;
            }
        };
        tokio::time::timeout(TIMEOUT, soon).await.is_ok()
    }
}

fn host(url: &Url) -> Option<(String, u16)> {
    Some((url.host_str()?.to_ascii_lowercase(), url.port_or_known_default()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_host_is_accepted_if_its_event_is_slightly_late() {
        let known = RequestedHosts::default();
        let url = |text: &str| Url::parse(text).unwrap();
        known.add(&url("https://a.example/x"));
        assert!(known.include(&url("https://A.example:443/y")).await);
        assert!(!known.include(&url("http://a.example/")).await);
        let (waiting, late) = (known.clone(), url("wss://b.example/"));
        let waiting = tokio::spawn(async move { waiting.include(&url("https://b.example/")).await });
        tokio::task::yield_now().await;
        known.add(&late);
        assert!(waiting.await.unwrap());
    }
}
