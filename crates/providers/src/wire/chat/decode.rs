//! Turns the chunks of a streamed completion into hew's chunks.

use super::calls::{Calls, Ending};
use super::details::Details;
use super::frame::{CallDelta, Choice, Delta, Frame, Words, spoken};
use super::think::Think;
use super::usage::Figures;
use crate::fault;
use crate::presets::Quirks;
use crate::sse;
use model::{Chunk, ChunkPart, Cost, Error, Replay, Stop, Usage, Wire};
use serde_json::{Value, json};

/// Reads one reply.
#[derive(Debug)]
pub(crate) struct Decoder {
    provider: String,
    /// Where the server may put thinking between tags.
    think: Option<Think>,
    calls: Calls,
    details: Details,
    refusal: String,
    usage: Option<Usage>,
    cost: Option<Cost>,
    finish: Option<String>,
    begun: bool,
    done: bool,
}

impl Decoder {
    /// A decoder for one reply of this provider.
    pub(crate) fn new(provider: &str) -> Self {
        Decoder {
            provider: provider.to_string(),
            think: None,
            calls: Calls::default(),
            details: Details::default(),
            refusal: String::new(),
            usage: None,
            cost: None,
            finish: None,
            begun: false,
            done: false,
        }
    }

    /// Heeds what the configuration says of the server.
    pub(crate) fn heed(&mut self, quirks: &Quirks) {
        self.think = quirks.think_tags.then(Think::default);
    }

    /// Takes in one event.
    pub(crate) fn event(&mut self, event: &sse::Event, out: &mut Vec<Chunk>) -> Result<(), Error> {
        let data = event.data.trim();
        if self.done || data.is_empty() {
            return Ok(());
        }
        if data == "[DONE]" {
            return self.complete(out);
        }
        let frame: Frame = match serde_json::from_str(data) {
            Ok(frame) => frame,
            Err(_) => return Err(fault::garbled(&self.provider, "an event is not a completion", data)),
        };
        if frame.is_failure(event.name.as_deref()) {
            return Err(fault::in_stream_body(&self.provider, data));
        }
        let Frame {
            choices, usage, x_groq, ..
        } = frame;
        self.figures(x_groq.and_then(|groq| groq.usage), out);
        // There is one answer: nobody asks for several.
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
            (false, None) => Err(fault::cut(&self.provider)),
        }
    }

    fn figures(&mut self, figures: Option<Box<Figures>>, out: &mut Vec<Chunk>) {
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

    fn choice(&mut self, choice: Choice, out: &mut Vec<Chunk>) {
        if let Some(delta) = choice.delta.or(choice.message) {
            self.delta(*delta, out);
        }
        if let Some(Words::Text(reason)) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            self.finish = Some(reason);
            self.begun = true;
        }
        self.figures(choice.usage, out);
    }

    fn delta(&mut self, delta: Delta, out: &mut Vec<Chunk>) {
        let thought = [delta.reasoning_content, delta.reasoning]
            .into_iter()
            .flatten()
            .map(Words::into_text)
            .find(|text| !text.is_empty());
        for detail in delta.reasoning_details.unwrap_or_default() {
            let text = self.details.push(detail);
            // Where the same words also stand beside the details, they have been taken from there.
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
            Some(Words::Text(text)) => self.text(text, out),
            Some(Words::Json(content)) => {
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
            self.calls.push(CallDelta::from(function), out);
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
                let text = spoken(thinking);
                if !text.is_empty() {
                    self.thinking(text, out);
                }
            } else if let Some(text) = part.get("text").and_then(Value::as_str) {
                self.text(text.to_string(), out);
            }
        }
    }

    /// The reply is complete: everything that waited for this comes out.
    fn complete(&mut self, out: &mut Vec<Chunk>) -> Result<(), Error> {
        let stop = self.stop()?;
        if let Some(think) = &mut self.think {
            think.finish(out);
        }
        let ending = if stop == Stop::MaxTokens {
            Ending::CutByLength
        } else {
            Ending::Whole
        };
        self.calls.finish(ending, out);
        if let Some(details) = self.details.take() {
            out.push(Chunk::Replay {
                of: ChunkPart::Thinking,
                replay: Replay {
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
            // Some servers forget the reason. An empty reply or half a call is more than that.
            return match self.begun && !self.calls.unfinished() {
                true => Ok(natural),
                false => Err(fault::cut(&self.provider)),
            };
        };
        Ok(match reason.to_lowercase().as_str() {
            _ if !self.refusal.is_empty() && !self.calls.any() => refused(),
            "stop" | "eos" | "eos_token" | "end" | "end_turn" | "stop_sequence" | "complete" | "completed" => natural,
            "tool_calls" | "tool_call" | "tool_use" | "function_call" | "function_calls" => natural,
            "length" | "max_tokens" | "max_output_tokens" | "model_length" | "token_limit" => Stop::MaxTokens,
            "content_filter" | "content-filter" | "content_filtered" | "sensitive" | "safety" | "refusal" => refused(),
            "insufficient_system_resource" => {
                return Err(fault::in_stream(
                    &self.provider,
                    "server_overloaded",
                    "it ran out of resources",
                ));
            }
            "error" | "network_error" | "abort" => {
                return Err(fault::in_stream(
                    &self.provider,
                    reason,
                    "it gave up in the middle of its reply",
                ));
            }
            _ if self.calls.any() => natural,
            _ => Stop::Other { word: reason.clone() },
        })
    }
}
