//! Decodes the chunks of a streamed completion.

use super::chunk::{ChatChoice, ChatChunk, ChatDelta, LooseText, ToolCallDelta, joined_text};
use super::reasoning_details::ReasoningDetails;
use super::think_tags::ThinkTagSplitter;
use super::tool_calls::{ReplyEnding, ToolCallAssembler};
use super::usage::ChatUsage;
use crate::error_mapping;
use crate::presets::Quirks;
use crate::sse;
use model::{Chunk, ChunkPart, Cost, Error, ReplayData, Stop, Usage, Wire};
use serde_json::{Value, json};

/// Decodes one reply.
#[derive(Debug)]
pub(crate) struct ChatDecoder {
    provider: String,
    /// Set if the server may send reasoning between tags.
    think: Option<ThinkTagSplitter>,
    calls: ToolCallAssembler,
    details: ReasoningDetails,
    refusal: String,
    usage: Option<Usage>,
    cost: Option<Cost>,
    finish: Option<String>,
    begun: bool,
    done: bool,
}

impl ChatDecoder {
    /// A decoder for one reply of this provider.
    pub(crate) fn new(provider: &str) -> Self {
        ChatDecoder {
            provider: provider.to_string(),
            think: None,
            calls: ToolCallAssembler::default(),
            details: ReasoningDetails::default(),
            refusal: String::new(),
            usage: None,
            cost: None,
            finish: None,
            begun: false,
            done: false,
        }
    }

    /// Applies the server's quirks.
    pub(crate) fn apply_quirks(&mut self, quirks: &Quirks) {
        self.think = quirks.think_tags.then(ThinkTagSplitter::default);
    }

    /// Decodes one event.
    pub(crate) fn event(&mut self, event: &sse::SseEvent, out: &mut Vec<Chunk>) -> Result<(), Error> {
        let data = event.data.trim();
        if self.done || data.is_empty() {
            return Ok(());
        }
        if data == "[DONE]" {
            return self.complete(out);
        }
        let frame: ChatChunk = match serde_json::from_str(data) {
            Ok(frame) => frame,
            Err(_) => {
                return Err(error_mapping::invalid_response(
                    &self.provider,
                    "an event is not a completion",
                    data,
                ));
            }
        };
        if frame.is_failure(event.name.as_deref()) {
            return Err(error_mapping::from_stream_body(&self.provider, data));
        }
        let ChatChunk {
            choices, usage, x_groq, ..
        } = frame;
        self.figures(x_groq.and_then(|groq| groq.usage), out);
        // Only one choice is requested.
        if let Some(choice) = choices.unwrap_or_default().into_iter().next() {
            self.choice(choice, out);
        }
        self.figures(usage, out);
        Ok(())
    }

    /// The stream has ended.
    pub(crate) fn finish(&mut self, out: &mut Vec<Chunk>) -> Result<(), Error> {
        match (self.done, &self.finish) {
            (true, _) => Ok(()),
            (false, Some(_)) => self.complete(out),
            (false, None) => Err(error_mapping::stream_cut(&self.provider)),
        }
    }

    fn figures(&mut self, figures: Option<Box<ChatUsage>>, out: &mut Vec<Chunk>) {
        let Some(figures) = figures else { return };
        let usage = figures.usage();
        if usage != Usage::default() && self.usage != Some(usage) {
            self.usage = Some(usage);
            out.push(Chunk::Usage(usage));
        }
        let cost = figures.cost();
        if cost.is_some() && cost != self.cost {
            self.cost = cost;
            out.extend(cost.map(Chunk::Cost));
        }
    }

