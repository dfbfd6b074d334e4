//! Why a text cannot be analysed.

use std::time::Duration;

/// Why a text cannot be analysed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no grammar for the file.
    #[error("{name} is in no supported language")]
    UnknownLanguage {
        /// The file's name.
        name: String,
    },
    /// The text is too long.
    #[error("the file is too long for an outline ({size} bytes; the limit is {limit})")]
    TooLarge {
        /// Its length in bytes.
        size: usize,
        /// The maximum length.
        limit: usize,
    },
    /// The analysis timed out.
    #[error("the outline was not finished within {} ms", limit.as_millis())]
    TooSlow {
        /// The time limit.
        limit: Duration,
    },
    /// The grammar does not fit the query or the parser.
    #[error("the grammar for {language} is broken: {reason}")]
    Grammar {
        /// The language.
        language: &'static str,
        /// The problem.
        reason: String,
    },
}
