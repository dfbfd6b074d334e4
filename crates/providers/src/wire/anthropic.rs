//! Anthropic Messages requests. Bedrock and Vertex differ only in the envelope.

mod content;
mod decoder;
mod schema;
mod thinking;

pub(crate) use decoder::AnthropicDecoder;

use super::{BodyWriter, merge, options, write_json};
use crate::prompt_size::{ObjectList, RenderedForm, block_size, quoted_len, text_part_len};
use crate::settings::ProviderSettings;
use crate::wire_cache::{MessageSpan, WireCache};
use bytes::Bytes;
use model::{Breakpoint, Info, Message, Part, Request, Role, ToolChoice, ToolSpec};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The API's maximum number of cache breakpoints.
const MAX_MARKS: usize = 4;
/// The maximum reply if neither the request nor the catalogue has a limit.
const DEFAULT_MAX_TOKENS: u64 = 8_192;
/// The default maximum reply for models that reserve it from the context window.
const RESERVED_MAX_TOKENS: u64 = 32_000;
const MARK: &str = ",\"cache_control\":{\"type\":\"ephemeral\"}";

/// The service, which determines where the model and version are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Envelope {
    Anthropic,
    Bedrock,
    Vertex,
}

pub(crate) fn body(
    request: &Request,
    info: &Info,
    settings: &ProviderSettings,
    cache: &mut WireCache,
    notices: &mut Vec<String>,
) -> Vec<Bytes> {
    render(request, info, settings, cache, notices, Envelope::Anthropic)
}

pub(crate) fn path(_info: &Info, settings: &ProviderSettings) -> String {
    // Base URLs occur with and without the version.
    let versioned = settings.base_url.trim_end_matches('/').ends_with("/v1");
    if versioned {
        "/messages".to_string()
    } else {
        "/v1/messages".to_string()
    }
}

/// The values of the `anthropic-beta` header.
pub(crate) fn betas(request: &Request, info: &Info, settings: &ProviderSettings) -> Vec<String> {
    let mut betas: Vec<String> = thinking::betas(request, info).into_iter().map(str::to_string).collect();
    if let Some(Value::Array(requested)) = options(request, info, settings).get("anthropic_beta") {
        betas.extend(requested.iter().filter_map(Value::as_str).map(str::to_string));
    }
    betas
}

/// The body for any envelope.
pub(crate) fn render(
    request: &Request,
    info: &Info,
    settings: &ProviderSettings,
    cache: &mut WireCache,
    notices: &mut Vec<String>,
    envelope: Envelope,
) -> Vec<Bytes> {
    let marks = marks(request, info);
    let head = head(request, info, settings, envelope);
    let mut pieces = BodyWriter::default();
    let mut text = Vec::with_capacity(1024);
    write_json(&mut text, &head);
    // The head is an object with at least `max_tokens`; the large fields follow inside it.
    text.pop();
    pieces.push_shared(Bytes::from(text));
    if !request.tools.is_empty() && !head.contains_key("tools") {
        pieces.push_raw(",\"tools\":[");
        let form = cache.tools(&request.tools, render_tools);
        share_marked(&mut pieces, form, marks.contains(&Breakpoint::Tools));
        pieces.push_raw("]");
    }
    write_system(&mut pieces, request, info, &marks);
    cache.system(&request.system, || system_bytes(&request.system));
    write_messages(&mut pieces, request, info, &marks, cache, notices);
    pieces.push_raw("}");
    pieces.finish()
}

fn head(request: &Request, info: &Info, settings: &ProviderSettings, envelope: Envelope) -> Map<String, Value> {
    let mut head = Map::new();
    match envelope {
        Envelope::Anthropic => {
            head.insert("model".into(), json!(info.id));
            head.insert("stream".into(), json!(true));
        }
        Envelope::Bedrock => {
            head.insert("anthropic_version".into(), json!("bedrock-2023-05-31"));
        }
        Envelope::Vertex => {
            head.insert("anthropic_version".into(), json!("vertex-2023-10-16"));
            head.insert("stream".into(), json!(true));
        }
    }
    let limit = if info.limits.output > 0 {
        info.limits.output
    } else {
        DEFAULT_MAX_TOKENS
    };
    let max_tokens = match request.max_output {
        Some(requested) => u64::from(requested).min(limit),
        None if thinking::counts_output_as_prompt(info) => limit.min(RESERVED_MAX_TOKENS),
        None => limit,
    };
    head.insert("max_tokens".into(), json!(max_tokens));
    let thinks = thinking::apply(&mut head, request, info, max_tokens);
    if let Some(temperature) = request.temperature
        && thinking::takes_temperature(info, thinks)
    {
        head.insert("temperature".into(), json!(temperature.clamp(0.0, 1.0)));
    }
    if let Some(choice) = tool_choice(request) {
        head.insert("tool_choice".into(), choice);
    }
    if let Some(output) = &request.output_schema
        && schema::is_native(info)
    {
        let format = json!({"type": "json_schema", "schema": schema::strict(&output.schema)});
        merge(
            &mut head,
            &Map::from_iter([("output_config".to_string(), json!({ "format": format }))]),
        );
    }
    let mut extra = options(request, info, settings);
    for own in ["messages", "system"] {
        extra.shift_remove(own);
    }
    match envelope {
        Envelope::Anthropic | Envelope::Vertex => {
            // Here betas are sent in a header.
            extra.shift_remove("anthropic_beta");
        }
        Envelope::Bedrock => {
            let betas = betas(request, info, settings);
            if !betas.is_empty() {
                extra.insert("anthropic_beta".into(), json!(betas));
            }
        }
    }
    merge(&mut head, &extra);
    head
}

