//! Applies edits of a language server: every file must be unchanged, or nothing is written.

use std::path::PathBuf;

use policy::Action;
use tool::{CallContext, Error, Output};
use workspace::LocationPlace;

use crate::support::code_server::FileRewrite;
use crate::support::edits::transaction::{FileOperation, apply_all};
use crate::support::project::changes::change;
use crate::support::project::{Project, run_blocking, tool_error};
use crate::support::text::count;

/// Maximum number of files changed in one call.
const MAX_FILES: usize = 500;
/// Maximum number of files named in the result.
const MAX_NAMED: usize = 30;

/// Requests approval for each file, then writes all of them.
pub(crate) async fn apply_rewrites(
    project: &Project,
    context: &CallContext,
    rewrites: Vec<FileRewrite>,
    done: &str,
) -> Result<Output, Error> {
    if rewrites.is_empty() {
        return Err(Error::Failed("there is nothing to change".into()));
    }
    if rewrites.len() > MAX_FILES {
        let files = count(rewrites.len(), "file");
        return Err(Error::Failed(format!(
            "{files} would change, more than {MAX_FILES}; nothing was changed"
        )));
    }
    let mut permitted = Vec::new();
    for rewrite in &rewrites {
        for action in project.write_actions(&rewrite.path.to_string_lossy()) {
            if let Action::Write { path, .. } = &action {
                permitted.push(path.clone());
            }
            context.permit(action).await?;
        }
    }
    let owned = project.clone();
    let (mut output, shown) = run_blocking(move || write(&owned, rewrites, &permitted)).await?;
    let files = count(shown.len(), "file");
    let mut names = shown.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join(", ");
    if shown.len() > MAX_NAMED {
        names.push_str(&format!(" and {} more", shown.len() - MAX_NAMED));
    }
    output.content = Output::text(format!("{done} in {files}: {names}")).content;
    Ok(output.with_summary(format!("{done}, {files}")))
}

fn write(project: &Project, rewrites: Vec<FileRewrite>, permitted: &[PathBuf]) -> Result<(Output, Vec<String>), Error> {
    let mut steps = Vec::new();
    let mut output = Output::text("");
    let mut shown = Vec::new();
    let mut written = Vec::new();
    for rewrite in rewrites {
        let file = project.workspace.locate(&rewrite.path).map_err(tool_error)?;
        if file.place() == LocationPlace::Outside || !permitted.iter().any(|path| path == file.path()) {
            return Err(Error::Failed(format!(
                "{} is outside the project; nothing was changed",
                file.shown()
            )));
        }
        let text = file.read_text().map_err(tool_error)?;
        if text.content != rewrite.before {
            return Err(Error::Failed(format!(
                "{} has just changed; nothing was written, try again",
                file.shown()
            )));
        }
        let bytes = file.encode(text.encoding, &rewrite.after).map_err(tool_error)?;
        let before = file.encode(text.encoding, &text.content).map_err(tool_error)?;
        output.changes.push(change(&file, Some(before), bytes.clone()));
        shown.push(file.shown().into_owned());
        written.push((file.clone(), workspace::Fingerprint::of(&bytes)));
        steps.push(FileOperation::Write {
            file,
            bytes,
            expect: text.snapshot,
        });
    }
    apply_all(steps)?;
    for (file, snapshot) in written {
        // The model's knowledge of these files is outdated.
        if project.reads.check(&file, snapshot).is_err() {
            project.reads.forget(&file);
        }
    }
    Ok((output, shown))
}
