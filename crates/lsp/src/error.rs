//! Why a language server has no answer.

/// A question without an answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The server could not be started.
    #[error("{server} could not be started: {why}")]
    Start {
        /// The server.
        server: String,
        /// What went wrong, perhaps in the server's own words.
        why: String,
    },
    /// The server has ended.
    #[error("the language server has ended")]
    Gone,
    /// The server has not answered in time.
    #[error("the language server did not answer {method} in time")]
    Late {
        /// What was asked.
        method: &'static str,
    },
    /// The server says that it cannot.
    #[error("the language server refused {method}: {message}")]
    Refused {
        /// What was asked.
        method: &'static str,
        /// Its reason.
        message: String,
    },
    /// What came is not the protocol.
    #[error("the language server sent {what}")]
    Garbled {
        /// What came.
        what: String,
    },
}

impl Error {
    pub(crate) fn garbled(what: impl Into<String>) -> Self {
        Error::Garbled { what: what.into() }
    }
}
