//! What a front end asks of a session.

use crate::{ItemId, QuestionId};
use model::Message;

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
        /// The mode.
        mode: policy::Mode,
    },
    /// Go back to this item: what comes after it is kept in the log, but no longer seen.
    Rewind {
        /// The item that becomes the newest.
        to: ItemId,
    },
    /// Go on with the turn that was interrupted, without a new prompt.
    Continue,
    /// Finish what is running and end.
    Close,
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Do it.
    Approve,
    /// Do not do it.
    Reject {
        /// Why, in words for the model.
        reason: Option<String>,
    },
}
