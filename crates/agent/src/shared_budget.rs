//! The budget that a session shares with its subtasks.

use model::Cost;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

/// Requests and cost of a session including all its subtasks.
#[derive(Debug, Default)]
pub(crate) struct SharedBudget {
    /// Requests of the current turn.
    steps: AtomicU32,
    /// Cost of the whole session, in nano-dollars.
    cost: AtomicI64,
}

impl SharedBudget {
    /// Creates a budget that starts with the cost of the session so far.
    pub(crate) fn new(cost: Cost) -> Self {
        SharedBudget {
            steps: AtomicU32::new(0),
            cost: AtomicI64::new(cost.nano_usd),
        }
    }

    /// Resets the request count when the root session starts a turn.
    pub(crate) fn begin_turn(&self) {
        self.steps.store(0, Ordering::Relaxed);
    }

    /// Counts a request, unless the limit is reached. Returns whether the request may be sent.
    pub(crate) fn take_step(&self, most: Option<u32>) -> bool {
        let most = most.unwrap_or(u32::MAX);
        let taken = self.steps.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |steps| {
            (steps < most).then(|| steps.saturating_add(1))
        });
        taken.is_ok()
    }

    /// Adds the cost of a request.
    pub(crate) fn add_cost(&self, cost: Cost) {
        self.cost.fetch_add(cost.nano_usd, Ordering::Relaxed);
    }

    /// The total cost.
    pub(crate) fn cost(&self) -> Cost {
        Cost {
            nano_usd: self.cost.load(Ordering::Relaxed),
        }
    }
}
