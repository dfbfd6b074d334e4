//! Parses terminal bytes into events. Incomplete sequences wait for more bytes; unknown ones are dropped.

use super::keyboard;
use super::{FocusChange, Input, TerminalEvent};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Maximum length of an incomplete sequence, except pastes.
const MAX_SEQUENCE: usize = 4096;
/// Maximum length of a paste; the rest is dropped.
const MAX_PASTE: usize = 16 << 20;
const PASTE_END: &[u8] = b"\x1b[201~";

/// An incremental parser for terminal input.
#[derive(Debug, Default)]
pub(crate) struct InputParser {
    held: Vec<u8>,
    /// The incomplete paste.
    paste: Option<Vec<u8>>,
}

impl InputParser {
    /// Parses bytes and returns the complete events.
    pub(crate) fn feed(&mut self, bytes: &[u8], out: &mut Vec<TerminalEvent>) {
        self.held.extend_from_slice(bytes);
        self.drain(InputEnd::Open, out);
    }

    /// Resolves an incomplete sequence after a timeout.
    pub(crate) fn time_out(&mut self, out: &mut Vec<TerminalEvent>) {
        self.drain(InputEnd::TimedOut, out);
    }

    /// Whether an incomplete sequence waits.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.held.is_empty() && self.paste.is_none()
    }

    fn drain(&mut self, ending: InputEnd, out: &mut Vec<TerminalEvent>) {
        let held = std::mem::take(&mut self.held);
        let mut rest = held.as_slice();
        while !rest.is_empty() {
            if let Some(paste) = &mut self.paste {
                let (took, done) = take_paste(paste, rest);
                rest = rest.get(took..).unwrap_or_default();
                if done {
                    out.extend(self.paste.take().map(pasted));
                    continue;
                }
                break;
            }
            match step(rest, ending) {
                InputStep::Signal(signal, length) => {
                    out.push(signal);
                    rest = rest.get(length..).unwrap_or_default();
                }
                InputStep::Skip(length) => rest = rest.get(length..).unwrap_or_default(),
                InputStep::Paste(length) => {
                    self.paste = Some(Vec::new());
                    rest = rest.get(length..).unwrap_or_default();
                }
                InputStep::More => break,
            }
        }
        self.held = rest.to_vec();
    }
}

/// Moves bytes of a paste; returns how many were used and whether the paste is complete.
fn take_paste(paste: &mut Vec<u8>, bytes: &[u8]) -> (usize, bool) {
    let end = bytes.windows(PASTE_END.len()).position(|window| window == PASTE_END);
    let text = match end {
        Some(end) => end,
        // The end marker may be split.
        None => bytes.len().saturating_sub(PASTE_END.len() - 1),
    };
    let room = MAX_PASTE.saturating_sub(paste.len());
    paste.extend_from_slice(bytes.get(..text.min(room)).unwrap_or_default());
    match end {
        Some(end) => (end + PASTE_END.len(), true),
        None => (text, false),
    }
}

fn pasted(bytes: Vec<u8>) -> TerminalEvent {
    let text = String::from_utf8_lossy(&bytes)
        .replace("\r\n", "\n")
        .replace('\r', "\n");
    TerminalEvent::Input(Input::Paste(text))
}

/// Whether more bytes may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InputEnd {
    Open,
    TimedOut,
}

enum InputStep {
    Signal(TerminalEvent, usize),
    Skip(usize),
    Paste(usize),
    More,
}

