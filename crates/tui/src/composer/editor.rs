//! The editor as a value: text, attachments, undo and what was cut. It knows no terminal, no files and no session.

use super::chips::{Chip, Chips, clean};
use super::layout::Layout;
use super::ring::{Ring, Side};
use super::text::Text;
use super::undo::{Kind, Undo};
use crate::keys::Deed;
use std::ops::Range;

/// The editor.
#[derive(Default)]
pub(crate) struct Editor {
    text: Text,
    /// Attachments that characters of the text stand for.
    pub(crate) chips: Chips,
    /// What was cut.
    pub(crate) ring: Ring,
    undo: Undo,
    goal: Option<u16>,
    width: u16,
    last: Last,
}

/// What was done last, where it matters for what comes next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Other,
    Cut,
    Put(Range<usize>),
}

/// What came of a deed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Done {
    /// The caret moved, or nothing happened.
    Moved,
    /// The text changed.
    Changed,
    /// There is no row above.
    AtTop,
    /// There is no row below.
    AtBottom,
    /// It is nothing that the editor does.
    Unknown,
}

impl Editor {
    /// The text with its caret.
    pub(crate) fn text(&self) -> &Text {
        &self.text
    }

    /// What is written, attachments as their characters.
    pub(crate) fn as_str(&self) -> &str {
        self.text.as_str()
    }

    /// The text is laid out in rows of this width.
    pub(crate) fn fit(&mut self, width: u16) -> Layout {
        self.width = width;
        self.layout()
    }

    /// The layout for the width it was last laid out in.
    pub(crate) fn layout(&self) -> Layout {
        let width = if self.width == 0 { 80 } else { self.width };
        Layout::new(self.text.as_str(), &self.chips, width)
    }

    /// Puts text in place of all that is there, as one step.
    pub(crate) fn set(&mut self, text: &str) {
        self.splice(0..self.text.as_str().len(), text, Kind::Other);
    }

    /// A letter is typed.
    pub(crate) fn type_char(&mut self, c: char) {
        let mut buffer = [0; 4];
        self.splice(self.caret()..self.caret(), c.encode_utf8(&mut buffer), Kind::Typing);
    }

    /// Text at the caret, as one step.
    pub(crate) fn insert(&mut self, text: &str) {
        self.splice(self.caret()..self.caret(), text, Kind::Other);
    }

    /// An attachment at the caret.
    pub(crate) fn attach(&mut self, label: String, chip: Chip) {
        if let Some(character) = self.chips.add(label, chip) {
            let mut buffer = [0; 4];
            let character: &str = character.encode_utf8(&mut buffer);
            self.change(self.caret()..self.caret(), character, Kind::Other);
        }
    }

    /// Puts text in place of a range.
    pub(crate) fn splice(&mut self, range: Range<usize>, with: &str, kind: Kind) {
        let with = clean_but_chips(with, &self.chips);
        self.change(range, &with, kind);
    }

    /// Puts the caret somewhere.
    pub(crate) fn go(&mut self, at: usize) {
        self.text.set_caret(at);
        self.settle();
    }

