//! Calls as JSON: `{"name": …, "arguments": {…}}`, in `<tool_call>` tags or not.
//!
//! Many open models were trained on it and use it regardless of instructions, so it is accepted too.

use super::grammar::CallGrammar;
use super::written::{INPUT_KEYS, NAME_KEYS, WrittenCall};
use serde_json::{Map, Value};

pub(super) const OPEN: &str = "<tool_call>";
pub(super) const CLOSE: &str = "</tool_call>";

/// Returns the tool and its input; `None` if the text is not such a call.
pub(super) fn parse(text: &str) -> Option<(String, Map<String, Value>)> {
    let Ok(Value::Object(call)) = model::json::parse_object(text) else {
        return None;
    };
    let name = call.get("name")?.as_str()?.to_owned();
    let call = with_input(name, call)?;
    Some((call.name, call.input))
}

/// Whether a text ends inside a JSON string.
pub(super) fn ends_in_string(text: &str) -> bool {
    let (mut is_inside, mut is_escaped) = (false, false);
    for letter in text.chars() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if is_inside => is_escaped = true,
            '"' => is_inside = !is_inside,
            _ => {}
        }
    }
    is_inside
}

/// The calls of a value: an object, a list of objects, or an object with such a list.
pub(super) fn calls_in(value: Value, read: &dyn Fn(Map<String, Value>) -> Option<WrittenCall>) -> Vec<WrittenCall> {
    match value {
        Value::Array(list) => {
            let count = list.len();
            let calls: Vec<WrittenCall> = list.into_iter().flat_map(|value| calls_in(value, read)).collect();
            // A list with anything else is data.
            if calls.len() == count { calls } else { Vec::new() }
        }
        Value::Object(mut object) => match object.remove("tool_calls").or_else(|| object.remove("tools")) {
            Some(list @ Value::Array(_)) => calls_in(list, read),
            Some(_) | None => read(object).into_iter().collect(),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

/// Reads an object as a call. Its keys are those of any common format, and nothing but a call has them.
pub(super) fn call_object(mut object: Map<String, Value>, grammar: &CallGrammar) -> Option<WrittenCall> {
    let function = object.get("function").or_else(|| object.get("function_call"));
    if let Some(Value::Object(function)) = function {
        return call_object(function.clone(), grammar);
    }
    let name = NAME_KEYS.iter().find_map(|key| match object.get(*key) {
        Some(Value::String(name)) => Some((*key, name.clone())),
        Some(_) | None => None,
    });
    let Some((key, name)) = name else {
        // `{"read_file": {"path": …}}`
        let mut entries = object.into_iter();
        return match (entries.next(), entries.next()) {
            (Some((name, Value::Object(input))), None) if grammar.names_tool(&name) => {
                Some(WrittenCall { name, input })
            }
            _ => None,
        };
    };
    if INPUT_KEYS.iter().any(|key| object.contains_key(*key)) {
        return with_input(name, object);
    }
    // `{"name": "read_file", "path": …}`
    object.remove(key);
    let is_input = grammar.names_tool(&name) && object.keys().all(|key| grammar.has_parameter(&name, key));
    is_input.then_some(WrittenCall { name, input: object })
}

fn with_input(name: String, mut object: Map<String, Value>) -> Option<WrittenCall> {
    let input = INPUT_KEYS.iter().find_map(|key| object.remove(*key));
    match input {
        None | Some(Value::Null) => Some(WrittenCall {
            name,
            input: Map::new(),
        }),
        Some(Value::Object(input)) => Some(WrittenCall { name, input }),
        // Some models encode the input twice.
        Some(Value::String(input)) => match model::json::parse_object(&input).ok()? {
            Value::Object(input) => Some(WrittenCall { name, input }),
            _ => None,
        },
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_)) => None,
    }
}
