//! Anthropic Messages: the request, whoever serves it. Bedrock and Vertex differ only in the envelope.

mod content;
mod decoder;
mod schema;
mod thinking;

pub(crate) use decoder::Decoder;

use super::{Pieces, merge, options, write_json};
use crate::kept::{Kept, Span};
use crate::length::{Objects, Rendered, block, quoted, text_part};
use crate::settings::Settings;
use bytes::Bytes;
use model::{Breakpoint, Info, Message, Part, Request, Role, ToolChoice, ToolSpec};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The API takes no more cache marks than this.
const MOST_MARKS: usize = 4;
/// The longest reply where neither the caller nor the catalogue knows a limit.
const UNKNOWN_OUTPUT: u64 = 8_192;
/// The longest reply by default where room for it is taken from the window beforehand.
const MODEST_OUTPUT: u64 = 32_000;
const MARK: &str = ",\"cache_control\":{\"type\":\"ephemeral\"}";

/// Who serves the model, and with that where its name and version stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Envelope {
    Anthropic,
    Bedrock,
    Vertex,
}

pub(crate) fn body(
    request: &Request,
    info: &Info,
    settings: &Settings,
    kept: &mut Kept,
    notices: &mut Vec<String>,
) -> Vec<Bytes> {
    render(request, info, settings, kept, notices, Envelope::Anthropic)
}

pub(crate) fn path(_info: &Info, settings: &Settings) -> String {
    // People write the base URL with and without the version.
    let versioned = settings.base_url.trim_end_matches('/').ends_with("/v1");
    if versioned {
        "/messages".to_string()
    } else {
        "/v1/messages".to_string()
    }
}

/// The betas to ask for in the `anthropic-beta` header.
pub(crate) fn betas(request: &Request, info: &Info, settings: &Settings) -> Vec<String> {
    let mut betas: Vec<String> = thinking::betas(request, info).into_iter().map(str::to_string).collect();
    if let Some(Value::Array(asked)) = options(request, info, settings).get("anthropic_beta") {
        betas.extend(asked.iter().filter_map(Value::as_str).map(str::to_string));
    }
    betas
}

/// The body for any envelope.
pub(crate) fn render(
    request: &Request,
    info: &Info,
    settings: &Settings,
    kept: &mut Kept,
    notices: &mut Vec<String>,
    envelope: Envelope,
) -> Vec<Bytes> {
    let marks = marks(request, info);
    let head = head(request, info, settings, envelope);
    let mut pieces = Pieces::default();
    let mut text = Vec::with_capacity(1024);
    write_json(&mut text, &head);
    // The head is an object with at least `max_tokens`; the large fields follow inside it.
    text.pop();
    pieces.share(Bytes::from(text));
    if !request.tools.is_empty() && !head.contains_key("tools") {
        pieces.text(",\"tools\":[");
        let form = kept.tools(&request.tools, tools);
        share_marked(&mut pieces, form, marks.contains(&Breakpoint::Tools));
        pieces.text("]");
    }
    system(&mut pieces, request, info, &marks);
    kept.system(&request.system, || system_bytes(&request.system));
    messages(&mut pieces, request, info, &marks, kept, notices);
    pieces.text("}");
    pieces.finish()
}

fn head(request: &Request, info: &Info, settings: &Settings, envelope: Envelope) -> Map<String, Value> {
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
        UNKNOWN_OUTPUT
    };
    let max_tokens = match request.max_output {
        Some(asked) => u64::from(asked).min(limit),
        None if thinking::counts_output_as_prompt(info) => limit.min(MODEST_OUTPUT),
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
            // Betas travel in a header here.
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

/// The cache marks that will be set: the last few that were asked for, because they cover the earlier ones.
fn marks(request: &Request, info: &Info) -> Vec<Breakpoint> {
    if !info.features.caching {
        return Vec::new();
    }
    let mut marks = request.breakpoints.clone();
    marks.dedup();
    let surplus = marks.len().saturating_sub(MOST_MARKS);
    marks.drain(..surplus);
    marks
}

/// The tools, comma-joined.
fn tools(tools: &[ToolSpec]) -> Rendered {
    let mut out = Objects::default();
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
    let said = system.iter().filter(|section| !section.trim().is_empty());
    said.map(|section| block("", text_part(quoted(section)))).sum()
}

fn system(pieces: &mut Pieces, request: &Request, info: &Info, marks: &[Breakpoint]) {
    let asked = request.output_schema.as_ref().filter(|_| !schema::is_native(info));
    let instruction = asked.map(|output| schema::instruction(&output.schema));
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
        pieces.text(if first {
            ",\"system\":[{\"type\":\"text\",\"text\":"
        } else {
            ",{\"type\":\"text\",\"text\":"
        });
        first = false;
        pieces.json(&section);
        if marks.contains(&Breakpoint::System(place)) {
            pieces.text(MARK);
        }
        pieces.text("}");
    }
    if !first {
        pieces.text("]");
    }
}

/// The conversation; neighbours of one role become one turn.
fn messages(
    pieces: &mut Pieces,
    request: &Request,
    info: &Info,
    marks: &[Breakpoint],
    kept: &mut Kept,
    notices: &mut Vec<String>,
) {
    pieces.text(",\"messages\":[");
    let form = |_: Option<&Bytes>, message: &Message| content::render(message, info, notices);
    let turns = |pieces: &mut Pieces, span: &Span<'_>| turns(pieces, span, marks);
    kept.write(pieces, "", &request.messages, marks, form, turns);
    pieces.text("]");
}

fn turns(pieces: &mut Pieces, span: &Span<'_>, marks: &[Breakpoint]) {
    let mut spoken: Vec<_> = span.spoken().collect();
    for turn in spoken.chunk_by_mut(|(_, a, _), (_, b, _)| a.role == b.role) {
        // The API wants the results of calls before anything else that the person says in the same turn.
        turn.sort_by_key(|(_, message, _)| !has_results(message));
    }
    let mut open: Option<Role> = None;
    for (place, message, form) in spoken {
        match open {
            Some(role) if role == message.role => pieces.text(","),
            Some(_) | None => {
                if open.is_some() {
                    pieces.text("]},");
                }
                pieces.text(match message.role {
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
        pieces.text("]}");
    }
}

fn has_results(message: &Message) -> bool {
    let parts = &message.parts;
    parts.iter().any(|part| matches!(part, Part::ToolResult { .. }))
}

/// Adds comma-joined objects, with a cache mark in the last of them where asked.
fn share_marked(pieces: &mut Pieces, form: Bytes, mark: bool) {
    if mark && form.last() == Some(&b'}') {
        pieces.share(form.slice(..form.len() - 1));
        pieces.text(MARK);
        pieces.text("}");
    } else {
        pieces.share(form);
    }
}

#[cfg(test)]
mod tests;
