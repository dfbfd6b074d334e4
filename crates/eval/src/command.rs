//! Commands in working copies: setup, checks and git.

use crate::error::Error;
use sandbox::{
    CaptureCap, Confinement, ConfinementLevel, NetworkAccess, ProcessEnvironment, ProcessExit, ProcessRequest,
    ProcessStatus, Program,
};
use std::path::Path;
use std::time::Duration;

/// The captured output of a command.
const OUTPUT: CaptureCap = CaptureCap {
    head: 4 * 1024,
    tail: 12 * 1024,
};

/// Runs commands in a working copy, confined to it.
#[derive(Debug, Clone)]
pub(crate) struct CommandRunner {
    pub(crate) environment: ProcessEnvironment,
    pub(crate) network: NetworkAccess,
    pub(crate) timeout: Duration,
}

impl CommandRunner {
    /// Runs a shell command in a folder, which it may change.
    pub(crate) async fn shell(&self, command: &str, folder: &Path) -> Result<ProcessExit, Error> {
        self.run(Program::Bash(command.into()), folder, folder).await
    }

    /// Runs git, which may write in `writable`.
    pub(crate) async fn git(&self, arguments: &[&str], folder: &Path, writable: &Path) -> Result<(), Error> {
        let program = Program::Exec {
            program: "git".into(),
            args: arguments.iter().map(Into::into).collect(),
        };
        let exit = self.run(program, folder, writable).await?;
        succeeded(&exit, "git")
    }

    async fn run(&self, program: Program, folder: &Path, writable: &Path) -> Result<ProcessExit, Error> {
        let mut confinement = Confinement::new(ConfinementLevel::Workspace, [writable.to_owned()]);
        confinement.network = self.network;
        let request = ProcessRequest {
            program,
            cwd: folder.to_owned(),
            environment: self.environment.clone(),
            timeout: Some(self.timeout),
            grace: ProcessRequest::GRACE,
            output: OUTPUT,
            terminal: None,
        };
        Ok(confinement.spawn(&request)?.exit().await)
    }
}

/// An error with the end of the output unless the command succeeded.
pub(crate) fn succeeded(exit: &ProcessExit, step: &'static str) -> Result<(), Error> {
    match exit.status {
        ProcessStatus::Exited(0) => Ok(()),
        ProcessStatus::Exited(_) | ProcessStatus::Signalled(_) | ProcessStatus::TimedOut | ProcessStatus::Unknown => {
            Err(Error::Preparation {
                step,
                output: describe(exit, 400),
            })
        }
    }
}

/// The end of the output and the status of a command.
pub(crate) fn describe(exit: &ProcessExit, most: usize) -> String {
    let output = format!("{}{}", exit.output.head, exit.output.tail);
    let output = last(output.trim(), most);
    match exit.status {
        ProcessStatus::Exited(code) => format!("{output}\n[exit code {code}]"),
        ProcessStatus::Signalled(signal) => format!("{output}\n[signal {signal}]"),
        ProcessStatus::TimedOut => format!("{output}\n[timed out]"),
        ProcessStatus::Unknown => format!("{output}\n[unknown status]"),
    }
}

/// The last characters of a text.
pub(crate) fn last(text: &str, most: usize) -> &str {
    let start = text.len().saturating_sub(most);
    let start = (start..=text.len())
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(text.len());
    &text[start..]
}

/// A word for the shell.
pub(crate) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}
