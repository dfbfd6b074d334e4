//! Records turns, calls and requests for statistics.

use crate::session::{Session, StartedCall};
use crate::turn::approval::CallProgress;
use crate::turn::calls::FinishedCall;
use crate::turn::request::StreamingReply;
use model::{Info, Message, Part, ToolOutcome, ToolSpec, WireTrace};
use policy::Mode;
use prompt::{CallProtocol, RequestInputs, SystemPromptFacts};
use session::{
    ApprovalOutcome, BlobId, CallEnd, CallRecord, CommandExit, EditFact, Item, ItemId, ItemKind, LineCounts,
    RequestFacts, Store, Time, TurnEnd, TurnIntent, TurnRecord,
};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use tool::UnsavedChange;

/// Lines of larger files are not counted.
const MAX_COUNTED_BYTES: usize = 1 << 20;
/// Lines of further files of a call are not counted.
const MAX_COUNTED_FILES: usize = 50;

/// What the system prompt was rendered from.
#[derive(Debug, Clone, Default)]
pub(crate) struct PromptSource {
    pub(crate) facts: Option<Arc<SystemPromptFacts>>,
    pub(crate) appended: Vec<String>,
    pub(crate) deferred: Vec<String>,
}

/// The stored inputs of the last request. They rarely change.
#[derive(Default)]
pub(crate) struct StoredInputs {
    facts: Option<Arc<SystemPromptFacts>>,
    mode: String,
    model: String,
    tools: Option<Arc<[ToolSpec]>>,
    budget: Option<u64>,
    window: u64,
    settings: Option<Arc<str>>,
    blob: Option<BlobId>,
}

/// The progress of a turn.
#[derive(Debug, Clone)]
pub(crate) struct TurnProgress {
    /// The number of the turn in the session, from 1.
    pub(crate) number: u32,
    /// The number of requests so far.
    pub(crate) rounds: u32,
    intent: TurnIntent,
    at: Time,
    started: Instant,
}

impl TurnProgress {
    pub(crate) fn begin(items: &[Arc<Item>], intent: TurnIntent, at: Time) -> Self {
        TurnProgress {
            number: turns(items) + 1,
            rounds: 0,
            intent,
            at,
            started: Instant::now(),
        }
    }
}

/// The number of turns that these items show: from a prompt or a notification to the reply that ends the turn.
fn turns(items: &[Arc<Item>]) -> u32 {
    let (mut turns, mut is_open) = (0, false);
    for item in items {
        if item.kind().starts_turn() {
            turns += u32::from(!is_open);
            is_open = true;
        } else if item.is_final_reply() || item.kind() == ItemKind::Notice {
            is_open = false;
        }
    }
    turns
}

impl Session {
    /// Records the turn that ends.
    pub(crate) fn record_turn(&mut self, end: &TurnEnd) {
        let Some(progress) = self.turn.progress.take() else {
            return;
        };
        let record = TurnRecord {
            number: progress.number,
            intent: progress.intent,
            at: progress.at,
            total: progress.started.elapsed().as_millis() as u64,
            mode: self.turn.mode.name.clone(),
            model: self.turn.model.info().name(),
            steps: progress.rounds,
            ending: end.name().to_owned(),
        };
        self.env.config.store.record_turn(self.env.session, record);
    }

    /// The facts of the request of a reply.
    pub(crate) fn request_facts(&self, reply: &StreamingReply, message: &Message) -> RequestFacts {
        let is_call = |part: &&Part| matches!(part, Part::ToolCall { .. });
        let is_malformed = |part: &&Part| matches!(part, Part::ToolCall { malformed: Some(_), .. });
        let progress = self.turn.progress.as_ref();
        RequestFacts {
            head: reply.draft.parent,
            mode: self.turn.mode.name.clone(),
            turn: progress.map_or(0, |progress| progress.number),
            round: progress.map_or(0, |progress| progress.rounds),
            tools: self.turn.frame.tools.len() as u32,
            calls: message.parts.iter().filter(is_call).count() as u32,
            malformed: message.parts.iter().filter(is_malformed).count() as u32,
            assembled_in: reply.assembled_in.as_micros() as u64,
            body: reply.trace.body(),
            stream: store_stream(&reply.trace, self.env.config.store.as_ref()),
            inputs: None,
        }
    }

    /// Stores what the last request was built from, unless it is the same as for the request before.
    pub(crate) fn store_inputs(&mut self, trace: &WireTrace) -> Option<BlobId> {
        let Session {
            env, turn, accounting, ..
        } = self;
        let settings = trace.settings()?;
        let facts = turn.prompt_source.facts.clone()?;
        let (info, frame) = (turn.model.info(), &turn.frame);
        let budget = frame.budget.map(|budget| budget.tokens);
        let stored = &accounting.inputs;
        let is_same = stored.facts.as_ref().is_some_and(|known| Arc::ptr_eq(known, &facts))
            && stored
                .tools
                .as_ref()
                .is_some_and(|known| Arc::ptr_eq(known, &frame.tools))
            && stored.settings.as_ref().is_some_and(|known| *known == settings)
            && (&stored.mode, &stored.model) == (&turn.mode.name, &info.name())
            && (stored.budget, stored.window) == (budget, info.limits.window);
        if is_same && stored.blob.is_some() {
            return stored.blob.clone();
        }
        let inputs = RequestInputs {
            source: SystemPromptFacts::clone(&facts),
            mode: turn.mode.clone(),
            model: info.clone(),
            tools: match frame.protocol {
                CallProtocol::Native => Vec::new(),
                CallProtocol::Xml => frame.tools.to_vec(),
            },
            deferred: turn.prompt_source.deferred.clone(),
            appended: turn.prompt_source.appended.clone(),
            budget,
            wire: Some(settings.to_string()),
        };
        let blob = env.config.store.put_blob(serde_json::to_vec(&inputs).ok()?.into());
        accounting.inputs = StoredInputs {
            facts: Some(facts),
            mode: turn.mode.name.clone(),
            model: info.name(),
            tools: Some(Arc::clone(&frame.tools)),
            budget,
            window: info.limits.window,
            settings: Some(settings),
            blob: Some(blob.clone()),
        };
        Some(blob)
    }