fn tool_choice(request: &Request) -> Option<Value> {
    if request.tools.is_empty() {
        return None;
    }
    match &request.tool_choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(json!({"type": "none"})),
        ToolChoice::Required => Some(json!({"type": "any"})),
        ToolChoice::Named(name) => Some(json!({"type": "tool", "name": name})),
    }
}

/// The cache breakpoints to set: the last requested ones, because they cover the earlier ones.
fn marks(request: &Request, info: &Info) -> Vec<Breakpoint> {
    if !info.features.caching {
        return Vec::new();
    }
    let mut marks = request.breakpoints.clone();
    marks.dedup();
    let surplus = marks.len().saturating_sub(MAX_MARKS);
    marks.drain(..surplus);
    marks
}

/// The tools, comma-separated.
fn render_tools(tools: &[ToolSpec]) -> RenderedForm {
    let mut out = ObjectList::default();
    for tool in tools {
        let mut input_schema = tool.input_schema.clone();
        if let Value::Object(map) = &mut input_schema {
            map.entry("type").or_insert_with(|| json!("object"));
        }
        out.push(
            "",
            &json!({"name": tool.name, "description": tool.description, "input_schema": input_schema}),
        );
    }
    out.finish()
}

fn system_bytes(system: &[Arc<str>]) -> u64 {
    let sections = system.iter().filter(|section| !section.trim().is_empty());
    sections
        .map(|section| block_size("", text_part_len(quoted_len(section))))
        .sum()
}

fn write_system(pieces: &mut BodyWriter, request: &Request, info: &Info, marks: &[Breakpoint]) {
    let requested = request.output_schema.as_ref().filter(|_| !schema::is_native(info));
    let instruction = requested.map(|output| schema::instruction(&output.schema));
    let sections = request
        .system
        .iter()
        .map(|section| &**section)
        .chain(instruction.as_deref());
    let mut first = true;
    for (place, section) in sections.enumerate() {
        if section.trim().is_empty() {
            continue;
        }
        pieces.push_raw(if first {
            ",\"system\":[{\"type\":\"text\",\"text\":"
        } else {
            ",{\"type\":\"text\",\"text\":"
        });
        first = false;
        pieces.push_json(&section);
        if marks.contains(&Breakpoint::System(place)) {
            pieces.push_raw(MARK);
        }
        pieces.push_raw("}");
    }
    if !first {
        pieces.push_raw("]");
    }
}

/// The conversation; adjacent messages with the same role become one turn.
fn write_messages(
    pieces: &mut BodyWriter,
    request: &Request,
    info: &Info,
    marks: &[Breakpoint],
    cache: &mut WireCache,
    notices: &mut Vec<String>,
) {
    pieces.push_raw(",\"messages\":[");
    let form = |_: Option<&Bytes>, message: &Message| content::render(message, info, notices);
    let turns = |pieces: &mut BodyWriter, span: &MessageSpan<'_>| write_turns(pieces, span, marks);
    cache.write(pieces, "", &request.messages, marks, form, turns);
    pieces.push_raw("]");
}

fn write_turns(pieces: &mut BodyWriter, span: &MessageSpan<'_>, marks: &[Breakpoint]) {
    let mut spoken: Vec<_> = span.non_empty().collect();
    for turn in spoken.chunk_by_mut(|(_, a, _), (_, b, _)| a.role == b.role) {
        // The API requires tool results before other content of the same turn.
        turn.sort_by_key(|(_, message, _)| !has_results(message));
    }
    let mut open: Option<Role> = None;
    for (place, message, form) in spoken {
        match open {
            Some(role) if role == message.role => pieces.push_raw(","),
            Some(_) | None => {
                if open.is_some() {
                    pieces.push_raw("]},");
                }
                pieces.push_raw(match message.role {
                    Role::User => "{\"role\":\"user\",\"content\":[",
                    Role::Assistant => "{\"role\":\"assistant\",\"content\":[",
                });
                open = Some(message.role);
            }
        }
        let mark = marks.contains(&Breakpoint::Message(place)) && content::takes_mark(message);
        share_marked(pieces, form.clone(), mark);
    }
    if open.is_some() {
        pieces.push_raw("]}");
    }
}

fn has_results(message: &Message) -> bool {
    let parts = &message.parts;
    parts.iter().any(|part| matches!(part, Part::ToolResult { .. }))
}

/// Adds comma-separated objects, with a cache breakpoint on the last one if requested.
fn share_marked(pieces: &mut BodyWriter, form: Bytes, mark: bool) {
    if mark && form.last() == Some(&b'}') {
        pieces.push_shared(form.slice(..form.len() - 1));
        pieces.push_raw(MARK);
        pieces.push_raw("}");
    } else {
        pieces.push_shared(form);
    }
}

#[cfg(test)]
mod tests;
