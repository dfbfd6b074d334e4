//! A JSON reader that takes text in any pieces, reports strings as they grow, and forgives what models get wrong.

/// A JSON value; numbers stay text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(String),
    String(String),
    Array(Vec<Value>),
    Object(Vec<(String, Value)>),
}

/// Where in the document a string stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    At(usize),
}

/// More of a string that is a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Growth {
    pub(crate) path: Vec<Step>,
    pub(crate) text: String,
    pub(crate) done: bool,
}

#[derive(Debug)]
enum Frame {
    Array(Vec<Value>),
    Object {
        entries: Vec<(String, Value)>,
        key: Option<String>,
    },
}

#[derive(Debug, Default)]
enum State {
    /// Between documents: anything up to `{` or `[` is skipped.
    #[default]
    Outside,
    Value,
    KeyOrEnd,
    Colon,
    CommaOrEnd,
    String {
        text: String,
        reported: usize,
        is_key: bool,
        escape: Escape,
    },
    Literal(String),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Escape {
    #[default]
    None,
    Backslash,
    Unicode {
        digits: String,
        high: Option<u16>,
    },
    /// After the first half of a surrogate pair.
    Half(u16),
    HalfBackslash(u16),
}

/// Reads one document after the other.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    state: State,
    frames: Vec<Frame>,
    pub(crate) documents: Vec<Value>,
    line: usize,
    problem: Option<(usize, String)>,
}

const DEEPEST: usize = 64;

impl Reader {
    /// Takes in more text.
    pub(crate) fn push(&mut self, chunk: &str) -> Vec<Growth> {
        let mut growths = Vec::new();
        for character in chunk.chars() {
            if character == '\n' {
                self.line += 1;
            }
            if self.problem.is_none() {
                self.character(character, &mut growths);
            }
        }
        self.report(&mut growths, false);
        growths
    }

