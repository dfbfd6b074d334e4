//! Why a call has no result: messages for the model.

use thiserror::Error;

/// Why a call was not run, or failed.
#[derive(Debug, Error)]
pub(crate) enum CallFailure {
    /// The input is not JSON, or was cut off; the message tells the model how to repeat the call.
    #[error("{0}")]
    Malformed(String),
    /// There is no such tool.
    #[error("There is no tool `{tool}`. {available}")]
    UnknownTool {
        /// The name that the model wrote.
        tool: String,
        /// A sentence about the tools that there are.
        available: String,
    },
    /// The policy denies an action.
    #[error("Not allowed: {0}.")]
    Denied(String),
    /// An action needs an approval in a session without a user.
    #[error("Not allowed: {0}, and approvals cannot be requested in this session.")]
    NoApprovals(String),
    /// The user did not answer.
    #[error("Not allowed: the approval request was not answered.")]
    NotAnswered,
    /// The user denied the call without a reason.
    #[error("The user denied this call.")]
    DeniedByUser,
    /// The user denied the call.
    #[error("The user denied this call: {0}")]
    DeniedForReason(String),
    /// A hook denied the call.
    #[error("A hook blocked this call: {0}")]
    DeniedByHook(String),
    /// The call could not be stored.
    #[error("Not run, because the call could not be stored: {0}.")]
    NotStored(#[source] session::Error),
    /// Its actions are no longer the approved ones.
    #[error(
        "Not run: the effects of this call have changed since it was approved. Check the current state, then repeat the call if it is still correct."
    )]
    ActionsChanged,
    /// The tool rejected the input, or a check before the approval found that the call would fail.
    #[error(transparent)]
    InvalidInput(tool::Error),
    /// The tool failed.
    #[error("{}", [&[.error.to_string()], .notes.as_slice()].concat().join("\n"))]
    Tool {
        /// Its error.
        #[source]
        error: tool::Error,
        /// What hooks added.
        notes: Vec<String>,
    },
}
