//! Decodes the events of an Anthropic Messages stream.

use crate::error_mapping;
use crate::sse::SseEvent;
use crate::wire::nullable;
use model::{CallId, Chunk, ChunkPart, Error, ReplayData, Stop, Usage, Wire};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;

/// Decodes events into chunks.
pub(crate) struct AnthropicDecoder {
    provider: String,
    /// The open blocks.
    open: Vec<(u64, OpenBlock)>,
    ids: Vec<CallId>,
    tokens: AnthropicUsage,
    stop: Option<Stop>,
    stopped: bool,
    /// Whether a content block has arrived.
    begun: bool,
}

/// An open block.
enum OpenBlock {
    Text,
    Thinking {
        signature: String,
    },
    Call {
        id: CallId,
        start: Option<String>,
    },
    /// A block for the server only, such as its own tools and their results.
    Foreign,
}

impl AnthropicDecoder {
    pub(crate) fn new(provider: &str) -> Self {
        AnthropicDecoder {
            provider: provider.to_string(),
            open: Vec::new(),
            ids: Vec::new(),
            tokens: AnthropicUsage::default(),
            stop: None,
            stopped: false,
            begun: false,
        }
    }

    pub(crate) fn event(&mut self, event: &SseEvent, out: &mut Vec<Chunk>) -> Result<(), Error> {
        // Whatever follows the end belongs to another message.
        if self.stopped || event.data == "[DONE]" || event.data.trim().is_empty() {
            return Ok(());
        }
        if event.name.as_deref() == Some("content_block_delta")
            && let Ok(TextDeltaEvent { index, delta }) = serde_json::from_str::<TextDeltaEvent<'_>>(&event.data)
            && delta.kind == "text_delta"
            && !matches!(self.open(index), Some(OpenBlock::Foreign))
        {
            push_text(delta.text.into_owned(), out);
            return Ok(());
        }
        let frame: AnthropicEvent<'_> = serde_json::from_str(&event.data).map_err(|_| {
            error_mapping::invalid_response(&self.provider, "an event is not JSON of this wire", &event.data)
        })?;
        let index = frame.index.unwrap_or(0);
        let kind = if frame.kind.is_empty() {
            event.name.as_deref().unwrap_or("")
        } else {
            &frame.kind
        };
        match kind {
            // A second message in the same stream would be mixed with the first one.
            "message_start" if self.begun => {
                return Err(error_mapping::invalid_response(
                    &self.provider,
                    "two messages in one stream",
                    "",
                ));
            }
            "message_start" => {
                if let Some(usage) = frame.message.and_then(|message| message.usage) {
                    self.usage(usage, out);
                }
            }
            "content_block_start" => self.start(index, frame.content_block, out)?,
            "content_block_delta" => self.delta(index, frame.delta.unwrap_or_default(), out),
            "content_block_stop" => self.end(index, out),
            "message_delta" => {
                if let Some(delta) = frame.delta {
                    self.stop = stop(&delta).or(self.stop.take());
                }
                if let Some(usage) = frame.usage {
                    self.usage(usage, out);
                }
            }
            "message_stop" => self.close_blocks(out),
            "error" => return Err(error_mapping::from_stream_body(&self.provider, &event.data)),
            _ if frame.error.is_some() => return Err(error_mapping::from_stream_body(&self.provider, &event.data)),
            // Pings and future events.
            _ => {}
        }
        Ok(())
    }

    pub(crate) fn finish(&mut self, out: &mut Vec<Chunk>) -> Result<(), Error> {
        match (self.stopped, &self.stop) {
            (true, _) => Ok(()),
            // The stop reason arrived; only `message_stop` is missing.
            (false, Some(_)) => {
                self.close_blocks(out);
                Ok(())
            }
            (false, None) => Err(error_mapping::stream_cut(&self.provider)),
        }
    }

    fn start(&mut self, index: u64, block: Option<&RawValue>, out: &mut Vec<Chunk>) -> Result<(), Error> {
        self.begun = true;
        let text = block.map_or("{}", RawValue::get);
        let block: BlockStart = serde_json::from_str(text).map_err(|_| {
            error_mapping::invalid_response(&self.provider, "a content block is not of this wire", text)
        })?;
        let open = match block.kind.as_str() {
            "text" => {
                push_text(block.text, out);
                OpenBlock::Text
            }
            "thinking" => {
                push_thinking(block.thinking, out);
                OpenBlock::Thinking {
                    signature: block.signature,
                }
            }
            "redacted_thinking" => {
                out.push(thinking_replay(json!({ "redacted": block.data })));
                OpenBlock::Foreign
            }
            "tool_use" => {
                let id = self.unique_id(block.id, index);
                out.push(Chunk::ToolStart {
                    id: id.clone(),
                    name: block.name,
                });
                // Compatible servers may send the whole input here and no deltas.
                let start = match block.input {
                    Value::Object(input) if !input.is_empty() => Some(Value::Object(input).to_string()),
                    _ => None,
                };
                OpenBlock::Call { id, start }
            }
            _ => OpenBlock::Foreign,
        };
        self.open.push((index, open));
        Ok(())
    }

    fn delta(&mut self, index: u64, delta: AnthropicDelta<'_>, out: &mut Vec<Chunk>) {
        match (self.open(index), &*delta.kind) {
            (Some(OpenBlock::Foreign), _) => {}
            (_, "text_delta") => push_text(delta.text, out),
            (_, "thinking_delta") => push_thinking(delta.thinking, out),
            (Some(OpenBlock::Thinking { signature }), "signature_delta") => signature.push_str(&delta.signature),
            (Some(OpenBlock::Call { id, start }), "input_json_delta") if !delta.partial_json.is_empty() => {
                *start = None;
                out.push(Chunk::ToolInput {
                    id: id.clone(),
                    delta: delta.partial_json,
                });
            }
            // Citations and future deltas.
            _ => {}
        }
    }

    /// The newest block with this index.
    fn open(&mut self, index: u64) -> Option<&mut OpenBlock> {
        let mut open = self.open.iter_mut().rev();
        open.find(|(own, _)| *own == index).map(|(_, open)| open)
    }

    fn end(&mut self, index: u64, out: &mut Vec<Chunk>) {
        let Some(place) = self.open.iter().rposition(|(own, _)| *own == index) else {
            return;
        };
        match self.open.remove(place).1 {
            OpenBlock::Text | OpenBlock::Foreign => {}
            OpenBlock::Thinking { signature } if signature.is_empty() => {}
            OpenBlock::Thinking { signature } => out.push(thinking_replay(json!({ "signature": signature }))),
            OpenBlock::Call { id, start } => {
                if let Some(delta) = start {
                    out.push(Chunk::ToolInput { id: id.clone(), delta });
                }
                out.push(Chunk::ToolEnd { id });
            }
        }
    }

    fn close_blocks(&mut self, out: &mut Vec<Chunk>) {
        if self.stopped {
            return;
        }
        while let Some((index, _)) = self.open.first() {
            let index = *index;
            self.end(index, out);
        }
        self.stopped = true;
        let called = if self.ids.is_empty() { Stop::End } else { Stop::ToolUse };
        out.push(Chunk::Stop(self.stop.take().unwrap_or(called)));
    }

    fn usage(&mut self, usage: AnthropicUsage, out: &mut Vec<Chunk>) {
        self.tokens.update(usage);
        out.push(Chunk::Usage(self.tokens.total()));
    }

    fn unique_id(&mut self, id: String, index: u64) -> CallId {
        let mut id = CallId::from(id);
        while id.as_str().is_empty() || self.ids.contains(&id) {
            id = CallId::from(format!("{}call_{index}_{}", id.as_str(), self.ids.len()));
        }
        self.ids.push(id.clone());
        id
    }
}

