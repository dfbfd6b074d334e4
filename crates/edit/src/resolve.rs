//! From a match to exact changes: which lines stay, go and come, re-indented, and nothing else touched.

pub(crate) mod elision;
pub(crate) mod hunk;
pub(crate) mod nearest;
pub(crate) mod reflow;
pub(crate) mod replace;

use std::ops::Range;

use crate::compare::compare;
use crate::fold::{indent_of, is_blank};
use crate::indent::Reindent;
use crate::matcher::{Blanks, Candidate, Haystack, Level, Quoted, texts};
use crate::placeholder::{is_bare_dots, is_omission};
use crate::reading::Dressing;
use crate::refusal::Why;
use crate::script::EndOfFile;
use crate::text::{Document, FinalNewline, Splice};

/// How the old text was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// As it was quoted.
    Exact,
    /// But for whitespace at the end of lines.
    TrailingSpace,
    /// But for indentation; the new lines were shifted to fit.
    Indentation,
    /// But for spaces inside lines, or for look-alike characters.
    Spacing,
    /// But for blank lines.
    BlankLines,
    /// After line numbers or bars were taken off.
    LineNumbers,
    /// After one level of escaping was undone.
    Escapes,
    /// After code fences or a file name comment were taken off.
    Fences,
    /// In parts, around lines that the text leaves out.
    Elision,
    /// But for small slips in a few lines, everything else being equal and unique.
    Slips,
    /// By line number or header, nothing being quoted.
    Place,
    /// The whole file.
    Whole,
}

impl How {
    /// A word for it, as reports use it.
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

    fn of(candidate: &Candidate) -> Self {
        match (candidate.level, candidate.blanks) {
            (Level::Slips, _) => Self::Slips,
            (Level::Spacing | Level::Squeezed, _) => Self::Spacing,
            (Level::Indent | Level::UnevenIndent, _) => Self::Indentation,
            (_, Blanks::Differ | Blanks::EdgesDiffer) => Self::BlankLines,
            (Level::TrailingSpace, Blanks::Same) => Self::TrailingSpace,
            (Level::Exact, Blanks::Same) => Self::Exact,
        }
    }

    fn dressed(dressing: Dressing) -> Self {
        match dressing {
            Dressing::Fences => Self::Fences,
            Dressing::LineNumbers => Self::LineNumbers,
            Dressing::Escapes => Self::Escapes,
            Dressing::Entities => Self::Escapes,
        }
    }
}

/// An edit that has found its place.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    pub(crate) splices: Vec<Splice>,
    /// The matched lines, from 0.
    pub(crate) lines: Range<usize>,
    pub(crate) how: How,
}

/// What kind of edit the operations are from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Patch,
    Replacement,
}

/// What happens to the quoted lines (by their number) and between them.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Keep(usize),
    Remove(usize),
    Add(String),
}

/// The operations that turn `old` lines into `new` lines.
pub(crate) fn line_ops(old: &[&str], new: &[&str]) -> Vec<Op> {
    let mut ops = Vec::new();
    for part in compare(old, new, None) {
        let (tag, old_range, new_range) = part.as_tag_tuple();
        if tag == similar::DiffTag::Equal {
            ops.extend(old_range.map(Op::Keep));
        } else {
            ops.extend(old_range.map(Op::Remove));
            ops.extend(
                new_range
                    .filter_map(|at| new.get(at))
                    .map(|line| Op::Add((*line).to_owned())),
            );
        }
    }
    ops
}

