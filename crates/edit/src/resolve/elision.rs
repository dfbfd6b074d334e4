//! Old text with "..." lines: each part is placed on its own, what is left out stays as it is.

use std::ops::Range;

use crate::fold::{indent_of, is_blank};
use crate::matcher::{Haystack, Pick, Quoted, pick};
use crate::placeholder::is_omission;
use crate::refusal::Why;
use crate::resolve::replace::{Wanted, ambiguous, by_lines};
use crate::resolve::{How, Resolved};
use crate::script::Scope;
use crate::text::Document;

/// Nothing when the old text leaves nothing out.
pub(crate) fn resolve(haystack: &Haystack<'_>, wanted: Wanted<'_>) -> Option<Result<Resolved, Why>> {
    if wanted.scope == Scope::All || !wanted.old.lines().any(is_omission) {
        return None;
    }
    let (old, new) = (parts(wanted.old), parts(wanted.new));
    if old.len() != new.len() {
        return Some(Err(Why::Elision));
    }
    Some(place(haystack, &old, &new, wanted.hint))
}

/// Whether the lines left out lead out of the block that the part above them began, or are out of all proportion.
fn leaves_block(document: &Document, above: &Range<usize>, below: usize) -> bool {
    const MOST: usize = 300;
    let width = |line: &str| {
        indent_of(line)
            .chars()
            .map(|c| if c == '\t' { 4 } else { 1 })
            .sum::<usize>()
    };
    let (outer, inner) = (width(document.line(above.start)), width(document.line(below)));
    let least = if inner > outer { outer + 1 } else { inner };
    let left_out = above.end..below;
    left_out.len() > MOST
        || left_out
            .map(|at| document.line(at))
            .any(|line| !is_blank(line) && width(line) < least)
}

fn parts(text: &str) -> Vec<Vec<&str>> {
    let mut parts = vec![Vec::new()];
    for line in text.lines() {
        if is_omission(line) {
            parts.push(Vec::new());
        } else if let Some(last) = parts.last_mut() {
            last.push(line);
        }
    }
    parts
}

fn place(
    haystack: &Haystack<'_>,
    old: &[Vec<&str>],
    new: &[Vec<&str>],
    mut hint: Option<usize>,
) -> Result<Resolved, Why> {
    let mut from = 0;
    let mut above: Option<Range<usize>> = None;
    let mut all: Option<Resolved> = None;
    for (old, new) in old.iter().zip(new) {
        if old.iter().all(|line| is_blank(line)) {
            if new.iter().all(|line| is_blank(line)) {
                continue;
            }
            return Err(Why::Elision);
        }
        let quoted: Vec<Quoted> = old.iter().map(|line| Quoted::plain(*line)).collect();
        let candidates: Vec<_> = haystack
            .best(&quoted)
            .into_iter()
            .filter(|candidate| candidate.first() >= from)
            .collect();
        match pick(candidates, hint.take()) {
            Pick::None => return Err(Why::NotFound),
            Pick::Many(_) if old == new => {}
            Pick::Many(lines) => return Err(ambiguous(&lines)),
            Pick::One(candidate) => {
                if let Some(above) = above.replace(candidate.first()..candidate.end())
                    && leaves_block(haystack.document, &above, candidate.first())
                {
                    return Err(Why::Elision);
                }
                from = candidate.end();
                let found = by_lines(haystack, &quoted, old, new, &candidate)?;
                let all = all.get_or_insert(Resolved {
                    splices: Vec::new(),
                    lines: found.lines.clone(),
                    how: How::Elision,
                });
                all.lines.end = found.lines.end;
                all.splices.extend(found.splices);
            }
        }
    }
    all.ok_or(Why::NotFound)
}
