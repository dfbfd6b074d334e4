//! Runs a shell command.

use std::time::Duration;

use policy::Action;
use sandbox::{Cap, Environment, Exit, Leftover, Output as Printed, Process, Program, Request, Status};
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Tool};

use crate::project::Project;
use crate::shell;

/// The start of a long output tells what was run, its end how that went; the end matters more.
const OUTPUT: Cap = Cap {
    head: 12_000,
    tail: 18_000,
};
const DEFAULT_SECONDS: u64 = 120;
const MAX_SECONDS: u64 = 3_600;

pub(crate) struct Terminal(pub(crate) Project, pub(crate) Environment);

/// Runs a shell command and returns its output and exit code. Every call starts a new shell in the project root, without
/// stdin; background processes end with it.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "cmd")]
    command: String,
    /// Folder to run in.
    #[serde(alias = "cd", alias = "workdir", alias = "working_dir")]
    cwd: Option<String>,
    /// Default 120.
    #[serde(alias = "timeout")]
    timeout_seconds: Option<u64>,
}

impl Tool for Terminal {
    const NAME: &'static str = "terminal";
    const ALIASES: &'static [&'static str] = &["bash", "execute_command", "run_in_terminal", "shell"];
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.command.clone()
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        let cwd = match self.0.workspace.locate(input.cwd.as_deref().unwrap_or_default()) {
            Ok(folder) => folder.path().to_owned(),
            Err(_) => self.0.workspace.root().to_owned(),
        };
        vec![Action::Run {
            command: input.command.clone(),
            cwd,
        }]
    }

    async fn run(&self, input: Input, context: Context) -> Result<Output, Error> {
        let folder = self.0.locate(input.cwd.as_deref().unwrap_or_default())?;
        let seconds = input.timeout_seconds.unwrap_or(DEFAULT_SECONDS).clamp(1, MAX_SECONDS);
        let request = Request {
            program: shell::program(input.command),
            cwd: folder.path().to_owned(),
            environment: self.1.clone(),
            timeout: Some(Duration::from_secs(seconds)),
            grace: Request::GRACE,
            output: OUTPUT,
        };
        let mut process = spawn(request).map_err(|error| Error::Failed(chain(&error)))?;
        while let Some(text) = process.next().await {
            context.progress.show(&context.call, text);
        }
        let exit = process.exit().await;
        let end = ending(&exit, seconds);
        let summary = format!("{end}, {:.1} s", exit.duration.as_secs_f64());
        Ok(Output::text(render(exit, &end)).summary(summary))
    }
}

/// Starts a command; without bash on this machine, in the shell that there is.
fn spawn(request: Request) -> Result<Process, sandbox::Error> {
    match (sandbox::spawn(&request), request.program) {
        (Err(sandbox::Error::Missing { .. }), Program::Bash(command)) => sandbox::spawn(&Request {
            program: Program::Shell(command),
            ..request
        }),
        (spawned, _) => spawned,
    }
}

fn ending(exit: &Exit, seconds: u64) -> String {
    match exit.status {
        Status::Exited(code) => format!("exit code {code}"),
        Status::Signalled(signal) => format!("ended by signal {signal}"),
        Status::TimedOut => format!("stopped after {seconds} s"),
        Status::Unknown => "ended in an unknown way".to_owned(),
    }
}

fn render(exit: Exit, end: &str) -> String {
    let mut notes = vec![end.to_owned()];
    if exit.status == Status::TimedOut {
        notes.push("set timeout_seconds if it needs longer".into());
    } else if exit.leftover == Leftover::Running {
        notes.push("its background processes were ended".into());
    }
    let Printed { head, tail, cut } = exit.output;
    let mut text = head;
    if cut > 0 {
        newline(&mut text);
        text.push_str(&format!("[{cut} bytes cut; redirect to a file to see them]\n"));
        text.push_str(&tail);
    }
    newline(&mut text);
    text.push_str(&format!("[{}]", notes.join("; ")));
    text
}

fn newline(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// An error and what caused it, on one line.
fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain(source)),
        None => error.to_string(),
    }
}
