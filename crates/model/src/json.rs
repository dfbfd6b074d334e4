//! Parses JSON written by models and repairs unambiguous syntax errors.
//!
//! A repair is safe if the text is complete and only its syntax is wrong: raw line breaks in strings, trailing commas,
//! Python constants, bare keys, single quotes, a surrounding code fence, an object encoded as a JSON string. Text that
//! ends inside a value is never completed, so that a truncated file is never written.

use serde_json::{Map, Number, Value};

/// Why a text is not JSON, in a form that the model can act on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at byte {at}")]
pub struct MalformedJson {
    /// The problem.
    pub reason: &'static str,
    /// The byte offset.
    pub at: usize,
}

/// Parses a tool's input, which must be an object; empty text is an empty object.
pub fn parse_object(text: &str) -> Result<Value, MalformedJson> {
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
        Value::String(inner) if inner.trim_start().starts_with('{') => parse_object(&inner),
        Value::String(_) | Value::Bool(_) | Value::Number(_) | Value::Array(_) => Err(MalformedJson {
            reason: "the input must be a JSON object",
            at: 0,
        }),
    }
}

/// Parses almost-JSON with an unambiguous meaning.
pub fn repair(text: &str) -> Result<Value, MalformedJson> {
    let body = strip_code_fence(text);
    let mut reader = JsonRepairer {
        text: body,
        at: 0,
        depth: 0,
    };
    let value = reader.value()?;
    reader.skip_whitespace();
    // Surplus closing brackets are harmless; any other trailing text is not.
    if body[reader.at..]
        .chars()
        .all(|c| matches!(c, '}' | ']') || c.is_whitespace())
    {
        Ok(value)
    } else {
        Err(reader.error("there is more text after the end of the JSON value"))
    }
}

/// Strips a Markdown code fence around the whole text.
fn strip_code_fence(text: &str) -> &str {
    let trimmed = text.trim();
    let inside = trimmed.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    match inside.and_then(|rest| rest.split_once('\n')) {
        Some((tag, body)) if tag.chars().all(char::is_alphanumeric) => body.trim(),
        Some(_) | None => trimmed,
    }
}

/// How certain the meaning of a backslash is.
enum EscapeKind {
    /// It has one meaning.
    Unambiguous,
    /// A valid JSON escape with a letter that may also follow a literal backslash in a path or pattern.
    Letter,
    /// Not a JSON escape.
    Invalid,
}

/// Deeper nesting is an attack or an accident.
const MAX_DEPTH: usize = 128;

