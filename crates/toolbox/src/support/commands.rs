//! Runs shell commands: starting them, waiting, and rendering their output.

pub(crate) mod clean_output;
pub(crate) mod shell;
pub(crate) mod transcript;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sandbox::{
    CaptureCap, CapturedOutput as Printed, Confinement, ConfinementLevel, LeftoverProcesses, Process,
    ProcessEnvironment, ProcessExit, ProcessRequest, ProcessStatus, Program, TerminalSize,
};
use session::CommandExit;
use tool::{CallContext, ClientTerminals, Error, NotificationSender, Output, TerminalCommand, TerminalResult};

use crate::support::commands::clean_output::clean_output;
use crate::support::commands::transcript::CommandTranscript;
use crate::support::spill::Spill;

/// The end of a long output is more important than its start.
const OUTPUT: CaptureCap = CaptureCap {
    head: 12_000,
    tail: 18_000,
};
/// Wide, because programs truncate output to the width.
const SIZE: TerminalSize = TerminalSize { columns: 160, rows: 50 };

/// The default timeout of a command in a client terminal, where it cannot continue in the background.
const CLIENT_TERMINAL_TIMEOUT: Duration = Duration::from_secs(600);

/// How commands are run.
#[derive(Clone)]
pub struct CommandOptions {
    /// The sandbox; the level is that of each call. Without it, commands are unrestricted, and processes that leave the
    /// process group are not found when a command ends.
    pub confinement: Option<Confinement>,
    /// How long a command runs in the foreground before it continues in the background.
    pub foreground_limit: Duration,
    /// Sends notifications when a background job ends.
    pub notifications: NotificationSender,
    /// Client terminals for unconfined commands, if available.
    pub terminals: Option<Arc<dyn ClientTerminals>>,
}

impl Default for CommandOptions {
    fn default() -> Self {
        Self {
            confinement: None,
            foreground_limit: Duration::from_secs(60),
            notifications: NotificationSender::none(),
            terminals: None,
        }
    }
}

/// A shell command to run.
#[derive(Debug, Clone)]
pub(crate) struct ShellCommand {
    pub(crate) line: String,
    pub(crate) cwd: PathBuf,
    pub(crate) environment: ProcessEnvironment,
    /// The timeout.
    pub(crate) timeout: Option<Duration>,
    /// Saves output that is too long to show.
    pub(crate) spill: Spill,
}

/// A running command.
#[derive(Debug)]
pub(crate) struct RunningCommand {
    pub(crate) command: String,
    pub(crate) process: Process,
    pub(crate) started: Instant,
    pub(crate) timeout: Option<Duration>,
    transcript: CommandTranscript,
}

/// The result of waiting for a command.
pub(crate) enum WatchOutcome {
    Exited(Box<ProcessExit>),
    /// It is still running.
    StillRunning,
}

impl ShellCommand {
    /// Starts the command, in the sandbox if given.
    pub(crate) fn start(&self, confinement: Option<&Confinement>) -> Result<RunningCommand, Error> {
        let request = ProcessRequest {
            program: shell::program(self.line.clone()),
            cwd: self.cwd.clone(),
            environment: self.environment.clone(),
            timeout: self.timeout,
            grace: ProcessRequest::GRACE,
            output: OUTPUT,
            terminal: Some(SIZE),
        };
        let process = spawn(request, confinement).map_err(|error| Error::Failed(chain(&error)))?;
        Ok(RunningCommand {
            command: self.line.clone(),
            process,
            started: Instant::now(),
            timeout: self.timeout,
            transcript: CommandTranscript::new(self.spill.clone(), OUTPUT.head + OUTPUT.tail),
        })
    }
}

impl CommandOptions {
    /// The client terminals, if available and the command is unconfined.
    pub(crate) fn client_terminals(&self, confinement: Option<&Confinement>) -> Option<&Arc<dyn ClientTerminals>> {
        let free = confinement.is_none_or(|confinement| confinement.level == ConfinementLevel::Off);
        self.terminals.as_ref().filter(|_| free)
    }
}

impl ShellCommand {
    /// Runs the command in a client terminal.
    pub(crate) async fn run_in_client(
        &self,
        terminals: &Arc<dyn ClientTerminals>,
        context: &CallContext,
    ) -> Result<Output, Error> {
        let order = TerminalCommand {
            call: context.call.clone(),
            command: self.line.clone(),
            cwd: self.cwd.clone(),
            timeout: Some(self.timeout.unwrap_or(CLIENT_TERMINAL_TIMEOUT)),
            max_output: (OUTPUT.head + OUTPUT.tail) as u64,
        };
        let TerminalResult {
            output,
            truncated: cut,
            status: how,
            exit,
        } = terminals.run(order).await?;
        let mut text = match cut {
            true => format!("[beginning cut]\n{}", clean_output(&output)),
            false => clean_output(&output),
        };
        newline(&mut text);
        Ok(Output::text(format!("{text}[{how}; run outside the sandbox]"))
            .with_summary(how)
            .with_exit(exit))
    }
}

impl RunningCommand {
    /// The next piece of output, which is also added to the transcript.
    pub(crate) async fn next(&mut self) -> Option<String> {
        let text = self.process.next().await?;
        self.transcript.add(&text);
        Some(text)
    }

