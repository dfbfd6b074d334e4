//! Targets of Vim motions.

use crate::composer::editor::RowStep;
use crate::composer::text::{CaretText, CharClass, class};

/// A caret motion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Motion {
    Left,
    Right,
    Row(RowStep),
    WordStart { big: bool },
    WordEnd { big: bool },
    WordBack { big: bool },
    WordEndBack,
    LineStart,
    FirstWord,
    LineEnd,
    Top,
    Bottom,
    Find { c: char, till: bool, back: bool },
    Pair,
}

/// How an operator treats the range of a motion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MotionReach {
    /// Excludes the target character.
    Exclusive,
    /// Includes the target character.
    Inclusive,
    /// Whole lines.
    Lines,
}

impl Motion {
    /// The motion of a key; `sought` is the search that `;` and `,` repeat.
    pub(super) fn of(c: char, sought: Option<Motion>) -> Option<Motion> {
        Some(match c {
            'h' => Motion::Left,
            'l' | ' ' => Motion::Right,
            'j' | '+' => Motion::Row(RowStep::Down),
            'k' | '-' => Motion::Row(RowStep::Up),
            'w' => Motion::WordStart { big: false },
            'W' => Motion::WordStart { big: true },
            'e' => Motion::WordEnd { big: false },
            'E' => Motion::WordEnd { big: true },
            'b' => Motion::WordBack { big: false },
            'B' => Motion::WordBack { big: true },
            '0' => Motion::LineStart,
            '^' | '_' => Motion::FirstWord,
            '$' => Motion::LineEnd,
            'G' => Motion::Bottom,
            '%' => Motion::Pair,
            ';' => sought?,
            ',' => match sought? {
                Motion::Find { c, till, back } => Motion::Find { c, till, back: !back },
                other => other,
            },
            _ => return None,
        })
    }

    /// How an operator treats its range.
    pub(super) fn reach(self) -> MotionReach {
        match self {
            Motion::WordEnd { .. } | Motion::Find { back: false, .. } | Motion::Pair | Motion::WordEndBack => {
                MotionReach::Inclusive
            }
            Motion::Row(_) | Motion::Top | Motion::Bottom => MotionReach::Lines,
            Motion::Left
            | Motion::Right
            | Motion::WordStart { .. }
            | Motion::WordBack { .. }
            | Motion::LineStart
            | Motion::FirstWord
            | Motion::LineEnd
            | Motion::Find { back: true, .. } => MotionReach::Exclusive,
        }
    }

    /// The target, or `None` if the motion is impossible. `given` is whether a count was typed.
    pub(super) fn target(self, text: &CaretText, times: usize, given: bool) -> Option<usize> {
        let caret = text.caret();
        let (start, end) = (text.line_start(caret), text.line_end(caret));
        let repeat = |step: &dyn Fn(usize) -> usize| (0..times).fold(caret, |at, _| step(at));
        Some(match self {
            Motion::Left => repeat(&|at| if at > start { text.left(at) } else { at }),
            Motion::Right => repeat(&|at| if at < end { text.right(at) } else { at }),
            Motion::Row(RowStep::Down) => repeat(&|at| next_line(text, at)),
            Motion::Row(RowStep::Up) => repeat(&|at| text.line_start(text.line_start(at).saturating_sub(1))),
            Motion::WordStart { big } => repeat(&|at| word_start(text, at, big)),
            Motion::WordEnd { big } => repeat(&|at| word_end(text, at, big)),
            Motion::WordBack { big } => repeat(&|at| word_back(text, at, big)),
            Motion::WordEndBack => repeat(&|at| word_end_back(text, at)),
            Motion::LineStart => start,
            Motion::FirstWord => first_word(text, start),
            Motion::LineEnd => end,
            Motion::Top if given => nth_line(text, times),
            Motion::Top => 0,
            Motion::Bottom if given => nth_line(text, times),
            Motion::Bottom => text.line_start(text.as_str().len()),
            Motion::Find { c, till, back } => find(text, c, till, back, times)?,
            Motion::Pair => pair(text.as_str(), caret, end)?,
        })
    }
}

