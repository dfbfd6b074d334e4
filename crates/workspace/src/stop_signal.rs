//! Early end of a search.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Ends a search early: at a deadline, or when its owner drops the [`StopGuard`]. Clones share the signal.
#[derive(Debug, Clone)]
pub struct StopSignal {
    cancelled: Arc<AtomicBool>,
    deadline: Option<Instant>,
}

/// Cancels the search on drop, so that dropping a future also ends its blocking thread.
#[derive(Debug)]
pub struct StopGuard(Arc<AtomicBool>);

/// Whether a search is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchEnd {
    /// It is complete.
    Complete,
    /// The deadline passed; the result is partial.
    TimedOut,
}

impl StopSignal {
    /// Stops after this time, or when cancelled.
    pub fn after(limit: Duration) -> Self {
        Self {
            cancelled: Arc::default(),
            deadline: Instant::now().checked_add(limit),
        }
    }

    /// A guard that cancels on drop.
    pub fn on_drop(&self) -> StopGuard {
        StopGuard(Arc::clone(&self.cancelled))
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Whether the search must end.
    pub fn is_due(&self) -> bool {
        self.is_cancelled() || self.has_timed_out()
    }

    pub(crate) fn has_timed_out(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

impl Drop for StopGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
