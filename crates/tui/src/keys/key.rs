//! A key with its modifiers, in normalised form.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::fmt;

/// A key with its modifiers. Terminals report the same key in several ways; this form is unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyChord {
    code: KeyCode,
    modifiers: KeyModifiers,
}

const NAMES: &[(&str, KeyCode)] = &[
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("space", KeyCode::Char(' ')),
    ("plus", KeyCode::Char('+')),
];

const MODIFIERS: &[(&str, KeyModifiers)] = &[
    ("ctrl", KeyModifiers::CONTROL),
    ("alt", KeyModifiers::ALT),
    ("shift", KeyModifiers::SHIFT),
    ("super", KeyModifiers::SUPER),
];

impl KeyChord {
    /// Normalises a key: an upper-case letter implies `shift`, except together with `ctrl`.
    pub fn new(code: KeyCode, modifiers: KeyModifiers) -> Self {
        let mut modifiers =
            modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT | KeyModifiers::SUPER);
        let code = match code {
            KeyCode::BackTab => {
                modifiers |= KeyModifiers::SHIFT;
                KeyCode::Tab
            }
            KeyCode::Char(c) if modifiers.contains(KeyModifiers::CONTROL) => {
                if c.is_ascii_uppercase() {
                    modifiers |= KeyModifiers::SHIFT;
                }
                KeyCode::Char(c.to_ascii_lowercase())
            }
            KeyCode::Char(c) if modifiers.contains(KeyModifiers::SHIFT) => {
                if c != ' ' {
                    modifiers -= KeyModifiers::SHIFT;
                }
                KeyCode::Char(c.to_ascii_uppercase())
            }
            code => code,
        };
        KeyChord { code, modifiers }
    }

    /// Parses `ctrl+shift+z`, `alt+enter`, `?`.
    pub fn parse(text: &str) -> Option<KeyChord> {
        let mut modifiers = KeyModifiers::NONE;
        let mut rest = text;
        while let Some((word, after)) = rest
            .split_once('+')
            .filter(|(word, after)| !word.is_empty() && !after.is_empty())
        {
            modifiers |= MODIFIERS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word))?.1;
            rest = after;
        }
        let mut chars = rest.chars();
        let code = match (chars.next(), chars.next()) {
            (Some(c), None) => KeyCode::Char(c),
            _ => named(&rest.to_ascii_lowercase())?,
        };
        Some(KeyChord::new(code, modifiers))
    }

    /// The character that the key types.
    pub fn types(self) -> Option<char> {
        match self.code {
            KeyCode::Char(c)
                if !self
                    .modifiers
                    .intersects(KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SUPER) =>
            {
                Some(c)
            }
            _ => None,
        }
    }

    /// The key without modifiers.
    pub fn code(self) -> KeyCode {
        self.code
    }

    /// The modifiers.
    pub fn modifiers(self) -> KeyModifiers {
        self.modifiers
    }
}

impl From<KeyEvent> for KeyChord {
    fn from(event: KeyEvent) -> Self {
        KeyChord::new(event.code, event.modifiers)
    }
}

impl fmt::Display for KeyChord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, modifier) in MODIFIERS {
            if self.modifiers.contains(*modifier) {
                write!(f, "{name}+")?;
            }
        }
        match (NAMES.iter().find(|(_, code)| *code == self.code), self.code) {
            (Some((name, _)), _) => f.write_str(name),
            (None, KeyCode::F(n)) => write!(f, "f{n}"),
            (None, KeyCode::Char(c)) => write!(f, "{c}"),
            (None, other) => write!(f, "{other}"),
        }
    }
}

fn named(name: &str) -> Option<KeyCode> {
    if let Some((_, code)) = NAMES.iter().find(|(known, _)| *known == name) {
        return Some(*code);
    }
    let number: u8 = name.strip_prefix('f')?.parse().ok()?;
    (1..=24).contains(&number).then_some(KeyCode::F(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_reports_of_a_key_are_normalised() {
        let same = [
            (KeyCode::BackTab, KeyModifiers::SHIFT, "shift+tab"),
            (KeyCode::BackTab, KeyModifiers::NONE, "shift+tab"),
            (KeyCode::Char('Z'), KeyModifiers::CONTROL, "ctrl+shift+z"),
            (
                KeyCode::Char('z'),
                KeyModifiers::CONTROL | KeyModifiers::SHIFT,
                "ctrl+shift+z",
            ),
            (KeyCode::Char('G'), KeyModifiers::SHIFT, "G"),
            (KeyCode::Char('G'), KeyModifiers::NONE, "G"),
            (KeyCode::Char('?'), KeyModifiers::SHIFT, "?"),
            (KeyCode::Char('+'), KeyModifiers::CONTROL, "ctrl+plus"),
            (KeyCode::Char(' '), KeyModifiers::CONTROL, "ctrl+space"),
            (KeyCode::F(12), KeyModifiers::NONE, "f12"),
        ];
        for (code, modifiers, shown) in same {
            let key = KeyChord::new(code, modifiers);
            assert_eq!(key.to_string(), shown);
            assert_eq!(KeyChord::parse(shown), Some(key), "{shown}");
        }
        assert_eq!(
            KeyChord::parse("+"),
            Some(KeyChord::new(KeyCode::Char('+'), KeyModifiers::NONE))
        );
        assert_eq!(
            (KeyChord::parse("f0"), KeyChord::parse("nope"), KeyChord::parse("")),
            (None, None, None)
        );
    }
}
