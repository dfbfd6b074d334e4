//! OpenAI Responses.

mod decode;
mod form;
mod frame;

pub(crate) use decode::Decoder;

use super::chat::{fits_strict, lay_options, max_output, open, openai_effort, path_to, tools};
use super::{Pieces, tool_name};
use crate::kept::{Kept, Span};
use crate::length::{Objects, Rendered, block, joined};
use crate::presets::{EffortStyle, Temperature};
use crate::settings::Settings;
use bytes::Bytes;
use model::{Info, Message, Request, ToolChoice, ToolSpec};
use serde_json::{Map, Value, json};

/// The request's JSON, in pieces.
pub(crate) fn body(
    request: &Request,
    info: &Info,
    settings: &Settings,
    kept: &mut Kept,
    notices: &mut Vec<String>,
) -> Vec<Bytes> {
    let mut fields = fields(request, info, settings);
    lay_options(&mut fields, request, info, settings);
    let extra_tools = fields.shift_remove("tools");
    fields.shift_remove("input");
    let mut pieces = Pieces::default();
    open(&mut pieces, &fields);
    tools(&mut pieces, kept.tools(&request.tools, render_tools), extra_tools);
    pieces.text(",\"input\":[");
    if !request.system.is_empty() {
        let sections = request.system.iter().map(|section| &**section);
        kept.system(&request.system, || block("", joined(sections)));
    }
    let form = |_: Option<&Bytes>, message: &Message| form::render(message, info, settings, notices);
    kept.write(&mut pieces, "", &request.messages, &[], form, turns);
    pieces.text("]}");
    pieces.finish()
}

fn turns(pieces: &mut Pieces, span: &Span<'_>) {
    for (nth, (_, _, form)) in span.spoken().enumerate() {
        if nth > 0 {
            pieces.text(",");
        }
        pieces.share(form.clone());
    }
}

/// The path below the base URL.
pub(crate) fn path(info: &Info, settings: &Settings) -> String {
    path_to("responses", &info.id, settings)
}

fn render_tools(tools: &[ToolSpec]) -> Rendered {
    let mut out = Objects::default();
    for tool in tools {
        let tool = json!({
            "type": "function",
            "name": tool_name(&tool.name),
            "description": tool.description,
            "parameters": tool.input_schema,
            "strict": false,
        });
        out.push("", &tool);
    }
    out.finish()
}

/// Everything but tools and input.
fn fields(request: &Request, info: &Info, settings: &Settings) -> Map<String, Value> {
    let quirks = &settings.quirks;
    let mut fields = Map::new();
    fields.insert("model".into(), json!(info.id));
    fields.insert("stream".into(), json!(true));
    // Nothing stays on the server: thinking comes back encrypted and is sent along with every request.
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
    let samples = !info.features.reasoning || quirks.temperature == Temperature::Always;
    if let Some(temperature) = request.temperature.filter(|_| samples) {
        fields.insert("temperature".into(), json!(temperature));
    }
    if let Some(choice) = tool_choice(&request.tool_choice).filter(|_| !request.tools.is_empty()) {
        fields.insert("tool_choice".into(), choice);
    }
    if let Some(schema) = &request.output_schema {
        let format = json!({
            "type": "json_schema",
            "name": tool_name(&schema.name),
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
