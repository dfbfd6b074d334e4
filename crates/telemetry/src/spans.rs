//! Builds the spans of sessions: session, turn, model request, tool call, subtask, MCP call and compaction.
//!
//! All spans of a session and its subtasks form one trace, with the session's id as its id. Records arrive when something
//! has ended, so the ids of spans that are still open are chosen in advance.

use crate::content;
use crate::names::{attribute, model_id, provider};
use crate::settings::ContentCapture;
use model::{CallId, Message, Part};
use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{Array, InstrumentationScope, KeyValue, StringValue, Value};
use opentelemetry_sdk::trace::{IdGenerator as _, RandomIdGenerator, SpanData, SpanEvents, SpanLinks};
use session::{Body, CallRecord, Item, ParentCall, RequestEnd, RequestRecord, SessionId, TurnRecord};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The maximum number of remembered inputs of calls.
const MAX_INPUTS: usize = 1000;

/// The open spans of all sessions of this process.
pub(crate) struct SpanBuilder {
    sessions: HashMap<SessionId, SessionSpans>,
    scope: InstrumentationScope,
    content: ContentCapture,
    version: String,
    finished: Vec<SpanData>,
}

/// The open spans of one session.
struct SessionSpans {
    trace: TraceId,
    /// The span of the session; for a subtask, that of the call that started it.
    root: SpanId,
    is_subtask: bool,
    start: SystemTime,
    turns: u64,
    /// The span of the running turn.
    turn: Option<SpanId>,
    /// Spans of calls that started subtasks.
    calls: HashMap<CallId, SpanId>,
    compaction: Option<OpenCompaction>,
    /// Contents, if they are exported.
    input: Vec<Arc<Message>>,
    inputs: HashMap<CallId, String>,
    results: HashMap<CallId, String>,
    reply: Option<Arc<Message>>,
    /// A request that waits for its reply.
    pending: Option<SpanData>,
}

struct OpenCompaction {
    span: SpanId,
    start: SystemTime,
}

impl SpanBuilder {
    pub(crate) fn new(content: ContentCapture, version: String) -> Self {
        SpanBuilder {
            sessions: HashMap::new(),
            scope: InstrumentationScope::builder("hew")
                .with_version(version.clone())
                .build(),
            content,
            version,
            finished: Vec::new(),
        }
    }

    /// The spans that ended since the last call.
    pub(crate) fn take_finished(&mut self) -> Vec<SpanData> {
        std::mem::take(&mut self.finished)
    }

    pub(crate) fn len(&self) -> usize {
        self.finished.len()
    }

    /// Registers a session.
    pub(crate) fn session_started(&mut self, session: SessionId, parent: Option<ParentCall>) {
        let Some(parent) = parent else {
            self.open(session);
            return;
        };
        let of = self.open(parent.session);
        let trace = of.trace;
        let root = *of.calls.entry(parent.call).or_insert_with(new_span_id);
        let subtask = SessionSpans {
            root,
            is_subtask: true,
            ..SessionSpans::new(trace)
        };
        self.sessions.insert(session, subtask);
    }

    /// Follows the conversation: the end of a compaction, and contents.
    pub(crate) fn item(&mut self, session: SessionId, item: &Arc<Item>) {
        let has_content = self.content == ContentCapture::On;
        let of = self.open(session);
        if let Body::Summary { .. } = &item.body
            && let Some(OpenCompaction { span, start }) = of.compaction.take()
        {
            let parent = of.turn.unwrap_or(of.root);
            let built = NewSpan {
                name: "compaction".into(),
                kind: SpanKind::Internal,
                start,
                end: time(item.at.0).max(start),
                attributes: vec![KeyValue::new(attribute::CONVERSATION_ID, session.to_string())],
                status: Status::Unset,
            };
            let trace = of.trace;
            self.finish(trace, span, parent, built);
        }
        if !has_content {
            return;
        }
        let of = self.open(session);
        if let Body::Reply { message, .. } = &item.body {
            for part in &message.parts {
                if let Part::ToolCall { id, input, .. } = part {
                    of.inputs.insert(id.clone(), content::bounded(&input.to_string()));
                }
            }
            if of.inputs.len() > MAX_INPUTS {
                of.inputs.clear();
            }
            of.reply = Some(Arc::clone(message));
        } else if let Some(message) = item.message().filter(|_| item.kind().is_exchange()) {
            if let Body::Result { call, .. } = &item.body {
                of.results.insert(call.clone(), content::result_text(message));
            }
            of.input.push(Arc::clone(message));
        }
        self.release_request(session);
    }

