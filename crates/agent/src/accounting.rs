//! Usage and cost of a session: totals, the request ledger, and the requests of tools and subtasks.

use crate::measurement::{StoredInputs, store_settings, store_stream};
use crate::request_ledger::RequestLedger;
use crate::session::{Environment, Session};
use crate::subtasks::running::SubtaskUsage;
use crate::turn::request::StreamingReply;
use model::{Cost, Info, Model, Part, Usage};
use session::{Body, Event, RequestEnd, RequestFacts, RequestId, RequestRecord, Time, Totals};
use std::sync::Arc;
use tool::UsageReport;

/// A reported prompt that is smaller than this fraction of its estimate is incomplete.
pub(crate) const MAX_OVERESTIMATE: u64 = 3;

/// Usage and cost of a session.
pub(crate) struct Accounting {
    pub(crate) totals: Totals,
    /// Requests and cost since the user last confirmed to continue.
    pub(crate) since_confirmation: Totals,
    pub(crate) ledger: RequestLedger,
    pub(crate) inputs: StoredInputs,
}

impl Accounting {
    pub(crate) fn new(totals: Totals) -> Self {
        Accounting {
            totals,
            since_confirmation: Totals::default(),
            ledger: RequestLedger::default(),
            inputs: StoredInputs::default(),
        }
    }

    /// Adds a request to the totals and stores it. The event is queued.
    pub(crate) fn record(&mut self, env: &Environment, record: RequestRecord) {
        env.budget.add_cost(record.cost.unwrap_or_default());
        self.add_to_totals(env, record.id, record.usage, record.cost);
        // Writes keep their order, so the next awaited item makes the record durable too.
        drop(env.config.store.record_request(env.session, record));
    }

    fn add_to_totals(&mut self, env: &Environment, request: RequestId, usage: Usage, cost: Option<Cost>) {
        self.totals.usage += usage;
        self.totals.cost += cost.unwrap_or_default();
        self.totals.requests += 1;
        self.since_confirmation.cost += cost.unwrap_or_default();
        self.since_confirmation.requests += 1;
        env.events.queue(Event::Usage {
            request,
            usage,
            cost,
            totals: self.totals,
        });
    }
}

impl Session {
    /// Continues the ledger and the token count of an earlier process, if the session was resumed.
    pub(crate) async fn restore_ledger(&mut self) {
        let Session {
            env,
            conversation,
            turn,
            accounting,
        } = self;
        let items = &conversation.items;
        let is_resumed = || items.iter().any(|item| matches!(item.body, Body::Reply { .. }));
        if accounting.ledger.is_new() && is_resumed() {
            let (info, store) = (turn.model.info(), env.config.store.as_ref());
            let last = accounting.ledger.restore(env.session, items, info, store).await;
            if let Some(record) = last.filter(|record| !record.usage.estimated)
                && let Some(item) = record.item
            {
                let tokens = record.usage.prompt_tokens() + record.usage.output;
                conversation.compaction.restore_count(tokens, item, items);
            }
        }
    }

    /// Records the requests that tools and subtasks have made.
    pub(crate) async fn record_usage(&mut self) {
        for report in self.env.usage.take() {
            self.record_side_request(report);
        }
        // The ledger of the subtask already contains these.
        for SubtaskUsage { request, usage, cost } in self.env.subtasks.take_usage() {
            self.accounting.add_to_totals(&self.env, request, usage, cost);
        }
        self.env.events.send_queued().await;
    }

    /// Records a request that is not part of the conversation.
    fn record_side_request(&mut self, report: UsageReport) {
        let total = report.duration.as_millis() as u64;
        let mut record = RequestRecord {
            id: RequestId::new(),
            item: None,
            purpose: report.purpose.into(),
            model: report.model,
            attempt: 1,
            at: Time(self.env.now().0.saturating_sub(total)),
            first_chunk: None,
            total,
            usage: report.usage,
            cost: report.cost,
            outcome: report.outcome,
            sections: Vec::new(),
            prompt: None,
            facts: RequestFacts {
                head: self.conversation.head(),
                mode: self.turn.mode.name.clone(),
                turn: self.turn.progress.as_ref().map_or(0, |progress| progress.number),
                ..RequestFacts::default()
            },
        };
        if let Some((request, info)) = report.request.zip(self.model_info(&record.model)) {
            let (items, store) = (&self.conversation.items, self.env.config.store.as_ref());
            let ledger = &self.accounting.ledger;
            let (sections, prompt) = ledger.describe_side_request(&request, items, &info, &record, store);
            (record.sections, record.prompt) = (sections, Some(prompt));
            record.facts.body = request.trace.body();
            record.facts.stream = store_stream(&request.trace, store);
            record.facts.inputs = store_settings(&request.trace, &info, store);
        }
        self.accounting.record(&self.env, record);
    }

