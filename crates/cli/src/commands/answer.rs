//! Holds the answer to a JSON schema, where one was given.

use crate::failure::{Failure, Result};
use jsonschema::Validator;
use model::OutputSchema;
use serde_json::Value;
use std::path::Path;

/// The schema that the answer must follow.
pub(super) struct Expected {
    schema: Value,
    validator: Validator,
}

impl Expected {
    /// Reads a schema from a file.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text =
            std::fs::read_to_string(path).map_err(|error| Failure::file("read the output schema", path, &error))?;
        let schema: Value = serde_json::from_str(&text)
            .map_err(|error| Failure::usage(format!("{} is not JSON: {error}", path.display())))?;
        let validator = jsonschema::validator_for(&schema)
            .map_err(|error| Failure::usage(format!("{} is not a JSON schema: {error}", path.display())))?;
        Ok(Expected { schema, validator })
    }

    /// The schema as the model is told of it.
    pub(super) fn for_model(&self) -> OutputSchema {
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

    /// The answer as JSON, or what is wrong with it.
    pub(super) fn check(&self, answer: &str) -> Result<Value, String> {
        /// More would not help a model to mend its answer.
        const MOST_ERRORS: usize = 5;
        let value = json_in(answer).ok_or("it is not JSON")?;
        let wrong: Vec<String> = self
            .validator
            .iter_errors(&value)
            .take(MOST_ERRORS)
            .map(|error| match error.instance_path().to_string().as_str() {
                "" => error.to_string(),
                path => format!("{path}: {error}"),
            })
            .collect();
        if wrong.is_empty() {
            Ok(value)
        } else {
            Err(wrong.join("; "))
        }
    }

    /// What the model is told when its answer is wrong.
    pub(super) fn complaint(&self, wrong: &str) -> String {
        format!(
            "Your answer does not match the required JSON schema: {wrong}.\n\
             Answer again with nothing but JSON that matches this schema:\n{}",
            self.schema
        )
    }
}

/// The JSON in an answer: all of it, or what stands in its only fenced block.
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
    fn json_is_found_bare_or_in_a_fence() {
        assert_eq!(json_in(" {\"a\": 1}\n"), Some(json!({"a": 1})));
        assert_eq!(json_in("Here it is:\n```json\n[1]\n```\n"), Some(json!([1])));
        assert_eq!(json_in("```\n1\n```\n```\n2\n```"), None);
        assert_eq!(json_in("no"), None);
    }

    #[test]
    fn a_wrong_answer_is_explained_with_its_place() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("s.json");
        let schema =
            json!({"title": "My Thing", "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        std::fs::write(&path, schema.to_string()).unwrap();
        let expected = Expected::read(&path).unwrap();
        assert_eq!(expected.for_model().name, "my_thing");
        assert_eq!(expected.check("{\"n\": 5}"), Ok(json!({"n": 5})));
        assert!(expected.check("{\"n\": \"x\"}").unwrap_err().starts_with("/n: "));
        assert_eq!(expected.check("five"), Err("it is not JSON".into()));
        std::fs::write(&path, "{\"type\": 5}").unwrap();
        assert!(Expected::read(&path).is_err_and(|failure| failure.what.contains("is not a JSON schema")));
    }
}
