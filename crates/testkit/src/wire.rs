//! The supported APIs: routing by path, and the format that they share internally.

use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::pace::Pace;
use crate::parsed_request::ParsedRequest;
use crate::script::Stop;

mod anthropic;
mod chat;
mod gemini;
mod responses;

pub(crate) use anthropic::unmarked;

/// A vendor's API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Gemini, with a key or on Vertex.
    Gemini,
    /// Anthropic on Bedrock, in AWS event streams.
    Bedrock,
    /// Anthropic on Vertex.
    Vertex,
}

impl Wire {
    /// All wires.
    pub const ALL: [Self; 6] = [
        Self::Anthropic,
        Self::Chat,
        Self::Responses,
        Self::Gemini,
        Self::Bedrock,
        Self::Vertex,
    ];
}

/// The meaning of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) wire: Wire,
    /// The model, if the path contains it.
    pub(crate) model: Option<String>,
    pub(crate) ask: RouteKind,
}

/// The kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RouteKind {
    /// A reply; the body decides whether it streams.
    Answer,
    /// A streamed reply, according to the path.
    Stream,
    /// A complete reply, according to the path.
    Whole,
    /// The prompt length.
    Count,
}

impl Route {
    /// The route of a model request. `path` has no query.
    pub(crate) fn of(method: &Method, path: &str) -> Option<Self> {
        if method != Method::POST {
            return None;
        }
        let bare = |wire, ask| Some(Self { wire, model: None, ask });
        let named = |wire, model: &str, ask| {
            Some(Self {
                wire,
                model: Some(percent_decoded(model)),
                ask,
            })
        };
        let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
        match segments.as_slice() {
            [.., "messages"] => bare(Wire::Anthropic, RouteKind::Answer),
            [.., "messages", "count_tokens"] => bare(Wire::Anthropic, RouteKind::Count),
            [.., "chat", "completions"] => bare(Wire::Chat, RouteKind::Answer),
            [.., "responses"] => bare(Wire::Responses, RouteKind::Answer),
            [.., "model", model, "invoke-with-response-stream"] => named(Wire::Bedrock, model, RouteKind::Stream),
            [.., "model", model, "invoke"] => named(Wire::Bedrock, model, RouteKind::Whole),
            [.., "models", last] => match last.rsplit_once(':')? {
                (model, "streamGenerateContent") => named(Wire::Gemini, model, RouteKind::Stream),
                (model, "generateContent") => named(Wire::Gemini, model, RouteKind::Whole),
                (model, "countTokens") => named(Wire::Gemini, model, RouteKind::Count),
                (model, "streamRawPredict") => named(Wire::Vertex, model, RouteKind::Stream),
                (model, "rawPredict") => named(Wire::Vertex, model, RouteKind::Whole),
                _ => None,
            },
            _ => None,
        }
    }

    /// Parses a body, which may be any JSON; unknown content is skipped here and refused by the checks.
    pub(crate) fn read(&self, body: Value) -> ParsedRequest {
        let model = self
            .model
            .clone()
            .or_else(|| body["model"].as_str().map(str::to_owned))
            .unwrap_or_default();
        let mut seen = ParsedRequest::new(self.wire, model, body);
        seen.streaming = match self.ask {
            RouteKind::Stream => true,
            RouteKind::Whole | RouteKind::Count => false,
            RouteKind::Answer => seen.raw["stream"] == true,
        };
        match self.wire {
            Wire::Anthropic | Wire::Bedrock | Wire::Vertex => anthropic::read(&mut seen),
            Wire::Chat => chat::read(&mut seen),
            Wire::Responses => responses::read(&mut seen),
            Wire::Gemini => gemini::read(&mut seen),
        }
        seen
    }
}

/// A turn prepared for the wire.
#[derive(Clone, Debug)]
pub(crate) struct ScriptedReply {
    /// The number of the request, for ids.
    pub(crate) serial: usize,
    pub(crate) thought: Option<ScriptedThinking>,
    pub(crate) text: String,
    pub(crate) calls: Vec<ScriptedCall>,
    pub(crate) stop: Stop,
    pub(crate) figures: TokenCounts,
    /// Whether the final usage is sent.
    pub(crate) reports: bool,
    pub(crate) pace: Pace,
}

#[derive(Clone, Debug)]
pub(crate) struct ScriptedThinking {
    pub(crate) text: String,
    pub(crate) signature: String,
    pub(crate) redacted: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct ScriptedCall {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

impl ScriptedCall {
    /// The arguments as JSON, if valid.
    pub(crate) fn input(&self) -> Option<Value> {
        serde_json::from_str(&self.arguments).ok()
    }
}

/// The reported usage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenCounts {
    /// All input tokens, including cached ones.
    pub(crate) input: u64,
    pub(crate) read: u64,
    pub(crate) write: u64,
    /// All output tokens, including reasoning.
    pub(crate) output: u64,
    pub(crate) reasoning: u64,
}

/// One event of a stream, before framing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) name: Option<&'static str>,
    pub(crate) data: String,
    pub(crate) part: EventPart,
}

