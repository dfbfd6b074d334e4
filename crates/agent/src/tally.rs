//! What a session and all its subtasks take together, for the limits that they share.

use model::Cost;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

/// What a session and all its subtasks have taken.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Requests of this turn.
    steps: AtomicU32,
    /// Money of the whole session, in billionths of a dollar.
    cost: AtomicI64,
}

impl Tally {
    /// Begins with what the session has cost.
    pub(crate) fn new(cost: Cost) -> Self {
        Tally {
            steps: AtomicU32::new(0),
            cost: AtomicI64::new(cost.nano_usd),
        }
    }

    /// A turn of the topmost session begins.
    pub(crate) fn begin_turn(&self) {
        self.steps.store(0, Ordering::Relaxed);
    }

    /// Takes a step, unless so many have been taken.
    pub(crate) fn take_step(&self, most: Option<u32>) -> bool {
        let most = most.unwrap_or(u32::MAX);
        let taken = self.steps.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |steps| {
            (steps < most).then(|| steps.saturating_add(1))
        });
        taken.is_ok()
    }

    /// Adds what a request cost.
    pub(crate) fn pay(&self, cost: Cost) {
        self.cost.fetch_add(cost.nano_usd, Ordering::Relaxed);
    }

    /// What everything has cost.
    pub(crate) fn cost(&self) -> Cost {
        Cost {
            nano_usd: self.cost.load(Ordering::Relaxed),
        }
    }
}
