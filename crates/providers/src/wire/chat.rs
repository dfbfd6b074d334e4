//! OpenAI Chat Completions and compatible servers.

mod chunk;
mod decoder;
mod effort;
mod media;
mod message_form;
mod messages;
mod reasoning_details;
mod think_tags;
mod tool_calls;
mod usage;

pub(crate) use chunk::LooseText;
pub(crate) use decoder::ChatDecoder;
pub(crate) use effort::openai_effort;
pub(crate) use media::{MediaSupport, data_url, media_support};
pub(crate) use tool_calls::{CUT_INPUT, unique_id};

use super::{BodyWriter, merge, sanitize_tool_name, write_json};
use crate::presets::{
    EffortStyle, MaxTokensField, PathLayout, Quirks, SchemaStyle, TemperatureSupport, ToolChoiceStyle, UsageRequest,
};
use crate::prompt_size::{ObjectList, RenderedForm};
use crate::settings::ProviderSettings;
use crate::wire_cache::WireCache;
use bytes::Bytes;
use model::{Effort, Info, OutputSchema, Request, ToolChoice, ToolSpec};
use serde_json::{Map, Value, json};

/// The request's JSON, in pieces.
pub(crate) fn body(
    request: &Request,
    info: &Info,
    settings: &ProviderSettings,
    cache: &mut WireCache,
    notices: &mut Vec<String>,
) -> Vec<Bytes> {
    let mut fields = fields(request, info, &settings.quirks);
    merge_options(&mut fields, request, info, settings);
    let extra_tools = fields.shift_remove("tools");
    fields.shift_remove("messages");
    let mut pieces = BodyWriter::default();
    write_open_object(&mut pieces, &fields);
    let offered = match (&request.tool_choice, settings.quirks.tool_choice) {
        (ToolChoice::None, ToolChoiceStyle::AutoOnly) => Bytes::new(),
        _ => cache.tools(&request.tools, render_tools),
    };
    write_tools(&mut pieces, offered, extra_tools);
    pieces.push_raw(",\"messages\":[");
    messages::write(&mut pieces, request, info, settings, cache, notices);
    pieces.push_raw("]}");
    pieces.finish()
}

/// The path below the base URL.
pub(crate) fn path(info: &Info, settings: &ProviderSettings) -> String {
    path_to("chat/completions", &info.id, settings)
}

/// The path of one of OpenAI's endpoints below the base URL.
pub(crate) fn path_to(endpoint: &str, model: &str, settings: &ProviderSettings) -> String {
    let base = settings.base_url.trim_end_matches('/');
    match (settings.quirks.paths, &settings.quirks.api_version) {
        (PathLayout::Openai, _) if names_no_path(base) => format!("/v1/{endpoint}"),
        (PathLayout::Openai, _) => format!("/{endpoint}"),
        (PathLayout::Azure, None) if base.ends_with("/v1") => format!("/{endpoint}"),
        (PathLayout::Azure, None) if base.ends_with("/openai") => format!("/v1/{endpoint}"),
        (PathLayout::Azure, None) => format!("/openai/v1/{endpoint}"),
        (PathLayout::Azure, Some(version)) => {
            let openai = if base.contains("/openai") { "" } else { "/openai" };
            let deployment = match endpoint {
                // Only this endpoint is below a deployment; the others have the model in the body.
                "chat/completions" if !base.contains("/deployments/") => format!("/deployments/{model}"),
                _ => String::new(),
            };
            format!("{openai}{deployment}/{endpoint}?api-version={version}")
        }
    }
}

/// Whether an address has no path.
fn names_no_path(base: &str) -> bool {
    base.split_once("://").is_some_and(|(_, rest)| !rest.contains('/'))
}