/// The content of an event, for positioning faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventPart {
    /// Start and end events.
    Frame,
    Thinking,
    Text,
    Tool,
    /// The last events, without which the stream is incomplete.
    Done,
}

impl Event {
    fn named(name: &'static str, data: &Value, part: EventPart) -> Self {
        Self {
            name: Some(name),
            data: data.to_string(),
            part,
        }
    }

    fn bare(data: &Value, part: EventPart) -> Self {
        Self {
            name: None,
            data: data.to_string(),
            part,
        }
    }
}

/// The events of a streamed reply.
pub(crate) fn events(seen: &ParsedRequest, answer: &ScriptedReply) -> Vec<Event> {
    match seen.wire {
        Wire::Anthropic | Wire::Bedrock | Wire::Vertex => anthropic::events(seen, answer),
        Wire::Chat => chat::events(seen, answer),
        Wire::Responses => responses::events(seen, answer),
        Wire::Gemini => gemini::events(seen, answer),
    }
}

/// The complete reply.
pub(crate) fn whole(seen: &ParsedRequest, answer: &ScriptedReply) -> Value {
    match seen.wire {
        Wire::Anthropic | Wire::Bedrock | Wire::Vertex => anthropic::whole(seen, answer),
        Wire::Chat => chat::whole(seen, answer),
        Wire::Responses => responses::whole(seen, answer),
        Wire::Gemini => gemini::whole(seen, answer),
    }
}

/// The elements of an array; empty for other values.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The text of a string, or of the text parts of a list, one per line.
pub(crate) fn text_of(content: &Value) -> String {
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    list(content)
        .iter()
        .filter_map(|part| part["text"].as_str())
        .collect::<Vec<_>>()
        .join("\n")
}

/// A Gemini field in either spelling: `functionCall` or `function_call`.
pub(crate) fn field<'a>(value: &'a Value, camel: &str) -> Option<&'a Value> {
    let snake = || {
        let mut name = String::with_capacity(camel.len() + 2);
        for letter in camel.chars() {
            if letter.is_ascii_uppercase() {
                name.push('_');
            }
            name.push(letter.to_ascii_lowercase());
        }
        value.get(name)
    };
    value.get(camel).or_else(snake)
}

/// The JSON in a string; the string itself if it is not JSON.
fn parsed(text: &Value) -> Value {
    text.as_str()
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_else(|| text.clone())
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = (*first == b'%').then(|| tail.get(..2)).flatten();
        match hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()) {
            Some(byte) => (bytes.push(byte), rest = &tail[2..]).1,
            None => (bytes.push(*first), rest = tail).1,
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_all_vendors_find_their_wire() {
        let check = |path: &str, wire: Wire, model: Option<&str>, ask: RouteKind| {
            let route = Route {
                wire,
                model: model.map(str::to_owned),
                ask,
            };
            assert_eq!(Route::of(&Method::POST, path), Some(route), "{path}");
        };
        check("/v1/messages", Wire::Anthropic, None, RouteKind::Answer);
        check("/v1/messages/count_tokens", Wire::Anthropic, None, RouteKind::Count);
        check(
            "/api/coding/paas/v4/chat/completions",
            Wire::Chat,
            None,
            RouteKind::Answer,
        );
        check(
            "/openai/deployments/gpt-5/chat/completions",
            Wire::Chat,
            None,
            RouteKind::Answer,
        );
        check("/openai/v1/responses", Wire::Responses, None, RouteKind::Answer);
        check(
            "/v1beta/models/gemini-2.5-pro:streamGenerateContent",
            Wire::Gemini,
            Some("gemini-2.5-pro"),
            RouteKind::Stream,
        );
        let bedrock = "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke-with-response-stream";
        check(
            bedrock,
            Wire::Bedrock,
            Some("us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
            RouteKind::Stream,
        );
        let vertex =
            "/v1/projects/p/locations/l/publishers/anthropic/models/claude-3-7-sonnet@20250219:streamRawPredict";
        check(
            vertex,
            Wire::Vertex,
            Some("claude-3-7-sonnet@20250219"),
            RouteKind::Stream,
        );
        for path in ["/", "/v1/models", "/v1/models/x:tune", "/messages/x"] {
            assert_eq!(Route::of(&Method::POST, path), None, "{path}");
        }
        assert_eq!(Route::of(&Method::GET, "/v1/messages"), None);
    }
}
