//! The JSON lines of `hew run --json`: a format of its own, versioned and documented in docs/json-events.md.

mod convert;

pub(crate) use convert::succeeded;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;

/// The version of the format. It grows when something is removed or changes its meaning, not when something is added.
pub(crate) const VERSION: u32 = 1;

/// One line of output.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Line<'a> {
    /// The version of the format.
    v: u32,
    #[serde(flatten)]
    event: Told<'a>,
}

impl<'a> Line<'a> {
    /// A line of the current version.
    pub(crate) fn new(event: Told<'a>) -> Self {
        Line { v: VERSION, event }
    }
}

/// What happened.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type")]
pub(crate) enum Told<'a> {
    /// The first line: what runs, where and how.
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
        /// The way of working.
        mode: &'a str,
        /// What is allowed without asking.
        permission: crate::config::Permission,
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
    /// An item begins to grow.
    #[serde(rename = "item.started")]
    ItemStarted {
        /// The item's id.
        id: String,
        #[serde(flatten)]
        kind: Begun<'a>,
    },
    /// An item grows.
    #[serde(rename = "item.delta")]
    ItemDelta {
        /// The item's id.
        id: String,
        /// What was added.
        delta: Added<'a>,
    },
    /// An item is complete and saved.
    #[serde(rename = "item.finished")]
    ItemFinished {
        /// The item.
        item: Box<Entry<'a>>,
    },
    /// An item that had begun will not come, because its request is sent again.
    #[serde(rename = "item.dropped")]
    ItemDropped {
        /// The item's id.
        id: String,
    },
    /// A tool wants to do something that is not allowed without asking, or the model wants to know something.
    #[serde(rename = "question")]
    Question {
        /// The question's id.
        id: String,
        /// The tool call that waits, where one does.
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<&'a str>,
        /// Who asks: the tool's name, or hew's.
        tool: &'a str,
        /// What it is about.
        #[serde(flatten)]
        subject: Asked<'a>,
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
        usage: Tokens,
        /// Its price in US dollars, where one is known.
        cost_usd: Option<f64>,
        /// The whole session so far.
        totals: Sum,
    },
    /// A request failed and will be sent again.
    #[serde(rename = "retrying")]
    Retrying {
        /// What happened.
        error: &'a str,
        /// Which attempt comes next, counting from 2.
        attempt: u32,
        /// After how many milliseconds.
        delay_ms: u64,
    },
    /// Something worth knowing.
    #[serde(rename = "notice")]
    Notice {
        /// How much it matters.
        level: Weight,
        /// What is worth knowing.
        text: &'a str,
    },
    /// Something happened in a subtask.
    #[serde(rename = "subtask")]
    Subtask {
        /// The subtask's session.
        session: String,
        /// The tool call that handed the work over.
        call: &'a str,
        /// What happened.
        event: Box<Told<'a>>,
    },
    /// The turn of a subtask is over.
    #[serde(rename = "subtask.finished")]
    SubtaskFinished {
        /// The subtask's session.
        session: String,
        /// The tool call that handed the work over.
        call: &'a str,
        /// How it ended.
        ending: Close<'a>,
        /// The text of its last reply.
        answer: &'a str,
    },
    /// The turn is over.
    #[serde(rename = "turn.finished")]
    TurnFinished {
        /// How it ended.
        ending: Close<'a>,
        /// The text of the model's last reply.
        answer: &'a str,
        /// The answer as JSON, where an output schema was given and the answer matches it.
        #[serde(skip_serializing_if = "Option::is_none")]
        output: Option<&'a Value>,
        /// How long the turn took.
        duration_ms: u64,
        /// The whole session so far.
        totals: Sum,
        /// The code with which hew exits if this is the last turn.
        exit_code: u8,
    },
    /// hew could not do what it was asked. Always the last line.
    #[serde(rename = "error")]
    Error {
        /// What happened.
        message: &'a str,
        /// What can be done about it.
        hint: Option<&'a str>,
        /// The code with which hew exits.
        exit_code: u8,
    },
}

/// What kind of item begins.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Begun<'a> {
    /// The model replies.
    Reply,
    /// A tool works.
    Result {
        /// The tool call's id.
        call: &'a str,
        /// The tool's name.
        tool: &'a str,
        /// What the call does, in one line.
        title: &'a str,
    },
}

/// What a question is about.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Asked<'a> {
    /// Something that a tool wants to do.
    Permission {
        /// What it wants to do.
        action: Value,
        /// Why it is asked.
        why: &'a str,
        /// Rules that could be remembered, the exact one first.
        rules: &'a [String],
    },
    /// Something that the model wants to know.
    Inquiry {
        /// The question.
        question: &'a str,
        /// Answers to choose from.
        choices: Vec<&'a str>,
        /// Whether several may be chosen.
        several: bool,
    },
}

/// What was added to an item.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Added<'a> {
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
    /// What a tool call will change, seen while the model still writes it. Nothing in it is binding.
    Preview {
        /// The tool call's id.
        call: &'a str,
        /// Which change of the call, counted from 1.
        edit: usize,
        /// The file, where it is known.
        path: Option<String>,
        /// What can be seen.
        sight: Seen<'a>,
    },
    /// Live output of a tool.
    Output {
        /// More of it.
        text: &'a str,
    },
}