    /// A request ended. With contents, it waits for the item of its reply, which follows.
    pub(crate) fn request(&mut self, session: SessionId, record: &RequestRecord) {
        self.release_request(session);
        let has_content = self.content == ContentCapture::On;
        let of = self.open(session);
        let start = time(record.at.0);
        let parent = match record.purpose.as_str() {
            "summary" => {
                of.compaction
                    .get_or_insert_with(|| OpenCompaction {
                        span: new_span_id(),
                        start,
                    })
                    .span
            }
            _ if record.facts.turn == 0 => of.root,
            _ => *of.turn.get_or_insert_with(new_span_id),
        };
        let mut attributes = request_attributes(session, record);
        if has_content && record.purpose == "turn" {
            let input = std::mem::take(&mut of.input);
            attributes.push(KeyValue::new(
                attribute::INPUT_MESSAGES,
                content::messages(input.iter().map(|message| &**message)),
            ));
        }
        let status = match &record.outcome {
            RequestEnd::Failed { error } => Status::error(error.clone()),
            RequestEnd::Interrupted => Status::error("interrupted"),
            RequestEnd::Finished(_) | RequestEnd::Applied | RequestEnd::Rejected => Status::Unset,
        };
        let trace = of.trace;
        of.reply = None;
        let built = NewSpan {
            name: format!("chat {}", model_id(&record.model)).into(),
            kind: SpanKind::Client,
            start,
            end: start + Duration::from_millis(record.total),
            attributes,
            status,
        };
        let span = self.build(trace, new_span_id(), parent, built);
        match has_content && record.item.is_some() {
            true => self.open(session).pending = Some(span),
            false => self.finished.push(span),
        }
    }

    pub(crate) fn call(&mut self, session: SessionId, record: &CallRecord) {
        let of = self.open(session);
        let trace = of.trace;
        let parent = *of.turn.get_or_insert_with(new_span_id);
        let span = of.calls.remove(&record.call).unwrap_or_else(new_span_id);
        let (input, result) = (of.inputs.remove(&record.call), of.results.remove(&record.call));
        let start = time(record.at.0);
        let end = start + Duration::from_millis(record.millis + record.waited);
        let mut attributes = call_attributes(session, record);
        attributes.extend(input.map(|text| KeyValue::new(attribute::TOOL_CALL_ARGUMENTS, text)));
        attributes.extend(result.map(|text| KeyValue::new(attribute::TOOL_CALL_RESULT, text)));
        let status = match record.end {
            session::CallEnd::Done => Status::Unset,
            end => Status::error(end.name()),
        };
        if let Some(server) = &record.server {
            let built = NewSpan {
                name: format!("tools/call {}", record.tool).into(),
                kind: SpanKind::Client,
                start,
                end,
                attributes: vec![
                    KeyValue::new(attribute::MCP_METHOD, "tools/call"),
                    KeyValue::new(attribute::OPERATION, "execute_tool"),
                    KeyValue::new(attribute::TOOL_NAME, record.tool.clone()),
                    KeyValue::new("hew.mcp.server", server.clone()),
                ],
                status: status.clone(),
            };
            self.finish(trace, new_span_id(), span, built);
        }
        let built = NewSpan {
            name: format!("execute_tool {}", record.tool).into(),
            kind: SpanKind::Internal,
            start,
            end,
            attributes,
            status,
        };
        self.finish(trace, span, parent, built);
    }

