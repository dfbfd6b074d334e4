//! Errors of language servers.

/// An error of a language server.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The server could not be started.
    #[error("cannot start {server}: {why}")]
    Start {
        /// The server.
        server: String,
        /// The reason, possibly from the server's standard error.
        why: String,
    },
    /// The server has ended.
    #[error("the language server exited")]
    Closed,
    /// The server did not respond in time.
    #[error("the language server did not respond to {method} in time")]
    Timeout {
        /// The method.
        method: &'static str,
    },
    /// The server rejected the request.
    #[error("the language server rejected {method}: {message}")]
    Refused {
        /// The method.
        method: &'static str,
        /// Its reason.
        message: String,
    },
    /// The server violated the protocol.
    #[error("the language server sent {what}")]
    Protocol {
        /// What it sent.
        what: String,
    },
}

impl Error {
    pub(crate) fn protocol(what: impl Into<String>) -> Self {
        Error::Protocol { what: what.into() }
    }
}
