//! The APIs the server speaks: which one a path belongs to, and the one form they share inside.

use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::pace::Pace;
use crate::script::Stop;
use crate::seen::Seen;

mod anthropic;
mod chat;
mod gemini;
mod responses;

pub(crate) use anthropic::unmarked;

/// An API of a vendor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Gemini, by key or on Vertex.
    Gemini,
    /// Anthropic on Bedrock, in AWS event-stream framing.
    Bedrock,
    /// Anthropic on Vertex.
    Vertex,
}

impl Wire {
    /// Every wire, for tests that go through all of them.
    pub const ALL: [Self; 6] = [
        Self::Anthropic,
        Self::Chat,
        Self::Responses,
        Self::Gemini,
        Self::Bedrock,
        Self::Vertex,
    ];
}

/// What a path asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) wire: Wire,
    /// The model, where the path names it.
    pub(crate) model: Option<String>,
    pub(crate) ask: Ask,
}

/// What is wanted from the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// An answer; the body says whether as a stream.
    Answer,
    /// An answer as a stream, the path says.
    Stream,
    /// A whole answer, the path says.
    Whole,
    /// The length of the prompt.
    Count,
}

impl Route {
    /// The route of a request, if it is one for a model. `path` has no query.
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
            [.., "messages"] => bare(Wire::Anthropic, Ask::Answer),
            [.., "messages", "count_tokens"] => bare(Wire::Anthropic, Ask::Count),
            [.., "chat", "completions"] => bare(Wire::Chat, Ask::Answer),
            [.., "responses"] => bare(Wire::Responses, Ask::Answer),
            [.., "model", model, "invoke-with-response-stream"] => named(Wire::Bedrock, model, Ask::Stream),
            [.., "model", model, "invoke"] => named(Wire::Bedrock, model, Ask::Whole),
            [.., "models", last] => match last.rsplit_once(':')? {
                (model, "streamGenerateContent") => named(Wire::Gemini, model, Ask::Stream),
                (model, "generateContent") => named(Wire::Gemini, model, Ask::Whole),
                (model, "countTokens") => named(Wire::Gemini, model, Ask::Count),
                (model, "streamRawPredict") => named(Wire::Vertex, model, Ask::Stream),
                (model, "rawPredict") => named(Wire::Vertex, model, Ask::Whole),
                _ => None,
            },
            _ => None,
        }
    }

    /// Reads a body. It may be any JSON; what is not understood is left out here and refused by the checks.
    pub(crate) fn read(&self, body: Value) -> Seen {
        let model = self
            .model
            .clone()
            .or_else(|| body["model"].as_str().map(str::to_owned))
            .unwrap_or_default();
        let mut seen = Seen::new(self.wire, model, body);
        seen.streaming = match self.ask {
            Ask::Stream => true,
            Ask::Whole | Ask::Count => false,
            Ask::Answer => seen.raw["stream"] == true,
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

/// A turn made ready for the wire.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// The number of the request, for ids.
    pub(crate) serial: usize,
    pub(crate) thought: Option<Thought>,
    pub(crate) text: String,
    pub(crate) calls: Vec<Called>,
    pub(crate) stop: Stop,
    pub(crate) figures: Figures,
    /// Whether the final figures are sent.
    pub(crate) reports: bool,
    pub(crate) pace: Pace,
}

#[derive(Clone, Debug)]
pub(crate) struct Thought {
    pub(crate) text: String,
    pub(crate) signature: String,
    pub(crate) redacted: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Called {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

impl Called {
    /// The arguments as JSON, if they are.
    pub(crate) fn input(&self) -> Option<Value> {
        serde_json::from_str(&self.arguments).ok()
    }
}

/// What an answer reports as used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    /// All input tokens, cached ones included.
    pub(crate) input: u64,
    pub(crate) read: u64,
    pub(crate) write: u64,
    /// All output tokens, reasoning included.
    pub(crate) output: u64,
    pub(crate) reasoning: u64,
}

/// One event of a stream, before framing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) name: Option<&'static str>,
    pub(crate) data: String,
    pub(crate) part: Part,
}

/// What an event is about, so that faults find their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Opening and closing of things.
    Frame,
    Thinking,
    Text,
    Tool,
    /// The very last events, without which the stream is not complete.
    Done,
}

impl Event {
    fn named(name: &'static str, data: &Value, part: Part) -> Self {
        Self {
            name: Some(name),
            data: data.to_string(),
            part,
        }
    }

    fn bare(data: &Value, part: Part) -> Self {
        Self {
            name: None,
            data: data.to_string(),
            part,
        }
    }
}

/// The stream that gives an answer.
pub(crate) fn events(seen: &Seen, answer: &Answer) -> Vec<Event> {
    match seen.wire {
        Wire::Anthropic | Wire::Bedrock | Wire::Vertex => anthropic::events(seen, answer),
        Wire::Chat => chat::events(seen, answer),
        Wire::Responses => responses::events(seen, answer),
        Wire::Gemini => gemini::events(seen, answer),
    }
}

/// The answer in one piece.
pub(crate) fn whole(seen: &Seen, answer: &Answer) -> Value {
    match seen.wire {
        Wire::Anthropic | Wire::Bedrock | Wire::Vertex => anthropic::whole(seen, answer),
        Wire::Chat => chat::whole(seen, answer),
        Wire::Responses => responses::whole(seen, answer),
        Wire::Gemini => gemini::whole(seen, answer),
    }
}

/// The elements of an array; none if it is anything else.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The text of a string, or of the text parts of a list, one to a line.
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

/// A field of Gemini's, in either of the spellings that its clients mix: `functionCall` or `function_call`.
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

/// The JSON in a string; the string itself if there is none.
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
        let check = |path: &str, wire: Wire, model: Option<&str>, ask: Ask| {
            let route = Route {
                wire,
                model: model.map(str::to_owned),
                ask,
            };
            assert_eq!(Route::of(&Method::POST, path), Some(route), "{path}");
        };
        check("/v1/messages", Wire::Anthropic, None, Ask::Answer);
        check("/v1/messages/count_tokens", Wire::Anthropic, None, Ask::Count);
        check("/api/coding/paas/v4/chat/completions", Wire::Chat, None, Ask::Answer);
        check(
            "/openai/deployments/gpt-5/chat/completions",
            Wire::Chat,
            None,
            Ask::Answer,
        );
        check("/openai/v1/responses", Wire::Responses, None, Ask::Answer);
        check(
            "/v1beta/models/gemini-2.5-pro:streamGenerateContent",
            Wire::Gemini,
            Some("gemini-2.5-pro"),
            Ask::Stream,
        );
        let bedrock = "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke-with-response-stream";
        check(
            bedrock,
            Wire::Bedrock,
            Some("us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
            Ask::Stream,
        );
        let vertex =
            "/v1/projects/p/locations/l/publishers/anthropic/models/claude-3-7-sonnet@20250219:streamRawPredict";
        check(vertex, Wire::Vertex, Some("claude-3-7-sonnet@20250219"), Ask::Stream);
        for path in ["/", "/v1/models", "/v1/models/x:tune", "/messages/x"] {
            assert_eq!(Route::of(&Method::POST, path), None, "{path}");
        }
        assert_eq!(Route::of(&Method::GET, "/v1/messages"), None);
    }
}
