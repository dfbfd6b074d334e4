//! Opens the history of a session, and prints plans that restore its files.

use super::{session_flags, warn};
use crate::args::{GlobalArgs, RestoreArgs, TurnArgs};
use crate::environment::ProcessEnv;
use crate::failure::Result;
use crate::output;
use crate::output::format::sanitise;
use review::{ConflictPolicy, RestorePlan, SessionAccess, SessionHistory, step_verb};
use serde::Serialize;
use session::{FileKind, FileVersion, ItemId, SessionId};
use std::path::Path;

/// Opens a session by id, or the newest one of this project.
pub(super) async fn open_history(
    session: Option<&str>,
    access: SessionAccess,
    global: &GlobalArgs,
    env: &ProcessEnv,
) -> Result<SessionHistory> {
    let flags = session_flags(&TurnArgs::default(), global)?;
    let (history, warnings) = host::sessions::open_history(session, access, &flags, env).await?;
    warn(&warnings);
    Ok(history)
}

/// How to open a session for an operation.
pub(super) fn access(going: &RestoreArgs) -> SessionAccess {
    match going.dry_run {
        true => SessionAccess::Read,
        false => SessionAccess::Write,
    }
}

/// How to handle files that were changed outside the session.
pub(super) fn conflict_policy(going: &RestoreArgs) -> ConflictPolicy {
    match (going.force, going.keep) {
        (true, _) => ConflictPolicy::Overwrite,
        (false, true) => ConflictPolicy::Keep,
        (false, false) => ConflictPolicy::Abort,
    }
}

/// An operation that restores files, for the output.
pub(super) struct RestoreReport<'a> {
    pub(super) session: SessionId,
    pub(super) action: &'static str,
    pub(super) items: &'a [ItemId],
    pub(super) json: bool,
}

/// Whether a printed plan was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlanState {
    Planned,
    Applied,
}

#[derive(Serialize)]
struct RestoreJson<'a> {
    session: String,
    action: &'a str,
    done: bool,
    items: Vec<String>,
    changes: Vec<RestoredPathJson<'a>>,
    conflicts: Vec<ConflictJson<'a>>,
    left: Vec<&'a Path>,
}

#[derive(Serialize)]
struct RestoredPathJson<'a> {
    path: &'a Path,
    change: &'static str,
}

#[derive(Serialize)]
struct ConflictJson<'a> {
    path: &'a Path,
    why: &'static str,
}

impl RestoreReport<'_> {
    /// Prints a plan as JSON or as text.
    pub(super) fn print(&self, plan: &RestorePlan, state: PlanState) -> Result<()> {
        match self.json {
            true => output::print_checked(&output::pretty(&self.json(plan, state))?),
            false => output::print_checked(&plan_text(plan)),
        }
    }

    /// Prints the conflicts of a plan that was refused.
    pub(super) fn print_conflicts(&self, plan: &RestorePlan) -> Result<()> {
        self.print(&plan.only_conflicts(), PlanState::Planned)
    }

    fn json<'a>(&'a self, plan: &'a RestorePlan, state: PlanState) -> RestoreJson<'a> {
        let changes = plan.steps.iter().map(|step| RestoredPathJson {
            path: &step.path,
            change: step_verb(step),
        });
        let conflicts = plan.conflicts.iter().map(|conflict| ConflictJson {
            path: &conflict.path,
            why: conflict.reason.describe(),
        });
        RestoreJson {
            session: self.session.to_string(),
            action: self.action,
            done: state == PlanState::Applied,
            items: self.items.iter().map(ToString::to_string).collect(),
            changes: changes.collect(),
            conflicts: conflicts.collect(),
            left: plan.nonempty_folders.iter().map(|path| path.as_path()).collect(),
        }
    }
}

fn plan_text(plan: &RestorePlan) -> String {
    let mut text = String::new();
    let shown = |path: &Path, version: Option<&FileVersion>| {
        let end = match version.map(|version| version.kind) {
            Some(FileKind::Folder { .. }) => "/",
            Some(FileKind::File { .. } | FileKind::Link) | None => "",
        };
        sanitise(&format!("{}{end}", path.display()))
    };
    for step in &plan.steps {
        let version = step.to.as_ref().or(step.from.as_ref());
        text.push_str(&format!("{:<12} {}\n", step_verb(step), shown(&step.path, version)));
    }
    for path in &plan.nonempty_folders {
        let folder = shown(path, None);
        text.push_str(&format!(
            "{:<12} {folder}/ (contains files that undo does not cover)\n",
            "kept"
        ));
    }
    for conflict in &plan.conflicts {
        let path = shown(&conflict.path, None);
        text.push_str(&format!("{:<12} {path} ({})\n", "conflict", conflict.reason.describe()));
    }
    text
}