    /// The documents, or the line (from 1) and nature of the first problem.
    pub(crate) fn finish(self) -> Result<Vec<Value>, (usize, String)> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        match self.state {
            State::Outside => Ok(self.documents),
            _ => Err((self.line + 1, "the JSON is cut off".to_owned())),
        }
    }

    fn character(&mut self, character: char, growths: &mut Vec<Growth>) {
        match std::mem::take(&mut self.state) {
            State::Outside => {
                if matches!(character, '{' | '[') {
                    self.open(character);
                }
            }
            State::Value => self.value(character),
            State::KeyOrEnd => match character {
                '"' => self.state = string(true),
                '}' => self.close(),
                c if c.is_whitespace() || c == ',' => self.state = State::KeyOrEnd,
                c => self.fail(&format!("expected a field name, found `{c}`")),
            },
            State::Colon => match character {
                ':' => self.state = State::Value,
                c if c.is_whitespace() => self.state = State::Colon,
                c => self.fail(&format!("expected `:`, found `{c}`")),
            },
            State::CommaOrEnd => self.after_value(character),
            State::Literal(mut text) => {
                if character.is_alphanumeric() || matches!(character, '+' | '-' | '.') {
                    text.push(character);
                    self.state = State::Literal(text);
                } else {
                    self.literal(&text);
                    if self.problem.is_none() {
                        self.after_value(character);
                    }
                }
            }
            State::String {
                mut text,
                reported,
                is_key,
                mut escape,
            } => {
                if self.in_string(character, &mut text, &mut escape) {
                    self.state = State::String {
                        text,
                        reported,
                        is_key,
                        escape,
                    };
                } else if self.problem.is_none() {
                    self.end_string(text, reported, is_key, growths);
                }
            }
        }
    }

    fn value(&mut self, character: char) {
        match character {
            '{' | '[' => self.open(character),
            '"' => self.state = string(false),
            ']' => self.close(),
            c if c.is_whitespace() => self.state = State::Value,
            c if c.is_alphanumeric() || c == '-' => self.state = State::Literal(c.to_string()),
            c => self.fail(&format!("expected a value, found `{c}`")),
        }
    }

    fn after_value(&mut self, character: char) {
        match (character, self.frames.last()) {
            (',', Some(Frame::Array(_))) => self.state = State::Value,
            (',', Some(Frame::Object { .. })) => self.state = State::KeyOrEnd,
            (']', Some(Frame::Array(_))) | ('}', Some(Frame::Object { .. })) => self.close(),
            (c, _) if c.is_whitespace() => self.state = State::CommaOrEnd,
            (c, _) => self.fail(&format!("expected `,` or the end, found `{c}`")),
        }
    }

    /// Takes one character of a string; false when it was the closing quote.
    fn in_string(&mut self, character: char, text: &mut String, escape: &mut Escape) -> bool {
        *escape = match (std::mem::take(escape), character) {
            (Escape::None, '"') => return false,
            (Escape::None, '\\') => Escape::Backslash,
            (Escape::None, plain) => {
                text.push(plain);
                Escape::None
            }
            (Escape::Backslash, 'u') => Escape::Unicode {
                digits: String::new(),
                high: None,
            },
            (Escape::Backslash, other) => {
                unescape(other, text);
                Escape::None
            }
            (Escape::Unicode { mut digits, high }, digit) if digit.is_ascii_hexdigit() => {
                digits.push(digit);
                if digits.len() < 4 {
                    Escape::Unicode { digits, high }
                } else {
                    self.unit(&digits, high, text)
                }
            }
            (Escape::Half(high), '\\') => Escape::HalfBackslash(high),
            (Escape::HalfBackslash(high), 'u') => Escape::Unicode {
                digits: String::new(),
                high: Some(high),
            },
            (Escape::Unicode { .. } | Escape::Half(_) | Escape::HalfBackslash(_), _) => {
                self.fail("a broken `\\u` escape");
                return false;
            }
        };
        true
    }

    fn unit(&mut self, digits: &str, high: Option<u16>, text: &mut String) -> Escape {
        let unit = u16::from_str_radix(digits, 16).unwrap_or(0xfffd);
        match (high, unit) {
            (None, 0xd800..=0xdbff) => return Escape::Half(unit),
            (high, low) => match char::decode_utf16(high.into_iter().chain([low])).next() {
                Some(Ok(character)) => text.push(character),
                _ => self.fail("a broken `\\u` escape"),
            },
        }
        Escape::None
    }

    fn end_string(&mut self, text: String, reported: usize, is_key: bool, growths: &mut Vec<Growth>) {
        if is_key {
            if let Some(Frame::Object { key, .. }) = self.frames.last_mut() {
                *key = Some(text);
            }
            self.state = State::Colon;
            return;
        }
        let rest = text.get(reported..).unwrap_or_default().to_owned();
        growths.push(Growth {
            path: self.path(),
            text: rest,
            done: true,
        });
        self.put(Value::String(text));
    }

    fn literal(&mut self, text: &str) {
        let value = match text {
            "true" | "True" => Value::Bool(true),
            "false" | "False" => Value::Bool(false),
            "null" | "None" => Value::Null,
            number if number.parse::<f64>().is_ok() => Value::Number(number.to_owned()),
            other => return self.fail(&format!("`{other}` is not a value")),
        };
        self.put(value);
    }

    fn open(&mut self, character: char) {
        if self.frames.len() >= DEEPEST {
            return self.fail("nested too deeply");
        }
        if character == '{' {
            self.frames.push(Frame::Object {
                entries: Vec::new(),
                key: None,
            });
            self.state = State::KeyOrEnd;
        } else {
            self.frames.push(Frame::Array(Vec::new()));
            self.state = State::Value;
        }
    }

    fn close(&mut self) {
        match self.frames.pop() {
            Some(Frame::Array(values)) => self.put(Value::Array(values)),
            Some(Frame::Object { entries, key: None }) => self.put(Value::Object(entries)),
            Some(Frame::Object { .. }) | None => self.fail("a bracket that closes nothing"),
        }
    }

    fn put(&mut self, value: Value) {
        match self.frames.last_mut() {
            None => {
                self.documents.push(value);
                self.state = State::Outside;
                return;
            }
            Some(Frame::Array(values)) => values.push(value),
            Some(Frame::Object { entries, key }) => {
                if let Some(key) = key.take() {
                    entries.push((key, value));
                }
            }
        }
        self.state = State::CommaOrEnd;
    }

    /// Reports what a string that is still growing has gained.
    fn report(&mut self, growths: &mut Vec<Growth>, done: bool) {
        let path = self.path();
        if let State::String {
            text,
            reported,
            is_key: false,
            ..
        } = &mut self.state
            && text.len() > *reported
        {
            growths.push(Growth {
                path,
                text: text.get(*reported..).unwrap_or_default().to_owned(),
                done,
            });
            *reported = text.len();
        }
    }

    fn path(&self) -> Vec<Step> {
        self.frames
            .iter()
            .map(|frame| match frame {
                Frame::Array(values) => Step::At(values.len()),
                Frame::Object { key, .. } => Step::Key(key.clone().unwrap_or_default()),
            })
            .collect()
    }

    fn fail(&mut self, problem: &str) {
        self.problem = Some((self.line + 1, problem.to_owned()));
        self.state = State::Value;
    }
}