/// The first non-blank character of a line.
pub(super) fn first_word(text: &CaretText, start: usize) -> usize {
    let line = &text.as_str()[start..text.line_end(start)];
    start + (line.len() - line.trim_start().len()).min(line.len())
}

fn kind(text: &CaretText, at: usize, big: bool) -> CharClass {
    match class(text.at(at)) {
        CharClass::Punctuation if big => CharClass::Word,
        class => class,
    }
}

fn word_start(text: &CaretText, at: usize, big: bool) -> usize {
    let len = text.as_str().len();
    let first = kind(text, at, big);
    let mut at = at;
    while at < len && first != CharClass::Space && kind(text, at, big) == first {
        at = text.right(at);
    }
    while at < len && kind(text, at, big) == CharClass::Space {
        at = text.right(at);
        // An empty line is a word.
        if text.at(at) == "\n" && text.line_start(at) == at {
            break;
        }
    }
    at
}

fn word_end(text: &CaretText, at: usize, big: bool) -> usize {
    let len = text.as_str().len();
    let mut at = text.right(at);
    while at < len && kind(text, at, big) == CharClass::Space {
        at = text.right(at);
    }
    let class = kind(text, at, big);
    while at < len {
        let next = text.right(at);
        if next >= len || kind(text, next, big) != class {
            break;
        }
        at = next;
    }
    at.min(text.left(len).max(at.min(len)))
}

fn word_back(text: &CaretText, at: usize, big: bool) -> usize {
    let mut at = text.left(at);
    while at > 0 && kind(text, at, big) == CharClass::Space {
        at = text.left(at);
    }
    let class = kind(text, at, big);
    while at > 0 && kind(text, text.left(at), big) == class {
        at = text.left(at);
    }
    at
}

fn word_end_back(text: &CaretText, at: usize) -> usize {
    let first = kind(text, at, false);
    let mut at = at;
    while at > 0 && first != CharClass::Space && kind(text, at, false) == first {
        at = text.left(at);
    }
    while at > 0 && kind(text, at, false) == CharClass::Space {
        at = text.left(at);
    }
    at
}

fn next_line(text: &CaretText, at: usize) -> usize {
    let end = text.line_end(at);
    if end < text.as_str().len() { end + 1 } else { at }
}

fn nth_line(text: &CaretText, line: usize) -> usize {
    (1..line).fold(0, |at, _| next_line(text, at))
}

fn find(text: &CaretText, c: char, till: bool, back: bool, times: usize) -> Option<usize> {
    let caret = text.caret();
    let (start, end) = (text.line_start(caret), text.line_end(caret));
    let mut at = caret;
    for _ in 0..times {
        at = if back {
            start + text.as_str()[start..at].rfind(c)?
        } else {
            let from = text.right(at).min(end);
            from + text.as_str()[from..end].find(c)?
        };
    }
    Some(match (till, back) {
        (false, _) => at,
        (true, false) => text.left(at),
        (true, true) => text.right(at),
    })
}

/// The bracket that matches the first one at or after the caret.
fn pair(text: &str, caret: usize, end: usize) -> Option<usize> {
    const PAIRS: [(char, char); 3] = [('(', ')'), ('[', ']'), ('{', '}')];
    let is_bracket = |c: char| PAIRS.iter().any(|(open, close)| c == *open || c == *close);
    let at = caret + text[caret..end].find(is_bracket)?;
    let bracket = text[at..].chars().next()?;
    let (open, close) = PAIRS
        .into_iter()
        .find(|(open, close)| bracket == *open || bracket == *close)?;
    let mut depth = 0i32;
    let mut step = |c: char| {
        depth += i32::from(c == open) - i32::from(c == close);
        depth == 0
    };
    if bracket == open {
        text[at..]
            .char_indices()
            .find(|(_, c)| step(*c))
            .map(|(offset, _)| at + offset)
    } else {
        text[..=at]
            .char_indices()
            .rev()
            .find(|(_, c)| step(*c))
            .map(|(offset, _)| offset)
    }
}
