//! Decodes the events of a streamed response.

use super::event::{ResponsesEvent, ResponsesItem, ResponsesReply};
use crate::error_mapping;
use crate::sse;
use crate::wire::chat::{CUT_INPUT, LooseText, unique_id};
use model::{CallId, Chunk, ChunkPart, Error, ReplayData, Stop, Wire};
use serde_json::{Value, json};

/// Decodes one reply.
#[derive(Debug)]
pub(crate) struct ResponsesDecoder {
    provider: String,
    calls: Vec<ResponsesCall>,
    /// Whether text, or reasoning, has arrived without a signature yet.
    open_text: bool,
    open_thinking: bool,
    /// Which kinds of text came as deltas, so that complete items are not emitted twice.
    streamed: StreamedKinds,
    refusal: String,
    /// Whether any item has arrived.
    has_items: bool,
    done: bool,
}

#[derive(Debug, Default)]
struct StreamedKinds {
    text: bool,
    thinking: bool,
}

#[derive(Debug)]
struct ResponsesCall {
    position: ItemPosition,
    id: CallId,
    input: String,
    ended: bool,
}

/// Identifies the events of a call: the item's id and its index in the output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct ItemPosition {
    item: String,
    index: Option<u64>,
}

impl ResponsesCall {
    /// Completes the call. A call truncated at the output limit has invalid input, which is reported to the model.
    fn end(&mut self, is_cut: bool, out: &mut Vec<Chunk>) {
        if is_cut && self.input.trim().is_empty() {
            out.push(Chunk::ToolInput {
                id: self.id.clone(),
                delta: CUT_INPUT.into(),
            });
        }
        self.ended = true;
        out.push(Chunk::ToolEnd { id: self.id.clone() });
    }
}

impl ResponsesDecoder {
    /// A decoder for one reply of this provider.
    pub(crate) fn new(provider: &str) -> Self {
        ResponsesDecoder {
            provider: provider.to_string(),
            calls: Vec::new(),
            open_text: false,
            open_thinking: false,
            streamed: StreamedKinds::default(),
            refusal: String::new(),
            has_items: false,
            done: false,
        }
    }

