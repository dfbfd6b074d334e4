//! The dialects: one module per wire, each with the same `body`, `path` and `Decoder`.
//!
//! A body is a list of pieces: what old messages look like on the wire is kept and shared, never rendered or copied again.

pub(crate) mod anthropic;
pub(crate) mod bedrock;
pub(crate) mod chat;
pub(crate) mod gemini;
pub(crate) mod responses;
pub(crate) mod vertex;

use crate::kept::Kept;
use crate::presets::Quirks;
use crate::settings::Settings;
use crate::sse;
use bytes::Bytes;
use model::{Chunk, Info, Request, Wire};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The request's JSON, in pieces.
pub(crate) fn body(
    request: &Request,
    info: &Info,
    settings: &Settings,
    kept: &mut Kept,
    notices: &mut Vec<String>,
) -> Vec<Bytes> {
    kept.begin();
    match settings.wire {
        Wire::AnthropicMessages => anthropic::body(request, info, settings, kept, notices),
        Wire::BedrockAnthropic => bedrock::body(request, info, settings, kept, notices),
        Wire::VertexAnthropic => vertex::body(request, info, settings, kept, notices),
        Wire::OpenaiChat => chat::body(request, info, settings, kept, notices),
        Wire::OpenaiResponses => responses::body(request, info, settings, kept, notices),
        Wire::Gemini => gemini::body(request, info, settings, kept, notices),
    }
}

/// The address below the base URL, with its query.
pub(crate) fn path(info: &Info, settings: &Settings) -> String {
    match settings.wire {
        Wire::AnthropicMessages => anthropic::path(info, settings),
        Wire::BedrockAnthropic => bedrock::path(info, settings),
        Wire::VertexAnthropic => vertex::path(info, settings),
        Wire::OpenaiChat => chat::path(info, settings),
        Wire::OpenaiResponses => responses::path(info, settings),
        Wire::Gemini => gemini::path(info, settings),
    }
}

/// Turns a wire's events into chunks.
pub(crate) enum Decoder {
    Anthropic(anthropic::Decoder),
    Chat(chat::Decoder),
    Responses(responses::Decoder),
    Gemini(gemini::Decoder),
}

impl Decoder {
    pub(crate) fn new(wire: Wire, provider: &str) -> Self {
        match wire {
            Wire::AnthropicMessages | Wire::BedrockAnthropic | Wire::VertexAnthropic => {
                Decoder::Anthropic(anthropic::Decoder::new(provider))
            }
            Wire::OpenaiChat => Decoder::Chat(chat::Decoder::new(provider)),
            Wire::OpenaiResponses => Decoder::Responses(responses::Decoder::new(provider)),
            Wire::Gemini => Decoder::Gemini(gemini::Decoder::new(provider)),
        }
    }

    /// Heeds what the configuration says of the server.
    pub(crate) fn heed(&mut self, quirks: &Quirks) {
        match self {
            Decoder::Chat(decoder) => decoder.heed(quirks),
            Decoder::Anthropic(_) | Decoder::Responses(_) | Decoder::Gemini(_) => {}
        }
    }

    /// Takes in one event.
    pub(crate) fn event(&mut self, event: &sse::Event, out: &mut Vec<Chunk>) -> Result<(), model::Error> {
        match self {
            Decoder::Anthropic(decoder) => decoder.event(event, out),
            Decoder::Chat(decoder) => decoder.event(event, out),
            Decoder::Responses(decoder) => decoder.event(event, out),
            Decoder::Gemini(decoder) => decoder.event(event, out),
        }
    }

    /// The stream has ended; an error if the reply had not.
    pub(crate) fn finish(&mut self, out: &mut Vec<Chunk>) -> Result<(), model::Error> {
        match self {
            Decoder::Anthropic(decoder) => decoder.finish(out),
            Decoder::Chat(decoder) => decoder.finish(out),
            Decoder::Responses(decoder) => decoder.finish(out),
            Decoder::Gemini(decoder) => decoder.finish(out),
        }
    }
}

/// The merged options of a request: catalogue < provider < model < call. A `null` is kept: it removes a field of the body.
pub(crate) fn options(request: &Request, info: &Info, settings: &Settings) -> Map<String, Value> {
    let mut merged = info.options.clone();
    for layer in [&settings.options, &settings.model_options, &request.options] {
        overlay(&mut merged, layer);
    }
    merged
}

/// Lays one layer of options over another: objects merge, everything else replaces.
fn overlay(under: &mut Map<String, Value>, over: &Map<String, Value>) {
    for (key, value) in over {
        match (under.get_mut(key), value) {
            (Some(Value::Object(old)), Value::Object(new)) => overlay(old, new),
            (_, new) => {
                under.insert(key.clone(), new.clone());
            }
        }
    }
}

