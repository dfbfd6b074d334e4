//! Places a hunk by its context; headers, order, line numbers and the end of the file select one of several locations.

use std::ops::Range;

use crate::alternative_readings::unescaped_tabs;
use crate::document::{FinalNewline, TextDocument};
use crate::fold::{collapse, indent_of, is_blank, squash_key};
use crate::matcher::{
    Haystack, MatchCandidate, MatchPick, QuotedLine, best, contradicts_hint, is_beaten, is_trivial, solid_lines,
};
use crate::parsed_edit::{EndOfFile, HunkLine, PatchHunk, ReplaceScope, ReplaceUnit};
use crate::refusal::RefusalReason;
use crate::resolve::replace::{self, ReplaceTarget, ambiguous};
use crate::resolve::{LineOp, MatchMethod, OpSource, ResolvedEdit, build_splices};

/// Constraints from the other hunks of the same file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HunkOrder {
    /// The line (from 0) after the previous hunk.
    pub(crate) after: usize,
    /// The number of hunks from this one on that quote the same lines.
    pub(crate) alike: usize,
    /// Whether the line numbers of the other hunks are correct.
    pub(crate) numbers: LineNumbers,
}

/// Whether the line numbers of a diff can be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineNumbers {
    Unconfirmed,
    /// Other hunks have lines at exactly their numbers.
    Confirmed,
}

/// Whether the lines that a hunk quotes are exactly at its line number.
pub(crate) fn is_at_its_line(document: &TextDocument, hunk: &PatchHunk) -> bool {
    let quoted = hunk.lines.iter().filter_map(|line| match line {
        HunkLine::Keep { text, .. } | HunkLine::Remove(text) => Some(text),
        HunkLine::Add(_) => None,
    });
    let from = hunk.hint.map(|line| line.saturating_sub(1));
    from.is_some_and(|from| {
        quoted
            .enumerate()
            .all(|(step, text)| from + step < document.line_count() && document.line(from + step) == text)
    })
}

/// Finds the location of `hunk`.
pub(crate) fn resolve(
    haystack: &Haystack<'_>,
    hunk: &PatchHunk,
    order: HunkOrder,
) -> Result<ResolvedEdit, RefusalReason> {
    let spots = header_spots(haystack, &hunk.headers)?;
    if hunk.is_addition() {
        return addition(haystack, hunk, &spots, order);
    }
    let unsigned = with_dashes_as_text(haystack, &hunk.lines);
    let hunk = &PatchHunk {
        lines: unsigned.unwrap_or_else(|| hunk.lines.clone()),
        ..hunk.clone()
    };
    let (quoted, ops) = quoted_and_ops(&hunk.lines);
    if solid_lines(&quoted).is_empty() {
        return Err(RefusalReason::NoContext);
    }
    if let Some(found) = place(haystack, hunk, &quoted, &ops, &spots, order)? {
        return Ok(found);
    }
    if let Some(lines) = with_bare_lines_added(&hunk.lines) {
        let (quoted, ops) = quoted_and_ops(&lines);
        if !solid_lines(&quoted).is_empty()
            && let Some(found) = place(haystack, hunk, &quoted, &ops, &spots, order)?
        {
            return Ok(found);
        }
    }
    let (old, new) = (old_text(&hunk.lines), new_text(&hunk.lines));
    let hint = hunk.hint.map(|line| line.saturating_sub(1)).or(spots.last().copied());
    replace::resolve(
        haystack,
        ReplaceTarget {
            old: &old,
            new: &new,
            hint,
            scope: ReplaceScope::One,
            unit: ReplaceUnit::Lines,
        },
    )
}

/// The old lines of a hunk as text.
pub(crate) fn old_text(lines: &[HunkLine]) -> String {
    joined(lines, |line| match line {
        HunkLine::Keep { text, .. } | HunkLine::Remove(text) => Some(text),
        HunkLine::Add(_) => None,
    })
}

/// The new lines of a hunk as text.
pub(crate) fn new_text(lines: &[HunkLine]) -> String {
    joined(lines, |line| match line {
        HunkLine::Keep { text, .. } | HunkLine::Add(text) => Some(text),
        HunkLine::Remove(_) => None,
    })
}

