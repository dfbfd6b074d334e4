//! Plans patches of several files.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use edit::{EditFormat, EditPlan, EditReport, FileChange, MatchMethod, RefusalReason, RefusedEdits, SeenVersions};
use tool::{Error, UnsavedChange, UnsavedVersion};
use workspace::{Fingerprint, Location, TextFile};

use super::report;
use super::transaction::FileOperation;
use crate::support::project::changes::folders;
use crate::support::project::read_tracker::FileKnowledge;
use crate::support::project::{Project, tool_error};
use crate::support::text::count;

/// A patch to apply.
#[derive(Default)]
pub(crate) struct PreparedPatch {
    pub(crate) steps: Vec<FileOperation>,
    pub(crate) changes: Vec<UnsavedChange>,
    /// The version of each file afterwards that the model knows; `Unread` for a removed file.
    pub(crate) known: Vec<(Location, Option<Fingerprint>)>,
    /// The content of each changed file before.
    pub(crate) edited: Vec<(Location, String)>,
    /// One line per file.
    pub(crate) report_lines: Vec<String>,
    /// Its edits, for statistics.
    pub(crate) edits: Vec<session::EditFact>,
}

/// Plans patches. Each file is read once.
pub(crate) struct PatchPlanner<'a> {
    project: &'a Project,
    format: EditFormat,
    author: PatchAuthor,
    files: RefCell<HashMap<PathBuf, Result<PatchedSource, workspace::Error>>>,
}

/// Who wrote a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchAuthor {
    /// A model, which must have read what it changes.
    Model,
    /// The user.
    User,
}

#[derive(Clone)]
struct PatchedSource {
    file: Location,
    text: TextFile,
}

impl<'a> PatchPlanner<'a> {
    pub(crate) fn new(project: &'a Project) -> Self {
        Self::by(PatchAuthor::Model, project, EditFormat::Auto)
    }

    pub(crate) fn by(author: PatchAuthor, project: &'a Project, format: EditFormat) -> Self {
        Self {
            project,
            format,
            author,
            files: RefCell::default(),
        }
    }

    /// The files affected by a patch: by its plan, or by its text if it does not apply.
    pub(crate) fn paths(&self, text: &str, target: Option<&Path>) -> Vec<String> {
        let mut paths: Vec<PathBuf> = Vec::new();
        match self.plan_text(text, target) {
            Ok(plan) => paths.extend(plan.files.iter().flat_map(touched).map(Path::to_owned)),
            Err(_) => {
                let format = edit::detect(text).unwrap_or(EditFormat::ApplyPatch);
                for edit in edit::parse(text, format).unwrap_or_default() {
                    paths.extend(edit.names.first().map(PathBuf::from).or(target.map(Path::to_owned)));
                    if let edit::EditChange::Move(to) = edit.change {
                        paths.push(to.into());
                    }
                }
            }
        }
        let mut shown: Vec<String> = Vec::new();
        for path in paths.iter().map(|path| path.to_string_lossy().into_owned()) {
            if !shown.contains(&path) {
                shown.push(path);
            }
        }
        shown
    }

    /// Whether the file exists and has not been read, so that a refusal would reveal its content.
    pub(crate) fn is_unread(&self, path: &str) -> bool {
        self.content(Path::new(path));
        match self.files.borrow().get(Path::new(path)) {
            Some(Ok(PatchedSource { file, text })) => {
                self.project.reads.knowledge(file, text.snapshot) != FileKnowledge::Fresh
            }
            Some(Err(_)) | None => false,
        }
    }

    pub(crate) fn plan_text(&self, text: &str, target: Option<&Path>) -> Result<EditPlan, RefusedEdits> {
        edit::plan_seen(text, self.format, target, &|path| self.content(path), &|path| {
            self.seen(path)
        })
    }

    /// The versions that the author has seen.
    fn seen(&self, path: &Path) -> SeenVersions {
        match (self.author, self.files.borrow().get(path)) {
            (PatchAuthor::Model, Some(Ok(found))) => self.project.lines.seen(&found.file),
            (PatchAuthor::Model | PatchAuthor::User, _) => SeenVersions::default(),
        }
    }

    fn content(&self, path: &Path) -> Option<String> {
        let mut files = self.files.borrow_mut();
        let found = files.entry(path.to_owned()).or_insert_with(|| {
            let file = self.project.workspace.locate(path)?;
            if self.project.require_approved(file.clone()).is_err() {
                let path = file.shown().into_owned();
                return Err(workspace::Error::Changed { path });
            }
            let text = file.read_text()?;
            Ok(PatchedSource { file, text })
        });
        found.as_ref().ok().map(|found| found.text.content.clone())
    }

