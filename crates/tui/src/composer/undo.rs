//! Undo and redo of typing, grouped into word-sized steps.

use super::text::CaretText;

/// Maximum steps.
const MAX_STEPS: usize = 400;
/// Maximum bytes of all steps.
const MAX_BYTES: usize = 8 << 20;

/// The kind of an edit; consecutive edits of the same kind form one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EditKind {
    /// Typing a character.
    Typing,
    /// Deleting a character.
    Deleting,
    /// Any other edit, always a separate step.
    Other,
}

/// Texts before each step, and after each undone step.
#[derive(Debug, Default)]
pub(crate) struct UndoStack {
    past: Vec<CaretText>,
    future: Vec<CaretText>,
    run: Option<(EditKind, usize)>,
}

impl UndoStack {
    /// Records the text before an edit.
    pub(crate) fn before_edit(&mut self, text: &CaretText, kind: EditKind) {
        let continues = kind != EditKind::Other && self.run == Some((kind, text.caret()));
        self.future.clear();
        if !continues {
            self.past.push(text.clone());
            self.enforce_limits();
        }
    }

    /// Records the edit. A completed word ends its step.
    pub(crate) fn after_edit(&mut self, text: &CaretText, kind: EditKind) {
        let ends_word = text.as_str()[..text.caret()].ends_with([' ', '\n']);
        self.run = (kind != EditKind::Other && !(kind == EditKind::Typing && ends_word)).then(|| (kind, text.caret()));
    }

    /// The text before the last step.
    pub(crate) fn undo(&mut self, now: &CaretText) -> Option<CaretText> {
        let before = self.past.pop()?;
        self.future.push(now.clone());
        self.run = None;
        Some(before)
    }

    /// The text after the last undone step.
    pub(crate) fn redo(&mut self, now: &CaretText) -> Option<CaretText> {
        let after = self.future.pop()?;
        self.past.push(now.clone());
        self.run = None;
        Some(after)
    }

    /// Makes the next edit a new step.
    pub(crate) fn end_step(&mut self) {
        self.run = None;
    }

    fn enforce_limits(&mut self) {
        let mut bytes = 0;
        let kept = self.past.iter().rev().take(MAX_STEPS).take_while(|text| {
            bytes += text.as_str().len();
            bytes <= MAX_BYTES
        });
        let surplus = self.past.len() - kept.count().max(1);
        self.past.drain(..surplus);
    }
}
