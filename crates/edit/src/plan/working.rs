//! A file's content while its edits are placed and checked against each other, before any is applied.

use crate::anchor::{self, AnchoredEdit};
use crate::document::{FinalNewline, Splice, TextDocument, normalize_newlines};
use crate::fold::{fold, squash, squash_key};
use crate::line_history::{LineHistory, SeenVersions};
use crate::line_index::LineIndex;
use crate::matcher::Haystack;
use crate::notation::{plain_hunk, plain_lines, plain_replacement, refuse_control_characters};
use crate::parsed_edit::{EditChange, HunkLine, InsertPosition, ParsedEdit, PatchHunk, Replacement};
use crate::placeholder::{find_placeholder, is_omission, note_at_end};
use crate::refusal::{FileRegion, RefusalReason};
use crate::resolve::hunk::{self, HunkOrder, LineNumbers, is_at_its_line, new_text, old_text};
use crate::resolve::placement::{is_misplaced, refuse_repeated};
use crate::resolve::replace::{self, ReplaceTarget, find_already_applied};
use crate::resolve::{MatchMethod, ResolvedEdit, nearest};
use crate::text_kind::TextKind;

/// Why an edit cannot be placed, and the most similar lines.
pub(crate) type RefusalDetail = (RefusalReason, Option<FileRegion>);

/// The other hunks of an edit text.
#[derive(Clone, Copy)]
pub(crate) struct HunkSiblings<'a> {
    /// The number of hunks from this one on that quote the same lines.
    pub(crate) alike: usize,
    /// All edits of the same file.
    pub(crate) others: &'a [ParsedEdit],
}

/// The content and the changes placed in it, each with its edit.
pub(crate) struct WorkingDocument {
    document: TextDocument,
    index: LineIndex,
    history: LineHistory,
    splices: Vec<(usize, Splice)>,
    placed: Vec<(usize, EditChange)>,
    /// The line after the last edit.
    after: usize,
}

impl WorkingDocument {
    pub(crate) fn new(document: TextDocument, seen: SeenVersions) -> Self {
        let index = LineIndex::new(&document);
        Self {
            document,
            index,
            history: LineHistory::new(seen),
            splices: Vec::new(),
            placed: Vec::new(),
            after: 0,
        }
    }

    /// Whether the content and the pending changes are blank.
    pub(crate) fn is_blank(&self) -> bool {
        self.document.body().trim().is_empty() && self.placed.is_empty()
    }

    pub(crate) fn is_untouched(&self) -> bool {
        self.placed.is_empty()
    }

    /// The content with every change applied.
    pub(crate) fn render(&self) -> String {
        self.document.render(&sorted(&self.splices))
    }

    /// Finds the location of `change` and stores its splices; returns whether it changes anything.
    pub(crate) fn place(
        &mut self,
        number: usize,
        change: &EditChange,
        siblings: HunkSiblings<'_>,
        kind: TextKind<'_>,
    ) -> Result<(ResolvedEdit, bool), RefusalDetail> {
        let is_hunk = matches!(change, EditChange::Hunk(_));
        if let Some((other, _)) = self.placed.iter().find(|(_, other)| !is_hunk && other == change) {
            return Err((RefusalReason::Repeated(*other), None));
        }
        let order = HunkOrder {
            after: self.after,
            alike: siblings.alike,
            numbers: self.line_numbers(change, siblings.others),
        };
        let haystack = Haystack {
            document: &self.document,
            index: &self.index,
            history: &self.history,
        };
        let resolved = match resolve(&haystack, change, order, kind) {
            Ok(resolved) => resolved,
            Err(RefusalReason::NotFound | RefusalReason::NoHeader(_)) if !self.splices.is_empty() => {
                let next = self.resolve_in_result(change, order, kind);
                let (next, resolved) = next.ok_or_else(|| explain(&haystack, change, RefusalReason::NotFound))?;
                *self = next;
                resolved
            }
            Err(why) => return Err(explain(&haystack, change, why)),
        };
        for splice in &resolved.splices {
            if let Some((other, _)) = self
                .splices
                .iter()
                .find(|(_, other)| overlaps(&other.range, &splice.range))
            {
                let (from, to) = (
                    resolved.lines.start + 1,
                    resolved.lines.end.max(resolved.lines.start + 1),
                );
                return Err((
                    RefusalReason::Overlap {
                        from,
                        to,
                        other: *other,
                    },
                    None,
                ));
            }
        }
        let changes = !resolved.splices.is_empty() && !is_no_op(change);
        self.splices
            .extend(resolved.splices.iter().map(|splice| (number, splice.clone())));
        self.placed.push((number, change.clone()));
        self.after = resolved.lines.end;
        Ok((resolved, changes))
    }

