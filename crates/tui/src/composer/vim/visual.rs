//! Visual mode: a range is chosen first, and the operator comes after it.

use super::{Operator, Vim, Vimmed, swap_case};
use crate::composer::editor::{Done, Editor};
use crate::composer::undo::Kind;
use std::ops::Range;

/// What is chosen: from here to the caret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Visual {
    anchor: usize,
    /// Whether whole lines are.
    pub(super) lines: bool,
}

impl Vim {
    /// What is chosen, where something is.
    pub(crate) fn selected(&self, editor: &Editor) -> Option<Range<usize>> {
        let Visual { anchor, lines } = self.visual?;
        let text = editor.text();
        let mut anchor = anchor.min(text.as_str().len());
        while !text.as_str().is_char_boundary(anchor) {
            anchor -= 1;
        }
        let (start, end) = (anchor.min(text.caret()), anchor.max(text.caret()));
        Some(if lines {
            text.line_start(start)..text.line_end(end)
        } else {
            start..text.right(end)
        })
    }

    /// A command while something is chosen; `None` where it is a motion, or no command at all.
    pub(super) fn visual(&mut self, c: char, editor: &mut Editor) -> Option<Vimmed> {
        let Visual { anchor, lines } = self.visual?;
        let range = self.selected(editor)?;
        match c {
            'v' | 'V' if lines == (c == 'V') => self.visual = None,
            'v' | 'V' => self.visual = Some(Visual { anchor, lines: !lines }),
            'o' => {
                self.visual = Some(Visual {
                    anchor: editor.text().caret(),
                    lines,
                });
                editor.go(anchor);
            }
            'd' | 'x' | 'X' | 'D' => return Some(self.on(Operator::Delete, range, editor)),
            'c' | 's' | 'C' | 'S' => return Some(self.on(Operator::Change, range, editor)),
            'y' | 'Y' => return Some(self.on(Operator::Yank, range, editor)),
            '~' | 'u' | 'U' => {
                let old = &editor.as_str()[range.clone()];
                let new = match c {
                    'u' => old.to_lowercase(),
                    'U' => old.to_uppercase(),
                    _ => old.chars().map(swap_case).collect(),
                };
                let start = range.start;
                editor.splice(range, &new, Kind::Other);
                editor.go(start);
                return Some(self.leave(Done::Changed));
            }
            'p' | 'P' => {
                let new = editor.ring.last().map(str::to_owned).unwrap_or_default();
                let start = range.start;
                editor.cut(range);
                editor.splice(start..start, &new, Kind::Other);
                return Some(self.leave(Done::Changed));
            }
            _ => return None,
        }
        Some(Vimmed::Done(Done::Moved))
    }

    /// Begins to choose.
    pub(super) fn choose(&mut self, lines: bool, editor: &Editor) -> Vimmed {
        self.visual = Some(Visual {
            anchor: editor.text().caret(),
            lines,
        });
        Vimmed::Done(Done::Moved)
    }

    /// Chooses an object of the text.
    pub(super) fn choose_object(&mut self, range: Range<usize>, editor: &mut Editor) -> Vimmed {
        editor.go(editor.text().left(range.end));
        self.visual = Some(Visual {
            anchor: range.start,
            lines: false,
        });
        Vimmed::Done(Done::Moved)
    }

    fn on(&mut self, operator: Operator, range: Range<usize>, editor: &mut Editor) -> Vimmed {
        let lines = self.visual.take().is_some_and(|visual| visual.lines);
        self.operator = Some((operator, 1));
        self.apply(range, lines, editor)
    }

    fn leave(&mut self, done: Done) -> Vimmed {
        self.visual = None;
        self.keep_recording();
        self.end(done)
    }
}
