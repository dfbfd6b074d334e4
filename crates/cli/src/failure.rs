//! What went wrong, for the person: what happened, and apart from it a hint.

use crate::exit::Exit;
use crate::output;
use std::fmt::Display;
use std::path::Path;

/// The result of everything that can fail in front of the person.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// What happened, what the person can do about it, and how hew exits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// What happened, in one sentence without a full stop.
    pub(crate) what: String,
    /// What the person can do about it.
    pub(crate) hint: Option<String>,
    /// How hew exits.
    pub(crate) exit: Exit,
    /// What would mend it.
    pub(crate) remedy: Remedy,
}

/// What would mend a failure, where the front end can lead there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Remedy {
    /// Nothing that it knows of.
    #[default]
    Unknown,
    /// A provider is chosen and given a key.
    Setup,
}

impl Failure {
    /// The arguments or the configuration are wrong.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Failure {
            what: what.into(),
            hint: None,
            exit: Exit::Usage,
            remedy: Remedy::Unknown,
        }
    }

    /// Something did not work.
    pub(crate) fn failed(what: impl Into<String>) -> Self {
        Failure {
            what: what.into(),
            hint: None,
            exit: Exit::Failed,
            remedy: Remedy::Unknown,
        }
    }

    /// A file could not be read or written.
    pub(crate) fn file(verb: &str, path: &Path, error: &std::io::Error) -> Self {
        Failure::usage(format!("cannot {verb} {}: {}", path.display(), plain(error)))
    }

    /// The same, with a hint.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same, mended by setting up a provider.
    pub(crate) fn needs_setup(mut self) -> Self {
        self.remedy = Remedy::Setup;
        self
    }

    /// Tells the person, on stderr.
    pub(crate) fn print(&self) {
        output::complain(&format!("error: {}\n", self.what));
        if let Some(hint) = &self.hint {
            output::complain(&format!("hint: {hint}\n"));
        }
    }
}

impl From<session::Error> for Failure {
    fn from(error: session::Error) -> Self {
        let exit = match &error {
            session::Error::Unknown(_) | session::Error::Ambiguous { .. } => Exit::Usage,
            session::Error::Busy(_)
            | session::Error::Full
            | session::Error::Unusable { .. }
            | session::Error::Damaged { .. }
            | session::Error::Newer { .. } => Exit::Failed,
        };
        Failure {
            what: error.to_string(),
            hint: Some(error.hint().into()),
            exit,
            remedy: Remedy::Unknown,
        }
    }
}

impl From<model::Error> for Failure {
    fn from(error: model::Error) -> Self {
        Failure::failed(error.to_string()).hint(error.hint())
    }
}

/// An operating system's error without its number.
pub(crate) fn plain(error: &std::io::Error) -> impl Display + use<> {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(at) => text[..at].to_string(),
        None => text,
    }
}
