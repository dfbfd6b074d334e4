//! Calls in the form that many open models were trained on: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`.
//!
//! They write it whatever they are told, so it is understood beside our own.

use serde_json::{Map, Value};

pub(super) const OPEN: &str = "<tool_call>";
pub(super) const CLOSE: &str = "</tool_call>";

/// The tool and its input; nothing where the text is no such call.
pub(super) fn parse(text: &str) -> Option<(String, Map<String, Value>)> {
    let Ok(Value::Object(mut call)) = model::json::object(text) else {
        return None;
    };
    let name = call.get("name")?.as_str()?.to_owned();
    let input = ["arguments", "parameters", "input"]
        .into_iter()
        .find_map(|key| call.remove(key));
    match input {
        None | Some(Value::Null) => Some((name, Map::new())),
        Some(Value::Object(input)) => Some((name, input)),
        // Some encode it twice.
        Some(Value::String(input)) => match model::json::object(&input).ok()? {
            Value::Object(input) => Some((name, input)),
            _ => None,
        },
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_)) => None,
    }
}
