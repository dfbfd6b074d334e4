//! What a request to the editing model costs, however it ends.

use std::sync::Arc;
use std::time::Instant;

use model::{Cost, Model, Request, Usage};
use tool::{Spending, Spent};

/// A request that has to be paid for, however it ends: it is reported when this is dropped.
pub(crate) struct Bill {
    model: Arc<dyn Model>,
    spending: Spending,
    begun: Instant,
    /// What was asked, and its length in bytes.
    request: Request,
    prompt: usize,
    /// What was answered so far.
    pub(crate) text: String,
    pub(crate) usage: Option<Usage>,
    pub(crate) cost: Option<Cost>,
    pub(crate) outcome: String,
}

impl Drop for Bill {
    fn drop(&mut self) {
        let info = self.model.info();
        let usage = self.usage.unwrap_or_else(|| self.estimate());
        self.spending.add(Spent {
            purpose: "edit",
            model: info.name(),
            usage,
            cost: self.cost.or_else(|| info.cost(&usage)),
            took: self.begun.elapsed(),
            outcome: std::mem::take(&mut self.outcome),
            request: Some(std::mem::take(&mut self.request)),
        });
    }
}

impl Bill {
    pub(crate) fn new(model: &Arc<dyn Model>, spending: &Spending, request: &Request) -> Self {
        let system: usize = request.system.iter().map(|section| section.len()).sum();
        let said: usize = request.messages.iter().map(|message| message.text().len()).sum();
        Self {
            model: Arc::clone(model),
            spending: spending.clone(),
            begun: Instant::now(),
            request: request.clone(),
            prompt: system + said,
            text: String::new(),
            usage: None,
            cost: None,
            outcome: "interrupted".into(),
        }
    }

    /// What a provider that says nothing has probably counted; nothing if it never answered.
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