fn push_text(text: String, out: &mut Vec<Chunk>) {
    if !text.is_empty() {
        out.push(Chunk::Text(text));
    }
}

fn push_thinking(text: String, out: &mut Vec<Chunk>) {
    if !text.is_empty() {
        out.push(Chunk::Thinking(text));
    }
}

fn thinking_replay(data: Value) -> Chunk {
    Chunk::Replay {
        of: ChunkPart::Thinking,
        replay: ReplayData {
            wire: Wire::AnthropicMessages.name().to_string(),
            data,
        },
    }
}

fn stop(delta: &AnthropicDelta<'_>) -> Option<Stop> {
    let word = delta.stop_reason.as_deref()?;
    Some(match word {
        "end_turn" | "stop_sequence" => Stop::End,
        "tool_use" => Stop::ToolUse,
        // The context window ended before the reply; the effect is the same.
        "max_tokens" | "model_context_window_exceeded" => Stop::MaxTokens,
        "refusal" => Stop::Refusal {
            detail: delta.stop_details.as_ref().and_then(|details| {
                let text_of = |key: &str| details.get(key).and_then(Value::as_str).map(str::to_string);
                text_of("explanation").or_else(|| text_of("category"))
            }),
        },
        other => Stop::Other {
            word: other.to_string(),
        },
    })
}

