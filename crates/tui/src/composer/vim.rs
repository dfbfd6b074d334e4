//! Vim's keys over the editor: normal, visual and insert mode, counts, operators, motions and text objects.

mod motion;
mod object;
mod visual;

use super::editor::{Done, Editor};
use super::undo::Kind;
use crate::keys::Key;
use crossterm::event::{KeyCode, KeyModifiers};
use motion::{Motion, Reach};
use std::ops::Range;
use visual::Visual;

/// The largest count that is heeded.
const MOST: usize = 10_000;

/// Which mode the keys are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Keys are text.
    Insert,
    /// Keys are commands.
    Normal,
}

/// What came of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vimmed {
    /// It was a command, or a part of one.
    Done(Done),
    /// It is for the ordinary keys.
    Pass,
}

/// The state of the keys.
#[derive(Debug, Clone)]
pub(crate) struct Vim {
    mode: Mode,
    count: Option<usize>,
    operator: Option<(Operator, usize)>,
    waiting: Option<Waiting>,
    visual: Option<Visual>,
    /// The last search within a line, for `;` and `,`.
    sought: Option<Motion>,
    /// Whether what was yanked last is whole lines.
    linewise: bool,
    /// The keys of the last change and what was typed after it, for `.`.
    last: Vec<Key>,
    recording: Vec<Key>,
    replaying: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Delete,
    Change,
    Yank,
}

/// A key that needs another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    Find { till: bool, back: bool },
    Replace,
    Object { around: bool },
    G,
}

impl Default for Vim {
    fn default() -> Self {
        Vim {
            mode: Mode::Insert,
            count: None,
            operator: None,
            waiting: None,
            visual: None,
            sought: None,
            linewise: false,
            last: Vec::new(),
            recording: Vec::new(),
            replaying: false,
        }
    }
}

