//! Errors of tool calls, written for the model.

/// Why a tool call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The input does not match the schema.
    #[error("invalid input for `{tool}`: {detail}")]
    Input {
        /// The tool's name.
        tool: String,
        /// The problem, with the field's name.
        detail: String,
    },
    /// The call failed.
    #[error("{0}")]
    Failed(String),
}
