//! One key with its modifiers, as it is pressed and as it is written.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::fmt;

/// A key with its modifiers. Terminals report the same key in several ways; here it has one form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
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

impl Key {
    /// A key with modifiers, in its one form: a capital letter says `shift` by itself, except beside `ctrl`.
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
        Key { code, modifiers }
    }

    /// Reads `ctrl+shift+z`, `alt+enter`, `?`.
    pub fn parse(text: &str) -> Option<Key> {
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
        Some(Key::new(code, modifiers))
    }

    /// The character that it types, where it types one.
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

    /// The key without its modifiers.
    pub fn code(self) -> KeyCode {
        self.code
    }

    /// Its modifiers.
    pub fn modifiers(self) -> KeyModifiers {
        self.modifiers
    }
}

impl From<KeyEvent> for Key {
    fn from(event: KeyEvent) -> Self {
        Key::new(event.code, event.modifiers)
    }
}

impl fmt::Display for Key {
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
    fn what_terminals_report_in_several_ways_is_one_key() {
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
            let key = Key::new(code, modifiers);
            assert_eq!(key.to_string(), shown);
            assert_eq!(Key::parse(shown), Some(key), "{shown}");
        }
        assert_eq!(Key::parse("+"), Some(Key::new(KeyCode::Char('+'), KeyModifiers::NONE)));
        assert_eq!(
            (Key::parse("f0"), Key::parse("nope"), Key::parse("")),
            (None, None, None)
        );
    }
}
