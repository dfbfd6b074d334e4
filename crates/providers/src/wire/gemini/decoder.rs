//! Decodes the chunks of a streamed reply.

use crate::error_mapping;
use crate::sse;
use crate::wire::chat::unique_id;
use model::{CallId, Chunk, ChunkPart, Error, ReplayData, Stop, Usage, Wire};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Decodes one reply.
#[derive(Debug)]
pub(crate) struct GeminiDecoder {
    provider: String,
    calls: Vec<CallId>,
    /// Whether text, or reasoning, has arrived without a signature yet.
    open_text: bool,
    open_thinking: bool,
    usage: Option<Usage>,
    finish: Option<(String, Option<String>)>,
    blocked: Option<String>,
    done: bool,
}

impl GeminiDecoder {
    /// A decoder for one reply of this provider.
    pub(crate) fn new(provider: &str) -> Self {
        GeminiDecoder {
            provider: provider.to_string(),
            calls: Vec::new(),
            open_text: false,
            open_thinking: false,
            usage: None,
            finish: None,
            blocked: None,
            done: false,
        }
    }

    /// Decodes one event.
    pub(crate) fn event(&mut self, event: &sse::SseEvent, out: &mut Vec<Chunk>) -> Result<(), Error> {
        let data = event.data.trim();
        if self.done || data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let frame: GeminiChunk = match serde_json::from_str(data) {
            Ok(frame) => frame,
            Err(_) => {
                return Err(error_mapping::invalid_response(
                    &self.provider,
                    "an event is not part of a reply",
                    data,
                ));
            }
        };
        if frame.error.is_some() {
            return Err(error_mapping::from_stream_body(&self.provider, data));
        }
        if let Some(figures) = frame.usage_metadata {
            let usage = figures.usage();
            if self.usage != Some(usage) {
                self.usage = Some(usage);
                out.push(Chunk::Usage(usage));
            }
        }
        if let Some(feedback) = frame.prompt_feedback.filter(|feedback| feedback.block_reason.is_some()) {
            self.blocked = feedback.block_reason_message.or(feedback.block_reason);
        }
        // Only one choice is requested.
        let Some(candidate) = frame.candidates.unwrap_or_default().into_iter().next() else {
            return Ok(());
        };
        for part in candidate.content.and_then(|content| content.parts).unwrap_or_default() {
            self.part(part, out);
        }
        if let Some(reason) = candidate.finish_reason {
            self.finish = Some((reason, candidate.finish_message));
        }
        Ok(())
    }

    /// The stream has ended: only now it is certain that nothing follows.
    pub(crate) fn finish(&mut self, out: &mut Vec<Chunk>) -> Result<(), Error> {
        if self.done {
            return Ok(());
        }
        let stop = self.stop()?;
        out.push(Chunk::Stop(stop));
        self.done = true;
        Ok(())
    }

    fn part(&mut self, part: GeminiPart, out: &mut Vec<Chunk>) {
        let signature = part.thought_signature.filter(|signature| !signature.is_empty());
        if let Some(call) = part.function_call {
            return self.call(*call, signature, out);
        }
        let Some(text) = part.text else { return };
        let (of, open) = match part.thought {
            Some(true) => (ChunkPart::Thinking, &mut self.open_thinking),
            Some(false) | None => (ChunkPart::Text, &mut self.open_text),
        };
        // A part with a signature stays separate: its text must be sent back unchanged.
        if signature.is_some() && std::mem::take(open) {
            out.push(signature_replay(of.clone(), Value::Null));
        }
        if !text.is_empty() {
            *open = true;
            out.push(if of == ChunkPart::Thinking {
                Chunk::Thinking(text)
            } else {
                Chunk::Text(text)
            });
        }
        if let Some(signature) = signature {
            *open = false;
            out.push(signature_replay(of, json!({"thoughtSignature": signature})));
        }
    }

    fn call(&mut self, call: GeminiFunctionCall, signature: Option<String>, out: &mut Vec<Chunk>) {
        let given = call.id.unwrap_or_default();
        let id = unique_id(&given, |id| self.calls.iter().any(|own| own.as_str() == id));
        self.calls.push(id.clone());
        out.push(Chunk::ToolStart {
            id: id.clone(),
            name: call.name.unwrap_or_default(),
        });
        out.push(Chunk::ToolInput {
            id: id.clone(),
            delta: Value::Object(call.args.unwrap_or_default()).to_string(),
        });
        if let Some(signature) = signature {
            out.push(signature_replay(
                ChunkPart::Call(id.clone()),
                json!({"thoughtSignature": signature}),
            ));
        }
        out.push(Chunk::ToolEnd { id });
    }

    fn stop(&self) -> Result<Stop, Error> {
        if let (None, Some(reason)) = (&self.finish, &self.blocked) {
            return Ok(Stop::Refusal {
                detail: Some(reason.clone()),
            });
        }
        let Some((reason, message)) = &self.finish else {
            return Err(error_mapping::stream_cut(&self.provider));
        };
        let words = message.clone().filter(|message| !message.is_empty());
        Ok(match reason.as_str() {
            "STOP" | "FINISH_REASON_STOP" if self.calls.is_empty() => Stop::End,
            "STOP" | "FINISH_REASON_STOP" => Stop::ToolUse,
            "MAX_TOKENS" => Stop::MaxTokens,
            "SAFETY"
            | "RECITATION"
            | "LANGUAGE"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION"
            | "MODEL_ARMOR" => Stop::Refusal {
                detail: words.or_else(|| Some(reason.clone())),
            },
            // The model produced an invalid tool call; a retry usually succeeds.
            "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "MALFORMED_RESPONSE" => {
                let what = format!("the model's tool call cannot be read ({reason})");
                return Err(error_mapping::invalid_response(
                    &self.provider,
                    &what,
                    words.as_deref().unwrap_or_default(),
                ));
            }
            _ => Stop::Other { word: reason.clone() },
        })
    }
}

fn signature_replay(of: ChunkPart, data: Value) -> Chunk {
    Chunk::Replay {
        of,
        replay: ReplayData {
            wire: Wire::Gemini.name().to_string(),
            data,
        },
    }
}

/// One event.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct GeminiChunk {
    candidates: Option<Vec<GeminiCandidate>>,
    prompt_feedback: Option<Box<PromptFeedback>>,
    usage_metadata: Option<GeminiUsage>,
    error: Option<Box<Value>>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct GeminiCandidate {
    content: Option<GeminiContent>,
    finish_reason: Option<String>,
    finish_message: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct GeminiContent {
    parts: Option<Vec<GeminiPart>>,
}

/// Code executed by the provider, its results and citations are ignored.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct GeminiPart {
    text: Option<String>,
    thought: Option<bool>,
    thought_signature: Option<String>,
    function_call: Option<Box<GeminiFunctionCall>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct GeminiFunctionCall {
    id: Option<String>,
    name: Option<String>,
    args: Option<Map<String, Value>>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct PromptFeedback {
    block_reason: Option<String>,
    block_reason_message: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct GeminiUsage {
    prompt_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
}

impl GeminiUsage {
    fn usage(&self) -> Usage {
        let prompt = self.prompt_token_count.unwrap_or(0) + self.tool_use_prompt_token_count.unwrap_or(0);
        let cache_read = self.cached_content_token_count.unwrap_or(0).min(prompt);
        let thinking = self.thoughts_token_count.unwrap_or(0);
        Usage {
            input: prompt - cache_read,
            cache_read,
            output: self.candidates_token_count.unwrap_or(0) + thinking,
            thinking,
            ..Usage::default()
        }
    }
}