fn string(is_key: bool) -> State {
    State::String {
        text: String::new(),
        reported: 0,
        is_key,
        escape: Escape::None,
    }
}

/// Unknown escapes stay as they are written: the old text shows whether that was meant.
fn unescape(character: char, text: &mut String) {
    match character {
        'n' => text.push('\n'),
        't' => text.push('\t'),
        'r' => text.push('\r'),
        'b' => text.push('\u{8}'),
        'f' => text.push('\u{c}'),
        '"' | '\\' | '/' | '\'' => text.push(character),
        other => {
            text.push('\\');
            text.push(other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Value>, (usize, String)> {
        let mut reader = Reader::default();
        reader.push(text);
        reader.finish()
    }

    #[test]
    fn documents_are_read_as_serde_reads_them() {
        for text in [
            r#"{"a": [1, -2.5e3, true, null, "x\n\u00e9\ud83c\udf0d\"\\"], "b": {}}"#,
            "[]",
            r#"[{"k": "v"}, [[]]]"#,
        ] {
            let expected: serde_json::Value = serde_json::from_str(text).unwrap();
            let got = read(text).unwrap();
            assert_eq!(got.len(), 1);
            assert_eq!(as_serde(&got[0]), expected);
        }
    }

    fn as_serde(value: &Value) -> serde_json::Value {
        match value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(yes) => (*yes).into(),
            Value::Number(text) => serde_json::from_str(text).unwrap(),
            Value::String(text) => text.as_str().into(),
            Value::Array(values) => values.iter().map(as_serde).collect::<Vec<_>>().into(),
            Value::Object(entries) => serde_json::Value::Object(
                entries
                    .iter()
                    .map(|(key, value)| (key.clone(), as_serde(value)))
                    .collect(),
            ),
        }
    }

    #[test]
    fn slips_are_forgiven_but_cut_off_text_is_not() {
        assert_eq!(read("```json\n{\"a\": \"x\ny\",}\n```\n").unwrap().len(), 1);
        for text in [
            "{\"a\": \"x",
            "{\"a\": [1",
            "{\"a\"",
            "{\"a\": 1} {",
            "{\"a\": \"\\ud800x\"}",
            "{\"a\": nope}",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn strings_are_reported_as_they_grow() {
        let mut reader = Reader::default();
        assert_eq!(
            reader.push(r#"{"edits": [{"old_text": "ab\"#),
            vec![growth("ab", false)]
        );
        assert_eq!(reader.push(r#"nc"}"#), vec![growth("\nc", true)]);
    }

    fn growth(text: &str, done: bool) -> Growth {
        let path = vec![
            Step::Key("edits".to_owned()),
            Step::At(0),
            Step::Key("old_text".to_owned()),
        ];
        Growth {
            path,
            text: text.to_owned(),
            done,
        }
    }
}
