//! Carries out what a language server wants changed: every file still holds what the server saw, or nothing is written.

use tool::{Context, Error, Output};
use workspace::Place;

use crate::code_server::Rewrite;
use crate::project::{Project, aside, explain};
use crate::text::count;
use crate::transaction::{Step, carry_out};
use crate::write_file::change;

/// More files are not changed in one call.
const MOST_FILES: usize = 500;
/// So many files are named in the answer.
const MOST_NAMED: usize = 30;

/// Writes the files, once each may be written.
pub(crate) async fn carry(
    project: &Project,
    context: &Context,
    rewrites: Vec<Rewrite>,
    done: &str,
) -> Result<Output, Error> {
    if rewrites.is_empty() {
        return Err(Error::Failed("there is nothing to change".into()));
    }
    if rewrites.len() > MOST_FILES {
        let files = count(rewrites.len(), "file");
        return Err(Error::Failed(format!(
            "{files} would change, more than {MOST_FILES}; nothing was"
        )));
    }
    for rewrite in &rewrites {
        for action in project.writing(&rewrite.path.to_string_lossy()) {
            context.permit(action).await?;
        }
    }
    let owned = project.clone();
    let (mut output, shown) = aside(move || write(&owned, rewrites)).await?;
    let files = count(shown.len(), "file");
    let mut names = shown.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
    if shown.len() > MOST_NAMED {
        names.push_str(&format!(" and {} more", shown.len() - MOST_NAMED));
    }
    output.content = Output::text(format!("{done} in {files}: {names}")).content;
    Ok(output.summary(format!("{done}, {files}")))
}

fn write(project: &Project, rewrites: Vec<Rewrite>) -> Result<(Output, Vec<String>), Error> {
    let mut steps = Vec::new();
    let mut output = Output::text("");
    let mut shown = Vec::new();
    let mut written = Vec::new();
    for rewrite in rewrites {
        let file = project.locate(&rewrite.path.to_string_lossy())?;
        if file.place() == Place::Outside {
            return Err(Error::Failed(format!(
                "{} is outside the project; nothing was changed",
                file.shown()
            )));
        }
        let text = file.read_text().map_err(explain)?;
        if text.content != rewrite.before {
            return Err(Error::Failed(format!(
                "{} has just changed; nothing was written, try again",
                file.shown()
            )));
        }
        let bytes = file.encode(text.encoding, &rewrite.after).map_err(explain)?;
        let before = file.encode(text.encoding, &text.content).map_err(explain)?;
        output.changes.push(change(&file, Some(before), bytes.clone()));
        shown.push(file.shown().into_owned());
        written.push((file.clone(), workspace::Snapshot::of(&bytes)));
        steps.push(Step::Write {
            file,
            bytes,
            expect: text.snapshot,
        });
    }
    carry_out(steps)?;
    for (file, snapshot) in written {
        // What the model has read of these files is no longer so, but what was done to them is known.
        if project.reads.check(&file, snapshot).is_err() {
            project.reads.forget(&file);
        }
    }
    Ok((output, shown))
}