/// The changes that `ops` make where `candidate` matched.
pub(crate) fn carry_out(
    haystack: &Haystack<'_>,
    quoted: &[Quoted],
    candidate: &Candidate,
    ops: &[Op],
    (source, end): (Source, EndOfFile),
) -> Result<Vec<Splice>, Why> {
    let document = haystack.document;
    let reindent = reindent_for(document, quoted, candidate, ops, source);
    let mut groups = Groups {
        cursor: candidate.first(),
        groups: Vec::new(),
        open: false,
    };
    let mut near = 0;
    let mut is_first = true;
    let mut lost_blanks = 0;
    for (at, op) in ops.iter().enumerate() {
        match op {
            Op::Keep(number) => {
                near = *number;
                match candidate.pairs[*number] {
                    Some(line) => groups.keep(line),
                    None if is_between_additions(ops, at) => groups.add(quoted[*number].text.clone()),
                    None => {}
                }
                is_first = false;
            }
            Op::Remove(number) => {
                near = *number;
                match candidate.pairs[*number] {
                    Some(line) => groups.remove(line),
                    None => lost_blanks += 1,
                }
            }
            Op::Add(line) => {
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
        && groups.iter().all(|group| group.is_there_already(document, candidate))
    {
        return Err(Why::AlreadyApplied {
            line: first.lines.start.max(1),
        });
    }
    Ok(groups
        .into_iter()
        .flat_map(|group| group.splices(document, source, end))
        .collect())
}

fn is_blank_add(op: &Op) -> bool {
    matches!(op, Op::Add(line) if is_blank(line))
}

/// Whether a quoted blank line that the file does not have stands between added lines: then it was meant to be added.
fn is_between_additions(ops: &[Op], at: usize) -> bool {
    let added = |op: Option<&Op>| matches!(op, Some(Op::Add(_)));
    let mut after = at + 1;
    while matches!(ops.get(after), Some(Op::Keep(_))) && after < at + 3 {
        after += 1;
    }
    at > 0 && added(ops.get(at - 1)) && added(ops.get(after))
}

fn reindent_for(document: &Document, quoted: &[Quoted], candidate: &Candidate, ops: &[Op], source: Source) -> Reindent {
    if candidate.level <= Level::TrailingSpace {
        return Reindent::none();
    }
    let pairs: Vec<_> = texts(document, quoted, &candidate.pairs)
        .into_iter()
        .map(|(number, text, actual)| (number, (indent_of(text), indent_of(actual))))
        .collect();
    // A patch whose lines are each off by another amount says nothing about where its new lines belong.
    let is_first_cut = pairs.iter().skip(1).all(|(_, (quoted, actual))| quoted == actual) && pairs.len() > 1;
    if candidate.level == Level::UnevenIndent && source == Source::Patch && !is_first_cut {
        return Reindent::none();
    }
    let new: Vec<&str> = ops
        .iter()
        .filter_map(|op| match op {
            Op::Keep(number) => quoted.get(*number).map(|line| line.text.as_str()),
            Op::Add(line) => Some(line.as_str()),
            Op::Remove(_) => None,
        })
        .collect();
    Reindent::new(&pairs, &new)
}

/// Removed and added lines that belong together.
struct Group {
    lines: Range<usize>,
    added: Vec<String>,
}

struct Groups {
    /// The line of the file that comes next.
    cursor: usize,
    groups: Vec<Group>,
    open: bool,
}

impl Groups {
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

    fn group(&mut self, line: usize) -> &mut Group {
        if !self.open || self.groups.is_empty() {
            self.groups.push(Group {
                lines: line..line,
                added: Vec::new(),
            });
            self.open = true;
        }
        let last = self.groups.len() - 1;
        &mut self.groups[last]
    }
}

impl Group {
    /// Whether lines that are only added stand already next to the quoted ones: the edit was made before.
    fn is_there_already(&self, document: &Document, candidate: &Candidate) -> bool {
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

    /// The changes to make. A replacement line for line leaves each line its own ending.
    fn splices(self, document: &Document, source: Source, end: EndOfFile) -> Vec<Splice> {
        if source == Source::Patch || self.lines.len() != self.added.len() {
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

    /// The change without the lines at its ends that stay the same.
    fn splice(self, document: &Document, end: EndOfFile) -> Option<Splice> {
        let Self { mut lines, mut added } = self;
        let newline = match end {
            EndOfFile::Newline => FinalNewline::Add,
            EndOfFile::Unsaid if added.len() > lines.len() => FinalNewline::Add,
            EndOfFile::Unsaid | EndOfFile::AsItWas | EndOfFile::NoNewline => FinalNewline::Keep,
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

/// What counts as left out in a file of some kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Omissions {
    /// Nothing: documents show shortened code on purpose.
    None,
    /// Words that say so; a line of dots may be a statement.
    Worded,
    /// A line of dots too, which is no code in such a file.
    Dotted,
}

/// The first line of `new` that says something was left out, unless the old text or the file has that line too.
pub(crate) fn smuggled(document: &Document, old: &str, new: &str, omissions: Omissions) -> Option<Why> {
    let counts = |line: &str| match omissions {
        Omissions::None => false,
        Omissions::Worded => !is_bare_dots(line) && is_omission(line),
        Omissions::Dotted => is_omission(line),
    };
    new.lines()
        .filter(|line| counts(line))
        .find(|line| {
            let same = |other: &str| other.trim() == line.trim();
            !old.lines().any(same) && !document.lines().any(same)
        })
        .map(|line| Why::Placeholder(line.trim().to_owned()))
}
