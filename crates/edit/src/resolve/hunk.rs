//! A hunk finds its place by its context; headers, order, line numbers and the end of the file single out one of several.

use std::ops::Range;

use crate::fold::{collapse, indent_of, is_blank, squash_key};
use crate::matcher::{Candidate, Haystack, Pick, Quoted, against_hint, best, is_trivial, pick, solid_lines};
use crate::reading::unescaped_tabs;
use crate::refusal::Why;
use crate::resolve::replace::{self, Wanted, ambiguous};
use crate::resolve::{How, Op, Resolved, Source, carry_out};
use crate::script::{EndOfFile, Hunk, HunkLine, Scope, Unit};
use crate::text::{Document, FinalNewline};

/// What is known from the hunks before and after in the same file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    /// The line (from 0) after the previous hunk.
    pub(crate) after: usize,
    /// How many hunks from this one on quote the same lines.
    pub(crate) alike: usize,
}

/// Finds the place of `hunk`.
pub(crate) fn resolve(haystack: &Haystack<'_>, hunk: &Hunk, order: Order) -> Result<Resolved, Why> {
    let spots = header_spots(haystack, &hunk.headers)?;
    if hunk.is_addition() {
        return addition(haystack, hunk, &spots, order);
    }
    let (quoted, ops) = quoted_and_ops(&hunk.lines);
    if solid_lines(&quoted).is_empty() {
        return Err(Why::NoContext);
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
        Wanted {
            old: &old,
            new: &new,
            hint,
            scope: Scope::One,
            unit: Unit::Lines,
        },
    )
}

/// The lines that a hunk quotes, as text.
pub(crate) fn old_text(lines: &[HunkLine]) -> String {
    joined(lines, |line| match line {
        HunkLine::Keep { text, .. } | HunkLine::Remove(text) => Some(text),
        HunkLine::Add(_) => None,
    })
}

/// The lines that a hunk leaves, as text.
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

fn quoted_and_ops(lines: &[HunkLine]) -> (Vec<Quoted>, Vec<Op>) {
    let (mut quoted, mut ops) = (Vec::new(), Vec::new());
    for line in lines {
        match line {
            HunkLine::Keep { text, bare } => {
                ops.push(Op::Keep(quoted.len()));
                let or = if *bare { None } else { Some(format!(" {text}")) };
                quoted.push(Quoted { text: text.clone(), or });
            }
            HunkLine::Remove(text) => {
                ops.push(Op::Remove(quoted.len()));
                quoted.push(Quoted::plain(text));
            }
            HunkLine::Add(text) => ops.push(Op::Add(text.clone())),
        }
    }
    (quoted, ops)
}

fn place(
    haystack: &Haystack<'_>,
    hunk: &Hunk,
    quoted: &[Quoted],
    ops: &[Op],
    spots: &[usize],
    order: Order,
) -> Result<Option<Resolved>, Why> {
    let all = haystack.all(quoted);
    if let Some(lines) = overlooked(quoted, spots, &all) {
        return Err(ambiguous(&lines));
    }
    let is_bare = is_trivial(quoted) && spots.is_empty();
    let mut candidates = if is_bare { all.clone() } else { best(all.clone()) };
    candidates = at_end_of_file(haystack, hunk, candidates);
    candidates = below_header(haystack.document, spots, candidates);
    candidates = in_order(candidates, order);
    let hint = hunk.hint.map(|line| line.saturating_sub(1));
    let is_hinted = candidates.len() > 1;
    let is_guess = |candidate: &Candidate| is_bare && is_hinted && hint != Some(candidate.first());
    match pick(candidates, hint) {
        Pick::None => Ok(None),
        Pick::Many(lines) => Err(ambiguous(&lines)),
        Pick::One(candidate) if is_guess(&candidate) => {
            Err(ambiguous(&all.iter().map(Candidate::first).collect::<Vec<_>>()))
        }
        Pick::One(candidate) => {
            if let Some(lines) = against_hint(&all, &candidate, hint).filter(|_| is_hinted) {
                return Err(ambiguous(&lines));
            }
            let ops = with_real_tabs(haystack, ops);
            let splices = carry_out(haystack, quoted, &candidate, &ops, (Source::Patch, hunk.end))?;
            Ok(Some(Resolved {
                splices,
                lines: candidate.first()..candidate.end(),
                how: How::of(&candidate),
            }))
        }
    }
}

