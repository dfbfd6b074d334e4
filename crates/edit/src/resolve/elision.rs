//! Old text with "..." lines: each part is placed separately, and the omitted lines stay unchanged.

use std::ops::Range;

use crate::document::TextDocument;
use crate::fold::{indent_of, is_blank};
use crate::matcher::{Haystack, MatchPick, QuotedLine};
use crate::parsed_edit::ReplaceScope;
use crate::placeholder::is_omission;
use crate::refusal::RefusalReason;
use crate::resolve::replace::{ReplaceTarget, ambiguous, by_lines};
use crate::resolve::{MatchMethod, ResolvedEdit};

/// `None` if the old text omits nothing.
pub(crate) fn resolve(
    haystack: &Haystack<'_>,
    target: ReplaceTarget<'_>,
) -> Option<Result<ResolvedEdit, RefusalReason>> {
    if target.scope == ReplaceScope::All || !target.old.lines().any(is_omission) {
        return None;
    }
    let (old, new) = (parts(target.old), parts(target.new));
    if old.len() != new.len() {
        return Some(Err(RefusalReason::Elision));
    }
    Some(place(haystack, &old, &new, target.hint))
}

/// Whether the omitted lines leave the block that the part above started, or are disproportionately many.
fn leaves_block(document: &TextDocument, above: &Range<usize>, below: usize) -> bool {
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
) -> Result<ResolvedEdit, RefusalReason> {
    let mut from = 0;
    let mut above: Option<Range<usize>> = None;
    let mut all: Option<ResolvedEdit> = None;
    for (old, new) in old.iter().zip(new) {
        if old.iter().all(|line| is_blank(line)) {
            if new.iter().all(|line| is_blank(line)) {
                continue;
            }
            return Err(RefusalReason::Elision);
        }
        let quoted: Vec<QuotedLine> = old.iter().map(|line| QuotedLine::plain(*line)).collect();
        let candidates: Vec<_> = haystack
            .best(&quoted)
            .into_iter()
            .filter(|candidate| candidate.first() >= from)
            .collect();
        match haystack.pick(candidates, hint.take()) {
            MatchPick::None => return Err(RefusalReason::NotFound),
            MatchPick::Many(_) if old == new => {}
            MatchPick::Many(lines) => return Err(ambiguous(&lines)),
            MatchPick::One(candidate) => {
                if let Some(above) = above.replace(candidate.first()..candidate.end())
                    && leaves_block(haystack.document, &above, candidate.first())
                {
                    return Err(RefusalReason::Elision);
                }
                from = candidate.end();
                let found = by_lines(haystack, &quoted, old, new, &candidate)?;
                let all = all.get_or_insert(ResolvedEdit {
                    splices: Vec::new(),
                    lines: found.lines.clone(),
                    method: MatchMethod::Elision,
                });
                all.lines.end = found.lines.end;
                all.splices.extend(found.splices);
            }
        }
    }
    all.ok_or(RefusalReason::NotFound)
}
