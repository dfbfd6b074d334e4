//! Reports the usage of a request to the edit model.

use std::sync::Arc;
use std::time::Instant;

use model::{Cost, Model, Request, Usage};
use session::RequestEnd;
use tool::{UsageReport, UsageReporter};

/// Reports the usage of a request when dropped, however it ends.
pub(crate) struct EditUsageGuard {
    model: Arc<dyn Model>,
    spending: UsageReporter,
    started: Instant,
    /// The request and its length in bytes.
    request: Request,
    prompt: usize,
    /// The reply so far.
    pub(crate) text: String,
    pub(crate) usage: Option<Usage>,
    pub(crate) cost: Option<Cost>,
    pub(crate) outcome: RequestEnd,
}

impl Drop for EditUsageGuard {
    fn drop(&mut self) {
        let info = self.model.info();
        let usage = self.usage.unwrap_or_else(|| self.estimate());
        self.spending.report(UsageReport {
            purpose: "edit",
            model: info.name(),
            usage,
            cost: self.cost.or_else(|| info.cost(&usage)),
            duration: self.started.elapsed(),
            outcome: self.outcome.clone(),
            request: Some(std::mem::take(&mut self.request)),
        });
    }
}

impl EditUsageGuard {
    pub(crate) fn new(model: &Arc<dyn Model>, spending: &UsageReporter, request: &Request) -> Self {
        let system: usize = request.system.iter().map(|section| section.len()).sum();
        let messages: usize = request.messages.iter().map(|message| message.text().len()).sum();
        Self {
            model: Arc::clone(model),
            spending: spending.clone(),
            started: Instant::now(),
            request: request.clone(),
            prompt: system + messages,
            text: String::new(),
            usage: None,
            cost: None,
            outcome: RequestEnd::Interrupted,
        }
    }

    /// An estimate for providers that do not report usage; zero if there was no reply.
    fn estimate(&self) -> Usage {
        match self.text.is_empty() {
            true => Usage::default(),
            false => Usage {
                input: self.prompt as u64 / 4,
                output: self.text.len() as u64 / 4,
                estimated: true,
                ..Usage::default()
            },
        }
    }
}