    pub(crate) fn prepare(&self, text: &str, target: Option<&Path>) -> Result<PreparedPatch, Error> {
        let plan = self.plan_text(text, target).map_err(|refused| self.refusal(refused))?;
        self.ready(&plan)
    }

    pub(crate) fn ready(&self, plan: &EditPlan) -> Result<PreparedPatch, Error> {
        let mut ready = PreparedPatch {
            edits: report::edit_facts(plan.format, &plan.edits),
            ..PreparedPatch::default()
        };
        for change in &plan.files {
            self.change(change, &plan.edits, &mut ready)?;
        }
        Ok(ready)
    }

    /// The error for a refused patch.
    fn refusal(&self, refused: RefusedEdits) -> Error {
        match self.unreadable(&refused) {
            Some(text) => Error::Failed(text),
            None => Error::Failed(refused.to_string()),
        }
    }

    /// The error for a file that exists but cannot be edited.
    pub(crate) fn unreadable(&self, refused: &RefusedEdits) -> Option<String> {
        let error = refused.refusals.iter().find_map(|refusal| match refusal.reason {
            RefusalReason::NoFile => self.files.borrow_mut().remove(refusal.path.as_deref()?)?.err(),
            _ => None,
        })?;
        match tool_error(error) {
            Error::Failed(text) => Some(format!("{text}. Nothing was changed.")),
            Error::Input { .. } => None,
        }
    }

    fn change(&self, change: &FileChange, reports: &[EditReport], ready: &mut PreparedPatch) -> Result<(), Error> {
        match change {
            FileChange::Create { path, content } => {
                let file = self.locate(path)?;
                let bytes = content.clone().into_bytes();
                let lines = count(content.lines().count(), "line");
                ready.report_lines.push(format!("created {} ({lines})", file.shown()));
                ready.change(&file, None, Some(bytes.clone()));
                ready.steps.push(FileOperation::Create { file, bytes });
            }
            FileChange::Update { path, after, .. } => {
                let found = self.found(path)?;
                let own = || reports.iter().filter(|report| report.path == *path);
                self.check_known(&found, own())?;
                ready.report_lines.push(format!(
                    "edited {} {}",
                    found.file.shown(),
                    report::describe_places(own())
                ));
                ready.write(&found, found.file.clone(), after)?;
                ready.edited.push((found.file.clone(), found.text.content));
            }
            FileChange::Move {
                from,
                to,
                after,
                replaced,
                ..
            } => {
                let (found, to) = (self.found(from)?, self.locate(to)?);
                self.check_no_link(from, &found.file)?;
                // A rename without changes does not lose content.
                if found.text.content != *after {
                    let is_hunk = |report: &&EditReport| report.path == *from && report.how != MatchMethod::Whole;
                    self.check_known(&found, reports.iter().filter(is_hunk))?;
                }
                let replaced = replaced.is_some().then(|| self.found(to.relative())).transpose()?;
                ready.rename(&found, to, after, replaced.as_ref(), self)?;
            }
            FileChange::Delete { path, .. } => {
                let found = self.found(path)?;
                self.check_no_link(path, &found.file)?;
                // Like `delete_path`, but the file may have changed since it was read.
                if self.project.reads.knowledge(&found.file, found.text.snapshot) == FileKnowledge::Stale {
                    self.check_seen(&found)?;
                }
                ready.report_lines.push(format!("deleted {}", found.file.shown()));
                ready.remove(&found);
            }
        }
        Ok(())
    }

    fn locate(&self, path: &Path) -> Result<Location, Error> {
        self.project.locate(path)
    }

    fn found(&self, path: &Path) -> Result<PatchedSource, Error> {
        self.content(path);
        match self.files.borrow().get(path) {
            Some(Ok(found)) => Ok(found.clone()),
            Some(Err(_)) | None => Err(Error::Failed(format!("{} cannot be read", path.display()))),
        }
    }

    /// Fails if the model has not read the content that would be lost.
    fn check_seen(&self, found: &PatchedSource) -> Result<(), Error> {
        match found.text.content.is_empty() || self.author == PatchAuthor::User {
            true => Ok(()),
            false => self.project.reads.check(&found.file, found.text.snapshot),
        }
    }