fn step(bytes: &[u8], ending: InputEnd) -> InputStep {
    let step = match bytes {
        [0x1b] => InputStep::More,
        [0x1b, b'[', ..] => control_sequence(bytes),
        [0x1b, b'O', ..] => application_key(bytes),
        [0x1b, b']', ..] => string(bytes, operating_system),
        [0x1b, b'P' | b'^' | b'X', ..] => string(bytes, |_| None),
        [0x1b, b'_', ..] => string(bytes, |body| {
            (body.starts_with("G") && body.ends_with(";OK")).then_some(TerminalEvent::Graphics)
        }),
        // Escape twice: the first one is the key.
        [0x1b, 0x1b, ..] => key(KeyCode::Esc, KeyModifiers::NONE, 1),
        [0x1b, rest @ ..] => match character(rest) {
            InputStep::Signal(TerminalEvent::Input(Input::Key(key)), length) => InputStep::Signal(
                TerminalEvent::Input(Input::Key(KeyEvent::new(key.code, key.modifiers | KeyModifiers::ALT))),
                length + 1,
            ),
            other => other,
        },
        _ => character(bytes),
    };
    match step {
        InputStep::More if ending == InputEnd::TimedOut => match bytes {
            [0x1b] => key(KeyCode::Esc, KeyModifiers::NONE, 1),
            // The user pressed Alt with a bracket: a sequence would have continued.
            [0x1b, c] => key(KeyCode::Char(char::from(*c)), KeyModifiers::ALT, 2),
            _ => InputStep::Skip(bytes.len()),
        },
        InputStep::More if bytes.len() > MAX_SEQUENCE => InputStep::Skip(bytes.len()),
        step => step,
    }
}

fn key(code: KeyCode, modifiers: KeyModifiers, length: usize) -> InputStep {
    InputStep::Signal(TerminalEvent::Input(Input::Key(KeyEvent::new(code, modifiers))), length)
}

/// A character or a control character.
fn character(bytes: &[u8]) -> InputStep {
    let Some(first) = bytes.first() else {
        return InputStep::More;
    };
    match first {
        b'\r' => key(KeyCode::Enter, KeyModifiers::NONE, 1),
        // Ctrl-J, commonly used for a new line.
        b'\n' => key(KeyCode::Char('j'), KeyModifiers::CONTROL, 1),
        b'\t' => key(KeyCode::Tab, KeyModifiers::NONE, 1),
        0x7f => key(KeyCode::Backspace, KeyModifiers::NONE, 1),
        0x08 => key(KeyCode::Backspace, KeyModifiers::CONTROL, 1),
        0x00 => key(KeyCode::Char(' '), KeyModifiers::CONTROL, 1),
        c @ 0x01..=0x1a => key(KeyCode::Char(char::from(c - 1 + b'a')), KeyModifiers::CONTROL, 1),
        c @ 0x1c..=0x1f => key(KeyCode::Char(char::from(c - 0x1c + b'4')), KeyModifiers::CONTROL, 1),
        _ => {
            let length = match first {
                0x00..=0x7f => 1,
                0xc0..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xf7 => 4,
                _ => return InputStep::Skip(1),
            };
            let Some(text) = bytes.get(..length) else {
                return InputStep::More;
            };
            match std::str::from_utf8(text).ok().and_then(|text| text.chars().next()) {
                Some(c) => key(KeyCode::Char(c), shift_of(c), length),
                None => InputStep::Skip(1),
            }
        }
    }
}

fn shift_of(c: char) -> KeyModifiers {
    if c.is_uppercase() {
        KeyModifiers::SHIFT
    } else {
        KeyModifiers::NONE
    }
}

/// `ESC O x`: keys in application mode.
fn application_key(bytes: &[u8]) -> InputStep {
    let Some(last) = bytes.get(2) else {
        return InputStep::More;
    };
    match keyboard::by_letter(*last) {
        Some(code) => key(code, KeyModifiers::NONE, 3),
        None => InputStep::Skip(3),
    }
}

/// `ESC [ parameters letter`.
fn control_sequence(bytes: &[u8]) -> InputStep {
    let body = bytes.get(2..).unwrap_or_default();
    // The Linux console sends function keys as ESC [ [ A.
    if let [b'[', rest @ ..] = body {
        return match rest.first() {
            Some(c @ b'A'..=b'E') => key(KeyCode::F(c - b'A' + 1), KeyModifiers::NONE, 4),
            Some(_) => InputStep::Skip(4),
            None => InputStep::More,
        };
    }
    let Some(end) = body.iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
        return InputStep::More;
    };
    let length = end + 3;
    let (parameters, last) = body.split_at(end);
    let (Ok(parameters), Some(last)) = (std::str::from_utf8(parameters), last.first()) else {
        return InputStep::Skip(length);
    };
    if *last == b'~' && parameters == "200" {
        return InputStep::Paste(length);
    }
    match sequence(parameters, *last) {
        Some(signal) => InputStep::Signal(signal, length),
        None => InputStep::Skip(length),
    }
}