    pub(crate) fn turn(&mut self, session: SessionId, record: &TurnRecord) {
        self.release_request(session);
        let version = self.version.clone();
        let of = self.open(session);
        of.turns += 1;
        let (trace, parent) = (of.trace, of.root);
        let span = of.turn.take().unwrap_or_else(new_span_id);
        let name = match of.is_subtask {
            true => record.mode.clone(),
            false => "hew".to_owned(),
        };
        let start = time(record.at.0);
        of.start = of.start.min(start);
        let status = match record.ending.as_str() {
            "completed" => Status::Unset,
            ending => Status::error(ending.to_owned()),
        };
        let built = NewSpan {
            name: format!("invoke_agent {name}").into(),
            kind: SpanKind::Internal,
            start,
            end: start + Duration::from_millis(record.total),
            attributes: vec![
                KeyValue::new(attribute::OPERATION, "invoke_agent"),
                KeyValue::new(attribute::PROVIDER, provider(&record.model)),
                KeyValue::new(attribute::REQUEST_MODEL, model_id(&record.model).to_owned()),
                KeyValue::new(attribute::AGENT_NAME, name),
                KeyValue::new(attribute::AGENT_VERSION, version),
                KeyValue::new(attribute::CONVERSATION_ID, session.to_string()),
                KeyValue::new("hew.mode", record.mode.clone()),
                KeyValue::new("hew.turn", i64::from(record.number)),
                KeyValue::new("hew.turn.intent", record.intent.name()),
                KeyValue::new("hew.turn.ending", record.ending.clone()),
                KeyValue::new("hew.turn.requests", i64::from(record.steps)),
            ],
            status,
        };
        self.finish(trace, span, parent, built);
    }

    /// Ends the spans of all sessions.
    pub(crate) fn close(&mut self) {
        let open: Vec<SessionId> = self.sessions.keys().copied().collect();
        for session in open {
            self.release_request(session);
            let Some(of) = self.sessions.remove(&session) else {
                continue;
            };
            if of.is_subtask {
                continue;
            }
            let built = NewSpan {
                name: "session".into(),
                kind: SpanKind::Internal,
                start: of.start,
                end: SystemTime::now().max(of.start),
                attributes: vec![
                    KeyValue::new(attribute::CONVERSATION_ID, session.to_string()),
                    KeyValue::new(attribute::AGENT_NAME, "hew"),
                    KeyValue::new(attribute::AGENT_VERSION, self.version.clone()),
                    KeyValue::new("hew.session.turns", i64::try_from(of.turns).unwrap_or(i64::MAX)),
                ],
                status: Status::Unset,
            };
            self.finish(of.trace, of.root, SpanId::INVALID, built);
        }
    }

    /// Completes a request that waits for its reply.
    fn release_request(&mut self, session: SessionId) {
        let of = self.open(session);
        let reply = of.reply.take();
        if let Some(mut span) = of.pending.take() {
            let output = reply.map(|reply| content::messages(std::iter::once(&*reply)));
            span.attributes
                .extend(output.map(|text| KeyValue::new(attribute::OUTPUT_MESSAGES, text)));
            self.finished.push(span);
        }
    }

    fn open(&mut self, session: SessionId) -> &mut SessionSpans {
        self.sessions
            .entry(session)
            .or_insert_with(|| SessionSpans::new(TraceId::from_bytes(*session.0.as_bytes())))
    }

    fn finish(&mut self, trace: TraceId, span: SpanId, parent: SpanId, new: NewSpan) {
        let built = self.build(trace, span, parent, new);
        self.finished.push(built);
    }

    fn build(&self, trace: TraceId, span: SpanId, parent: SpanId, new: NewSpan) -> SpanData {
        SpanData {
            span_context: SpanContext::new(trace, span, TraceFlags::SAMPLED, false, TraceState::default()),
            parent_span_id: parent,
            parent_span_is_remote: false,
            span_kind: new.kind,
            name: new.name,
            start_time: new.start,
            end_time: new.end,
            attributes: new.attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: new.status,
            instrumentation_scope: self.scope.clone(),
        }
    }
}

/// The properties of a span.
struct NewSpan {
    name: Cow<'static, str>,
    kind: SpanKind,
    start: SystemTime,
    end: SystemTime,
    attributes: Vec<KeyValue>,
    status: Status,
}

impl SessionSpans {
    fn new(trace: TraceId) -> Self {
        SessionSpans {
            trace,
            root: new_span_id(),
            is_subtask: false,
            start: SystemTime::now(),
            turns: 0,
            turn: None,
            calls: HashMap::new(),
            compaction: None,
            input: Vec::new(),
            inputs: HashMap::new(),
            results: HashMap::new(),
            reply: None,
            pending: None,
        }
    }
}