/// Merges the options into a body's fields, catalogue < provider < model < call; `null` removes a field.
pub(crate) fn merge_options(
    fields: &mut Map<String, Value>,
    request: &Request,
    info: &Info,
    settings: &ProviderSettings,
) {
    for layer in [
        &info.options,
        &settings.options,
        &settings.model_options,
        &request.options,
    ] {
        merge(fields, layer);
    }
}

/// Writes an object's fields and leaves it open for more.
pub(crate) fn write_open_object(pieces: &mut BodyWriter, fields: &Map<String, Value>) {
    let mut text = Vec::new();
    write_json(&mut text, fields);
    text.pop();
    pieces.push_shared(Bytes::from(text));
}

/// Adds the tools to an open object: hew's own, then those from the options.
pub(crate) fn write_tools(pieces: &mut BodyWriter, own: Bytes, extra: Option<Value>) {
    let extra = match extra {
        Some(Value::Array(tools)) => tools,
        Some(_) | None => Vec::new(),
    };
    if own.is_empty() && extra.is_empty() {
        return;
    }
    pieces.push_raw(",\"tools\":[");
    let mut first = own.is_empty();
    pieces.push_shared(own);
    for tool in &extra {
        if !std::mem::take(&mut first) {
            pieces.push_raw(",");
        }
        pieces.push_json(tool);
    }
    pieces.push_raw("]");
}

fn render_tools(tools: &[ToolSpec]) -> RenderedForm {
    let mut out = ObjectList::default();
    for tool in tools {
        let function = json!({
            "name": sanitize_tool_name(&tool.name),
            "description": tool.description,
            "parameters": tool.input_schema,
        });
        out.push("", &json!({"type": "function", "function": function}));
    }
    out.finish()
}

/// All fields except tools and messages.
fn fields(request: &Request, info: &Info, quirks: &Quirks) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("model".into(), json!(info.id));
    fields.insert("stream".into(), json!(true));
    match quirks.usage {
        UsageRequest::StreamOptions => {
            fields.insert("stream_options".into(), json!({"include_usage": true}));
        }
        UsageRequest::WithCost => {
            fields.insert("stream_options".into(), json!({"include_usage": true}));
            fields.insert("usage".into(), json!({"include": true}));
        }
        UsageRequest::Omitted => {}
    }
    let limit = Some(info.limits.output).filter(|limit| *limit > 0 && quirks.limit_output);
    if let Some(most) = max_output(request, info).or(limit) {
        let field = match quirks.max_tokens {
            MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
            MaxTokensField::MaxTokens => "max_tokens",
        };
        fields.insert(field.into(), json!(most));
    }
    let samples = match quirks.temperature {
        TemperatureSupport::Always => true,
        TemperatureSupport::UnlessReasoning => !info.features.reasoning,
    };
    if let Some(temperature) = request.temperature.filter(|_| samples) {
        fields.insert("temperature".into(), json!(temperature));
    }
    if quirks.tool_stream && !request.tools.is_empty() {
        fields.insert("tool_stream".into(), json!(true));
    }
    if !request.tools.is_empty()
        && let Some(choice) = tool_choice(&request.tool_choice, quirks.tool_choice)
    {
        fields.insert("tool_choice".into(), choice);
    }
    if let Some(schema) = &request.output_schema {
        fields.insert("response_format".into(), response_format(schema, quirks.schema));
    }
    if let Some(affinity) = request.affinity.as_ref().filter(|_| quirks.cache_key) {
        fields.insert("prompt_cache_key".into(), json!(affinity));
    }
    if info.features.reasoning {
        merge(&mut fields, &effort_fields(request.effort, &info.id, quirks.effort));
    }
    fields
}

/// The maximum reply to request, limited to the model's maximum.
pub(crate) fn max_output(request: &Request, info: &Info) -> Option<u64> {
    let limit = Some(info.limits.output).filter(|limit| *limit > 0);
    let requested = request.max_output.map(u64::from);
    match (requested, limit) {
        (Some(requested), Some(limit)) => Some(requested.min(limit)),
        (requested, _) => requested,
    }
}

