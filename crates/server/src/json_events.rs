//! Events and items as JSON: the lines of `hew run --json` and the events of the HTTP API. A format of its own, versioned and
//! documented in docs/json-events.md.

mod convert;
mod parse;

pub use convert::succeeded;
pub use parse::{parse_event, parse_item, parse_totals};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;

/// The version of the format. It grows when something is removed or changes its meaning, not when something is added.
pub const VERSION: u32 = 1;

/// One line of output.
#[derive(Debug, Serialize, JsonSchema)]
pub struct JsonLine<'a> {
    /// The version of the format.
    v: u32,
    #[serde(flatten)]
    event: JsonEvent<'a>,
}

impl<'a> JsonLine<'a> {
    /// A line of the current version.
    pub fn new(event: JsonEvent<'a>) -> Self {
        JsonLine { v: VERSION, event }
    }
}

/// The event.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type")]
pub enum JsonEvent<'a> {
    /// The first line: the session's settings.
    #[serde(rename = "session.started")]
    SessionStarted {
        /// The session's id, for `hew resume`.
        session: String,
        /// Whether the session existed before.
        resumed: bool,
        /// The model, as provider/id.
        model: &'a str,
        /// The project's folder.
        cwd: String,
        /// The mode.
        mode: &'a str,
        /// The permission level: actions that need no approval.
        #[schemars(extend("enum" = ["read-only", "workspace", "full"]))]
        permission: &'a str,
        /// The version of hew.
        hew: &'a str,
    },
    /// The session has a title.
    #[serde(rename = "session.titled")]
    SessionTitled {
        /// The title.
        title: &'a str,
    },
    /// A turn begins.
    #[serde(rename = "turn.started")]
    TurnStarted,
    /// An item starts.
    #[serde(rename = "item.started")]
    ItemStarted {
        /// The item's id.
        id: String,
        /// Its kind.
        #[serde(flatten)]
        kind: JsonItemStart<'a>,
    },
    /// A delta of an item.
    #[serde(rename = "item.delta")]
    ItemDelta {
        /// The item's id.
        id: String,
        /// The addition.
        delta: JsonDelta<'a>,
    },
    /// An item is complete and saved.
    #[serde(rename = "item.finished")]
    ItemFinished {
        /// The item.
        item: Box<JsonItem<'a>>,
    },
    /// A started item was discarded, because its request is retried.
    #[serde(rename = "item.dropped")]
    ItemDropped {
        /// The item's id.
        id: String,
    },
    /// An action needs approval, or the model asks a question.
    #[serde(rename = "question")]
    Question {
        /// The question's id.
        id: String,
        /// The waiting tool call, if any.
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<&'a str>,
        /// Who asks: the tool's name, or hew's.
        tool: &'a str,
        /// The subject.
        #[serde(flatten)]
        subject: JsonQuestion<'a>,
    },
    /// A question was answered.
    #[serde(rename = "question.answered")]
    QuestionAnswered {
        /// The question's id.
        id: String,
    },
    /// A request to the model was accounted for.
    #[serde(rename = "usage")]
    Usage {
        /// The request's id.
        request: String,
        /// Its tokens.
        usage: JsonUsage,
        /// Its price in US dollars, if known.
        cost_usd: Option<f64>,
        /// The whole session so far.
        totals: JsonTotals,
    },
    /// A request failed and will be sent again.
    #[serde(rename = "retrying")]
    Retrying {
        /// The event.
        error: &'a str,
        /// Which attempt comes next, counting from 2.
        attempt: u32,
        /// After how many milliseconds.
        delay_ms: u64,
    },
    /// A notice.
    #[serde(rename = "notice")]
    Notice {
        /// How much it matters.
        level: JsonLevel,
        /// The text.
        text: &'a str,
    },
    /// The conversation was rewound.
    #[serde(rename = "session.rewound")]
    SessionRewound {
        /// The newest item that is still part of it.
        head: String,
    },
    /// Something happened in a subtask.
    #[serde(rename = "subtask")]
    Subtask {
        /// The subtask's session.
        session: String,
        /// The tool call that started the subtask.
        call: &'a str,
        /// The event.
        event: Box<JsonEvent<'a>>,
    },
    /// The turn of a subtask is over.
    #[serde(rename = "subtask.finished")]
    SubtaskFinished {
        /// The subtask's session.
        session: String,
        /// The tool call that started the subtask.
        call: &'a str,
        /// How it ended.
        ending: JsonTurnEnd<'a>,
        /// The text of its last reply.
        answer: &'a str,
    },
    /// The turn is over.
    #[serde(rename = "turn.finished")]
    TurnFinished {
        /// How it ended.
        ending: JsonTurnEnd<'a>,
        /// The text of the model's last reply.
        answer: &'a str,
        /// The answer as JSON, if it matches the given output schema.
        #[serde(skip_serializing_if = "Option::is_none")]
        output: Option<&'a Value>,
        /// How long the turn took.
        duration_ms: u64,
        /// The whole session so far.
        totals: JsonTotals,
        /// The code with which hew exits if this is the last turn.
        exit_code: u8,
    },
    /// hew could not run the task, or the wait for background work was stopped. Always the last line.
    #[serde(rename = "error")]
    Error {
        /// The event.
        message: &'a str,
        /// A hint.
        hint: Option<&'a str>,
        /// The code with which hew exits.
        exit_code: u8,
    },
}