    /// Takes a range out and keeps it to be put back.
    pub(crate) fn cut(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            let piece = self.text.as_str()[range.clone()].to_owned();
            self.change(range, "", Kind::Other);
            self.ring.push(piece);
        }
    }

    /// Undoes a step.
    pub(crate) fn undo(&mut self) -> Done {
        let before = self.undo.undo(&self.text);
        self.travel(before)
    }

    /// Redoes a step.
    pub(crate) fn redo(&mut self) -> Done {
        let after = self.undo.redo(&self.text);
        self.travel(after)
    }

    /// Puts pasted text that is folded at the caret, or left of it, in its place.
    pub(crate) fn expand(&mut self) -> Done {
        let caret = self.caret();
        for at in [caret, self.text.left(caret)] {
            let character = self.text.as_str()[at..].chars().next();
            let Some((character, Chip::Text(pasted))) = character.and_then(|c| Some((c, self.chips.get(c)?))) else {
                continue;
            };
            let pasted = pasted.clone();
            self.splice(at..at + character.len_utf8(), &pasted, Kind::Other);
            return Done::Changed;
        }
        Done::Moved
    }

    /// Does what a key means.
    pub(crate) fn act(&mut self, deed: Deed) -> Done {
        let text = &self.text;
        let caret = text.caret();
        match deed {
            Deed::Left => self.move_to(text.left(caret)),
            Deed::Right => self.move_to(text.right(caret)),
            Deed::WordLeft => self.move_to(text.word_left(caret)),
            Deed::WordRight => self.move_to(text.word_right(caret)),
            Deed::LineStart => self.move_to(text.line_start(caret)),
            Deed::LineEnd => self.move_to(text.line_end(caret)),
            Deed::TextStart => self.move_to(0),
            Deed::TextEnd => self.move_to(text.as_str().len()),
            Deed::Up => self.step(Step::Up),
            Deed::Down => self.step(Step::Down),
            Deed::Newline => self.put_in("\n"),
            Deed::DeleteBack => self.delete(text.left(caret)..caret),
            Deed::DeleteForward => self.delete(caret..text.right(caret)),
            Deed::DeleteWordBack => self.kill(text.word_left(caret)..caret, Side::Before),
            Deed::DeleteWordForward => self.kill(caret..text.word_right(caret), Side::Behind),
            Deed::KillLine => self.kill(caret..self.kill_end(), Side::Behind),
            Deed::KillLineBack => self.kill(self.kill_start()..caret, Side::Before),
            Deed::Yank => self.yank(),
            Deed::YankPop => self.yank_pop(),
            Deed::Transpose => self.transpose(),
            Deed::Uppercase => self.recase(str::to_uppercase),
            Deed::Lowercase => self.recase(str::to_lowercase),
            Deed::Capitalise => self.recase(capitalise),
            Deed::Undo => self.undo(),
            Deed::Redo => self.redo(),
            Deed::Expand => self.expand(),
            _ => Done::Unknown,
        }
    }

    /// One row up or down, staying in the column where the motion began.
    pub(crate) fn step(&mut self, step: Step) -> Done {
        let layout = self.layout();
        let (row, column) = layout.place(self.as_str(), &self.chips, self.caret());
        let target = match step {
            Step::Up if row == 0 => return Done::AtTop,
            Step::Up => row - 1,
            Step::Down if row + 1 >= layout.rows().len() => return Done::AtBottom,
            Step::Down => row + 1,
        };
        let goal = self.goal.unwrap_or(column);
        let at = layout.offset(self.as_str(), &self.chips, target, goal);
        self.go(at);
        self.goal = Some(goal);
        Done::Moved
    }

    fn caret(&self) -> usize {
        self.text.caret()
    }

    fn change(&mut self, range: Range<usize>, with: &str, kind: Kind) {
        self.undo.before(&self.text, kind);
        self.text.replace(range, with);
        self.undo.after(&self.text, kind);
        self.goal = None;
        self.last = Last::Other;
    }

    fn settle(&mut self) {
        self.undo.pause();
        self.goal = None;
        self.last = Last::Other;
    }

    fn travel(&mut self, to: Option<Text>) -> Done {
        let Some(text) = to else { return Done::Moved };
        self.text = text;
        self.goal = None;
        self.last = Last::Other;
        Done::Changed
    }

    fn move_to(&mut self, at: usize) -> Done {
        self.go(at);
        Done::Moved
    }

    fn put_in(&mut self, text: &str) -> Done {
        self.insert(text);
        Done::Changed
    }

    fn delete(&mut self, range: Range<usize>) -> Done {
        if range.is_empty() {
            return Done::Moved;
        }
        self.change(range, "", Kind::Deleting);
        Done::Changed
    }

    fn kill(&mut self, range: Range<usize>, side: Side) -> Done {
        if range.is_empty() {
            return Done::Moved;
        }
        let goes_on = self.last == Last::Cut;
        let piece = self.text.as_str()[range.clone()].to_owned();
        self.change(range, "", Kind::Other);
        match goes_on {
            true => self.ring.join(piece, side),
            false => self.ring.push(piece),
        }
        self.last = Last::Cut;
        Done::Changed
    }

    /// To the end of the line; at the end, the newline itself.
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

    fn yank(&mut self) -> Done {
        let Some(piece) = self.ring.last().map(str::to_owned) else {
            return Done::Moved;
        };
        let start = self.caret();
        self.insert(&piece);
        self.last = Last::Put(start..self.caret());
        Done::Changed
    }

    fn yank_pop(&mut self) -> Done {
        let Last::Put(range) = self.last.clone() else {
            return Done::Moved;
        };
        let Some(piece) = self.ring.earlier().map(str::to_owned) else {
            return Done::Moved;
        };
        let start = range.start;
        self.splice(range, &piece, Kind::Other);
        self.last = Last::Put(start..self.caret());
        Done::Changed
    }

    fn transpose(&mut self) -> Done {
        let caret = self.caret();
        let middle = if caret == self.as_str().len() {
            self.text.left(caret)
        } else {
            caret
        };
        let (start, end) = (self.text.left(middle), self.text.right(middle));
        if start == middle || middle == end {
            return Done::Moved;
        }
        let swapped = format!("{}{}", &self.as_str()[middle..end], &self.as_str()[start..middle]);
        self.change(start..end, &swapped, Kind::Other);
        Done::Changed
    }

    fn recase(&mut self, change: impl Fn(&str) -> String) -> Done {
        let range = self.caret()..self.text.word_right(self.caret());
        if range.is_empty() {
            return Done::Moved;
        }
        let changed = change(&self.as_str()[range.clone()]);
        self.change(range, &changed, Kind::Other);
        Done::Changed
    }
}

