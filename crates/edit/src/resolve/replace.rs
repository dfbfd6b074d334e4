//! Quoted old text and its replacement: exact text first, then lines, then other readings of the same text.

use crate::matcher::{Candidate, Haystack, Level, Pick, Quoted, against_hint, best, is_trivial, nearest, pick};
use crate::reading::others;
use crate::refusal::Why;
use crate::resolve::{How, Resolved, Source, carry_out, elision, line_ops, reflow};
use crate::script::{EndOfFile, Scope, Unit};
use crate::text::Splice;

/// One replacement to place. The hint is a line counted from 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) old: &'a str,
    pub(crate) new: &'a str,
    pub(crate) hint: Option<usize>,
    pub(crate) scope: Scope,
    pub(crate) unit: Unit,
}

impl<'a> Wanted<'a> {
    /// Both texts as lines. A newline at the end counts as the start of an empty line only if the old text does not end in one.
    fn lines(self) -> (Vec<&'a str>, Vec<&'a str>) {
        if self.unit == Unit::Lines || self.old.ends_with('\n') {
            (self.old.lines().collect(), self.new.lines().collect())
        } else {
            (self.old.split('\n').collect(), self.new.split('\n').collect())
        }
    }
}

/// Finds the place of `wanted`.
pub(crate) fn resolve(haystack: &Haystack<'_>, wanted: Wanted<'_>) -> Result<Resolved, Why> {
    if let Some(found) = as_quoted(haystack, wanted)? {
        return Ok(found);
    }
    for reading in others(wanted.old, wanted.new) {
        let hint = wanted.hint.or(reading.hint.map(|line| line.saturating_sub(1)));
        let again = Wanted {
            old: &reading.old,
            new: &reading.new,
            hint,
            ..wanted
        };
        if let Some(found) = as_quoted(haystack, again)? {
            return Ok(Resolved {
                how: How::dressed(reading.dressing),
                ..found
            });
        }
    }
    if let Some(found) = reflow::resolve(haystack, wanted)? {
        return Ok(found);
    }
    if let Some(found) = elision::resolve(haystack, wanted) {
        return found;
    }
    if wanted.unit == Unit::Lines
        && let Some(found) = inside_line(haystack, wanted)?
    {
        return Ok(found);
    }
    let (old, new) = wanted.lines();
    let quoted: Vec<Quoted> = old.iter().map(|line| Quoted::plain(*line)).collect();
    match pick(haystack.slips(&quoted), wanted.hint) {
        Pick::One(candidate) => by_lines(haystack, &quoted, &old, &new, &candidate),
        Pick::Many(lines) => Err(ambiguous(&lines)),
        Pick::None => Err(Why::NotFound),
    }
}

/// The text as it stands: exactly, or line by line.
fn as_quoted(haystack: &Haystack<'_>, wanted: Wanted<'_>) -> Result<Option<Resolved>, Why> {
    if wanted.unit == Unit::Text {
        if let Some(found) = exact(haystack, wanted)? {
            return Ok(Some(found));
        }
        // The quoted text may end in a newline where the file ends without one.
        let (old, new) = (
            wanted.old.trim_end_matches('\n'),
            wanted.new.strip_suffix('\n').unwrap_or(wanted.new),
        );
        if !old.is_empty()
            && old.len() < wanted.old.len()
            && haystack.document.body().ends_with(old)
            && let Some(found) = exact(haystack, Wanted { old, new, ..wanted })?
        {
            return Ok(Some(found));
        }
    }
    lines(haystack, wanted)
}

/// Every exact occurrence of the text.
fn exact(haystack: &Haystack<'_>, wanted: Wanted<'_>) -> Result<Option<Resolved>, Why> {
    let document = haystack.document;
    let body = document.body();
    let starts: Vec<usize> = match wanted.scope {
        Scope::All => body.match_indices(wanted.old).map(|(start, _)| start).collect(),
        Scope::One => overlapping(body, wanted.old),
    };
    let chosen = match (starts.as_slice(), wanted.scope) {
        ([], _) => return Ok(None),
        (all, Scope::All) => all.to_vec(),
        ([only], Scope::One) => vec![*only],
        (many, Scope::One) => {
            let lines: Vec<usize> = many.iter().map(|start| document.line_at(*start)).collect();
            let at = wanted
                .hint
                .and_then(|hint| nearest(&lines, hint))
                .ok_or_else(|| ambiguous(&lines))?;
            vec![many[at]]
        }
    };
    let (Some(first), Some(last)) = (chosen.first(), chosen.last()) else {
        return Ok(None);
    };
    if wanted.scope == Scope::One && is_there_already(body, *first, wanted) {
        return Err(Why::AlreadyApplied {
            line: document.line_at(*first) + 1,
        });
    }
    let lines = document.line_at(*first)..document.line_at(last + wanted.old.len().saturating_sub(1)) + 1;
    let splices = chosen
        .iter()
        .flat_map(|start| narrowed(*start, wanted.old, wanted.new))
        .collect();
    Ok(Some(Resolved {
        splices,
        lines,
        how: How::Exact,
    }))
}

