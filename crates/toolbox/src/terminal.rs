//! Runs a shell command: in the sandbox, and outside of it only if that was in its way and somebody agrees.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use policy::Action;
use sandbox::{Confinement, Environment, Exit, Level, Status};
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Tool};

use crate::Commands;
use crate::call_tool;
use crate::command::{Command, Running, Watched, at_level, ending, shown, status};
use crate::jobs::{Awaited, Jobs};
use crate::project::Project;
use crate::web::failed;

const MAX_SECONDS: u64 = 24 * 3_600;
/// How long a command that shall run in the background is watched for an early end.
const EARLY: Duration = Duration::from_secs(1);

pub(crate) struct Terminal {
    project: Project,
    environment: Environment,
    commands: Commands,
    jobs: Jobs,
    /// Whether the person knows what the sandbox lacks on this machine.
    announced: Arc<AtomicBool>,
}

/// Runs a shell command and returns its output and exit code. Every call starts a new shell in the project root, without
/// stdin. A long one goes on as a job in the background.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "cmd")]
    command: String,
    /// Folder to run in.
    #[serde(alias = "cd", alias = "workdir", alias = "working_dir")]
    cwd: Option<String>,
    /// Wait so long, then kill it.
    #[serde(alias = "timeout")]
    timeout_seconds: Option<u64>,
    /// Do not wait for its end.
    #[serde(
        default,
        alias = "isBackground",
        alias = "is_background",
        alias = "run_in_background"
    )]
    background: bool,
    #[serde(default)]
    #[schemars(skip)]
    timeout_ms: Option<u64>,
}

/// How a command was run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Where {
    Inside,
    /// Outside the sandbox, because somebody agreed.
    Escalated,
}

impl Terminal {
    pub(crate) fn new(project: Project, environment: Environment, commands: Commands, jobs: Jobs) -> Self {
        Self {
            project,
            environment,
            commands,
            jobs,
            announced: Arc::default(),
        }
    }

    fn command(&self, input: &Input) -> Result<Command, Error> {
        let seconds = input.timeout_seconds.map(Duration::from_secs);
        let limit = seconds.or(input.timeout_ms.map(Duration::from_millis));
        let bounded = |limit: Duration| limit.clamp(Duration::from_secs(1), Duration::from_secs(MAX_SECONDS));
        Ok(Command {
            line: input.command.clone(),
            cwd: self
                .project
                .locate(input.cwd.as_deref().unwrap_or_default())?
                .path()
                .to_owned(),
            environment: self.environment.clone(),
            limit: limit.map(bounded),
            spill: self.project.spill.clone(),
        })
    }

    /// How long the model waits for a command.
    fn patience(&self, input: &Input, command: &Command) -> Option<Duration> {
        match (input.background, command.limit) {
            (true, _) => Some(EARLY),
            (false, Some(_)) => None,
            (false, None) => Some(self.commands.patience),
        }
    }

    /// Asks whether a command may run outside the sandbox that was in its way. The error says why not.
    async fn escalate(&self, command: &Command, context: &Context) -> Result<Confinement, String> {
        let action = Action::Escalate {
            command: command.line.clone(),
            cwd: command.cwd.clone(),
        };
        context.permit(action).await.map_err(|error| error.to_string())?;
        let template = self
            .commands
            .confinement
            .clone()
            .unwrap_or_else(|| Confinement::new(Level::Off, []));
        Ok(Confinement {
            level: Level::Off,
            ..template
        })
    }

    /// Gives a command to the background.
    fn adopt(&self, running: Running, end: Awaited) -> Output {
        let printed = running.process.so_far();
        let transcript = running.transcript();
        let job = self.jobs.adopt(running, self.commands.notices.clone(), end);
        let text = shown(printed, transcript.as_deref());
        let note = format!(
            "still running, as job {0}; {1} {{\"name\": \"job_output\", \"input\": {{\"id\": {0}}}}} shows more, job_kill likewise ends it",
            job.id,
            call_tool::NAME
        );
        Output::text(format!("{text}[{note}]")).summary(format!("job {}", job.id))
    }