/// The kind of a started item.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum JsonItemStart<'a> {
    /// The model replies.
    Reply,
    /// A tool works.
    Result {
        /// The tool call's id.
        call: &'a str,
        /// The tool's name.
        tool: &'a str,
        /// A one-line description of the call.
        title: &'a str,
    },
}

/// The subject of a question.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum JsonQuestion<'a> {
    /// An action that needs approval.
    Permission {
        /// The action.
        action: Value,
        /// The reason for asking.
        why: &'a str,
        /// Rules that could be remembered, the exact one first.
        rules: &'a [String],
        /// The whole input of the call.
        input: &'a Value,
    },
    /// A question by the model.
    Inquiry {
        /// The question.
        question: &'a str,
        /// Answers to choose from.
        choices: Vec<&'a str>,
        /// Their descriptions.
        descriptions: Vec<Option<&'a str>>,
        /// Whether several may be chosen.
        several: bool,
    },
}

/// An addition to an item.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum JsonDelta<'a> {
    /// Text of the reply.
    Text {
        /// More of it.
        text: &'a str,
    },
    /// Thinking of the reply.
    Thinking {
        /// More of it.
        text: &'a str,
    },
    /// The model begins to write a tool call.
    Call {
        /// The tool call's id.
        call: &'a str,
        /// The tool's name.
        tool: &'a str,
    },
    /// More of a tool call's input.
    Input {
        /// The tool call's id.
        call: &'a str,
        /// Raw JSON text.
        json: &'a str,
    },
    /// A preview of a change while the model is writing it. Not final.
    Preview {
        /// The tool call's id.
        call: &'a str,
        /// Which change of the call, counted from 1.
        edit: usize,
        /// The file, if known.
        path: Option<String>,
        /// The state of the preview.
        sight: JsonPreview<'a>,
    },
    /// Live output of a tool.
    Output {
        /// More of it.
        text: &'a str,
    },
}

/// The preview of a change. Lines are counted from 1.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum JsonPreview<'a> {
    /// The old text is being quoted and can only be here.
    Resolving {
        /// The first line.
        first_line: usize,
        /// The last line so far.
        last_line: usize,
    },
    /// The old text fits several places.
    Ambiguous {
        /// The first line.
        lines: &'a [usize],
    },
    /// The old text has not been found.
    Unresolved,
    /// The text from this line on changes like this; the operations follow those shown before.
    Edited {
        /// The first line of the text that the operations are for; 0 when it is a new file.
        first_line: usize,
        /// The next operations, on bytes.
        ops: Vec<JsonTextOp<'a>>,
    },
    /// The change is written out.
    Finished,
}

/// One operation on text.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JsonTextOp<'a> {
    /// Keep this many bytes.
    Keep(usize),
    /// Delete this many bytes.
    Delete(usize),
    /// Insert this text.
    Insert(&'a str),
}

/// A saved item of the session's log.
#[derive(Debug, Serialize, JsonSchema)]
pub struct JsonItem<'a> {
    /// The item's id.
    id: String,
    /// The item before it.
    parent: Option<String>,
    /// When it happened, in milliseconds since 1970.
    at_ms: u64,
    #[serde(flatten)]
    body: JsonBody<'a>,
}

/// The content of an item.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum JsonBody<'a> {
    /// A prompt by the user.
    Prompt {
        /// The prompt.
        parts: Vec<JsonPart<'a>>,
    },
    /// The model replied.
    Reply {
        /// The model, as provider/id.
        model: &'a str,
        /// Its content.
        parts: Vec<JsonPart<'a>>,
        /// The id of its request, as in the event `usage`.
        request: String,
        /// How the reply ended: `end`, `tool_use`, `max_tokens`, `refusal`, `interrupted`, `cut`, or the vendor's own word.
        end: Cow<'a, str>,
    },
    /// A tool answered a call.
    Result {
        /// The tool call's id.
        call: &'a str,
        /// The tool's name.
        tool: &'a str,
        /// A one-line description of the call.
        title: &'a str,
        /// The result in one line.
        summary: Option<&'a str>,
        /// Whether the call succeeded.
        ok: bool,
        /// How the command of the call ended: its code, or `signal` or `timeout`.
        #[serde(skip_serializing_if = "Option::is_none")]
        exit: Option<Value>,
        /// The content for the model.
        parts: Vec<JsonPart<'a>>,
        /// How long the tool took.
        duration_ms: u64,
        /// Files that the tool changed.
        changes: Vec<JsonFileChange>,
    },
    /// A summary that replaces all earlier items.
    Summary {
        /// The summary.
        parts: Vec<JsonPart<'a>>,
    },
    /// A remark about the end of a turn.
    Notice {
        /// The text.
        text: &'a str,
    },
    /// An event outside the conversation, after which the agent continues.
    Wake {
        /// The source of the event.
        cause: &'a str,
        /// The content for the model.
        parts: Vec<JsonPart<'a>>,
    },
    /// The mode changed.
    Mode {
        /// The mode's name.
        name: &'a str,
    },
    /// Panels were shown to the model.
    Panels {
        /// Their names.
        panels: Vec<&'a str>,
        /// Whether older parts of the conversation are shown in a shorter form from here on.
        folded: bool,
    },
    /// The list of things to do has changed.
    Todos {
        /// The whole list.
        list: Vec<JsonTodo<'a>>,
    },
    /// The user accepted or rejected file changes.
    Review {
        /// The files that were looked at.
        files: Vec<JsonReviewedFile>,
    },
    /// The user undid or redid file changes.
    Restored {
        /// `undo`, `redo`, or `left`: a rewind without the files.
        how: &'static str,
        /// The note for the model.
        parts: Vec<JsonPart<'a>>,
        /// Files that this changed.
        changes: Vec<JsonFileChange>,
    },
}

