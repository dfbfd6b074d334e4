//! Decodes the events of a streamed reply.

use crate::error_mapping;
use crate::event_stream::EventStreamFrame;
use crate::sse::SseEvent;
use crate::wire::bedrock;
use crate::wire::chat::unique_id;
use model::{CallId, Chunk, ChunkPart, Error, ReplayData, Stop, Usage, Wire};
use serde_json::{Value, json};

/// The event in a frame; its name is the kind of the frame.
pub(crate) fn event(provider: &str, frame: &EventStreamFrame) -> Result<Option<SseEvent>, Error> {
    match frame.message_type.as_str() {
        "event" => Ok(Some(SseEvent {
            name: Some(frame.kind.clone()),
            data: String::from_utf8_lossy(&frame.payload).into_owned(),
        })),
        _ => bedrock::event(provider, frame),
    }
}

/// Decodes one reply.
#[derive(Debug)]
pub(crate) struct ConverseDecoder {
    provider: String,
    calls: Vec<CallId>,
    /// The open call with the index of its block.
    open: Option<(u64, CallId)>,
    stop: Option<String>,
    has_started: bool,
    done: bool,
}

impl ConverseDecoder {
    /// A decoder for one reply of this provider.
    pub(crate) fn new(provider: &str) -> Self {
        ConverseDecoder {
            provider: provider.to_string(),
            calls: Vec::new(),
            open: None,
            stop: None,
            has_started: false,
            done: false,
        }
    }

    /// Decodes one event.
    pub(crate) fn event(&mut self, event: &SseEvent, out: &mut Vec<Chunk>) -> Result<(), Error> {
        let invalid = |what: &str| error_mapping::invalid_response(&self.provider, what, &event.data);
        let data: Value = serde_json::from_str(&event.data).map_err(|_| invalid("an event is not part of a reply"))?;
        match event.name.as_deref().unwrap_or_default() {
            "messageStart" if self.has_started => return Err(invalid("a second message starts in the same reply")),
            "messageStart" => self.has_started = true,
            "contentBlockStart" => self.start(&data, out),
            "contentBlockDelta" => self.delta(&data, out),
            "contentBlockStop" => self.end_call(out),
            "messageStop" => {
                self.end_call(out);
                self.stop = Some(data["stopReason"].as_str().unwrap_or("end_turn").to_owned());
            }
            "metadata" => out.extend(usage(&data["usage"]).map(Chunk::Usage)),
            // Unknown events have no content.
            _ => {}
        }
        Ok(())
    }

    /// The stream has ended.
    pub(crate) fn finish(&mut self, out: &mut Vec<Chunk>) -> Result<(), Error> {
        if self.done {
            return Ok(());
        }
        let Some(reason) = self.stop.take() else {
            return Err(error_mapping::stream_cut(&self.provider));
        };
        let stop = match reason.as_str() {
            "end_turn" | "stop_sequence" if self.calls.is_empty() => Stop::End,
            "end_turn" | "stop_sequence" | "tool_use" => Stop::ToolUse,
            "max_tokens" => Stop::MaxTokens,
            "guardrail_intervened" | "content_filtered" => Stop::Refusal { detail: Some(reason) },
            "malformed_model_output" | "malformed_tool_use" => {
                let what = format!("the model's reply cannot be read ({reason})");
                return Err(error_mapping::invalid_response(&self.provider, &what, ""));
            }
            "model_context_window_exceeded" => Stop::MaxTokens,
            _ => Stop::Other { word: reason },
        };
        out.push(Chunk::Stop(stop));
        self.done = true;
        Ok(())
    }

    fn start(&mut self, data: &Value, out: &mut Vec<Chunk>) {
        let call = &data["start"]["toolUse"];
        if !call.is_object() {
            return;
        }
        self.end_call(out);
        let given = call["toolUseId"].as_str().unwrap_or_default();
        let id = unique_id(given, |id| self.calls.iter().any(|own| own.as_str() == id));
        self.calls.push(id.clone());
        self.open = Some((data["contentBlockIndex"].as_u64().unwrap_or(0), id.clone()));
        let name = call["name"].as_str().unwrap_or_default().to_owned();
        out.push(Chunk::ToolStart { id, name });
    }

    fn delta(&mut self, data: &Value, out: &mut Vec<Chunk>) {
        let delta = &data["delta"];
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        out.extend(text(&delta["text"]).map(Chunk::Text));
        let reasoning = &delta["reasoningContent"];
        out.extend(text(&reasoning["text"]).map(Chunk::Thinking));
        for key in ["signature", "redactedContent"] {
            if let Some(value) = text(&reasoning[key]) {
                out.push(Chunk::Replay {
                    of: ChunkPart::Thinking,
                    replay: ReplayData {
                        wire: Wire::BedrockConverse.name().to_string(),
                        data: json!({ key: value }),
                    },
                });
            }
        }
        if let (Some((_, id)), Some(delta)) = (&self.open, text(&delta["toolUse"]["input"])) {
            let id = id.clone();
            out.push(Chunk::ToolInput { id, delta });
        }
    }

    fn end_call(&mut self, out: &mut Vec<Chunk>) {
        if let Some((_, id)) = self.open.take() {
            out.push(Chunk::ToolEnd { id });
        }
    }
}

fn usage(data: &Value) -> Option<Usage> {
    let count = |key: &str| data[key].as_u64().unwrap_or(0);
    data.is_object().then(|| Usage {
        input: count("inputTokens"),
        cache_read: count("cacheReadInputTokens"),
        cache_write: count("cacheWriteInputTokens"),
        output: count("outputTokens"),
        ..Usage::default()
    })
}
