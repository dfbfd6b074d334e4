//! Reads the JSON that models write, mending what can be mended without guessing.
//!
//! Safe means: the text is whole and only its spelling is off. Raw line breaks inside strings, trailing commas, Python's
//! constants, bare keys, single quotes, a code fence around it, an object sent as a JSON string: all of these have one meaning.
//! Text that ends inside a value is never completed, because nobody knows what is missing: half a file must not be written.

use serde_json::{Map, Number, Value};

/// Why a text cannot be read as JSON, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at byte {at}")]
pub struct Malformed {
    /// What was found or is missing.
    pub reason: &'static str,
    /// Where.
    pub at: usize,
}

/// Reads a tool's input, which must be an object; nothing at all means an empty one.
pub fn object(text: &str) -> Result<Value, Malformed> {
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    let value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(_) => repair(text)?,
    };
    match value {
        Value::Object(_) => Ok(value),
        Value::Null => Ok(Value::Object(Map::new())),
        // Some models encode the object twice.
        Value::String(inner) if inner.trim_start().starts_with('{') => object(&inner),
        Value::String(_) | Value::Bool(_) | Value::Number(_) | Value::Array(_) => Err(Malformed {
            reason: "the input must be a JSON object",
            at: 0,
        }),
    }
}

/// Reads almost-JSON whose meaning is beyond doubt.
pub fn repair(text: &str) -> Result<Value, Malformed> {
    let body = unfence(text);
    let mut reader = Reader {
        text: body,
        at: 0,
        depth: 0,
    };
    let value = reader.value()?;
    reader.space();
    // A surplus of closing brackets says nothing new; anything else would.
    if body[reader.at..]
        .chars()
        .all(|c| matches!(c, '}' | ']') || c.is_whitespace())
    {
        Ok(value)
    } else {
        Err(reader.fail("there is more text after the end of the JSON value"))
    }
}

/// Takes off a Markdown code fence that stands around the whole text.
fn unfence(text: &str) -> &str {
    let trimmed = text.trim();
    let inside = trimmed.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    match inside.and_then(|rest| rest.split_once('\n')) {
        Some((tag, body)) if tag.chars().all(char::is_alphanumeric) => body.trim(),
        Some(_) | None => trimmed,
    }
}

/// How sure it is what a backslash means.
enum Escape {
    /// It can mean one thing only.
    Sure,
    /// A letter that JSON escapes, as a path or a pattern may have it after a backslash too.
    Letter,
    /// No escape of JSON.
    Odd,
}

