//! Places a replacement: exact text first, then lines, then other readings of the text.

use crate::alternative_readings::alternative_readings;
use crate::document::Splice;
use crate::fold::{indent_of, is_blank, similarity, squash};
use crate::matcher::{Haystack, MatchCandidate, MatchLevel, MatchPick, QuotedLine, best, contradicts_hint, is_trivial};
use crate::parsed_edit::{EndOfFile, ReplaceScope, ReplaceUnit};
use crate::refusal::RefusalReason;
use crate::resolve::{LineOp, MatchMethod, OpSource, ResolvedEdit, build_splices, elision, line_ops, reflow};

/// One replacement to place. The hint is a line counted from 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplaceTarget<'a> {
    pub(crate) old: &'a str,
    pub(crate) new: &'a str,
    pub(crate) hint: Option<usize>,
    pub(crate) scope: ReplaceScope,
    pub(crate) unit: ReplaceUnit,
}

impl<'a> ReplaceTarget<'a> {
    /// Both texts as lines. A final newline starts an empty line only if the old text does not end in one.
    pub(crate) fn lines(self) -> (Vec<&'a str>, Vec<&'a str>) {
        if self.unit == ReplaceUnit::Lines || self.old.ends_with('\n') {
            (self.old.lines().collect(), self.new.lines().collect())
        } else {
            (self.old.split('\n').collect(), self.new.split('\n').collect())
        }
    }
}

/// Finds the location of `wanted`.
pub(crate) fn resolve(haystack: &Haystack<'_>, target: ReplaceTarget<'_>) -> Result<ResolvedEdit, RefusalReason> {
    if let Some(found) = resolve_as_quoted(haystack, target)? {
        return Ok(found);
    }
    if let Some(found) = resolve_alternative(haystack, target)? {
        return Ok(found);
    }
    if let Some(found) = reflow::resolve(haystack, target)? {
        return Ok(found);
    }
    if let Some(found) = reflow::with_omitted_line(haystack, target)? {
        return Ok(found);
    }
    if let Some(found) = elision::resolve(haystack, target) {
        return found;
    }
    if target.unit == ReplaceUnit::Lines
        && let Some(found) = inside_line(haystack, target)?
    {
        return Ok(found);
    }
    let (old, new) = target.lines();
    let quoted: Vec<QuotedLine> = old.iter().map(|line| QuotedLine::plain(*line)).collect();
    match haystack.pick(haystack.typo_candidates(&quoted), target.hint) {
        MatchPick::One(candidate) if keeps_mistyped(haystack, &old, &new, &candidate) => {
            by_lines(haystack, &quoted, &old, &new, &candidate)
        }
        MatchPick::Many(lines) => Err(ambiguous(&lines)),
        MatchPick::One(_) | MatchPick::None => Err(RefusalReason::NotFound),
    }
}

/// The best reading of the text without line numbers, escapes or fences: one that matches exactly, or the first.
fn resolve_alternative(
    haystack: &Haystack<'_>,
    target: ReplaceTarget<'_>,
) -> Result<Option<ResolvedEdit>, RefusalReason> {
    let mut first: Option<Result<ResolvedEdit, RefusalReason>> = None;
    for reading in alternative_readings(target.old, target.new) {
        let hint = target.hint.or(reading.hint.map(|line| line.saturating_sub(1)));
        let again = ReplaceTarget {
            old: &reading.old,
            new: &reading.new,
            hint,
            ..target
        };
        let (is_exact, outcome) = match resolve_as_quoted(haystack, again) {
            Ok(None) => continue,
            Ok(Some(found)) if reading.is_placed && reading.hint != Some(found.lines.start + 1) => continue,
            Ok(Some(found)) => {
                let is_exact = matches!(found.method, MatchMethod::Exact | MatchMethod::TrailingSpace);
                let method = MatchMethod::from_normalization(reading.dressing);
                (is_exact, Ok(ResolvedEdit { method, ..found }))
            }
            Err(why) => (false, Err(why)),
        };
        if is_exact {
            return outcome.map(Some);
        }
        first.get_or_insert(outcome);
    }
    first.transpose()
}