    /// The path of the full output, if it is too long to show.
    pub(crate) fn transcript(&self) -> Option<String> {
        let path = self.transcript.path()?.display();
        Some(match self.transcript.lost() {
            Some(lost) => format!("{path}, {lost}"),
            None => path.to_string(),
        })
    }

    /// Sends live output until the command exits or `foreground_limit` has passed.
    pub(crate) async fn watch(&mut self, context: &CallContext, patience: Option<Duration>) -> WatchOutcome {
        let due = patience.and_then(|patience| tokio::time::Instant::now().checked_add(patience));
        loop {
            let next = match due {
                // Check the time first: output may never pause.
                Some(due) if tokio::time::Instant::now() >= due => return WatchOutcome::StillRunning,
                Some(due) => match tokio::time::timeout_at(due, self.next()).await {
                    Ok(next) => next,
                    Err(_) => return WatchOutcome::StillRunning,
                },
                None => self.next().await,
            };
            match next {
                Some(text) => context.progress.send(&context.call, text),
                None => return WatchOutcome::Exited(Box::new(self.process.exit().await)),
            }
        }
    }
}

/// The sandbox at this permission level.
pub(crate) fn at_level(confinement: &Confinement, level: policy::AccessLevel) -> Confinement {
    Confinement {
        level: match level {
            policy::AccessLevel::ReadOnly => ConfinementLevel::ReadOnly,
            policy::AccessLevel::Workspace => ConfinementLevel::Workspace,
            policy::AccessLevel::Full => ConfinementLevel::Off,
        },
        ..confinement.clone()
    }
}

/// An environment in which git uses no repository that it was not pointed to, and runs no hooks or monitors.
pub(crate) fn without_repository_programs(environment: ProcessEnvironment) -> ProcessEnvironment {
    const SETTINGS: [(&str, &str); 3] = [
        ("safe.bareRepository", "explicit"),
        ("core.fsmonitor", "false"),
        ("core.hooksPath", "/dev/null"),
    ];
    let count = SETTINGS.len().to_string();
    let settings = SETTINGS.iter().enumerate();
    settings.fold(
        environment.with("GIT_CONFIG_COUNT", count),
        |environment, (at, (key, value))| {
            let named = environment.with(format!("GIT_CONFIG_KEY_{at}"), *key);
            named.with(format!("GIT_CONFIG_VALUE_{at}"), *value)
        },
    )
}

/// Starts a command; uses `sh` if bash is not installed.
pub(crate) fn spawn(request: ProcessRequest, confinement: Option<&Confinement>) -> Result<Process, sandbox::Error> {
    let start = |request: &ProcessRequest| match confinement {
        Some(confinement) => confinement.spawn(request),
        None => sandbox::spawn(request),
    };
    match (start(&request), request.program) {
        (Err(sandbox::Error::Missing { .. }), Program::Bash(command)) => start(&ProcessRequest {
            program: Program::Shell(command),
            ..request
        }),
        (spawned, _) => spawned,
    }
}

/// The typed exit status.
pub(crate) fn command_exit(status: ProcessStatus) -> CommandExit {
    match status {
        ProcessStatus::Exited(code) => CommandExit::Code(code),
        ProcessStatus::Signalled(_) => CommandExit::Signal,
        ProcessStatus::TimedOut => CommandExit::TimedOut,
        ProcessStatus::Unknown => CommandExit::Unknown,
    }
}

/// The exit status as text.
pub(crate) fn exit_status(exit: &ProcessExit, limit: Option<Duration>) -> String {
    match exit.status {
        ProcessStatus::Exited(code) => format!("exit code {code}"),
        ProcessStatus::Signalled(signal) => format!("ended by signal {signal}"),
        ProcessStatus::TimedOut => format!("stopped after {} s", limit.unwrap_or_default().as_secs()),
        ProcessStatus::Unknown => "exit status unknown".to_owned(),
    }
}

/// The exit status with notes for the model.
pub(crate) fn describe_exit(exit: &ProcessExit, limit: Option<Duration>) -> String {
    let mut notes = vec![exit_status(exit, limit)];
    if exit.leftover == LeftoverProcesses::Running && matches!(exit.status, ProcessStatus::Exited(_)) {
        notes.push("its background processes were killed".into());
    }
    notes.extend(exit.confinement.as_ref().and_then(sandbox::ConfinementResult::note));
    notes.join("; ")
}

/// The output for the model, with a final newline unless empty.
pub(crate) fn render_output(printed: Printed, transcript: Option<&str>) -> String {
    let Printed {
        head,
        tail,
        omitted_bytes: cut,
    } = printed;
    let mut text = clean_output(&head);
    if cut > 0 {
        newline(&mut text);
        text.push_str(&match transcript {
            Some(path) => format!("[{cut} bytes cut; all of it is in {path}]\n"),
            None => format!("[{cut} bytes cut; redirect to a file to see them]\n"),
        });
        text.push_str(&clean_output(&tail));
    }
    newline(&mut text);
    text
}

fn newline(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// An error and its causes, on one line.
fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain(source)),
        None => error.to_string(),
    }
}
