//! Reports of model requests that tools make themselves.

use model::{Cost, Usage};
use session::RequestEnd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The maximum number of separate reports; the figures of further ones are added to the last report.
const MAX_REPORTS: usize = 1024;

/// Collects reports of model requests that tools make themselves. Reports reach the ledger whether the call succeeds,
/// fails or is cancelled. A shared list and not a channel: no report may be lost, and a `Drop` implementation cannot wait.
#[derive(Debug, Clone, Default)]
pub struct UsageReporter {
    reports: Option<Arc<Mutex<Vec<UsageReport>>>>,
}

/// A model request made by a tool.
#[derive(Debug, Clone)]
pub struct UsageReport {
    /// The purpose, such as `edit`.
    pub purpose: &'static str,
    /// The model, as `provider/id`.
    pub model: String,
    /// The tokens.
    pub usage: Usage,
    /// The price, if known.
    pub cost: Option<Cost>,
    /// The duration.
    pub duration: Duration,
    /// The outcome.
    pub outcome: RequestEnd,
    /// The request, if it can be stored.
    pub request: Option<model::Request>,
}

impl UsageReporter {
    /// Collects reports.
    pub fn new() -> Self {
        UsageReporter {
            reports: Some(Arc::default()),
        }
    }

    /// Discards reports.
    pub fn none() -> Self {
        UsageReporter::default()
    }

    /// Reports a request.
    pub fn report(&self, spent: UsageReport) {
        let Some(mut reports) = self.lock() else { return };
        if reports.len() < MAX_REPORTS {
            reports.push(spent);
        } else if let Some(last) = reports.last_mut() {
            last.usage += spent.usage;
            last.cost = match (last.cost, spent.cost) {
                (Some(cost), Some(more)) => Some(cost + more),
                (cost, more) => cost.or(more),
            };
        }
    }

    /// Removes and returns the collected reports.
    pub fn take(&self) -> Vec<UsageReport> {
        self.lock()
            .map(|mut reports| std::mem::take(&mut *reports))
            .unwrap_or_default()
    }

    fn lock(&self) -> Option<MutexGuard<'_, Vec<UsageReport>>> {
        // A panic while the lock is held cannot leave an operation incomplete.
        let reports = self.reports.as_ref()?;
        Some(reports.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
