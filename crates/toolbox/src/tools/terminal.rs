//! Runs a shell command in the sandbox, or outside it if the sandbox blocked it and the user approves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use policy::Action;
use sandbox::{Confinement, ConfinementLevel, ProcessEnvironment, ProcessExit, ProcessStatus};
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{
    CallContext, DynTool, Error, Output, OutputCap, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, ToolListing,
    ToolSet, erase,
};

use workspace::IndexMarks;

use crate::CommandOptions;
use crate::middleware::checkpoint::with_checkpoints;
use crate::registry::{BuiltIn, ToolParts};
use crate::support::commands::{
    RunningCommand, ShellCommand, WatchOutcome, at_level, command_exit, describe_exit, exit_status, render_output,
};
use crate::support::jobs::JobRegistry;
use crate::support::project::Project;
use crate::support::web::failed;
use crate::tools::call_tool;

const MAX_SECONDS: u64 = 24 * 3_600;
/// How long to wait for an early exit of a background command.
const EARLY_EXIT_WAIT: Duration = Duration::from_secs(1);

pub(crate) struct TerminalTool {
    project: Project,
    environment: ProcessEnvironment,
    commands: CommandOptions,
    jobs: JobRegistry,
    /// Whether the user was notified about missing sandbox features.
    announced: Arc<AtomicBool>,
}

/// Runs a shell command and returns its output and exit code. Every call starts a new shell in the project root,
/// without stdin. A long-running command continues as a background job.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "cmd")]
    command: String,
    /// Directory to run in.
    #[serde(alias = "cd", alias = "workdir", alias = "working_dir")]
    cwd: Option<String>,
    /// Kill it after this time.
    #[serde(alias = "timeout")]
    timeout_seconds: Option<u64>,
    /// Do not wait for it to end.
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

/// Whether a command ran in the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SandboxUse {
    Inside,
    /// Outside the sandbox, after approval.
    Escalated,
}

impl TerminalTool {
    pub(crate) fn new(
        project: Project,
        environment: ProcessEnvironment,
        commands: CommandOptions,
        jobs: JobRegistry,
    ) -> Self {
        Self {
            project,
            environment,
            commands,
            jobs,
            announced: Arc::default(),
        }
    }

    fn command(&self, input: &Input) -> Result<ShellCommand, Error> {
        let seconds = input.timeout_seconds.map(Duration::from_secs);
        let limit = seconds.or(input.timeout_ms.map(Duration::from_millis));
        let bounded = |limit: Duration| limit.clamp(Duration::from_secs(1), Duration::from_secs(MAX_SECONDS));
        Ok(ShellCommand {
            line: input.command.clone(),
            cwd: self
                .project
                .locate(input.cwd.as_deref().unwrap_or_default())?
                .path()
                .to_owned(),
            environment: self.environment.clone(),
            timeout: limit.map(bounded),
            spill: self.project.spill.clone(),
        })
    }

    /// How long to wait before a command continues in the background.
    fn patience(&self, input: &Input, command: &ShellCommand) -> Option<Duration> {
        match (input.background, command.timeout) {
            (true, _) => Some(EARLY_EXIT_WAIT),
            (false, Some(_)) => None,
            (false, None) => Some(self.commands.foreground_limit),
        }
    }

    /// Requests approval to run a command outside the sandbox that blocked it. The error is the reason for a refusal.
    async fn escalate(&self, command: &ShellCommand, context: &CallContext) -> Result<Confinement, String> {
        let action = Action::Escalate {
            command: command.line.clone(),
            cwd: command.cwd.clone(),
        };
        context.permit(action).await.map_err(|error| error.to_string())?;
        let template = self
            .commands
            .confinement
            .clone()
            .unwrap_or_else(|| Confinement::new(ConfinementLevel::Off, []));
        Ok(Confinement {
            level: ConfinementLevel::Off,
            ..template
        })
    }

    /// Waits until the command exits, its time in the foreground is over, or the user moves it to the background.
    async fn watch(
        &self,
        running: &mut RunningCommand,
        context: &CallContext,
        patience: Option<Duration>,
    ) -> WatchOutcome {
        tokio::select! {
            biased;
            outcome = running.watch(context, patience) => outcome,
            () = self.jobs.detached() => WatchOutcome::StillRunning,
        }
    }

    /// Moves a command to the background.
    fn adopt(&self, running: RunningCommand) -> Output {
        let printed = running.process.output_so_far();
        let transcript = running.transcript();
        let job = self.jobs.adopt(running, self.commands.notifications.clone());
        let text = render_output(printed, transcript.as_deref());
        let note = format!(
            "still running as job {0}; {1} {{\"name\": \"job_output\", \"input\": {{\"id\": {0}}}}} shows more output, job_kill stops it",
            job.id,
            call_tool::NAME
        );
        Output::text(format!("{text}[{note}]")).with_summary(format!("job {}", job.id))
    }

