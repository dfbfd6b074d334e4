//! Requests to models that tools make themselves, and where they are reported.

use model::{Cost, Usage};
use std::time::Duration;
use tokio::sync::mpsc;

/// Where a tool reports the requests to models that it makes itself.
///
/// It reaches the ledger whether the tool succeeds, fails or is stopped. The channel has no bound, because what was spent must
/// never be dropped, and a `Drop` that reports it cannot wait; a request takes far longer than it takes to count it.
#[derive(Debug, Clone, Default)]
pub struct Spending {
    sender: Option<mpsc::UnboundedSender<Spent>>,
}

/// A request to a model that a tool made itself.
#[derive(Debug, Clone)]
pub struct Spent {
    /// What it was for, such as `edit`.
    pub purpose: &'static str,
    /// The model, as `provider/id`.
    pub model: String,
    /// Its tokens.
    pub usage: Usage,
    /// Its price, where one is known.
    pub cost: Option<Cost>,
    /// How long it took.
    pub took: Duration,
    /// How it ended.
    pub outcome: String,
    /// What was asked.
    pub request: Option<model::Request>,
}

impl Spending {
    /// Spending that is reported to this channel.
    pub fn new(sender: mpsc::UnboundedSender<Spent>) -> Self {
        Spending { sender: Some(sender) }
    }

    /// Spending that nobody counts.
    pub fn none() -> Self {
        Spending::default()
    }

    /// Reports a request.
    pub fn add(&self, spent: Spent) {
        if let Some(sender) = &self.sender {
            // A closed channel means that the session is gone, and its ledger with it.
            drop(sender.send(spent));
        }
    }
}
