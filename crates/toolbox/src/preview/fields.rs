//! The text fields of a tool's input while it is still being written: what has arrived of each, in any pieces.

/// More of a field of the outermost object that holds text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) key: String,
    pub(crate) text: String,
    /// Whether the text is complete.
    pub(crate) done: bool,
}

/// Reads JSON text piece by piece. What is not an object with text fields is passed over; it is somebody else's to refuse.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    key: String,
    state: State,
}

#[derive(Debug, Default)]
enum State {
    /// Before a key, between fields, or outside.
    #[default]
    Between,
    Key(Decoder),
    Colon,
    Value,
    Text(Decoder),
    /// Inside a value that is not text, this deep; in a string of it or not.
    Other {
        depth: usize,
        quote: Quote,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quote {
    Outside,
    Inside,
    Escaped,
}

impl Fields {
    /// Takes in more text and says which fields grew.
    pub(crate) fn push(&mut self, json: &str) -> Vec<Field> {
        let mut fields = Vec::new();
        let mut text = String::new();
        for letter in json.chars() {
            self.letter(letter, &mut text, &mut fields);
        }
        if !text.is_empty() {
            fields.push(self.field(text, false));
        }
        fields
    }

    fn field(&self, text: String, done: bool) -> Field {
        Field {
            key: self.key.clone(),
            text,
            done,
        }
    }

    fn letter(&mut self, letter: char, text: &mut String, fields: &mut Vec<Field>) {
        self.state = match std::mem::take(&mut self.state) {
            State::Between if letter == '"' => {
                self.key.clear();
                State::Key(Decoder::default())
            }
            State::Between => State::Between,
            State::Key(mut decoder) => match decoder.push(letter, &mut self.key) {
                Ended::Yes => State::Colon,
                Ended::No => State::Key(decoder),
            },
            State::Colon if letter == ':' => State::Value,
            State::Colon => State::Colon,
            State::Value => match letter {
                '"' => State::Text(Decoder::default()),
                '{' | '[' => State::Other {
                    depth: 1,
                    quote: Quote::Outside,
                },
                _ if letter.is_whitespace() => State::Value,
                // Numbers and words end where the next key begins.
                _ => State::Between,
            },
            State::Text(mut decoder) => match decoder.push(letter, text) {
                Ended::Yes => {
                    fields.push(self.field(std::mem::take(text), true));
                    State::Between
                }
                Ended::No => State::Text(decoder),
            },
            State::Other { depth, quote } => other(depth, quote, letter),
        };
    }
}

fn other(depth: usize, quote: Quote, letter: char) -> State {
    let (depth, quote) = match (quote, letter) {
        (Quote::Inside, '\\') => (depth, Quote::Escaped),
        (Quote::Inside, '"') => (depth, Quote::Outside),
        (Quote::Inside | Quote::Escaped, _) => (depth, Quote::Inside),
        (Quote::Outside, '"') => (depth, Quote::Inside),
        (Quote::Outside, '{' | '[') => (depth + 1, Quote::Outside),
        (Quote::Outside, '}' | ']') => (depth - 1, Quote::Outside),
        (Quote::Outside, _) => (depth, Quote::Outside),
    };
    match depth {
        0 => State::Between,
        _ => State::Other { depth, quote },
    }
}

enum Ended {
    Yes,
    No,
}

/// Undoes the escapes of a JSON string.
#[derive(Debug, Default)]
struct Decoder {
    escape: Escape,
    /// The first half of a character that JSON writes in two.
    half: Option<u16>,
}

#[derive(Debug, Default)]
enum Escape {
    #[default]
    None,
    Backslash,
    Hex {
        value: u16,
        digits: u8,
    },
}

impl Decoder {
    fn push(&mut self, letter: char, text: &mut String) -> Ended {
        match std::mem::take(&mut self.escape) {
            Escape::None => match letter {
                '"' => return Ended::Yes,
                '\\' => self.escape = Escape::Backslash,
                _ => text.push(letter),
            },
            Escape::Backslash => match letter {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                'r' => text.push('\r'),
                'b' => text.push('\u{8}'),
                'f' => text.push('\u{c}'),
                'u' => self.escape = Escape::Hex { value: 0, digits: 0 },
                _ => text.push(letter),
            },
            Escape::Hex { value, digits } => {
                let value = value << 4 | letter.to_digit(16).unwrap_or(0) as u16;
                match digits {
                    3 => self.unit(value, text),
                    _ => {
                        self.escape = Escape::Hex {
                            value,
                            digits: digits + 1,
                        };
                    }
                }
            }
        }
        Ended::No
    }

    fn unit(&mut self, unit: u16, text: &mut String) {
        match self.half.take() {
            Some(half) => text.extend(char::decode_utf16([half, unit]).map(|c| c.unwrap_or('\u{fffd}'))),
            None if (0xD800..0xDC00).contains(&unit) => self.half = Some(unit),
            None => text.extend(char::decode_utf16([unit]).map(|c| c.unwrap_or('\u{fffd}'))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_fields_arrive_whole_in_any_pieces() {
        let json = r#" {"path": "a\"\u00e4\ud83d\ude00.rs", "n": -1.5, "on": true, "deep": {"path": "x", "l": ["]\\", "}"]},
            "text": "one\n\ttwo \\ \/", "list": [], "last": ""}"#;
        let wanted = [("path", "a\"ä😀.rs"), ("text", "one\n\ttwo \\ /"), ("last", "")];
        let letters: Vec<char> = json.chars().collect();
        for size in 1..=letters.len() {
            let mut fields = Fields::default();
            let mut seen: Vec<(String, String)> = Vec::new();
            let mut open = false;
            for piece in letters.chunks(size) {
                for field in fields.push(&piece.iter().collect::<String>()) {
                    if !open {
                        seen.push((field.key.clone(), String::new()));
                    }
                    let last = seen.last_mut().unwrap();
                    assert_eq!(last.0, field.key);
                    last.1.push_str(&field.text);
                    open = !field.done;
                }
            }
            let seen: Vec<(&str, &str)> = seen.iter().map(|(key, text)| (key.as_str(), text.as_str())).collect();
            assert_eq!(seen, wanted, "pieces of {size}");
        }
    }
}
