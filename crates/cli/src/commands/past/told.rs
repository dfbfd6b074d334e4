//! What the person, programs and the model are told about files that were put back.

use super::plan::{Plan, Why};
use crate::failure::Result;
use crate::output;
use crate::output::words::tame;
use serde::Serialize;
use session::{SessionId, Tally, Version};
use std::path::Path;
use workspace::checkpoint::Step;

/// Files that the model is told by name.
const NAMED: usize = 20;

/// What happened to a path.
fn verb(step: &Step) -> &'static str {
    match (&step.from, &step.to) {
        (_, None) => "removed",
        (None, Some(_)) => "brought back",
        (Some(_), Some(_)) => "restored",
    }
}

fn why(why: Why) -> &'static str {
    match why {
        Why::Changed => "changed since by others",
        Why::Removed => "removed since by others",
        Why::Appeared => "made since by others",
        Why::Lost => "an earlier version was not kept",
        Why::OffLimits => "it belongs to version control, which is not touched",
    }
}

#[derive(Serialize)]
struct Told<'a> {
    session: String,
    action: &'a str,
    done: bool,
    items: Vec<String>,
    changes: Vec<Changed<'a>>,
    conflicts: Vec<Conflicting<'a>>,
    left: Vec<&'a Path>,
}

#[derive(Serialize)]
struct Changed<'a> {
    path: &'a Path,
    change: &'static str,
}

#[derive(Serialize)]
struct Conflicting<'a> {
    path: &'a Path,
    why: &'static str,
}

/// Prints a plan: as JSON on stdout, or as lines for people.
pub(in crate::commands) fn print(
    session: SessionId,
    action: &str,
    items: &[session::ItemId],
    plan: &Plan,
    done: bool,
    json: bool,
) -> Result<()> {
    if json {
        return output::deliver(&output::pretty(&Told {
            session: session.to_string(),
            action,
            done,
            items: items.iter().map(ToString::to_string).collect(),
            changes: plan
                .steps
                .iter()
                .map(|step| Changed {
                    path: &step.path,
                    change: verb(step),
                })
                .collect(),
            conflicts: plan
                .conflicts
                .iter()
                .map(|conflict| Conflicting {
                    path: &conflict.path,
                    why: why(conflict.why),
                })
                .collect(),
            left: plan.left.iter().map(|path| path.as_path()).collect(),
        })?);
    }
    let mut text = String::new();
    let shown = |path: &Path, version: Option<&Version>| {
        let end = match version.map(|version| version.kind) {
            Some(session::Kind::Folder { .. }) => "/",
            Some(session::Kind::File { .. } | session::Kind::Link) | None => "",
        };
        tame(&format!("{}{end}", path.display()))
    };
    for step in &plan.steps {
        let version = step.to.as_ref().or(step.from.as_ref());
        text.push_str(&format!("{:<12} {}\n", verb(step), shown(&step.path, version)));
    }
    for path in &plan.left {
        let folder = shown(path, None);
        text.push_str(&format!(
            "{:<12} {folder}/ (it holds files that undo does not cover)\n",
            "left"
        ));
    }
    for conflict in &plan.conflicts {
        let path = shown(&conflict.path, None);
        text.push_str(&format!("{:<12} {path} ({})\n", "conflict", why(conflict.why)));
    }
    output::deliver(&text)
}

/// What the model is told.
pub(in crate::commands) fn sentence(begin: &str, plan: &Plan) -> String {
    let mut names: Vec<String> = plan
        .steps
        .iter()
        .take(NAMED)
        .map(|step| format!("{} {}", verb(step), step.path.display()))
        .collect();
    if plan.steps.len() > NAMED {
        names.push(format!("and {} more", plan.steps.len() - NAMED));
    }
    format!(
        "[{begin}: {}. Read a file again before you rely on it.]",
        names.join(", ")
    )
}

/// How many files and folders a plan changes, in words.
pub(in crate::commands) fn sum(plan: &Plan) -> String {
    let mut tally = Tally::default();
    for step in &plan.steps {
        tally.count(step.from.as_ref(), step.to.as_ref());
    }
    match tally.is_empty() {
        true => "everything was so already".into(),
        false => tally.to_string(),
    }
}
