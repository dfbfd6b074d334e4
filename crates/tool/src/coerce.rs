//! Coerces almost valid tool input to the types in its schema.
//!
//! Models write `"10"` for 10, `"true"` for true, JSON text for a list, a single item for a list of one. Each of these
//! has only one meaning. Other values are left unchanged, so that the error names them.

use serde_json::Value;

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
