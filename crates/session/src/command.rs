//! Commands: what a front end requests of a session.

use crate::{Body, ItemId, QuestionId, SessionId};
use model::Message;
use policy::GrantScope;
use serde_json::Value;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// Commands: what a front end requests of a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// A prompt of the user.
    Prompt {
        /// The prompt.
        message: Message,
        /// What happens if a turn is running.
        delivery: Delivery,
    },
    /// Stops the running turn. Queued prompts are returned as notices.
    Interrupt,
    /// The answer to a question.
    Answer {
        /// The question.
        question: QuestionId,
        /// The answer.
        answer: Answer,
    },
    /// Uses another model from the next request on.
    SetModel {
        /// The model, as `provider/id`.
        name: String,
    },
    /// Sets the reasoning effort from the next request on; `None` uses the model's default.
    SetEffort {
        /// The effort.
        effort: Option<model::Effort>,
    },
    /// Switches the mode from the next request on.
    SetMode {
        /// The mode's name.
        name: String,
    },
    /// Sets the approval level from the next call on.
    SetLevel {
        /// The level.
        level: policy::AccessLevel,
    },
    /// Sets whether changes to files and commands are approved by the user, from the next call on. `Allow` restores the
    /// configured approval of commands.
    SetEditApproval {
        /// The approval.
        mode: policy::ApprovalMode,
    },
    /// Revokes a grant of this session from the next call on. Stored grants are revoked in the [`crate::GrantStore`].
    Revoke {
        /// The granted rule.
        rule: String,
    },
    /// Makes an earlier item the newest. Later items stay in the log but are no longer part of the conversation.
    Rewind {
        /// The new head.
        to: ItemId,
    },
    /// Replaces the conversation so far by a summary for the model. The log keeps all items.
    Compact {
        /// Extra instructions for the summary.
        instructions: Option<String>,
    },
    /// Appends an item for an action of the user outside a turn: a review, or restored files. Refused while a turn is
    /// running.
    Record {
        /// The item's content.
        body: Box<Body>,
    },
    /// Stores the prompts that are queued in the front end, where the user can still edit them, so that a crash does
    /// not lose them. Replaces the previous list.
    HoldPrompts {
        /// The queued prompts, in order.
        messages: Vec<Message>,
    },
    /// What the user's editor shows now; the model is informed with the next prompt.
    Editor {
        /// The active file and its diagnostics.
        view: EditorView,
    },
    /// Continues the interrupted turn without a new prompt.
    Continue,
    /// Forwards a command to a subtask, at any depth.
    Subtask {
        /// The subtask's session.
        session: SessionId,
        /// The command.
        command: Box<Command>,
    },
    /// Ends the session after the running turn and the turns that background work may still start.
    Finish,
    /// Ends the session after the running turn.
    Close,
}

/// What the user's editor shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EditorView {
    /// The active file, relative to the project if it is inside.
    pub file: Option<PathBuf>,
    /// The selected lines, from 1.
    pub lines: Option<RangeInclusive<usize>>,
    /// The diagnostics that the editor shows, such as `src/a.rs:3 error: expected an expression`.
    pub diagnostics: Vec<String>,
}

/// What happens to a prompt if a turn is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// It is added to the running turn at the next request.
    Steer,
    /// It is queued until the running turn ends.
    Queue,
    /// The running turn is stopped and a new one starts.
    Interrupt,
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Allows the action.
    Approve {
        /// How long the permission lasts.
        scope: GrantScope,
        /// The granted rule, one of those offered; `None` grants exactly the action.
        rule: Option<String>,
    },
    /// Allows a command that the sandbox blocked to run again in the sandbox, with network access.
    ApproveNetwork,
    /// Allows the call with other input.
    Modify {
        /// The whole input of the call.
        input: Value,
    },
    /// Denies the action.
    Reject {
        /// The reason, for the model.
        reason: Option<String>,
    },
    /// The answer to a question of the model.
    Text {
        /// The text.
        text: String,
    },
}

impl Answer {
    /// Allows the action once.
    pub fn once() -> Self {
        Answer::Approve {
            scope: GrantScope::Once,
            rule: None,
        }
    }
}
