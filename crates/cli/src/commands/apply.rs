//! `hew apply`: applies edit text from stdin, all of it or nothing.

use crate::args::{ApplyArgs, EditFormatArg};
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result, plain};
use crate::output;
use clap::ValueEnum;
use edit::{EditFormat, EditPlan, EditReport, FileChange, RefusalReason, RefusedEdits};
use serde::Serialize;
use std::io::Read as _;
use std::path::Path;
use toolbox::{ApplyError, ApplyMode};
use workspace::Workspace;

/// Maximum length of the edit text in bytes.
const MAX_BYTES: u64 = 64 << 20;

pub(super) fn apply(args: &ApplyArgs) -> Result<ExitStatus> {
    let workspace = Workspace::open(&args.root).map_err(|error| {
        Failure::usage(format!("cannot work in {}: {error}", args.root.display())).hint("check --root")
    })?;
    let text = edit_text()?;
    let mode = match args.dry_run {
        true => ApplyMode::DryRun,
        false => ApplyMode::Write,
    };
    let applied = toolbox::apply_edit_text(workspace, &text, args.format.into(), args.file.as_deref(), mode);
    if args.json {
        output::print_checked(&output::pretty(&ApplyJson::of(&applied, &text, args))?)?;
    }
    match applied {
        Ok(plan) => {
            if !args.json {
                output::print_checked(&summary(&plan, mode))?;
            }
            Ok(ExitStatus::Done)
        }
        Err(_) if args.json => Ok(ExitStatus::Failed),
        Err(error) => Err(Failure::failed(error.to_string().trim_end_matches('.')).hint(hint(&error))),
    }
}

/// The hint for a refused edit.
fn hint(error: &ApplyError) -> String {
    let any = |matches: fn(&RefusalReason) -> bool| match error {
        ApplyError::Refused(refused) => refused.refusals.iter().any(|refusal| matches(&refusal.reason)),
        ApplyError::Failed(_) => false,
    };
    if any(|why| matches!(why, RefusalReason::NoPath)) {
        return "specify the file with --file PATH; nothing was written".into();
    }
    if any(|why| matches!(why, RefusalReason::UnknownFormat)) {
        let formats = EditFormatArg::value_variants()
            .iter()
            .filter_map(ValueEnum::to_possible_value);
        let names: Vec<String> = formats.map(|format| format.get_name().to_string()).collect();
        return format!("specify --format: {}; nothing was written", names.join(", "));
    }
    "nothing was written".into()
}

fn edit_text() -> Result<String> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::usage(format!("cannot read stdin: {}", plain(&error))))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Failure::usage(format!(
            "the edit text is longer than {} MB",
            MAX_BYTES >> 20
        )));
    }
    let text = String::from_utf8(bytes).map_err(|_| Failure::usage("the edit text on stdin is not UTF-8"))?;
    match text.trim().is_empty() {
        true => Err(Failure::usage("no edit text on stdin").hint("redirect it: hew apply < change.patch")),
        false => Ok(text),
    }
}

/// One line for each file, then one for each edit.
fn summary(plan: &EditPlan, mode: ApplyMode) -> String {
    let would = match mode {
        ApplyMode::Write => "",
        ApplyMode::DryRun => "would have ",
    };
    let mut text = String::new();
    for file in &plan.files {
        let line = match file {
            FileChange::Create { path, .. } => format!("created {}", path.display()),
            FileChange::Update { path, .. } => format!("edited {}", path.display()),
            FileChange::Move { from, to, .. } => format!("moved {} to {}", from.display(), to.display()),
            FileChange::Delete { path, .. } => format!("deleted {}", path.display()),
        };
        text.push_str(&format!("{would}{line}\n"));
    }
    for edit in plan.edits.iter().filter(|edit| edit.changes) {
        let (path, how) = (edit.path.display(), edit.how.name());
        let place = match lines(plan, edit) {
            Some((first, last)) if first < last => format!("{path}:{first}-{last}"),
            // One line, or the line before which others are inserted.
            Some((first, _)) => format!("{path}:{first}"),
            None => path.to_string(),
        };
        text.push_str(&format!("  edit {}: {place} ({how})\n", edit.edit));
    }
    text
}

/// The lines that an edit changes, in the original file; `None` for a new file.
fn lines(plan: &EditPlan, edit: &EditReport) -> Option<(usize, usize)> {
    let is_new = plan.files.iter().any(|file| match file {
        FileChange::Create { path, .. } => *path == edit.path,
        FileChange::Update { .. } | FileChange::Move { .. } | FileChange::Delete { .. } => false,
    });
    (!is_new).then_some((edit.first_line, edit.last_line))
}

/// The output of `--json`.
#[derive(Serialize)]
struct ApplyJson {
    applied: bool,
    dry_run: bool,
    format: &'static str,
    edits: Vec<AppliedEditJson>,
    /// An error that does not belong to a single edit.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// An edit: its location, or why it was refused.
#[derive(Serialize)]
struct AppliedEditJson {
    edit: usize,
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    how: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nearest: Option<NearestLinesJson>,
}

/// The lines most similar to the quoted text.
#[derive(Serialize)]
struct NearestLinesJson {
    first_line: usize,
    lines: Vec<String>,
}

impl ApplyJson {
    fn of(applied: &std::result::Result<EditPlan, ApplyError>, text: &str, args: &ApplyArgs) -> Self {
        let format = match args.format.into() {
            EditFormat::Auto => edit::detect(text).unwrap_or(EditFormat::Auto),
            named => named,
        };
        let json = |applied, format: EditFormat, edits, error| ApplyJson {
            applied,
            dry_run: args.dry_run,
            format: format.name(),
            edits,
            error,
        };
        match applied {
            Ok(plan) => json(!args.dry_run, plan.format, placed(plan), None),
            Err(ApplyError::Refused(refused)) => json(false, format, refusals(refused), None),
            Err(ApplyError::Failed(why)) => json(false, format, Vec::new(), Some(why.clone())),
        }
    }
}

fn placed(plan: &EditPlan) -> Vec<AppliedEditJson> {
    let edits = plan.edits.iter().map(|report| AppliedEditJson {
        edit: report.edit,
        path: Some(display(&report.path)),
        first_line: lines(plan, report).map(|(first, _)| first),
        last_line: lines(plan, report).map(|(_, last)| last),
        how: Some(report.how.name()),
        why: None,
        nearest: None,
    });
    edits.collect()
}

fn refusals(refused: &RefusedEdits) -> Vec<AppliedEditJson> {
    let edits = refused.refusals.iter().map(|refusal| AppliedEditJson {
        edit: refusal.edit,
        path: refusal.path.as_deref().map(display),
        first_line: None,
        last_line: None,
        how: None,
        why: Some(refusal.reason.to_string()),
        nearest: refusal.nearest.as_ref().map(|region| NearestLinesJson {
            first_line: region.start,
            lines: region.lines.clone(),
        }),
    });
    edits.collect()
}

fn display(path: &Path) -> String {
    path.display().to_string()
}
