//! Converts a match to exact changes: lines kept, removed and added, re-indented, and nothing else touched.

pub(crate) mod elision;
pub(crate) mod hunk;
pub(crate) mod nearest;
pub(crate) mod reflow;
pub(crate) mod replace;

use std::ops::Range;

use crate::alternative_readings::Normalization;
use crate::document::{FinalNewline, Splice, TextDocument};
use crate::fold::{indent_of, is_blank};
use crate::indent::Reindent;
use crate::matcher::{BlankLineMatch, Haystack, MatchCandidate, MatchLevel, QuotedLine, texts};
use crate::parsed_edit::EndOfFile;
use crate::placeholder::{is_bare_dots, is_omission};
use crate::refusal::RefusalReason;
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
    let reindent = reindent_for(document, quoted, candidate, ops, source);
    let mut groups = ChangeGroups {
        cursor: candidate.first(),
        groups: Vec::new(),
        open: false,
    };
    let mut near = 0;
    let mut is_first = true;
    let mut lost_blanks = 0;
    for (at, op) in ops.iter().enumerate() {
        match op {
            LineOp::Keep(number) => {
                near = *number;
                match candidate.pairs[*number] {
                    Some(line) => groups.keep(line),
                    None if is_between_additions(ops, at) => groups.add(quoted[*number].text.clone()),
                    None => {}
                }
                is_first = false;
            }
            LineOp::Remove(number) => {
                near = *number;
                match candidate.pairs[*number] {
                    Some(line) => groups.remove(line),
                    None => lost_blanks += 1,
                }
            }
            LineOp::Add(line) => {
                let is_spare = lost_blanks > 0 && is_blank(line) && ops[at + 1..].iter().all(is_blank_add);
                if is_spare {
                    lost_blanks -= 1;
                    continue;
                }
                groups.add(reindent.apply(line, is_first, near));
                is_first = is_first && is_blank(line);
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
    Ok(groups
        .into_iter()
        .flat_map(|group| group.splices(document, source, end))
        .collect())
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

fn reindent_for(
    document: &TextDocument,
    quoted: &[QuotedLine],
    candidate: &MatchCandidate,
    ops: &[LineOp],
    source: OpSource,
) -> Reindent {
    if candidate.level <= MatchLevel::TrailingSpace {
        return Reindent::none();
    }
    let pairs: Vec<_> = texts(document, quoted, &candidate.pairs)
        .into_iter()
        .map(|(number, text, actual)| (number, (indent_of(text), indent_of(actual))))
        .collect();
    // A patch with a different indentation error on each line does not determine the indentation of its new lines.
    let is_first_cut = pairs.iter().skip(1).all(|(_, (quoted, actual))| quoted == actual) && pairs.len() > 1;
    if candidate.level == MatchLevel::UnevenIndent && source == OpSource::Patch && !is_first_cut {
        return Reindent::none();
    }
    let new: Vec<&str> = ops
        .iter()
        .filter_map(|op| match op {
            LineOp::Keep(number) => quoted.get(*number).map(|line| line.text.as_str()),
            LineOp::Add(line) => Some(line.as_str()),
            LineOp::Remove(_) => None,
        })
        .collect();
    Reindent::new(&pairs, &new)
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
        let newline = match end {
            EndOfFile::Newline => FinalNewline::Add,
            EndOfFile::Unspecified if added.len() > lines.len() => FinalNewline::Add,
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

/// What counts as an omission in a type of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OmissionPolicy {
    /// Nothing: documents contain shortened code on purpose.
    None,
    /// Phrases; a line of dots may be a statement.
    Worded,
    /// Also a line of dots, which is not code in such a file.
    Dotted,
}

/// The first placeholder line of `new` that is neither in the old text nor in the file.
pub(crate) fn hidden_omission(
    document: &TextDocument,
    old: &str,
    new: &str,
    omissions: OmissionPolicy,
) -> Option<RefusalReason> {
    let counts = |line: &str| match omissions {
        OmissionPolicy::None => false,
        OmissionPolicy::Worded => !is_bare_dots(line) && is_omission(line),
        OmissionPolicy::Dotted => is_omission(line),
    };
    new.lines()
        .filter(|line| counts(line))
        .find(|line| {
            let same = |other: &str| other.trim() == line.trim();
            !old.lines().any(same) && !document.lines().any(same)
        })
        .map(|line| RefusalReason::Placeholder(line.trim().to_owned()))
}
