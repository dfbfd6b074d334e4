//! The wires: one module per API, each with `body`, `path` and a decoder.
//!
//! A body is a list of pieces: the wire form of earlier messages is cached and shared, not rendered or copied again.

pub(crate) mod anthropic;
pub(crate) mod bedrock;
pub(crate) mod chat;
pub(crate) mod converse;
pub(crate) mod gemini;
pub(crate) mod responses;
pub(crate) mod vertex;

use crate::presets::Quirks;
use crate::settings::ProviderSettings;
use crate::sse;
use crate::wire_cache::WireCache;
use bytes::Bytes;
use model::{Chunk, Info, Request, Wire};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The request's JSON, in pieces.
pub(crate) fn body(
    request: &Request,
    info: &Info,
    settings: &ProviderSettings,
    cache: &mut WireCache,
    notices: &mut Vec<String>,
) -> Vec<Bytes> {
    cache.begin_request();
    match settings.wire {
        Wire::AnthropicMessages => anthropic::body(request, info, settings, cache, notices),
        Wire::BedrockAnthropic => bedrock::body(request, info, settings, cache, notices),
        Wire::BedrockConverse => converse::body(request, info, settings, cache, notices),
        Wire::VertexAnthropic => vertex::body(request, info, settings, cache, notices),
        Wire::OpenaiChat => chat::body(request, info, settings, cache, notices),
        Wire::OpenaiResponses => responses::body(request, info, settings, cache, notices),
        Wire::Gemini => gemini::body(request, info, settings, cache, notices),
    }
}

/// The path below the base URL, with its query.
pub(crate) fn path(info: &Info, settings: &ProviderSettings) -> String {
    match settings.wire {
        Wire::AnthropicMessages => anthropic::path(info, settings),
        Wire::BedrockAnthropic => bedrock::path(info, settings),
        Wire::BedrockConverse => converse::path(info, settings),
        Wire::VertexAnthropic => vertex::path(info, settings),
        Wire::OpenaiChat => chat::path(info, settings),
        Wire::OpenaiResponses => responses::path(info, settings),
        Wire::Gemini => gemini::path(info, settings),
    }
}

/// Decodes a wire's events into chunks.
pub(crate) enum WireDecoder {
    Anthropic(anthropic::AnthropicDecoder),
    Chat(chat::ChatDecoder),
    Converse(converse::ConverseDecoder),
    Responses(responses::ResponsesDecoder),
    Gemini(gemini::GeminiDecoder),
}

impl WireDecoder {
    pub(crate) fn new(wire: Wire, provider: &str) -> Self {
        match wire {
            Wire::AnthropicMessages | Wire::BedrockAnthropic | Wire::VertexAnthropic => {
                WireDecoder::Anthropic(anthropic::AnthropicDecoder::new(provider))
            }
            Wire::BedrockConverse => WireDecoder::Converse(converse::ConverseDecoder::new(provider)),
            Wire::OpenaiChat => WireDecoder::Chat(chat::ChatDecoder::new(provider)),
            Wire::OpenaiResponses => WireDecoder::Responses(responses::ResponsesDecoder::new(provider)),
            Wire::Gemini => WireDecoder::Gemini(gemini::GeminiDecoder::new(provider)),
        }
    }

    /// Applies the server's quirks.
    pub(crate) fn apply_quirks(&mut self, quirks: &Quirks) {
        match self {
            WireDecoder::Chat(decoder) => decoder.apply_quirks(quirks),
            WireDecoder::Anthropic(_)
            | WireDecoder::Converse(_)
            | WireDecoder::Responses(_)
            | WireDecoder::Gemini(_) => {}
        }
    }

    /// Decodes one event.
    pub(crate) fn event(&mut self, event: &sse::SseEvent, out: &mut Vec<Chunk>) -> Result<(), model::Error> {
        match self {
            WireDecoder::Anthropic(decoder) => decoder.event(event, out),
            WireDecoder::Chat(decoder) => decoder.event(event, out),
            WireDecoder::Converse(decoder) => decoder.event(event, out),
            WireDecoder::Responses(decoder) => decoder.event(event, out),
            WireDecoder::Gemini(decoder) => decoder.event(event, out),
        }
    }

