//! Converts a match to exact changes: lines kept, removed and added, re-indented, and nothing else touched.

mod additions;
mod depth;
pub(crate) mod elision;
pub(crate) mod hunk;
mod look_alikes;
pub(crate) mod nearest;
pub(crate) mod placement;
pub(crate) mod reflow;
pub(crate) mod replace;
mod yaml;

use std::ops::Range;

use crate::alternative_readings::Normalization;
use crate::document::{FinalNewline, Splice, TextDocument};
use crate::fold::is_blank;
use crate::matcher::{BlankLineMatch, Haystack, MatchCandidate, MatchLevel, QuotedLine};
use crate::parsed_edit::EndOfFile;
use crate::refusal::RefusalReason;
use crate::resolve::placement::repeated_neighbour;
use crate::text_diff::compare;

/// How the old text was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchMethod {
    /// Exactly as quoted.
    Exact,
    /// Except for whitespace at the end of lines.
    TrailingSpace,
    /// Except for indentation; the new lines were shifted.
    Indentation,
    /// Except for spaces in lines or look-alike characters.
    Spacing,
    /// Except for blank lines.
    BlankLines,
    /// After removing line numbers or bars.
    LineNumbers,
    /// After undoing one level of escaping.
    Escapes,
    /// After removing code fences or a file name comment.
    Fences,
    /// In parts, around omitted lines.
    Elision,
    /// Except for typos in a few lines, with all others equal and unique.
    Slips,
    /// By line number or header, without quoted text.
    Place,
    /// The whole file.
    Whole,
}

impl MatchMethod {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::TrailingSpace => "trailing-space",
            Self::Indentation => "indentation",
            Self::Spacing => "spacing",
            Self::BlankLines => "blank-lines",
            Self::LineNumbers => "line-numbers",
            Self::Escapes => "escapes",
            Self::Fences => "fences",
            Self::Elision => "elision",
            Self::Slips => "slips",
            Self::Place => "place",
            Self::Whole => "whole",
        }
    }

    fn of(candidate: &MatchCandidate) -> Self {
        match (candidate.level, candidate.blanks) {
            (MatchLevel::Slips, _) => Self::Slips,
            (MatchLevel::Spacing | MatchLevel::Squeezed, _) => Self::Spacing,
            (MatchLevel::Indent | MatchLevel::UnevenIndent, _) => Self::Indentation,
            (_, BlankLineMatch::Differ | BlankLineMatch::EdgesDiffer) => Self::BlankLines,
            (MatchLevel::TrailingSpace, BlankLineMatch::Same) => Self::TrailingSpace,
            (MatchLevel::Exact, BlankLineMatch::Same) => Self::Exact,
        }
    }

    fn from_normalization(dressing: Normalization) -> Self {
        match dressing {
            Normalization::Fences => Self::Fences,
            Normalization::LineNumbers => Self::LineNumbers,
            Normalization::Escapes => Self::Escapes,
            Normalization::Entities => Self::Escapes,
        }
    }
}

/// An edit with its location.
#[derive(Clone, Debug)]
pub(crate) struct ResolvedEdit {
    pub(crate) splices: Vec<Splice>,
    /// The matched lines, from 0.
    pub(crate) lines: Range<usize>,
    pub(crate) method: MatchMethod,
}

/// The kind of edit that the operations come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpSource {
    Patch,
    Replacement,
}

/// The lines that `ops` keep and add.
pub(crate) fn new_lines<'a>(quoted: &'a [QuotedLine], ops: &'a [LineOp]) -> Vec<&'a str> {
    ops.iter()
        .filter_map(|op| match op {
            LineOp::Keep(number) => quoted.get(*number).map(|line| line.text.as_str()),
            LineOp::Add(line) => Some(line.as_str()),
            LineOp::Remove(_) => None,
        })
        .collect()
}

/// What happens to the quoted lines (by index) and between them.
#[derive(Clone, Debug)]
pub(crate) enum LineOp {
    Keep(usize),
    Remove(usize),
    Add(String),
}

