//! Applies a JSON schema to a reply: natively if the model supports it, otherwise by instruction.

use super::thinking::ClaudeVersion;
use model::Info;
use serde_json::{Map, Value, json};

/// Keywords that structured outputs reject. The caller validates the reply against the whole schema anyway.
const UNSUPPORTED: [&str; 13] = [
    "$schema",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
];

/// Whether the model supports schemas.
pub(super) fn is_native(info: &Info) -> bool {
    ClaudeVersion::of(&info.id).is_some_and(|version| version >= ClaudeVersion { major: 4, minor: 5 })
}

/// The instruction for other models.
pub(super) fn instruction(schema: &Value) -> String {
    format!(
        "Your final answer must be a single JSON value that follows this JSON schema, with no other text around it:\n{schema}"
    )
}

/// The schema for structured outputs: objects are closed, and unsupported keywords are removed.
pub(super) fn strict(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => {
            let mut out = Map::new();
            for (key, value) in map {
                match (key.as_str(), value) {
                    // The keys of this object are property names.
                    ("properties" | "$defs" | "definitions", Value::Object(named)) => {
                        let named = named.iter().map(|(name, inner)| (name.clone(), strict(inner)));
                        out.insert(key.clone(), Value::Object(named.collect()));
                    }
                    ("enum" | "const" | "default" | "examples", value) => {
                        out.insert(key.clone(), value.clone());
                    }
                    (refused, _) if UNSUPPORTED.contains(&refused) => {}
                    (_, value) => {
                        out.insert(key.clone(), strict(value));
                    }
                }
            }
            if out.get("type") == Some(&json!("object")) || out.contains_key("properties") {
                out.insert("additionalProperties".into(), json!(false));
            }
            Value::Object(out)
        }
        Value::Array(items) => Value::Array(items.iter().map(strict).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_closed_and_unsupported_keywords_are_removed_but_not_properties_of_that_name() {
        let schema = json!({
            "type": "object",
            "properties": {"minimum": {"type": "integer", "minimum": 1}, "list": {"type": "array", "maxItems": 3,
                "items": {"type": "object", "properties": {}}}},
            "required": ["minimum"],
            "enum": [{"minimum": 1}],
        });
        let expected = json!({
            "type": "object",
            "properties": {"minimum": {"type": "integer"}, "list": {"type": "array",
                "items": {"type": "object", "properties": {}, "additionalProperties": false}}},
            "required": ["minimum"],
            "enum": [{"minimum": 1}],
            "additionalProperties": false,
        });
        assert_eq!(strict(&schema), expected);
    }
}
