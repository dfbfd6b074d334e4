//! Errors in rules, modes and patterns.

/// An error in user input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A rule does not begin with a known subject.
    #[error("`{rule}` has no known subject; rules begin with read, write, run, fetch, mcp, mode, task or tool")]
    UnknownRule {
        /// The rule.
        rule: String,
    },
    /// A rule has unclosed parentheses or quotes, or trailing text.
    #[error("`{rule}` is not of the form `subject(pattern)`")]
    Malformed {
        /// The rule.
        rule: String,
    },
    /// A pattern is empty.
    #[error("`{rule}` has an empty pattern; omit the parentheses to match everything")]
    Empty {
        /// The rule.
        rule: String,
    },
    /// A glob pattern is not valid.
    #[error("`{pattern}` is not a valid pattern: {reason}")]
    Glob {
        /// The pattern.
        pattern: String,
        /// The reason.
        reason: String,
    },
    /// A regular expression is not valid.
    #[error("`{pattern}` is not a valid regular expression: {reason}")]
    Regex {
        /// The expression.
        pattern: String,
        /// The reason.
        reason: String,
    },
    /// An example has no known subject.
    #[error("the example `{example}` does not begin with read, write, run, escalate, fetch, mcp, mode or task")]
    Example {
        /// The example.
        example: String,
    },
}
