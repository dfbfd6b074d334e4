//! Carries out edit text that a person hands over.

use std::path::Path;

use edit::{Format, Plan, Refused};
use tool::Error;
use workspace::{Place, Workspace};

use crate::apply_patch::{Author, Patching};
use crate::project::Project;
use crate::reads::Caller;
use crate::spill::Spill;
use crate::transaction::{Step, carry_out};

/// Whether files are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carry {
    /// They are.
    Out,
    /// Everything is checked and nothing is written.
    Nothing,
}

/// Why nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotApplied {
    /// An edit found no place.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// A file could not be read or written.
    #[error("{0}")]
    Failed(String),
}

/// Carries out edit text in any format: all of it, or nothing. `target` is the file for edits that name none.
pub fn apply(
    workspace: Workspace,
    text: &str,
    format: Format,
    target: Option<&Path>,
    carry: Carry,
) -> Result<Plan, NotApplied> {
    let project = Project::new(workspace, Spill::default(), Caller::Model);
    let patching = Patching::by(Author::Person, &project, format);
    let plan = patching
        .plan_text(text, target)
        .map_err(|refused| match patching.unreadable(&refused) {
            Some(why) => NotApplied::Failed(why),
            None => NotApplied::Refused(refused),
        })?;
    let steps = patching.ready(&plan).map_err(failed)?.steps;
    for file in steps.iter().flat_map(Step::files) {
        if file.place() == Place::Outside {
            let shown = file.path().display();
            return Err(NotApplied::Failed(format!(
                "{shown} is outside the folder. Nothing was changed."
            )));
        }
    }
    match carry {
        Carry::Out => carry_out(steps).map_err(failed)?,
        Carry::Nothing => {}
    }
    Ok(plan)
}

fn failed(error: Error) -> NotApplied {
    NotApplied::Failed(error.to_string())
}
