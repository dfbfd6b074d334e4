//! One file of a plan: created, written, deleted, moved as a whole, or edited in places.

use std::path::{Path, PathBuf};

use crate::plan::path::tidy;
use crate::plan::working::{Refusing, Working};
use crate::plan::{FileChange, Files, Report};
use crate::refusal::Why;
use crate::resolve::{How, Omissions, smuggled};
use crate::script::{Change, Edit, Replace};
use crate::text::{Document, Splice, plain};

/// A file on its way to its new content.
pub(crate) struct Pending {
    pub(crate) path: PathBuf,
    before: Option<String>,
    state: State,
    reports: Vec<Report>,
    moved: Option<(PathBuf, Option<String>)>,
    /// The edit that created, deleted or moved the file as a whole.
    whole: Option<usize>,
}

enum State {
    Missing,
    Text(Box<Working>),
    Deleted,
}

impl State {
    fn text(content: &str) -> Self {
        Self::Text(Box::new(Working::new(Document::parse(content))))
    }
}

impl Pending {
    pub(crate) fn new(path: PathBuf, before: Option<&str>) -> Self {
        let state = before.map_or(State::Missing, State::text);
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

    /// Places one edit, or says why not. `alike` counts the hunks from this one on that quote the same lines.
    pub(crate) fn take(&mut self, number: usize, edit: &Edit, alike: usize, files: &Files<'_>) -> Result<(), Refusing> {
        match &edit.change {
            Change::Create(content) => self.create(number, content),
            Change::Write(content) => self.write(number, content),
            Change::Delete => self.delete(number),
            Change::Move(to) => self.rename(number, to, files),
            Change::Replace(replace) if replace.readings.iter().all(|(old, _)| old.trim().is_empty()) => {
                self.fill(number, replace)
            }
            Change::Replace(_) | Change::Hunk(_) | Change::Insert { .. } => self.place(number, &edit.change, alike),
        }
    }

    fn create(&mut self, number: usize, content: &str) -> Result<(), Refusing> {
        match self.state {
            State::Missing | State::Deleted => {
                self.check_placeholders(content)?;
                self.state = State::text(content);
                self.claim(number)
            }
            State::Text(_) => Err((Why::FileExists, None)),
        }
    }

    fn write(&mut self, number: usize, content: &str) -> Result<(), Refusing> {
        self.check_placeholders(content)?;
        if !self.reports.is_empty() {
            return Err((Why::Conflict(self.reports[0].edit), None));
        }
        let document = Document::parse(self.before.as_deref().unwrap_or_default());
        let text = plain(content);
        let content = if self.before.is_some() {
            document.render(&[Splice {
                range: 0..document.body().len(),
                text,
            }])
        } else {
            content.to_owned()
        };
        self.state = State::text(&content);
        self.claim(number)
    }

    /// Old text is empty: the content of a new or empty file.
    fn fill(&mut self, number: usize, replace: &Replace) -> Result<(), Refusing> {
        let new = replace
            .readings
            .first()
            .map(|(_, new)| new.as_str())
            .unwrap_or_default();
        match &self.state {
            State::Missing => self.create(number, new),
            State::Text(working) if working.is_blank() => self.write(number, new),
            State::Text(_) if replace.readings.iter().any(|(old, _)| !old.is_empty()) => {
                self.place(number, &Change::Replace(replace.clone()), 1)
            }
            State::Text(_) => Err((Why::EmptyOld, None)),
            State::Deleted => Err((Why::Conflict(self.whole.unwrap_or(0)), None)),
        }
    }

    fn delete(&mut self, number: usize) -> Result<(), Refusing> {
        match &self.state {
            State::Text(working) if working.is_untouched() && self.whole.is_none() => {
                self.state = State::Deleted;
                self.claim(number)
            }
            State::Text(_) | State::Deleted => Err((Why::Conflict(self.whole.unwrap_or(number - 1)), None)),
            State::Missing => Err((Why::NoFile, None)),
        }
    }

    fn rename(&mut self, number: usize, to: &str, files: &Files<'_>) -> Result<(), Refusing> {
        let target = tidy(to).ok_or_else(|| (Why::PathEscapes(to.to_owned()), None))?;
        match &self.state {
            State::Text(_) if self.moved.is_none() => {
                let replaced = if target == self.path {
                    None
                } else {
                    files.read(&target).as_deref().map(str::to_owned)
                };
                self.moved = Some((target, replaced));
                self.report(number, 0..0, How::Whole, true);
                Ok(())
            }
            State::Text(_) | State::Deleted => Err((Why::Conflict(self.whole.unwrap_or(number - 1)), None)),
            State::Missing => Err((Why::NoFile, None)),
        }
    }

    fn check_placeholders(&self, content: &str) -> Result<(), Refusing> {
        let document = Document::parse(self.before.as_deref().unwrap_or_default());
        smuggled(&document, "", content, omissions_in(&self.path)).map_or(Ok(()), |why| Err((why, None)))
    }

    fn claim(&mut self, number: usize) -> Result<(), Refusing> {
        self.whole = Some(number);
        let count = self
            .before
            .as_deref()
            .map_or(0, |before| Document::parse(before).line_count());
        self.report(number, 0..count, How::Whole, true);
        Ok(())
    }

    fn report(&mut self, number: usize, lines: std::ops::Range<usize>, how: How, changes: bool) {
        let (first_line, last_line) = (lines.start + 1, lines.end.max(lines.start));
        self.reports.push(Report {
            edit: number,
            path: self.path.clone(),
            first_line,
            last_line,
            how,
            changes,
        });
    }

    fn place(&mut self, number: usize, change: &Change, alike: usize) -> Result<(), Refusing> {
        let omissions = omissions_in(&self.path);
        let State::Text(working) = &mut self.state else {
            let is_gone = matches!(self.state, State::Deleted);
            return Err((
                if is_gone {
                    Why::Conflict(self.whole.unwrap_or(0))
                } else {
                    Why::NoFile
                },
                None,
            ));
        };
        let (resolved, changes) = working.place(number, change, alike, omissions)?;
        self.report(number, resolved.lines, resolved.how, changes);
        Ok(())
    }

    /// The change that the file undergoes, if any, and what became of each edit.
    pub(crate) fn finish(self) -> (Option<FileChange>, Vec<Report>) {
        let Self {
            path,
            before,
            state,
            reports,
            moved,
            ..
        } = self;
        let after = match state {
            State::Missing => return (None, reports),
            State::Deleted => return (before.map(|before| FileChange::Delete { path, before }), reports),
            State::Text(working) => working.render(),
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

/// What may be left out in a file, judged by its kind.
fn omissions_in(path: &Path) -> Omissions {
    const CODE: [&str; 22] = [
        "rs", "js", "jsx", "ts", "tsx", "mjs", "go", "java", "kt", "c", "h", "cc", "cpp", "hpp", "cs", "swift", "php",
        "css", "scss", "html", "vue", "json",
    ];
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("md" | "mdx" | "rst" | "adoc") => Omissions::None,
        Some(extension) if CODE.contains(&extension) => Omissions::Dotted,
        _ => Omissions::Worded,
    }
}
