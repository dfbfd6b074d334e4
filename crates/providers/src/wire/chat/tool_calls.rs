//! Assembles tool calls from deltas and tolerates wrong indices and ids.

use super::chunk::{LooseText, ToolCallDelta};
use model::{CallId, Chunk, ChunkPart, ReplayData, Wire};
use ring::rand::SecureRandom;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

/// The calls of one reply.
#[derive(Debug, Default)]
pub(super) struct ToolCallAssembler {
    list: Vec<PendingToolCall>,
}

#[derive(Debug)]
struct PendingToolCall {
    index: Option<i64>,
    /// The server's id; empty if it sent none.
    wire_id: String,
    /// hew's id, set when the call starts.
    id: Option<CallId>,
    name: String,
    input: String,
    ended: bool,
    extra: Option<Value>,
}

/// How the reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyEnding {
    /// Complete: every call is final.
    Whole,
    /// Truncated at the output limit: a call with incomplete input is reported to the model and not made.
    CutByLength,
}

impl ToolCallAssembler {
    /// Whether there are any calls.
    pub(super) fn any(&self) -> bool {
        !self.list.is_empty()
    }

    /// Whether a call has partial input.
    pub(super) fn unfinished(&self) -> bool {
        self.list
            .iter()
            .any(|call| !call.input.is_empty() && !complete(&call.input))
    }

    /// Adds one delta.
    pub(super) fn push(&mut self, delta: ToolCallDelta, out: &mut Vec<Chunk>) {
        let position = match self.find_call(&delta) {
            Some(position) => position,
            None => {
                self.end_complete_calls(out);
                self.list.push(PendingToolCall {
                    index: delta.index(),
                    wire_id: String::new(),
                    id: None,
                    name: String::new(),
                    input: String::new(),
                    ended: false,
                    extra: None,
                });
                self.list.len() - 1
            }
        };
        let taken: Vec<CallId> = self.list.iter().filter_map(|call| call.id.clone()).collect();
        let call = &mut self.list[position];
        if call.wire_id.is_empty() {
            call.wire_id = delta.id.unwrap_or_default();
        }
        if delta.extra_content.is_some() {
            call.extra = delta.extra_content.map(|extra| *extra);
        }
        let function = delta.function.unwrap_or_default();
        if call.name.is_empty() {
            call.name = function.name.unwrap_or_default();
        }
        let more = function.arguments.map(LooseText::into_json_text).unwrap_or_default();
        if call.ended {
            return;
        }
        call.input.push_str(&more);
        match &call.id {
            Some(id) if !more.is_empty() => out.push(Chunk::ToolInput {
                id: id.clone(),
                delta: more,
            }),
            None if !call.name.is_empty() => call.begin(&taken, out),
            Some(_) | None => {}
        }
    }

    /// The reply is complete.
    pub(super) fn finish(&mut self, ending: ReplyEnding, out: &mut Vec<Chunk>) {
        let mut taken: Vec<CallId> = self.list.iter().filter_map(|call| call.id.clone()).collect();
        for call in self.list.iter_mut().filter(|call| !call.ended) {
            if call.id.is_none() {
                call.begin(&taken, out);
                taken.extend(call.id.clone());
            }
            if ending == ReplyEnding::CutByLength {
                call.mark_cut(out);
            }
            call.end(out);
        }
    }