fn sequence(parameters: &str, last: u8) -> Option<TerminalEvent> {
    match (last, parameters.strip_prefix('?')) {
        (b'I', _) => Some(TerminalEvent::Input(Input::Focus(FocusChange::Gained))),
        (b'O', _) => Some(TerminalEvent::Input(Input::Focus(FocusChange::Lost))),
        (b'u', Some(flags)) => Some(TerminalEvent::KittyFlags(flags.parse().ok()?)),
        (b'c', Some(_)) => Some(TerminalEvent::Attributes),
        (b'R', None) if !parameters.starts_with("1;") || !looks_like_f3(parameters) => {
            let (row, column) = parameters.split_once(';')?;
            Some(TerminalEvent::Cursor {
                row: row.parse::<u16>().ok()?.checked_sub(1)?,
                column: column.parse::<u16>().ok()?.checked_sub(1)?,
            })
        }
        // The size in characters: 8 ; rows ; columns.
        (b't', None) => {
            let (first, second) = parameters.strip_prefix("8;")?.split_once(';')?;
            Some(TerminalEvent::Size {
                first: first.parse().ok()?,
                second: second.parse().ok()?,
            })
        }
        (b'y', Some(report)) => {
            let (mode, setting) = report.strip_suffix('$')?.split_once(';')?;
            Some(TerminalEvent::Mode {
                mode: mode.parse().ok()?,
                known: !matches!(setting, "0" | "4"),
            })
        }
        // The mouse wheel, in terminals that report it although only arrow keys are requested.
        (b'M', None) if parameters.starts_with("<64;") => Some(TerminalEvent::Input(Input::Key(KeyCode::Up.into()))),
        (b'M', None) if parameters.starts_with("<65;") => Some(TerminalEvent::Input(Input::Key(KeyCode::Down.into()))),
        (_, Some(_)) => None,
        (_, None) => keyboard::key(parameters, last).map(|key| TerminalEvent::Input(Input::Key(key))),
    }
}

/// `ESC [ 1 ; 2 R` is Shift-F3 in old terminals, or the cursor in the first row. The cursor is never queried there.
fn looks_like_f3(parameters: &str) -> bool {
    matches!(parameters, "1;2" | "1;3" | "1;4" | "1;5" | "1;6" | "1;7" | "1;8")
}

/// A string that ends with BEL or ST.
fn string(bytes: &[u8], read: impl FnOnce(&str) -> Option<TerminalEvent>) -> InputStep {
    let body = bytes.get(2..).unwrap_or_default();
    let bell = body.iter().position(|byte| *byte == 0x07);
    let terminator = body.windows(2).position(|pair| pair == b"\x1b\\");
    let (end, width) = match (bell, terminator) {
        (Some(bell), Some(st)) if bell < st => (bell, 1),
        (_, Some(st)) => (st, 2),
        (Some(bell), None) => (bell, 1),
        (None, None) => return InputStep::More,
    };
    let length = 2 + end + width;
    let signal = body
        .get(..end)
        .and_then(|text| std::str::from_utf8(text).ok())
        .and_then(read);
    match signal {
        Some(signal) => InputStep::Signal(signal, length),
        None => InputStep::Skip(length),
    }
}

/// `11;rgb:1a1a/1b1b/2626`
fn operating_system(body: &str) -> Option<TerminalEvent> {
    let colour = body.strip_prefix("11;")?;
    let colour = colour.strip_prefix("rgb:").or_else(|| colour.strip_prefix("rgba:"))?;
    let mut channels = colour.split('/').map(|channel| {
        let value = u32::from_str_radix(channel, 16).ok()?;
        let most = 16u32.checked_pow(u32::try_from(channel.len()).ok()?)?.checked_sub(1)?;
        u8::try_from(value * 255 / most.max(1)).ok()
    });
    Some(TerminalEvent::Background(
        channels.next()??,
        channels.next()??,
        channels.next()??,
    ))
}

#[cfg(test)]
mod tests;