    fn render_exit(&self, running: &RunningCommand, exit: ProcessExit, ran: SandboxUse) -> Output {
        let mut notes = vec![describe_exit(&exit, running.timeout)];
        if exit.status == ProcessStatus::TimedOut {
            notes.push("set timeout_seconds if it needs longer".into());
        }
        if ran == SandboxUse::Escalated {
            notes.push("run outside the sandbox".into());
        }
        let mut summary = format!(
            "{}, {:.1} s",
            exit_status(&exit, running.timeout),
            exit.duration.as_secs_f64()
        );
        if let Some(gaps) = self.gaps(&exit) {
            summary.push_str(&format!("; the sandbox is incomplete on this machine: {gaps}"));
        }
        let status = command_exit(exit.status);
        let text = render_output(exit.output, running.transcript().as_deref());
        Output::text(format!("{text}[{}]", notes.join("; ")))
            .with_summary(summary)
            .with_exit(status)
    }

    /// Missing sandbox features, reported once.
    fn gaps(&self, exit: &ProcessExit) -> Option<String> {
        let gaps = exit.confinement.as_ref()?.report.gaps();
        let news = !gaps.is_empty() && !self.announced.swap(true, Ordering::Relaxed);
        news.then(|| gaps.join("; "))
    }
}

impl BuiltIn for TerminalTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        let (commands, jobs) = (parts.options.commands.clone(), parts.options.jobs.clone());
        let tool = TerminalTool::new(parts.project.clone(), parts.environment.clone(), commands, jobs);
        // Commands cannot report their changes.
        Some(with_checkpoints(erase(tool), parts.options.checkpoints.as_ref()))
    }
}

impl Tool for TerminalTool {
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
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    const FACTS: ToolFacts = ToolFacts {
        listing: ToolListing::Listed,
        kind: ToolKind::Execute,
        cap: OutputCap {
            bytes: 30_000,
            ..OutputCap::DEFAULT
        },
        sets: &[ToolSet::FileAccess],
        peers: &[
            (PeerAgent::Zed, &["terminal"]),
            (PeerAgent::RooCode, &["execute_command"]),
            (PeerAgent::Crush, &["bash"]),
            (
                PeerAgent::Copilot,
                &["create_and_run_task", "runTests", "run_in_terminal", "run_task"],
            ),
            (
                PeerAgent::ContextPilot,
                &["console_create", "console_easy_bash", "gh_execute", "git_execute"],
            ),
        ],
        ..ToolFacts::DEFAULT
    };
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

    async fn run(&self, input: Input, context: CallContext) -> Result<Output, Error> {
        self.jobs.check_capacity()?;
        let command = self.command(&input)?;
        let patience = self.patience(&input, &command);
        let confinement = self.commands.confinement.as_ref();
        let confinement = confinement.map(|confinement| at_level(confinement, context.level));
        // Otherwise git would commit hidden files as they appear in the sandbox.
        let confined = confinement
            .as_ref()
            .filter(|confinement| confinement.level != ConfinementLevel::Off);
        let _marks = confined.and_then(|confined| IndexMarks::set(&command.cwd, &confined.hidden));
        // Background commands do not run in client terminals.
        if let (false, Some(terminals)) = (input.background, self.commands.client_terminals(confinement.as_ref())) {
            return command.run_in_client(terminals, &context).await;
        }
        let mut running = command.start(confinement.as_ref())?;
        let exit = match self.watch(&mut running, &context, patience).await {
            WatchOutcome::StillRunning => return Ok(self.adopt(running)),
            WatchOutcome::Exited(exit) => *exit,
        };
        if !was_stopped_by_the_sandbox(&exit) {
            return Ok(self.render_exit(&running, exit, SandboxUse::Inside));
        }
        let outside = match self.escalate(&command, &context).await {
            Ok(outside) => outside,
            Err(why) => return Err(refused(&running, exit, &why)),
        };
        if let (false, Some(terminals)) = (input.background, self.commands.client_terminals(Some(&outside))) {
            return command.run_in_client(terminals, &context).await;
        }
        let mut running = command.start(Some(&outside))?;
        match self.watch(&mut running, &context, patience).await {
            WatchOutcome::StillRunning => Ok(self.adopt(running)),
            WatchOutcome::Exited(exit) => Ok(self.render_exit(&running, *exit, SandboxUse::Escalated)),
        }
    }
}

/// The error for a command that the sandbox blocked and that was not approved. It starts with the reason, which the
/// user sees.
fn refused(running: &RunningCommand, exit: ProcessExit, why: &str) -> Error {
    let ending = describe_exit(&exit, running.timeout);
    let text = render_output(exit.output, running.transcript().as_deref());
    failed(format!("not run outside the sandbox: {why}\n{text}[{ending}]"))
}

/// Whether a command failed because the sandbox blocked it.
fn was_stopped_by_the_sandbox(exit: &ProcessExit) -> bool {
    let denied = exit
        .confinement
        .as_ref()
        .is_some_and(|confined| confined.denial.is_some());
    denied && !matches!(exit.status, ProcessStatus::Exited(0) | ProcessStatus::TimedOut)
}
