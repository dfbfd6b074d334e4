//! Rewrites the arguments of other agents' tools.

use serde_json::{Map, Value};

/// Renames the first of these arguments that is given, unless `to` is given as well.
pub(crate) fn rename(input: &mut Map<String, Value>, from: &[&str], to: &str) {
    for name in from {
        if let Some(value) = input.remove(*name)
            && !is_empty(&value)
            && !input.contains_key(to)
        {
            input.insert(to.to_owned(), value);
        }
    }
}

/// Whether a value stands for an absent argument.
pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// A text argument that is not empty.
pub(crate) fn text<'a>(input: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    input.get(name)?.as_str().filter(|text| !text.is_empty())
}

/// A number, also as text.
pub(crate) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A truth value, also as text.
pub(crate) fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(value) => Some(*value),
        Value::String(text) => text.trim().to_ascii_lowercase().parse().ok(),
        Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The objects in a list argument, also if the list is JSON text.
pub(crate) fn objects(value: Option<&Value>) -> Vec<Map<String, Value>> {
    let parsed = match value {
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_default(),
        Some(value) => value.clone(),
        None => Value::Null,
    };
    match parsed {
        Value::Array(items) => items.into_iter().filter_map(object).collect(),
        Value::Object(only) => vec![only],
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

fn object(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(object) => Some(object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
    }
}

/// The number in an identifier such as `7`, `job 7`, `bash_7` or `C7`.
pub(crate) fn id_number(text: &str) -> Option<usize> {
    let digits = text.trim().trim_start_matches(|letter: char| !letter.is_ascii_digit());
    digits.parse().ok()
}
