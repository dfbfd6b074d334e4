//! Coerces almost valid tool input to the types in its schema.
//!
//! Models write `"10"` for 10, `"true"` for true, JSON text for a list, a single item for a list of one. Each of these
//! has only one meaning. Other values are left unchanged, so that the error names them.

use serde_json::{Map, Value};

/// Arguments that are lists or objects in the tools of all agents.
const STRUCTURED: &[&str] = &[
    "action",
    "args",
    "cell_ids",
    "cells",
    "choices",
    "cmd",
    "command",
    "descriptions",
    "edits",
    "entries",
    "exclude",
    "file",
    "file_path",
    "filePath",
    "filePaths",
    "files",
    "follow_up",
    "ids",
    "ignore",
    "include",
    "items",
    "line_ranges",
    "memories",
    "open",
    "operations",
    "options",
    "path",
    "paths",
    "plan",
    "questions",
    "replacements",
    "suggestions",
    "symbol",
    "task",
    "tasks",
    "todoList",
    "todo_list",
    "todos",
    "updates",
    "urls",
    "view_range",
];

/// Those of them that are lists of numbers.
const RANGES: &[&str] = &["line_ranges", "view_range"];

/// Removes arguments that are null, and parses lists and objects that are written as JSON text.
pub(crate) fn prepare(input: &mut Map<String, Value>) {
    input.retain(|_, value| !value.is_null());
    for (name, value) in input.iter_mut() {
        if let Value::String(text) = value
            && STRUCTURED.contains(&name.as_str())
            && text.trim_start().starts_with(['[', '{'])
            && let Ok(parsed) = serde_json::from_str(text)
            && (is_structured(&parsed) || RANGES.contains(&name.as_str()))
        {
            *value = parsed;
        }
    }
}

/// Whether a value is an object or a list of more than numbers. `[1,2]` may be a glob.
fn is_structured(value: &Value) -> bool {
    match value {
        Value::Object(_) => true,
        Value::Array(items) => items.is_empty() || items.iter().any(|item| !item.is_number()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Returns the value, coerced to the schema's types.
pub(crate) fn coerce(value: Value, schema: &Value) -> Value {
    let wanted = schema.get("type").and_then(Value::as_str);
    match (wanted, value) {
        (Some("object"), Value::Object(mut object)) => {
            if let Some(Value::Object(properties)) = schema.get("properties") {
                object.retain(|key, value| !value.is_null() || !properties.contains_key(key));
                for (key, schema) in properties {
                    if let Some(value) = object.get_mut(key) {
                        *value = coerce(value.take(), schema);
                    }
                }
            }
            Value::Object(object)
        }
        (Some("array"), Value::Array(items)) => {
            let item = schema.get("items").unwrap_or(&Value::Null);
            Value::Array(items.into_iter().map(|value| coerce(value, item)).collect())
        }
        (Some("array" | "object"), Value::String(text)) => match serde_json::from_str::<Value>(&text) {
            Ok(inner @ (Value::Array(_) | Value::Object(_))) => coerce(inner, schema),
            Ok(_) | Err(_) if wanted == Some("array") && text.trim().is_empty() => Value::Array(Vec::new()),
            // Malformed JSON was meant to be more than one item.
            Ok(_) | Err(_) if wanted == Some("array") && !text.trim_start().starts_with(['[', '{']) => {
                Value::Array(vec![Value::String(text)])
            }
            Ok(_) | Err(_) => Value::String(text),
        },
        (Some("array"), single @ Value::Object(_)) => coerce(Value::Array(vec![single]), schema),
        (Some("integer" | "number"), Value::String(text)) => {
            text.trim().parse().map(Value::Number).unwrap_or(Value::String(text))
        }
        (Some("integer"), Value::Number(number)) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15 => Value::from(float as i64),
            Some(_) | None => Value::Number(number),
        },
        (Some("boolean"), Value::String(text)) => match text.trim() {
            "true" | "True" => Value::Bool(true),
            "false" | "False" => Value::Bool(false),
            _ => Value::String(text),
        },
        (Some("string"), Value::Number(number)) => Value::String(number.to_string()),
        (_, value) => value,
    }
}

/// Removes empty optional arguments, which mean that they are absent. Text to insert may be empty.
pub(crate) fn without_empty(mut value: Value, schema: &Value) -> Value {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |key: &str| required.is_some_and(|names| names.iter().any(|name| name == key));
    let is_text = |key: &str| {
        ["new", "old", "content", "replace", "text"]
            .iter()
            .any(|start| key.starts_with(start))
    };
    if let Value::Object(object) = &mut value {
        object.retain(|key, value| {
            let is_empty = match value {
                Value::Null => true,
                Value::String(text) => text.is_empty(),
                Value::Array(items) => items.is_empty(),
                Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
            };
            !is_empty || is_required(key) || is_text(key)
        });
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_and_objects_as_json_text_are_parsed_but_text_stays_text() {
        for (given, prepared) in [
            (
                json!({"paths": "[\"a\", \"b\"]", "limit": null}),
                json!({"paths": ["a", "b"]}),
            ),
            (
                json!({"task": "{\"command\": \"ls\"}"}),
                json!({"task": {"command": "ls"}}),
            ),
            (json!({"view_range": "[1, 3]"}), json!({"view_range": [1, 3]})),
            (json!({"ignore": "[]"}), json!({"ignore": []})),
            (json!({"include": "[1,2]"}), json!({"include": "[1,2]"})),
            (json!({"todos": "[x] done"}), json!({"todos": "[x] done"})),
            (json!({"content": "[\"a\"]"}), json!({"content": "[\"a\"]"})),
            (
                json!({"old_text": "{}", "command": "[ -f x ]"}),
                json!({"old_text": "{}", "command": "[ -f x ]"}),
            ),
        ] {
            let mut input = given.as_object().cloned().unwrap_or_default();
            prepare(&mut input);
            assert_eq!(Value::Object(input), prepared);
        }
    }
}
