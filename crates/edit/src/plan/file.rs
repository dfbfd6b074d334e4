//! One file of a plan: its edits are placed one after the other and checked against each other before any is carried out.

use std::path::{Path, PathBuf};

use crate::index::Index;
use crate::matcher::Haystack;
use crate::plan::path::tidy;
use crate::plan::{FileChange, Files, Report};
use crate::reading::unfenced;
use crate::refusal::{Region, Why};
use crate::resolve::hunk::{self, Order, new_text, old_text};
use crate::resolve::replace::{self, Wanted, present};
use crate::resolve::{How, Omissions, Resolved, nearest, smuggled};
use crate::script::{Change, Edit, Hunk, HunkLine, Place, Replace};
use crate::text::{Document, FinalNewline, Splice, plain};

type Refusing = (Why, Option<Region>);

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

/// The content so far and the changes placed in it, each with the edit it is from.
struct Working {
    document: Document,
    index: Index,
    splices: Vec<(usize, Splice)>,
    placed: Vec<(usize, Change)>,
    /// The line after the last edit.
    after: usize,
}

impl State {
    fn text(content: &str) -> Self {
        let document = Document::parse(content);
        let index = Index::new(&document);
        Self::Text(Box::new(Working {
            document,
            index,
            splices: Vec::new(),
            placed: Vec::new(),
            after: 0,
        }))
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
            State::Text(working) if working.document.body().trim().is_empty() && working.placed.is_empty() => {
                self.write(number, new)
            }
            State::Text(_) if replace.readings.iter().any(|(old, _)| !old.is_empty()) => {
                self.place(number, &Change::Replace(replace.clone()), 1)
            }
            State::Text(_) => Err((Why::EmptyOld, None)),
            State::Deleted => Err((Why::Conflict(self.whole.unwrap_or(0)), None)),
        }
    }

    fn delete(&mut self, number: usize) -> Result<(), Refusing> {
        match &self.state {
            State::Text(working) if working.placed.is_empty() && self.whole.is_none() => {
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
            State::Text(working) => working.document.render(&sorted(&working.splices)),
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

impl Working {
    /// Finds the place of `change` and keeps its splices; also says whether it changes anything.
    fn place(
        &mut self,
        number: usize,
        change: &Change,
        alike: usize,
        omissions: Omissions,
    ) -> Result<(Resolved, bool), Refusing> {
        let is_hunk = matches!(change, Change::Hunk(_));
        if let Some((other, _)) = self.placed.iter().find(|(_, other)| !is_hunk && other == change) {
            return Err((Why::Repeated(*other), None));
        }
        let order = Order {
            after: self.after,
            alike,
        };
        let haystack = Haystack {
            document: &self.document,
            index: &self.index,
        };
        let resolved = match resolve(&haystack, change, order, omissions) {
            Ok(resolved) => resolved,
            Err(Why::NotFound | Why::NoHeader(_)) if !self.splices.is_empty() => {
                let next = self.chained(change, order, omissions);
                let (next, resolved) = next.ok_or_else(|| explain(&haystack, change, Why::NotFound))?;
                *self = next;
                resolved
            }
            Err(why) => return Err(explain(&haystack, change, why)),
        };
        for splice in &resolved.splices {
            if let Some((other, _)) = self
                .splices
                .iter()
                .find(|(_, other)| touches(&other.range, &splice.range))
            {
                let (from, to) = (
                    resolved.lines.start + 1,
                    resolved.lines.end.max(resolved.lines.start + 1),
                );
                return Err((
                    Why::Overlap {
                        from,
                        to,
                        other: *other,
                    },
                    None,
                ));
            }
        }
        let changes = !resolved.splices.is_empty() && !is_idle(change);
        self.splices
            .extend(resolved.splices.iter().map(|splice| (number, splice.clone())));
        self.placed.push((number, change.clone()));
        self.after = resolved.lines.end;
        Ok((resolved, changes))
    }

    /// The text may build on what the edits before it made: they are carried out first, and it must then fit exactly.
    fn chained(&self, change: &Change, order: Order, omissions: Omissions) -> Option<(Self, Resolved)> {
        let document = Document::parse(&self.document.render(&sorted(&self.splices)));
        let index = Index::new(&document);
        let found = resolve(
            &Haystack {
                document: &document,
                index: &index,
            },
            change,
            order,
            omissions,
        )
        .ok();
        let resolved = found.filter(|resolved| resolved.how == How::Exact)?;
        Some((
            Self {
                document,
                index,
                splices: Vec::new(),
                placed: Vec::new(),
                after: 0,
            },
            resolved,
        ))
    }
}

/// The lines by which a hunk is found.
pub(crate) fn quoted_lines(hunk: &Hunk) -> Vec<&str> {
    hunk.lines
        .iter()
        .filter_map(|line| match line {
            HunkLine::Keep { text, .. } | HunkLine::Remove(text) => Some(text.as_str()),
            HunkLine::Add(_) => None,
        })
        .collect()
}

fn sorted(splices: &[(usize, Splice)]) -> Vec<Splice> {
    let mut all: Vec<&(usize, Splice)> = splices.iter().collect();
    all.sort_by_key(|(number, splice)| (splice.range.start, splice.range.end, *number));
    all.into_iter().map(|(_, splice)| splice.clone()).collect()
}

/// Whether two changes meet: they share bytes, or one inserts inside the other.
fn touches(one: &std::ops::Range<usize>, other: &std::ops::Range<usize>) -> bool {
    if one.is_empty() && other.is_empty() {
        return false;
    }
    one.start < other.end && other.start < one.end
}

fn is_idle(change: &Change) -> bool {
    match change {
        Change::Replace(replace) => replace.readings.iter().all(|(old, new)| old == new),
        Change::Hunk(hunk) => !hunk.is_change(),
        Change::Insert { text, .. } => text.is_empty(),
        Change::Write(_) | Change::Create(_) | Change::Delete | Change::Move(_) => false,
    }
}

fn resolve(haystack: &Haystack<'_>, change: &Change, order: Order, omissions: Omissions) -> Result<Resolved, Why> {
    match change {
        Change::Replace(replace) => resolve_replace(haystack, replace, omissions),
        Change::Hunk(hunk) => {
            let found = hunk::resolve(haystack, hunk, order)?;
            check(
                haystack,
                &old_text(&hunk.lines),
                &new_text(&hunk.lines),
                found,
                omissions,
            )
        }
        Change::Insert { place, text } => insert(haystack.document, *place, text),
        Change::Write(_) | Change::Create(_) | Change::Delete | Change::Move(_) => Err(Why::Nothing),
    }
}

fn check(
    haystack: &Haystack<'_>,
    old: &str,
    new: &str,
    found: Resolved,
    omissions: Omissions,
) -> Result<Resolved, Why> {
    if found.how == How::Elision {
        return Ok(found);
    }
    smuggled(haystack.document, old, new, omissions).map_or(Ok(found), Err)
}

/// Tries every reading of the text; exactly one may fit.
fn resolve_replace(haystack: &Haystack<'_>, replace: &Replace, omissions: Omissions) -> Result<Resolved, Why> {
    let several = replace.readings.len() > 1;
    let mut found: Option<Resolved> = None;
    let mut first_problem = None;
    for (old, new) in &replace.readings {
        let (old, mut new) = (plain(old), plain(new));
        if omissions == Omissions::Dotted
            && let Some(inside) = unfenced(&new).filter(|_| unfenced(&old).is_none())
        {
            new = inside;
        }
        if several && !is_sound(haystack, &old, &new) {
            continue;
        }
        let hint = replace.hint.map(|line| line.saturating_sub(1));
        let wanted = Wanted {
            old: &old,
            new: &new,
            hint,
            scope: replace.scope,
            unit: replace.unit,
        };
        match replace::resolve(haystack, wanted).and_then(|found| check(haystack, &old, &new, found, omissions)) {
            Ok(_) if found.is_some() => return Err(Why::Separators),
            Ok(resolved) => found = Some(resolved),
            Err(why) => {
                first_problem.get_or_insert(why);
            }
        }
    }
    found.ok_or_else(|| {
        if several {
            Why::Separators
        } else {
            first_problem.unwrap_or(Why::NotFound)
        }
    })
}

/// With several separators, those left in the new text must have been in the old text too.
fn is_sound(haystack: &Haystack<'_>, old: &str, new: &str) -> bool {
    let count = |text: &str| {
        text.lines()
            .filter(|line| line.starts_with("=====") && line.trim_matches('=').trim().is_empty())
            .count()
    };
    !old.trim().is_empty() && (count(new) == 0 || count(new) <= count(old)) && haystack.index.len() > 0
}

fn insert(document: &Document, place: Place, text: &str) -> Result<Resolved, Why> {
    let count = document.line_count();
    let at = match place {
        Place::End => count,
        Place::After(line) if line <= count => line,
        Place::Before(line) if (1..=count + 1).contains(&line) => line - 1,
        Place::After(line) | Place::Before(line) => return Err(Why::NoLine { line, count }),
    };
    let lines: Vec<String> = plain(text).lines().map(str::to_owned).collect();
    let splice = document.line_splice(at..at, &lines, FinalNewline::Keep);
    Ok(Resolved {
        splices: vec![splice],
        lines: at..at,
        how: How::Place,
    })
}

/// Adds what helps: the nearest lines, or that the change is there already.
fn explain(haystack: &Haystack<'_>, change: &Change, why: Why) -> Refusing {
    let (old, new) = match change {
        Change::Replace(replace) => replace.readings.first().cloned().unwrap_or_default(),
        Change::Hunk(hunk) => (old_text(&hunk.lines), new_text(&hunk.lines)),
        _ => return (why, None),
    };
    let (old, new) = (plain(&old), plain(&new));
    match why {
        Why::NotFound => match present(haystack, &new).filter(|_| old != new) {
            Some(line) => (
                Why::AlreadyApplied { line: line + 1 },
                Some(nearest::around(haystack, line, new.lines().count())),
            ),
            None => (why, nearest::region(haystack, &old)),
        },
        Why::AlreadyApplied { line } => (
            why,
            Some(nearest::around(haystack, line.saturating_sub(1), new.lines().count())),
        ),
        Why::NoHeader(ref header) => {
            let region = nearest::region(haystack, header);
            (why, region)
        }
        Why::Elision | Why::NoContext => (why, nearest::region(haystack, &old)),
        other => (other, None),
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