    fn tell(&self, running: &Running, exit: Exit, ran: Where) -> Output {
        let mut notes = vec![ending(&exit, running.limit)];
        if exit.status == Status::TimedOut {
            notes.push("set timeout_seconds if it needs longer".into());
        }
        if ran == Where::Escalated {
            notes.push("run outside the sandbox".into());
        }
        let mut summary = format!("{}, {:.1} s", status(&exit, running.limit), exit.duration.as_secs_f64());
        if let Some(gaps) = self.gaps(&exit) {
            summary.push_str(&format!("; the sandbox is incomplete on this machine: {gaps}"));
        }
        let text = shown(exit.output, running.transcript().as_deref());
        Output::text(format!("{text}[{}]", notes.join("; "))).summary(summary)
    }

    /// What the sandbox lacks on this machine, told once.
    fn gaps(&self, exit: &Exit) -> Option<String> {
        let gaps = exit.confinement.as_ref()?.report.gaps();
        let news = !gaps.is_empty() && !self.announced.swap(true, Ordering::Relaxed);
        news.then(|| gaps.join("; "))
    }
}

impl Tool for Terminal {
    const NAME: &'static str = "terminal";
    const ALIASES: &'static [&'static str] = &[
        "bash",
        "console_create",
        "console_easy_bash",
        "execute_command",
        "run_command",
        "run_in_terminal",
        "run_shell_command",
        "shell",
    ];
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.command.clone()
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        let workspace = &self.project.workspace;
        let cwd = match workspace.locate(input.cwd.as_deref().unwrap_or_default()) {
            Ok(folder) => folder.path().to_owned(),
            Err(_) => workspace.root().to_owned(),
        };
        vec![Action::Run {
            command: input.command.clone(),
            cwd,
        }]
    }

    async fn run(&self, input: Input, context: Context) -> Result<Output, Error> {
        self.jobs.room()?;
        let command = self.command(&input)?;
        let patience = self.patience(&input, &command);
        let end = match input.background {
            true => Awaited::No,
            false => Awaited::Yes,
        };
        let confinement = self.commands.confinement.as_ref();
        let confinement = confinement.map(|confinement| at_level(confinement, context.level));
        // What shall go on in the background stays with us.
        if let (false, Some(terminals)) = (input.background, self.commands.elsewhere(confinement.as_ref())) {
            return command.run_in(terminals, &context).await;
        }
        let mut running = command.start(confinement.as_ref())?;
        let exit = match running.watch(&context, patience).await {
            Watched::Runs => return Ok(self.adopt(running, end)),
            Watched::Ended(exit) => *exit,
        };
        if !was_stopped_by_the_sandbox(&exit) {
            return Ok(self.tell(&running, exit, Where::Inside));
        }
        let outside = match self.escalate(&command, &context).await {
            Ok(outside) => outside,
            Err(why) => return Err(refused(&running, exit, &why)),
        };
        if let (false, Some(terminals)) = (input.background, self.commands.elsewhere(Some(&outside))) {
            return command.run_in(terminals, &context).await;
        }
        let mut running = command.start(Some(&outside))?;
        match running.watch(&context, patience).await {
            Watched::Runs => Ok(self.adopt(running, end)),
            Watched::Ended(exit) => Ok(self.tell(&running, *exit, Where::Escalated)),
        }
    }
}

/// A command that the sandbox stopped, and that nobody let out. The reason comes first: it is what a person sees of it.
fn refused(running: &Running, exit: Exit, why: &str) -> Error {
    let ending = ending(&exit, running.limit);
    let text = shown(exit.output, running.transcript().as_deref());
    failed(format!("not run outside the sandbox: {why}\n{text}[{ending}]"))
}

/// Whether a command failed, with signs that the sandbox was in its way.
fn was_stopped_by_the_sandbox(exit: &Exit) -> bool {
    let denied = exit
        .confinement
        .as_ref()
        .is_some_and(|confined| confined.denial.is_some());
    denied && !matches!(exit.status, Status::Exited(0) | Status::TimedOut)
}
