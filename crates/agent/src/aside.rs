//! Requests beside the conversation: for titles, for summaries, and those that tools make. They are in the ledger like all others.

use crate::state::State;
use model::{Info, Model};
use session::{Body, Record, RequestId, Time};
use std::sync::Arc;
use tool::Spent;

impl State {
    /// Goes on with the books of an earlier process, where there was one.
    pub(crate) async fn recall_books(&mut self) {
        let is_resumed = || self.items.iter().any(|item| matches!(item.body, Body::Reply { .. }));
        if self.books.is_new() && is_resumed() {
            let (info, store) = (self.model.info(), self.store.as_ref());
            self.books.recall(self.session, &self.items, info, store).await;
        }
    }

    /// Enters a request that was made beside the conversation into the ledger.
    pub(crate) fn count_spent(&mut self, spent: Spent) {
        let total = spent.took.as_millis() as u64;
        let at = Time((self.clock)().0.saturating_sub(total));
        let mut record = Record {
            id: RequestId::new(),
            item: None,
            purpose: spent.purpose.into(),
            model: spent.model,
            attempt: 1,
            at,
            first_chunk: None,
            total,
            usage: spent.usage,
            cost: spent.cost,
            outcome: spent.outcome,
            sections: Vec::new(),
            prompt: None,
        };
        if let Some((request, info)) = spent.request.zip(self.known_model(&record.model)) {
            let store = Arc::clone(&self.store);
            let kept = self.books.beside(&request, &self.items, &info, &record, store.as_ref());
            (record.sections, record.prompt) = (kept.0, Some(kept.1));
        }
        self.count(record);
    }

    /// What is known of a model of this session.
    fn known_model(&self, name: &str) -> Option<Info> {
        let own = [Some(&self.model), Some(&self.usual_model), self.small.as_ref()];
        let mut known = own.into_iter().flatten().chain(self.room.model());
        let is_it = |model: &&Arc<dyn Model>| model.info().name() == name;
        match known.find(is_it) {
            Some(model) => Some(model.info().clone()),
            None => (self.models)(name).ok().map(|model| model.info().clone()),
        }
    }
}
