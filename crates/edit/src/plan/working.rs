//! A file's content while its edits are placed one after the other and checked against each other, before any is carried out.

use crate::fold::squash;
use crate::index::Index;
use crate::matcher::Haystack;
use crate::reading::unfenced;
use crate::refusal::{Region, Why};
use crate::resolve::hunk::{self, Order, new_text, old_text};
use crate::resolve::replace::{self, Wanted, present};
use crate::resolve::{How, Omissions, Resolved, nearest, smuggled};
use crate::script::{Change, Hunk, HunkLine, Place, Replace};
use crate::text::{Document, FinalNewline, Splice, plain};

/// Why an edit has no place, and the lines that come nearest to one.
pub(crate) type Refusing = (Why, Option<Region>);

/// The content so far and the changes placed in it, each with the edit it is from.
pub(crate) struct Working {
    document: Document,
    index: Index,
    splices: Vec<(usize, Splice)>,
    placed: Vec<(usize, Change)>,
    /// The line after the last edit.
    after: usize,
}

impl Working {
    pub(crate) fn new(document: Document) -> Self {
        let index = Index::new(&document);
        Self {
            document,
            index,
            splices: Vec::new(),
            placed: Vec::new(),
            after: 0,
        }
    }

    /// Whether there is nothing in it, and nothing on its way into it.
    pub(crate) fn is_blank(&self) -> bool {
        self.document.body().trim().is_empty() && self.placed.is_empty()
    }

    pub(crate) fn is_untouched(&self) -> bool {
        self.placed.is_empty()
    }

    /// The content with every change carried out.
    pub(crate) fn render(&self) -> String {
        self.document.render(&sorted(&self.splices))
    }

    /// Finds the place of `change` and keeps its splices; also says whether it changes anything.
    pub(crate) fn place(
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
        let next = Self::new(Document::parse(&self.render()));
        let haystack = Haystack {
            document: &next.document,
            index: &next.index,
        };
        let found = resolve(&haystack, change, order, omissions).ok()?;
        (found.how == How::Exact).then_some((next, found))
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

/// Whether the new text has a line that the old one has not.
fn brings_something(old: &str, new: &str) -> bool {
    let squashed: Vec<String> = old.lines().map(squash).collect();
    new.lines()
        .map(squash)
        .any(|line| !line.is_empty() && !squashed.contains(&line))
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
        Why::NotFound => match present(haystack, &new).filter(|_| brings_something(&old, &new)) {
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
