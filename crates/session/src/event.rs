//! What a session tells its front ends.

use crate::{Item, ItemId, QuestionId, RequestId, SessionId};
use model::{CallId, Cost, Usage};
use policy::Action;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What a session tells its front ends: started, delta, finished.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A turn begins.
    TurnStarted,
    /// An item begins to grow.
    ItemStarted {
        /// The item.
        id: ItemId,
        /// What kind of item it will be.
        kind: ItemKind,
    },
    /// An item grows.
    ItemDelta {
        /// The item.
        id: ItemId,
        /// What was added.
        delta: Delta,
    },
    /// An item is complete and durable.
    ItemFinished {
        /// The item.
        item: Arc<Item>,
    },
    /// An item that had started will not come: its request is sent again.
    ItemDropped {
        /// The item.
        id: ItemId,
    },
    /// The person is asked something.
    Asked {
        /// The question.
        question: Question,
    },
    /// A question was answered, here or elsewhere.
    Answered {
        /// The question.
        question: QuestionId,
    },
    /// A request was accounted for.
    Usage {
        /// The request.
        request: RequestId,
        /// Its tokens.
        usage: Usage,
        /// Its price, where one is known.
        cost: Option<Cost>,
        /// The whole session so far.
        totals: Totals,
    },
    /// A request failed and will be sent again.
    Retrying {
        /// What happened.
        error: String,
        /// Which attempt comes next, counting from 2.
        attempt: u32,
        /// After how long.
        delay: Duration,
    },
    /// Something that the person should know.
    Notice {
        /// How much it matters.
        level: Level,
        /// What they should know.
        text: String,
    },
    /// The session has a title.
    Titled {
        /// The title.
        title: String,
    },
    /// Something happened in a subtask.
    Subtask {
        /// The subtask's session.
        session: SessionId,
        /// The call that handed the work over.
        call: CallId,
        /// What happened.
        event: Box<Event>,
    },
    /// The turn is over.
    TurnFinished {
        /// How it ended.
        ending: Ending,
        /// The text of the model's last reply, or what it said when it declared its work done.
        answer: String,
    },
}

/// What kind of item begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemKind {
    /// The model replies.
    Reply,
    /// A tool works.
    Result {
        /// The call.
        call: CallId,
        /// The tool's name.
        tool: String,
        /// What the call does, in one line.
        title: String,
    },
}

/// What was added to an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// Text of the reply.
    Text(String),
    /// Thinking of the reply.
    Thinking(String),
    /// The model begins to write a tool call.
    Call {
        /// The call.
        call: CallId,
        /// The tool's name.
        tool: String,
    },
    /// More of a tool call's input, as raw JSON text.
    Input {
        /// The call.
        call: CallId,
        /// Raw JSON text.
        json: String,
    },
    /// What a call will change, seen while the model still writes it. Nothing in it is binding.
    Preview {
        /// The call.
        call: CallId,
        /// What can be seen now.
        glimpse: Glimpse,
    },
    /// Live output of a tool.
    Output(String),
}

/// News about a change that is being written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glimpse {
    /// Which change of the call, counted from 1.
    pub edit: usize,
    /// The file, where it is known.
    pub path: Option<PathBuf>,
    /// What can be seen.
    pub sight: Sight,
}

/// What can be seen of a change. Lines are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sight {
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
        lines: Vec<usize>,
    },
    /// The old text has not been found.
    Unresolved,
    /// The text from this line on changes like this; the operations follow those shown before.
    Edited {
        /// The first line of the text that the operations are for; 0 when it is a new file.
        first_line: usize,
        /// The next operations.
        ops: Vec<Op>,
    },
    /// The change is written out.
    Finished,
}

/// One operation on text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// So many bytes stay.
    Keep(usize),
    /// So many bytes go.
    Delete(usize),
    /// This comes.
    Insert(String),
}

/// A question to the person.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Names it.
    pub id: QuestionId,
    /// The call that waits for it, where one does.
    pub call: Option<CallId>,
    /// Who asks: the tool's name, or hew's.
    pub tool: String,
    /// What it is about.
    pub subject: Subject,
}

/// What a question is about.
#[derive(Debug, Clone, PartialEq)]
pub enum Subject {
    /// Something that a tool wants to do.
    Permission {
        /// What it wants to do.
        action: Action,
        /// Why it is asked.
        why: String,
        /// The whole input of the call, which the person may change.
        input: Value,
        /// Rules that could be remembered, the exact one first.
        rules: Vec<String>,
    },
    /// Something that the model wants to know.
    Inquiry {
        /// The question.
        question: String,
        /// Answers to choose from, and what each would mean; the person may always say something else.
        choices: Vec<(String, Option<String>)>,
        /// Whether several may be chosen.
        several: bool,
    },
}

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Good to know.
    Info,
    /// Something did not go as it should.
    Warning,
}

/// A session's tokens, money and requests so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// All tokens.
    pub usage: Usage,
    /// All money, as far as prices are known.
    pub cost: Cost,
    /// All requests, failed ones and titles included.
    pub requests: u64,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// The model has said what it wanted to say.
    Completed,
    /// The output limit cut the model's last reply.
    MaxTokens,
    /// The model declined.
    Refused {
        /// The vendor's own words, where it gives any.
        detail: Option<String>,
    },
    /// The person stopped it.
    Interrupted,
    /// A limit stopped it.
    Limit(Limit),
    /// The model made the same call over and over.
    Loop {
        /// The tool's name.
        tool: String,
        /// How often the same call was made.
        times: u32,
    },
    /// It could not go on.
    Failed {
        /// What happened.
        error: String,
        /// What the person can do about it.
        hint: String,
    },
}

/// A limit that stopped a turn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// Requests to the model.
    Steps(u32),
    /// Money.
    Cost(Cost),
    /// Time.
    Time(Duration),
}