fn joined(lines: &[HunkLine], pick: fn(&HunkLine) -> Option<&String>) -> String {
    lines
        .iter()
        .filter_map(pick)
        .fold(String::new(), |text, line| text + line + "\n")
}

fn quoted_and_ops(lines: &[HunkLine]) -> (Vec<QuotedLine>, Vec<LineOp>) {
    let (mut quoted, mut ops) = (Vec::new(), Vec::new());
    for line in lines {
        match line {
            HunkLine::Keep { text, bare } => {
                ops.push(LineOp::Keep(quoted.len()));
                let or = if *bare { None } else { Some(format!(" {text}")) };
                quoted.push(QuotedLine {
                    text: text.clone(),
                    or,
                    is_bare: *bare,
                });
            }
            HunkLine::Remove(text) => {
                ops.push(LineOp::Remove(quoted.len()));
                quoted.push(QuotedLine::plain(text));
            }
            HunkLine::Add(text) => ops.push(LineOp::Add(text.clone())),
        }
    }
    (quoted, ops)
}

fn place(
    haystack: &Haystack<'_>,
    hunk: &PatchHunk,
    quoted: &[QuotedLine],
    ops: &[LineOp],
    spots: &[usize],
    order: HunkOrder,
) -> Result<Option<ResolvedEdit>, RefusalReason> {
    let all = haystack.all(quoted);
    if let Some(lines) = find_overlooked(quoted, spots, &all) {
        return Err(ambiguous(&lines));
    }
    let is_bare = is_trivial(quoted) && spots.is_empty();
    let mut candidates = if is_bare { all.clone() } else { best(all.clone()) };
    candidates = at_end_of_file(haystack, hunk, candidates);
    candidates = below_header(haystack.document, spots, candidates);
    candidates = in_order(candidates, order);
    let hint = hunk.hint.map(|line| line.saturating_sub(1));
    let is_hinted = candidates.len() > 1;
    let is_guess = |candidate: &MatchCandidate| {
        is_bare && is_hinted && (hint != Some(candidate.first()) || is_beaten(&all, candidate))
    };
    match haystack.pick(candidates, hint) {
        MatchPick::None => Ok(None),
        MatchPick::Many(lines) => Err(ambiguous(&lines)),
        MatchPick::One(candidate) if is_guess(&candidate) => {
            Err(ambiguous(&all.iter().map(MatchCandidate::first).collect::<Vec<_>>()))
        }
        MatchPick::One(candidate) => {
            if let Some(lines) = contradicts_hint(&all, &candidate, hint).filter(|_| is_hinted) {
                return Err(ambiguous(&lines));
            }
            let ops = with_real_tabs(haystack, ops);
            let splices = build_splices(haystack, quoted, &candidate, &ops, (OpSource::Patch, hunk.end))?;
            Ok(Some(ResolvedEdit {
                splices,
                lines: candidate.first()..candidate.end(),
                method: MatchMethod::of(&candidate),
            }))
        }
    }
}

/// A looser match directly below the header and a closer one further down: header and text contradict each other.
fn find_overlooked(quoted: &[QuotedLine], spots: &[usize], all: &[MatchCandidate]) -> Option<Vec<usize>> {
    let says_something = quoted.iter().any(|line| line.text.chars().any(char::is_alphanumeric));
    let [spot] = spots else { return None };
    let first = all
        .iter()
        .filter(|candidate| candidate.first() >= *spot)
        .min_by_key(|candidate| candidate.first())?;
    let best = all
        .iter()
        .min_by_key(|candidate| (candidate.rank(), candidate.first()))?;
    (says_something && best.rank() < first.rank()).then(|| vec![first.first(), best.first()])
}

/// Added lines that start with a literal `\t` mean a tab, unless the file has such lines.
fn with_real_tabs(haystack: &Haystack<'_>, ops: &[LineOp]) -> Vec<LineOp> {
    let literal = |line: &str| line.starts_with("\\t") && !line.starts_with("\\te") && !line.starts_with("\\ti");
    let has = ops.iter().any(|op| matches!(op, LineOp::Add(line) if literal(line)));
    if !has || haystack.document.body().contains("\\t") {
        return ops.to_vec();
    }
    ops.iter()
        .map(|op| match op {
            LineOp::Add(line) if literal(line) => LineOp::Add(unescaped_tabs(line)),
            other => other.clone(),
        })
        .collect()
}

