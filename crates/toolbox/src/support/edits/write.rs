//! Applies edits to one file.

use std::path::Path;

use edit::{EditFormat, EditPlan, EditReport, FileChange, ParsedEdit, RefusedEdits, SeenVersions};
use tool::{Error, Output};
use workspace::{ExpectedContent, Fingerprint, Location, TextFile};

use super::report;
use crate::support::project::changes::change;
use crate::support::project::{LineMarks, Project, run_blocking, tool_error};
use crate::support::text::count;

/// Applies edits to one file that the model has read.
pub(crate) async fn write_edits(
    project: &Project,
    file: Location,
    edits: Vec<ParsedEdit>,
    format: EditFormat,
) -> Result<Output, Error> {
    let planned = {
        let (file, project) = (file.clone(), project.clone());
        run_blocking(move || plan(&file, &project, &edits, format)).await?
    };
    // No await from here on: a cancelled call has either written nothing or returned its changes.
    let written = file
        .write(&planned.bytes, ExpectedContent::Content(planned.snapshot))
        .map_err(tool_error)?;
    project.reads.remember(&file, written.snapshot);
    project.lines.edited(&file, &planned.before);
    let mut text = format!(
        "edited {} {}",
        file.shown(),
        report::describe_places(planned.reports.iter())
    );
    if project.marks == LineMarks::Anchors {
        text.push_str(&report::changed_lines(&planned.before, &planned.after, project.marks));
    }
    Ok(Output::text(text)
        .with_summary(count(planned.reports.len(), "place"))
        .with_edits(report::edit_facts(format, &planned.reports))
        .with_change(change(&file, written.before, planned.bytes)))
}

/// Checks whether [`write_edits`] would succeed.
pub(crate) async fn check_edits(
    project: &Project,
    file: Location,
    edits: Vec<ParsedEdit>,
    format: EditFormat,
) -> Result<(), Error> {
    let project = project.clone();
    run_blocking(move || plan(&file, &project, &edits, format))
        .await
        .map(drop)
}

/// Checks whether [`write_content`] would succeed.
pub(crate) async fn check_content(
    project: &Project,
    file: Location,
    change_content: impl FnOnce(&str) -> Result<(String, String), Error> + Send + 'static,
) -> Result<(), Error> {
    let project = project.clone();
    run_blocking(move || plan_content(&file, &project, change_content))
        .await
        .map(drop)
}

/// Writes what `change` makes of the content of a file that the model has read, and a summary of it.
pub(crate) async fn write_content(
    project: &Project,
    file: Location,
    change_content: impl FnOnce(&str) -> Result<(String, String), Error> + Send + 'static,
) -> Result<Output, Error> {
    let (text, bytes, summary) = {
        let (file, project) = (file.clone(), project.clone());
        run_blocking(move || plan_content(&file, &project, change_content)).await?
    };
    // No await from here on: a cancelled call has either written nothing or returned its changes.
    let written = file
        .write(&bytes, ExpectedContent::Content(text.snapshot))
        .map_err(tool_error)?;
    project.reads.remember(&file, written.snapshot);
    project.lines.edited(&file, &text.content);
    Ok(Output::text(format!("edited {} at {summary}", file.shown()))
        .with_summary(summary)
        .with_change(change(&file, written.before, bytes)))
}

/// A change to write.
struct PlannedWrite {
    /// The version that the file must still have.
    snapshot: Fingerprint,
    before: String,
    after: String,
    bytes: Vec<u8>,
    reports: Vec<EditReport>,
}

/// The text of the file, its bytes after the change, and a summary.
fn plan_content(
    file: &Location,
    project: &Project,
    change_content: impl FnOnce(&str) -> Result<(String, String), Error>,
) -> Result<(TextFile, Vec<u8>, String), Error> {
    let text = file.read_text().map_err(tool_error)?;
    project.reads.check(file, text.snapshot)?;
    let (after, summary) = change_content(&text.content)?;
    let bytes = file.encode(text.encoding, &after).map_err(tool_error)?;
    Ok((text, bytes, summary))
}

fn plan(file: &Location, project: &Project, edits: &[ParsedEdit], format: EditFormat) -> Result<PlannedWrite, Error> {
    let text = file.read_text().map_err(tool_error)?;
    project.reads.check(file, text.snapshot)?;
    let (after, reports) = place(file, &text.content, edits, format, project.lines.seen(file))?;
    Ok(PlannedWrite {
        snapshot: text.snapshot,
        bytes: file.encode(text.encoding, &after).map_err(tool_error)?,
        before: text.content,
        after,
        reports,
    })
}

/// Applies the edits to the content.
fn place(
    file: &Location,
    content: &str,
    edits: &[ParsedEdit],
    format: EditFormat,
    seen: SeenVersions,
) -> Result<(String, Vec<EditReport>), Error> {
    let lookup = |_: &Path| Some(content.to_owned());
    let planned = edit::plan_edits_seen(edits, format, Some(file.relative()), &lookup, &|_| seen.clone());
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