/// A part of a message.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum JsonPart<'a> {
    /// Text.
    Text {
        /// The text.
        text: &'a str,
        /// Where it comes from, if not from the author of the message: `rules`, `environment`, `mention`, `attachment`,
        /// `command`, `hook`, `reminder`, `shell` or `summary`.
        #[serde(skip_serializing_if = "Option::is_none")]
        origin: Option<&'static str>,
    },
    /// The model's thinking, as far as its vendor shows it.
    Thinking {
        /// The text.
        text: &'a str,
    },
    /// A tool call.
    ToolCall {
        /// The tool call's id.
        call: &'a str,
        /// The tool's name.
        tool: &'a str,
        /// Its input.
        input: &'a Value,
    },
    /// An image or a document; its bytes are left out.
    Media {
        /// Such as `image/png`.
        mime: &'a str,
        /// A file name.
        name: Option<&'a str>,
        /// Its size.
        bytes: usize,
    },
}

/// A file that a tool changed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct JsonFileChange {
    /// The file.
    path: String,
    /// `created`, `modified` or `deleted`.
    change: &'static str,
    /// The stored content before, if there was a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<String>,
    /// The stored content after, if there is a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

/// A thing to do.
#[derive(Debug, Serialize, JsonSchema)]
pub struct JsonTodo<'a> {
    /// The task.
    text: &'a str,
    /// `pending`, `in_progress`, `completed` or `cancelled`.
    status: &'static str,
}

/// A reviewed file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct JsonReviewedFile {
    /// The file.
    path: String,
    /// Whether nothing of it was left to look at.
    settled: bool,
}

/// Tokens of a request or a session. The prompt is `input` + `cache_read` + `cache_write`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct JsonUsage {
    /// Prompt at the full price.
    input: u64,
    /// Prompt read from the provider's cache.
    cache_read: u64,
    /// Prompt written to the provider's cache.
    cache_write: u64,
    /// Reply, thinking included.
    output: u64,
    /// Of these, thinking tokens, if the provider reports them.
    thinking: u64,
    /// Whether hew estimated some of the figures.
    estimated: bool,
}

/// A session's tokens, money and requests so far.
#[derive(Debug, Serialize, JsonSchema)]
pub struct JsonTotals {
    /// All tokens.
    usage: JsonUsage,
    /// All money in US dollars, as far as prices are known.
    cost_usd: f64,
    /// All requests, failed ones and titles included.
    requests: u64,
}

/// How much a notice matters.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JsonLevel {
    /// Information.
    Info,
    /// A problem that does not stop the turn.
    Warning,
}

/// How a turn ended.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum JsonTurnEnd<'a> {
    /// The model finished.
    Completed,
    /// The output limit cut the last reply.
    MaxTokens,
    /// The model declined.
    Refused {
        /// The vendor's value.
        detail: Option<&'a str>,
    },
    /// The user stopped it.
    Interrupted,
    /// A limit stopped it.
    Limit {
        /// Which: `steps`, `cost` or `time`.
        limit: &'static str,
        /// Requests, US dollars or seconds.
        value: f64,
    },
    /// The model made the same call over and over.
    Loop {
        /// The tool's name.
        tool: &'a str,
        /// How often.
        times: u32,
    },
    /// It failed.
    Failed {
        /// The event.
        error: &'a str,
        /// A hint.
        hint: &'a str,
    },
}

/// The JSON schema of a line.
pub fn json_schema() -> Value {
    let mut schema = schemars::schema_for!(JsonLine<'static>).to_value();
    if let Some(object) = schema.as_object_mut() {
        object.insert(
            "title".into(),
            format!("A line of hew run --json, version {VERSION}").into(),
        );
    }
    schema
}
