//! Why a tool did not do what it was asked, in sentences that the model can act on.

/// Why a tool did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The input does not fit the tool's schema.
    #[error("invalid input for `{tool}`: {detail}")]
    Input {
        /// The tool.
        tool: String,
        /// What is wrong, naming the field.
        detail: String,
    },
    /// The tool could not do it.
    #[error("{0}")]
    Failed(String),
}
