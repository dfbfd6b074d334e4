//! The formats of streamed events.

use crate::wire::chat::LooseText;
use model::Usage;
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

/// One event with the fields of all kinds that hew uses.
#[derive(Deserialize)]
pub(super) struct ResponsesEvent<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(super) delta: Option<LooseText>,
    #[serde(default, borrow)]
    pub(super) item_id: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(super) output_index: Option<u64>,
    #[serde(default)]
    pub(super) item: Option<Box<ResponsesItem>>,
    #[serde(default)]
    pub(super) response: Option<Box<ResponsesReply>>,
    #[serde(default)]
    pub(super) error: Option<LooseText>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct ResponsesItem {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) id: Option<String>,
    pub(super) call_id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) arguments: Option<LooseText>,
    pub(super) status: Option<String>,
    pub(super) phase: Option<Value>,
    pub(super) summary: Option<Value>,
    pub(super) content: Option<Value>,
    pub(super) encrypted_content: Option<String>,
}

impl ResponsesEvent<'_> {
    pub(super) fn delta_text(self) -> String {
        self.delta.map(LooseText::into_text).unwrap_or_default()
    }
}

impl ResponsesItem {
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
pub(super) struct ResponsesReply {
    pub(super) usage: Option<ResponsesUsage>,
    pub(super) incomplete_details: Option<IncompleteDetails>,
    pub(super) output: Option<Vec<ResponsesItem>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct IncompleteDetails {
    pub(super) reason: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct ResponsesUsage {
    input_tokens: u64,
    input_tokens_details: Option<InputTokenDetails>,
    output_tokens: u64,
    output_tokens_details: Option<OutputTokenDetails>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct InputTokenDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct OutputTokenDetails {
    reasoning_tokens: Option<u64>,
}

impl ResponsesUsage {
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
