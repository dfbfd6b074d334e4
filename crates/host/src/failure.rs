//! Errors for the user: what happened, and separately a hint.

use std::fmt::Display;
use std::path::Path;

/// The result of an operation that reports errors to the user.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// An error for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The message: one sentence without a full stop.
    pub message: String,
    /// A hint for the user.
    pub hint: Option<String>,
    /// What caused it.
    pub kind: FailureKind,
    /// How a front end can help.
    pub recovery: RecoveryAction,
}

/// What caused a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// Invalid arguments or configuration.
    Usage,
    /// A failed operation.
    Operation,
}

/// How a front end can help after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RecoveryAction {
    /// It cannot.
    #[default]
    None,
    /// Let the user choose a provider and enter a key.
    Setup,
}

impl Failure {
    /// Invalid arguments or configuration.
    pub fn usage(message: impl Into<String>) -> Self {
        Failure::new(message.into(), FailureKind::Usage)
    }

    /// A failed operation.
    pub fn failed(message: impl Into<String>) -> Self {
        Failure::new(message.into(), FailureKind::Operation)
    }

    /// A file that could not be read or written.
    pub fn file(verb: &str, path: &Path, error: &std::io::Error) -> Self {
        Failure::usage(format!("cannot {verb} {}: {}", path.display(), plain(error)))
    }

    /// Adds a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Marks it as fixed by setting up a provider.
    pub fn needs_setup(mut self) -> Self {
        self.recovery = RecoveryAction::Setup;
        self
    }

    /// The message and the hint in one line.
    pub fn with_hint(self) -> String {
        match self.hint {
            Some(hint) => format!("{}; {hint}", self.message),
            None => self.message,
        }
    }

    fn new(message: String, kind: FailureKind) -> Self {
        Failure {
            message,
            hint: None,
            kind,
            recovery: RecoveryAction::None,
        }
    }
}

impl From<session::Error> for Failure {
    fn from(error: session::Error) -> Self {
        let kind = match &error {
            session::Error::Unknown(_) | session::Error::Ambiguous { .. } => FailureKind::Usage,
            session::Error::Busy(_)
            | session::Error::Full
            | session::Error::Unusable { .. }
            | session::Error::Damaged { .. }
            | session::Error::Newer { .. } => FailureKind::Operation,
        };
        Failure::new(error.to_string(), kind).hint(error.hint())
    }
}

impl From<review::Error> for Failure {
    fn from(error: review::Error) -> Self {
        let kind = match error {
            review::Error::Session(error) => return error.into(),
            _ if error.is_invalid_request() => FailureKind::Usage,
            _ => FailureKind::Operation,
        };
        Failure {
            hint: error.hint(),
            ..Failure::new(error.to_string(), kind)
        }
    }
}

impl From<model::Error> for Failure {
    fn from(error: model::Error) -> Self {
        Failure::failed(error.to_string()).hint(error.hint())
    }
}

impl From<context::Error> for Failure {
    fn from(error: context::Error) -> Self {
        Failure::usage(error.to_string()).hint(error.hint())
    }
}

impl From<providers::Error> for Failure {
    fn from(error: providers::Error) -> Self {
        Failure::usage(error.to_string()).hint(error.hint())
    }
}

/// The text of an operating system error without its number.
pub fn plain(error: &std::io::Error) -> impl Display + use<> {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(at) => text[..at].to_string(),
        None => text,
    }
}