    /// Whether the other hunks confirm the line number of an insertion without context.
    fn line_numbers(&self, change: &EditChange, others: &[ParsedEdit]) -> LineNumbers {
        let EditChange::Hunk(hunk) = change else {
            return LineNumbers::Unconfirmed;
        };
        let mut quoting = others.iter().filter_map(|edit| match &edit.change {
            EditChange::Hunk(other) if !other.is_addition() => Some(other),
            _ => None,
        });
        let is_needed = hunk.is_addition() && hunk.hint.is_some_and(|line| line > 0);
        let Some(first) = quoting.next().filter(|_| is_needed) else {
            return LineNumbers::Unconfirmed;
        };
        let is_unique = |line: &&str| self.index.positions(squash_key(line)).len() == 1;
        let is_right =
            |hunk: &PatchHunk| is_at_its_line(&self.document, hunk) && quoted_lines(hunk).iter().any(is_unique);
        match is_right(first) && quoting.all(is_right) {
            true => LineNumbers::Confirmed,
            false => LineNumbers::Unconfirmed,
        }
    }

    /// The text may depend on earlier edits: they are applied first, and it must then match exactly.
    fn resolve_in_result(
        &self,
        change: &EditChange,
        order: HunkOrder,
        kind: TextKind<'_>,
    ) -> Option<(Self, ResolvedEdit)> {
        let next = Self::new(TextDocument::parse(&self.render()), SeenVersions::default());
        let haystack = Haystack {
            document: &next.document,
            index: &next.index,
            history: &next.history,
        };
        let found = resolve(&haystack, change, order, kind).ok()?;
        (found.method == MatchMethod::Exact).then_some((next, found))
    }
}