/// The operations that turn `old` lines into `new` lines.
pub(crate) fn line_ops(old: &[&str], new: &[&str]) -> Vec<LineOp> {
    let mut ops = Vec::new();
    for part in compare(old, new, None) {
        let (tag, old_range, new_range) = part.as_tag_tuple();
        if tag == similar::DiffTag::Equal {
            ops.extend(old_range.map(LineOp::Keep));
        } else {
            ops.extend(old_range.map(LineOp::Remove));
            ops.extend(
                new_range
                    .filter_map(|at| new.get(at))
                    .map(|line| LineOp::Add((*line).to_owned())),
            );
        }
    }
    ops
}

/// The changes that `ops` make at the location of `candidate`.
pub(crate) fn build_splices(
    haystack: &Haystack<'_>,
    quoted: &[QuotedLine],
    candidate: &MatchCandidate,
    ops: &[LineOp],
    (source, end): (OpSource, EndOfFile),
) -> Result<Vec<Splice>, RefusalReason> {
    let document = haystack.document;
    let ops = &around_unquoted_blanks(document, candidate, ops)?;
    if source == OpSource::Replacement && removes_one_of_two(document, quoted, candidate, ops) {
        return Err(RefusalReason::Indentation);
    }
    let mut additions = additions::indented_additions(document, quoted, candidate, ops, source)?;
    let mut groups = ChangeGroups {
        cursor: candidate.first(),
        groups: Vec::new(),
        open: false,
    };
    let mut lost_blanks = 0;
    for (at, op) in ops.iter().enumerate() {
        match op {
            LineOp::Keep(number) => match candidate.pairs[*number] {
                Some(line) => groups.keep(line),
                None if is_between_additions(ops, at) => groups.add(quoted[*number].text.clone()),
                None => {}
            },
            LineOp::Remove(number) => match candidate.pairs[*number] {
                Some(line) => groups.remove(line),
                None => lost_blanks += 1,
            },
            LineOp::Add(line) => {
                let is_spare = lost_blanks > 0 && is_blank(line) && ops[at + 1..].iter().all(is_blank_add);
                if is_spare {
                    lost_blanks -= 1;
                    continue;
                }
                groups.extend_with(additions[at].take());
            }
        }
    }
    let groups = groups.groups;
    if let Some(first) = groups.first()
        && groups.iter().all(|group| group.is_already_applied(document, candidate))
    {
        return Err(RefusalReason::AlreadyApplied {
            line: first.lines.start.max(1),
        });
    }
    if let Some(line) = repeated_neighbour(document, &(candidate.first()..candidate.end()), ops) {
        return Err(RefusalReason::RepeatedNeighbour { line: line + 1 });
    }
    if let Some(line) = line_of_result(document, candidate, &groups) {
        return Err(RefusalReason::AlreadyApplied { line: line + 1 });
    }
    Ok(groups
        .into_iter()
        .flat_map(|group| group.splices(document, source, end))
        .collect())
}

/// The line where the file already contains the result of an edit that adds lines, around the lines that it quotes.
fn line_of_result(document: &TextDocument, candidate: &MatchCandidate, groups: &[ChangeGroup]) -> Option<usize> {
    let (first, end) = (candidate.first(), candidate.end());
    let mut result: Vec<&str> = Vec::new();
    let mut next = first;
    for group in groups {
        result.extend((next..group.lines.start).map(|line| document.line(line)));
        result.extend(group.added.iter().map(String::as_str));
        next = group.lines.end.max(next);
    }
    result.extend((next..end).map(|line| document.line(line)));
    let has_words = |line: &&str| line.chars().filter(|c| c.is_alphanumeric()).count() > 2;
    let added = groups.iter().flat_map(|group| &group.added).map(String::as_str);
    if result.len() <= end - first || !added.clone().any(|line| has_words(&line)) {
        return None;
    }
    let is_there = |start: &usize| {
        start + result.len() <= document.line_count()
            && result
                .iter()
                .enumerate()
                .all(|(step, line)| document.line(start + step).trim_end() == line.trim_end())
    };
    (end.saturating_sub(result.len())..=first).find(is_there)
}

