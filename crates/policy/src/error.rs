//! What can be wrong with rules, modes and patterns that people write.

/// What is wrong with something that a person wrote.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A rule does not begin with something that can be allowed or denied.
    #[error(
        "`{rule}` does not say what it is about; rules begin with read, write, run, fetch, mcp, mode, task or tool"
    )]
    UnknownRule {
        /// The rule.
        rule: String,
    },
    /// A rule's parentheses or quotes are not closed, or something follows them.
    #[error("`{rule}` is not of the form `what(pattern)`")]
    Malformed {
        /// The rule.
        rule: String,
    },
    /// A pattern is empty.
    #[error("`{rule}` has an empty pattern; leave the parentheses out to mean everything")]
    Empty {
        /// The rule.
        rule: String,
    },
    /// A pattern with wildcards is not valid.
    #[error("`{pattern}` is not a valid pattern: {reason}")]
    Glob {
        /// The pattern.
        pattern: String,
        /// Why.
        reason: String,
    },
    /// A regular expression is not valid.
    #[error("`{pattern}` is not a valid regular expression: {reason}")]
    Regex {
        /// The expression.
        pattern: String,
        /// Why.
        reason: String,
    },
    /// An example does not say what it is about.
    #[error("the example `{example}` does not begin with read, write, run, escalate, fetch, mcp, mode or task")]
    Example {
        /// The example.
        example: String,
    },
}
