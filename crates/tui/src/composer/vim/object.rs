//! Vim text objects: words, quoted or bracketed text, paragraphs.

use crate::composer::text::{CaretText, CharClass, class};
use std::ops::Range;

/// The range of the text object of a key at the caret, with its surroundings if `around`.
pub(super) fn find(text: &CaretText, key: char, around: bool) -> Option<Range<usize>> {
    match key {
        'w' => Some(word(text, around, false)),
        'W' => Some(word(text, around, true)),
        'p' => Some(paragraph(text, around)),
        '"' | '\'' | '`' => quoted(text, key, around),
        '(' | ')' | 'b' => between(text, '(', ')', around),
        '[' | ']' => between(text, '[', ']', around),
        '{' | '}' | 'B' => between(text, '{', '}', around),
        '<' | '>' => between(text, '<', '>', around),
        _ => None,
    }
}

fn word(text: &CaretText, around: bool, big: bool) -> Range<usize> {
    let kind = |at: usize| match class(text.at(at)) {
        CharClass::Punctuation if big => CharClass::Word,
        class => class,
    };
    let caret = text.caret();
    let (first, last) = (text.line_start(caret), text.line_end(caret));
    let here = kind(caret);
    let (mut start, mut end) = (caret, caret);
    while start > first && kind(text.left(start)) == here {
        start = text.left(start);
    }
    while end < last && kind(end) == here {
        end = text.right(end);
    }
    if !around {
        return start..end;
    }
    let behind = end;
    while end < last && kind(end) == CharClass::Space {
        end = text.right(end);
    }
    if end == behind {
        while start > first && kind(text.left(start)) == CharClass::Space {
            start = text.left(start);
        }
    }
    start..end
}

fn paragraph(text: &CaretText, around: bool) -> Range<usize> {
    let is_blank = |at: usize| text.as_str()[text.line_start(at)..text.line_end(at)].trim().is_empty();
    let len = text.as_str().len();
    let here = is_blank(text.caret());
    let mut start = text.line_start(text.caret());
    while start > 0 && is_blank(start - 1) == here {
        start = text.line_start(start - 1);
    }
    let mut end = text.line_end(text.caret());
    while end < len && is_blank(end + 1) == here {
        end = text.line_end(end + 1);
    }
    if around {
        while end < len && is_blank(end + 1) != here {
            end = text.line_end(end + 1);
        }
    }
    start..end
}

/// The text between the quotes around the caret, or the next ones on the line.
fn quoted(text: &CaretText, quote: char, around: bool) -> Option<Range<usize>> {
    let caret = text.caret();
    let (start, end) = (text.line_start(caret), text.line_end(caret));
    let line = &text.as_str()[start..end];
    let mut escaped = false;
    let marks: Vec<usize> = line
        .char_indices()
        .filter(|(_, c)| {
            let counts = *c == quote && !escaped;
            escaped = *c == '\\' && !escaped;
            counts
        })
        .map(|(at, _)| start + at)
        .collect();
    let pair = marks.chunks_exact(2).find(|pair| pair[1] >= caret)?;
    Some(match around {
        true => pair[0]..pair[1] + 1,
        false => pair[0] + 1..pair[1],
    })
}

fn between(text: &CaretText, open: char, close: char, around: bool) -> Option<Range<usize>> {
    let (all, caret) = (text.as_str(), text.caret());
    let at = |at: usize| all[at..].chars().next();
    let start = match at(caret) == Some(open) {
        true => caret,
        false => {
            let mut depth = 0i32;
            let opening = all[..caret].char_indices().rev().find(|(_, c)| {
                depth += i32::from(*c == close) - i32::from(*c == open);
                depth < 0
            });
            opening?.0
        }
    };
    let mut depth = 0i32;
    let closing = all[start..].char_indices().find(|(_, c)| {
        depth += i32::from(*c == open) - i32::from(*c == close);
        depth == 0
    });
    let end = start + closing?.0;
    Some(match around {
        true => start..end + 1,
        false => start + 1..end,
    })
}
