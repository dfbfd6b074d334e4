//! An incremental JSON parser that reports growing strings and tolerates common errors of models.

/// A JSON value; numbers are kept as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LooseJson {
    Null,
    Bool(bool),
    Number(String),
    String(String),
    Array(Vec<LooseJson>),
    Object(Vec<(String, LooseJson)>),
}

/// A step of a string's path in the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JsonPathStep {
    Key(String),
    At(usize),
}

/// A delta of a string value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StringGrowth {
    pub(crate) path: Vec<JsonPathStep>,
    pub(crate) text: String,
    pub(crate) done: bool,
}

#[derive(Debug)]
enum JsonFrame {
    Array(Vec<LooseJson>),
    Object {
        entries: Vec<(String, LooseJson)>,
        key: Option<String>,
    },
}

#[derive(Debug, Default)]
enum JsonState {
    /// Between documents: everything up to `{` or `[` is skipped.
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
        escape: JsonEscape,
    },
    Literal(String),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum JsonEscape {
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

/// Parses consecutive documents.
#[derive(Debug, Default)]
pub(crate) struct IncrementalJsonReader {
    state: JsonState,
    frames: Vec<JsonFrame>,
    pub(crate) documents: Vec<LooseJson>,
    line: usize,
    problem: Option<(usize, String)>,
}

const MAX_DEPTH: usize = 64;

impl IncrementalJsonReader {
    /// Adds text.
    pub(crate) fn push(&mut self, chunk: &str) -> Vec<StringGrowth> {
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

    /// The documents, or the line (from 1) and description of the first error.
    pub(crate) fn finish(self) -> Result<Vec<LooseJson>, (usize, String)> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        match self.state {
            JsonState::Outside => Ok(self.documents),
            _ => Err((self.line + 1, "the JSON is cut off".to_owned())),
        }
    }

    fn character(&mut self, character: char, growths: &mut Vec<StringGrowth>) {
        match std::mem::take(&mut self.state) {
            JsonState::Outside => {
                if matches!(character, '{' | '[') {
                    self.open(character);
                }
            }
            JsonState::Value => self.value(character),
            JsonState::KeyOrEnd => match character {
                '"' => self.state = string(true),
                '}' => self.close(),
                c if c.is_whitespace() || c == ',' => self.state = JsonState::KeyOrEnd,
                c => self.fail(&format!("expected a field name, found `{c}`")),
            },
            JsonState::Colon => match character {
                ':' => self.state = JsonState::Value,
                c if c.is_whitespace() => self.state = JsonState::Colon,
                c => self.fail(&format!("expected `:`, found `{c}`")),
            },
            JsonState::CommaOrEnd => self.after_value(character),
            JsonState::Literal(mut text) => {
                if character.is_alphanumeric() || matches!(character, '+' | '-' | '.') {
                    text.push(character);
                    self.state = JsonState::Literal(text);
                } else {
                    self.literal(&text);
                    if self.problem.is_none() {
                        self.after_value(character);
                    }
                }
            }
            JsonState::String {
                mut text,
                reported,
                is_key,
                mut escape,
            } => {
                if self.in_string(character, &mut text, &mut escape) {
                    self.state = JsonState::String {
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
            c if c.is_whitespace() => self.state = JsonState::Value,
            c if c.is_alphanumeric() || c == '-' => self.state = JsonState::Literal(c.to_string()),
            c => self.fail(&format!("expected a value, found `{c}`")),
        }
    }

    fn after_value(&mut self, character: char) {
        match (character, self.frames.last()) {
            (',', Some(JsonFrame::Array(_))) => self.state = JsonState::Value,
            (',', Some(JsonFrame::Object { .. })) => self.state = JsonState::KeyOrEnd,
            (']', Some(JsonFrame::Array(_))) | ('}', Some(JsonFrame::Object { .. })) => self.close(),
            (c, _) if c.is_whitespace() => self.state = JsonState::CommaOrEnd,
            (c, _) => self.fail(&format!("expected `,` or the end, found `{c}`")),
        }
    }

    /// Processes one character of a string; false if it was the closing quote.
    fn in_string(&mut self, character: char, text: &mut String, escape: &mut JsonEscape) -> bool {
        *escape = match (std::mem::take(escape), character) {
            (JsonEscape::None, '"') => return false,
            (JsonEscape::None, '\\') => JsonEscape::Backslash,
            (JsonEscape::None, plain) => {
                text.push(plain);
                JsonEscape::None
            }
            (JsonEscape::Backslash, 'u') => JsonEscape::Unicode {
                digits: String::new(),
                high: None,
            },
            (JsonEscape::Backslash, other) => {
                unescape(other, text);
                JsonEscape::None
            }
            (JsonEscape::Unicode { mut digits, high }, digit) if digit.is_ascii_hexdigit() => {
                digits.push(digit);
                if digits.len() < 4 {
                    JsonEscape::Unicode { digits, high }
                } else {
                    self.unit(&digits, high, text)
                }
            }
            (JsonEscape::Half(high), '\\') => JsonEscape::HalfBackslash(high),
            (JsonEscape::HalfBackslash(high), 'u') => JsonEscape::Unicode {
                digits: String::new(),
                high: Some(high),
            },
            (JsonEscape::Unicode { .. } | JsonEscape::Half(_) | JsonEscape::HalfBackslash(_), _) => {
                self.fail("a broken `\\u` escape");
                return false;
            }
        };
        true
    }

    fn unit(&mut self, digits: &str, high: Option<u16>, text: &mut String) -> JsonEscape {
        let unit = u16::from_str_radix(digits, 16).unwrap_or(0xfffd);
        match (high, unit) {
            (None, 0xd800..=0xdbff) => return JsonEscape::Half(unit),
            (high, low) => match char::decode_utf16(high.into_iter().chain([low])).next() {
                Some(Ok(character)) => text.push(character),
                _ => self.fail("a broken `\\u` escape"),
            },
        }
        JsonEscape::None
    }

    fn end_string(&mut self, text: String, reported: usize, is_key: bool, growths: &mut Vec<StringGrowth>) {
        if is_key {
            if let Some(JsonFrame::Object { key, .. }) = self.frames.last_mut() {
                *key = Some(text);
            }
            self.state = JsonState::Colon;
            return;
        }
        let rest = text.get(reported..).unwrap_or_default().to_owned();
        growths.push(StringGrowth {
            path: self.path(),
            text: rest,
            done: true,
        });
        self.put(LooseJson::String(text));
    }

    fn literal(&mut self, text: &str) {
        let value = match text {
            "true" | "True" => LooseJson::Bool(true),
            "false" | "False" => LooseJson::Bool(false),
            "null" | "None" => LooseJson::Null,
            number if number.parse::<f64>().is_ok() => LooseJson::Number(number.to_owned()),
            other => return self.fail(&format!("`{other}` is not a value")),
        };
        self.put(value);
    }

    fn open(&mut self, character: char) {
        if self.frames.len() >= MAX_DEPTH {
            return self.fail("nested too deeply");
        }
        if character == '{' {
            self.frames.push(JsonFrame::Object {
                entries: Vec::new(),
                key: None,
            });
            self.state = JsonState::KeyOrEnd;
        } else {
            self.frames.push(JsonFrame::Array(Vec::new()));
            self.state = JsonState::Value;
        }
    }

    fn close(&mut self) {
        match self.frames.pop() {
            Some(JsonFrame::Array(values)) => self.put(LooseJson::Array(values)),
            Some(JsonFrame::Object { entries, key: None }) => self.put(LooseJson::Object(entries)),
            Some(JsonFrame::Object { .. }) | None => self.fail("unmatched closing bracket"),
        }
    }

    fn put(&mut self, value: LooseJson) {
        match self.frames.last_mut() {
            None => {
                self.documents.push(value);
                self.state = JsonState::Outside;
                return;
            }
            Some(JsonFrame::Array(values)) => values.push(value),
            Some(JsonFrame::Object { entries, key }) => {
                if let Some(key) = key.take() {
                    entries.push((key, value));
                }
            }
        }
        self.state = JsonState::CommaOrEnd;
    }

    /// Reports the new part of a growing string.
    fn report(&mut self, growths: &mut Vec<StringGrowth>, done: bool) {
        let path = self.path();
        if let JsonState::String {
            text,
            reported,
            is_key: false,
            ..
        } = &mut self.state
            && text.len() > *reported
        {
            growths.push(StringGrowth {
                path,
                text: text.get(*reported..).unwrap_or_default().to_owned(),
                done,
            });
            *reported = text.len();
        }
    }

    fn path(&self) -> Vec<JsonPathStep> {
        self.frames
            .iter()
            .map(|frame| match frame {
                JsonFrame::Array(values) => JsonPathStep::At(values.len()),
                JsonFrame::Object { key, .. } => JsonPathStep::Key(key.clone().unwrap_or_default()),
            })
            .collect()
    }

    fn fail(&mut self, problem: &str) {
        self.problem = Some((self.line + 1, problem.to_owned()));
        self.state = JsonState::Value;
    }
}

fn string(is_key: bool) -> JsonState {
    JsonState::String {
        text: String::new(),
        reported: 0,
        is_key,
        escape: JsonEscape::None,
    }
}

/// Unknown escapes stay unchanged: the old text shows whether that was intended.
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

    fn read(text: &str) -> Result<Vec<LooseJson>, (usize, String)> {
        let mut reader = IncrementalJsonReader::default();
        reader.push(text);
        reader.finish()
    }

    #[test]
    fn documents_are_parsed_like_serde_does() {
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

    fn as_serde(value: &LooseJson) -> serde_json::Value {
        match value {
            LooseJson::Null => serde_json::Value::Null,
            LooseJson::Bool(yes) => (*yes).into(),
            LooseJson::Number(text) => serde_json::from_str(text).unwrap(),
            LooseJson::String(text) => text.as_str().into(),
            LooseJson::Array(values) => values.iter().map(as_serde).collect::<Vec<_>>().into(),
            LooseJson::Object(entries) => serde_json::Value::Object(
                entries
                    .iter()
                    .map(|(key, value)| (key.clone(), as_serde(value)))
                    .collect(),
            ),
        }
    }

    #[test]
    fn errors_are_tolerated_but_truncation_is_not() {
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
        let mut reader = IncrementalJsonReader::default();
        assert_eq!(
            reader.push(r#"{"edits": [{"old_text": "ab\"#),
            vec![growth("ab", false)]
        );
        assert_eq!(reader.push(r#"nc"}"#), vec![growth("\nc", true)]);
    }

    fn growth(text: &str, done: bool) -> StringGrowth {
        let path = vec![
            JsonPathStep::Key("edits".to_owned()),
            JsonPathStep::At(0),
            JsonPathStep::Key("old_text".to_owned()),
        ];
        StringGrowth {
            path,
            text: text.to_owned(),
            done,
        }
    }
}