/// What can be seen of a change that is being written. Lines are counted from 1.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(crate) enum Seen<'a> {
    /// The old text is being quoted and can only be here.
    Resolving {
        /// The first line.
        first_line: usize,
        /// The last line so far.
        last_line: usize,
    },
    /// The old text fits several places.
    Ambiguous {
        /// Where they begin.
        lines: &'a [usize],
    },
    /// The old text has not been found.
    Unresolved,
    /// The text from this line on changes like this; the operations follow those shown before.
    Edited {
        /// The first line of the text that the operations are for; 0 when it is a new file.
        first_line: usize,
        /// The next operations, on bytes.
        ops: Vec<Operation<'a>>,
    },
    /// The change is written out.
    Finished,
}

/// One operation on text.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Operation<'a> {
    /// So many bytes stay.
    Keep(usize),
    /// So many bytes go.
    Delete(usize),
    /// This comes.
    Insert(&'a str),
}

/// A saved item of the session's log.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Entry<'a> {
    /// The item's id.
    id: String,
    /// The item before it.
    parent: Option<String>,
    /// When it happened, in milliseconds since 1970.
    at_ms: u64,
    #[serde(flatten)]
    body: Content<'a>,
}

/// What an item holds.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Content<'a> {
    /// The person said something.
    Prompt {
        /// What was said.
        parts: Vec<Piece<'a>>,
    },
    /// The model replied.
    Reply {
        /// The model, as provider/id.
        model: &'a str,
        /// What it said.
        parts: Vec<Piece<'a>>,
        /// How the reply ended: `end`, `tool_use`, `max_tokens`, `refusal`, `interrupted`, `cut`, or the vendor's own word.
        end: Cow<'a, str>,
    },
    /// A tool answered a call.
    Result {
        /// The tool call's id.
        call: &'a str,
        /// The tool's name.
        tool: &'a str,
        /// What the call did, in one line.
        title: &'a str,
        /// What came of it, in one line.
        summary: Option<&'a str>,
        /// Whether the tool did what it was asked.
        ok: bool,
        /// What the model sees.
        parts: Vec<Piece<'a>>,
        /// How long the tool took.
        duration_ms: u64,
        /// Files that the tool changed.
        changes: Vec<Changed>,
    },
    /// Stands for everything before it.
    Summary {
        /// The summary.
        parts: Vec<Piece<'a>>,
    },
    /// Something worth knowing about how a turn ended.
    Notice {
        /// What it is.
        text: &'a str,
    },
    /// Something happened beside the conversation, and the agent goes on because of it.
    Wake {
        /// What told it.
        cause: &'a str,
        /// What the model is told.
        parts: Vec<Piece<'a>>,
    },
    /// The session went on in another mode.
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
        list: Vec<ToDo<'a>>,
    },
    /// The person looked at changes of files and took some as good or back.
    Review {
        /// The files that were looked at.
        files: Vec<LookedAt>,
    },
    /// The person had files put back, or forward again.
    Restored {
        /// `undo`, `redo`, or `left`: the conversation went back and the files did not.
        how: &'static str,
        /// What the model is told about it.
        parts: Vec<Piece<'a>>,
        /// Files that this changed.
        changes: Vec<Changed>,
    },
}

/// A part of a message.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Piece<'a> {
    /// Text.
    Text {
        /// The text.
        text: &'a str,
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
pub(crate) struct Changed {
    /// The file.
    path: String,
    /// `created`, `modified` or `deleted`.
    change: &'static str,
}

/// A thing to do.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ToDo<'a> {
    /// What is to be done.
    text: &'a str,
    /// `pending`, `in_progress`, `completed` or `cancelled`.
    status: &'static str,
}

/// A file whose changes were looked at.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LookedAt {
    /// The file.
    path: String,
    /// Whether nothing of it was left to look at.
    settled: bool,
}

/// Tokens of a request or a session. The prompt is `input` + `cache_read` + `cache_write`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Tokens {
    /// Prompt at the full price.
    input: u64,
    /// Prompt read from the provider's cache.
    cache_read: u64,
    /// Prompt written to the provider's cache.
    cache_write: u64,
    /// Reply, thinking included.
    output: u64,
    /// Of these, spent thinking, where the provider says so.
    thinking: u64,
    /// Whether hew estimated some of the figures.
    estimated: bool,
}

/// A session's tokens, money and requests so far.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Sum {
    /// All tokens.
    usage: Tokens,
    /// All money in US dollars, as far as prices are known.
    cost_usd: f64,
    /// All requests, failed ones and titles included.
    requests: u64,
}

/// How much a notice matters.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Weight {
    /// Good to know.
    Info,
    /// Something did not go as it should.
    Warning,
}

/// How a turn ended.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub(crate) enum Close<'a> {
    /// The model has said what it wanted to say.
    Completed,
    /// The output limit cut the last reply.
    MaxTokens,
    /// The model declined.
    Refused {
        /// The vendor's own words.
        detail: Option<&'a str>,
    },
    /// The person stopped it.
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
    /// It could not go on.
    Failed {
        /// What happened.
        error: &'a str,
        /// What can be done about it.
        hint: &'a str,
    },
}

/// The JSON schema of a line.
pub(crate) fn json_schema() -> Value {
    let mut schema = schemars::schema_for!(Line<'static>).to_value();
    if let Some(object) = schema.as_object_mut() {
        object.insert(
            "title".into(),
            format!("A line of hew run --json, version {VERSION}").into(),
        );
    }
    schema
}