    /// Handles the end of the stream; fails if the reply is incomplete.
    pub(crate) fn finish(&mut self, out: &mut Vec<Chunk>) -> Result<(), model::Error> {
        match self {
            WireDecoder::Anthropic(decoder) => decoder.finish(out),
            WireDecoder::Chat(decoder) => decoder.finish(out),
            WireDecoder::Converse(decoder) => decoder.finish(out),
            WireDecoder::Responses(decoder) => decoder.finish(out),
            WireDecoder::Gemini(decoder) => decoder.finish(out),
        }
    }
}

/// The merged options of a request: catalogue < provider < model < call. `null` values are kept, because they remove
/// body fields.
pub(crate) fn options(request: &Request, info: &Info, settings: &ProviderSettings) -> Map<String, Value> {
    let mut merged = info.options.clone();
    for layer in [&settings.options, &settings.model_options, &request.options] {
        merge_layer(&mut merged, layer);
    }
    merged
}

/// Merges a layer of options into another: objects merge, other values replace.
fn merge_layer(target: &mut Map<String, Value>, layer: &Map<String, Value>) {
    for (key, value) in layer {
        match (target.get_mut(key), value) {
            (Some(Value::Object(old)), Value::Object(new)) => merge_layer(old, new),
            (_, new) => {
                target.insert(key.clone(), new.clone());
            }
        }
    }
}

/// Merges options into a body: objects merge, `null` removes, other values replace.
pub(crate) fn merge(target: &mut Map<String, Value>, layer: &Map<String, Value>) {
    for (key, value) in layer {
        match (target.get_mut(key), value) {
            (_, Value::Null) => {
                target.shift_remove(key);
            }
            (Some(Value::Object(old)), Value::Object(new)) => merge(old, new),
            (Some(old), new) => *old = new.clone(),
            (None, Value::Object(new)) => {
                let mut fresh = Map::new();
                merge(&mut fresh, new);
                target.insert(key.clone(), Value::Object(fresh));
            }
            (None, new) => {
                target.insert(key.clone(), new.clone());
            }
        }
    }
}

/// Builds a body: new text is collected, large cached forms are shared.
#[derive(Debug, Default)]
pub(crate) struct BodyWriter {
    done: Vec<Bytes>,
    open: Vec<u8>,
}

impl BodyWriter {
    /// Shorter forms are copied: a copy is cheaper than another write to the socket.
    const MIN_SHARED: usize = 4096;

    /// Appends JSON text.
    pub(crate) fn push_raw(&mut self, text: &str) {
        self.open.extend_from_slice(text.as_bytes());
    }

    /// Appends a value as JSON.
    pub(crate) fn push_json(&mut self, value: &impl Serialize) {
        write_json(&mut self.open, value);
    }

    /// Appends a cached form.
    pub(crate) fn push_shared(&mut self, form: Bytes) {
        if form.len() < Self::MIN_SHARED {
            self.open.extend_from_slice(&form);
            return;
        }
        self.flush();
        self.done.push(form);
    }

    /// The whole body.
    pub(crate) fn finish(mut self) -> Vec<Bytes> {
        self.flush();
        self.done
    }

    fn flush(&mut self) {
        if !self.open.is_empty() {
            self.done.push(Bytes::from(std::mem::take(&mut self.open)));
        }
    }
}

/// Deserialises a field that compatible servers may send as `null` instead of omitting it.
pub(crate) fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<T, D::Error> {
    Option::<T>::deserialize(from).map(Option::unwrap_or_default)
}

/// Appends a value as JSON.
pub(crate) fn write_json(out: &mut Vec<u8>, value: &impl Serialize) {
    let before = out.len();
    // Serialising fails only for maps with non-string keys or failing writers; the wire types have neither.
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(before);
        out.extend_from_slice(b"null");
    }
}

