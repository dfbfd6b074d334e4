//! Runs a command repeatedly and sends a notification when it starts to fail.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use policy::Action;
use sandbox::{Confinement, ProcessEnvironment, ProcessStatus};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::task::JoinHandle;
use tool::{
    CallContext, DynTool, Error, NotificationSender, Output, Tool, ToolEffect, ToolFacts, ToolHost, ToolKind,
    ToolNotification, ToolSet, erase,
};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::commands::{self, CommandOptions, ShellCommand};
use crate::support::project::Project;

/// Maximum characters of output in a notification.
const MAX_OUTPUT_CHARS: usize = 3_000;
const DEFAULT_SECONDS: u64 = 60;
const MIN_SECONDS: u64 = 5;
/// How often files are checked for changes.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
const TIMEOUT: Duration = Duration::from_secs(600);
const MAX_WATCHES: usize = 8;

/// Watched commands end when this is dropped.
pub(crate) struct WatchTool {
    pub(crate) project: Project,
    pub(crate) environment: ProcessEnvironment,
    pub(crate) commands: CommandOptions,
    pub(crate) watched: Arc<WatchList>,
}

#[derive(Default)]
pub(crate) struct WatchList(Mutex<Vec<WatchEntry>>);

struct WatchEntry {
    command: String,
    task: JoinHandle<()>,
}

impl Drop for WatchList {
    fn drop(&mut self) {
        let entries = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        entries.iter().for_each(|entry| entry.task.abort());
    }
}

/// Runs a command repeatedly in the background and notifies you when it starts to fail. Without a command: lists the
/// watches.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    command: Option<String>,
    /// Default 60.
    #[serde(alias = "interval", alias = "interval_seconds")]
    every_seconds: Option<u64>,
    /// Run when one of these files changes, instead of periodically.
    #[serde(default, alias = "files")]
    paths: Vec<String>,
    /// Number of a watch to stop.
    stop: Option<usize>,
}

impl BuiltIn for WatchTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(WatchTool {
            project: parts.project.clone(),
            environment: parts.environment.clone(),
            commands: parts.options.commands.clone(),
            watched: Default::default(),
        }))
    }
}

impl Tool for WatchTool {
    const NAME: &'static str = "watch";
    const ALIASES: &'static [&'static str] = &["watch_command"];
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Execute,
        sets: &[ToolSet::MainSession],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.command.clone().unwrap_or_default()
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        let run = input.command.clone().map(|command| Action::Run {
            command,
            cwd: self.project.workspace.root().into(),
        });
        let read = input.paths.iter().flat_map(|path| self.project.read_actions(path));
        run.into_iter().chain(read).collect()
    }

    async fn run(&self, input: Input, context: CallContext) -> Result<Output, Error> {
        if let Some(number) = input.stop {
            return self.stop(number);
        }
        let Some(command) = input.command.filter(|command| !command.trim().is_empty()) else {
            return Ok(Output::text(self.list()));
        };
        if !self.commands.notifications.has_receiver() {
            return Err(Error::Failed(
                "watches are not available here; run the command with terminal".into(),
            ));
        }
        let mut files = Vec::new();
        for path in &input.paths {
            files.push(self.project.locate(path)?);
        }
        let pause = Duration::from_secs(input.every_seconds.unwrap_or(DEFAULT_SECONDS).max(MIN_SECONDS));
        let mut watched = self.watched.0.lock().unwrap_or_else(PoisonError::into_inner);
        let running = watched.iter().filter(|entry| !entry.task.is_finished()).count();
        if running >= MAX_WATCHES {
            return Err(Error::Failed(format!(
                "{MAX_WATCHES} commands are being watched; stop one first"
            )));
        }
        let number = watched.len() + 1;
        let job = WatchTask {
            number,
            command: ShellCommand {
                line: command.clone(),
                cwd: self.project.workspace.root().into(),
                environment: self.environment.clone(),
                timeout: Some(TIMEOUT),
                spill: self.project.spill.clone(),
            },
            confinement: self
                .commands
                .confinement
                .as_ref()
                .map(|it| commands::at_level(it, context.level)),
            notices: self.commands.notifications.clone(),
            desk: context.host,
        };
        watched.push(WatchEntry {
            command,
            task: tokio::spawn(job.run_until_closed(files, pause)),
        });
        Ok(Output::text(format!(
            "Watch {number} is running; you are notified when it starts to fail."
        )))
    }
}

