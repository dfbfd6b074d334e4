//! Runs a command again and again, and tells when it starts to fail.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use policy::Action;
use sandbox::{Confinement, Environment, Status};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::task::JoinHandle;
use tool::{Context, Desk, Effect, Error, Notice, Notices, Output, Tool};

use crate::command::{self, Command, Commands};
use crate::project::Project;

/// Characters that are told of what a failing command printed.
const TOLD: usize = 3_000;
const USUAL_SECONDS: u64 = 60;
const FEWEST_SECONDS: u64 = 5;
/// How often files are looked at.
const LOOK: Duration = Duration::from_secs(1);
const TIMEOUT: Duration = Duration::from_secs(600);
const MOST: usize = 8;

/// What is watched ends with the session: with this.
pub(crate) struct Watch {
    pub(crate) project: Project,
    pub(crate) environment: Environment,
    pub(crate) commands: Commands,
    pub(crate) watched: Arc<Watched>,
}

#[derive(Default)]
pub(crate) struct Watched(Mutex<Vec<Entry>>);

struct Entry {
    command: String,
    task: JoinHandle<()>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        let entries = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        entries.iter().for_each(|entry| entry.task.abort());
    }
}

/// Runs a command over and over in the background; you are told when it starts to fail. Without command: lists what is watched.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    command: Option<String>,
    /// Default 60.
    #[serde(alias = "interval", alias = "interval_seconds")]
    every_seconds: Option<u64>,
    /// Run when one of these files changes, instead of by time.
    #[serde(default, alias = "files")]
    paths: Vec<String>,
    /// Number of a watch to end.
    stop: Option<usize>,
}

impl Tool for Watch {
    const NAME: &'static str = "watch";
    const ALIASES: &'static [&'static str] = &["console_watch", "watch_command"];
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.command.clone().unwrap_or_default()
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        let run = input.command.clone().map(|command| Action::Run {
            command,
            cwd: self.project.workspace.root().into(),
        });
        let read = input.paths.iter().flat_map(|path| self.project.reading(path));
        run.into_iter().chain(read).collect()
    }

    async fn run(&self, input: Input, context: Context) -> Result<Output, Error> {
        if let Some(number) = input.stop {
            return self.stop(number);
        }
        let Some(command) = input.command.filter(|command| !command.trim().is_empty()) else {
            return Ok(Output::text(self.list()));
        };
        if !self.commands.notices.is_heard() {
            return Err(Error::Failed(
                "nobody would hear of it here; run the command with terminal".into(),
            ));
        }
        let mut files = Vec::new();
        for path in &input.paths {
            files.push(self.project.locate(path)?);
        }
        let pause = Duration::from_secs(input.every_seconds.unwrap_or(USUAL_SECONDS).max(FEWEST_SECONDS));
        let mut watched = self.watched.0.lock().unwrap_or_else(PoisonError::into_inner);
        let running = watched.iter().filter(|entry| !entry.task.is_finished()).count();
        if running >= MOST {
            return Err(Error::Failed(format!(
                "{MOST} commands are watched already; stop one first"
            )));
        }
        let number = watched.len() + 1;
        let job = Job {
            number,
            command: Command {
                line: command.clone(),
                cwd: self.project.workspace.root().into(),
                environment: self.environment.clone(),
                limit: Some(TIMEOUT),
                spill: self.project.spill.clone(),
            },
            confinement: self
                .commands
                .confinement
                .as_ref()
                .map(|it| command::at_level(it, context.level)),
            notices: self.commands.notices.clone(),
            desk: context.desk,
        };
        watched.push(Entry {
            command,
            task: tokio::spawn(job.run(files, pause)),
        });
        Ok(Output::text(format!(
            "Watch {number} runs; you are told when it starts to fail."
        )))
    }
}

impl Watch {
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
            true => "Nothing is watched.".into(),
            false => lines.join("\n"),
        }
    }
}

/// A command that is watched.
struct Job {
    number: usize,
    command: Command,
    confinement: Option<Confinement>,
    notices: Notices,
    /// What was allowed once may be forbidden by now.
    desk: Arc<dyn Desk>,
}

impl Job {
    async fn run(self, files: Vec<workspace::Location>, pause: Duration) {
        let mut failing = false;
        loop {
            let seen = times(&files);
            let failure = self.once().await;
            if let (false, Some(text)) = (failing, &failure) {
                self.tell(format!("`{}` fails now: {text}", self.command.line));
            }
            failing = failure.is_some();
            match files.is_empty() {
                true => tokio::time::sleep(pause).await,
                false => {
                    while times(&files) == seen {
                        tokio::time::sleep(LOOK).await;
                    }
                }
            }
            if !self.notices.is_heard() {
                return;
            }
            if let Err(error) = self.desk.permit(self.action()).await {
                self.tell(format!("`{}` is not watched any more: {error}", self.command.line));
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

    fn tell(&self, text: String) {
        let source = format!("watch {}", self.number);
        self.notices.tell(Notice { source, text });
    }

    /// Runs it once; what it printed when it failed.
    async fn once(&self) -> Option<String> {
        let mut running = match self.command.start(self.confinement.as_ref()) {
            Ok(running) => running,
            Err(error) => return Some(error.to_string()),
        };
        while running.next().await.is_some() {}
        let exit = running.process.exit().await;
        if exit.status == Status::Exited(0) {
            return None;
        }
        let how = command::ending(&exit, running.limit);
        let printed = format!("{}{}", exit.output.head, exit.output.tail);
        let cut = printed.chars().count().saturating_sub(TOLD);
        let end: String = printed.chars().skip(cut).collect();
        let left_out = match cut {
            0 => String::new(),
            cut => format!("[{cut} characters left out]\n"),
        };
        Some(format!("{how}\n{left_out}{}", end.trim()))
    }
}

/// When files were last changed; one that is not there has no time.
fn times(files: &[workspace::Location]) -> Vec<Option<SystemTime>> {
    files.iter().map(|file| file.modified().ok()).collect()
}