    /// The call that a delta continues; `None` if it starts a new one.
    fn find_call(&self, delta: &ToolCallDelta) -> Option<usize> {
        let id = delta.id.as_deref().filter(|id| !id.is_empty());
        let named = delta.name().is_some();
        let index = delta.index();
        let by_index = index.and_then(|index| self.list.iter().rposition(|call| call.index == Some(index)));
        let by_id = id.and_then(|id| self.list.iter().rposition(|call| call.wire_id == id));
        let last = self.list.len().checked_sub(1);
        let position = match (id, index) {
            (Some(id), Some(_)) => match by_index {
                Some(position) if self.list[position].wire_id == id || self.list[position].wire_id.is_empty() => {
                    Some(position)
                }
                // Several calls share an index: the id decides. Without a name, only the id changed.
                Some(position) => match by_id.filter(|own| self.list[*own].index == index) {
                    Some(own) => Some(own),
                    None => (!named).then_some(position),
                },
                None => by_id.filter(|_| !named),
            },
            (Some(_), None) => by_id.or(last.filter(|_| !named)),
            (None, Some(_)) => by_index.or(last.filter(|_| !named)),
            (None, None) => last,
        };
        position.filter(|position| !self.starts_new_call(*position, delta))
    }

    /// Whether a delta for an existing call starts a new one.
    fn starts_new_call(&self, position: usize, delta: &ToolCallDelta) -> bool {
        let call = &self.list[position];
        let Some(name) = delta.name() else { return false };
        if call.name.is_empty() {
            return false;
        }
        let same_id = delta
            .id
            .as_deref()
            .is_some_and(|id| !id.is_empty() && id == call.wire_id);
        let restarts = complete(&call.input) && delta.begins_object();
        restarts || (name != call.name && !same_id)
    }

    /// Ends the calls with final input, so that they can run while the rest still streams.
    fn end_complete_calls(&mut self, out: &mut Vec<Chunk>) {
        for call in self.list.iter_mut().filter(|call| call.id.is_some() && !call.ended) {
            if complete(&call.input) {
                call.end(out);
            }
        }
    }
}

impl PendingToolCall {
    fn begin(&mut self, taken: &[CallId], out: &mut Vec<Chunk>) {
        let id = unique_id(&self.wire_id, |id| taken.iter().any(|own| own.as_str() == id));
        out.push(Chunk::ToolStart {
            id: id.clone(),
            name: self.name.clone(),
        });
        if !self.input.is_empty() {
            out.push(Chunk::ToolInput {
                id: id.clone(),
                delta: self.input.clone(),
            });
        }
        self.id = Some(id);
    }

    /// Makes sure that the input of a truncated call is not valid: no input would be an empty object.
    fn mark_cut(&mut self, out: &mut Vec<Chunk>) {
        if let Some(id) = self.id.clone().filter(|_| self.input.trim().is_empty()) {
            out.push(Chunk::ToolInput {
                id,
                delta: CUT_INPUT.into(),
            });
        }
    }

    fn end(&mut self, out: &mut Vec<Chunk>) {
        let Some(id) = &self.id else { return };
        if let Some(extra) = self.extra.take() {
            out.push(Chunk::Replay {
                of: ChunkPart::Call(id.clone()),
                replay: ReplayData {
                    wire: Wire::OpenaiChat.name().to_string(),
                    data: json!({"extra_content": extra}),
                },
            });
        }
        out.push(Chunk::ToolEnd { id: id.clone() });
        self.ended = true;
    }
}

/// The input of a call that was truncated before its input began.
pub(crate) const CUT_INPUT: &str = "{";

/// Whether a text is a complete JSON object.
fn complete(input: &str) -> bool {
    input.trim_end().ends_with('}') && serde_json::from_str::<IgnoredAny>(input).is_ok()
}

/// The vendor's id if it is unused, otherwise a new one.
pub(crate) fn unique_id(given: &str, taken: impl Fn(&str) -> bool) -> CallId {
    if given.is_empty() || taken(given) {
        fresh_id()
    } else {
        CallId::from(given)
    }
}

/// A unique id.
fn fresh_id() -> CallId {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut bytes = [0_u8; 12];
    if ring::rand::SystemRandom::new().fill(&mut bytes).is_err() {
        // Without randomness the counter keeps the ids of this process distinct.
        bytes[..8].copy_from_slice(&COUNT.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    }
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    CallId::from(format!("call_{hex}"))
}
