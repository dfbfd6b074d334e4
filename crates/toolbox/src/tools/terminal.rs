//! Runs a shell command in the sandbox, or outside it if the sandbox blocked it and the user approves.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use policy::Action;
use sandbox::{Confinement, ConfinementLevel, NetworkAccess, ProcessEnvironment, ProcessExit, ProcessStatus};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tool::{
    CallContext, DynTool, Error, EscalationGrant, Output, OutputCap, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind,
    ToolListing, ToolSet, erase, fold_name,
};

use workspace::{HiddenExcludes, IndexMarks};

use crate::CommandOptions;
use crate::middleware::checkpoint::with_checkpoints;
use crate::registry::{BuiltIn, ToolParts};
use crate::support::arguments;
use crate::support::commands::{
    RunningCommand, ShellCommand, WatchOutcome, at_level, command_exit, describe_exit, exit_status, render_output,
    without_repository_programs,
};
use crate::support::jobs::JobRegistry;
use crate::support::project::Project;
use crate::support::web::failed;
use crate::tools::apply_patch::ApplyPatchTool;
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
    /// How long to wait before the command continues in the background.
    #[serde(alias = "yield_time_ms")]
    #[schemars(skip)]
    foreground_ms: Option<u64>,
    /// Zed: how many lines of the output are shown, from its start and from its end.
    #[schemars(skip)]
    head_lines: Option<usize>,
    #[schemars(skip)]
    tail_lines: Option<usize>,
}

/// The lines of the output that are shown.
#[derive(Debug, Clone, Copy)]
struct ShownLines {
    head: Option<usize>,
    tail: Option<usize>,
}

impl ShownLines {
    fn of(self, text: String) -> String {
        let total = text.lines().count();
        let (head, tail) = match (self.head, self.tail) {
            (None, None) => return text,
            (head, tail) => (head.unwrap_or(0), tail.unwrap_or(0)),
        };
        if head.saturating_add(tail) >= total {
            return text;
        }
        let lines = |range: std::ops::Range<usize>| -> String {
            let lines = text.split_inclusive('\n').skip(range.start).take(range.len());
            lines.collect()
        };
        let cut = total - head - tail;
        format!("{}[{cut} lines cut]\n{}", lines(0..head), lines(total - tail..total))
    }
}

