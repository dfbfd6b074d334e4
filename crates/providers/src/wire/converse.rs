//! Bedrock Converse: one format for all models on Amazon Bedrock. Anthropic's models use their own format there.

mod decoder;
mod message_form;

pub(crate) use decoder::{ConverseDecoder, event};

use super::BodyWriter;
use super::bedrock::encode;
use super::chat::{max_output, merge_options, write_open_object};
use crate::prompt_size::{ObjectList, RenderedForm, block_size, quoted_len};
use crate::settings::ProviderSettings;
use crate::wire::sanitize_tool_name;
use crate::wire_cache::{MessageSpan, WireCache};
use bytes::Bytes;
use model::{Effort, Info, Message, Request, ToolChoice, ToolSpec};
use serde_json::{Map, Value, json};

/// The request's JSON, in pieces.
pub(crate) fn body(
    request: &Request,
    info: &Info,
    settings: &ProviderSettings,
    cache: &mut WireCache,
    notices: &mut Vec<String>,
) -> Vec<Bytes> {
    let mut fields = fields(request, info);
    merge_options(&mut fields, request, info, settings);
    fields.shift_remove("messages");
    let mut pieces = BodyWriter::default();
    write_open_object(&mut pieces, &fields);
    let tools = cache.tools(&request.tools, render_tools);
    if !tools.is_empty() {
        pieces.push_raw(",\"toolConfig\":{\"tools\":[");
        pieces.push_shared(tools);
        pieces.push_raw("]");
        if let Some(choice) = tool_choice(&request.tool_choice) {
            pieces.push_raw(&format!(",\"toolChoice\":{choice}"));
        }
        pieces.push_raw("}");
    }
    pieces.push_raw(",\"messages\":[");
    cache.system(&request.system, || {
        let parts = request
            .system
            .iter()
            .map(|section| r#"{"text":}"#.len() + quoted_len(section));
        parts.map(|part| block_size("", part)).sum()
    });
    let form = |_: Option<&Bytes>, message: &Message| message_form::render(message, info, notices);
    cache.write(&mut pieces, "", &request.messages, &[], form, write_turns);
    pieces.push_raw("]}");
    pieces.finish()
}

/// The path below the base URL.
pub(crate) fn path(info: &Info, _settings: &ProviderSettings) -> String {
    format!("/model/{}/converse-stream", encode(&info.id))
}

fn write_turns(pieces: &mut BodyWriter, span: &MessageSpan<'_>) {
    span.write_alternating(pieces, "assistant", "content");
}

fn render_tools(tools: &[ToolSpec]) -> RenderedForm {
    let mut list = ObjectList::default();
    for tool in tools {
        let name = sanitize_tool_name(&tool.name);
        let description = match tool.description.trim().is_empty() {
            // An empty description is rejected.
            true => name.as_ref(),
            false => tool.description.as_str(),
        };
        let spec = json!({"name": name, "description": description, "inputSchema": {"json": tool.input_schema}});
        list.push("", &json!({"toolSpec": spec}));
    }
    list.finish()
}

/// All fields except tools and messages. Never empty, so that more fields can follow.
fn fields(request: &Request, info: &Info) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut sections: Vec<Value> = request.system.iter().map(|section| json!({"text": section})).collect();
    if let Some(schema) = &request.output_schema {
        let text = format!(
            "Reply with one JSON object that follows this schema:\n{}",
            schema.schema
        );
        sections.push(json!({"text": text}));
    }
    if !sections.is_empty() {
        fields.insert("system".into(), Value::Array(sections));
    }
    let mut config = Map::new();
    if let Some(most) = max_output(request, info) {
        config.insert("maxTokens".into(), json!(most));
    }
    if let Some(temperature) = request.temperature {
        config.insert("temperature".into(), json!(temperature));
    }
    fields.insert("inferenceConfig".into(), Value::Object(config));
    if let Some(extra) = reasoning(info, request.effort) {
        fields.insert("additionalModelRequestFields".into(), extra);
    }
    fields
}

/// The reasoning effort in the field that the model's vendor defines.
fn reasoning(info: &Info, effort: Option<Effort>) -> Option<Value> {
    let effort = effort.filter(|_| info.features.reasoning)?;
    let level = match effort {
        Effort::None | Effort::Minimal | Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High | Effort::Max => "high",
    };
    if info.id.contains("amazon.nova-2") {
        return Some(match effort {
            Effort::None => json!({"reasoningConfig": {"type": "disabled"}}),
            _ => json!({"reasoningConfig": {"type": "enabled", "maxReasoningEffort": level}}),
        });
    }
    info.id.contains("openai.").then(|| json!({"reasoning_effort": level}))
}

/// The choice; without the field the model decides. There is none that forbids calls.
fn tool_choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::Auto | ToolChoice::None => None,
        ToolChoice::Required => Some(json!({"any": {}})),
        ToolChoice::Named(name) => Some(json!({"tool": {"name": name}})),
    }
}

#[cfg(test)]
mod tests;