fn tool_choice(choice: &ToolChoice, style: ToolChoiceStyle) -> Option<Value> {
    match (choice, style) {
        (ToolChoice::Auto, _) | (_, ToolChoiceStyle::AutoOnly) => None,
        (ToolChoice::None, _) => Some(json!("none")),
        (ToolChoice::Required | ToolChoice::Named(_), ToolChoiceStyle::Unforced) => None,
        (ToolChoice::Required, ToolChoiceStyle::Any) => Some(json!("any")),
        (ToolChoice::Required, ToolChoiceStyle::Openai) => Some(json!("required")),
        (ToolChoice::Named(name), ToolChoiceStyle::Openai | ToolChoiceStyle::Any) => {
            Some(json!({"type": "function", "function": {"name": name}}))
        }
    }
}

fn response_format(schema: &OutputSchema, style: SchemaStyle) -> Value {
    match style {
        SchemaStyle::JsonObject => json!({"type": "json_object"}),
        SchemaStyle::JsonSchema => json!({
            "type": "json_schema",
            "json_schema": {
                "name": sanitize_tool_name(&schema.name),
                "schema": schema.schema,
                "strict": fits_strict(&schema.schema),
            },
        }),
    }
}

/// Whether a schema can be enforced strictly: every object lists all properties as required and allows no others.
pub(crate) fn fits_strict(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => {
            let closed = match map.get("properties") {
                Some(Value::Object(properties)) => {
                    let required = map.get("required").and_then(Value::as_array);
                    map.get("additionalProperties") == Some(&Value::Bool(false))
                        && properties
                            .keys()
                            .all(|key| required.is_some_and(|names| names.iter().any(|name| name == key)))
                }
                Some(_) | None => map.get("type") != Some(&json!("object")),
            };
            closed && map.values().all(fits_strict)
        }
        Value::Array(items) => items.iter().all(fits_strict),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// The fields for the reasoning effort.
fn effort_fields(effort: Option<Effort>, id: &str, style: EffortStyle) -> Map<String, Value> {
    let on = effort != Some(Effort::None);
    let value = match style {
        EffortStyle::Zai if on => json!({
            "thinking": {"type": "enabled", "clear_thinking": false},
            "reasoning_effort": effort.and_then(|effort| effort::zai(id, effort)),
        }),
        EffortStyle::Zai => json!({"thinking": {"type": "disabled"}}),
        _ => match effort {
            Some(effort) => effort_value(effort, id, style),
            None => json!({}),
        },
    };
    match value {
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

fn effort_value(effort: Effort, id: &str, style: EffortStyle) -> Value {
    let on = effort != Effort::None;
    match style {
        // A missing value is `null`, and `null` removes the field.
        EffortStyle::Openai => json!({"reasoning_effort": openai_effort(id, effort)}),
        EffortStyle::ThreeSteps => json!({"reasoning_effort": effort::three_steps(effort)}),
        EffortStyle::GptOss if !id.contains("gpt-oss") => json!({}),
        EffortStyle::GptOss => json!({"reasoning_effort": effort::three_steps(effort)}),
        EffortStyle::OnOff => json!({"reasoning_effort": if on { "high" } else { "none" }}),
        EffortStyle::Xai => json!({"reasoning_effort": effort::xai(id, effort)}),
        EffortStyle::Reasoning => json!({"reasoning": {"effort": effort::gateway(effort)}}),
        EffortStyle::Thinking => json!({"thinking": {"type": if on { "enabled" } else { "disabled" }}}),
        EffortStyle::Deepseek if on => {
            json!({"thinking": {"type": "enabled"}, "reasoning_effort": effort::deepseek(effort)})
        }
        EffortStyle::Deepseek => json!({"thinking": {"type": "disabled"}}),
        EffortStyle::Zai | EffortStyle::Never => json!({}),
    }
}

#[cfg(test)]
mod tests;