    /// Fails if the file has not been read. An exact quote is accepted as well: the model has read the file with a
    /// command. An inexact quote may be a guess.
    fn check_known<'r>(
        &self,
        found: &PatchedSource,
        mut reports: impl Iterator<Item = &'r EditReport>,
    ) -> Result<(), Error> {
        let is_quote = |report: &EditReport| matches!(report.how, MatchMethod::Exact | MatchMethod::TrailingSpace);
        match self.project.reads.knowledge(&found.file, found.text.snapshot) {
            FileKnowledge::Unread if reports.all(is_quote) => Ok(()),
            FileKnowledge::Unread | FileKnowledge::Stale | FileKnowledge::Fresh => self.check_seen(found),
        }
    }

    /// Rejects symbolic links: removing or renaming the target is not what the path means.
    fn check_no_link(&self, path: &Path, file: &Location) -> Result<(), Error> {
        match self.project.workspace.root().join(path) == file.path() {
            true => Ok(()),
            false => Err(Error::Failed(format!(
                "{} is a symbolic link to {}; use that path, or change the link with terminal. Nothing was changed.",
                path.display(),
                file.shown()
            ))),
        }
    }
}

impl PreparedPatch {
    fn change(&mut self, file: &Location, before: Option<Vec<u8>>, after: Option<Vec<u8>>) {
        let now = after.as_deref().map(Fingerprint::of);
        self.known.push((file.clone(), now));
        for folder in folders(&file.missing_folders()) {
            if after.is_some() && !self.changes.contains(&folder) {
                self.changes.push(folder);
            }
        }
        self.changes.push(UnsavedChange {
            path: file.relative().to_owned(),
            before: before.map(|bytes| UnsavedVersion::file(bytes, file.mode())),
            after: after.map(UnsavedVersion::from),
        });
    }

    fn write(&mut self, found: &PatchedSource, file: Location, after: &str) -> Result<(), Error> {
        let bytes = file.encode(found.text.encoding, after).map_err(tool_error)?;
        self.change(&file, Some(found.bytes()), Some(bytes.clone()));
        self.steps.push(FileOperation::Write {
            file,
            bytes,
            expect: found.text.snapshot,
        });
        Ok(())
    }

    fn remove(&mut self, found: &PatchedSource) {
        self.change(&found.file, Some(found.bytes()), None);
        self.steps.push(FileOperation::Remove {
            file: found.file.clone(),
            expect: found.text.snapshot,
        });
    }

    fn rename(
        &mut self,
        found: &PatchedSource,
        to: Location,
        after: &str,
        replaced: Option<&PatchedSource>,
        patching: &PatchPlanner<'_>,
    ) -> Result<(), Error> {
        let was_known = patching.project.reads.knowledge(&found.file, found.text.snapshot) == FileKnowledge::Fresh;
        let is_changed = found.text.content != after;
        let bytes = to.encode(found.text.encoding, after).map_err(tool_error)?;
        let mut line = format!("moved {} to {}", found.file.shown(), to.shown());
        if let Some(replaced) = replaced {
            patching.check_seen(replaced)?;
            line.push_str(", replacing the existing file");
            self.steps.push(FileOperation::Remove {
                file: replaced.file.clone(),
                expect: replaced.text.snapshot,
            });
        }
        self.steps.push(FileOperation::Rename {
            from: found.file.clone(),
            to: to.clone(),
        });
        if is_changed {
            line.push_str(" and edited it");
            self.steps.push(FileOperation::Write {
                file: to.clone(),
                bytes: bytes.clone(),
                expect: found.text.snapshot,
            });
        }
        self.change(&found.file, Some(found.bytes()), None);
        self.change(&to, replaced.map(PatchedSource::bytes), Some(bytes.clone()));
        if let Some(last) = self.changes.last_mut() {
            last.after = Some(UnsavedVersion::file(bytes, found.file.mode()));
        }
        if !was_known && !is_changed {
            // The renamed file is still unread.
            self.known.pop();
        }
        self.report_lines.push(line);
        Ok(())
    }
}

impl PatchedSource {
    fn bytes(&self) -> Vec<u8> {
        // Text that was decoded can be encoded.
        let bytes = self.file.encode(self.text.encoding, &self.text.content);
        bytes.unwrap_or_default()
    }
}

/// The files affected by a change.
fn touched(change: &FileChange) -> Vec<&Path> {
    match change {
        FileChange::Create { path, .. } | FileChange::Update { path, .. } | FileChange::Delete { path, .. } => {
            vec![path]
        }
        FileChange::Move { from, to, .. } => vec![from, to],
    }
}
