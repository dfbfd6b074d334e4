//! Connections without a valid token so far. If there are too many, the oldest is closed, so that clients that send nothing
//! do not keep others out.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The maximum number of such connections.
const MAX_UNIDENTIFIED: usize = 512;

/// The connections without a valid token, the oldest first.
#[derive(Debug, Clone, Default)]
pub(super) struct UnidentifiedConnections(Arc<Mutex<VecDeque<Arc<Notify>>>>);

/// A connection; it counts until it is identified or dropped.
#[derive(Debug, Default)]
pub(super) struct TrackedConnection {
    others: UnidentifiedConnections,
    closing: Arc<Notify>,
}

impl UnidentifiedConnections {
    /// Adds a connection, and closes the oldest one if there are too many.
    pub(super) fn add(&self) -> TrackedConnection {
        let added = TrackedConnection {
            others: self.clone(),
            closing: Arc::default(),
        };
        let mut all = self.lock();
        all.push_back(Arc::clone(&added.closing));
        if all.len() > MAX_UNIDENTIFIED
            && let Some(oldest) = all.pop_front()
        {
            oldest.notify_one();
        }
        added
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TrackedConnection {
    /// Records that the client has a valid token.
    pub(super) fn identify(&self) {
        self.others.lock().retain(|other| !Arc::ptr_eq(other, &self.closing));
    }

    /// Returns when the connection must be closed.
    pub(super) async fn closing(&self) {
        self.closing.notified().await;
    }
}

impl Drop for TrackedConnection {
    fn drop(&mut self) {
        self.identify();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    #[test]
    fn the_oldest_connection_without_a_token_is_closed() {
        let all = UnidentifiedConnections::default();
        let known = all.add();
        known.identify();
        let oldest = all.add();
        let others: Vec<_> = (1..MAX_UNIDENTIFIED).map(|_| all.add()).collect();
        assert!(oldest.closing().now_or_never().is_none());
        let newest = all.add();
        assert!(oldest.closing().now_or_never().is_some());
        assert!(known.closing().now_or_never().is_none() && newest.closing().now_or_never().is_none());
        drop(others);
        assert_eq!(all.lock().len(), 1);
    }
}
