//! Key sequences: legacy letters and numbers, xterm modifiers, and the kitty protocol.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The key of a control sequence with these parameters and final byte.
pub(super) fn key(parameters: &str, last: u8) -> Option<KeyEvent> {
    let mut fields = parameters.split(';');
    let first = fields.next().unwrap_or_default();
    let (modifiers, kind) = modifiers(fields.next().unwrap_or_default());
    if kind == KeyState::Released {
        return None;
    }
    match last {
        b'u' => unicode(first, modifiers),
        b'~' => match first {
            // xterm's modifyOtherKeys: ESC [ 27 ; modifiers ; code ~
            "27" => unicode(fields.next()?, modifiers),
            number => by_number(number.parse().ok()?).map(|code| KeyEvent::new(code, modifiers)),
        },
        b'Z' => Some(KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT)),
        letter => by_letter(letter).map(|code| KeyEvent::new(code, modifiers)),
    }
}

/// Keys with a final letter.
pub(super) fn by_letter(letter: u8) -> Option<KeyCode> {
    Some(match letter {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'E' => KeyCode::KeypadBegin,
        b'F' => KeyCode::End,
        b'H' => KeyCode::Home,
        b'M' => KeyCode::Enter,
        b'P' => KeyCode::F(1),
        b'Q' => KeyCode::F(2),
        b'R' => KeyCode::F(3),
        b'S' => KeyCode::F(4),
        _ => return None,
    })
}

/// Keys with a final tilde.
fn by_number(number: u8) -> Option<KeyCode> {
    Some(match number {
        1 | 7 => KeyCode::Home,
        2 => KeyCode::Insert,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        11..=15 => KeyCode::F(number - 10),
        17..=21 => KeyCode::F(number - 11),
        23..=24 => KeyCode::F(number - 12),
        _ => return None,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyState {
    Pressed,
    Released,
}

/// `modifiers:kind`; the modifiers are a bit set plus one.
fn modifiers(field: &str) -> (KeyModifiers, KeyState) {
    let (bits, kind) = field.split_once(':').unwrap_or((field, "1"));
    let bits = bits.parse::<u16>().unwrap_or(1).saturating_sub(1);
    let names = [
        (1, KeyModifiers::SHIFT),
        (2, KeyModifiers::ALT),
        (4, KeyModifiers::CONTROL),
        (8, KeyModifiers::SUPER),
        (16, KeyModifiers::HYPER),
        (32, KeyModifiers::META),
    ];
    let held = names.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| *name);
    let kind = if kind == "3" {
        KeyState::Released
    } else {
        KeyState::Pressed
    };
    (held.fold(KeyModifiers::NONE, |all, one| all | one), kind)
}

/// A key by its code point: `code:shifted:base`.
fn unicode(field: &str, modifiers: KeyModifiers) -> Option<KeyEvent> {
    let mut codes = field.split(':').map(str::parse::<u32>);
    let code = codes.next()?.ok()?;
    let shifted = codes.next().and_then(Result::ok);
    let special = match code {
        9 if modifiers.contains(KeyModifiers::SHIFT) => Some(KeyCode::BackTab),
        9 => Some(KeyCode::Tab),
        13 | 57_414 => Some(KeyCode::Enter),
        27 => Some(KeyCode::Esc),
        8 | 127 => Some(KeyCode::Backspace),
        57_417 => Some(KeyCode::Left),
        57_418 => Some(KeyCode::Right),
        57_419 => Some(KeyCode::Up),
        57_420 => Some(KeyCode::Down),
        57_421 => Some(KeyCode::PageUp),
        57_422 => Some(KeyCode::PageDown),
        57_423 => Some(KeyCode::Home),
        57_424 => Some(KeyCode::End),
        57_425 => Some(KeyCode::Insert),
        57_426 => Some(KeyCode::Delete),
        // Keypad digits.
        57_399..=57_408 => char::from_digit(code - 57_399, 10).map(KeyCode::Char),
        57_409 => Some(KeyCode::Char('.')),
        57_410 => Some(KeyCode::Char('/')),
        57_411 => Some(KeyCode::Char('*')),
        57_412 => Some(KeyCode::Char('-')),
        57_413 => Some(KeyCode::Char('+')),
        57_415 => Some(KeyCode::Char('=')),
        // Other keys of the private-use area are modifiers, media keys and so on.
        57_344..=63_743 => return None,
        _ => None,
    };
    if let Some(code) = special {
        return Some(KeyEvent::new(code, modifiers));
    }
    let plain = char::from_u32(code)?;
    let shift_only = (modifiers - KeyModifiers::SHIFT).is_empty();
    let typed = match (
        shifted.and_then(char::from_u32),
        modifiers.contains(KeyModifiers::SHIFT),
    ) {
        (Some(shifted), true) if shift_only => shifted,
        (None, true) if shift_only => plain.to_uppercase().next().unwrap_or(plain),
        _ => plain,
    };
    Some(KeyEvent::new(KeyCode::Char(typed), modifiers))
}