/// The text as quoted: exactly, or line by line.
fn resolve_as_quoted(
    haystack: &Haystack<'_>,
    target: ReplaceTarget<'_>,
) -> Result<Option<ResolvedEdit>, RefusalReason> {
    if target.unit == ReplaceUnit::Text {
        if let Some(found) = exact(haystack, target)? {
            if starts_in_indent(haystack, target) {
                return by_whole_lines(haystack, target, found).map(Some);
            }
            return Ok(Some(found));
        }
        // The quoted text may end in a newline where the file does not.
        let (old, new) = (
            target.old.trim_end_matches('\n'),
            target.new.strip_suffix('\n').unwrap_or(target.new),
        );
        if !old.is_empty()
            && old.len() < target.old.len()
            && haystack.document.body().ends_with(old)
            && let Some(found) = exact(haystack, ReplaceTarget { old, new, ..target })?
        {
            return Ok(Some(found));
        }
    }
    lines(haystack, target)
}

/// Whether the text occurs once, starts inside the indentation of a line and is replaced by several lines.
fn starts_in_indent(haystack: &Haystack<'_>, target: ReplaceTarget<'_>) -> bool {
    let body = haystack.document.body();
    let several = target.new.trim_end_matches('\n').contains('\n');
    several
        && target.scope == ReplaceScope::One
        && body.find(target.old).is_some_and(|at| {
            let before = &body[haystack.document.line_start(haystack.document.line_at(at))..at];
            !before.is_empty() && is_blank(before)
        })
}

/// The new lines need the missing indentation too, unless they have it already.
fn by_whole_lines(
    haystack: &Haystack<'_>,
    target: ReplaceTarget<'_>,
    found: ResolvedEdit,
) -> Result<ResolvedEdit, RefusalReason> {
    if let Some(by_lines) = lines(haystack, target)? {
        return Ok(by_lines);
    }
    let outer = indent_of(haystack.document.line(found.lines.start));
    let is_placed = target
        .new
        .lines()
        .skip(1)
        .all(|line| is_blank(line) || line.starts_with(outer));
    if is_placed {
        Ok(found)
    } else {
        Err(RefusalReason::Indentation)
    }
}

/// Whether every mistyped line is kept or replaced by a similar one: a removed line that is not in the file may be
/// another line.
fn keeps_mistyped(haystack: &Haystack<'_>, old: &[&str], new: &[&str], candidate: &MatchCandidate) -> bool {
    let plain = |line: &str| squash(line.trim_end_matches(|c: char| !c.is_alphanumeric()));
    let is_mistyped = |number: usize| {
        candidate.pairs[number].is_some_and(|at| plain(haystack.document.line(at)) != plain(old[number]))
    };
    let has_like = |line: &str| {
        new.iter()
            .any(|new| !old.contains(new) && similarity(line.trim(), new.trim()) >= 0.6)
    };
    line_ops(old, new).iter().all(|op| match op {
        LineOp::Remove(number) => !is_mistyped(*number) || has_like(old[*number]),
        LineOp::Keep(_) | LineOp::Add(_) => true,
    })
}

