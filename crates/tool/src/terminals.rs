//! Terminals that somebody else has, such as an editor: a command that nothing confines can run there, before the person's eyes.

use crate::Error;
use futures::future::BoxFuture;
use model::CallId;
use std::path::PathBuf;
use std::time::Duration;

/// Runs commands in terminals that the person sees.
pub trait Terminals: Send + Sync {
    /// Runs a command to its end, or for as long as it may take. Dropping the future ends the command.
    fn run(&self, order: TerminalOrder) -> BoxFuture<'static, Result<TerminalEnd, Error>>;
}

/// A command for a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalOrder {
    /// The call that wants it.
    pub call: CallId,
    /// The command, for a shell.
    pub command: String,
    /// The folder in which it runs.
    pub cwd: PathBuf,
    /// When it is ended.
    pub limit: Option<Duration>,
    /// As much output as is kept, in bytes.
    pub most: u64,
}

/// How a command in a terminal ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalEnd {
    /// What it printed, perhaps without its beginning.
    pub output: String,
    /// Whether output is missing.
    pub cut: bool,
    /// How it ended, such as `exit code 0`.
    pub how: String,
    /// Whether it ended well.
    pub ok: bool,
}
