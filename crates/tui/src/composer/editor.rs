//! A text editor as a value: text, attachments, undo and kill ring. Independent of terminal, files and session.

use super::attachments::{Attachment, Attachments, sanitise_input};
use super::kill_ring::{KillRing, KillSide};
use super::layout::TextLayout;
use super::text::CaretText;
use super::undo::{EditKind, UndoStack};
use crate::keys::KeyAction;
use std::ops::Range;

/// A text editor.
#[derive(Default)]
pub(crate) struct TextEditor {
    text: CaretText,
    /// Attachments represented by characters of the text.
    pub(crate) attachments: Attachments,
    /// Cut text.
    pub(crate) kill_ring: KillRing,
    undo_stack: UndoStack,
    goal_column: Option<u16>,
    width: u16,
    last_edit: LastEdit,
}

/// The last edit, where it affects the next one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum LastEdit {
    #[default]
    Other,
    Cut,
    Yank(Range<usize>),
}

/// The result of an editor action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EditOutcome {
    /// The caret moved, or nothing happened.
    Moved,
    /// The text changed.
    Changed,
    /// There is no row above.
    AtTop,
    /// There is no row below.
    AtBottom,
    /// Not an editor action.
    NotAnEdit,
}

impl TextEditor {
    /// The text with its caret.
    pub(crate) fn text(&self) -> &CaretText {
        &self.text
    }

    /// The text, with attachments as characters.
    pub(crate) fn as_str(&self) -> &str {
        self.text.as_str()
    }

    /// Lays out the text for this width.
    pub(crate) fn layout_for(&mut self, width: u16) -> TextLayout {
        self.width = width;
        self.layout()
    }

    /// The layout for the last width.
    pub(crate) fn layout(&self) -> TextLayout {
        let width = if self.width == 0 { 80 } else { self.width };
        TextLayout::new(self.text.as_str(), &self.attachments, width)
    }

    /// Replaces all text, as one undo step.
    pub(crate) fn set(&mut self, text: &str) {
        self.splice(0..self.text.as_str().len(), text, EditKind::Other);
    }

    /// Types a character.
    pub(crate) fn type_char(&mut self, c: char) {
        let mut buffer = [0; 4];
        self.splice(self.caret()..self.caret(), c.encode_utf8(&mut buffer), EditKind::Typing);
    }

    /// Inserts text at the caret, as one undo step.
    pub(crate) fn insert(&mut self, text: &str) {
        self.splice(self.caret()..self.caret(), text, EditKind::Other);
    }

    /// Inserts an attachment at the caret.
    pub(crate) fn attach(&mut self, label: String, chip: Attachment) {
        if let Some(character) = self.attachments.add(label, chip) {
            let mut buffer = [0; 4];
            let character: &str = character.encode_utf8(&mut buffer);
            self.change(self.caret()..self.caret(), character, EditKind::Other);
        }
    }

    /// Replaces a range.
    pub(crate) fn splice(&mut self, range: Range<usize>, with: &str, kind: EditKind) {
        let with = sanitise_except_attachments(with, &self.attachments);
        self.change(range, &with, kind);
    }

    /// Moves the caret.
    pub(crate) fn move_caret(&mut self, at: usize) {
        self.text.set_caret(at);
        self.end_undo_step();
    }

