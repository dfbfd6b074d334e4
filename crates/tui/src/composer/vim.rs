//! Vim keys for the editor: normal, visual and insert mode, counts, operators, motions and text objects.

mod motion;
mod object;
mod visual;

use super::editor::{EditOutcome, TextEditor};
use super::undo::EditKind;
use crate::keys::KeyChord;
use crossterm::event::{KeyCode, KeyModifiers};
use motion::{Motion, MotionReach};
use std::ops::Range;
use visual::VisualSelection;

/// Maximum count.
const MAX_COUNT: usize = 10_000;

/// The mode of the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VimMode {
    /// Keys are text.
    Insert,
    /// Keys are commands.
    Normal,
}

/// The state of the Vim keys.
#[derive(Debug, Clone)]
pub(crate) struct Vim {
    mode: VimMode,
    count: Option<usize>,
    operator: Option<(VimOperator, usize)>,
    pending_key: Option<PendingKey>,
    visual: Option<VisualSelection>,
    /// The last search within a line, for `;` and `,`.
    last_find: Option<Motion>,
    /// Whether the last yank was linewise.
    linewise: bool,
    /// Keys of the last change and the text typed after it, for `.`.
    last_change: Vec<KeyChord>,
    recording: Vec<KeyChord>,
    replaying: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VimOperator {
    Delete,
    Change,
    Yank,
}

/// A key that needs another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PendingKey {
    Find { till: bool, back: bool },
    Replace,
    Object { around: bool },
    G,
}

impl Default for Vim {
    fn default() -> Self {
        Vim {
            mode: VimMode::Insert,
            count: None,
            operator: None,
            pending_key: None,
            visual: None,
            last_find: None,
            linewise: false,
            last_change: Vec::new(),
            recording: Vec::new(),
            replaying: false,
        }
    }
}