fn at_end_of_file(haystack: &Haystack<'_>, hunk: &PatchHunk, candidates: Vec<MatchCandidate>) -> Vec<MatchCandidate> {
    if !hunk.at_end {
        return candidates;
    }
    let document = haystack.document;
    let ends =
        |candidate: &MatchCandidate| (candidate.end()..document.line_count()).all(|at| is_blank(document.line(at)));
    if candidates.iter().any(ends) {
        candidates.into_iter().filter(ends).collect()
    } else {
        candidates
    }
}

/// Of several candidates, those below a header; of several of these, those in the block that it opens.
fn below_header(document: &TextDocument, spots: &[usize], candidates: Vec<MatchCandidate>) -> Vec<MatchCandidate> {
    let Some(top) = spots.iter().copied().min() else {
        return candidates;
    };
    let below: Vec<MatchCandidate> = candidates
        .iter()
        .filter(|candidate| candidate.first() >= top)
        .cloned()
        .collect();
    if below.len() < 2 {
        return if below.is_empty() { candidates } else { below };
    }
    let blocks: Vec<Range<usize>> = spots.iter().map(|spot| *spot..block_end(document, *spot)).collect();
    let inside: Vec<MatchCandidate> = below
        .iter()
        .filter(|candidate| {
            blocks
                .iter()
                .any(|block| block.contains(&candidate.first()) && candidate.end() <= block.end)
        })
        .cloned()
        .collect();
    if inside.is_empty() { below } else { inside }
}

/// The line after the block opened by the line `spot`: the indented lines below it and the closing line.
fn block_end(document: &TextDocument, spot: usize) -> usize {
    let width = |line: &str| {
        indent_of(line)
            .chars()
            .map(|c| if c == '\t' { 4 } else { 1 })
            .sum::<usize>()
    };
    let outer = width(document.line(spot));
    let ends = |at: &usize| !is_blank(document.line(*at)) && width(document.line(*at)) <= outer;
    match (spot + 1..document.line_count()).find(ends) {
        Some(at) if !document.line(at).contains(char::is_alphanumeric) => at + 1,
        Some(at) => at,
        None => document.line_count(),
    }
}

/// Of several candidates, those after the previous hunk; the first of them if as many equal hunks follow.
fn in_order(candidates: Vec<MatchCandidate>, order: HunkOrder) -> Vec<MatchCandidate> {
    if candidates.len() < 2 {
        return candidates;
    }
    let mut later: Vec<MatchCandidate> = candidates
        .iter()
        .filter(|candidate| candidate.first() >= order.after)
        .cloned()
        .collect();
    if later.len() > 1 && later.len() == order.alike {
        later.truncate(1);
    }
    if later.is_empty() { candidates } else { later }
}

/// Reads context lines without a sign that start with a dash, such as comments in SQL, as context: the file has the line
/// with the dash and not without it.
fn with_dashes_as_text(haystack: &Haystack<'_>, lines: &[HunkLine]) -> Option<Vec<HunkLine>> {
    let has = |text: &str| !haystack.index.positions(squash_key(text)).is_empty();
    let mut changed = false;
    let read = |line: &HunkLine| match line {
        HunkLine::Remove(text) if !is_blank(text) && !has(text) && has(&format!("-{text}")) => {
            changed = true;
            HunkLine::Keep {
                text: format!("-{text}"),
                bare: true,
            }
        }
        other => other.clone(),
    };
    let lines: Vec<HunkLine> = lines.iter().map(read).collect();
    changed.then_some(lines)
}