/// A looser fit right below the header and a closer one further down: the header says the one, the text says the other.
fn overlooked(quoted: &[Quoted], spots: &[usize], all: &[Candidate]) -> Option<Vec<usize>> {
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

/// Added lines that start with a literal `\t` mean a tab, unless the file itself has such lines.
fn with_real_tabs(haystack: &Haystack<'_>, ops: &[Op]) -> Vec<Op> {
    let literal = |line: &str| line.starts_with("\\t") && !line.starts_with("\\te") && !line.starts_with("\\ti");
    let has = ops.iter().any(|op| matches!(op, Op::Add(line) if literal(line)));
    if !has || haystack.document.body().contains("\\t") {
        return ops.to_vec();
    }
    ops.iter()
        .map(|op| match op {
            Op::Add(line) if literal(line) => Op::Add(unescaped_tabs(line)),
            other => other.clone(),
        })
        .collect()
}

fn at_end_of_file(haystack: &Haystack<'_>, hunk: &Hunk, candidates: Vec<Candidate>) -> Vec<Candidate> {
    if !hunk.at_end {
        return candidates;
    }
    let document = haystack.document;
    let ends = |candidate: &Candidate| (candidate.end()..document.line_count()).all(|at| is_blank(document.line(at)));
    if candidates.iter().any(ends) {
        candidates.into_iter().filter(ends).collect()
    } else {
        candidates
    }
}

/// Of several candidates those below a header; of several of these the ones in the block that it opens.
fn below_header(document: &Document, spots: &[usize], candidates: Vec<Candidate>) -> Vec<Candidate> {
    let Some(top) = spots.iter().copied().min() else {
        return candidates;
    };
    let below: Vec<Candidate> = candidates
        .iter()
        .filter(|candidate| candidate.first() >= top)
        .cloned()
        .collect();
    if below.len() < 2 {
        return if below.is_empty() { candidates } else { below };
    }
    let blocks: Vec<Range<usize>> = spots.iter().map(|spot| *spot..block_end(document, *spot)).collect();
    let inside: Vec<Candidate> = below
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

/// The line after the block that the line `spot` opens: what is indented below it, and the line that closes it.
fn block_end(document: &Document, spot: usize) -> usize {
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

/// Of several candidates those after the previous hunk; the first of them when as many hunks alike are still to come.
fn in_order(candidates: Vec<Candidate>, order: Order) -> Vec<Candidate> {
    if candidates.len() < 2 {
        return candidates;
    }
    let mut later: Vec<Candidate> = candidates
        .iter()
        .filter(|candidate| candidate.first() >= order.after)
        .cloned()
        .collect();
    if later.len() > 1 && later.len() == order.alike {
        later.truncate(1);
    }
    if later.is_empty() { candidates } else { later }
}

/// Unmarked lines between added lines, read as added lines.
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
fn addition(haystack: &Haystack<'_>, hunk: &Hunk, spots: &[usize], order: Order) -> Result<Resolved, Why> {
    let document = haystack.document;
    let count = document.line_count();
    let at = match (hunk.headers.is_empty(), hunk.hint) {
        (false, _) => one_spot(spots, order)? + 1,
        (true, Some(0)) => 0,
        (true, Some(line)) if line < count && !hunk.at_end => return Err(Why::NoContext),
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
        EndOfFile::Unsaid | EndOfFile::Newline => FinalNewline::Add,
        EndOfFile::AsItWas | EndOfFile::NoNewline => FinalNewline::Keep,
    };
    let splice = document.line_splice(at..at, &lines, newline);
    Ok(Resolved {
        splices: vec![splice],
        lines: at..at,
        how: How::Place,
    })
}

fn one_spot(spots: &[usize], order: Order) -> Result<usize, Why> {
    let later: Vec<usize> = spots.iter().copied().filter(|spot| *spot >= order.after).collect();
    match (spots, later.as_slice()) {
        ([only], _) | (_, [only]) => Ok(*only),
        _ => Err(ambiguous(spots)),
    }
}

/// The lines (from 0) of the innermost header, each below one of the header before it.
fn header_spots(haystack: &Haystack<'_>, headers: &[String]) -> Result<Vec<usize>, Why> {
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
            return Err(Why::NoHeader(header.clone()));
        }
        spots = Some(inside);
    }
    Ok(spots.unwrap_or_default())
}

/// The lines equal to `header`, or else those that start with it, or else those that hold it.
fn lines_like(haystack: &Haystack<'_>, header: &str) -> Vec<usize> {
    let equal = haystack.index.places(squash_key(header));
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