    fn choice(&mut self, choice: ChatChoice, out: &mut Vec<Chunk>) {
        if let Some(delta) = choice.delta.or(choice.message) {
            self.delta(*delta, out);
        }
        if let Some(LooseText::Text(reason)) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            self.finish = Some(reason);
            self.begun = true;
        }
        self.figures(choice.usage, out);
    }

    fn delta(&mut self, delta: ChatDelta, out: &mut Vec<Chunk>) {
        let thought = [delta.reasoning_content, delta.reasoning]
            .into_iter()
            .flatten()
            .map(LooseText::into_text)
            .find(|text| !text.is_empty());
        for detail in delta.reasoning_details.unwrap_or_default() {
            let text = self.details.push(detail);
            // If the text is also outside of the details, it was taken from there.
            if thought.is_none()
                && let Some(text) = text.filter(|text| !text.is_empty())
            {
                self.thinking(text, out);
            }
            self.begun = true;
        }
        if let Some(text) = thought {
            self.thinking(text, out);
        }
        match delta.content {
            Some(LooseText::Text(text)) => self.text(text, out),
            Some(LooseText::Json(content)) => {
                if let Value::Array(parts) = *content {
                    self.parts(parts, out);
                }
            }
            None => {}
        }
        if let Some(refusal) = delta.refusal {
            self.refusal.push_str(&refusal.into_text());
        }
        if let Some(function) = delta.function_call {
            self.begun = true;
            self.calls.push(ToolCallDelta::from(function), out);
        }
        for call in delta.tool_calls.unwrap_or_default() {
            self.begun = true;
            self.calls.push(call, out);
        }
    }

    fn thinking(&mut self, text: String, out: &mut Vec<Chunk>) {
        self.begun = true;
        out.push(Chunk::Thinking(text));
    }

    fn text(&mut self, text: String, out: &mut Vec<Chunk>) {
        if text.is_empty() {
            return;
        }
        self.begun = true;
        match &mut self.think {
            Some(think) => think.push(text, out),
            None => out.push(Chunk::Text(text)),
        }
    }

    /// Content in typed parts (Mistral).
    fn parts(&mut self, parts: Vec<Value>, out: &mut Vec<Chunk>) {
        for part in parts {
            if let Some(thinking) = part.get("thinking") {
                let text = joined_text(thinking);
                if !text.is_empty() {
                    self.thinking(text, out);
                }
            } else if let Some(text) = part.get("text").and_then(Value::as_str) {
                self.text(text.to_string(), out);
            }
        }
    }

    /// The reply is complete: emits everything pending.
    fn complete(&mut self, out: &mut Vec<Chunk>) -> Result<(), Error> {
        let stop = self.stop()?;
        if let Some(think) = &mut self.think {
            think.finish(out);
        }
        let ending = if stop == Stop::MaxTokens {
            ReplyEnding::CutByLength
        } else {
            ReplyEnding::Whole
        };
        self.calls.finish(ending, out);
        if let Some(details) = self.details.take() {
            out.push(Chunk::Replay {
                of: ChunkPart::Thinking,
                replay: ReplayData {
                    wire: Wire::OpenaiChat.name().to_string(),
                    data: json!({"reasoning_details": details}),
                },
            });
        }
        out.push(Chunk::Stop(stop));
        self.done = true;
        Ok(())
    }

    fn stop(&self) -> Result<Stop, Error> {
        let natural = if self.calls.any() { Stop::ToolUse } else { Stop::End };
        let refused = || Stop::Refusal {
            detail: Some(self.refusal.clone()).filter(|words| !words.is_empty()),
        };
        let Some(reason) = &self.finish else {
            // Some servers omit the reason. An empty reply or a partial call is a truncated stream.
            return match self.begun && !self.calls.unfinished() {
                true => Ok(natural),
                false => Err(error_mapping::stream_cut(&self.provider)),
            };
        };
        Ok(match reason.to_lowercase().as_str() {
            _ if !self.refusal.is_empty() && !self.calls.any() => refused(),
            "stop" | "eos" | "eos_token" | "end" | "end_turn" | "stop_sequence" | "complete" | "completed" => natural,
            "tool_calls" | "tool_call" | "tool_use" | "function_call" | "function_calls" => natural,
            "length" | "max_tokens" | "max_output_tokens" | "model_length" | "token_limit" => Stop::MaxTokens,
            "content_filter" | "content-filter" | "content_filtered" | "sensitive" | "safety" | "refusal" => refused(),
            "insufficient_system_resource" => {
                return Err(error_mapping::from_stream_event(
                    &self.provider,
                    "server_overloaded",
                    "it ran out of resources",
                ));
            }
            "error" | "network_error" | "abort" => {
                return Err(error_mapping::from_stream_event(
                    &self.provider,
                    reason,
                    "it stopped in the middle of its reply",
                ));
            }
            _ if self.calls.any() => natural,
            _ => Stop::Other { word: reason.clone() },
        })
    }
}