/// Whether one of two neighbouring lines is removed that are equal in the edit and differ in the file: either may be
/// meant.
fn removes_one_of_two(
    document: &TextDocument,
    quoted: &[QuotedLine],
    candidate: &MatchCandidate,
    ops: &[LineOp],
) -> bool {
    let line = |number: usize| {
        candidate
            .pairs
            .get(number)
            .copied()
            .flatten()
            .map(|at| document.line(at))
    };
    let is_kept = |number: usize| {
        ops.iter()
            .any(|op| matches!(op, LineOp::Keep(other) if *other == number))
    };
    let is_twin = |number: usize, other: usize| {
        quoted.get(other).is_some_and(|twin| twin.text == quoted[number].text)
            && is_kept(other)
            && line(number).is_some_and(|actual| !is_blank(actual))
            && line(number) != line(other)
    };
    ops.iter().any(|op| match op {
        LineOp::Remove(number) => {
            is_twin(*number, number + 1) || number.checked_sub(1).is_some_and(|other| is_twin(*number, other))
        }
        LineOp::Keep(_) | LineOp::Add(_) => false,
    })
}

/// The operations, ordered so that blank lines of the file that the quoted text lacks stay where they are. They may
/// belong before or after inserted lines, so an edit that adds lines next to one must replace line by line.
fn around_unquoted_blanks(
    document: &TextDocument,
    candidate: &MatchCandidate,
    ops: &[LineOp],
) -> Result<Vec<LineOp>, RefusalReason> {
    let line_of = |op: &LineOp| match op {
        LineOp::Keep(number) | LineOp::Remove(number) => candidate.pairs[*number],
        LineOp::Add(_) => None,
    };
    let is_unquoted = |line: usize| is_blank(document.line(line)) && !candidate.pairs.contains(&Some(line));
    let is_kept = |op: &LineOp| matches!(op, LineOp::Keep(_)) && line_of(op).is_some();
    let mut out = Vec::with_capacity(ops.len());
    let mut above = None;
    for run in ops.split_inclusive(is_kept) {
        let (changes, kept) = match run.split_last() {
            Some((last, changes)) if is_kept(last) => (changes, Some(last)),
            Some(_) | None => (run, None),
        };
        let below = kept.and_then(line_of);
        let is_added = |op: &&LineOp| matches!(op, LineOp::Add(line) if !is_blank(line));
        let is_removed = |op: &&LineOp| matches!(op, LineOp::Remove(_));
        let removed: Vec<&LineOp> = changes.iter().filter(is_removed).collect();
        let added: Vec<&LineOp> = changes.iter().filter(is_added).collect();
        let first = above.or_else(|| removed.iter().find_map(|op| line_of(op)));
        let end = below.or_else(|| removed.iter().rev().find_map(|op| line_of(op)));
        let has_blank = first.zip(end).is_some_and(|(first, end)| (first..end).any(is_unquoted));
        let is_paired = removed.len() == added.len() && removed.iter().all(|op| line_of(op).is_some());
        match has_blank && !added.is_empty() {
            true if is_paired && changes.len() == removed.len() * 2 => {
                let pairs = removed.into_iter().zip(added);
                out.extend(pairs.flat_map(|(removed, added)| [removed.clone(), added.clone()]));
            }
            true => {
                return Err(RefusalReason::LineBreaks {
                    line: first.unwrap_or(0) + 1,
                });
            }
            false => out.extend_from_slice(changes),
        }
        out.extend(kept.cloned());
        above = below.or(end).or(above);
    }
    Ok(out)
}

fn is_blank_add(op: &LineOp) -> bool {
    matches!(op, LineOp::Add(line) if is_blank(line))
}

/// Whether a quoted blank line that the file lacks is between added lines: then it was meant to be added.
fn is_between_additions(ops: &[LineOp], at: usize) -> bool {
    let added = |op: Option<&LineOp>| matches!(op, Some(LineOp::Add(_)));
    let mut after = at + 1;
    while matches!(ops.get(after), Some(LineOp::Keep(_))) && after < at + 3 {
        after += 1;
    }
    at > 0 && added(ops.get(at - 1)) && added(ops.get(after))
}

/// Removed and added lines that belong together.
struct ChangeGroup {
    lines: Range<usize>,
    added: Vec<String>,
}