/// Every exact occurrence of the text.
fn exact(haystack: &Haystack<'_>, target: ReplaceTarget<'_>) -> Result<Option<ResolvedEdit>, RefusalReason> {
    let document = haystack.document;
    let body = document.body();
    let starts: Vec<usize> = match target.scope {
        ReplaceScope::All => body.match_indices(target.old).map(|(start, _)| start).collect(),
        ReplaceScope::One => overlapping(body, target.old),
    };
    // Where the text is a whole line in some places, a hint does not refer to a part of another line.
    let is_line = |start: usize| {
        let end = start + target.old.trim_end_matches('\n').len();
        body[..start].ends_with('\n') && body[end..].starts_with('\n')
    };
    let chosen = match (starts.as_slice(), target.scope) {
        ([], _) => return Ok(None),
        (all, ReplaceScope::All) => all.to_vec(),
        ([only], ReplaceScope::One) => vec![*only],
        (many, ReplaceScope::One) => {
            let lines: Vec<usize> = many.iter().map(|start| document.line_at(*start)).collect();
            let at = target
                .hint
                .and_then(|hint| haystack.nearest(&lines, hint))
                .filter(|at| is_line(many[*at]) || !many.iter().any(|start| is_line(*start)))
                .ok_or_else(|| ambiguous(&lines))?;
            vec![many[at]]
        }
    };
    let (Some(first), Some(last)) = (chosen.first(), chosen.last()) else {
        return Ok(None);
    };
    if target.scope == ReplaceScope::One && is_already_applied(body, *first, target) {
        return Err(RefusalReason::AlreadyApplied {
            line: document.line_at(*first) + 1,
        });
    }
    let lines = document.line_at(*first)..document.line_at(last + target.old.len().saturating_sub(1)) + 1;
    let splices = chosen
        .iter()
        .flat_map(|start| narrow_splice(*start, target.old, target.new))
        .collect();
    Ok(Some(ResolvedEdit {
        splices,
        lines,
        method: MatchMethod::Exact,
    }))
}

/// Whether the new text only adds to the old text and the addition already exists: the edit was applied before.
fn is_already_applied(body: &str, start: usize, target: ReplaceTarget<'_>) -> bool {
    let says_something = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count() > 2;
    let (before, after) = (&body[..start], &body[start + target.old.len()..]);
    let added_after = target
        .new
        .strip_prefix(target.old)
        .filter(|added| says_something(added));
    let added_before = target
        .new
        .strip_suffix(target.old)
        .filter(|added| says_something(added));
    added_after.is_some_and(|added| after.starts_with(added.trim_end_matches('\n')))
        || added_before.is_some_and(|added| before.ends_with(added))
}

/// Replaces `old` at `start` by `new`: line by line if they have the same number of lines, so that each line keeps its
/// ending, otherwise without the whole lines they share at their ends.
fn narrow_splice(start: usize, old: &str, new: &str) -> Vec<Splice> {
    if old.matches('\n').count() == new.matches('\n').count() {
        let mut at = start;
        let mut splices = Vec::new();
        for (one, other) in old.split('\n').zip(new.split('\n')) {
            if one != other {
                splices.push(Splice {
                    range: at..at + one.len(),
                    text: other.to_owned(),
                });
            }
            at += one.len() + 1;
        }
        return splices;
    }
    let mut head = 0;
    for (one, other) in old.split_inclusive('\n').zip(new.split_inclusive('\n')) {
        if one != other || !one.ends_with('\n') {
            break;
        }
        head += one.len();
    }
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let mut tail = 0;
    for (one, other) in old_rest.rsplit('\n').zip(new_rest.rsplit('\n')) {
        let next = tail + one.len() + 1;
        if one != other || next > old_rest.len() || next > new_rest.len() {
            break;
        }
        tail = next;
    }
    let text = new_rest[..new_rest.len() - tail].to_owned();
    vec![Splice {
        range: start + head..start + old.len() - tail,
        text,
    }]
}

/// The positions of `needle` in `text`, including overlapping ones; at most a thousand.
fn overlapping(text: &str, needle: &str) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(needle)) {
        starts.push(from + at);
        let step = needle.chars().next().map_or(1, char::len_utf8);
        from += at + step;
        if starts.len() >= 1000 {
            break;
        }
    }
    starts
}

/// Matches line by line, ignoring whitespace and look-alike characters.
fn lines(haystack: &Haystack<'_>, target: ReplaceTarget<'_>) -> Result<Option<ResolvedEdit>, RefusalReason> {
    let (old, new) = target.lines();
    let quoted: Vec<QuotedLine> = old.iter().map(|line| QuotedLine::plain(*line)).collect();
    let all = haystack.all(&quoted);
    let candidates = if is_trivial(&quoted) {
        all.clone()
    } else {
        best(all.clone())
    };
    if target.scope == ReplaceScope::All && candidates.len() > 1 {
        return all_lines(haystack, &quoted, &old, &new, candidates).map(Some);
    }
    match haystack.pick(candidates, target.hint) {
        MatchPick::None => Ok(None),
        MatchPick::One(candidate) if all.len() > 1 && is_trivial(&quoted) && target.hint != Some(candidate.first()) => {
            Err(ambiguous(&all.iter().map(MatchCandidate::first).collect::<Vec<_>>()))
        }
        MatchPick::One(candidate) => match contradicts_hint(&all, &candidate, target.hint) {
            Some(lines) => Err(ambiguous(&lines)),
            None => by_lines(haystack, &quoted, &old, &new, &candidate).map(Some),
        },
        MatchPick::Many(lines) => Err(ambiguous(&lines)),
    }
}

