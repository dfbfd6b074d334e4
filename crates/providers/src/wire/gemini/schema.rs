//! The part of JSON schema that Gemini takes.

use serde_json::{Map, Value};

/// Keywords that Gemini understands; others make it reject the whole request.
const KNOWN: [&str; 22] = [
    "$defs",
    "$ref",
    "$id",
    "$anchor",
    "type",
    "format",
    "title",
    "description",
    "enum",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "anyOf",
    "oneOf",
    "properties",
    "additionalProperties",
    "required",
    "propertyOrdering",
    "nullable",
];

/// A tool's parameters; `None` for a tool that takes none, because an empty object is rejected.
pub(super) fn parameters(schema: &Value) -> Option<Value> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let empty = properties.is_none_or(Map::is_empty) && schema.get("$ref").is_none() && schema.get("anyOf").is_none();
    (!empty).then(|| reduced(schema))
}

/// The schema without what Gemini does not understand, and with what can be said otherwise said so.
pub(super) fn reduced(schema: &Value) -> Value {
    let Value::Object(map) = schema else {
        // `true` and `false` are schemas too: anything goes, nothing goes.
        return schema.clone();
    };
    let mut out = Map::new();
    for (key, value) in map {
        match key.as_str() {
            "properties" | "$defs" => {
                out.insert(key.clone(), each(value));
            }
            "definitions" => {
                out.insert("$defs".into(), each(value));
            }
            "$ref" => {
                let target = value
                    .as_str()
                    .unwrap_or_default()
                    .replacen("#/definitions/", "#/$defs/", 1);
                out.insert(key.clone(), Value::String(target));
            }
            "const" => {
                out.insert("enum".into(), Value::Array(vec![value.clone()]));
            }
            "exclusiveMinimum" | "exclusiveMaximum" => {
                let bound = if key == "exclusiveMinimum" {
                    "minimum"
                } else {
                    "maximum"
                };
                out.entry(bound).or_insert_with(|| value.clone());
            }
            "allOf" => merge_all(&mut out, value),
            "anyOf" | "oneOf" | "prefixItems" => {
                let list = value.as_array().map(|list| list.iter().map(reduced).collect());
                out.insert(key.clone(), Value::Array(list.unwrap_or_default()));
            }
            "items" | "additionalProperties" => {
                out.insert(key.clone(), reduced(value));
            }
            key if KNOWN.contains(&key) => {
                out.insert(key.to_string(), value.clone());
            }
            _ => {}
        }
    }
    Value::Object(out)
}

fn each(value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.iter()
                .map(|(name, schema)| (name.clone(), reduced(schema)))
                .collect(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => value.clone(),
    }
}

/// All of several schemas at once is one schema with everything that they say.
fn merge_all(out: &mut Map<String, Value>, list: &Value) {
    for part in list.as_array().into_iter().flatten() {
        let Value::Object(part) = reduced(part) else { continue };
        for (key, value) in part {
            match (out.get_mut(&key), value) {
                (Some(Value::Object(old)), Value::Object(new)) => old.extend(new),
                (Some(Value::Array(old)), Value::Array(new)) if key == "required" => old.extend(new),
                (Some(_), _) => {}
                (None, value) => {
                    out.insert(key, value);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_gemini_does_not_understand_is_said_otherwise_or_left_out() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1, "pattern": "^/"},
                "kind": {"const": "file"},
                "line": {"type": ["integer", "null"], "exclusiveMinimum": 0, "default": null},
                "const": {"type": "string"},
                "edit": {"$ref": "#/definitions/Edit"},
                "both": {"allOf": [{"type": "object", "required": ["a"]}, {"required": ["b"]}]},
            },
            "required": ["path"],
            "additionalProperties": false,
            "definitions": {"Edit": {"type": "object", "examples": [1], "properties": {"old": {"type": "string"}}}},
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "kind": {"enum": ["file"]},
                "line": {"type": ["integer", "null"], "minimum": 0},
                "const": {"type": "string"},
                "edit": {"$ref": "#/$defs/Edit"},
                "both": {"type": "object", "required": ["a", "b"]},
            },
            "required": ["path"],
            "additionalProperties": false,
            "$defs": {"Edit": {"type": "object", "properties": {"old": {"type": "string"}}}},
        });
        assert_eq!(parameters(&schema), Some(expected));
        assert_eq!(parameters(&json!({"type": "object", "properties": {}})), None);
    }
}
