//! Holds an answer to a JSON schema, natively where the model can and by instruction where it cannot.

use super::thinking::Version;
use model::Info;
use serde_json::{Map, Value, json};

/// Keywords that structured outputs refuse. The caller checks the answer against the whole schema anyway.
const REFUSED: [&str; 13] = [
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

/// Whether the model takes a schema as such.
pub(super) fn is_native(info: &Info) -> bool {
    Version::of(&info.id).is_some_and(|version| version >= Version { major: 4, minor: 5 })
}

/// What is asked of other models.
pub(super) fn instruction(schema: &Value) -> String {
    format!(
        "Your final answer must be a single JSON value that follows this JSON schema, with no other text around it:\n{schema}"
    )
}

/// The schema as structured outputs want it: objects are closed, and nothing is asked that they refuse.
pub(super) fn strict(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => {
            let mut out = Map::new();
            for (key, value) in map {
                match (key.as_str(), value) {
                    // Here keys are names that the schema's author chose.
                    ("properties" | "$defs" | "definitions", Value::Object(named)) => {
                        let named = named.iter().map(|(name, inner)| (name.clone(), strict(inner)));
                        out.insert(key.clone(), Value::Object(named.collect()));
                    }
                    ("enum" | "const" | "default" | "examples", value) => {
                        out.insert(key.clone(), value.clone());
                    }
                    (refused, _) if REFUSED.contains(&refused) => {}
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
    fn objects_are_closed_and_refused_keywords_go_but_not_properties_of_that_name() {
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
