//! OpenAI Responses.

mod decoder;
mod event;
mod message_form;

pub(crate) use decoder::ResponsesDecoder;

use super::chat::{fits_strict, max_output, merge_options, openai_effort, path_to, write_open_object, write_tools};
use super::{BodyWriter, sanitize_tool_name};
use crate::presets::{EffortStyle, TemperatureSupport};
use crate::prompt_size::{ObjectList, RenderedForm, block_size, joined_len};
use crate::settings::ProviderSettings;
use crate::wire_cache::{MessageSpan, WireCache};
use bytes::Bytes;
use model::{Info, Message, Request, ToolChoice, ToolSpec};
use serde_json::{Map, Value, json};

/// The request's JSON, in pieces.
pub(crate) fn body(
    request: &Request,
    info: &Info,
    settings: &ProviderSettings,
    cache: &mut WireCache,
    notices: &mut Vec<String>,
) -> Vec<Bytes> {
    let mut fields = fields(request, info, settings);
    merge_options(&mut fields, request, info, settings);
    let extra_tools = fields.shift_remove("tools");
    fields.shift_remove("input");
    let mut pieces = BodyWriter::default();
    write_open_object(&mut pieces, &fields);
    write_tools(&mut pieces, cache.tools(&request.tools, render_tools), extra_tools);
    pieces.push_raw(",\"input\":[");
    if !request.system.is_empty() {
        let sections = request.system.iter().map(|section| &**section);
        cache.system(&request.system, || block_size("", joined_len(sections)));
    }
    let form = |_: Option<&Bytes>, message: &Message| message_form::render(message, info, settings, notices);
    cache.write(&mut pieces, "", &request.messages, &[], form, write_turns);
    pieces.push_raw("]}");
    pieces.finish()
}

fn write_turns(pieces: &mut BodyWriter, span: &MessageSpan<'_>) {
    for (nth, (_, _, form)) in span.non_empty().enumerate() {
        if nth > 0 {
            pieces.push_raw(",");
        }
        pieces.push_shared(form.clone());
    }
}

/// The path below the base URL.
pub(crate) fn path(info: &Info, settings: &ProviderSettings) -> String {
    path_to("responses", &info.id, settings)
}

fn render_tools(tools: &[ToolSpec]) -> RenderedForm {
    let mut out = ObjectList::default();
    for tool in tools {
        let tool = json!({
            "type": "function",
            "name": sanitize_tool_name(&tool.name),
            "description": tool.description,
            "parameters": tool.input_schema,
            "strict": false,
        });
        out.push("", &tool);
    }
    out.finish()
}

/// All fields except tools and input.
fn fields(request: &Request, info: &Info, settings: &ProviderSettings) -> Map<String, Value> {
    let quirks = &settings.quirks;
    let mut fields = Map::new();
    fields.insert("model".into(), json!(info.id));
    fields.insert("stream".into(), json!(true));
    // The server stores nothing: reasoning is returned encrypted and sent with every request.
    fields.insert("store".into(), json!(false));
    if !request.system.is_empty() {
        fields.insert("instructions".into(), json!(request.system.join("\n\n")));
    }
    if info.features.reasoning {
        fields.insert("include".into(), json!(["reasoning.encrypted_content"]));
        let mut reasoning = json!({"summary": "auto"});
        let word = match quirks.effort {
            EffortStyle::Never => None,
            _ => request.effort.and_then(|effort| openai_effort(&info.id, effort)),
        };
        if let Some(word) = word {
            reasoning["effort"] = json!(word);
        }
        fields.insert("reasoning".into(), reasoning);
    }
    if let Some(most) = max_output(request, info) {
        fields.insert("max_output_tokens".into(), json!(most));
    }
    let samples = !info.features.reasoning || quirks.temperature == TemperatureSupport::Always;
    if let Some(temperature) = request.temperature.filter(|_| samples) {
        fields.insert("temperature".into(), json!(temperature));
    }
    if let Some(choice) = tool_choice(&request.tool_choice).filter(|_| !request.tools.is_empty()) {
        fields.insert("tool_choice".into(), choice);
    }
    if let Some(schema) = &request.output_schema {
        let format = json!({
            "type": "json_schema",
            "name": sanitize_tool_name(&schema.name),
            "schema": schema.schema,
            "strict": fits_strict(&schema.schema),
        });
        fields.insert("text".into(), json!({"format": format}));
    }
    if let Some(affinity) = request.affinity.as_ref().filter(|_| quirks.cache_key) {
        fields.insert("prompt_cache_key".into(), json!(affinity));
    }
    fields
}

fn tool_choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(json!("none")),
        ToolChoice::Required => Some(json!("required")),
        ToolChoice::Named(name) => Some(json!({"type": "function", "name": name})),
    }
}

#[cfg(test)]
mod tests;
