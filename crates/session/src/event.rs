//! Events: what a session reports to its front ends.

use crate::{Error, Item, ItemId, QuestionId, RequestId, SessionId};
use model::{CallId, Cost, Usage};
use policy::Action;
use serde_json::Value;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What a session reports to its front ends. Everything that takes time has the shape started, delta, finished.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A turn started.
    TurnStarted,
    /// An item started to arrive.
    ItemStarted {
        /// The item.
        id: ItemId,
        /// The kind of item.
        kind: ItemStart,
    },
    /// A part of an item arrived.
    ItemDelta {
        /// The item.
        id: ItemId,
        /// The added part.
        delta: ItemDelta,
    },
    /// The item is complete and stored.
    ItemFinished {
        /// The item.
        item: Arc<Item>,
    },
    /// A started item is discarded: its request is sent again.
    ItemDropped {
        /// The item.
        id: ItemId,
    },
    /// The user is asked a question.
    QuestionAsked {
        /// The question.
        question: Question,
    },
    /// A question was answered, by this or another front end.
    QuestionAnswered {
        /// The question.
        question: QuestionId,
    },
    /// Usage of a finished request.
    Usage {
        /// The request.
        request: RequestId,
        /// Its tokens.
        usage: Usage,
        /// Its price, if known.
        cost: Option<Cost>,
        /// Totals of the session so far.
        totals: Totals,
    },
    /// A request failed and is retried.
    Retrying {
        /// The error.
        error: String,
        /// The number of the next attempt, from 2.
        attempt: u32,
        /// Time until the next attempt.
        delay: Duration,
    },
    /// A message for the user.
    Notice {
        /// Its severity.
        level: NoticeLevel,
        /// The message.
        text: String,
    },
    /// The session's title was set.
    TitleChanged {
        /// The title.
        title: String,
    },
    /// The conversation was rewound: later items are no longer part of it.
    Rewound {
        /// The new head.
        head: ItemId,
    },
    /// An event of a subtask.
    Subtask {
        /// The subtask's session.
        session: SessionId,
        /// The call that started the subtask.
        call: CallId,
        /// The error.
        event: Box<Event>,
    },
    /// The turn ended.
    TurnFinished {
        /// How it ended.
        ending: TurnEnd,
        /// The text of the model's last reply, or the result that the model declared.
        answer: String,
    },
}

/// An item that starts to arrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemStart {
    /// A reply of the model.
    Reply,
    /// A tool call that runs.
    Result {
        /// The call.
        call: CallId,
        /// The tool's name.
        tool: String,
        /// One line: what the call does.
        title: String,
    },
}

/// A part of an item that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemDelta {
    /// Reply text.
    Text(String),
    /// Reply thinking.
    Thinking(String),
    /// The model starts a tool call.
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
    /// Preview of the changes of a call with incomplete input.
    Preview {
        /// The call.
        call: CallId,
        /// The update.
        update: PreviewUpdate,
    },
    /// Output of a running tool.
    Output(String),
}

/// An update to the preview of one change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewUpdate {
    /// The index of the change in the call, from 1.
    pub edit: usize,
    /// The file, if known.
    pub path: Option<PathBuf>,
    /// The new state.
    pub state: PreviewState,
}

/// The state of a previewed change. Lines are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreviewState {
    /// The old text is incomplete but can only match here.
    Resolving {
        /// The first line.
        first_line: usize,
        /// The last matched line.
        last_line: usize,
    },
    /// The old text matches several places.
    Ambiguous {
        /// Their first lines.
        lines: Vec<usize>,
    },
    /// The old text does not match.
    Unresolved,
    /// Operations on the text from this line; they continue the operations of earlier updates.
    Edited {
        /// The first line of the edited text; 0 for a new file.
        first_line: usize,
        /// The next operations.
        ops: Vec<TextOp>,
    },
    /// The change is complete.
    Finished,
}

/// One operation on text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextOp {
    /// Keeps this many bytes.
    Keep(usize),
    /// Deletes this many bytes.
    Delete(usize),
    /// Inserts this text.
    Insert(String),
}

/// A question to the user.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The question's id.
    pub id: QuestionId,
    /// The call that waits for the answer, if any.
    pub call: Option<CallId>,
    /// The tool that asks, or `hew`.
    pub tool: String,
    /// The subject.
    pub subject: QuestionSubject,
}

/// The subject of a question.
#[derive(Debug, Clone, PartialEq)]
pub enum QuestionSubject {
    /// A tool asks for permission.
    Permission {
        /// The action.
        action: Action,
        /// Why permission is required.
        reason: String,
        /// The whole input of the call; the user may change it.
        input: Value,
        /// Rules that can be granted, the exact one first.
        rules: Vec<String>,
    },
    /// The model asks the user.
    Inquiry {
        /// The question.
        question: String,
        /// Proposed answers with optional descriptions; the user may always answer freely.
        choices: Vec<(String, Option<String>)>,
        /// Whether several answers may be chosen.
        multiple: bool,
    },
}

/// The severity of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeLevel {
    /// Information.
    Info,
    /// A warning.
    Warning,
}

impl NoticeLevel {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            NoticeLevel::Info => "info",
            NoticeLevel::Warning => "warning",
        }
    }
}

/// A session's tokens, cost and requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// All tokens.
    pub usage: Usage,
    /// Total cost, as far as prices are known.
    pub cost: Cost,
    /// Number of requests, including failed ones and titles.
    pub requests: u64,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEnd {
    /// The model finished.
    Completed,
    /// The output limit truncated the last reply.
    MaxTokens,
    /// The model refused.
    Refused {
        /// The provider's explanation, if any.
        detail: Option<String>,
    },
    /// The user stopped the turn.
    Interrupted,
    /// A limit stopped the turn.
    Limit(Limit),
    /// The model repeated the same call.
    Loop {
        /// The tool's name.
        tool: String,
        /// How often the call was made.
        times: u32,
    },
    /// The turn failed.
    Failed {
        /// The error.
        error: String,
        /// A hint for the user.
        hint: String,
    },
}

/// A limit that stopped a turn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// Number of requests.
    Steps(u32),
    /// Cost.
    Cost(Cost),
    /// Duration.
    Time(Duration),
}

impl TurnEnd {
    /// The name in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            TurnEnd::Completed => "completed",
            TurnEnd::MaxTokens => "max_tokens",
            TurnEnd::Refused { .. } => "refused",
            TurnEnd::Interrupted => "interrupted",
            TurnEnd::Limit(_) => "limit",
            TurnEnd::Loop { .. } => "loop",
            TurnEnd::Failed { .. } => "failed",
        }
    }
}

impl From<Error> for TurnEnd {
    fn from(error: Error) -> Self {
        TurnEnd::Failed {
            hint: error.hint().into(),
            error: error.to_string(),
        }
    }
}

impl From<model::Error> for TurnEnd {
    fn from(error: model::Error) -> Self {
        if let model::Error::ContentFiltered { detail, .. } = error {
            return TurnEnd::Refused { detail: Some(detail) };
        }
        TurnEnd::Failed {
            hint: error.hint().into(),
            error: error.to_string(),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Steps(1) => write!(f, "1 request"),
            Limit::Steps(steps) => write!(f, "{steps} requests"),
            Limit::Cost(cost) => write!(f, "${:.2}", cost.usd()),
            Limit::Time(time) => write!(f, "{} s", time.as_secs()),
        }
    }
}
