//! Shows what a language server, or the project's own compiler or checker, finds wrong.

mod checker;
mod reading;

use std::sync::Arc;
use std::time::Duration;

use policy::Action;
use sandbox::{Cap, Confinement, Environment, Exit, Request, Status};
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Tool};

use crate::caps;
use crate::code_server::{CodeServer, Diagnostic, Severity};
use crate::command;
use crate::project::Project;
use crate::shell;
use crate::text::count;
use checker::Check;

const NAME: &str = "diagnostics";
const SECONDS: u64 = 300;
/// What a checker prints is read up to here.
const PRINTED: Cap = Cap {
    head: 8 * 1024 * 1024,
    tail: 64 * 1024,
};
/// Of a checker that fails without a finding, so much of its output is shown.
const MAX_RAW: usize = 3_000;
const MAX_MESSAGE: usize = 500;

pub(crate) struct Diagnostics {
    pub(crate) project: Project,
    pub(crate) environment: Environment,
    pub(crate) confinement: Option<Confinement>,
    pub(crate) server: Option<Arc<dyn CodeServer>>,
}

/// Lists errors and warnings in the code, found by the project's compiler or checker.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// File or folder; the project by default.
    #[serde(alias = "file_path", alias = "filePath")]
    path: Option<String>,
    /// Results to skip.
    offset: Option<usize>,
}

impl Tool for Diagnostics {
    const NAME: &'static str = NAME;
    const ALIASES: &'static [&'static str] = &["lsp_diagnostics", "get_errors", "problems", "get_diagnostics"];
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        match self.check(input) {
            Some(check) => check.command,
            None => input.path.clone().unwrap_or_else(|| ".".into()),
        }
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        let mut actions = self.project.reading(input.path.as_deref().unwrap_or_default());
        if let Some(check) = self.check(input) {
            actions.push(Action::Run {
                command: check.command,
                cwd: check.cwd,
            });
        }
        actions
    }

    async fn run(&self, input: Input, context: Context) -> Result<Output, Error> {
        let place = self.project.locate(input.path.as_deref().unwrap_or_default())?;
        let offset = input.offset.unwrap_or(0);
        let asked = input.path.as_ref().map(|_| place.path().to_owned());
        if let Some(server) = &self.server
            && let Some(found) = server.diagnostics(asked.as_ref()).await
        {
            return Ok(answer(found, offset, "the language server"));
        }
        if !place.exists() {
            return Err(Error::Failed(format!("{} does not exist", place.shown())));
        }
        let check = self.check(&input).ok_or_else(|| {
            Error::Failed(format!(
                "no compiler or checker is known for {} on this machine; run one with terminal",
                place.shown()
            ))
        })?;
        let exit = self.carry_out(&check, &context).await?;
        let root = self.project.workspace.root();
        let mut found = reading::read(check.output, &exit.output.head, &check.cwd, root);
        if let Some(only) = &check.only {
            found.retain(|diagnostic| diagnostic.path == *only || diagnostic.path.starts_with(&format!("{only}/")));
        }
        match (exit.status, found.is_empty()) {
            (Status::TimedOut, true) => Err(Error::Failed(format!(
                "`{}` did not end within {SECONDS} s",
                check.command
            ))),
            (Status::Exited(0), _) | (_, false) => Ok(answer(found, offset, &format!("`{}`", check.command))),
            (_, true) if check.only.is_some() && reading::speaks(check.output, &exit.output.head) => {
                Ok(answer(found, offset, &format!("`{}`", check.command)))
            }
            (_, true) => Err(Error::Failed(failed(&check, &exit))),
        }
    }
}

impl Diagnostics {
    fn check(&self, input: &Input) -> Option<Check> {
        if self.server.is_some() {
            return None;
        }
        let place = self.project.locate(input.path.as_deref().unwrap_or_default()).ok()?;
        checker::choose(&self.project.workspace, &place, &self.environment)
    }

    async fn carry_out(&self, check: &Check, context: &Context) -> Result<Exit, Error> {
        let request = Request {
            program: shell::program(check.command.clone()),
            cwd: check.cwd.clone(),
            environment: self.environment.clone(),
            timeout: Some(Duration::from_secs(SECONDS)),
            grace: Request::GRACE,
            output: PRINTED,
            terminal: None,
        };
        let confinement = self
            .confinement
            .as_ref()
            .map(|confinement| command::at_level(confinement, context.level));
        let mut process =
            command::spawn(request, confinement.as_ref()).map_err(|error| Error::Failed(error.to_string()))?;
        // What it prints is for us to read; the person sees that it goes on.
        context.progress.show(&context.call, format!("{}\n", check.command));
        while process.next().await.is_some() {}
        Ok(process.exit().await)
    }
}

fn failed(check: &Check, exit: &Exit) -> String {
    let printed = match exit.output.cut {
        0 => exit.output.head.trim(),
        _ => exit.output.tail.trim(),
    };
    let start = printed.ceil_char_boundary(printed.len().saturating_sub(MAX_RAW));
    let cut = if start > 0 { "…" } else { "" };
    let note = exit.confinement.as_ref().and_then(|confined| confined.note());
    let note = note.map(|note| format!("\n[{note}]")).unwrap_or_default();
    format!(
        "`{}` failed without naming a place:\n{cut}{}{note}",
        check.command,
        &printed[start..]
    )
}

fn answer(mut found: Vec<Diagnostic>, offset: usize, by: &str) -> Output {
    found.sort();
    found.dedup();
    let cap = caps::of(NAME);
    let total = found.len();
    let mut text = String::new();
    let mut end = offset;
    for diagnostic in found.iter().skip(offset).take(cap.entries) {
        if text.len() > cap.bytes {
            break;
        }
        text.push_str(&line(diagnostic));
        end += 1;
    }
    let errors = found.iter().filter(|one| one.severity == Severity::Error).count();
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
        notes.push(format!("{}-{end} are shown; go on with offset {end}", offset + 1));
    }
    text.push_str(&format!("[{}]", notes.join("; ")));
    Output::text(text).summary(summary)
}

/// `src/main.rs:3:5 error E0308: mismatched types`.
pub(crate) fn line(diagnostic: &Diagnostic) -> String {
    let place = match (diagnostic.line, diagnostic.column) {
        (0, _) => diagnostic.path.clone(),
        (line, 0) => format!("{}:{line}", diagnostic.path),
        (line, column) => format!("{}:{line}:{column}", diagnostic.path),
    };
    let code = diagnostic
        .code
        .iter()
        .map(|code| format!(" {code}"))
        .collect::<String>();
    let message = &diagnostic.message;
    let shown = match message.len() > MAX_MESSAGE {
        true => format!("{}…", &message[..message.floor_char_boundary(MAX_MESSAGE)]),
        false => message.clone(),
    };
    format!("{place} {}{code}: {shown}\n", diagnostic.severity.word())
}
