//! The hosts that the page has asked for.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use url::Url;

/// News of a request may come later than the request itself, but not much.
const PATIENCE: Duration = Duration::from_millis(500);
/// A page that asks for more hosts than this gets no further ones.
const MOST: usize = 2_000;

/// The hosts that the page has asked for. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    hosts: Arc<Mutex<HashSet<(String, u16)>>>,
    news: Arc<Notify>,
}

impl Known {
    pub(super) fn add(&self, url: &Url) {
        let Some(host) = host(url) else { return };
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() < MOST && hosts.insert(host) {
            self.news.notify_waiters();
        }
    }

    /// Whether the page has asked for the host of this address, or does so soon.
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
                let news = self.news.notified();
                tokio::pin!(news);
                // From here on no news is missed.
                news.as_mut().enable();
                if asked() {
                    return;
                }
                news.await;
            }
        };
        tokio::time::timeout(PATIENCE, soon).await.is_ok()
    }
}

fn host(url: &Url) -> Option<(String, u16)> {
    Some((url.host_str()?.to_ascii_lowercase(), url.port_or_known_default()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_host_counts_also_when_its_news_comes_a_little_late() {
        let known = Known::default();
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