/// The lines by which a hunk is found.
pub(crate) fn quoted_lines(hunk: &PatchHunk) -> Vec<&str> {
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

/// Whether two changes overlap: they share bytes, or one inserts inside the other.
fn overlaps(one: &std::ops::Range<usize>, other: &std::ops::Range<usize>) -> bool {
    if one.is_empty() && other.is_empty() {
        return false;
    }
    one.start < other.end && other.start < one.end
}

fn is_no_op(change: &EditChange) -> bool {
    match change {
        EditChange::Replace(replace) => replace.readings.iter().all(|(old, new)| old == new),
        EditChange::Hunk(hunk) => !hunk.is_change(),
        EditChange::Insert { text, .. } => text.is_empty(),
        EditChange::Anchored(_) => false,
        EditChange::Write(_) | EditChange::Create(_) | EditChange::Delete | EditChange::Move(_) => false,
    }
}

fn resolve(
    haystack: &Haystack<'_>,
    change: &EditChange,
    order: HunkOrder,
    kind: TextKind<'_>,
) -> Result<ResolvedEdit, RefusalReason> {
    let spaced = with_plain_indentation(haystack.document, change);
    match spaced.as_ref().unwrap_or(change) {
        EditChange::Replace(replace) => resolve_replace(haystack, replace, kind),
        EditChange::Hunk(hunk) => {
            let plain = plain_hunk(&hunk.lines, haystack.document.body(), kind)?;
            let plain = plain.map(|lines| PatchHunk { lines, ..hunk.clone() });
            let hunk = plain.as_ref().unwrap_or(hunk);
            let found = hunk::resolve(haystack, hunk, order)?;
            check(haystack, &old_text(&hunk.lines), &new_text(&hunk.lines), found, kind)
        }
        EditChange::Insert { position: place, text } => insert(haystack, *place, text, kind),
        EditChange::Anchored(edit) => {
            let (old, first) = anchor::replaced_text(haystack, edit)?;
            let text = plain_lines(&old, &edit.text, first + 1, haystack.document.body(), kind)?;
            let plain = AnchoredEdit { text, ..edit.clone() };
            let found = anchor::resolve(haystack, &plain)?;
            check(haystack, &old, &plain.text, found, kind)
        }
        EditChange::Write(_) | EditChange::Create(_) | EditChange::Delete | EditChange::Move(_) => {
            Err(RefusalReason::NoEdits)
        }
    }
}

/// The change with plain spaces in place of others in its indentation and without invisible characters there, if the
/// file has none.
fn with_plain_indentation(document: &TextDocument, change: &EditChange) -> Option<EditChange> {
    let is_special = |c: char| !c.is_ascii() && [" ", ""].contains(&fold(c.encode_utf8(&mut [0; 4])).as_str());
    let is_open = |text: &str| !text.is_ascii() && text.contains(is_special) && !document.body().contains(is_special);
    let plain = |text: &str| {
        let line = |line: &str| {
            let body = line.trim_start_matches(|c: char| matches!(c, ' ' | '\t') || is_special(c));
            let indent = line.strip_suffix(body).unwrap_or_default();
            format!("{}{body}", fold(indent))
        };
        text.split_inclusive('\n').map(line).collect::<String>()
    };
    match change {
        EditChange::Replace(replace) if replace.readings.iter().any(|(old, new)| is_open(old) || is_open(new)) => {
            let readings = replace.readings.iter().map(|(old, new)| (plain(old), plain(new)));
            Some(EditChange::Replace(Replacement {
                readings: readings.collect(),
                ..replace.clone()
            }))
        }
        EditChange::Hunk(hunk) if is_open(&old_text(&hunk.lines)) || is_open(&new_text(&hunk.lines)) => {
            let lines = hunk.lines.iter().map(|line| match line {
                HunkLine::Keep { text, bare } => HunkLine::Keep {
                    text: plain(text),
                    bare: *bare,
                },
                HunkLine::Remove(text) => HunkLine::Remove(plain(text)),
                HunkLine::Add(text) => HunkLine::Add(plain(text)),
            });
            Some(EditChange::Hunk(PatchHunk {
                lines: lines.collect(),
                ..hunk.clone()
            }))
        }
        _ => None,
    }
}

fn check(
    haystack: &Haystack<'_>,
    old: &str,
    new: &str,
    found: ResolvedEdit,
    kind: TextKind<'_>,
) -> Result<ResolvedEdit, RefusalReason> {
    if found.method == MatchMethod::Elision && old.lines().any(is_omission) {
        return Ok(found);
    }
    refuse_control_characters(old, new, haystack.document.body())?;
    find_placeholder(haystack.document, old, new, kind.omissions).map_or(Ok(()), Err)?;
    match is_misplaced(haystack.document, (old, new), &found, kind) {
        true => Err(RefusalReason::Indentation),
        false => Ok(found),
    }
}

/// Tries every reading of the text; exactly one may match.
fn resolve_replace(
    haystack: &Haystack<'_>,
    replace: &Replacement,
    kind: TextKind<'_>,
) -> Result<ResolvedEdit, RefusalReason> {
    let several = replace.readings.len() > 1;
    let mut found: Option<ResolvedEdit> = None;
    let mut first_problem = None;
    for (old, new) in &replace.readings {
        let (old, new) = (normalize_newlines(old), normalize_newlines(new));
        let new = match plain_replacement(&old, &new, haystack.document.body(), kind) {
            Ok(plain) => plain,
            Err(why) if several => {
                first_problem.get_or_insert(why);
                continue;
            }
            Err(why) => return Err(why),
        };
        if several && !is_safe_reading(haystack, &old, &new) {
            continue;
        }
        let hint = replace.hint.map(|line| line.saturating_sub(1));
        let target = ReplaceTarget {
            old: &old,
            new: &new,
            hint,
            scope: replace.scope,
            unit: replace.unit,
        };
        match replace::resolve(haystack, target).and_then(|found| check(haystack, &old, &new, found, kind)) {
            Ok(_) if found.is_some() => return Err(RefusalReason::Separators),
            Ok(resolved) => found = Some(resolved),
            Err(why) => {
                first_problem.get_or_insert(why);
            }
        }
    }
    found.ok_or_else(|| {
        if several {
            RefusalReason::Separators
        } else {
            first_problem.unwrap_or(RefusalReason::NotFound)
        }
    })
}

/// With several separators, those left in the new text must also be in the old text.
fn is_safe_reading(haystack: &Haystack<'_>, old: &str, new: &str) -> bool {
    let count = |text: &str| {
        text.lines()
            .filter(|line| line.starts_with("=====") && line.trim_matches('=').trim().is_empty())
            .count()
    };
    !old.trim().is_empty() && (count(new) == 0 || count(new) <= count(old)) && haystack.index.len() > 0
}

fn insert(
    haystack: &Haystack<'_>,
    place: InsertPosition,
    text: &str,
    kind: TextKind<'_>,
) -> Result<ResolvedEdit, RefusalReason> {
    let document = haystack.document;
    let count = document.line_count();
    let at = match place {
        InsertPosition::End => count,
        InsertPosition::After(line) if line <= count => line,
        InsertPosition::Before(line) if (1..=count + 1).contains(&line) => line - 1,
        InsertPosition::After(line) | InsertPosition::Before(line) => {
            return Err(RefusalReason::NoLine { line, count });
        }
    };
    let text = plain_lines("", text, at + 1, document.body(), kind)?;
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    refuse_repeated(document, &(at..at), &lines)?;
    if let Some(placeholder) = note_at_end(&text).filter(|_| !kind.is_document()) {
        return Err(placeholder);
    }
    let splice = document.line_splice(at..at, &lines, FinalNewline::Keep);
    let found = ResolvedEdit {
        splices: vec![splice],
        lines: at..at,
        method: MatchMethod::Place,
    };
    check(haystack, "", &text, found, kind)
}

/// Whether the new text has a line that the old text lacks.
fn adds_text(old: &str, new: &str) -> bool {
    let squashed: Vec<String> = old.lines().map(squash).collect();
    new.lines()
        .map(squash)
        .any(|line| !line.is_empty() && !squashed.contains(&line))
}

/// Adds details: the most similar lines, or that the change is already applied.
fn explain(haystack: &Haystack<'_>, change: &EditChange, why: RefusalReason) -> RefusalDetail {
    if let RefusalReason::StaleAnchor { line, .. } = why {
        let line = line
            .saturating_sub(3)
            .min(haystack.document.line_count().saturating_sub(4));
        return (why, Some(nearest::region_at(haystack, line, 4)));
    }
    let (old, new) = match change {
        EditChange::Replace(replace) => replace.readings.first().cloned().unwrap_or_default(),
        EditChange::Hunk(hunk) => (old_text(&hunk.lines), new_text(&hunk.lines)),
        EditChange::Insert {
            position: InsertPosition::After(line) | InsertPosition::Before(line),
            ..
        } => return (why, Some(nearest::region_at(haystack, line.saturating_sub(2), 3))),
        EditChange::Anchored(edit) => {
            let replaced = anchor::replaced_text(haystack, edit).ok();
            let count = |old: &str| old.lines().count().max(edit.text.lines().count()) + 1;
            let region = replaced.map(|(old, first)| nearest::region_at(haystack, first, count(&old)));
            return (why, region);
        }
        _ => return (why, None),
    };
    let (old, new) = (normalize_newlines(&old), normalize_newlines(&new));
    match why {
        RefusalReason::NotFound => match find_already_applied(haystack, &new).filter(|_| adds_text(&old, &new)) {
            Some(line) => (
                RefusalReason::AlreadyApplied { line: line + 1 },
                Some(nearest::region_at(haystack, line, new.lines().count())),
            ),
            None => (why, nearest::region(haystack, &old)),
        },
        RefusalReason::Ambiguous { lines, .. } => {
            let neighbours = nearest::distinguishing_neighbours(haystack, &lines);
            (RefusalReason::Ambiguous { lines, neighbours }, None)
        }
        RefusalReason::LineBreaks { line } => (
            why,
            Some(nearest::region_at(
                haystack,
                line.saturating_sub(1),
                old.lines().count() + 4,
            )),
        ),
        RefusalReason::AlreadyApplied { line } => (
            why,
            Some(nearest::region_at(
                haystack,
                line.saturating_sub(1),
                new.lines().count(),
            )),
        ),
        RefusalReason::NoHeader(ref header) => {
            let region = nearest::region(haystack, header);
            (why, region)
        }
        RefusalReason::Elision
        | RefusalReason::NoContext
        | RefusalReason::Indentation
        | RefusalReason::Notation(_)
        | RefusalReason::PartOfLine { .. }
        | RefusalReason::Placeholder(_) => (why, nearest::region(haystack, &old)),
        RefusalReason::RepeatedNeighbour { line } => {
            // The repeated lines are to be quoted too.
            let count = new.lines().count().max(old.lines().count());
            let start = nearest::region(haystack, &old).map_or(line, |region| region.start);
            let start = if line > start {
                start
            } else {
                line.saturating_sub(count)
            };
            (why, Some(nearest::region_at(haystack, start, count)))
        }
        other => (other, None),
    }
}
