//! Lists diagnostics of the language server, or of the project's compiler or checker.

use std::sync::Arc;
use std::time::Duration;

use policy::Action;
use sandbox::{CaptureCap, Confinement, ProcessEnvironment, ProcessExit, ProcessRequest, ProcessStatus};
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{
    CallContext, DynTool, Error, Output, OutputCap, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, ToolSet, erase,
};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::checkers::parse;
use crate::support::checkers::select::{self, CheckerRun};
use crate::support::code_server::{CodeServer, Diagnostic, DiagnosticSeverity};
use crate::support::commands;
use crate::support::commands::shell;
use crate::support::project::Project;
use crate::support::text::count;

const SECONDS: u64 = 300;
/// Maximum output of a checker.
const OUTPUT_CAP: CaptureCap = CaptureCap {
    head: 8 * 1024 * 1024,
    tail: 64 * 1024,
};
/// Maximum output shown of a checker that fails without diagnostics.
const MAX_RAW: usize = 3_000;

pub(crate) struct DiagnosticsTool {
    pub(crate) project: Project,
    pub(crate) environment: ProcessEnvironment,
    pub(crate) confinement: Option<Confinement>,
    pub(crate) server: Option<Arc<dyn CodeServer>>,
}

/// Lists errors and warnings in the code, by the project's compiler or checker.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// File or directory; default: the project.
    #[serde(alias = "file_path", alias = "filePath")]
    path: Option<String>,
    /// Results to skip.
    offset: Option<usize>,
    /// Copilot: several files.
    #[serde(default, alias = "file_paths", alias = "files")]
    #[schemars(skip)]
    paths: Vec<String>,
}

impl Input {
    /// The files and directories; the project if none is given.
    fn paths(&self) -> Vec<&str> {
        match (&self.path, self.paths.as_slice()) {
            (None, []) => vec![""],
            (path, paths) => path.iter().chain(paths).map(String::as_str).collect(),
        }
    }
}

impl BuiltIn for DiagnosticsTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(DiagnosticsTool {
            project: parts.project.clone(),
            environment: parts.environment.clone(),
            confinement: parts.options.commands.confinement.clone(),
            server: parts.options.code_server.clone(),
        }))
    }
}

impl Tool for DiagnosticsTool {
    const NAME: &'static str = "diagnostics";
    const ALIASES: &'static [&'static str] = &["lsp_diagnostics", "get_errors", "problems", "get_diagnostics"];
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Read,
        cap: OutputCap {
            entries: 50,
            bytes: 16_000,
            ..OutputCap::DEFAULT
        },
        sets: &[ToolSet::McpServer],
        peers: &[
            (PeerAgent::Zed, &["diagnostics"]),
            (PeerAgent::Crush, &["lsp_diagnostics"]),
            (PeerAgent::Copilot, &["get_errors"]),
        ],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        let title = |path: &str| match self.check(path) {
            Some(check) => check.label().trim_matches('`').to_owned(),
            None if path.is_empty() => ".".to_owned(),
            None => path.to_owned(),
        };
        let titles: Vec<String> = input.paths().into_iter().map(title).collect();
        titles.join(", ")
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        let paths = input.paths().into_iter();
        let actions = paths.flat_map(|path| {
            let check = self.check(path).map(|check| Action::Run {
                command: check.command,
                cwd: check.cwd,
            });
            self.project.read_actions(path).into_iter().chain(check)
        });
        actions.collect()
    }

    async fn run(&self, input: Input, context: CallContext) -> Result<Output, Error> {
        let (mut found, mut checkers) = (Vec::new(), Vec::new());
        for path in input.paths() {
            let (diagnostics, checker) = self.diagnose(path, &context).await?;
            found.extend(diagnostics);
            if !checkers.contains(&checker) {
                checkers.push(checker);
            }
        }
        Ok(answer(found, input.offset.unwrap_or(0), &checkers.join(" and ")))
    }
}

