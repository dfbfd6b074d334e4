//! Undo and redo of typing, in steps that people would take.

use super::text::Text;

/// The most steps that are kept.
const STEPS: usize = 400;
/// The most bytes that all steps together may hold.
const BYTES: usize = 8 << 20;

/// What kind of change is made; runs of the same kind are one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A letter is typed.
    Typing,
    /// A character is deleted.
    Deleting,
    /// Anything else, always a step of its own.
    Other,
}

/// What the text was before each step, and after those that were undone.
#[derive(Debug, Default)]
pub(crate) struct Undo {
    past: Vec<Text>,
    future: Vec<Text>,
    run: Option<(Kind, usize)>,
}

impl Undo {
    /// A change of this kind follows; the text is as it stands before.
    pub(crate) fn before(&mut self, text: &Text, kind: Kind) {
        let goes_on = kind != Kind::Other && self.run == Some((kind, text.caret()));
        self.future.clear();
        if !goes_on {
            self.past.push(text.clone());
            self.bound();
        }
    }

    /// The change was made. A word that is complete ends its step.
    pub(crate) fn after(&mut self, text: &Text, kind: Kind) {
        let ends_word = text.as_str()[..text.caret()].ends_with([' ', '\n']);
        self.run = (kind != Kind::Other && !(kind == Kind::Typing && ends_word)).then(|| (kind, text.caret()));
    }

    /// The text before the last step.
    pub(crate) fn undo(&mut self, now: &Text) -> Option<Text> {
        let before = self.past.pop()?;
        self.future.push(now.clone());
        self.run = None;
        Some(before)
    }

    /// The text after the step that was undone last.
    pub(crate) fn redo(&mut self, now: &Text) -> Option<Text> {
        let after = self.future.pop()?;
        self.past.push(now.clone());
        self.run = None;
        Some(after)
    }

    /// The next change begins a step of its own.
    pub(crate) fn pause(&mut self) {
        self.run = None;
    }

    fn bound(&mut self) {
        let mut bytes = 0;
        let kept = self.past.iter().rev().take(STEPS).take_while(|text| {
            bytes += text.as_str().len();
            bytes <= BYTES
        });
        let surplus = self.past.len() - kept.count().max(1);
        self.past.drain(..surplus);
    }
}
