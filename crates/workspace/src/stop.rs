//! When a search ends before it is done.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Tells a search to end early: at a deadline, or when its owner drops the [`StopOnDrop`]. Clones stop together.
#[derive(Debug, Clone)]
pub struct Stop {
    cancelled: Arc<AtomicBool>,
    deadline: Option<Instant>,
}

/// Cancels the search it belongs to when dropped, so that dropping a future also ends the thread that works for it.
#[derive(Debug)]
pub struct StopOnDrop(Arc<AtomicBool>);

/// Whether a search saw everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It did.
    Complete,
    /// The deadline came first; what is returned is what had been found.
    TimedOut,
}

impl Stop {
    /// Stops at the deadline only, or when cancelled.
    pub fn after(limit: Duration) -> Self {
        Self {
            cancelled: Arc::default(),
            deadline: Instant::now().checked_add(limit),
        }
    }

    /// A guard that cancels on drop.
    pub fn on_drop(&self) -> StopOnDrop {
        StopOnDrop(Arc::clone(&self.cancelled))
    }

    pub(crate) fn cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Whether it is time to end.
    pub fn due(&self) -> bool {
        self.cancelled() || self.timed_out()
    }

    pub(crate) fn timed_out(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
