//! Places a replacement: exact text first, then lines, then other readings of the text.

mod indentation;

use std::ops::Range;

use crate::alternative_readings::{Normalization, alternative_readings};
use crate::document::{Splice, TextDocument};
use crate::fold::{indent_of, is_blank, similarity, squash};
use crate::matcher::{
    Haystack, MatchCandidate, MatchLevel, MatchPick, QuotedLine, best, contradicts_hint, is_beaten, is_trivial,
};
use crate::parsed_edit::{EndOfFile, ReplaceScope, ReplaceUnit};
use crate::refusal::RefusalReason;
use crate::resolve::placement::repeated_neighbour;
use crate::resolve::{LineOp, MatchMethod, OpSource, ResolvedEdit, build_splices, elision, line_ops, reflow};
use crate::text_diff::compare;

use indentation::{by_whole_lines, starts_in_indent, with_indentation_once};

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
    let completed = with_newlines_of_old(target);
    let target = ReplaceTarget {
        new: completed.as_deref().unwrap_or(target.new),
        ..target
    };
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

/// The new text with the newline at its start or end that only the old text has: without it, lines would be joined.
fn with_newlines_of_old(target: ReplaceTarget<'_>) -> Option<String> {
    let (old, new) = (target.old, target.new);
    let lacks_start = old.starts_with('\n') && !new.starts_with('\n');
    let lacks_end = old.ends_with('\n') && !new.ends_with('\n');
    // An edit that changes nothing else joins lines on purpose.
    let is_change = old.trim_matches('\n') != new.trim_matches('\n') && !is_blank(new);
    let is_open = target.unit == ReplaceUnit::Text && is_change && !is_blank(old) && (lacks_start || lacks_end);
    let newline = |lacks: bool| if lacks { "\n" } else { "" };
    is_open.then(|| format!("{}{new}{}", newline(lacks_start), newline(lacks_end)))
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
        let completed = with_newlines_of_old(again);
        let again = ReplaceTarget {
            new: completed.as_deref().unwrap_or(again.new),
            ..again
        };
        // A listing consists of whole lines.
        let resolve = match reading.dressing {
            Normalization::LineNumbers => lines,
            Normalization::Fences | Normalization::Escapes | Normalization::Entities => resolve_as_quoted,
        };
        let (is_exact, outcome) = match resolve(haystack, again) {
            Ok(None) => continue,
            Ok(Some(found)) if reading.is_placed && reading.hint != Some(found.lines.start + 1) => continue,
            Ok(Some(found)) if reading.is_mixed && found.method == MatchMethod::Indentation => {
                (false, Err(RefusalReason::Indentation))
            }
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
            if let Some(found) = with_indentation_once(haystack.document, target, &found)? {
                return Ok(Some(found));
            }
            if starts_in_indent(haystack, target, &found) {
                return by_whole_lines(haystack, target, found).map(Some);
            }
            if ends_before_trailing_space(haystack.document, found.lines.start, target)
                && let Some(by_lines) = lines(haystack, target)?
                && by_lines.lines == found.lines
            {
                return Ok(Some(by_lines));
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

/// Whether the text is followed by spaces at the end of its line, and other lines take the place of that line.
fn ends_before_trailing_space(document: &TextDocument, first: usize, target: ReplaceTarget<'_>) -> bool {
    let rest = || {
        let (_, after) = document.body()[document.line_start(first)..].split_once(target.old)?;
        after.split('\n').next()
    };
    let is_longer = target.old.matches('\n').count() != target.new.matches('\n').count();
    target.scope == ReplaceScope::One && is_longer && rest().is_some_and(|rest| !rest.is_empty() && is_blank(rest))
}

/// Whether every mistyped line is kept or replaced by a similar one: a removed line that is not in the file may be
/// another line.
fn keeps_mistyped(haystack: &Haystack<'_>, old: &[&str], new: &[&str], candidate: &MatchCandidate) -> bool {
    let plain = |line: &str| squash(line.trim_end_matches(|c: char| !c.is_alphanumeric()));
    let is_mistyped = |number: usize| {
        candidate.pairs[number].is_some_and(|at| plain(haystack.document.line(at)) != plain(old[number]))
    };
    let like = |line: &str| {
        let mut changed = new.iter().filter(|new| !old.contains(new));
        changed.find(|new| similarity(line.trim(), new.trim()) >= 0.6)
    };
    // The new line must not contain what is mistyped in the old one.
    let has_slip = |number: usize, new: &str| {
        let actual = candidate.pairs[number].map_or("", |at| haystack.document.line(at));
        slip(old[number].trim(), actual.trim()).is_none_or(|slip| new.contains(slip))
    };
    // A mistyped line that is also added is mistyped there, too.
    let is_added = |number: usize| {
        let count = |lines: &[&str]| lines.iter().filter(|line| line.trim() == old[number].trim()).count();
        count(new) > count(old)
    };
    if (0..old.len()).any(|number| is_mistyped(number) && is_added(number)) {
        return false;
    }
    line_ops(old, new).iter().all(|op| match op {
        LineOp::Remove(number) => {
            !is_mistyped(*number) || like(old[*number]).is_some_and(|new| !has_slip(*number, new))
        }
        LineOp::Keep(_) | LineOp::Add(_) => true,
    })
}

/// The part of a quoted line that differs from the actual one, with some characters around it.
fn slip<'a>(quoted: &'a str, actual: &str) -> Option<&'a str> {
    let equal = |(one, other): &(char, char)| one == other;
    let size = |pairs: &mut dyn Iterator<Item = (char, char)>| -> usize {
        pairs.take_while(equal).map(|(one, _)| one.len_utf8()).sum()
    };
    let head = size(&mut quoted.chars().zip(actual.chars()));
    let tail = size(
        &mut quoted[head..]
            .chars()
            .rev()
            .zip(actual[head.min(actual.len())..].chars().rev()),
    );
    let start = quoted.floor_char_boundary(head.saturating_sub(2));
    let end = quoted.ceil_char_boundary((quoted.len() - tail + 1).min(quoted.len()));
    quoted.get(start..end)
}

/// Every exact occurrence of the text.
fn exact(haystack: &Haystack<'_>, target: ReplaceTarget<'_>) -> Result<Option<ResolvedEdit>, RefusalReason> {
    let document = haystack.document;
    let body = document.body();
    let starts: Vec<usize> = match target.scope {
        ReplaceScope::All => body.match_indices(target.old).map(|(start, _)| start).collect(),
        ReplaceScope::One => overlapping(body, target.old),
    };
    // If the text is a whole line at some locations, a hint does not refer to a part of another line.
    let is_line = |start: usize| {
        let end = start + target.old.trim_end_matches('\n').len();
        (start == 0 || body[..start].ends_with('\n')) && (end == body.len() || body[end..].starts_with('\n'))
    };
    if let Some(last) = copy_at_end(body, target).filter(|_| !starts.is_empty()) {
        let places = starts.iter().copied().chain([last]);
        let lines: Vec<usize> = places.map(|start| document.line_at(start)).collect();
        let at = target.hint.and_then(|hint| haystack.nearest(&lines, hint));
        if at.ok_or_else(|| ambiguous(&lines))? == starts.len() {
            let (old, new) = (&body[last..], target.new.strip_suffix('\n').unwrap_or(target.new));
            return exact(haystack, ReplaceTarget { old, new, ..target });
        }
    }
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
    if chosen.iter().any(|start| repeats_rest_of_line(body, *start, target)) {
        return Err(RefusalReason::PartOfLine { line: lines.start + 1 });
    }
    if target.scope == ReplaceScope::One
        && let Some(line) = repeated_neighbour_of_text(document, *first, &lines, target)
    {
        return Err(RefusalReason::RepeatedNeighbour { line: line + 1 });
    }
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

/// Where the last lines of a file without a final newline are the text except for that newline.
fn copy_at_end(body: &str, target: ReplaceTarget<'_>) -> Option<usize> {
    let old = target.old.strip_suffix('\n').filter(|old| !is_blank(old))?;
    let start = body.len().checked_sub(old.len())?;
    let is_line = start == 0 || body[..start].ends_with('\n');
    (target.scope == ReplaceScope::One && body.ends_with(old) && is_line).then_some(start)
}

/// The line next to whole lines of old text that the new text repeats.
fn repeated_neighbour_of_text(
    document: &TextDocument,
    start: usize,
    lines: &Range<usize>,
    target: ReplaceTarget<'_>,
) -> Option<usize> {
    let (old, new) = (target.old.trim_end_matches('\n'), target.new.trim_end_matches('\n'));
    let is_whole = start == document.line_start(lines.start) && document.body()[start + old.len()..].starts_with('\n');
    let lines = lines.start..lines.start + old.matches('\n').count() + 1;
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split('\n').collect(), new.split('\n').collect());
    let adds_at_ends = old.first() != new.first() || old.last() != new.last();
    (is_whole && adds_at_ends && !is_blank(target.new))
        .then(|| repeated_neighbour(document, &lines, &line_ops(&old, &new)))
        .flatten()
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

/// Whether the new text contains what the file has before or after the old text in its line and the old text lacks, so
/// that it would be there twice: a word, or an opening bracket that the new text has more of.
fn repeats_rest_of_line(body: &str, start: usize, target: ReplaceTarget<'_>) -> bool {
    let (old, new) = (target.old, target.new);
    let before = body[..start].rsplit('\n').next().unwrap_or_default();
    let after = body[start + old.len()..].split('\n').next().unwrap_or_default();
    let balance = |text: &str| {
        let count = |brackets: [char; 3]| text.matches(brackets).count().cast_signed();
        count(['(', '[', '{']) - count([')', ']', '}'])
    };
    let has_words = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count() > 2;
    let continues_line = |rest: &str| rest == "\\";
    let is_repeated =
        |rest: &str| has_words(rest) || continues_line(rest) || balance(new) - balance(old) == balance(rest);
    let (head, tail) = (before.trim(), after.trim());
    let ends_in = |text: &str| text.trim_end().ends_with(tail);
    let continues = || {
        new.strip_prefix(old)
            .is_some_and(|added| added.trim_start().starts_with(tail))
    };
    let after_old = !tail.is_empty() && !old.ends_with('\n') && !ends_in(old) && (ends_in(new) || continues());
    let starts_with = |text: &str| text.trim_start().starts_with(head);
    let before_old = !head.is_empty() && !old.starts_with('\n') && starts_with(new) && !starts_with(old);
    // The new text starts with the indentation of the line.
    let is_whole_line = before_old && !indent_of(new).is_empty() && indent_of(old).is_empty();
    let is_cut = !old.ends_with('\n') && !tail.is_empty() && !is_blank(new);
    let ends_differently = || {
        let last_line = |text: &str| text.rsplit('\n').next().unwrap_or_default().trim().to_owned();
        let (quoted, changed) = (last_line(old), last_line(new));
        let as_whole = similarity(&changed, &format!("{quoted}{}", after.trim_end()));
        let as_part = similarity(&changed, &quoted);
        // The last new line may be the whole line, changed, or nothing that continues with the rest of the line.
        let is_closed = balance(&changed) == balance(&quoted) + balance(after);
        let is_whole = has_words(tail) && as_whole >= 0.8 && as_whole > as_part && is_closed;
        let has_content = tail.contains(|c: char| c.is_alphanumeric() || "([{".contains(c));
        let is_dropped = has_content && as_part < 0.4 && changed.chars().next_back() != quoted.chars().next_back();
        is_whole || old.contains('\n') && is_dropped
    };
    // The new text may be the whole line of which the old text is the end.
    let starts_differently = || {
        let (quoted, changed) = (old.trim(), new.trim());
        let as_whole = similarity(changed, &format!("{}{quoted}", before.trim_start()));
        let is_closed = balance(changed) == balance(before) + balance(quoted);
        is_closed && !quoted.contains('\n') && as_whole >= 0.6 && as_whole > similarity(changed, quoted)
    };
    let is_end = has_words(head) && !is_blank(new) && starts_differently();
    after_old && is_repeated(tail)
        || before_old && is_repeated(head)
        || is_whole_line
        || is_end
        || is_cut && ends_differently()
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
        MatchPick::One(candidate) if is_trivial(&quoted) && is_beaten(&all, &candidate) => {
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
    if let Some(actual) = old_with_indentation(haystack, (old, new), candidate)? {
        let old: Vec<&str> = actual.iter().map(String::as_str).collect();
        let quoted: Vec<QuotedLine> = old.iter().map(|line| QuotedLine::plain(*line)).collect();
        let exact = MatchCandidate {
            blanks: candidate.blanks,
            ..haystack.candidate_of(&quoted, candidate.pairs.clone())
        };
        let placed = by_lines(haystack, &quoted, &old, new, &exact)?;
        return Ok(ResolvedEdit {
            method: MatchMethod::of(candidate),
            ..placed
        });
    }
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

/// The old lines with the indentation of the file, if only the new lines have it: no new line is further out than the
/// matched lines, and the new lines that are also quoted have the indentation of the file. Refused if only most of them do.
fn old_with_indentation(
    haystack: &Haystack<'_>,
    (old, new): (&[&str], &[&str]),
    candidate: &MatchCandidate,
) -> Result<Option<Vec<String>>, RefusalReason> {
    if !matches!(candidate.level, MatchLevel::Indent | MatchLevel::UnevenIndent) {
        return Ok(None);
    }
    let actual = |number: usize| {
        candidate
            .pairs
            .get(number)
            .copied()
            .flatten()
            .map(|at| haystack.document.line(at))
    };
    let outermost = |lines: &mut dyn Iterator<Item = &str>| {
        let solid = lines.filter(|line| !is_blank(line));
        solid.map(|line| indent_of(line).len()).min()
    };
    if outermost(&mut new.iter().copied()) < outermost(&mut (0..old.len()).filter_map(actual)) {
        return Ok(None);
    }
    let squashed = |lines: &[&str]| lines.iter().map(|line| squash(line)).collect::<Vec<_>>();
    let (old_keys, new_keys) = (squashed(old), squashed(new));
    let mut shared = Vec::new();
    for part in compare(&old_keys, &new_keys, None) {
        let (tag, old_range, new_range) = part.as_tag_tuple();
        if tag == similar::DiffTag::Equal {
            shared.extend(old_range.zip(new_range).filter(|(at, _)| !old_keys[*at].is_empty()));
        }
    }
    // The indentation of the first line alone may have been cut off, in both texts. A bracket may be another one.
    let first = old.iter().position(|line| !is_blank(line));
    let is_shifted = |(at, _): &&(usize, usize)| {
        Some(*at) != first
            && old[*at].contains(char::is_alphanumeric)
            && actual(*at).is_some_and(|line| indent_of(line) != indent_of(old[*at]))
    };
    let is_placed = |(at, to): &&(usize, usize)| actual(*at).map(indent_of) == Some(indent_of(new[*to]));
    let is_quoted = |(at, to): &&(usize, usize)| indent_of(old[*at]) == indent_of(new[*to]);
    let placed = shared.iter().filter(is_shifted).filter(is_placed).count();
    let as_quoted = shared.iter().filter(is_shifted).filter(is_quoted).count();
    // Without words, the lines below the change decide.
    let below: Vec<(usize, usize)> = (0..old.len())
        .rev()
        .zip((0..new.len()).rev())
        .take_while(|(at, to)| old_keys[*at] == new_keys[*to])
        .collect();
    let is_moved = |(at, _): &&(usize, usize)| {
        !is_blank(old[*at]) && actual(*at).is_some_and(|line| indent_of(line) != indent_of(old[*at]))
    };
    let is_kept = |(at, to): &(usize, usize)| old[*at] == new[*to] && actual(*at).is_some_and(|line| line != old[*at]);
    let is_placed_below = || {
        if shared.iter().any(is_kept) {
            return false;
        }
        let mut moved = below.iter().filter(is_moved).peekable();
        moved.peek().is_some() && moved.all(|pair| is_placed(&pair) && !is_quoted(&pair))
    };
    let placed = if (placed, as_quoted) == (0, 0) && is_placed_below() {
        1
    } else {
        placed
    };
    match (placed > as_quoted, as_quoted) {
        (false, _) => Ok(None),
        (true, 0) => {
            let line = |(number, line): (usize, &&str)| actual(number).unwrap_or(line).to_owned();
            Ok(Some(old.iter().enumerate().map(line).collect()))
        }
        (true, _) => Err(RefusalReason::Indentation),
    }
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
