//! Changes of a server's offer that it reported and that are not queried yet.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

/// Counts reported changes and those that a later query contains.
#[derive(Default)]
pub(crate) struct OfferChanges {
    query: Notify,
    reported: AtomicU64,
    queried: AtomicU64,
}

impl OfferChanges {
    /// Records a change that the server reported.
    pub(crate) fn report(&self) {
        self.reported.fetch_add(1, Ordering::AcqRel);
        self.query.notify_one();
    }

    /// Requests a query without a reported change.
    pub(crate) fn request_query(&self) {
        self.query.notify_one();
    }

    /// Waits until a query is requested.
    pub(crate) async fn requested(&self) {
        self.query.notified().await;
    }

    /// The number of changes so far.
    pub(crate) fn reported(&self) -> u64 {
        self.reported.load(Ordering::Acquire)
    }

    /// Records that a query contains the first `reported` changes, or failed.
    pub(crate) fn complete(&self, reported: u64) {
        self.queried.fetch_max(reported, Ordering::AcqRel);
    }

    /// Whether a change was not queried yet.
    pub(crate) fn is_pending(&self) -> bool {
        self.queried.load(Ordering::Acquire) < self.reported()
    }
}
