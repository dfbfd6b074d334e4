//! Old text whose line breaks differ from the file's, or that starts or ends inside a line: every visible character still agrees, in order.

use crate::fold::{indent_of, is_blank, squash};
use crate::indent::{Reindent, Shift};
use crate::matcher::{Haystack, nearest};
use crate::refusal::Why;
use crate::resolve::replace::{Wanted, ambiguous};
use crate::resolve::{How, Resolved};
use crate::script::Scope;
use crate::text::Splice;

/// Text shorter than this, spaces aside, says too little to be looked for without them.
const SHORTEST: usize = 12;

/// Finds the old text with all whitespace left out of account.
pub(crate) fn resolve(haystack: &Haystack<'_>, wanted: Wanted<'_>) -> Result<Option<Resolved>, Why> {
    let sought = squash(wanted.old);
    if sought.len() < SHORTEST || wanted.scope == Scope::All || is_blank(wanted.new) {
        return Ok(None);
    }
    let document = haystack.document;
    let squashed = Squashed::of(document.body());
    let found: Vec<(usize, usize)> = squashed
        .text
        .match_indices(&sought)
        .filter_map(|(at, _)| squashed.span(at, at + sought.len()))
        .filter(|(start, end)| is_whole(document.body(), *start, *end))
        .collect();
    let lines: Vec<usize> = found.iter().map(|(start, _)| document.line_at(*start)).collect();
    let (start, end) = match (found.as_slice(), wanted.hint.and_then(|hint| nearest(&lines, hint))) {
        ([], _) => return Ok(None),
        ([only], _) => *only,
        (many, Some(at)) => many[at],
        (_, None) => return Err(ambiguous(&lines)),
    };
    let (first, last) = (document.line_at(start), document.line_at(end.saturating_sub(1)));
    let indent = indent_of(document.line(first));
    let starts_line = document.body()[document.line_start(first)..start].trim().is_empty();
    let text = if starts_line {
        shifted(wanted, indent)
    } else {
        wanted.new.trim().to_owned()
    };
    let splice = Splice {
        range: start..end,
        text: text.trim().to_owned(),
    };
    Ok(Some(Resolved {
        splices: vec![splice],
        lines: first..last + 1,
        how: How::Spacing,
    }))
}

/// The new text with the indentation that its first line has in the file.
fn shifted(wanted: Wanted<'_>, indent: &str) -> String {
    let quoted = wanted.old.lines().find(|line| !is_blank(line)).map_or("", indent_of);
    let new: Vec<&str> = wanted.new.lines().collect();
    let reindent = match Shift::of(&[(quoted, indent)]) {
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

/// Whether neither end cuts a word in two.
fn is_whole(body: &str, start: usize, end: usize) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let cuts = |before: &str, after: &str| {
        before.chars().next_back().is_some_and(is_word) && after.chars().next().is_some_and(is_word)
    };
    let (head, rest) = body.split_at(start);
    let (inside, tail) = rest.split_at(end - start);
    !cuts(head, inside) && !cuts(inside, tail)
}

/// A text without whitespace, and where in the text each of its bytes comes from.
struct Squashed {
    text: String,
    origins: Vec<(u32, u32)>,
}

impl Squashed {
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
