//! Validates the answer against a JSON schema.

use crate::failure::{Failure, Result};
use crate::output;
use boon::{CompileError, Compiler, SchemaIndex, Schemas, UrlLoader};
use model::OutputSchema;
use serde_json::Value;
use std::error::Error;
use std::path::Path;

/// The schema that the answer must follow.
pub struct AnswerSchema {
    schema: Value,
    compiled: Schemas,
    root: SchemaIndex,
}

/// The schema's name for the compiler.
const NAME: &str = "hew:///output-schema";

impl AnswerSchema {
    /// Reads a schema from a file.
    pub fn read(path: &Path) -> Result<Self> {
        let text =
            std::fs::read_to_string(path).map_err(|error| Failure::file("read the output schema", path, &error))?;
        let schema: Value = serde_json::from_str(&text)
            .map_err(|error| Failure::usage(format!("{} is not JSON: {error}", path.display())))?;
        let mut checked = schema.clone();
        let mut patterns = Vec::new();
        remove_unsupported_patterns(&mut checked, &mut patterns);
        for pattern in patterns {
            output::print_stderr(&format!(
                "the pattern {pattern} uses look-around or backreferences: it is sent to the model, but the answer is not checked against it\n"
            ));
        }
        let mut compiled = Schemas::new();
        let mut compiler = Compiler::new();
        compiler.use_loader(Box::new(NoRemoteSchemas));
        let wrong = |error: CompileError| {
            let why = reasons(&format!("{error:#}")).join("; ");
            Failure::usage(format!("{} is not a JSON schema: {why}", path.display()))
        };
        compiler.add_resource(NAME, checked).map_err(wrong)?;
        let root = compiler.compile(NAME, &mut compiled).map_err(wrong)?;
        Ok(AnswerSchema { schema, compiled, root })
    }

    /// The schema as sent to the model.
    pub fn for_model(&self) -> OutputSchema {
        let title = self.schema.get("title").and_then(Value::as_str).unwrap_or("answer");
        let name: String = title
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() {
                    c.to_ascii_lowercase()
                } else {
                    '_'
                }
            })
            .take(60)
            .collect();
        OutputSchema {
            name: if name.is_empty() { "answer".into() } else { name },
            schema: self.schema.clone(),
        }
    }

    /// The answer as JSON.
    pub fn check(&self, answer: &str) -> Result<Value, SchemaMismatch> {
        let value = json_in(answer).ok_or(SchemaMismatch::NotJson)?;
        let mismatch = self.compiled.validate(&value, self.root).err();
        let mismatch = mismatch.map(|error| SchemaMismatch::Invalid(reasons(&error.to_string())));
        mismatch.map_or(Ok(value), Err)
    }

    /// The prompt after an invalid answer.
    pub fn correction_prompt(&self, wrong: &SchemaMismatch) -> String {
        format!(
            "Your answer does not match the required JSON schema: {wrong}.\n\
             Reply with only JSON that matches this schema:\n{}",
            self.schema
        )
    }
}

/// How an answer differs from its schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaMismatch {
    /// It is not JSON.
    #[error("it is not JSON")]
    NotJson,
    /// It violates the schema: the reasons with their places.
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
}

/// Remote schemas are not loaded.
struct NoRemoteSchemas;

impl UrlLoader for NoRemoteSchemas {
    fn load(&self, _: &str) -> Result<Value, Box<dyn Error>> {
        Err("only references within the schema are supported".into())
    }
}

/// The errors with their locations: `- at '/n': want integer` becomes `/n: want integer`.
fn reasons(message: &str) -> Vec<String> {
    /// More errors do not help a model to correct its answer.
    const MOST: usize = 5;
    let line = |line: &str| {
        let (location, what) = line.trim_start().strip_prefix("- at '")?.split_once("': ")?;
        Some(match location {
            "" => what.to_owned(),
            location => format!("{location}: {what}"),
        })
    };
    let found: Vec<String> = message.lines().filter_map(line).take(MOST).collect();
    match found.is_empty() {
        true => vec![message.to_owned()],
        false => found,
    }
}

/// Removes patterns with look-around or backreferences, which a schema may contain but which are not supported here.
fn remove_unsupported_patterns(schema: &mut Value, patterns: &mut Vec<String>) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::String(pattern)) = object.get("pattern")
                && uses_lookaround(pattern)
            {
                patterns.push(pattern.clone());
                object.shift_remove("pattern");
            }
            for (key, value) in object.iter_mut() {
                // These contain values, not schemas.
                if !matches!(key.as_str(), "const" | "default" | "enum" | "examples") {
                    remove_unsupported_patterns(value, patterns);
                }
            }
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| remove_unsupported_patterns(item, patterns)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn uses_lookaround(pattern: &str) -> bool {
    let mut rest = pattern;
    while let Some(at) = rest.find(['\\', '(']) {
        let here = &rest[at..];
        if ["(?=", "(?!", "(?<=", "(?<!", "\\k<"]
            .iter()
            .any(|sign| here.starts_with(sign))
        {
            return true;
        }
        let mut chars = here.chars();
        let is_escape = chars.next() == Some('\\');
        let escaped = chars.next().filter(|_| is_escape);
        if escaped.is_some_and(|c| matches!(c, '1'..='9')) {
            return true;
        }
        rest = &here[1 + escaped.map_or(0, char::len_utf8)..];
    }
    false
}

