//! Calls in the syntax that many open models were trained on: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`.
//!
//! They use it regardless of instructions, so it is accepted too.

use serde_json::{Map, Value};

pub(super) const OPEN: &str = "<tool_call>";
pub(super) const CLOSE: &str = "</tool_call>";

/// Returns the tool and its input; `None` if the text is not such a call.
pub(super) fn parse(text: &str) -> Option<(String, Map<String, Value>)> {
    let Ok(Value::Object(mut call)) = model::json::parse_object(text) else {
        return None;
    };
    let name = call.get("name")?.as_str()?.to_owned();
    let input = ["arguments", "parameters", "input"]
        .into_iter()
        .find_map(|key| call.remove(key));
    match input {
        None | Some(Value::Null) => Some((name, Map::new())),
        Some(Value::Object(input)) => Some((name, input)),
        // Some models encode the input twice.
        Some(Value::String(input)) => match model::json::parse_object(&input).ok()? {
            Value::Object(input) => Some((name, input)),
            _ => None,
        },
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_)) => None,
    }
}