/// A call id that vendors accept: letters, digits, `_` and `-`, up to their maximum length.
///
/// Other characters are replaced; a digest keeps the results distinct.
pub(crate) fn sanitize_call_id(id: &str, max_len: usize) -> Cow<'_, str> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !id.is_empty() && id.len() <= max_len && id.chars().all(is_allowed) {
        return Cow::Borrowed(id);
    }
    let mut sanitized: String = id.chars().map(|c| if is_allowed(c) { c } else { '_' }).collect();
    sanitized.truncate(max_len.saturating_sub(9));
    let digest = ring::digest::digest(&ring::digest::SHA256, id.as_bytes());
    sanitized.push('_');
    for byte in &digest.as_ref()[..4] {
        sanitized.push_str(&format!("{byte:02x}"));
    }
    Cow::Owned(sanitized)
}

/// A tool name that vendors accept: letters, digits, `_` and `-`, at most 64.
///
/// Only names invented by a model need this; hew's tools have valid names.
pub(crate) fn sanitize_tool_name(name: &str) -> Cow<'_, str> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.len() <= 64 && name.chars().all(is_allowed) {
        return Cow::Borrowed(name);
    }
    let mut sanitized: String = name.chars().map(|c| if is_allowed(c) { c } else { '_' }).collect();
    sanitized.truncate(64);
    if sanitized.is_empty() {
        sanitized.push_str("unnamed");
    }
    Cow::Owned(sanitized)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn map(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(map) => map,
            other => panic!("{other} is not an object"),
        }
    }

    #[test]
    fn options_merge_deeply_and_the_call_takes_precedence() {
        let mut settings = ProviderSettings::new("p", Wire::OpenaiChat, "http://127.0.0.1");
        let mut info = crate::tests::info(Wire::OpenaiChat, "m");
        info.options = map(json!({"a": 1, "deep": {"x": 1, "y": 1, "z": 1}, "removed": true}));
        settings.options = map(json!({"b": 2, "deep": {"y": 2}}));
        settings.model_options = map(json!({"deep": {"z": {"w": 3}}, "removed": null}));
        let request = Request {
            options: map(json!({"a": 4, "deep": {"z": {"v": 4}}, "new": {"kept": 1, "dropped": null}})),
            ..Request::default()
        };
        let mut body = map(json!({"removed": 1, "own": true, "deep": {"q": 0}}));
        merge(&mut body, &options(&request, &info, &settings));
        assert_eq!(
            Value::Object(body),
            json!({
                "own": true, "deep": {"q": 0, "x": 1, "y": 2, "z": {"w": 3, "v": 4}}, "a": 4, "b": 2, "new": {"kept": 1},
            })
        );
    }

    #[test]
    fn large_forms_are_shared_and_small_ones_are_copied() {
        let large = Bytes::from(vec![b'x'; 10_000]);
        let mut pieces = BodyWriter::default();
        pieces.push_raw("[");
        pieces.push_shared(Bytes::from_static(b"1,"));
        pieces.push_shared(large.clone());
        pieces.push_json(&"end");
        let done = pieces.finish();
        assert_eq!(done.len(), 3);
        assert_eq!(done[0], "[1,");
        assert_eq!(done[1].as_ptr(), large.as_ptr());
        assert_eq!(done[2], "\"end\"");
    }

    #[test]
    fn foreign_call_ids_are_sanitized_and_stay_distinct() {
        assert_eq!(sanitize_call_id("toolu_01-a", 64), "toolu_01-a");
        let (a, b) = (sanitize_call_id("f:0", 64), sanitize_call_id("f.0", 64));
        assert!(a != b && a.starts_with("f_0_"), "{a} {b}");
        let long = "x".repeat(100);
        assert_eq!(sanitize_call_id(&long, 40).len(), 40);
        assert!(sanitize_call_id("", 64).len() > 1);
    }
}
