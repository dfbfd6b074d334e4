//! Parses key names.

use serde_json::{Value, json};

/// A key with modifiers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BrowserKey {
    pub(super) name: String,
    code: u32,
    text: Option<String>,
    modifiers: u32,
}

/// Named keys: name, key code, text.
const NAMED: &[(&str, u32, Option<&str>)] = &[
    ("Backspace", 8, None),
    ("Tab", 9, None),
    ("Enter", 13, Some("\r")),
    ("Escape", 27, None),
    ("Space", 32, Some(" ")),
    ("PageUp", 33, None),
    ("PageDown", 34, None),
    ("End", 35, None),
    ("Home", 36, None),
    ("ArrowLeft", 37, None),
    ("ArrowUp", 38, None),
    ("ArrowRight", 39, None),
    ("ArrowDown", 40, None),
    ("Delete", 46, None),
];

impl BrowserKey {
    /// Parses `Enter`, `a` or `Control+a`.
    pub(super) fn parse(name_text: &str) -> Option<Self> {
        let mut parts: Vec<&str> = name_text.split('+').map(str::trim).collect();
        let last = parts.pop()?;
        let mut modifiers = 0;
        for part in parts {
            modifiers |= match part.to_ascii_lowercase().as_str() {
                "alt" | "option" => 1,
                "ctrl" | "control" => 2,
                "meta" | "cmd" | "command" => 4,
                "shift" => 8,
                _ => return None,
            };
        }
        let same = |name: &str| {
            let short = match last.to_ascii_lowercase().as_str() {
                "return" => "enter".to_owned(),
                "esc" => "escape".to_owned(),
                "left" | "right" | "up" | "down" => format!("arrow{}", last.to_ascii_lowercase()),
                other => other.to_owned(),
            };
            name.eq_ignore_ascii_case(&short)
        };
        if let Some((name, code, text)) = NAMED.iter().find(|(name, ..)| same(name)) {
            let name = if *name == "Space" { " " } else { name };
            return Some(Self {
                name: name.to_owned(),
                code: *code,
                text: text.filter(|_| modifiers & 7 == 0).map(str::to_owned),
                modifiers,
            });
        }
        let mut letters = last.chars();
        let letter = letters.next().filter(|_| letters.next().is_none())?;
        Some(Self {
            name: letter.to_string(),
            code: u32::from(letter.to_ascii_uppercase()).min(0xff),
            text: (modifiers & 7 == 0).then(|| letter.to_string()),
            modifiers,
        })
    }

    /// The event for the protocol: `keyDown` or `keyUp`.
    pub(super) fn event(&self, kind: &str) -> Value {
        let mut event = json!({
            "type": kind,
            "key": self.name,
            "windowsVirtualKeyCode": self.code,
            "nativeVirtualKeyCode": self.code,
            "modifiers": self.modifiers,
        });
        if let Some(text) = self.text.as_ref().filter(|_| kind == "keyDown") {
            event["text"] = text.as_str().into();
        }
        event
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_names_are_parsed() {
        for (name_text, name, code, text, modifiers) in [
            ("Enter", "Enter", 13, Some("\r"), 0),
            ("return", "Enter", 13, Some("\r"), 0),
            ("Esc", "Escape", 27, None, 0),
            ("down", "ArrowDown", 40, None, 0),
            ("a", "a", 65, Some("a"), 0),
            ("Control+a", "a", 65, None, 2),
            ("ctrl + shift + Tab", "Tab", 9, None, 10),
            ("Space", " ", 32, Some(" "), 0),
        ] {
            let key = BrowserKey::parse(name_text).unwrap();
            let text = text.map(str::to_owned);
            let name = name.to_owned();
            assert_eq!(
                key,
                BrowserKey {
                    name,
                    code,
                    text,
                    modifiers
                },
                "{name_text}"
            );
        }
        for name_text in ["", "Hyper+a", "Enterr", "ab"] {
            assert_eq!(BrowserKey::parse(name_text), None, "{name_text}");
        }
    }
}