    /// Decodes one event.
    pub(crate) fn event(&mut self, event: &sse::SseEvent, out: &mut Vec<Chunk>) -> Result<(), Error> {
        let data = event.data.trim();
        if self.done || data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let frame: ResponsesEvent<'_> = match serde_json::from_str(data) {
            Ok(frame) => frame,
            Err(_) => {
                return Err(error_mapping::invalid_response(
                    &self.provider,
                    "an event is not part of a response",
                    data,
                ));
            }
        };
        let kind = frame.kind.as_deref().or(event.name.as_deref()).unwrap_or_default();
        match kind {
            // A second response in the same stream would be mixed with the first one.
            "response.created" if self.has_items => {
                return Err(error_mapping::invalid_response(
                    &self.provider,
                    "two responses in one stream",
                    "",
                ));
            }
            "response.output_text.delta" => self.text(frame.delta_text(), out),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.thinking(frame.delta_text(), out)
            }
            "response.reasoning_summary_part.added" => self.split_thinking(out),
            "response.refusal.delta" => self.refusal.push_str(&frame.delta_text()),
            "response.function_call_arguments.delta" => self.input(frame, out),
            "response.output_item.added" => self.item_added(frame, out),
            "response.output_item.done" => self.item_done(frame, out),
            "response.completed" | "response.done" | "response.incomplete" => self.complete(frame.response, out)?,
            "response.failed" | "response.cancelled" | "error" => return Err(self.failure(data)),
            // A proxy's error without a type.
            "" if frame.error.is_some() => return Err(self.failure(data)),
            // Other events repeat content or report on tools run by the provider.
            _ => {}
        }
        Ok(())
    }

    /// The stream has ended.
    pub(crate) fn finish(&mut self, _out: &mut Vec<Chunk>) -> Result<(), Error> {
        if self.done {
            Ok(())
        } else {
            Err(error_mapping::stream_cut(&self.provider))
        }
    }

    fn text(&mut self, text: String, out: &mut Vec<Chunk>) {
        if !text.is_empty() {
            self.has_items = true;
            self.open_text = true;
            self.streamed.text = true;
            out.push(Chunk::Text(text));
        }
    }

    fn thinking(&mut self, text: String, out: &mut Vec<Chunk>) {
        if !text.is_empty() {
            self.open_thinking = true;
            self.streamed.thinking = true;
            out.push(Chunk::Thinking(text));
        }
    }

    /// Each part of a summary is a separate paragraph.
    fn split_thinking(&mut self, out: &mut Vec<Chunk>) {
        if std::mem::take(&mut self.open_thinking) {
            out.push(replay(ChunkPart::Thinking, Value::Null));
        }
    }

    fn item_added(&mut self, frame: ResponsesEvent<'_>, out: &mut Vec<Chunk>) {
        self.has_items = true;
        let Some(item) = frame.item else { return };
        match item.kind.as_deref() {
            Some("function_call") => {
                self.begin(&item, frame.output_index, out);
            }
            // Two messages in one reply are two parts.
            Some("message") if std::mem::take(&mut self.open_text) => out.push(replay(ChunkPart::Text, Value::Null)),
            Some("reasoning") => self.split_thinking(out),
            Some(_) | None => {}
        }
    }

    fn item_done(&mut self, frame: ResponsesEvent<'_>, out: &mut Vec<Chunk>) {
        if let Some(item) = frame.item {
            self.item(*item, frame.output_index, out);
        }
    }

    fn item(&mut self, item: ResponsesItem, index: Option<u64>, out: &mut Vec<Chunk>) {
        self.has_items = true;
        match item.kind.as_deref() {
            Some("function_call") => self.call_done(item, index, out),
            Some("message") => self.message_done(&item, out),
            Some("reasoning") => self.reasoning_done(&item, out),
            Some(_) | None => {}
        }
    }

    fn begin(&mut self, item: &ResponsesItem, index: Option<u64>, out: &mut Vec<Chunk>) -> usize {
        let given = item.call_id.as_deref().or(item.id.as_deref()).unwrap_or_default();
        let id = unique_id(given, |id| self.calls.iter().any(|call| call.id.as_str() == id));
        out.push(Chunk::ToolStart {
            id: id.clone(),
            name: item.name.clone().unwrap_or_default(),
        });
        self.calls.push(ResponsesCall {
            position: ItemPosition {
                item: item.id.clone().unwrap_or_default(),
                index,
            },
            id,
            input: String::new(),
            ended: false,
        });
        self.calls.len() - 1
    }

    fn input(&mut self, frame: ResponsesEvent<'_>, out: &mut Vec<Chunk>) {
        let position = ItemPosition {
            item: frame.item_id.as_deref().unwrap_or_default().to_string(),
            index: frame.output_index,
        };
        let found = self.find(&position).or(self.calls.len().checked_sub(1));
        let Some(call) = found.and_then(|found| self.calls.get_mut(found)) else {
            return;
        };
        let delta = frame.delta_text();
        if !call.ended && !delta.is_empty() {
            call.input.push_str(&delta);
            out.push(Chunk::ToolInput {
                id: call.id.clone(),
                delta,
            });
        }
    }

    fn call_done(&mut self, item: ResponsesItem, index: Option<u64>, out: &mut Vec<Chunk>) {
        let position = ItemPosition {
            item: item.id.clone().unwrap_or_default(),
            index,
        };
        let found = match self.find(&position).filter(|found| !self.calls[*found].ended) {
            Some(found) => found,
            None => self.begin(&item, index, out),
        };
        let call = &mut self.calls[found];
        // The rest of the input, for servers that send it only here.
        let whole = item.arguments.map(LooseText::into_json_text).unwrap_or_default();
        if let Some(rest) = whole.strip_prefix(call.input.as_str()).filter(|rest| !rest.is_empty()) {
            let (id, delta) = (call.id.clone(), rest.to_string());
            call.input.push_str(&delta);
            out.push(Chunk::ToolInput { id, delta });
        }
        call.end(item.status.as_deref() == Some("incomplete"), out);
    }

    fn find(&self, position: &ItemPosition) -> Option<usize> {
        let by_item = self
            .calls
            .iter()
            .rposition(|call| !position.item.is_empty() && call.position.item == position.item);
        by_item.or_else(|| {
            let same = |call: &ResponsesCall| call.position.index.is_some() && call.position.index == position.index;
            self.calls.iter().rposition(same)
        })
    }

    fn message_done(&mut self, item: &ResponsesItem, out: &mut Vec<Chunk>) {
        if !std::mem::take(&mut self.streamed.text) {
            let text: String = item.texts("output_text").collect();
            self.text(text, out);
            self.streamed.text = false;
        }
        if self.refusal.is_empty() {
            self.refusal = item.refusals().collect();
        }
        if let Some(phase) = &item.phase
            && std::mem::take(&mut self.open_text)
        {
            out.push(replay(ChunkPart::Text, json!({"phase": phase})));
        }
    }

    fn reasoning_done(&mut self, item: &ResponsesItem, out: &mut Vec<Chunk>) {
        if !std::mem::take(&mut self.streamed.thinking) {
            let summary = item.summary.as_ref().and_then(Value::as_array).into_iter().flatten();
            let text: Vec<&str> = summary.filter_map(|part| part.get("text")?.as_str()).collect();
            let text = if text.is_empty() {
                item.texts("reasoning_text").collect()
            } else {
                text.join("\n\n")
            };
            self.thinking(text, out);
            self.streamed.thinking = false;
        }
        let Some(encrypted) = item.encrypted_content.as_ref().filter(|text| !text.is_empty()) else {
            return self.split_thinking(out);
        };
        let item_data = json!({
            "type": "reasoning",
            "id": item.id,
            "summary": item.summary.clone().filter(Value::is_array).unwrap_or_else(|| json!([])),
            "encrypted_content": encrypted,
        });
        self.open_thinking = false;
        out.push(replay(
            ChunkPart::Thinking,
            json!({"provider": self.provider, "item": item_data}),
        ));
    }

    fn complete(&mut self, response: Option<Box<ResponsesReply>>, out: &mut Vec<Chunk>) -> Result<(), Error> {
        let mut response = response.map(|response| *response).unwrap_or_default();
        if !self.has_items {
            // A server that does not stream sends everything at the end.
            for item in response.output.take().unwrap_or_default() {
                self.item(item, None, out);
            }
        }
        if let Some(usage) = &response.usage {
            out.push(Chunk::Usage(usage.usage()));
        }
        let reason = response.incomplete_details.and_then(|details| details.reason);
        let stop = match reason.as_deref() {
            Some("max_output_tokens" | "max_tokens") => Stop::MaxTokens,
            Some("content_filter") => Stop::Refusal {
                detail: self.refusal_detail(),
            },
            Some(word) => Stop::Other { word: word.to_string() },
            None if !self.calls.is_empty() => Stop::ToolUse,
            None if !self.refusal.is_empty() => Stop::Refusal {
                detail: self.refusal_detail(),
            },
            None => Stop::End,
        };
        // The end of the response completes items that the server never completed.
        let is_cut = stop == Stop::MaxTokens;
        if is_cut || stop == Stop::ToolUse {
            for call in self.calls.iter_mut().filter(|call| !call.ended) {
                call.end(is_cut, out);
            }
        }
        out.push(Chunk::Stop(stop));
        self.done = true;
        Ok(())
    }

    fn refusal_detail(&self) -> Option<String> {
        Some(self.refusal.clone()).filter(|words| !words.is_empty())
    }

    /// The error in an event: in the response, in an `error` object, or in the event itself.
    fn failure(&self, data: &str) -> Error {
        let value: Value = serde_json::from_str(data).unwrap_or_default();
        let inner = value
            .pointer("/response/error")
            .or_else(|| value.get("error"))
            .filter(|error| !error.is_null());
        let error = inner.unwrap_or(&value);
        let word = |key: &str| {
            error
                .get(key)
                .and_then(Value::as_str)
                .filter(|word| !word.is_empty() && *word != "error")
        };
        match word("code").or_else(|| word("type")) {
            Some(code) => error_mapping::from_stream_event(&self.provider, code, word("message").unwrap_or_default()),
            None => error_mapping::from_stream_body(&self.provider, data),
        }
    }
}

fn replay(of: ChunkPart, data: Value) -> Chunk {
    Chunk::Replay {
        of,
        replay: ReplayData {
            wire: Wire::OpenaiResponses.name().to_string(),
            data,
        },
    }
}