/// Whether a command ran in the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SandboxUse {
    Inside,
    /// Outside the sandbox, after approval.
    Escalated,
    /// In the sandbox with network access, after approval.
    WithNetwork,
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
                .locate(self.project.folder(input.cwd.as_deref().unwrap_or_default()))?
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
            (false, None) => Some(match input.foreground_ms {
                Some(limit) => Duration::from_millis(limit).min(self.commands.foreground_limit),
                None => self.commands.foreground_limit,
            }),
        }
    }

    /// Requests approval to run a command again that the sandbox blocked: outside of it, or inside with network access.
    /// The error is the reason for a refusal.
    async fn escalate(
        &self,
        command: &ShellCommand,
        exit: &ProcessExit,
        context: &CallContext,
    ) -> Result<(Confinement, SandboxUse), Error> {
        let action = Action::Escalate {
            command: command.line.clone(),
            cwd: command.cwd.clone(),
        };
        let denial = exit.confinement.as_ref().and_then(|confined| confined.denial.as_ref());
        let evidence = denial.map(|denial| denial.evidence.clone()).unwrap_or_default();
        let granted = context.permit_escalation(action, evidence).await?;
        let template = self
            .commands
            .confinement
            .clone()
            .unwrap_or_else(|| Confinement::new(ConfinementLevel::Off, []));
        Ok(match granted {
            EscalationGrant::Unconfined => (
                Confinement {
                    level: ConfinementLevel::Off,
                    ..template
                },
                SandboxUse::Escalated,
            ),
            EscalationGrant::Network => (
                Confinement {
                    network: NetworkAccess::Granted,
                    ..at_level(&template, context.level)
                },
                SandboxUse::WithNetwork,
            ),
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

    fn render_exit(
        &self,
        running: &RunningCommand,
        exit: ProcessExit,
        (ran, shown): (SandboxUse, ShownLines),
    ) -> Output {
        let mut notes = vec![describe_exit(&exit, running.timeout)];
        if exit.status == ProcessStatus::TimedOut {
            notes.push("set timeout_seconds if it needs longer".into());
        }
        match ran {
            SandboxUse::Inside => {}
            SandboxUse::Escalated => notes.push("run outside the sandbox".into()),
            SandboxUse::WithNetwork => notes.push("run in the sandbox with network access".into()),
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
        let text = shown.of(render_output(exit.output, running.transcript().as_deref()));
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
        sets: &[ToolSet::FileAccess, ToolSet::SmallModel],
        peers: &[
            (PeerAgent::Zed, &["terminal"]),
            (PeerAgent::RooCode, &["execute_command"]),
            (PeerAgent::Crush, &["bash"]),
            (PeerAgent::Copilot, &["create_and_run_task", "run_in_terminal"]),
            (
                PeerAgent::ContextPilot,
                &["console_create", "console_easy_bash", "gh_execute", "git_execute"],
            ),
            (PeerAgent::ClaudeCode, &["Bash"]),
            (
                PeerAgent::Codex,
                &[
                    "container.exec",
                    "exec_command",
                    "local_shell",
                    "shell",
                    "shell_command",
                ],
            ),
            (PeerAgent::GeminiCli, &["run_shell_command"]),
            (PeerAgent::OpenCode, &["bash"]),
        ],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.command.clone()
    }

    fn adapt(&self, called: &str, input: &mut Map<String, Value>) {
        adapt(called, input);
    }

    /// Codex applies a patch with a command of this name, also after `cd folder &&`.
    fn redirect(&self, input: &Value) -> Option<(&'static str, Value)> {
        let command = input.get("command")?.as_str()?.trim_start();
        let (folder, command) = match command.strip_prefix("cd ").and_then(|rest| rest.split_once("&&")) {
            Some((folder, rest)) => (folder.trim().trim_matches(['\'', '"']), rest.trim_start()),
            None => ("", command),
        };
        let patch = command.strip_prefix("apply_patch")?.trim_start();
        let cwd = input.get("cwd").and_then(Value::as_str).unwrap_or_default();
        let folder = Path::new(self.project.folder(cwd)).join(folder);
        let patch = patch.contains("*** Begin Patch").then(|| patch_text(patch))?;
        Some((ApplyPatchTool::NAME, json!({"input": patch_in(&patch, &folder)})))
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        let workspace = &self.project.workspace;
        let cwd = match workspace.locate(self.project.folder(input.cwd.as_deref().unwrap_or_default())) {
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
        let mut command = self.command(&input)?;
        let patience = self.patience(&input, &command);
        let shown = ShownLines {
            head: input.head_lines,
            tail: input.tail_lines,
        };
        let confinement = self.commands.confinement.as_ref();
        let confinement = confinement.map(|confinement| at_level(confinement, context.level));
        // Otherwise git would commit hidden files as they appear in the sandbox.
        let confined = confinement
            .as_ref()
            .filter(|confinement| confinement.level != ConfinementLevel::Off);
        let hidden = confined
            .map(Confinement::hidden_paths)
            .transpose()
            .map_err(|error| failed(error.to_string()))?;
        let hidden = hidden.unwrap_or_default();
        let roots = confined
            .map(|confinement| confinement.roots.as_slice())
            .unwrap_or_default();
        let _marks = IndexMarks::set(&command.cwd, &hidden, roots);
        let _excludes = HiddenExcludes::set(&command.cwd, &hidden, roots);
        // Background commands do not run in client terminals.
        if let (false, Some(terminals)) = (input.background, self.commands.client_terminals(confinement.as_ref())) {
            return command.run_in_client(terminals, &context).await;
        }
        if confined.is_some_and(|confined| confined.level == ConfinementLevel::ReadOnly) {
            command.environment = without_repository_programs(command.environment);
        }
        let mut running = command.start(confinement.as_ref())?;
        let exit = match self.watch(&mut running, &context, patience).await {
            WatchOutcome::StillRunning => return Ok(self.adopt(running)),
            WatchOutcome::Exited(exit) => *exit,
        };
        if !was_stopped_by_the_sandbox(&exit) {
            return Ok(self.render_exit(&running, exit, (SandboxUse::Inside, shown)));
        }
        let (outside, used) = match self.escalate(&command, &exit, &context).await {
            Ok(escalated) => escalated,
            Err(error) => return Err(refused(&running, exit, &error.to_string())),
        };
        if let (false, Some(terminals)) = (input.background, self.commands.client_terminals(Some(&outside))) {
            return command.run_in_client(terminals, &context).await;
        }
        let mut running = command.start(Some(&outside))?;
        match self.watch(&mut running, &context, patience).await {
            WatchOutcome::StillRunning => Ok(self.adopt(running)),
            WatchOutcome::Exited(exit) => Ok(self.render_exit(&running, *exit, (used, shown))),
        }
    }
}

/// Milliseconds from which a plain `timeout` is not in seconds.
const MIN_MILLISECONDS: f64 = 1_000.0;

/// Rewrites the arguments of other agents' shell tools.
fn adapt(called: &str, input: &mut Map<String, Value>) {
    let called = fold_name(called);
    if let Some(Value::Object(action)) = input.remove("action") {
        input.extend(action);
    }
    arguments::rename(input, &["cmd", "script"], "command");
    // Anthropic's shell keeps its state until it is restarted.
    if input.remove("restart").as_ref().and_then(arguments::truth) == Some(true) && !input.contains_key("command") {
        input.insert("command".into(), "echo 'Each command runs in a new shell.'".into());
    }
    arguments::rename(
        input,
        &[
            "workdir",
            "working_dir",
            "working_directory",
            "directory",
            "dir_path",
            "cd",
        ],
        "cwd",
    );
    if let Some(Value::Object(task)) = input.get("task") {
        let args = task.get("args").and_then(Value::as_array).into_iter().flatten();
        let words: Vec<&str> = args.filter_map(Value::as_str).collect();
        let command = task.get("command").and_then(Value::as_str).unwrap_or_default();
        let words = words.into_iter().map(|word| format!(" {}", quoted(word)));
        let line = command.to_owned() + &words.collect::<String>();
        input.insert("command".into(), line.into());
    }
    if let Some(Value::Array(words)) = input.get("command") {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        let line = command_line(&words);
        input.insert("command".into(), line.into());
    }
    if called == "consolecreate" || input.get("mode").and_then(Value::as_str) == Some("async") {
        input.entry("background").or_insert(true.into());
    }
    if called == "consoleeasybash" {
        input.entry("timeout_seconds").or_insert(10.into());
    }
    if let Some(seconds) = input
        .remove("auto_background_after")
        .as_ref()
        .and_then(arguments::number)
    {
        input.insert("foreground_ms".into(), ((seconds * 1_000.0) as u64).into());
    }
    let Some(limit) = input.remove("timeout") else {
        return;
    };
    // In the background, the limit of other agents is not that of the command; in Copilot it never is.
    let backgrounds = ["background", "isBackground", "is_background", "run_in_background"];
    let is_background = backgrounds
        .iter()
        .any(|name| input.get(*name).and_then(arguments::truth) == Some(true));
    if called != "terminal" && is_background {
        return;
    }
    if called == "runinterminal" {
        if let Some(limit) = arguments::number(&limit).filter(|limit| *limit > 0.0) {
            input.entry("foreground_ms").or_insert((limit as u64).into());
        }
        return;
    }
    // Most agents count milliseconds; Roo Code counts seconds.
    let (name, limit) = match arguments::number(&limit) {
        Some(limit) if limit <= 0.0 => return,
        Some(limit) if limit >= MIN_MILLISECONDS && called != "executecommand" => ("timeout_ms", (limit as u64).into()),
        Some(limit) => ("timeout_seconds", (limit.ceil() as u64).into()),
        None => ("timeout_seconds", limit),
    };
    input.entry(name).or_insert(limit);
}

/// The shell command for a program and its arguments. A script for a shell is the command itself.
fn command_line(words: &[&str]) -> String {
    match words {
        [shell, "-c" | "-lc" | "-ic", script] if shell.ends_with("sh") => (*script).to_owned(),
        words => {
            let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            words.join(" ")
        }
    }
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./:=@%+,".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// The patch in the argument or the here document of a command.
fn patch_text(argument: &str) -> String {
    let end = "*** End Patch";
    let from = argument.find("*** Begin Patch").unwrap_or(0);
    let to = argument.rfind(end).map_or(argument.len(), |at| at + end.len());
    let text = argument.get(from..to.max(from)).unwrap_or(argument);
    // A quoted argument has its quotes escaped.
    match argument.starts_with('\'') {
        true => text.replace("'\\''", "'"),
        false => text.to_owned(),
    }
}

/// The patch with its paths relative to the project instead of a folder in it.
fn patch_in(patch: &str, folder: &Path) -> String {
    let headers = [
        "*** Add File: ",
        "*** Delete File: ",
        "*** Move to: ",
        "*** Update File: ",
    ];
    let lines = patch.split_inclusive('\n').map(|line| {
        let path = headers
            .iter()
            .find_map(|header| Some((header, line.strip_prefix(header)?)));
        match path {
            Some((header, path)) => format!("{header}{}", folder.join(path).display()),
            None => line.to_owned(),
        }
    });
    lines.collect()
}

/// The error for a command that the sandbox blocked and that was not approved. It starts with the reason, which the
/// user sees.
fn refused(running: &RunningCommand, exit: ProcessExit, why: &str) -> Error {
    let ending = describe_exit(&exit, running.timeout);
    let text = render_output(exit.output, running.transcript().as_deref());
    failed(format!("not run outside the sandbox: {why}\n{text}[{ending}]"))
}

/// Whether a command failed because the sandbox blocked it, or was not run because this machine has none.
fn was_stopped_by_the_sandbox(exit: &ProcessExit) -> bool {
    let denied = exit
        .confinement
        .as_ref()
        .is_some_and(|confined| confined.denial.is_some() || confined.report.insufficient().is_some());
    denied && !matches!(exit.status, ProcessStatus::Exited(0) | ProcessStatus::TimedOut)
}