    /// The properties of a model used by this session.
    fn model_info(&self, name: &str) -> Option<Info> {
        let config = &self.env.config;
        let own = [
            Some(&self.turn.model),
            Some(&self.turn.default_model),
            config.small_model.as_ref(),
        ];
        let mut known = own.into_iter().flatten().chain(config.compaction.model.as_ref());
        let is_it = |model: &&Arc<dyn Model>| model.info().name() == name;
        match known.find(is_it) {
            Some(model) => Some(model.info().clone()),
            None => (config.models)(name).ok().map(|model| model.info().clone()),
        }
    }

    /// Records the request of a reply, complete or not.
    pub(crate) fn record_reply(&mut self, reply: &StreamingReply, outcome: RequestEnd) {
        let facts = RequestFacts {
            inputs: self.store_inputs(&reply.trace),
            ..self.request_facts(reply, &reply.reply.clone().into_message())
        };
        let Session {
            env,
            conversation,
            turn,
            accounting,
        } = self;
        let received = &reply.reply;
        let usage = match (received.usage, reply.first_chunk) {
            (Some(usage), _) if received.stop.is_some() => usage,
            // Providers report usage last or cumulatively: the output of a cut reply is estimated from its text.
            (Some(usage), _) => Usage {
                output: estimate_usage(reply).output.max(usage.output),
                estimated: true,
                ..usage
            },
            (None, Some(_)) => estimate_usage(reply),
            (None, None) => Usage::default(),
        };
        if received.stop.is_some() {
            // Some servers count only a part of the prompt.
            let is_plausible = usage.prompt_tokens() >= reply.estimated / MAX_OVERESTIMATE;
            let prompt = if is_plausible {
                usage.prompt_tokens()
            } else {
                reply.estimated
            };
            conversation.compaction.set_counted(prompt + usage.output);
            if !usage.estimated && is_plausible {
                conversation
                    .compaction
                    .rate
                    .learn(reply.estimated, usage.prompt_tokens());
            }
        }
        let info = turn.model.info();
        let report = prompt::RequestReport {
            usage: &usage,
            sent: reply.prompt_size.as_ref(),
            at: env.now().0,
        };
        let (sections, prompt) = accounting
            .ledger
            .finish(&reply.open, info, &report, env.config.store.as_ref());
        let record = RequestRecord {
            id: reply.draft.request,
            item: Some(reply.draft.id),
            purpose: "turn".into(),
            model: reply.draft.model.clone(),
            attempt: reply.attempt,
            at: reply.at,
            first_chunk: reply.first_chunk.map(|after| after.as_millis() as u64),
            total: reply.sent.elapsed().as_millis() as u64,
            usage,
            cost: received.cost.or_else(|| info.cost(&usage)),
            outcome,
            sections,
            prompt: Some(prompt),
            facts,
        };
        accounting.record(env, record);
    }
}

/// The estimated usage of a request, for providers that do not report it.
fn estimate_usage(reply: &StreamingReply) -> Usage {
    let message = reply.reply.clone().into_message();
    let sizes = message.parts.iter().map(|part| match part {
        Part::Text { text, .. } | Part::Thinking { text, .. } => text.len(),
        Part::ToolCall { name, input, .. } => name.len() + input.to_string().len(),
        Part::ToolResult { .. } | Part::Media(_) => 0,
    });
    let written: usize = sizes.sum();
    Usage {
        input: reply.estimated,
        output: (written as u64).div_ceil(4),
        estimated: true,
        ..Usage::default()
    }
}