/// Deeper nesting than this is an attack or an accident.
const DEEPEST: usize = 128;

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn value(&mut self) -> Result<Value, Malformed> {
        self.space();
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.fail("the JSON is nested too deeply"));
        }
        let value = match self.peek() {
            Some('{') => self.object(),
            Some('[') => self.array(),
            Some(quote @ ('"' | '\'')) => self.string(quote).map(Value::String),
            Some(_) => self.word(),
            None => Err(self.fail("the JSON ends where a value should stand")),
        };
        self.depth -= 1;
        value
    }

    fn object(&mut self) -> Result<Value, Malformed> {
        self.at += 1;
        let mut map = Map::new();
        // One comma may follow each entry.
        let mut comma = false;
        loop {
            self.space();
            match self.peek() {
                Some('}') => {
                    self.at += 1;
                    return Ok(Value::Object(map));
                }
                Some(',') if comma => {
                    comma = false;
                    self.at += 1;
                }
                Some(quote @ ('"' | '\'')) => {
                    let key = self.string(quote)?;
                    self.entry(&mut map, key)?;
                    comma = true;
                }
                Some(c) if c.is_alphabetic() || c == '_' => {
                    let key = self.bare();
                    self.entry(&mut map, key)?;
                    comma = true;
                }
                Some(_) => return Err(self.fail("a key or the end of the object should stand here")),
                None => return Err(self.fail("the JSON ends inside an object")),
            }
        }
    }

    fn entry(&mut self, map: &mut Map<String, Value>, key: String) -> Result<(), Malformed> {
        self.space();
        if self.peek() != Some(':') {
            return Err(self.fail("a colon should stand after the key"));
        }
        self.at += 1;
        let value = self.value()?;
        if map.insert(key, value).is_some() {
            return Err(self.fail("a key stands twice in one object"));
        }
        self.space();
        match self.peek() {
            Some(',' | '}') => Ok(()),
            Some(_) => Err(self.fail("a comma or the end of the object should stand here")),
            None => Err(self.fail("the JSON ends inside an object")),
        }
    }

    fn array(&mut self) -> Result<Value, Malformed> {
        self.at += 1;
        let mut items = Vec::new();
        let mut comma = false;
        loop {
            self.space();
            match self.peek() {
                Some(']') => {
                    self.at += 1;
                    return Ok(Value::Array(items));
                }
                Some(',') if comma => {
                    comma = false;
                    self.at += 1;
                }
                Some(_) => {
                    items.push(self.value()?);
                    comma = true;
                    self.space();
                    if !matches!(self.peek(), Some(',' | ']')) {
                        return Err(self.fail("a comma or the end of the list should stand here"));
                    }
                }
                None => return Err(self.fail("the JSON ends inside a list")),
            }
        }
    }

    fn string(&mut self, quote: char) -> Result<String, Malformed> {
        self.at += 1;
        let mut out = String::new();
        let (mut plain, mut odd) = (false, false);
        loop {
            let Some(c) = self.peek() else {
                return Err(self.fail("the JSON ends inside a string"));
            };
            self.at += c.len_utf8();
            match c {
                '\\' => match self.escape(&mut out, quote)? {
                    Escape::Sure => {}
                    Escape::Letter => plain = true,
                    Escape::Odd => odd = true,
                },
                _ if c == quote => break,
                _ => out.push(c),
            }
        }
        // In `\new\d` nobody can tell whether the first is a line break or a folder.
        match plain && odd {
            true => {
                Err(self.fail("a string mixes escapes of JSON with backslashes that are none; double the backslashes"))
            }
            false => Ok(out),
        }
    }

    fn escape(&mut self, out: &mut String, quote: char) -> Result<Escape, Malformed> {
        let Some(c) = self.peek() else {
            return Err(self.fail("the JSON ends inside a string"));
        };
        self.at += c.len_utf8();
        match c {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            '"' | '\\' | '/' => {
                out.push(c);
                return Ok(Escape::Sure);
            }
            '\'' if quote == '\'' => {
                out.push(c);
                return Ok(Escape::Sure);
            }
            '\'' => return Err(self.fail("a single quote needs no backslash inside double quotes")),
            'u' => {
                out.push(self.unicode()?);
                return Ok(Escape::Sure);
            }
            // An escape that JSON does not have (`\d`, `\.`, `\$`): the model meant the backslash itself.
            _ => {
                out.push('\\');
                out.push(c);
                return Ok(Escape::Odd);
            }
        }
        Ok(Escape::Letter)
    }

    fn unicode(&mut self) -> Result<char, Malformed> {
        let high = self.hex4()?;
        if !(0xD800..0xDC00).contains(&high) {
            return char::from_u32(high).ok_or_else(|| self.fail("a \\u escape is half of a pair"));
        }
        if !self.text[self.at..].starts_with("\\u") {
            return Err(self.fail("a \\u escape is half of a pair"));
        }
        self.at += 2;
        let low = self.hex4()?;
        if !(0xDC00..0xE000).contains(&low) {
            return Err(self.fail("a \\u escape is half of a pair"));
        }
        let code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
        char::from_u32(code).ok_or_else(|| self.fail("a \\u escape is half of a pair"))
    }

    fn hex4(&mut self) -> Result<u32, Malformed> {
        let digits = self.text.get(self.at..self.at + 4);
        let Some(code) = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) else {
            return Err(self.fail("a \\u escape needs four hexadecimal digits"));
        };
        self.at += 4;
        Ok(code)
    }

    fn bare(&mut self) -> String {
        let rest = &self.text[self.at..];
        let end = rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'))
            .unwrap_or(rest.len());
        self.at += end;
        rest[..end].to_string()
    }

    fn word(&mut self) -> Result<Value, Malformed> {
        let rest = &self.text[self.at..];
        let end = rest
            .find(|c: char| matches!(c, ',' | '}' | ']') || c.is_whitespace())
            .unwrap_or(rest.len());
        if end == rest.len() && self.depth > 1 {
            // The word may have been cut: `1` could have become `100`.
            return Err(self.fail("the JSON ends inside a value"));
        }
        let value = match &rest[..end] {
            "true" | "True" => Value::Bool(true),
            "false" | "False" => Value::Bool(false),
            "null" | "None" => Value::Null,
            number => match number.parse::<Number>() {
                Ok(number) => Value::Number(number),
                Err(_) => return Err(self.fail("this is not a JSON value")),
            },
        };
        self.at += end;
        Ok(value)
    }

    fn space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn fail(&self, reason: &'static str) -> Malformed {
        Malformed { reason, at: self.at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn off_spelling_with_one_meaning_is_mended() {
        let cases = [
            ("", json!({})),
            ("{}", json!({})),
            ("null", json!({})),
            ("{\"a\": \"x\ny\"}", json!({"a": "x\ny"})),
            ("{\"a\": \"tab\there\"}", json!({"a": "tab\there"})),
            ("{\"a\": [1, 2,], }", json!({"a": [1, 2]})),
            ("{'a': True, 'b': None}", json!({"a": true, "b": null})),
            ("{a: 1}", json!({"a": 1})),
            ("```json\n{\"a\": 1,}\n```", json!({"a": 1})),
            ("\"{\\\"a\\\": 1}\"", json!({"a": 1})),
            ("{\"re\": \"\\d+\\.\"}", json!({"re": "\\d+\\."})),
            ("{\"a\": 1}}", json!({"a": 1})),
            ("{\"a\": \"\\ud83d\\ude00\",}", json!({"a": "😀"})),
        ];
        for (text, expected) in cases {
            assert_eq!(object(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn text_that_may_be_cut_or_means_two_things_is_refused() {
        let cases = [
            "{\"path\": \"a\", \"content\": \"half a fi",
            "{\"path\": \"a\"",
            "{\"edits\": [{\"old\": \"a\"}",
            "{\"n\": 1",
            "{\"a\": 1} {\"b\": 2}",
            "{\"a\": 1, \"a\": 2,}",
            "{\"a\" 1}",
            "[1, 2]",
            "please read the file",
            "{\"a\": \"\\ud83d\"}",
            "{\"a\": \"\\ud83d\\u0041\",}",
            "{\"a\": \"\\ud83d\\ue000\",}",
            "{\"pattern\": \"\\bfn\\s+\"}",
            "{\"path\": \"C:\\new\\dir\"}",
            "{\"command\": \"echo it\\'s\"}",
            "{\"a\": [1,,2]}",
            "{\"a\": 1,, \"b\": 2}",
        ];
        for text in cases {
            assert!(object(text).is_err(), "{text}");
        }
        assert!(object(&"[".repeat(100_000)).is_err());
    }
}
