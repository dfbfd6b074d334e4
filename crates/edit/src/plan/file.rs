//! One file of a plan: created, written, deleted or moved as a whole, or edited.

use std::path::PathBuf;

use crate::document::{Splice, TextDocument, normalize_newlines};
use crate::line_history::SeenVersions;
use crate::parsed_edit::{EditChange, ParsedEdit, Replacement};
use crate::plan::path::normalize;
use crate::plan::working::{HunkSiblings, RefusalDetail, WorkingDocument};
use crate::plan::{EditReport, FileChange, PlanFiles};
use crate::refusal::RefusalReason;
use crate::resolve::MatchMethod;
use crate::text_kind::TextKind;
use crate::whole_content::whole_content;

/// A file with its pending changes.
pub(crate) struct FilePlan {
    pub(crate) path: PathBuf,
    before: Option<String>,
    state: FileState,
    reports: Vec<EditReport>,
    moved: Option<(PathBuf, Option<String>)>,
    /// The edit that created, deleted or moved the file as a whole.
    whole: Option<usize>,
}

enum FileState {
    Missing,
    Text(Box<WorkingDocument>),
    Deleted,
}

impl FileState {
    fn text(content: &str) -> Self {
        Self::seen(content, SeenVersions::default())
    }

    fn seen(content: &str, seen: SeenVersions) -> Self {
        Self::Text(Box::new(WorkingDocument::new(TextDocument::parse(content), seen)))
    }
}

impl FilePlan {
    pub(crate) fn new(path: PathBuf, before: Option<&str>, seen: SeenVersions) -> Self {
        let state = before.map_or(FileState::Missing, |before| FileState::seen(before, seen));
        let before = before.map(str::to_owned);
        Self {
            path,
            before,
            state,
            reports: Vec::new(),
            moved: None,
            whole: None,
        }
    }

    /// Places one edit, or returns the reason for refusing it.
    pub(crate) fn apply_edit(
        &mut self,
        number: usize,
        edit: &ParsedEdit,
        siblings: HunkSiblings<'_>,
        files: &PlanFiles<'_>,
    ) -> Result<(), RefusalDetail> {
        match &edit.change {
            EditChange::Create(content) => self.create(number, content),
            EditChange::Write(content) => self.write(number, content),
            EditChange::Delete => self.delete(number),
            EditChange::Move(to) => self.rename(number, to, files),
            EditChange::Replace(replace) if replace.readings.iter().all(|(old, _)| old.trim().is_empty()) => {
                self.write_empty(number, replace)
            }
            EditChange::Replace(_) | EditChange::Hunk(_) | EditChange::Insert { .. } | EditChange::Anchored(_) => {
                self.place(number, &edit.change, siblings)
            }
        }
    }

    fn create(&mut self, number: usize, content: &str) -> Result<(), RefusalDetail> {
        match self.state {
            FileState::Missing | FileState::Deleted => {
                let content = self.whole_content(content)?;
                self.state = FileState::text(&content);
                self.check_unclaimed(number)
            }
            FileState::Text(_) => Err((RefusalReason::FileExists, None)),
        }
    }

    fn write(&mut self, number: usize, content: &str) -> Result<(), RefusalDetail> {
        let content = self.whole_content(content)?;
        if !self.reports.is_empty() {
            return Err((RefusalReason::Conflict(self.reports[0].edit), None));
        }
        let document = TextDocument::parse(self.before.as_deref().unwrap_or_default());
        let text = normalize_newlines(&content);
        let content = if self.before.is_some() {
            document.render(&[Splice {
                range: 0..document.body().len(),
                text,
            }])
        } else {
            content
        };
        self.state = FileState::text(&content);
        self.check_unclaimed(number)
    }

    /// Old text is empty: the content of a new or empty file.
    fn write_empty(&mut self, number: usize, replace: &Replacement) -> Result<(), RefusalDetail> {
        let new = replace
            .readings
            .first()
            .map(|(_, new)| new.as_str())
            .unwrap_or_default();
        match &self.state {
            FileState::Missing => self.create(number, new),
            FileState::Text(working) if working.is_blank() => self.write(number, new),
            FileState::Text(_) if replace.readings.iter().any(|(old, _)| !old.is_empty()) => self.place(
                number,
                &EditChange::Replace(replace.clone()),
                HunkSiblings { alike: 1, others: &[] },
            ),
            FileState::Text(_) => Err((RefusalReason::EmptyOld, None)),
            FileState::Deleted => Err((RefusalReason::Conflict(self.whole.unwrap_or(0)), None)),
        }
    }

