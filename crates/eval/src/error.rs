//! The error type of this crate.

use std::io;
use std::path::{Path, PathBuf};

/// Why an evaluation cannot run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A folder contains no tasks.
    #[error("{} contains no tasks", path.display())]
    NoTasks {
        /// The folder.
        path: PathBuf,
    },
    /// No task has a matching name.
    #[error("no task matches {patterns}")]
    NoMatch {
        /// The patterns.
        patterns: String,
    },
    /// A task is not valid.
    #[error("{}: {reason}", path.display())]
    InvalidTask {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The results belong to other settings.
    #[error("{} contains results of `{name}` with other settings", path.display())]
    OtherSettings {
        /// The file with the results.
        path: PathBuf,
        /// The name of the configuration.
        name: String,
    },
    /// Results cannot be parsed.
    #[error("{}, line {line}: {reason}", path.display())]
    InvalidResults {
        /// The file with the results.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The reason.
        reason: String,
    },
    /// Another process appends to the results.
    #[error("{} is in use by another evaluation", path.display())]
    InUse {
        /// The file with the results.
        path: PathBuf,
    },
    /// A step that prepares a project failed.
    #[error("{step} failed: {output}")]
    Preparation {
        /// The step.
        step: &'static str,
        /// The end of its output.
        output: String,
    },
    /// A process cannot be started.
    #[error(transparent)]
    Process(#[from] sandbox::Error),
}

impl Error {
    /// Advice on how to proceed.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoTasks { .. } => Some("docs/eval.md describes the formats of suites"),
            Self::NoMatch { .. } => Some("`hew eval SUITE --list` lists the tasks"),
            Self::OtherSettings { .. } => Some("select another folder with --out, or another name for the settings"),
            Self::File { .. }
            | Self::InvalidTask { .. }
            | Self::InvalidResults { .. }
            | Self::InUse { .. }
            | Self::Preparation { .. }
            | Self::Process(_) => None,
        }
    }

    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }

    pub(crate) fn task(path: &Path, reason: impl Into<String>) -> Self {
        Self::InvalidTask {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }
}
