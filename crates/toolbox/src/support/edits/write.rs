//! Applies edits to one file.

use std::path::Path;

use edit::{EditFormat, EditPlan, EditReport, FileChange, ParsedEdit, RefusedEdits};
use tool::{Error, Output};
use workspace::{ExpectedContent, Fingerprint, Location};

use super::report;
use crate::support::project::changes::change;
use crate::support::project::read_tracker::ReadTracker;
use crate::support::project::{Project, run_blocking, tool_error};
use crate::support::text::count;

/// Applies edits to one file that the model has read.
pub(crate) async fn write_edits(
    project: &Project,
    file: Location,
    edits: Vec<ParsedEdit>,
    format: EditFormat,
) -> Result<Output, Error> {
    let planned = {
        let (file, reads) = (file.clone(), project.reads.clone());
        run_blocking(move || plan(&file, &reads, &edits, format)).await?
    };
    // No await from here on: a cancelled call has either written nothing or returned its changes.
    let written = file
        .write(&planned.bytes, ExpectedContent::Content(planned.snapshot))
        .map_err(tool_error)?;
    project.reads.remember(&file, written.snapshot);
    let text = format!(
        "edited {} {}",
        file.shown(),
        report::describe_places(planned.reports.iter())
    );
    Ok(Output::text(text)
        .with_summary(count(planned.reports.len(), "place"))
        .with_edits(report::edit_facts(format, &planned.reports))
        .with_change(change(&file, written.before, planned.bytes)))
}

/// A change to write.
struct PlannedWrite {
    /// The version that the file must still have.
    snapshot: Fingerprint,
    bytes: Vec<u8>,
    reports: Vec<EditReport>,
}

fn plan(file: &Location, reads: &ReadTracker, edits: &[ParsedEdit], format: EditFormat) -> Result<PlannedWrite, Error> {
    let text = file.read_text().map_err(tool_error)?;
    reads.check(file, text.snapshot)?;
    let (after, reports) = place(file, &text.content, edits, format)?;
    Ok(PlannedWrite {
        snapshot: text.snapshot,
        bytes: file.encode(text.encoding, &after).map_err(tool_error)?,
        reports,
    })
}

/// Applies the edits to the content.
fn place(
    file: &Location,
    content: &str,
    edits: &[ParsedEdit],
    format: EditFormat,
) -> Result<(String, Vec<EditReport>), Error> {
    let lookup = |_: &Path| Some(content.to_owned());
    let planned = edit::plan_edits(edits, format, Some(file.relative()), &lookup);
    let EditPlan { files, edits, .. } = planned.map_err(|refused| Error::Failed(refusal(&refused)))?;
    match files.into_iter().next() {
        Some(FileChange::Update { after, .. }) => Ok((after, edits)),
        Some(FileChange::Create { .. } | FileChange::Move { .. } | FileChange::Delete { .. }) | None => {
            Err(Error::Failed("the edit changes nothing".into()))
        }
    }
}

fn refusal(refused: &RefusedEdits) -> String {
    match report::is_ambiguous(refused) {
        true => format!("{refused} Set replace_all to change every place."),
        false => refused.to_string(),
    }
}