    /// Cuts a range into the kill ring.
    pub(crate) fn cut(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            let piece = self.text.as_str()[range.clone()].to_owned();
            self.change(range, "", EditKind::Other);
            self.kill_ring.push(piece);
        }
    }

    /// Undoes a step.
    pub(crate) fn undo(&mut self) -> EditOutcome {
        let before = self.undo_stack.undo(&self.text);
        self.restore_text(before)
    }

    /// Redoes a step.
    pub(crate) fn redo(&mut self) -> EditOutcome {
        let after = self.undo_stack.redo(&self.text);
        self.restore_text(after)
    }

    /// Expands the folded paste at the caret or left of it.
    pub(crate) fn expand(&mut self) -> EditOutcome {
        let caret = self.caret();
        for at in [caret, self.text.left(caret)] {
            let character = self.text.as_str()[at..].chars().next();
            let Some((character, Attachment::Text(pasted))) =
                character.and_then(|c| Some((c, self.attachments.get(c)?)))
            else {
                continue;
            };
            let pasted = pasted.clone();
            self.splice(at..at + character.len_utf8(), &pasted, EditKind::Other);
            return EditOutcome::Changed;
        }
        EditOutcome::Moved
    }

    /// Performs a key action.
    pub(crate) fn perform(&mut self, action: KeyAction) -> EditOutcome {
        let text = &self.text;
        let caret = text.caret();
        match action {
            KeyAction::Left => self.move_to(text.left(caret)),
            KeyAction::Right => self.move_to(text.right(caret)),
            KeyAction::WordLeft => self.move_to(text.word_left(caret)),
            KeyAction::WordRight => self.move_to(text.word_right(caret)),
            KeyAction::LineStart => self.move_to(text.line_start(caret)),
            KeyAction::LineEnd => self.move_to(text.line_end(caret)),
            KeyAction::TextStart => self.move_to(0),
            KeyAction::TextEnd => self.move_to(text.as_str().len()),
            KeyAction::Up => self.step_row(RowStep::Up),
            KeyAction::Down => self.step_row(RowStep::Down),
            KeyAction::Newline => self.insert_as_edit("\n"),
            KeyAction::DeleteBack => self.delete(text.left(caret)..caret),
            KeyAction::DeleteForward => self.delete(caret..text.right(caret)),
            KeyAction::DeleteWordBack => self.kill(text.word_left(caret)..caret, KillSide::Before),
            KeyAction::DeleteWordForward => self.kill(caret..text.word_right(caret), KillSide::After),
            KeyAction::KillLine => self.kill(caret..self.kill_end(), KillSide::After),
            KeyAction::KillLineBack => self.kill(self.kill_start()..caret, KillSide::Before),
            KeyAction::Yank => self.yank(),
            KeyAction::YankPop => self.yank_pop(),
            KeyAction::Transpose => self.transpose(),
            KeyAction::Uppercase => self.change_case(str::to_uppercase),
            KeyAction::Lowercase => self.change_case(str::to_lowercase),
            KeyAction::Capitalise => self.change_case(capitalise),
            KeyAction::Undo => self.undo(),
            KeyAction::Redo => self.redo(),
            KeyAction::Expand => self.expand(),
            _ => EditOutcome::NotAnEdit,
        }
    }

    /// Moves one row up or down, keeping the column where the motion began.
    pub(crate) fn step_row(&mut self, step: RowStep) -> EditOutcome {
        let layout = self.layout();
        let (row, column) = layout.position(self.as_str(), &self.attachments, self.caret());
        let target = match step {
            RowStep::Up if row == 0 => return EditOutcome::AtTop,
            RowStep::Up => row - 1,
            RowStep::Down if row + 1 >= layout.rows().len() => return EditOutcome::AtBottom,
            RowStep::Down => row + 1,
        };
        let goal = self.goal_column.unwrap_or(column);
        let at = layout.offset(self.as_str(), &self.attachments, target, goal);
        self.move_caret(at);
        self.goal_column = Some(goal);
        EditOutcome::Moved
    }

    fn caret(&self) -> usize {
        self.text.caret()
    }

    fn change(&mut self, range: Range<usize>, with: &str, kind: EditKind) {
        self.undo_stack.before_edit(&self.text, kind);
        self.text.replace(range, with);
        self.undo_stack.after_edit(&self.text, kind);
        self.goal_column = None;
        self.last_edit = LastEdit::Other;
    }

    fn end_undo_step(&mut self) {
        self.undo_stack.end_step();
        self.goal_column = None;
        self.last_edit = LastEdit::Other;
    }

    fn restore_text(&mut self, to: Option<CaretText>) -> EditOutcome {
        let Some(text) = to else { return EditOutcome::Moved };
        self.text = text;
        self.goal_column = None;
        self.last_edit = LastEdit::Other;
        EditOutcome::Changed
    }

    fn move_to(&mut self, at: usize) -> EditOutcome {
        self.move_caret(at);
        EditOutcome::Moved
    }

    fn insert_as_edit(&mut self, text: &str) -> EditOutcome {
        self.insert(text);
        EditOutcome::Changed
    }

    fn delete(&mut self, range: Range<usize>) -> EditOutcome {
        if range.is_empty() {
            return EditOutcome::Moved;
        }
        self.change(range, "", EditKind::Deleting);
        EditOutcome::Changed
    }

    fn kill(&mut self, range: Range<usize>, side: KillSide) -> EditOutcome {
        if range.is_empty() {
            return EditOutcome::Moved;
        }
        let continues = self.last_edit == LastEdit::Cut;
        let piece = self.text.as_str()[range.clone()].to_owned();
        self.change(range, "", EditKind::Other);
        match continues {
            true => self.kill_ring.join(piece, side),
            false => self.kill_ring.push(piece),
        }
        self.last_edit = LastEdit::Cut;
        EditOutcome::Changed
    }

    /// The end of the line, or the newline if the caret is at the end.
    fn kill_end(&self) -> usize {
        let end = self.text.line_end(self.caret());
        if end == self.caret() { self.text.right(end) } else { end }
    }

    fn kill_start(&self) -> usize {
        let start = self.text.line_start(self.caret());
        if start == self.caret() {
            self.text.left(start)
        } else {
            start
        }
    }

    fn yank(&mut self) -> EditOutcome {
        let Some(piece) = self.kill_ring.last().map(str::to_owned) else {
            return EditOutcome::Moved;
        };
        let start = self.caret();
        self.insert(&piece);
        self.last_edit = LastEdit::Yank(start..self.caret());
        EditOutcome::Changed
    }

    fn yank_pop(&mut self) -> EditOutcome {
        let LastEdit::Yank(range) = self.last_edit.clone() else {
            return EditOutcome::Moved;
        };
        let Some(piece) = self.kill_ring.previous().map(str::to_owned) else {
            return EditOutcome::Moved;
        };
        let start = range.start;
        self.splice(range, &piece, EditKind::Other);
        self.last_edit = LastEdit::Yank(start..self.caret());
        EditOutcome::Changed
    }

    fn transpose(&mut self) -> EditOutcome {
        let caret = self.caret();
        let middle = if caret == self.as_str().len() {
            self.text.left(caret)
        } else {
            caret
        };
        let (start, end) = (self.text.left(middle), self.text.right(middle));
        if start == middle || middle == end {
            return EditOutcome::Moved;
        }
        let swapped = format!("{}{}", &self.as_str()[middle..end], &self.as_str()[start..middle]);
        self.change(start..end, &swapped, EditKind::Other);
        EditOutcome::Changed
    }

    fn change_case(&mut self, change: impl Fn(&str) -> String) -> EditOutcome {
        let range = self.caret()..self.text.word_right(self.caret());
        if range.is_empty() {
            return EditOutcome::Moved;
        }
        let changed = change(&self.as_str()[range.clone()]);
        self.change(range, &changed, EditKind::Other);
        EditOutcome::Changed
    }
}