/// Up or down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// One row up.
    Up,
    /// One row down.
    Down,
}

/// Cleans text that comes from outside, but keeps the attachments of this editor, which may have been cut and put back.
fn clean_but_chips(text: &str, chips: &Chips) -> String {
    if text.chars().all(|c| c == '\n' || !c.is_control()) && !text.chars().any(|c| u32::from(c) >= 0x10_0000) {
        return text.to_owned();
    }
    text.split_inclusive(|c| chips.label(c).is_some())
        .map(|piece| match piece.chars().next_back() {
            Some(chip) if chips.label(chip).is_some() => {
                format!("{}{chip}", clean(&piece[..piece.len() - chip.len_utf8()]))
            }
            Some(_) | None => clean(piece),
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

    /// The text with `|` where the caret is.
    fn shown(editor: &Editor) -> String {
        let mut text = editor.as_str().to_owned();
        text.insert(editor.caret(), '|');
        text
    }

    fn check(before: &str, deeds: &[Deed], after: &str) {
        let mut editor = Editor::default();
        let caret = before.find('|').unwrap();
        editor.set(&before.replace('|', ""));
        editor.go(caret);
        for deed in deeds {
            editor.act(*deed);
        }
        assert_eq!(shown(&editor), after, "{before} {deeds:?}");
    }

    #[test]
    fn keys_of_a_shell_do_here_what_they_do_there() {
        use Deed::*;
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
    fn up_and_down_keep_the_column_where_they_began() {
        use Deed::*;
        check("a long line\nx\nanother| one", &[Up], "a long line\nx|\nanother one");
        check(
            "a long line\nx\nanother| one",
            &[Up, Up],
            "a long |line\nx\nanother one",
        );
        check("漢字漢|字\nabcdefgh", &[Down], "漢字漢字\nabcdef|gh");
    }

    #[test]
    fn typing_is_undone_by_words() {
        let mut editor = Editor::default();
        for c in "fix the bug".chars() {
            editor.type_char(c);
        }
        let mut steps = vec![editor.as_str().to_owned()];
        while editor.undo() == Done::Changed {
            steps.push(editor.as_str().to_owned());
        }
        assert_eq!(steps, ["fix the bug", "fix the ", "fix ", ""]);
        while editor.redo() == Done::Changed {}
        assert_eq!(editor.as_str(), "fix the bug");
    }

    #[test]
    fn a_folded_paste_is_cut_put_back_undone_and_unfolded_as_one() {
        let mut editor = Editor::default();
        editor.insert("see ");
        editor.attach("[pasted 2 lines]".into(), Chip::Text("a\nb".into()));
        editor.act(Deed::DeleteBack);
        assert_eq!(editor.as_str(), "see ");
        editor.undo();
        editor.act(Deed::KillLineBack);
        editor.act(Deed::Yank);
        assert_eq!(editor.chips.expand(editor.as_str()), "see a\nb");
        assert_eq!(editor.expand(), Done::Changed);
        assert_eq!(editor.as_str(), "see a\nb");
    }
}