/// An event with the fields that hew uses.
#[derive(Deserialize)]
struct AnthropicEvent<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    index: Option<u64>,
    #[serde(borrow)]
    delta: Option<AnthropicDelta<'a>>,
    #[serde(borrow)]
    content_block: Option<&'a RawValue>,
    message: Option<MessageStart>,
    usage: Option<AnthropicUsage>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// The most frequent event, parsed faster than in its general form.
#[derive(Deserialize)]
struct TextDeltaEvent<'a> {
    index: u64,
    #[serde(borrow)]
    delta: TextDelta<'a>,
}

#[derive(Deserialize)]
struct TextDelta<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    text: Cow<'a, str>,
}

#[derive(Deserialize)]
struct MessageStart {
    usage: Option<AnthropicUsage>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct BlockStart {
    #[serde(rename = "type")]
    kind: String,
    #[serde(deserialize_with = "nullable")]
    text: String,
    #[serde(deserialize_with = "nullable")]
    thinking: String,
    #[serde(deserialize_with = "nullable")]
    signature: String,
    #[serde(deserialize_with = "nullable")]
    data: String,
    #[serde(deserialize_with = "nullable")]
    id: String,
    #[serde(deserialize_with = "nullable")]
    name: String,
    input: Value,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct AnthropicDelta<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(deserialize_with = "nullable")]
    text: String,
    #[serde(deserialize_with = "nullable")]
    thinking: String,
    #[serde(deserialize_with = "nullable")]
    signature: String,
    #[serde(deserialize_with = "nullable")]
    partial_json: String,
    stop_reason: Option<String>,
    stop_details: Option<Value>,
}

/// The reported usage; a later event replaces only the fields it contains.
#[derive(Deserialize, Default)]
#[serde(default)]
struct AnthropicUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_creation: Option<CacheCreation>,
    output_tokens_details: Option<AnthropicOutputDetails>,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default)]
struct CacheCreation {
    #[serde(deserialize_with = "nullable")]
    ephemeral_1h_input_tokens: u64,
    #[serde(deserialize_with = "nullable")]
    ephemeral_5m_input_tokens: u64,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default)]
struct AnthropicOutputDetails {
    thinking_tokens: u64,
}

impl AnthropicUsage {
    fn update(&mut self, later: AnthropicUsage) {
        self.input_tokens = later.input_tokens.or(self.input_tokens);
        self.output_tokens = later.output_tokens.or(self.output_tokens);
        self.cache_read_input_tokens = later.cache_read_input_tokens.or(self.cache_read_input_tokens);
        self.cache_creation_input_tokens = later.cache_creation_input_tokens.or(self.cache_creation_input_tokens);
        self.cache_creation = later.cache_creation.or(self.cache_creation);
        self.output_tokens_details = later.output_tokens_details.or(self.output_tokens_details);
    }

    fn total(&self) -> Usage {
        let split = self.cache_creation.unwrap_or_default();
        let split_total = split.ephemeral_5m_input_tokens + split.ephemeral_1h_input_tokens;
        let written = self.cache_creation_input_tokens.unwrap_or(split_total);
        let hour = split.ephemeral_1h_input_tokens.min(written);
        Usage {
            input: self.input_tokens.unwrap_or(0),
            cache_read: self.cache_read_input_tokens.unwrap_or(0),
            cache_write: written - hour,
            cache_write_1h: hour,
            output: self.output_tokens.unwrap_or(0),
            thinking: self.output_tokens_details.unwrap_or_default().thinking_tokens,
            estimated: false,
        }
    }
}
