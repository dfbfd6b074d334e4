//! `hew apply`: carries out edit text from stdin, all of it or nothing.

use crate::args::{Apply, EditFormat};
use crate::exit::Exit;
use crate::failure::{Failure, Result, plain};
use crate::output;
use clap::ValueEnum;
use edit::{FileChange, Format, Plan, Refused, Report, Why};
use serde::Serialize;
use std::io::Read as _;
use std::path::Path;
use toolbox::{Carry, NotApplied};
use workspace::Workspace;

/// More edit text than this is refused.
const LONGEST: u64 = 64 << 20;

pub(super) fn apply(args: &Apply) -> Result<Exit> {
    let workspace = Workspace::open(&args.root).map_err(|error| {
        Failure::usage(format!("cannot work in {}: {error}", args.root.display())).hint("check --root")
    })?;
    let text = edit_text()?;
    let carry = match args.dry_run {
        true => Carry::Nothing,
        false => Carry::Out,
    };
    let done = toolbox::apply(workspace, &text, args.format.into(), args.file.as_deref(), carry);
    if args.json {
        output::deliver(&output::pretty(&Told::of(&done, &text, args))?)?;
    }
    match done {
        Ok(plan) => {
            if !args.json {
                output::deliver(&summary(&plan, carry))?;
            }
            Ok(Exit::Done)
        }
        Err(_) if args.json => Ok(Exit::Failed),
        Err(why) => Err(Failure::failed(why.to_string().trim_end_matches('.')).hint(advice(&why))),
    }
}

/// What the person can do about a refusal.
fn advice(why: &NotApplied) -> String {
    let is = |wanted: fn(&Why) -> bool| match why {
        NotApplied::Refused(refused) => refused.refusals.iter().any(|refusal| wanted(&refusal.why)),
        NotApplied::Failed(_) => false,
    };
    if is(|why| matches!(why, Why::NoPath)) {
        return "name the file with --file PATH; nothing was written".into();
    }
    if is(|why| matches!(why, Why::UnknownFormat)) {
        let formats = EditFormat::value_variants()
            .iter()
            .filter_map(ValueEnum::to_possible_value);
        let names: Vec<String> = formats.map(|format| format.get_name().to_string()).collect();
        return format!("--format names one: {}; nothing was written", names.join(", "));
    }
    "nothing was written".into()
}

fn edit_text() -> Result<String> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(LONGEST + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::usage(format!("cannot read stdin: {}", plain(&error))))?;
    if bytes.len() as u64 > LONGEST {
        return Err(Failure::usage(format!(
            "the edit text is longer than {} MB",
            LONGEST >> 20
        )));
    }
    let text = String::from_utf8(bytes).map_err(|_| Failure::usage("the edit text on stdin is not UTF-8"))?;
    match text.trim().is_empty() {
        true => Err(Failure::usage("there is no edit text on stdin").hint("pipe it in: hew apply < change.patch")),
        false => Ok(text),
    }
}

/// One line for each file, then one for each edit that was not found as quoted.
fn summary(plan: &Plan, carry: Carry) -> String {
    let would = match carry {
        Carry::Out => "",
        Carry::Nothing => "would have ",
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

/// The lines that an edit touches, in the file as it was; `None` where there was no file.
fn lines(plan: &Plan, edit: &Report) -> Option<(usize, usize)> {
    let is_new = plan.files.iter().any(|file| match file {
        FileChange::Create { path, .. } => *path == edit.path,
        FileChange::Update { .. } | FileChange::Move { .. } | FileChange::Delete { .. } => false,
    });
    (!is_new).then_some((edit.first_line, edit.last_line))
}

/// What `--json` prints.
#[derive(Serialize)]
struct Told {
    applied: bool,
    dry_run: bool,
    format: &'static str,
    edits: Vec<Edit>,
    /// What went wrong apart from single edits.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// One edit: where it went, or why it did not.
#[derive(Serialize)]
struct Edit {
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
    nearest: Option<Nearest>,
}

/// The lines that come nearest to what was quoted.
#[derive(Serialize)]
struct Nearest {
    first_line: usize,
    lines: Vec<String>,
}

impl Told {
    fn of(done: &std::result::Result<Plan, NotApplied>, text: &str, args: &Apply) -> Self {
        let format = match args.format.into() {
            Format::Auto => edit::detect(text).unwrap_or(Format::Auto),
            named => named,
        };
        let told = |applied, format: Format, edits, error| Told {
            applied,
            dry_run: args.dry_run,
            format: format.name(),
            edits,
            error,
        };
        match done {
            Ok(plan) => told(!args.dry_run, plan.format, placed(plan), None),
            Err(NotApplied::Refused(refused)) => told(false, format, refusals(refused), None),
            Err(NotApplied::Failed(why)) => told(false, format, Vec::new(), Some(why.clone())),
        }
    }
}

fn placed(plan: &Plan) -> Vec<Edit> {
    let edits = plan.edits.iter().map(|report| Edit {
        edit: report.edit,
        path: Some(shown(&report.path)),
        first_line: lines(plan, report).map(|(first, _)| first),
        last_line: lines(plan, report).map(|(_, last)| last),
        how: Some(report.how.name()),
        why: None,
        nearest: None,
    });
    edits.collect()
}

fn refusals(refused: &Refused) -> Vec<Edit> {
    let edits = refused.refusals.iter().map(|refusal| Edit {
        edit: refusal.edit,
        path: refusal.path.as_deref().map(shown),
        first_line: None,
        last_line: None,
        how: None,
        why: Some(refusal.why.to_string()),
        nearest: refusal.nearest.as_ref().map(|region| Nearest {
            first_line: region.start,
            lines: region.lines.clone(),
        }),
    });
    edits.collect()
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