fn all_lines(
    haystack: &Haystack<'_>,
    quoted: &[QuotedLine],
    old: &[&str],
    new: &[&str],
    mut candidates: Vec<MatchCandidate>,
) -> Result<ResolvedEdit, RefusalReason> {
    candidates.sort_by_key(MatchCandidate::first);
    let mut all: Option<ResolvedEdit> = None;
    for candidate in candidates {
        if all.as_ref().is_some_and(|all| candidate.first() < all.lines.end) {
            continue;
        }
        let found = by_lines(haystack, quoted, old, new, &candidate)?;
        match &mut all {
            None => all = Some(found),
            Some(all) => {
                all.lines.end = found.lines.end;
                all.splices.extend(found.splices);
            }
        }
    }
    all.ok_or(RefusalReason::NotFound)
}

pub(crate) fn by_lines(
    haystack: &Haystack<'_>,
    quoted: &[QuotedLine],
    old: &[&str],
    new: &[&str],
    candidate: &MatchCandidate,
) -> Result<ResolvedEdit, RefusalReason> {
    let splices = build_splices(
        haystack,
        quoted,
        candidate,
        &line_ops(old, new),
        (OpSource::Replacement, EndOfFile::Unchanged),
    )?;
    Ok(ResolvedEdit {
        splices,
        lines: candidate.first()..candidate.end(),
        method: MatchMethod::of(candidate),
    })
}

/// Line formats may still quote part of a line; it must be unique and not start or end inside a word.
fn inside_line(haystack: &Haystack<'_>, target: ReplaceTarget<'_>) -> Result<Option<ResolvedEdit>, RefusalReason> {
    let (old, new) = (target.old.trim_end_matches('\n'), target.new.trim_end_matches('\n'));
    // A line that is quoted in part and changed may be another line.
    let keeps_ends = old.lines().next() == new.lines().next() && old.lines().next_back() == new.lines().next_back();
    if old.contains('\n') && !keeps_ends {
        return Ok(None);
    }
    if old.trim().len() < 2 || target.scope == ReplaceScope::All {
        return Ok(None);
    }
    let body = haystack.document.body();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let starts = overlapping(body, old);
    let whole = starts.iter().all(|start| {
        let before = body[..*start].chars().next_back();
        let after = body[start + old.len()..].chars().next();
        !(before.is_some_and(is_word) && old.starts_with(is_word)
            || after.is_some_and(is_word) && old.ends_with(is_word))
    });
    if !whole {
        return Ok(None);
    }
    exact(haystack, ReplaceTarget { old, new, ..target })
}

pub(crate) fn ambiguous(lines: &[usize]) -> RefusalReason {
    let mut lines: Vec<usize> = lines.iter().map(|line| line + 1).collect();
    lines.sort_unstable();
    lines.dedup();
    RefusalReason::Ambiguous {
        lines,
        neighbours: Vec::new(),
    }
}

/// The line where `text` already exists as whole lines, if it is distinctive enough.
pub(crate) fn find_already_applied(haystack: &Haystack<'_>, text: &str) -> Option<usize> {
    let quoted: Vec<QuotedLine> = text.lines().map(QuotedLine::plain).collect();
    let found = haystack.best(&quoted);
    let candidate = found
        .first()
        .filter(|candidate| candidate.level <= MatchLevel::UnevenIndent)?;
    (found.len() == 1 && text.trim().len() >= 8).then(|| candidate.first())
}