struct JsonRepairer<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl JsonRepairer<'_> {
    fn value(&mut self) -> Result<Value, MalformedJson> {
        self.skip_whitespace();
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error("the JSON is nested too deeply"));
        }
        let value = match self.peek() {
            Some('{') => self.object(),
            Some('[') => self.array(),
            Some(quote @ ('"' | '\'')) => self.string(quote).map(Value::String),
            Some(_) => self.literal(),
            None => Err(self.error("the JSON ends where a value is expected")),
        };
        self.depth -= 1;
        value
    }

    fn object(&mut self) -> Result<Value, MalformedJson> {
        self.at += 1;
        let mut map = Map::new();
        // At most one comma may follow each entry.
        let mut comma = false;
        loop {
            self.skip_whitespace();
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
                    let key = self.bare_key();
                    self.entry(&mut map, key)?;
                    comma = true;
                }
                Some(_) => return Err(self.error("expected a key or the end of the object")),
                None => return Err(self.error("the JSON ends inside an object")),
            }
        }
    }

    fn entry(&mut self, map: &mut Map<String, Value>, key: String) -> Result<(), MalformedJson> {
        self.skip_whitespace();
        if self.peek() != Some(':') {
            return Err(self.error("expected a colon after the key"));
        }
        self.at += 1;
        let value = self.value()?;
        if map.insert(key, value).is_some() {
            return Err(self.error("duplicate key in an object"));
        }
        self.skip_whitespace();
        match self.peek() {
            Some(',' | '}') => Ok(()),
            Some(_) => Err(self.error("expected a comma or the end of the object")),
            None => Err(self.error("the JSON ends inside an object")),
        }
    }

    fn array(&mut self) -> Result<Value, MalformedJson> {
        self.at += 1;
        let mut items = Vec::new();
        let mut comma = false;
        loop {
            self.skip_whitespace();
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
                    self.skip_whitespace();
                    if !matches!(self.peek(), Some(',' | ']')) {
                        return Err(self.error("expected a comma or the end of the list"));
                    }
                }
                None => return Err(self.error("the JSON ends inside a list")),
            }
        }
    }

    fn string(&mut self, quote: char) -> Result<String, MalformedJson> {
        self.at += 1;
        let mut out = String::new();
        let (mut has_letter, mut has_invalid) = (false, false);
        loop {
            let Some(c) = self.peek() else {
                return Err(self.error("the JSON ends inside a string"));
            };
            self.at += c.len_utf8();
            match c {
                '\\' => match self.escape(&mut out, quote)? {
                    EscapeKind::Unambiguous => {}
                    EscapeKind::Letter => has_letter = true,
                    EscapeKind::Invalid => has_invalid = true,
                },
                _ if c == quote => break,
                _ => out.push(c),
            }
        }
        // In `\new\d` the first escape is ambiguous: a line break or part of a path.
        match has_letter && has_invalid {
            true => Err(self.error("a string mixes JSON escapes with literal backslashes; double the literal ones")),
            false => Ok(out),
        }
    }

    fn escape(&mut self, out: &mut String, quote: char) -> Result<EscapeKind, MalformedJson> {
        let Some(c) = self.peek() else {
            return Err(self.error("the JSON ends inside a string"));
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
                return Ok(EscapeKind::Unambiguous);
            }
            '\'' if quote == '\'' => {
                out.push(c);
                return Ok(EscapeKind::Unambiguous);
            }
            '\'' => return Err(self.error("a single quote needs no backslash inside double quotes")),
            'u' => {
                out.push(self.unicode()?);
                return Ok(EscapeKind::Unambiguous);
            }
            // JSON has no such escape (`\d`, `\.`, `\$`), so the backslash is literal.
            _ => {
                out.push('\\');
                out.push(c);
                return Ok(EscapeKind::Invalid);
            }
        }
        Ok(EscapeKind::Letter)
    }

    fn unicode(&mut self) -> Result<char, MalformedJson> {
        let high = self.hex4()?;
        if !(0xD800..0xDC00).contains(&high) {
            return char::from_u32(high).ok_or_else(|| self.error("a \\u escape is an unpaired surrogate"));
        }
        if !self.text[self.at..].starts_with("\\u") {
            return Err(self.error("a \\u escape is an unpaired surrogate"));
        }
        self.at += 2;
        let low = self.hex4()?;
        if !(0xDC00..0xE000).contains(&low) {
            return Err(self.error("a \\u escape is an unpaired surrogate"));
        }
        let code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
        char::from_u32(code).ok_or_else(|| self.error("a \\u escape is an unpaired surrogate"))
    }

    fn hex4(&mut self) -> Result<u32, MalformedJson> {
        let digits = self.text.get(self.at..self.at + 4);
        let Some(code) = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) else {
            return Err(self.error("a \\u escape needs four hexadecimal digits"));
        };
        self.at += 4;
        Ok(code)
    }

    fn bare_key(&mut self) -> String {
        let rest = &self.text[self.at..];
        let end = rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'))
            .unwrap_or(rest.len());
        self.at += end;
        rest[..end].to_string()
    }

    fn literal(&mut self) -> Result<Value, MalformedJson> {
        let rest = &self.text[self.at..];
        let end = rest
            .find(|c: char| matches!(c, ',' | '}' | ']') || c.is_whitespace())
            .unwrap_or(rest.len());
        if end == rest.len() && self.depth > 1 {
            // The literal may be truncated: `1` could be the start of `100`.
            return Err(self.error("the JSON ends inside a value"));
        }
        let value = match &rest[..end] {
            "true" | "True" => Value::Bool(true),
            "false" | "False" => Value::Bool(false),
            "null" | "None" => Value::Null,
            number => match number.parse::<Number>() {
                Ok(number) => Value::Number(number),
                Err(_) => return Err(self.error("this is not a JSON value")),
            },
        };
        self.at += end;
        Ok(value)
    }

    fn skip_whitespace(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn error(&self, reason: &'static str) -> MalformedJson {
        MalformedJson { reason, at: self.at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn unambiguous_syntax_errors_are_repaired() {
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
            assert_eq!(parse_object(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn truncated_or_ambiguous_text_is_rejected() {
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
            assert!(parse_object(text).is_err(), "{text}");
        }
        assert!(parse_object(&"[".repeat(100_000)).is_err());
    }
}
