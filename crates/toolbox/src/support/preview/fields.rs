//! Parses the text fields of streaming tool input.

/// A piece of a text field of the outermost object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldDelta {
    pub(crate) key: String,
    pub(crate) text: String,
    /// Whether the text is complete.
    pub(crate) done: bool,
}

/// Parses JSON text incrementally. Everything but text fields of the outermost object is skipped; validation happens
/// elsewhere.
#[derive(Debug, Default)]
pub(crate) struct FieldStream {
    key: String,
    state: FieldState,
}

#[derive(Debug, Default)]
enum FieldState {
    /// Before a key, between fields, or outside.
    #[default]
    Between,
    Key(StringDecoder),
    Colon,
    Value,
    Text(StringDecoder),
    /// Inside a non-text value at this depth.
    Other {
        depth: usize,
        quote: QuoteState,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuoteState {
    Outside,
    Inside,
    Escaped,
}

impl FieldStream {
    /// Adds text and returns the fields that grew.
    pub(crate) fn push(&mut self, json: &str) -> Vec<FieldDelta> {
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

    fn field(&self, text: String, done: bool) -> FieldDelta {
        FieldDelta {
            key: self.key.clone(),
            text,
            done,
        }
    }

    fn letter(&mut self, letter: char, text: &mut String, fields: &mut Vec<FieldDelta>) {
        self.state = match std::mem::take(&mut self.state) {
            FieldState::Between if letter == '"' => {
                self.key.clear();
                FieldState::Key(StringDecoder::default())
            }
            FieldState::Between => FieldState::Between,
            FieldState::Key(mut decoder) => match decoder.push(letter, &mut self.key) {
                StringEnd::Yes => FieldState::Colon,
                StringEnd::No => FieldState::Key(decoder),
            },
            FieldState::Colon if letter == ':' => FieldState::Value,
            FieldState::Colon => FieldState::Colon,
            FieldState::Value => match letter {
                '"' => FieldState::Text(StringDecoder::default()),
                '{' | '[' => FieldState::Other {
                    depth: 1,
                    quote: QuoteState::Outside,
                },
                _ if letter.is_whitespace() => FieldState::Value,
                // Numbers and keywords end at the next key.
                _ => FieldState::Between,
            },
            FieldState::Text(mut decoder) => match decoder.push(letter, text) {
                StringEnd::Yes => {
                    fields.push(self.field(std::mem::take(text), true));
                    FieldState::Between
                }
                StringEnd::No => FieldState::Text(decoder),
            },
            FieldState::Other { depth, quote } => other(depth, quote, letter),
        };
    }
}

fn other(depth: usize, quote: QuoteState, letter: char) -> FieldState {
    let (depth, quote) = match (quote, letter) {
        (QuoteState::Inside, '\\') => (depth, QuoteState::Escaped),
        (QuoteState::Inside, '"') => (depth, QuoteState::Outside),
        (QuoteState::Inside | QuoteState::Escaped, _) => (depth, QuoteState::Inside),
        (QuoteState::Outside, '"') => (depth, QuoteState::Inside),
        (QuoteState::Outside, '{' | '[') => (depth + 1, QuoteState::Outside),
        (QuoteState::Outside, '}' | ']') => (depth - 1, QuoteState::Outside),
        (QuoteState::Outside, _) => (depth, QuoteState::Outside),
    };
    match depth {
        0 => FieldState::Between,
        _ => FieldState::Other { depth, quote },
    }
}

enum StringEnd {
    Yes,
    No,
}

/// Decodes the escapes of a JSON string.
#[derive(Debug, Default)]
struct StringDecoder {
    escape: StringEscape,
    /// The first half of a surrogate pair.
    half: Option<u16>,
}

#[derive(Debug, Default)]
enum StringEscape {
    #[default]
    None,
    Backslash,
    Hex {
        value: u16,
        digits: u8,
    },
}

impl StringDecoder {
    fn push(&mut self, letter: char, text: &mut String) -> StringEnd {
        match std::mem::take(&mut self.escape) {
            StringEscape::None => match letter {
                '"' => return StringEnd::Yes,
                '\\' => self.escape = StringEscape::Backslash,
                _ => text.push(letter),
            },
            StringEscape::Backslash => match letter {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                'r' => text.push('\r'),
                'b' => text.push('\u{8}'),
                'f' => text.push('\u{c}'),
                'u' => self.escape = StringEscape::Hex { value: 0, digits: 0 },
                _ => text.push(letter),
            },
            StringEscape::Hex { value, digits } => {
                let value = value << 4 | letter.to_digit(16).unwrap_or(0) as u16;
                match digits {
                    3 => self.unit(value, text),
                    _ => {
                        self.escape = StringEscape::Hex {
                            value,
                            digits: digits + 1,
                        };
                    }
                }
            }
        }
        StringEnd::No
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
    fn text_fields_are_parsed_in_any_chunks() {
        let json = r#" {"path": "a\"\u00e4\ud83d\ude00.rs", "n": -1.5, "on": true, "deep": {"path": "x", "l": ["]\\", "}"]},
            "text": "one\n\ttwo \\ \/", "list": [], "last": ""}"#;
        let expected = [("path", "a\"ä😀.rs"), ("text", "one\n\ttwo \\ /"), ("last", "")];
        let letters: Vec<char> = json.chars().collect();
        for size in 1..=letters.len() {
            let mut fields = FieldStream::default();
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
            assert_eq!(seen, expected, "pieces of {size}");
        }
    }
}