/// A vertical step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowStep {
    Up,
    Down,
}

/// Sanitises external text but keeps this editor's attachments, which may have been cut and pasted.
fn sanitise_except_attachments(text: &str, chips: &Attachments) -> String {
    if text.chars().all(|c| c == '\n' || !c.is_control()) && !text.chars().any(|c| u32::from(c) >= 0x10_0000) {
        return text.to_owned();
    }
    text.split_inclusive(|c| chips.label(c).is_some())
        .map(|piece| match piece.chars().next_back() {
            Some(chip) if chips.label(chip).is_some() => {
                format!("{}{chip}", sanitise_input(&piece[..piece.len() - chip.len_utf8()]))
            }
            Some(_) | None => sanitise_input(piece),
        })
        .collect()
}

fn capitalise(word: &str) -> String {
    let mut done = false;
    let capital = word.chars().flat_map(|c| {
        let first = !done && c.is_alphabetic();
        done |= first;
        let changed: Vec<char> = match first {
            true => c.to_uppercase().collect(),
            false => c.to_lowercase().collect(),
        };
        changed
    });
    capital.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text with `|` at the caret.
    fn shown(editor: &TextEditor) -> String {
        let mut text = editor.as_str().to_owned();
        text.insert(editor.caret(), '|');
        text
    }

    fn check(before: &str, actions: &[KeyAction], after: &str) {
        let mut editor = TextEditor::default();
        let caret = before.find('|').unwrap();
        editor.set(&before.replace('|', ""));
        editor.move_caret(caret);
        for action in actions {
            editor.perform(*action);
        }
        assert_eq!(shown(&editor), after, "{before} {actions:?}");
    }

    #[test]
    fn shell_editing_keys_work() {
        use KeyAction::*;
        check("one two| three", &[DeleteWordBack], "one | three");
        check(
            "one two| three",
            &[DeleteWordBack, DeleteWordBack, Yank],
            "one two| three",
        );
        check("one |two three", &[KillLine, Yank, Yank], "one two threetwo three|");
        check("one\n|two", &[KillLineBack], "one|two");
        check("one|\ntwo", &[KillLine], "one|two");
        check("a|b", &[KillLine, LineStart, KillLine, Yank], "a|");
        check("a|b", &[KillLine, LineStart, KillLine, Yank, YankPop], "b|");
        check("ab|", &[Transpose], "ba|");
        check("|one two", &[Capitalise, Uppercase], "One TWO|");
        check("|ONE two", &[Lowercase, WordRight, WordLeft], "one |two");
        check("e\u{301}漢|", &[DeleteBack, DeleteBack], "|");
        check("a\n|b", &[Left, Left, Right, DeleteForward], "a|b");
        check("|ab\ncd", &[TextEnd, Newline, TextStart, LineEnd], "ab|\ncd\n");
        check("a|b", &[KillLine, Undo, Undo, Undo, Redo], "a|b");
    }

    #[test]
    fn up_and_down_keep_the_initial_column() {
        use KeyAction::*;
        check("a long line\nx\nanother| one", &[Up], "a long line\nx|\nanother one");
        check(
            "a long line\nx\nanother| one",
            &[Up, Up],
            "a long |line\nx\nanother one",
        );
        check("漢字漢|字\nabcdefgh", &[Down], "漢字漢字\nabcdef|gh");
    }

    #[test]
    fn typing_is_undone_word_by_word() {
        let mut editor = TextEditor::default();
        for c in "fix the bug".chars() {
            editor.type_char(c);
        }
        let mut steps = vec![editor.as_str().to_owned()];
        while editor.undo() == EditOutcome::Changed {
            steps.push(editor.as_str().to_owned());
        }
        assert_eq!(steps, ["fix the bug", "fix the ", "fix ", ""]);
        while editor.redo() == EditOutcome::Changed {}
        assert_eq!(editor.as_str(), "fix the bug");
    }

    #[test]
    fn a_folded_paste_is_cut_pasted_undone_and_expanded_as_one() {
        let mut editor = TextEditor::default();
        editor.insert("see ");
        editor.attach("[pasted 2 lines]".into(), Attachment::Text("a\nb".into()));
        editor.perform(KeyAction::DeleteBack);
        assert_eq!(editor.as_str(), "see ");
        editor.undo();
        editor.perform(KeyAction::KillLineBack);
        editor.perform(KeyAction::Yank);
        assert_eq!(editor.attachments.expand(editor.as_str()), "see a\nb");
        assert_eq!(editor.expand(), EditOutcome::Changed);
        assert_eq!(editor.as_str(), "see a\nb");
    }
}
