//! Terminals of an ACP client: unconfined commands can run there, visible to the user.

use crate::Error;
use futures::future::BoxFuture;
use model::CallId;
use session::CommandExit;
use std::path::PathBuf;
use std::time::Duration;

/// Runs commands in terminals of the client.
pub trait ClientTerminals: Send + Sync {
    /// Runs a command until it exits or times out. Dropping the future kills the command.
    fn run(&self, order: TerminalCommand) -> BoxFuture<'static, Result<TerminalResult, Error>>;
}

/// A command to run in a client terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalCommand {
    /// The call that runs it.
    pub call: CallId,
    /// The shell command.
    pub command: String,
    /// The working directory.
    pub cwd: PathBuf,
    /// The timeout.
    pub timeout: Option<Duration>,
    /// Maximum bytes of output to keep.
    pub max_output: u64,
}

/// The result of a command in a client terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalResult {
    /// The output; its beginning may be missing.
    pub output: String,
    /// Whether output is missing.
    pub truncated: bool,
    /// The exit status as text, such as `exit code 0`.
    pub status: String,
    /// The exit status.
    pub exit: CommandExit,
}