impl Vim {
    /// The name of the mode, for the status line.
    pub(crate) fn badge(&self) -> &'static str {
        match (self.mode, self.visual, self.is_waiting()) {
            (Mode::Insert, ..) => "insert",
            (Mode::Normal, Some(Visual { lines: true, .. }), _) => "visual line",
            (Mode::Normal, Some(_), _) => "visual",
            (Mode::Normal, None, false) => "normal",
            (Mode::Normal, None, true) => "normal …",
        }
    }

    /// What was begun and waits for more, for the status line.
    pub(crate) fn is_waiting(&self) -> bool {
        self.count.is_some() || self.operator.is_some() || self.waiting.is_some()
    }

    /// Back to writing, as after sending.
    pub(crate) fn reset(&mut self) {
        self.mode = Mode::Insert;
        self.visual = None;
        self.forget();
    }

    /// Takes a key.
    pub(crate) fn press(&mut self, key: Key, editor: &mut Editor) -> Vimmed {
        match self.mode {
            Mode::Insert => self.press_insert(key, editor),
            Mode::Normal => self.press_normal(key, editor),
        }
    }

    fn press_insert(&mut self, key: Key, editor: &mut Editor) -> Vimmed {
        if !self.replaying {
            self.recording.push(key);
        }
        if key.code() != KeyCode::Esc {
            return Vimmed::Pass;
        }
        self.mode = Mode::Normal;
        self.keep_recording();
        let caret = editor.text().caret();
        if caret > editor.text().line_start(caret) {
            editor.go(editor.text().left(caret));
        }
        Vimmed::Done(Done::Moved)
    }

    fn press_normal(&mut self, key: Key, editor: &mut Editor) -> Vimmed {
        if !self.replaying {
            self.recording.push(key);
        }
        if key.modifiers() == KeyModifiers::CONTROL && key.code() == KeyCode::Char('r') && !self.is_waiting() {
            return self.end(editor.redo());
        }
        if key.code() == KeyCode::Esc && self.is_waiting() {
            self.forget();
            return Vimmed::Done(Done::Moved);
        }
        if key.code() == KeyCode::Esc && self.visual.take().is_some() {
            self.forget();
            return Vimmed::Done(Done::Moved);
        }
        let Some(c) = typed(key) else {
            self.recording.clear();
            return Vimmed::Pass;
        };
        if let Some(waiting) = self.waiting.take() {
            return self.complete(waiting, c, editor);
        }
        self.command(c, editor)
    }

    fn complete(&mut self, waiting: Waiting, c: char, editor: &mut Editor) -> Vimmed {
        match waiting {
            Waiting::Find { till, back } => {
                let motion = Motion::Find { c, till, back };
                self.sought = Some(motion);
                self.go(motion, editor)
            }
            Waiting::Replace => {
                let at = editor.text().caret();
                let end = (0..self.times()).fold(at, |at, _| editor.text().right(at));
                let count = editor.as_str()[at..end].chars().count();
                if count == 0 {
                    return self.end(Done::Moved);
                }
                editor.splice(at..end, &c.to_string().repeat(self.times()), Kind::Other);
                editor.go(editor.text().left(editor.text().caret()));
                self.keep_recording();
                self.end(Done::Changed)
            }
            Waiting::Object { around } => match object::find(editor.text(), c, around) {
                Some(range) if self.visual.is_some() => self.choose_object(range, editor),
                Some(range) => self.apply(range, false, editor),
                None => self.end(Done::Moved),
            },
            Waiting::G => match c {
                'g' => self.go(Motion::Top, editor),
                'e' => self.go(Motion::WordEndBack, editor),
                _ => self.end(Done::Moved),
            },
        }
    }

    fn command(&mut self, c: char, editor: &mut Editor) -> Vimmed {
        if let Some(digit) = c.to_digit(10).filter(|digit| *digit > 0 || self.count.is_some()) {
            let count = self.count.unwrap_or(0) * 10 + digit as usize;
            self.count = Some(count.min(MOST));
            return Vimmed::Done(Done::Moved);
        }
        if let Some(vimmed) = self.visual(c, editor) {
            return vimmed;
        }
        if let Some(motion) = Motion::of(c, self.sought) {
            return self.go(motion, editor);
        }
        let waiting = match c {
            'f' | 'F' | 't' | 'T' => Some(Waiting::Find {
                till: matches!(c, 't' | 'T'),
                back: matches!(c, 'F' | 'T'),
            }),
            'g' => Some(Waiting::G),
            'r' if self.operator.is_none() => Some(Waiting::Replace),
            'i' | 'a' if self.operator.is_some() || self.visual.is_some() => Some(Waiting::Object { around: c == 'a' }),
            _ => None,
        };
        if waiting.is_some() {
            self.waiting = waiting;
            return Vimmed::Done(Done::Moved);
        }
        if self.visual.is_some() {
            return self.end(Done::Moved);
        }
        let operator = match c {
            'd' => Some(Operator::Delete),
            'c' => Some(Operator::Change),
            'y' => Some(Operator::Yank),
            _ => None,
        };
        match (operator, self.operator) {
            (Some(new), Some((old, _))) if new == old => self.whole_lines(editor),
            (Some(new), None) => {
                self.operator = Some((new, self.count.take().unwrap_or(1)));
                Vimmed::Done(Done::Moved)
            }
            (Some(_), Some(_)) | (None, Some(_)) => self.end(Done::Moved),
            (None, None) => self.act(c, editor),
        }
    }

    /// A motion moves the caret, or gives an operator its range.
    fn go(&mut self, motion: Motion, editor: &mut Editor) -> Vimmed {
        let times = self.times();
        if let (Motion::Row(step), None) = (motion, self.operator) {
            let done = (0..times).fold(Done::Moved, |_, _| editor.step(step));
            // At an edge the arrows go through earlier prompts; so do these keys.
            return self.end(done);
        }
        // Like vim, `cw` leaves the space behind the word alone.
        let motion = match (motion, self.operator) {
            (Motion::WordStart { big }, Some((Operator::Change, _))) => Motion::WordEnd { big },
            (motion, _) => motion,
        };
        let given = self.count.is_some() || self.operator.is_some_and(|(_, count)| count > 1);
        let Some(target) = motion.target(editor.text(), times, given) else {
            return self.end(Done::Moved);
        };
        if self.operator.is_none() {
            editor.go(target);
            clamp(editor);
            return self.end(Done::Moved);
        }
        let caret = editor.text().caret();
        let (start, mut end) = (caret.min(target), caret.max(target));
        match motion.reach() {
            Reach::Lines => {
                return self.apply(
                    editor.text().line_start(start)..editor.text().line_end(end),
                    true,
                    editor,
                );
            }
            Reach::Inclusive => end = editor.text().right(end),
            Reach::Exclusive => {}
        }
        // An operator over a word does not swallow the line's end.
        if matches!(motion, Motion::WordStart { .. }) && editor.as_str()[start..end].ends_with('\n') && end - start > 1
        {
            end -= 1;
        }
        self.apply(start..end, false, editor)
    }

    fn whole_lines(&mut self, editor: &mut Editor) -> Vimmed {
        let caret = editor.text().caret();
        let start = editor.text().line_start(caret);
        let mut end = editor.text().line_end(caret);
        for _ in 1..self.times() {
            if end < editor.as_str().len() {
                end = editor.text().line_end(end + 1);
            }
        }
        self.apply(start..end, true, editor)
    }

    fn apply(&mut self, range: Range<usize>, linewise: bool, editor: &mut Editor) -> Vimmed {
        let Some((operator, _)) = self.operator else {
            return self.end(Done::Moved);
        };
        self.linewise = linewise;
        match operator {
            Operator::Yank => {
                editor.ring.push(editor.as_str()[range.clone()].to_owned());
                editor.go(range.start);
                clamp(editor);
                self.recording.clear();
                self.end(Done::Moved)
            }
            Operator::Delete => {
                let yanked = editor.as_str()[range.clone()].to_owned();
                editor.cut(if linewise {
                    with_newline(editor.as_str(), range)
                } else {
                    range
                });
                if linewise {
                    editor.ring.push(yanked);
                    editor.go(editor.text().line_start(editor.text().caret()));
                }
                clamp(editor);
                self.keep_recording();
                self.end(Done::Changed)
            }
            Operator::Change => {
                editor.go(range.start);
                editor.cut(range);
                self.insert()
            }
        }
    }

    /// A command that is complete by itself.
    fn act(&mut self, c: char, editor: &mut Editor) -> Vimmed {
        let caret = editor.text().caret();
        let (start, end) = (editor.text().line_start(caret), editor.text().line_end(caret));
        let forward = (0..self.times()).fold(caret, |at, _| if at < end { editor.text().right(at) } else { at });
        match c {
            'i' => return self.insert(),
            'v' | 'V' => return self.choose(c == 'V', editor),
            'a' => editor.go(if caret < end { editor.text().right(caret) } else { caret }),
            'I' => editor.go(motion::first_word(editor.text(), start)),
            'A' => editor.go(end),
            'o' => {
                editor.splice(end..end, "\n", Kind::Other);
            }
            'O' => {
                editor.splice(start..start, "\n", Kind::Other);
                editor.go(start);
            }
            's' => editor.cut(caret..forward),
            'S' => editor.cut(start..end),
            'C' => editor.cut(caret..end),
            _ => return self.stay(c, caret..forward, editor),
        }
        self.insert()
    }

    /// A command after which the keys are still commands.
    fn stay(&mut self, c: char, under: Range<usize>, editor: &mut Editor) -> Vimmed {
        let caret = under.start;
        let text = editor.text();
        match c {
            'x' => editor.cut(under),
            'X' => {
                let start = text.line_start(caret);
                let back = (0..self.times()).fold(caret, |at, _| if at > start { text.left(at) } else { at });
                editor.cut(back..caret);
            }
            'D' => editor.cut(caret..text.line_end(caret)),
            'Y' => {
                let line = text.as_str()[text.line_start(caret)..text.line_end(caret)].to_owned();
                self.linewise = true;
                editor.ring.push(line);
                self.recording.clear();
            }
            'J' => join(editor),
            '~' => {
                let swapped: String = text.as_str()[under.clone()].chars().map(swap_case).collect();
                editor.splice(under, &swapped, Kind::Other);
            }
            'p' | 'P' => self.put(c == 'P', editor),
            'u' => {
                let done = editor.undo();
                clamp(editor);
                self.recording.clear();
                return self.end(done);
            }
            '.' => return self.repeat(editor),
            _ => {
                self.recording.clear();
                return self.end(Done::Moved);
            }
        }
        clamp(editor);
        self.keep_recording();
        self.end(Done::Changed)
    }

    fn put(&mut self, before: bool, editor: &mut Editor) {
        let Some(piece) = editor.ring.last().map(str::to_owned) else {
            return;
        };
        let piece = piece.repeat(if self.linewise { 1 } else { self.times() });
        let caret = editor.text().caret();
        if self.linewise {
            let lines = vec![piece; self.times()].join("\n");
            let (start, end) = (editor.text().line_start(caret), editor.text().line_end(caret));
            if before {
                editor.splice(start..start, &format!("{lines}\n"), Kind::Other);
                editor.go(start);
            } else {
                editor.splice(end..end, &format!("\n{lines}"), Kind::Other);
                editor.go(end + 1);
            }
            return;
        }
        let at = match before || editor.text().line_end(caret) == caret {
            true => caret,
            false => editor.text().right(caret),
        };
        editor.splice(at..at, &piece, Kind::Other);
        editor.go(editor.text().left(editor.text().caret()));
    }

    /// Does the last change again, with what was typed after it.
    fn repeat(&mut self, editor: &mut Editor) -> Vimmed {
        self.forget();
        let keys = self.last.clone();
        self.replaying = true;
        for key in keys {
            if self.press(key, editor) == Vimmed::Pass {
                replay(key, editor);
            }
        }
        self.replaying = false;
        self.end(Done::Changed)
    }

    fn insert(&mut self) -> Vimmed {
        self.mode = Mode::Insert;
        self.count = None;
        self.operator = None;
        Vimmed::Done(Done::Changed)
    }

    fn end(&mut self, done: Done) -> Vimmed {
        self.forget();
        Vimmed::Done(done)
    }

    fn forget(&mut self) {
        self.count = None;
        self.operator = None;
        self.waiting = None;
        if self.mode == Mode::Normal && self.visual.is_none() {
            self.recording.clear();
        }
    }

    fn keep_recording(&mut self) {
        if !self.replaying {
            self.last = std::mem::take(&mut self.recording);
        }
    }

    fn times(&self) -> usize {
        let before = self.operator.map_or(1, |(_, count)| count);
        (self.count.unwrap_or(1) * before).min(MOST)
    }
}