impl WatchTool {
    fn stop(&self, number: usize) -> Result<Output, Error> {
        let watched = self.watched.0.lock().unwrap_or_else(PoisonError::into_inner);
        match number.checked_sub(1).and_then(|at| watched.get(at)) {
            Some(entry) => {
                entry.task.abort();
                Ok(Output::text(format!("Watch {number} ended.")))
            }
            None => Err(Error::Failed(format!("there is no watch {number}"))),
        }
    }

    fn list(&self) -> String {
        let watched = self.watched.0.lock().unwrap_or_else(PoisonError::into_inner);
        let running = watched.iter().zip(1..).filter(|(entry, _)| !entry.task.is_finished());
        let lines: Vec<String> = running
            .map(|(entry, number)| format!("{number}: {}", entry.command))
            .collect();
        match lines.is_empty() {
            true => "No watches.".into(),
            false => lines.join("\n"),
        }
    }
}

/// A watched command.
struct WatchTask {
    number: usize,
    command: ShellCommand,
    confinement: Option<Confinement>,
    notices: NotificationSender,
    /// Approves each run: rules may change.
    desk: Arc<dyn ToolHost>,
}

impl WatchTask {
    /// Ends with the session, also while it waits for the next run.
    async fn run_until_closed(self, files: Vec<workspace::Location>, pause: Duration) {
        let notices = self.notices.clone();
        tokio::select! {
            () = self.run(files, pause) => {}
            () = notices.closed() => {}
        }
    }

    async fn run(self, files: Vec<workspace::Location>, pause: Duration) {
        let mut failing = false;
        loop {
            let seen = times(&files);
            let failure = self.once().await;
            if let (false, Some(text)) = (failing, &failure) {
                self.notify(format!("`{}` is failing: {text}", self.command.line));
            }
            failing = failure.is_some();
            match files.is_empty() {
                true => tokio::time::sleep(pause).await,
                false => {
                    while times(&files) == seen {
                        tokio::time::sleep(POLL_INTERVAL).await;
                    }
                }
            }
            if let Err(error) = self.desk.permit(self.action()).await {
                self.notify(format!("`{}` is no longer watched: {error}", self.command.line));
                return;
            }
        }
    }

    fn action(&self) -> Action {
        Action::Run {
            command: self.command.line.clone(),
            cwd: self.command.cwd.clone(),
        }
    }

    fn notify(&self, text: String) {
        let source = format!("watch {}", self.number);
        self.notices.send(ToolNotification { source, text });
    }

    /// Runs the command once and returns its output if it failed.
    async fn once(&self) -> Option<String> {
        let mut running = match self.command.start(self.confinement.as_ref()) {
            Ok(running) => running,
            Err(error) => return Some(error.to_string()),
        };
        while running.next().await.is_some() {}
        let exit = running.process.exit().await;
        if exit.status == ProcessStatus::Exited(0) {
            return None;
        }
        let how = commands::describe_exit(&exit, running.timeout);
        let printed = format!("{}{}", exit.output.head, exit.output.tail);
        let cut = printed.chars().count().saturating_sub(MAX_OUTPUT_CHARS);
        let end: String = printed.chars().skip(cut).collect();
        let left_out = match cut {
            0 => String::new(),
            cut => format!("[{cut} characters omitted]\n"),
        };
        Some(format!("{how}\n{left_out}{}", end.trim()))
    }
}

/// The modification times of the files; `None` for a missing file.
fn times(files: &[workspace::Location]) -> Vec<Option<SystemTime>> {
    files.iter().map(|file| file.modified().ok()).collect()
}