fn request_attributes(session: SessionId, record: &RequestRecord) -> Vec<KeyValue> {
    let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
    let (usage, facts) = (&record.usage, &record.facts);
    let finish = Array::String(vec![StringValue::from(record.outcome.name())]);
    let mut attributes = vec![
        KeyValue::new(attribute::OPERATION, "chat"),
        KeyValue::new(attribute::PROVIDER, provider(&record.model)),
        KeyValue::new(attribute::REQUEST_MODEL, model_id(&record.model).to_owned()),
        KeyValue::new(attribute::REQUEST_STREAM, true),
        KeyValue::new(attribute::CONVERSATION_ID, session.to_string()),
        KeyValue::new(attribute::FINISH_REASONS, Value::Array(finish)),
        KeyValue::new(attribute::USAGE_INPUT, count(usage.prompt_tokens())),
        KeyValue::new(attribute::USAGE_OUTPUT, count(usage.output)),
        KeyValue::new(attribute::USAGE_CACHE_READ, count(usage.cache_read)),
        KeyValue::new(
            attribute::USAGE_CACHE_CREATION,
            count(usage.cache_write + usage.cache_write_1h),
        ),
        KeyValue::new(attribute::USAGE_REASONING, count(usage.thinking)),
        KeyValue::new("hew.request.id", record.id.to_string()),
        KeyValue::new("hew.request.purpose", record.purpose.clone()),
        KeyValue::new("hew.request.attempt", i64::from(record.attempt)),
        KeyValue::new("hew.usage.estimated", usage.estimated),
    ];
    if let RequestEnd::Failed { .. } | RequestEnd::Interrupted = &record.outcome {
        attributes.push(KeyValue::new(attribute::ERROR_TYPE, record.outcome.name()));
    }
    if let Some(first) = record.first_chunk {
        attributes.push(KeyValue::new(attribute::TIME_TO_FIRST_CHUNK, first as f64 / 1e3));
    }
    if let Some(cost) = record.cost {
        attributes.push(KeyValue::new("hew.cost", cost.usd()));
    }
    if let Some(prompt) = &record.prompt {
        attributes.push(KeyValue::new("hew.cache.expected_tokens", count(prompt.cached)));
    }
    if facts.round > 0 {
        attributes.extend([
            KeyValue::new("hew.mode", facts.mode.clone()),
            KeyValue::new("hew.turn", i64::from(facts.turn)),
            KeyValue::new("hew.round", i64::from(facts.round)),
            KeyValue::new("hew.tools.offered", i64::from(facts.tools)),
            KeyValue::new("hew.tools.called", i64::from(facts.calls)),
            KeyValue::new("hew.tools.malformed", i64::from(facts.malformed)),
            KeyValue::new("hew.prompt.assembly.duration", facts.assembled_in as f64 / 1e6),
        ]);
    }
    attributes
}

fn call_attributes(session: SessionId, record: &CallRecord) -> Vec<KeyValue> {
    let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let kind = match record.server.is_some() {
        true => "extension",
        false => "function",
    };
    let mut attributes = vec![
        KeyValue::new(attribute::OPERATION, "execute_tool"),
        KeyValue::new(attribute::TOOL_NAME, record.tool.clone()),
        KeyValue::new(attribute::TOOL_TYPE, kind),
        KeyValue::new(attribute::TOOL_CALL_ID, record.call.as_str().to_owned()),
        KeyValue::new(attribute::CONVERSATION_ID, session.to_string()),
        KeyValue::new("hew.mode", record.mode.clone()),
        KeyValue::new("hew.turn", i64::from(record.turn)),
        KeyValue::new("hew.tool.outcome", record.end.name()),
        KeyValue::new("hew.approval", record.approval.name()),
        KeyValue::new("hew.approval.duration", record.waited as f64 / 1e3),
        KeyValue::new("hew.tool.output_bytes", count(record.output)),
    ];
    if record.end != session::CallEnd::Done {
        attributes.push(KeyValue::new(attribute::ERROR_TYPE, record.end.name()));
    }
    if record.files > 0 {
        attributes.extend([
            KeyValue::new("hew.files_changed", count(record.files)),
            KeyValue::new("hew.lines_added", count(record.lines.added)),
            KeyValue::new("hew.lines_removed", count(record.lines.removed)),
        ]);
    }
    if let Some(edit) = record.edits.first() {
        let methods = record.edits.iter().map(|edit| StringValue::from(edit.method.clone()));
        attributes.extend([
            KeyValue::new("hew.edit.format", edit.format.clone()),
            KeyValue::new("hew.edit.match", Value::Array(Array::String(methods.collect()))),
        ]);
    }
    attributes
}

fn new_span_id() -> SpanId {
    RandomIdGenerator::default().new_span_id()
}

/// A time in milliseconds since 1970.
fn time(millis: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(millis)
}
