//! Matches old text with different line breaks, or that starts or ends inside a line: all visible characters agree, in
//! order.

use crate::document::Splice;
use crate::fold::{indent_of, is_blank, squash};
use crate::indent::{IndentShift, Reindent};
use crate::matcher::{Haystack, nearest};
use crate::parsed_edit::ReplaceScope;
use crate::refusal::RefusalReason;
use crate::resolve::replace::{ReplaceTarget, ambiguous};
use crate::resolve::{MatchMethod, ResolvedEdit};

/// Shorter text, without spaces, is too ambiguous for this search.
const MIN_LENGTH: usize = 12;

/// Finds the old text, ignoring all whitespace.
pub(crate) fn resolve(
    haystack: &Haystack<'_>,
    target: ReplaceTarget<'_>,
) -> Result<Option<ResolvedEdit>, RefusalReason> {
    let sought = squash(target.old);
    if sought.len() < MIN_LENGTH || target.scope == ReplaceScope::All || is_blank(target.new) {
        return Ok(None);
    }
    let document = haystack.document;
    let squashed = SquashedText::of(document.body());
    let found: Vec<(usize, usize)> = squashed
        .text
        .match_indices(&sought)
        .filter_map(|(at, _)| squashed.span(at, at + sought.len()))
        .filter(|(start, end)| is_whole(document.body(), *start, *end))
        .collect();
    let lines: Vec<usize> = found.iter().map(|(start, _)| document.line_at(*start)).collect();
    let (start, end) = match (found.as_slice(), target.hint.and_then(|hint| nearest(&lines, hint))) {
        ([], _) => return Ok(None),
        ([only], _) => *only,
        (many, Some(at)) => many[at],
        (_, None) => return Err(ambiguous(&lines)),
    };
    let (first, last) = (document.line_at(start), document.line_at(end.saturating_sub(1)));
    let indent = indent_of(document.line(first));
    let starts_line = document.body()[document.line_start(first)..start].trim().is_empty();
    let text = if starts_line {
        shifted(target, indent)
    } else {
        target.new.trim().to_owned()
    };
    let splice = Splice {
        range: start..end,
        text: text.trim().to_owned(),
    };
    Ok(Some(ResolvedEdit {
        splices: vec![splice],
        lines: first..last + 1,
        method: MatchMethod::Spacing,
    }))
}

/// The new text with the indentation of its first line in the file.
fn shifted(target: ReplaceTarget<'_>, indent: &str) -> String {
    let quoted = target.old.lines().find(|line| !is_blank(line)).map_or("", indent_of);
    let new: Vec<&str> = target.new.lines().collect();
    let reindent = match IndentShift::of(&[(quoted, indent)]) {
        Some(_) => Reindent::new(&[(0, (quoted, indent))], &new),
        None => Reindent::none(),
    };
    let lines: Vec<String> = new
        .iter()
        .enumerate()
        .map(|(at, line)| reindent.apply(line, at == 0, 0))
        .collect();
    lines.join("\n")
}

/// Whether neither end splits a word.
fn is_whole(body: &str, start: usize, end: usize) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let cuts = |before: &str, after: &str| {
        before.chars().next_back().is_some_and(is_word) && after.chars().next().is_some_and(is_word)
    };
    let (head, rest) = body.split_at(start);
    let (inside, tail) = rest.split_at(end - start);
    !cuts(head, inside) && !cuts(inside, tail)
}

/// A text without whitespace, with the original offset of each byte.
struct SquashedText {
    text: String,
    origins: Vec<(u32, u32)>,
}

impl SquashedText {
    fn of(body: &str) -> Self {
        let mut squashed = Self {
            text: String::with_capacity(body.len()),
            origins: Vec::with_capacity(body.len()),
        };
        let mut buffer = [0; 4];
        for (at, character) in body.char_indices() {
            if character.is_whitespace() {
                continue;
            }
            let encoded: &str = character.encode_utf8(&mut buffer);
            let folded = if encoded.is_ascii() {
                encoded.to_owned()
            } else {
                squash(encoded)
            };
            let origin = (narrow(at), narrow(at + character.len_utf8()));
            squashed.origins.extend(std::iter::repeat_n(origin, folded.len()));
            squashed.text.push_str(&folded);
        }
        squashed
    }

    fn span(&self, from: usize, to: usize) -> Option<(usize, usize)> {
        Some((
            self.origins.get(from)?.0 as usize,
            self.origins.get(to.checked_sub(1)?)?.1 as usize,
        ))
    }
}

fn narrow(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