impl Vim {
    /// The mode name for the status line.
    pub(crate) fn badge(&self) -> &'static str {
        match (self.mode, self.visual, self.is_waiting()) {
            (VimMode::Insert, ..) => "insert",
            (VimMode::Normal, Some(VisualSelection { lines: true, .. }), _) => "visual line",
            (VimMode::Normal, Some(_), _) => "visual",
            (VimMode::Normal, None, false) => "normal",
            (VimMode::Normal, None, true) => "normal …",
        }
    }

    /// Whether a command is incomplete.
    pub(crate) fn is_waiting(&self) -> bool {
        self.count.is_some() || self.operator.is_some() || self.pending_key.is_some()
    }

    /// Returns to insert mode, as after sending.
    pub(crate) fn reset(&mut self) {
        self.mode = VimMode::Insert;
        self.visual = None;
        self.clear_pending();
    }

    /// Handles a key. Returns `None` if the ordinary key map handles it.
    pub(crate) fn handle_key(&mut self, key: KeyChord, editor: &mut TextEditor) -> Option<EditOutcome> {
        match self.mode {
            VimMode::Insert => self.insert_mode_key(key, editor),
            VimMode::Normal => self.normal_mode_key(key, editor),
        }
    }

    fn insert_mode_key(&mut self, key: KeyChord, editor: &mut TextEditor) -> Option<EditOutcome> {
        if !self.replaying {
            self.recording.push(key);
        }
        if key.code() != KeyCode::Esc {
            return None;
        }
        self.mode = VimMode::Normal;
        self.save_recording();
        let caret = editor.text().caret();
        if caret > editor.text().line_start(caret) {
            editor.move_caret(editor.text().left(caret));
        }
        Some(EditOutcome::Moved)
    }

    fn normal_mode_key(&mut self, key: KeyChord, editor: &mut TextEditor) -> Option<EditOutcome> {
        if !self.replaying {
            self.recording.push(key);
        }
        if key.modifiers() == KeyModifiers::CONTROL && key.code() == KeyCode::Char('r') && !self.is_waiting() {
            return self.finish_command(editor.redo());
        }
        if key.code() == KeyCode::Esc && self.is_waiting() {
            self.clear_pending();
            return Some(EditOutcome::Moved);
        }
        if key.code() == KeyCode::Esc && self.visual.take().is_some() {
            self.clear_pending();
            return Some(EditOutcome::Moved);
        }
        let Some(c) = typed_char(key) else {
            self.recording.clear();
            return None;
        };
        if let Some(waiting) = self.pending_key.take() {
            return self.complete_pending(waiting, c, editor);
        }
        self.command(c, editor)
    }

    fn complete_pending(&mut self, waiting: PendingKey, c: char, editor: &mut TextEditor) -> Option<EditOutcome> {
        match waiting {
            PendingKey::Find { till, back } => {
                let motion = Motion::Find { c, till, back };
                self.last_find = Some(motion);
                self.apply_motion(motion, editor)
            }
            PendingKey::Replace => {
                let at = editor.text().caret();
                let end = (0..self.count()).fold(at, |at, _| editor.text().right(at));
                let count = editor.as_str()[at..end].chars().count();
                if count == 0 {
                    return self.finish_command(EditOutcome::Moved);
                }
                editor.splice(at..end, &c.to_string().repeat(self.count()), EditKind::Other);
                editor.move_caret(editor.text().left(editor.text().caret()));
                self.save_recording();
                self.finish_command(EditOutcome::Changed)
            }
            PendingKey::Object { around } => match object::find(editor.text(), c, around) {
                Some(range) if self.visual.is_some() => self.select_object(range, editor),
                Some(range) => self.apply(range, false, editor),
                None => self.finish_command(EditOutcome::Moved),
            },
            PendingKey::G => match c {
                'g' => self.apply_motion(Motion::Top, editor),
                'e' => self.apply_motion(Motion::WordEndBack, editor),
                _ => self.finish_command(EditOutcome::Moved),
            },
        }
    }

    fn command(&mut self, c: char, editor: &mut TextEditor) -> Option<EditOutcome> {
        if let Some(digit) = c.to_digit(10).filter(|digit| *digit > 0 || self.count.is_some()) {
            let count = self.count.unwrap_or(0) * 10 + digit as usize;
            self.count = Some(count.min(MAX_COUNT));
            return Some(EditOutcome::Moved);
        }
        if let Some(outcome) = self.visual_command(c, editor) {
            return Some(outcome);
        }
        if let Some(motion) = Motion::of(c, self.last_find) {
            return self.apply_motion(motion, editor);
        }
        let waiting = match c {
            'f' | 'F' | 't' | 'T' => Some(PendingKey::Find {
                till: matches!(c, 't' | 'T'),
                back: matches!(c, 'F' | 'T'),
            }),
            'g' => Some(PendingKey::G),
            'r' if self.operator.is_none() => Some(PendingKey::Replace),
            'i' | 'a' if self.operator.is_some() || self.visual.is_some() => {
                Some(PendingKey::Object { around: c == 'a' })
            }
            _ => None,
        };
        if waiting.is_some() {
            self.pending_key = waiting;
            return Some(EditOutcome::Moved);
        }
        if self.visual.is_some() {
            return self.finish_command(EditOutcome::Moved);
        }
        let operator = match c {
            'd' => Some(VimOperator::Delete),
            'c' => Some(VimOperator::Change),
            'y' => Some(VimOperator::Yank),
            _ => None,
        };
        match (operator, self.operator) {
            (Some(new), Some((old, _))) if new == old => self.whole_lines(editor),
            (Some(new), None) => {
                self.operator = Some((new, self.count.take().unwrap_or(1)));
                Some(EditOutcome::Moved)
            }
            (Some(_), Some(_)) | (None, Some(_)) => self.finish_command(EditOutcome::Moved),
            (None, None) => self.run_command(c, editor),
        }
    }

    /// A motion moves the caret, or gives an operator its range.
    fn apply_motion(&mut self, motion: Motion, editor: &mut TextEditor) -> Option<EditOutcome> {
        let times = self.count();
        if let (Motion::Row(step), None) = (motion, self.operator) {
            let done = (0..times).fold(EditOutcome::Moved, |_, _| editor.step_row(step));
            // At the edges these keys step through the history like the arrow keys.
            return self.finish_command(done);
        }
        // Like Vim, `cw` keeps the space after the word.
        let motion = match (motion, self.operator) {
            (Motion::WordStart { big }, Some((VimOperator::Change, _))) => Motion::WordEnd { big },
            (motion, _) => motion,
        };
        let given = self.count.is_some() || self.operator.is_some_and(|(_, count)| count > 1);
        let Some(target) = motion.target(editor.text(), times, given) else {
            return self.finish_command(EditOutcome::Moved);
        };
        if self.operator.is_none() {
            editor.move_caret(target);
            clamp_caret(editor);
            return self.finish_command(EditOutcome::Moved);
        }
        let caret = editor.text().caret();
        let (start, mut end) = (caret.min(target), caret.max(target));
        match motion.reach() {
            MotionReach::Lines => {
                return self.apply(
                    editor.text().line_start(start)..editor.text().line_end(end),
                    true,
                    editor,
                );
            }
            MotionReach::Inclusive => end = editor.text().right(end),
            MotionReach::Exclusive => {}
        }
        // An operator over a word keeps the line's end.
        if matches!(motion, Motion::WordStart { .. }) && editor.as_str()[start..end].ends_with('\n') && end - start > 1
        {
            end -= 1;
        }
        self.apply(start..end, false, editor)
    }

    fn whole_lines(&mut self, editor: &mut TextEditor) -> Option<EditOutcome> {
        let caret = editor.text().caret();
        let start = editor.text().line_start(caret);
        let mut end = editor.text().line_end(caret);
        for _ in 1..self.count() {
            if end < editor.as_str().len() {
                end = editor.text().line_end(end + 1);
            }
        }
        self.apply(start..end, true, editor)
    }

    fn apply(&mut self, range: Range<usize>, linewise: bool, editor: &mut TextEditor) -> Option<EditOutcome> {
        let Some((operator, _)) = self.operator else {
            return self.finish_command(EditOutcome::Moved);
        };
        self.linewise = linewise;
        match operator {
            VimOperator::Yank => {
                editor.kill_ring.push(editor.as_str()[range.clone()].to_owned());
                editor.move_caret(range.start);
                clamp_caret(editor);
                self.recording.clear();
                self.finish_command(EditOutcome::Moved)
            }
            VimOperator::Delete => {
                let yanked = editor.as_str()[range.clone()].to_owned();
                editor.cut(if linewise {
                    with_newline(editor.as_str(), range)
                } else {
                    range
                });
                if linewise {
                    editor.kill_ring.push(yanked);
                    editor.move_caret(editor.text().line_start(editor.text().caret()));
                }
                clamp_caret(editor);
                self.save_recording();
                self.finish_command(EditOutcome::Changed)
            }
            VimOperator::Change => {
                editor.move_caret(range.start);
                editor.cut(range);
                self.enter_insert_mode()
            }
        }
    }

    /// Executes a command without an operand.
    fn run_command(&mut self, c: char, editor: &mut TextEditor) -> Option<EditOutcome> {
        let caret = editor.text().caret();
        let (start, end) = (editor.text().line_start(caret), editor.text().line_end(caret));
        let forward = (0..self.count()).fold(caret, |at, _| if at < end { editor.text().right(at) } else { at });
        match c {
            'i' => return self.enter_insert_mode(),
            'v' | 'V' => return self.start_selection(c == 'V', editor),
            'a' => editor.move_caret(if caret < end { editor.text().right(caret) } else { caret }),
            'I' => editor.move_caret(motion::first_word(editor.text(), start)),
            'A' => editor.move_caret(end),
            'o' => {
                editor.splice(end..end, "\n", EditKind::Other);
            }
            'O' => {
                editor.splice(start..start, "\n", EditKind::Other);
                editor.move_caret(start);
            }
            's' => editor.cut(caret..forward),
            'S' => editor.cut(start..end),
            'C' => editor.cut(caret..end),
            _ => return self.run_normal_command(c, caret..forward, editor),
        }
        self.enter_insert_mode()
    }

    /// Executes a command that stays in normal mode.
    fn run_normal_command(&mut self, c: char, under: Range<usize>, editor: &mut TextEditor) -> Option<EditOutcome> {
        let caret = under.start;
        let text = editor.text();
        match c {
            'x' => editor.cut(under),
            'X' => {
                let start = text.line_start(caret);
                let back = (0..self.count()).fold(caret, |at, _| if at > start { text.left(at) } else { at });
                editor.cut(back..caret);
            }
            'D' => editor.cut(caret..text.line_end(caret)),
            'Y' => {
                let line = text.as_str()[text.line_start(caret)..text.line_end(caret)].to_owned();
                self.linewise = true;
                editor.kill_ring.push(line);
                self.recording.clear();
            }
            'J' => join_lines(editor),
            '~' => {
                let swapped: String = text.as_str()[under.clone()].chars().map(swap_case).collect();
                editor.splice(under, &swapped, EditKind::Other);
            }
            'p' | 'P' => self.paste_yanked(c == 'P', editor),
            'u' => {
                let done = editor.undo();
                clamp_caret(editor);
                self.recording.clear();
                return self.finish_command(done);
            }
            '.' => return self.repeat(editor),
            _ => {
                self.recording.clear();
                return self.finish_command(EditOutcome::Moved);
            }
        }
        clamp_caret(editor);
        self.save_recording();
        self.finish_command(EditOutcome::Changed)
    }

    fn paste_yanked(&mut self, before: bool, editor: &mut TextEditor) {
        let Some(piece) = editor.kill_ring.last().map(str::to_owned) else {
            return;
        };
        let piece = piece.repeat(if self.linewise { 1 } else { self.count() });
        let caret = editor.text().caret();
        if self.linewise {
            let lines = vec![piece; self.count()].join("\n");
            let (start, end) = (editor.text().line_start(caret), editor.text().line_end(caret));
            if before {
                editor.splice(start..start, &format!("{lines}\n"), EditKind::Other);
                editor.move_caret(start);
            } else {
                editor.splice(end..end, &format!("\n{lines}"), EditKind::Other);
                editor.move_caret(end + 1);
            }
            return;
        }
        let at = match before || editor.text().line_end(caret) == caret {
            true => caret,
            false => editor.text().right(caret),
        };
        editor.splice(at..at, &piece, EditKind::Other);
        editor.move_caret(editor.text().left(editor.text().caret()));
    }

    /// Repeats the last change, including the text typed after it.
    fn repeat(&mut self, editor: &mut TextEditor) -> Option<EditOutcome> {
        self.clear_pending();
        let keys = self.last_change.clone();
        self.replaying = true;
        for key in keys {
            if self.handle_key(key, editor).is_none() {
                replay_key(key, editor);
            }
        }
        self.replaying = false;
        self.finish_command(EditOutcome::Changed)
    }

    fn enter_insert_mode(&mut self) -> Option<EditOutcome> {
        self.mode = VimMode::Insert;
        self.count = None;
        self.operator = None;
        Some(EditOutcome::Changed)
    }

    fn finish_command(&mut self, done: EditOutcome) -> Option<EditOutcome> {
        self.clear_pending();
        Some(done)
    }

    fn clear_pending(&mut self) {
        self.count = None;
        self.operator = None;
        self.pending_key = None;
        if self.mode == VimMode::Normal && self.visual.is_none() {
            self.recording.clear();
        }
    }

    fn save_recording(&mut self) {
        if !self.replaying {
            self.last_change = std::mem::take(&mut self.recording);
        }
    }

    fn count(&self) -> usize {
        let before = self.operator.map_or(1, |(_, count)| count);
        (self.count.unwrap_or(1) * before).min(MAX_COUNT)
    }
}

