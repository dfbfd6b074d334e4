//! The tools as text, for models without native tool calls.

use model::ToolSpec;
use serde_json::Value;

/// Renders the tools as a section of the system prompt.
pub(crate) fn tool_catalogue(tools: &[ToolSpec]) -> String {
    let mut text = String::from("# Tools");
    for tool in tools {
        text.push_str(&format!("\n\n## {}\n{}", tool.name, tool.description.trim()));
        let required = required(&tool.input_schema);
        let properties = tool.input_schema["properties"].as_object();
        for (name, schema) in properties.into_iter().flatten() {
            text.push_str(&parameter(name, schema, required.contains(&name.as_str())));
        }
    }
    text
}

fn required(schema: &Value) -> Vec<&str> {
    let names = schema["required"].as_array().into_iter().flatten();
    names.filter_map(Value::as_str).collect()
}

/// Describes a parameter in one line.
fn parameter(name: &str, schema: &Value, required: bool) -> String {
    let mut about = Vec::new();
    if required {
        about.push("required".to_owned());
    }
    match schema["type"].as_str() {
        Some("string") => {}
        Some(simple @ ("integer" | "number" | "boolean")) => about.push(simple.into()),
        Some(_) | None => about.push(format!("JSON, as in {}", shape(schema))),
    }
    if let Some(choices) = schema["enum"].as_array() {
        let choices: Vec<String> = choices
            .iter()
            .map(|choice| choice.as_str().map_or_else(|| choice.to_string(), String::from))
            .collect();
        about.push(format!("one of {}", choices.join(", ")));
    }
    let about = match about.is_empty() {
        true => String::new(),
        false => format!(" ({})", about.join("; ")),
    };
    let meaning = schema["description"]
        .as_str()
        .map(|words| format!(": {}", words.trim()));
    format!("\n- {name}{about}{}", meaning.unwrap_or_default())
}

/// Describes a value by example: shorter than its schema, and closer to what the model must write.
fn shape(schema: &Value) -> String {
    match schema["type"].as_str() {
        Some("array") => format!("[{}]", shape(&schema["items"])),
        Some("object") if schema["properties"].is_object() => {
            let required = required(schema);
            let fields = schema["properties"].as_object().into_iter().flatten();
            let fields: Vec<String> = fields
                .map(|(name, schema)| {
                    let mark = if required.contains(&name.as_str()) { "" } else { "?" };
                    format!("\"{name}\"{mark}: {}", shape(schema))
                })
                .collect();
            format!("{{{}}}", fields.join(", "))
        }
        Some("object") => "{…}".into(),
        Some(simple) => simple.into(),
        // More complex values are described by their schema.
        None if schema.as_object().is_some_and(|object| !object.is_empty()) => schema.to_string(),
        None => "any".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_tool_is_described_in_plain_lines() {
        let tool = ToolSpec {
            name: "edit_file".into(),
            description: "Replaces text.".into(),
            input_schema: json!({"type": "object", "required": ["path"], "properties": {
                "path": {"type": "string", "description": "From the root."},
                "how": {"type": "string", "enum": ["fast", "slow"]},
                "line": {"type": "integer"},
                "more": {"type": "array", "items": {"type": "string"}},
                "edits": {"type": "array", "items": {"type": "object", "required": ["old"], "properties": {
                    "old": {"type": "string"}, "all": {"type": "boolean"}}}, "description": "Further ones."},
                "input": {"type": "object"},
                "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            }}),
        };
        insta::assert_snapshot!(tool_catalogue(&[
            tool.clone(),
            ToolSpec {
                name: "now".into(),
                input_schema: json!({}),
                ..tool
            }
        ]));
    }
}