/// Lays options over a body: objects merge, `null` removes, everything else replaces.
pub(crate) fn merge(under: &mut Map<String, Value>, over: &Map<String, Value>) {
    for (key, value) in over {
        match (under.get_mut(key), value) {
            (_, Value::Null) => {
                under.shift_remove(key);
            }
            (Some(Value::Object(old)), Value::Object(new)) => merge(old, new),
            (Some(old), new) => *old = new.clone(),
            (None, Value::Object(new)) => {
                let mut fresh = Map::new();
                merge(&mut fresh, new);
                under.insert(key.clone(), Value::Object(fresh));
            }
            (None, new) => {
                under.insert(key.clone(), new.clone());
            }
        }
    }
}

/// A body that grows: fresh text is gathered, large kept forms are shared.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    done: Vec<Bytes>,
    open: Vec<u8>,
}

impl Pieces {
    /// Forms shorter than this are copied: a copy costs less than one more piece to write to the socket.
    const WORTH_SHARING: usize = 4096;

    /// Adds text that is JSON already.
    pub(crate) fn text(&mut self, text: &str) {
        self.open.extend_from_slice(text.as_bytes());
    }

    /// Adds a value as JSON.
    pub(crate) fn json(&mut self, value: &impl Serialize) {
        write_json(&mut self.open, value);
    }

    /// Adds a kept form.
    pub(crate) fn share(&mut self, form: Bytes) {
        if form.len() < Self::WORTH_SHARING {
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

/// Reads a field that imitations may send as `null` where the vendor leaves it out.
pub(crate) fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<T, D::Error> {
    Option::<T>::deserialize(from).map(Option::unwrap_or_default)
}

/// Appends a value as JSON.
pub(crate) fn write_json(out: &mut Vec<u8>, value: &impl Serialize) {
    let before = out.len();
    // Only a map with keys that are not text, or a failing writer, can make this fail; hew's wire types have neither.
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(before);
        out.extend_from_slice(b"null");
    }
}

/// A call id as vendors take it: letters, digits, `_` and `-`, and no longer than they allow.
///
/// Ids of other vendors are bent into shape; a digest keeps two of them apart where the bending could make them equal.
pub(crate) fn call_id(id: &str, longest: usize) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !id.is_empty() && id.len() <= longest && id.chars().all(fits) {
        return Cow::Borrowed(id);
    }
    let mut bent: String = id.chars().map(|c| if fits(c) { c } else { '_' }).collect();
    bent.truncate(longest.saturating_sub(9));
    let digest = ring::digest::digest(&ring::digest::SHA256, id.as_bytes());
    bent.push('_');
    for byte in &digest.as_ref()[..4] {
        bent.push_str(&format!("{byte:02x}"));
    }
    Cow::Owned(bent)
}

/// A tool's name as vendors take it: letters, digits, `_` and `-`, at most 64.
///
/// Only names that a model made up need this: hew's own fit already.
pub(crate) fn tool_name(name: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.len() <= 64 && name.chars().all(fits) {
        return Cow::Borrowed(name);
    }
    let mut bent: String = name.chars().map(|c| if fits(c) { c } else { '_' }).collect();
    bent.truncate(64);
    if bent.is_empty() {
        bent.push_str("unnamed");
    }
    Cow::Owned(bent)
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
    fn options_merge_deeply_and_the_call_wins() {
        let mut settings = Settings::new("p", Wire::OpenaiChat, "http://127.0.0.1");
        let mut info = crate::tests::info(Wire::OpenaiChat, "m");
        info.options = map(json!({"a": 1, "deep": {"x": 1, "y": 1, "z": 1}, "gone": true}));
        settings.options = map(json!({"b": 2, "deep": {"y": 2}}));
        settings.model_options = map(json!({"deep": {"z": {"w": 3}}, "gone": null}));
        let request = Request {
            options: map(json!({"a": 4, "deep": {"z": {"v": 4}}, "new": {"kept": 1, "dropped": null}})),
            ..Request::default()
        };
        let mut body = map(json!({"gone": 1, "own": true, "deep": {"q": 0}}));
        merge(&mut body, &options(&request, &info, &settings));
        assert_eq!(
            Value::Object(body),
            json!({
                "own": true, "deep": {"q": 0, "x": 1, "y": 2, "z": {"w": 3, "v": 4}}, "a": 4, "b": 2, "new": {"kept": 1},
            })
        );
    }

    #[test]
    fn large_forms_are_shared_and_small_ones_join_their_neighbours() {
        let large = Bytes::from(vec![b'x'; 10_000]);
        let mut pieces = Pieces::default();
        pieces.text("[");
        pieces.share(Bytes::from_static(b"1,"));
        pieces.share(large.clone());
        pieces.json(&"end");
        let done = pieces.finish();
        assert_eq!(done.len(), 3);
        assert_eq!(done[0], "[1,");
        assert_eq!(done[1].as_ptr(), large.as_ptr());
        assert_eq!(done[2], "\"end\"");
    }

    #[test]
    fn foreign_call_ids_fit_and_stay_apart() {
        assert_eq!(call_id("toolu_01-a", 64), "toolu_01-a");
        let (a, b) = (call_id("f:0", 64), call_id("f.0", 64));
        assert!(a != b && a.starts_with("f_0_"), "{a} {b}");
        let long = "x".repeat(100);
        assert_eq!(call_id(&long, 40).len(), 40);
        assert!(call_id("", 64).len() > 1);
    }
}