/// What a key types, capital letters and signs included.
fn typed(key: Key) -> Option<char> {
    match key.code() {
        KeyCode::Enter => Some('j'),
        KeyCode::Backspace => Some('h'),
        _ => key.types(),
    }
}

/// A key of insert mode as far as it can be done again here.
fn replay(key: Key, editor: &mut Editor) {
    match (key.code(), key.types()) {
        (_, Some(c)) => editor.type_char(c),
        (KeyCode::Backspace, None) => {
            editor.act(crate::keys::Deed::DeleteBack);
        }
        (KeyCode::Enter, None) => editor.insert("\n"),
        (_, None) => {}
    }
}

/// In normal mode the caret stands on a character, not behind the last one of a line.
fn clamp(editor: &mut Editor) {
    let caret = editor.text().caret();
    let (start, end) = (editor.text().line_start(caret), editor.text().line_end(caret));
    if caret == end && caret > start {
        editor.go(editor.text().left(caret));
    }
}

fn with_newline(text: &str, range: Range<usize>) -> Range<usize> {
    if range.end < text.len() {
        range.start..range.end + 1
    } else {
        range.start.saturating_sub(1)..range.end
    }
}

fn join(editor: &mut Editor) {
    let end = editor.text().line_end(editor.text().caret());
    if end == editor.as_str().len() {
        return;
    }
    let rest = &editor.as_str()[end + 1..];
    let indent = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    editor.splice(end..end + 1 + indent, " ", Kind::Other);
    editor.go(end);
}

fn swap_case(c: char) -> char {
    let swapped: Vec<char> = if c.is_uppercase() {
        c.to_lowercase().collect()
    } else {
        c.to_uppercase().collect()
    };
    match swapped[..] {
        [one] => one,
        _ => c,
    }
}

#[cfg(test)]
mod tests;
