//! Applies edit text given by the user.

use std::path::Path;

use edit::{EditFormat, EditPlan, RefusedEdits};
use tool::Error;
use workspace::{LocationPlace, Workspace};

use crate::support::edits::patch::{PatchAuthor, PatchPlanner};
use crate::support::edits::transaction::{FileOperation, apply_all};
use crate::support::project::Project;
use crate::support::project::read_tracker::ToolCaller;
use crate::support::spill::Spill;

/// Whether to write files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApplyMode {
    /// Writes the files.
    Write,
    /// Checks everything and writes nothing.
    DryRun,
}

/// Why nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// An edit does not match.
    #[error(transparent)]
    Refused(#[from] RefusedEdits),
    /// A file could not be read or written.
    #[error("{0}")]
    Failed(String),
}

/// Applies edit text in any format, completely or not at all. `target` is the file for edits without a path.
pub fn apply_edit_text(
    workspace: Workspace,
    text: &str,
    format: EditFormat,
    target: Option<&Path>,
    mode: ApplyMode,
) -> Result<EditPlan, ApplyError> {
    let project = Project::new(workspace, Spill::default(), ToolCaller::Model);
    let planner = PatchPlanner::by(PatchAuthor::User, &project, format);
    let plan = planner
        .plan_text(text, target)
        .map_err(|refused| match planner.unreadable(&refused) {
            Some(why) => ApplyError::Failed(why),
            None => ApplyError::Refused(refused),
        })?;
    let steps = planner.ready(&plan).map_err(failed)?.steps;
    for file in steps.iter().flat_map(FileOperation::files) {
        if file.place() == LocationPlace::Outside {
            let shown = file.path().display();
            return Err(ApplyError::Failed(format!(
                "{shown} is outside the folder. Nothing was changed."
            )));
        }
    }
    match mode {
        ApplyMode::Write => apply_all(steps).map_err(failed)?,
        ApplyMode::DryRun => {}
    }
    Ok(plan)
}

fn failed(error: Error) -> ApplyError {
    ApplyError::Failed(error.to_string())
}