/// Reads unmarked lines between added lines as added.
fn with_bare_lines_added(lines: &[HunkLine]) -> Option<Vec<HunkLine>> {
    let mut out = lines.to_vec();
    let mut changed = false;
    for at in 1..lines.len().saturating_sub(1) {
        if let HunkLine::Keep { text, bare: true } = &lines[at]
            && !is_blank(text)
            && matches!(out[at - 1], HunkLine::Add(_))
            && lines[at + 1..]
                .iter()
                .find(|line| !matches!(line, HunkLine::Keep { bare: true, .. }))
                .is_some_and(|line| matches!(line, HunkLine::Add(_)))
        {
            out[at] = HunkLine::Add(text.clone());
            changed = true;
        }
    }
    changed.then_some(out)
}

/// Added lines without context: below their header, or at the end of the file.
fn addition(
    haystack: &Haystack<'_>,
    hunk: &PatchHunk,
    spots: &[usize],
    order: HunkOrder,
) -> Result<ResolvedEdit, RefusalReason> {
    let document = haystack.document;
    let count = document.line_count();
    let at = match (hunk.headers.is_empty(), hunk.hint) {
        (false, _) => one_spot(spots, order)? + 1,
        (true, Some(0)) => 0,
        (true, Some(line)) if line <= count && order.numbers == LineNumbers::Confirmed => line,
        (true, Some(_)) if !hunk.at_end && count > 0 => return Err(RefusalReason::NoContext),
        (true, _) => count,
    };
    let mut lines: Vec<String> = hunk
        .lines
        .iter()
        .skip_while(|line| matches!(line, HunkLine::Keep { .. }))
        .map(|line| match line {
            HunkLine::Add(text) | HunkLine::Keep { text, .. } | HunkLine::Remove(text) => text.clone(),
        })
        .collect();
    if matches!(hunk.lines.last(), Some(HunkLine::Keep { .. })) {
        while lines.last().is_some_and(|line| is_blank(line)) {
            lines.pop();
        }
    }
    let newline = match hunk.end {
        EndOfFile::Unspecified | EndOfFile::Newline => FinalNewline::Add,
        EndOfFile::Unchanged | EndOfFile::NoNewline => FinalNewline::Keep,
    };
    let splice = document.line_splice(at..at, &lines, newline);
    Ok(ResolvedEdit {
        splices: vec![splice],
        lines: at..at,
        method: MatchMethod::Place,
    })
}

fn one_spot(spots: &[usize], order: HunkOrder) -> Result<usize, RefusalReason> {
    let later: Vec<usize> = spots.iter().copied().filter(|spot| *spot >= order.after).collect();
    match (spots, later.as_slice()) {
        ([only], _) | (_, [only]) => Ok(*only),
        _ => Err(ambiguous(spots)),
    }
}

/// The lines (from 0) of the innermost header, each below one of the previous header.
fn header_spots(haystack: &Haystack<'_>, headers: &[String]) -> Result<Vec<usize>, RefusalReason> {
    let mut spots: Option<Vec<usize>> = None;
    for header in headers {
        let all = lines_like(haystack, header);
        let inside: Vec<usize> = match &spots {
            None => all,
            Some(outer) => {
                let mut inner: Vec<usize> = outer
                    .iter()
                    .filter_map(|spot| all.iter().copied().find(|line| line > spot))
                    .collect();
                inner.dedup();
                inner
            }
        };
        if inside.is_empty() {
            return Err(RefusalReason::NoHeader(header.clone()));
        }
        spots = Some(inside);
    }
    Ok(spots.unwrap_or_default())
}

/// The lines equal to `header`, or those that start with it, or those that contain it.
fn lines_like(haystack: &Haystack<'_>, header: &str) -> Vec<usize> {
    let equal = haystack.index.positions(squash_key(header));
    if !equal.is_empty() {
        return equal.iter().map(|place| haystack.index.line(*place as usize)).collect();
    }
    let sought = collapse(header);
    let sought = sought.trim_end_matches("...").trim_end_matches(['{', ':']).trim_end();
    if sought.is_empty() {
        return Vec::new();
    }
    let (mut starting, mut holding) = (Vec::new(), Vec::new());
    for (number, line) in haystack.document.lines().enumerate() {
        let line = collapse(line);
        if line.starts_with(sought) {
            starting.push(number);
        } else if line.contains(sought) {
            holding.push(number);
        }
    }
    if starting.is_empty() { holding } else { starting }
}
