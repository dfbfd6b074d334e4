//! What a front end asks of a session.

use crate::{Body, ItemId, QuestionId, SessionId};
use model::Message;
use policy::Scope;
use serde_json::Value;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// What a front end asks of a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// The person says something.
    Prompt {
        /// What is said.
        message: Message,
        /// What happens when a turn is running.
        delivery: Delivery,
    },
    /// Stop the running turn. Nothing is lost; queued prompts are given back as notices.
    Interrupt,
    /// The answer to a question.
    Answer {
        /// The question.
        question: QuestionId,
        /// The answer.
        answer: Answer,
    },
    /// Use another model from the next request on, named as `provider/id`.
    SetModel {
        /// The model's name.
        name: String,
    },
    /// Work in another mode from the next request on.
    SetMode {
        /// The mode's name.
        name: String,
    },
    /// Allow more or less in general from the next call on.
    SetLevel {
        /// What is allowed.
        level: policy::Level,
    },
    /// Take back an answer that counts for this session, from the next call on. Answers that are kept beyond it are taken
    /// back where they are kept.
    Revoke {
        /// The rule that was granted.
        rule: String,
    },
    /// Go back to this item: what comes after it is kept in the log, but no longer seen.
    Rewind {
        /// The item that becomes the newest.
        to: ItemId,
    },
    /// Make room: have the conversation so far replaced by notes for the model. The log keeps all of it.
    Compact {
        /// What the notes should heed besides.
        instructions: Option<String>,
    },
    /// Keep in the log that the person did something beside the conversation: looked at changes, or had files put back. Not
    /// while a turn is running.
    Keep {
        /// What they did.
        body: Box<Body>,
    },
    /// These prompts, and no others, wait in the front end, where the person can still change them. They are kept, so that no
    /// crash loses them.
    Hold {
        /// What is going to be said, in order.
        messages: Vec<Message>,
    },
    /// The person's editor shows something else now; the model is told with the next prompt.
    Editor {
        /// What it shows; `None` where no file is open.
        view: Option<EditorView>,
    },
    /// Go on with the turn that was interrupted, without a new prompt.
    Continue,
    /// Asks something of a subtask of the session, or of one of its subtasks.
    Subtask {
        /// The subtask's session.
        session: SessionId,
        /// What is asked of it.
        command: Box<Command>,
    },
    /// Finish what is running, and what goes on beside it as far as the agent may go on by itself, and end.
    Finish,
    /// Finish what is running and end.
    Close,
}

/// What the person's editor shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditorView {
    /// The file, relative to the project where it lies inside it.
    pub file: PathBuf,
    /// The selected lines, counted from 1.
    pub lines: Option<RangeInclusive<usize>>,
}

/// What happens to a prompt when a turn is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// It joins the running turn at the next request.
    Steer,
    /// It waits until the running turn has ended.
    Queue,
    /// The running turn is stopped and a new one begins.
    Interrupt,
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Do it.
    Approve {
        /// For how long the answer counts.
        scope: Scope,
        /// The rule to remember, as one of those that the question offers; without one, exactly what was asked.
        rule: Option<String>,
    },
    /// Do it with this input instead of the model's.
    Modify {
        /// The whole input of the call.
        input: Value,
    },
    /// Do not do it.
    Reject {
        /// Why, in words for the model.
        reason: Option<String>,
    },
    /// What the person says to a question of the model.
    Say {
        /// Their words.
        text: String,
    },
}

impl Answer {
    /// Do it, this once.
    pub fn once() -> Self {
        Answer::Approve {
            scope: Scope::Once,
            rule: None,
        }
    }
}
