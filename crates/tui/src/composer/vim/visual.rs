//! Visual mode: select a range, then apply an operator.

use super::{Vim, VimOperator, swap_case};
use crate::composer::editor::{EditOutcome, TextEditor};
use crate::composer::undo::EditKind;
use std::ops::Range;

/// A selection from the anchor to the caret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VisualSelection {
    anchor: usize,
    /// Whether whole lines are selected.
    pub(super) lines: bool,
}

impl Vim {
    /// The selected range.
    pub(crate) fn selected(&self, editor: &TextEditor) -> Option<Range<usize>> {
        let VisualSelection { anchor, lines } = self.visual?;
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

    /// Executes a command on the selection. Returns `None` if the key is a motion or not a command.
    pub(super) fn visual_command(&mut self, c: char, editor: &mut TextEditor) -> Option<EditOutcome> {
        let VisualSelection { anchor, lines } = self.visual?;
        let range = self.selected(editor)?;
        match c {
            'v' | 'V' if lines == (c == 'V') => self.visual = None,
            'v' | 'V' => self.visual = Some(VisualSelection { anchor, lines: !lines }),
            'o' => {
                self.visual = Some(VisualSelection {
                    anchor: editor.text().caret(),
                    lines,
                });
                editor.move_caret(anchor);
            }
            'd' | 'x' | 'X' | 'D' => return self.apply_to_selection(VimOperator::Delete, range, editor),
            'c' | 's' | 'C' | 'S' => return self.apply_to_selection(VimOperator::Change, range, editor),
            'y' | 'Y' => return self.apply_to_selection(VimOperator::Yank, range, editor),
            '~' | 'u' | 'U' => {
                let old = &editor.as_str()[range.clone()];
                let new = match c {
                    'u' => old.to_lowercase(),
                    'U' => old.to_uppercase(),
                    _ => old.chars().map(swap_case).collect(),
                };
                let start = range.start;
                editor.splice(range, &new, EditKind::Other);
                editor.move_caret(start);
                return self.end_selection(EditOutcome::Changed);
            }
            'p' | 'P' => {
                let new = editor.kill_ring.last().map(str::to_owned).unwrap_or_default();
                let start = range.start;
                editor.cut(range);
                editor.splice(start..start, &new, EditKind::Other);
                return self.end_selection(EditOutcome::Changed);
            }
            _ => return None,
        }
        Some(EditOutcome::Moved)
    }

    /// Starts a selection.
    pub(super) fn start_selection(&mut self, lines: bool, editor: &TextEditor) -> Option<EditOutcome> {
        self.visual = Some(VisualSelection {
            anchor: editor.text().caret(),
            lines,
        });
        Some(EditOutcome::Moved)
    }

    /// Selects a text object.
    pub(super) fn select_object(&mut self, range: Range<usize>, editor: &mut TextEditor) -> Option<EditOutcome> {
        editor.move_caret(editor.text().left(range.end));
        self.visual = Some(VisualSelection {
            anchor: range.start,
            lines: false,
        });
        Some(EditOutcome::Moved)
    }

    fn apply_to_selection(
        &mut self,
        operator: VimOperator,
        range: Range<usize>,
        editor: &mut TextEditor,
    ) -> Option<EditOutcome> {
        let lines = self.visual.take().is_some_and(|visual| visual.lines);
        self.operator = Some((operator, 1));
        self.apply(range, lines, editor)
    }

    fn end_selection(&mut self, done: EditOutcome) -> Option<EditOutcome> {
        self.visual = None;
        self.save_recording();
        self.finish_command(done)
    }
}