    /// Measures a call before its result is appended.
    pub(crate) fn measure_call(&self, call: &FinishedCall, started: Option<&StartedCall>, item: ItemId) -> CallRecord {
        let progress = started.map(|started| started.progress.as_ref());
        let now = self.env.now().0;
        let waited = progress.map_or(0, |progress| progress.waited.load(Ordering::Relaxed));
        let tool = self.env.config.tools.get(&call.tool);
        let end = call_end(call, progress);
        CallRecord {
            item,
            call: call.id.clone(),
            tool: call.tool.clone(),
            server: tool.and_then(|tool| tool.source().map(str::to_owned)),
            at: Time(now.saturating_sub(call.millis + waited)),
            millis: call.millis,
            waited,
            model: self.turn.model.info().name(),
            mode: self.turn.mode.name.clone(),
            turn: self.turn.progress.as_ref().map_or(0, |progress| progress.number),
            end,
            approval: progress.map(CallProgress::approval).unwrap_or_default(),
            output: call
                .output
                .content
                .iter()
                .map(|block| match block {
                    model::Block::Text { text } => text.len() as u64,
                    model::Block::Media(_) => 0,
                })
                .sum(),
            edits: edits(call, end),
            files: 0,
            lines: LineCounts::default(),
        }
    }
}

/// Stores the recorded bytes of a reply.
pub(crate) fn store_stream(trace: &WireTrace, store: &dyn Store) -> Option<BlobId> {
    let stream = trace.take_stream()?;
    Some(store.put_blob(serde_json::to_vec(&stream).ok()?.into()))
}

/// Stores the settings that determine the body of a request outside of the conversation.
pub(crate) fn store_settings(trace: &WireTrace, info: &Info, store: &dyn Store) -> Option<BlobId> {
    let inputs = RequestInputs {
        source: SystemPromptFacts::default(),
        mode: Mode::default(),
        model: info.clone(),
        tools: Vec::new(),
        deferred: Vec::new(),
        appended: Vec::new(),
        budget: None,
        wire: Some(trace.settings()?.to_string()),
    };
    Some(store.put_blob(serde_json::to_vec(&inputs).ok()?.into()))
}

/// Counts the changed files and lines of a call.
pub(crate) fn count_changes(record: &mut CallRecord, changes: &[UnsavedChange]) {
    record.files = changes.len() as u64;
    for change in changes.iter().take(MAX_COUNTED_FILES) {
        let text = |version: &Option<tool::UnsavedVersion>| -> Option<String> {
            let Some(version) = version else {
                return Some(String::new());
            };
            let bytes = version.bytes().filter(|bytes| bytes.len() <= MAX_COUNTED_BYTES)?;
            std::str::from_utf8(bytes).ok().map(str::to_owned)
        };
        if let (Some(before), Some(after)) = (text(&change.before), text(&change.after)) {
            record.lines += LineCounts::between(&before, &after);
        }
    }
}

/// The edits of a call; a failed edit has no known match.
fn edits(call: &FinishedCall, end: CallEnd) -> Vec<EditFact> {
    let is_edit = call.is_edit && matches!(end, CallEnd::Failed | CallEnd::InvalidInput);
    match call.output.edits.is_empty() && is_edit {
        true => vec![EditFact {
            format: call.tool.clone(),
            method: "refused".into(),
        }],
        false => call.output.edits.clone(),
    }
}

fn call_end(call: &FinishedCall, progress: Option<&CallProgress>) -> CallEnd {
    let Some(progress) = progress else {
        return CallEnd::Interrupted;
    };
    if let Some(end) = progress.issue() {
        return end;
    }
    if call.is_stopped {
        return CallEnd::Interrupted;
    }
    let has_failed = call.outcome == ToolOutcome::Error || call.output.exit.is_some_and(CommandExit::is_failure);
    match has_failed {
        true => CallEnd::Failed,
        false => CallEnd::Done,
    }
}

impl CallProgress {
    /// Notes why the call did not run. The first reason counts.
    pub(crate) fn set_issue(&self, end: CallEnd) {
        // A later reason follows from the first one.
        self.issue.get_or_init(|| end);
    }

    fn issue(&self) -> Option<CallEnd> {
        self.issue.get().copied()
    }

    /// Notes the answer of the user. A refusal overrides an approval of another action.
    pub(crate) fn set_approval(&self, outcome: ApprovalOutcome) {
        let rank = ApprovalOutcome::ALL
            .iter()
            .position(|known| *known == outcome)
            .unwrap_or(0);
        self.approval.fetch_max(rank, Ordering::Relaxed);
    }

    fn approval(&self) -> ApprovalOutcome {
        let rank = self.approval.load(Ordering::Relaxed);
        ApprovalOutcome::ALL.get(rank).copied().unwrap_or_default()
    }
}