/// The character of a key; Enter and Backspace are motions.
fn typed_char(key: KeyChord) -> Option<char> {
    match key.code() {
        KeyCode::Enter => Some('j'),
        KeyCode::Backspace => Some('h'),
        _ => key.types(),
    }
}

/// Repeats a key of insert mode where possible.
fn replay_key(key: KeyChord, editor: &mut TextEditor) {
    match (key.code(), key.types()) {
        (_, Some(c)) => editor.type_char(c),
        (KeyCode::Backspace, None) => {
            editor.perform(crate::keys::KeyAction::DeleteBack);
        }
        (KeyCode::Enter, None) => editor.insert("\n"),
        (_, None) => {}
    }
}

/// In normal mode the caret is on a character, not after the last one of a line.
fn clamp_caret(editor: &mut TextEditor) {
    let caret = editor.text().caret();
    let (start, end) = (editor.text().line_start(caret), editor.text().line_end(caret));
    if caret == end && caret > start {
        editor.move_caret(editor.text().left(caret));
    }
}

fn with_newline(text: &str, range: Range<usize>) -> Range<usize> {
    if range.end < text.len() {
        range.start..range.end + 1
    } else {
        range.start.saturating_sub(1)..range.end
    }
}

fn join_lines(editor: &mut TextEditor) {
    let end = editor.text().line_end(editor.text().caret());
    if end == editor.as_str().len() {
        return;
    }
    let rest = &editor.as_str()[end + 1..];
    let indent = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    editor.splice(end..end + 1 + indent, " ", EditKind::Other);
    editor.move_caret(end);
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
