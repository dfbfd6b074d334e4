//! Reduces JSON schemas to the subset that Gemini accepts.

use serde_json::{Map, Value};

/// Supported keywords; others make Gemini reject the whole request.
const SUPPORTED: [&str; 22] = [
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

/// A tool's parameters; `None` if there are none, because Gemini rejects an empty object.
pub(super) fn parameters(schema: &Value) -> Option<Value> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let empty = properties.is_none_or(Map::is_empty) && schema.get("$ref").is_none() && schema.get("anyOf").is_none();
    (!empty).then(|| reduce(schema))
}

/// The schema without unsupported keywords, some of which are expressed differently.
pub(super) fn reduce(schema: &Value) -> Value {
    let Value::Object(map) = schema else {
        // `true` and `false` are schemas too: anything, and nothing.
        return schema.clone();
    };
    let mut out = Map::new();
    for (key, value) in map {
        match key.as_str() {
            "properties" | "$defs" => {
                out.insert(key.clone(), reduce_each(value));
            }
            "definitions" => {
                out.insert("$defs".into(), reduce_each(value));
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
                let list = value.as_array().map(|list| list.iter().map(reduce).collect());
                out.insert(key.clone(), Value::Array(list.unwrap_or_default()));
            }
            "items" | "additionalProperties" => {
                out.insert(key.clone(), reduce(value));
            }
            key if SUPPORTED.contains(&key) => {
                out.insert(key.to_string(), value.clone());
            }
            _ => {}
        }
    }
    Value::Object(out)
}

fn reduce_each(value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.iter()
                .map(|(name, schema)| (name.clone(), reduce(schema)))
                .collect(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => value.clone(),
    }
}

/// `allOf` becomes one schema with all the keywords.
fn merge_all(out: &mut Map<String, Value>, list: &Value) {
    for part in list.as_array().into_iter().flatten() {
        let Value::Object(part) = reduce(part) else { continue };
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
    fn unsupported_keywords_are_rewritten_or_removed() {
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