/// Whether the new text only adds to the old, and what it adds stands there already: the edit was made before.
fn is_there_already(body: &str, start: usize, wanted: Wanted<'_>) -> bool {
    let says_something = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count() > 2;
    let (before, after) = (&body[..start], &body[start + wanted.old.len()..]);
    let added_after = wanted
        .new
        .strip_prefix(wanted.old)
        .filter(|added| says_something(added));
    let added_before = wanted
        .new
        .strip_suffix(wanted.old)
        .filter(|added| says_something(added));
    added_after.is_some_and(|added| after.starts_with(added.trim_end_matches('\n')))
        || added_before.is_some_and(|added| before.ends_with(added))
}

/// Replaces `old` at `start` by `new`: line for line where they have as many, so that each line keeps its own ending, else but for the
/// whole lines that they share at their ends.
fn narrowed(start: usize, old: &str, new: &str) -> Vec<Splice> {
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

/// Where `needle` starts in `text`, overlapping occurrences included; stops after a thousand.
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

/// The text line by line, whitespace and look-alikes aside.
fn lines(haystack: &Haystack<'_>, wanted: Wanted<'_>) -> Result<Option<Resolved>, Why> {
    let (old, new) = wanted.lines();
    let quoted: Vec<Quoted> = old.iter().map(|line| Quoted::plain(*line)).collect();
    let all = haystack.all(&quoted);
    let candidates = if is_trivial(&quoted) {
        all.clone()
    } else {
        best(all.clone())
    };
    if wanted.scope == Scope::All && candidates.len() > 1 {
        return all_lines(haystack, &quoted, &old, &new, candidates).map(Some);
    }
    match pick(candidates, wanted.hint) {
        Pick::None => Ok(None),
        Pick::One(candidate) if all.len() > 1 && is_trivial(&quoted) && wanted.hint != Some(candidate.first()) => {
            Err(ambiguous(&all.iter().map(Candidate::first).collect::<Vec<_>>()))
        }
        Pick::One(candidate) => match against_hint(&all, &candidate, wanted.hint) {
            Some(lines) => Err(ambiguous(&lines)),
            None => by_lines(haystack, &quoted, &old, &new, &candidate).map(Some),
        },
        Pick::Many(lines) => Err(ambiguous(&lines)),
    }
}

fn all_lines(
    haystack: &Haystack<'_>,
    quoted: &[Quoted],
    old: &[&str],
    new: &[&str],
    mut candidates: Vec<Candidate>,
) -> Result<Resolved, Why> {
    candidates.sort_by_key(Candidate::first);
    let mut all: Option<Resolved> = None;
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
    all.ok_or(Why::NotFound)
}

pub(crate) fn by_lines(
    haystack: &Haystack<'_>,
    quoted: &[Quoted],
    old: &[&str],
    new: &[&str],
    candidate: &Candidate,
) -> Result<Resolved, Why> {
    let splices = carry_out(
        haystack,
        quoted,
        candidate,
        &line_ops(old, new),
        (Source::Replacement, EndOfFile::AsItWas),
    )?;
    Ok(Resolved {
        splices,
        lines: candidate.first()..candidate.end(),
        how: How::of(candidate),
    })
}

/// Line formats may still quote a piece of a line; it must be unique and not start or end inside a word.
fn inside_line(haystack: &Haystack<'_>, wanted: Wanted<'_>) -> Result<Option<Resolved>, Why> {
    let (old, new) = (wanted.old.trim_end_matches('\n'), wanted.new.trim_end_matches('\n'));
    if old.trim().len() < 2 || wanted.scope == Scope::All {
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
    exact(haystack, Wanted { old, new, ..wanted })
}

pub(crate) fn ambiguous(lines: &[usize]) -> Why {
    let mut lines: Vec<usize> = lines.iter().map(|line| line + 1).collect();
    lines.sort_unstable();
    lines.dedup();
    Why::Ambiguous { lines }
}

/// Where `text` already stands as whole lines, if it says enough to be recognised.
pub(crate) fn present(haystack: &Haystack<'_>, text: &str) -> Option<usize> {
    let quoted: Vec<Quoted> = text.lines().map(Quoted::plain).collect();
    let found = haystack.best(&quoted);
    let candidate = found
        .first()
        .filter(|candidate| candidate.level <= Level::UnevenIndent)?;
    (found.len() == 1 && text.trim().len() >= 8).then(|| candidate.first())
}