impl DiagnosticsTool {
    /// The diagnostics of a file, a directory or the project, and the checker.
    async fn diagnose(&self, path: &str, context: &CallContext) -> Result<(Vec<Diagnostic>, String), Error> {
        let location = self.project.locate(path)?;
        let requested = (!path.is_empty()).then(|| location.path().to_owned());
        if let Some(server) = &self.server
            && let Some(found) = server.diagnostics(requested.as_ref()).await
        {
            return Ok((found, "the language server".into()));
        }
        if !location.exists() {
            return Err(Error::Failed(format!("{} does not exist", location.shown())));
        }
        let check = self.check(path).ok_or_else(|| {
            Error::Failed(format!(
                "no compiler or checker found for {}; run one with terminal",
                location.shown()
            ))
        })?;
        let exit = self.run_checker(&check, context).await?;
        let root = self.project.workspace.root();
        let mut found = parse::read(check.output, &exit.output.head, &check.cwd, root);
        if let Some(only) = &check.only {
            found.retain(|diagnostic| diagnostic.path == *only || diagnostic.path.starts_with(&format!("{only}/")));
        }
        let is_complete = check.only.is_some() && parse::is_expected_format(check.output, &exit.output.head);
        match (exit.status, found.is_empty()) {
            (ProcessStatus::TimedOut, true) => {
                Err(Error::Failed(format!("{} timed out after {SECONDS} s", check.label())))
            }
            (ProcessStatus::Exited(0), _) | (_, false) => Ok((found, check.label())),
            (_, true) if is_complete => Ok((found, check.label())),
            (_, true) => Err(Error::Failed(failed(&check, &exit))),
        }
    }

    fn check(&self, path: &str) -> Option<CheckerRun> {
        if self.server.is_some() {
            return None;
        }
        let location = self.project.locate(path).ok()?;
        select::choose(&self.project.workspace, &location, &self.environment)
    }

    async fn run_checker(&self, check: &CheckerRun, context: &CallContext) -> Result<ProcessExit, Error> {
        let request = ProcessRequest {
            program: shell::program(check.command.clone()),
            cwd: check.cwd.clone(),
            environment: self.environment.clone(),
            timeout: Some(Duration::from_secs(SECONDS)),
            grace: ProcessRequest::GRACE,
            output: OUTPUT_CAP,
            terminal: None,
        };
        let confinement = self
            .confinement
            .as_ref()
            .map(|confinement| commands::at_level(confinement, context.level));
        let mut process =
            commands::spawn(request, confinement.as_ref()).map_err(|error| Error::Failed(error.to_string()))?;
        // Its output is parsed, so only the command is shown.
        let label = check.label();
        context
            .progress
            .send(&context.call, format!("{}\n", label.trim_matches('`')));
        while process.next().await.is_some() {}
        Ok(process.exit().await)
    }
}

fn failed(check: &CheckerRun, exit: &ProcessExit) -> String {
    let printed = match exit.output.omitted_bytes {
        0 => exit.output.head.trim(),
        _ => exit.output.tail.trim(),
    };
    let start = printed.ceil_char_boundary(printed.len().saturating_sub(MAX_RAW));
    let cut = if start > 0 { "…" } else { "" };
    let note = exit.confinement.as_ref().and_then(|confined| confined.note());
    let note = note.map(|note| format!("\n[{note}]")).unwrap_or_default();
    format!(
        "{} failed without diagnostics:\n{cut}{}{note}",
        check.label(),
        &printed[start..]
    )
}

fn answer(mut found: Vec<Diagnostic>, offset: usize, by: &str) -> Output {
    found.sort();
    found.dedup();
    let cap = DiagnosticsTool::FACTS.cap;
    let total = found.len();
    let mut text = String::new();
    let mut end = offset;
    for diagnostic in found.iter().skip(offset).take(cap.entries) {
        if text.len() > cap.bytes {
            break;
        }
        text.push_str(&diagnostic.render());
        end += 1;
    }
    let errors = found
        .iter()
        .filter(|one| one.severity == DiagnosticSeverity::Error)
        .count();
    let summary = match (total, errors) {
        (0, _) => "nothing wrong".to_owned(),
        (total, 0) => count(total, "warning"),
        (total, errors) if total == errors => count(errors, "error"),
        (total, errors) => format!("{}, {}", count(errors, "error"), count(total - errors, "warning")),
    };
    let mut notes = vec![format!("{summary} by {by}")];
    if total > 0 && offset >= total {
        notes.push(format!("offset {offset} is past the end"));
    } else if end < total {
        notes.push(format!("{}-{end} are shown; continue with offset {end}", offset + 1));
    }
    text.push_str(&format!("[{}]", notes.join("; ")));
    Output::text(text).with_summary(summary)
}