    fn delete(&mut self, number: usize) -> Result<(), RefusalDetail> {
        match &self.state {
            FileState::Text(working) if working.is_untouched() && self.whole.is_none() => {
                self.state = FileState::Deleted;
                self.check_unclaimed(number)
            }
            FileState::Text(_) | FileState::Deleted => {
                Err((RefusalReason::Conflict(self.whole.unwrap_or(number - 1)), None))
            }
            FileState::Missing => Err((RefusalReason::NoFile, None)),
        }
    }

    fn rename(&mut self, number: usize, to: &str, files: &PlanFiles<'_>) -> Result<(), RefusalDetail> {
        let target = normalize(to).ok_or_else(|| (RefusalReason::PathEscapes(to.to_owned()), None))?;
        match &self.state {
            FileState::Text(_) if self.moved.is_none() => {
                let replaced = if target == self.path {
                    None
                } else {
                    files.read(&target).as_deref().map(str::to_owned)
                };
                self.moved = Some((target, replaced));
                self.report(number, 0..0, MatchMethod::Whole, true);
                Ok(())
            }
            FileState::Text(_) | FileState::Deleted => {
                Err((RefusalReason::Conflict(self.whole.unwrap_or(number - 1)), None))
            }
            FileState::Missing => Err((RefusalReason::NoFile, None)),
        }
    }

    fn whole_content(&self, content: &str) -> Result<String, RefusalDetail> {
        whole_content(&self.path, self.before.as_deref(), content).map_err(|why| (why, None))
    }

    fn check_unclaimed(&mut self, number: usize) -> Result<(), RefusalDetail> {
        self.whole = Some(number);
        let count = self
            .before
            .as_deref()
            .map_or(0, |before| TextDocument::parse(before).line_count());
        self.report(number, 0..count, MatchMethod::Whole, true);
        Ok(())
    }

    fn report(&mut self, number: usize, lines: std::ops::Range<usize>, how: MatchMethod, changes: bool) {
        let (first_line, last_line) = (lines.start + 1, lines.end.max(lines.start));
        self.reports.push(EditReport {
            edit: number,
            path: self.path.clone(),
            first_line,
            last_line,
            how,
            changes,
        });
    }

    fn place(&mut self, number: usize, change: &EditChange, siblings: HunkSiblings<'_>) -> Result<(), RefusalDetail> {
        let kind = TextKind::of(&self.path);
        let FileState::Text(working) = &mut self.state else {
            let is_gone = matches!(self.state, FileState::Deleted);
            return Err((
                if is_gone {
                    RefusalReason::Conflict(self.whole.unwrap_or(0))
                } else {
                    RefusalReason::NoFile
                },
                None,
            ));
        };
        let (resolved, changes) = working.place(number, change, siblings, kind)?;
        self.report(number, resolved.lines, resolved.method, changes);
        Ok(())
    }

    /// The resulting change, if any, and a report for each edit.
    pub(crate) fn finish(self) -> (Option<FileChange>, Vec<EditReport>) {
        let Self {
            path,
            before,
            state,
            reports,
            moved,
            ..
        } = self;
        let after = match state {
            FileState::Missing => return (None, reports),
            FileState::Deleted => return (before.map(|before| FileChange::Delete { path, before }), reports),
            FileState::Text(working) => working.render(),
        };
        let change = match (before, moved) {
            (None, _) => Some(FileChange::Create { path, content: after }),
            (Some(before), Some((to, replaced))) if to != path => Some(FileChange::Move {
                from: path,
                to,
                before,
                after,
                replaced,
            }),
            (Some(before), _) if before != after => Some(FileChange::Update { path, before, after }),
            (Some(_), _) => None,
        };
        (change, reports)
    }
}