struct ChangeGroups {
    /// The next line of the file.
    cursor: usize,
    groups: Vec<ChangeGroup>,
    open: bool,
}

impl ChangeGroups {
    fn keep(&mut self, line: usize) {
        self.cursor = line + 1;
        self.open = false;
    }

    fn remove(&mut self, line: usize) {
        // Lines between two removed ones stay.
        let end = self
            .groups
            .last()
            .map(|group| &group.lines)
            .filter(|lines| !lines.is_empty());
        if end.is_some_and(|lines| lines.end < line) {
            self.open = false;
        }
        let group = self.group(line);
        if group.lines.is_empty() {
            group.lines.start = line;
        }
        group.lines.end = line + 1;
        self.cursor = line + 1;
    }

    fn add(&mut self, text: String) {
        let cursor = self.cursor;
        self.group(cursor).added.push(text);
    }

    fn extend_with(&mut self, text: Option<String>) {
        text.into_iter().for_each(|text| self.add(text));
    }

    fn group(&mut self, line: usize) -> &mut ChangeGroup {
        if !self.open || self.groups.is_empty() {
            self.groups.push(ChangeGroup {
                lines: line..line,
                added: Vec::new(),
            });
            self.open = true;
        }
        let last = self.groups.len() - 1;
        &mut self.groups[last]
    }
}

impl ChangeGroup {
    /// Whether lines that are only added already exist next to the quoted ones: the edit was applied before.
    fn is_already_applied(&self, document: &TextDocument, candidate: &MatchCandidate) -> bool {
        let (at, count) = (self.lines.start, self.added.len());
        let same = |from: usize| {
            self.added
                .iter()
                .enumerate()
                .all(|(step, line)| document.line(from + step).trim_end() == line.trim_end())
        };
        let says_something = self
            .added
            .iter()
            .any(|line| line.chars().filter(|c| c.is_alphanumeric()).count() > 2);
        let follows = at >= candidate.end() && at + count <= document.line_count() && same(at);
        let precedes = at <= candidate.first() && at >= count && same(at - count);
        self.lines.is_empty() && says_something && (follows || precedes)
    }

    /// The changes to make. A line-for-line replacement keeps the ending of each line.
    fn splices(self, document: &TextDocument, source: OpSource, end: EndOfFile) -> Vec<Splice> {
        if source == OpSource::Patch || self.lines.len() != self.added.len() {
            return self.splice(document, end).into_iter().collect();
        }
        let content = |line: usize| {
            let start = document.line_start(line);
            start..start + document.line(line).len()
        };
        self.lines
            .zip(self.added)
            .filter(|(line, text)| document.line(*line) != text)
            .map(|(line, text)| Splice {
                range: content(line),
                text,
            })
            .collect()
    }

    /// The change without unchanged lines at its ends.
    fn splice(self, document: &TextDocument, end: EndOfFile) -> Option<Splice> {
        let Self { mut lines, mut added } = self;
        let is_whole_file = lines.start == 0 && lines.end >= document.line_count();
        let newline = match end {
            EndOfFile::Newline => FinalNewline::Add,
            EndOfFile::Unspecified if is_whole_file && added.len() > lines.len() => FinalNewline::Add,
            EndOfFile::Unspecified | EndOfFile::Unchanged | EndOfFile::NoNewline => FinalNewline::Keep,
        };
        let at_end = lines.end >= document.line_count();
        let newline_changes = at_end && (newline == FinalNewline::Add) != document.has_final_newline();
        while !lines.is_empty() && added.first().is_some_and(|line| line == document.line(lines.start)) {
            if newline_changes && lines.len() == 1 && added.len() == 1 {
                break;
            }
            added.remove(0);
            lines.start += 1;
        }
        while !newline_changes
            && !lines.is_empty()
            && added.last().is_some_and(|line| line == document.line(lines.end - 1))
        {
            added.pop();
            lines.end -= 1;
        }
        if lines.is_empty() && added.is_empty() {
            return None;
        }
        let mut splice = document.line_splice(lines, &added, newline);
        if at_end && end == EndOfFile::NoNewline && splice.text.ends_with('\n') {
            splice.text.pop();
        }
        Some(splice)
    }
}
