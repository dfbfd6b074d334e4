//! The shapes of streamed events.

use crate::wire::chat::Words;
use model::Usage;
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

/// One event, with the fields of all kinds that matter.
#[derive(Deserialize)]
pub(super) struct Frame<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(super) delta: Option<Words>,
    #[serde(default, borrow)]
    pub(super) item_id: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(super) output_index: Option<u64>,
    #[serde(default)]
    pub(super) item: Option<Box<Item>>,
    #[serde(default)]
    pub(super) response: Option<Box<Response>>,
    #[serde(default)]
    pub(super) error: Option<Words>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Item {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) id: Option<String>,
    pub(super) call_id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) arguments: Option<Words>,
    pub(super) status: Option<String>,
    pub(super) phase: Option<Value>,
    pub(super) summary: Option<Value>,
    pub(super) content: Option<Value>,
    pub(super) encrypted_content: Option<String>,
}

impl Frame<'_> {
    pub(super) fn words(self) -> String {
        self.delta.map(Words::into_text).unwrap_or_default()
    }
}

impl Item {
    fn parts(&self) -> impl Iterator<Item = &Value> {
        self.content.as_ref().and_then(Value::as_array).into_iter().flatten()
    }

    pub(super) fn texts(&self, kind: &'static str) -> impl Iterator<Item = &str> {
        let of_kind = self
            .parts()
            .filter(move |part| part.get("type").is_some_and(|own| own == kind));
        of_kind.filter_map(|part| part.get("text")?.as_str())
    }

    pub(super) fn refusals(&self) -> impl Iterator<Item = &str> {
        self.parts().filter_map(|part| part.get("refusal")?.as_str())
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Response {
    pub(super) usage: Option<Figures>,
    pub(super) incomplete_details: Option<Incomplete>,
    pub(super) output: Option<Vec<Item>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Incomplete {
    pub(super) reason: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Figures {
    input_tokens: u64,
    input_tokens_details: Option<InputDetails>,
    output_tokens: u64,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct InputDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct OutputDetails {
    reasoning_tokens: Option<u64>,
}

impl Figures {
    pub(super) fn usage(&self) -> Usage {
        let details = self.input_tokens_details.as_ref();
        let cache_read = details
            .and_then(|details| details.cached_tokens)
            .unwrap_or(0)
            .min(self.input_tokens);
        let left = self.input_tokens - cache_read;
        let cache_write = details
            .and_then(|details| details.cache_write_tokens)
            .unwrap_or(0)
            .min(left);
        Usage {
            input: left - cache_write,
            cache_read,
            cache_write,
            output: self.output_tokens,
            thinking: self
                .output_tokens_details
                .as_ref()
                .and_then(|details| details.reasoning_tokens)
                .unwrap_or(0),
            ..Usage::default()
        }
    }
}
