//! Why a text cannot be looked into.

use std::time::Duration;

/// Why a text cannot be looked into.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No grammar is known for such a file.
    #[error("{name} is in no language that can be outlined")]
    UnknownLanguage {
        /// The file's name.
        name: String,
    },
    /// The text is longer than anything a person wrote.
    #[error("it is too long to be outlined ({size} bytes; the limit is {limit})")]
    TooLarge {
        /// Its length in bytes.
        size: usize,
        /// The longest that is looked into.
        limit: usize,
    },
    /// It took too long.
    #[error("it could not be outlined within {} ms", limit.as_millis())]
    TooSlow {
        /// The time it had.
        limit: Duration,
    },
    /// The grammar and its query do not fit together, or not the parser.
    #[error("the grammar of {language} does not work: {reason}")]
    Grammar {
        /// The language.
        language: &'static str,
        /// What is wrong.
        reason: String,
    },
}