/// The JSON in an answer: all of it, or its only fenced block.
fn json_in(answer: &str) -> Option<Value> {
    let answer = answer.trim();
    if let Ok(value) = serde_json::from_str(answer) {
        return Some(value);
    }
    let (_, rest) = answer.split_once("```")?;
    let (block, after) = rest.split_once("```")?;
    if after.contains("```") {
        return None;
    }
    let block = block.strip_prefix("json").unwrap_or(block);
    serde_json::from_str(block.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_is_found_with_and_without_a_code_fence() {
        assert_eq!(json_in(" {\"a\": 1}\n"), Some(json!({"a": 1})));
        assert_eq!(json_in("Here it is:\n```json\n[1]\n```\n"), Some(json!([1])));
        assert_eq!(json_in("```\n1\n```\n```\n2\n```"), None);
        assert_eq!(json_in("no"), None);
    }

    #[test]
    fn an_invalid_answer_is_reported_with_the_json_path() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("s.json");
        let schema =
            json!({"title": "My Thing", "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        std::fs::write(&path, schema.to_string()).unwrap();
        let expected = AnswerSchema::read(&path).unwrap();
        assert_eq!(expected.for_model().name, "my_thing");
        assert_eq!(expected.check("{\"n\": 5}"), Ok(json!({"n": 5})));
        let mismatch = expected.check("{\"n\": \"x\"}").unwrap_err();
        assert!(mismatch.to_string().starts_with("/n: "), "{mismatch}");
        assert_eq!(expected.check("five"), Err(SchemaMismatch::NotJson));
        std::fs::write(&path, "{\"type\": 5}").unwrap();
        assert!(
            AnswerSchema::read(&path).is_err_and(|failure| failure.message.contains("is not a JSON schema: /type: "))
        );
    }

    /// The validation errors of answers; empty if valid.
    fn check(schema: Value, answers: &[(Value, &str)]) {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("s.json");
        std::fs::write(&path, schema.to_string()).unwrap();
        let expected = AnswerSchema::read(&path).unwrap_or_else(|failure| panic!("{schema}: {}", failure.message));
        for (answer, wrong) in answers {
            let mismatch = expected.check(&answer.to_string()).err();
            let message = mismatch.map(|mismatch| mismatch.to_string()).unwrap_or_default();
            assert_eq!(&message, wrong, "{schema} {answer}");
        }
    }

    #[test]
    fn common_schema_features_are_validated() {
        check(
            json!({
                "$ref": "#/$defs/finding",
                "$defs": {
                    "finding": {
                        "type": "object",
                        "properties": {
                            "severity": {"enum": ["low", "high"]},
                            "where": {"oneOf": [{"type": "string", "pattern": "^src/"}, {"$ref": "#/$defs/place"}]},
                            "more": {"type": "array", "items": {"$ref": "#/$defs/finding"}, "maxItems": 1}
                        },
                        "required": ["severity"],
                        "additionalProperties": false
                    },
                    "place": {"$anchor": "place", "type": "object", "properties": {"line": {"type": "integer", "minimum": 1}}}
                }
            }),
            &[
                (json!({"severity": "low", "where": "src/a.rs"}), ""),
                (
                    json!({"severity": "low", "where": {"line": 3}, "more": [{"severity": "high"}]}),
                    "",
                ),
                (json!({}), "missing properties 'severity'"),
                (
                    json!({"severity": "mid"}),
                    "/severity: value must be one of 'low', 'high'",
                ),
                (
                    json!({"severity": "low", "extra": 1}),
                    "additionalProperties 'extra' not allowed",
                ),
                (
                    json!({"severity": "low", "more": [{"severity": 1}]}),
                    "/more/0/severity: value must be one of 'low', 'high'",
                ),
                (
                    json!({"severity": "low", "where": {"line": 0}}),
                    "/where: oneOf failed, none matched; /where: want string, but got object; \
                     /where/line: must be >=1, but got 0",
                ),
            ],
        );
        check(
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"at": {"format": "date"}}}),
            &[
                (json!({"at": "2026-11-16"}), ""),
                (
                    json!({"at": "soon"}),
                    "/at: 'soon' is not valid date: must be 10 characters long",
                ),
            ],
        );
    }

    #[test]
    fn patterns_with_lookaround_are_not_validated() {
        let schema = json!({"properties": {"a": {"pattern": "^(?=.*[0-9]).+$", "minLength": 2}, "pattern": {"const": {"pattern": "(?=x)"}}}});
        check(
            schema,
            &[
                (json!({"a": "xx", "pattern": {"pattern": "(?=x)"}}), ""),
                (json!({"a": "x"}), "/a: length must be >=2, but got 1"),
            ],
        );
        for (pattern, expected) in [
            (r"(?!a)b", true),
            (r"(?<=a)b", true),
            (r"(a)\1", true),
            (r"(?<x>a)\k<x>", true),
            (r"(?<x>a)(?:b)\\1\(?=", false),
            (r"[a-z]+\d{2}", false),
        ] {
            assert_eq!(uses_lookaround(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn external_schema_references_are_not_resolved() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("s.json");
        std::fs::write(&path, json!({"$ref": "file:///etc/hostname"}).to_string()).unwrap();
        assert!(
            AnswerSchema::read(&path)
                .is_err_and(|failure| failure.message.contains("only references within the schema"))
        );
    }
}
