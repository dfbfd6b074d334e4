//! A call in the text of a reply, while it is parsed.

use super::WIRE;
use super::grammar::ParameterKind;
use super::syntax::CallSyntax;
use super::value::{ParameterValue, quoted};
use model::{CallId, Chunk, ChunkPart, ReplayData};
use serde_json::Map;

/// A call that is being parsed.
#[derive(Debug)]
pub(super) struct TextCall {
    pub(super) id: CallId,
    pub(super) name: String,
    pub(super) form: CallSyntax,
    /// As the model wrote it.
    pub(super) raw: String,
    /// As emitted.
    pub(super) json: String,
    /// Whether nothing comes before it.
    pub(super) first: bool,
    /// Parameters that are emitted at the end, because they may come in several parts.
    pub(super) later: Map<String, serde_json::Value>,
    /// The names of all parameters, in order.
    pub(super) names: Vec<String>,
    /// The position of its tag in the reply.
    pub(super) start: usize,
    /// Whether a value ends without its closing tag.
    pub(super) is_cut: bool,
}

impl TextCall {
    /// The input so far.
    pub(super) fn input(&self) -> Map<String, serde_json::Value> {
        let streamed = serde_json::from_str(&format!("{}}}", self.json));
        let mut input: Map<String, serde_json::Value> = streamed.unwrap_or_default();
        input.extend(self.later.clone());
        input
    }

    pub(super) fn emit_input(&mut self, json: &str, out: &mut Vec<Chunk>) {
        self.json.push_str(json);
        out.push(Chunk::ToolInput {
            id: self.id.clone(),
            delta: json.into(),
        });
    }

    pub(super) fn emit_key(&mut self, name: &str, out: &mut Vec<Chunk>) {
        let comma = if self.json == "{" { "" } else { "," };
        let key = format!("{comma}\"{}\":", quoted(name));
        self.emit_input(&key, out);
    }

    pub(super) fn push_value(&mut self, value: &mut ParameterValue, text: &str, out: &mut Vec<Chunk>) {
        self.raw.push_str(text);
        let more = value.push(text);
        if !more.is_empty() {
            self.emit_input(&quoted(&more), out);
        }
    }

    /// Completes a value.
    pub(super) fn finish_value(&mut self, value: ParameterValue, out: &mut Vec<Chunk>) {
        if value.streams() {
            let rest = value.rest();
            self.emit_input(&format!("{}\"", quoted(&rest)), out);
            return;
        }
        let read = value.parse();
        if value.kind == ParameterKind::Short {
            self.emit_key(&value.name, out);
            self.emit_input(&read.to_string(), out);
            return;
        }
        // A list may be written as several parameters with the same name.
        match (self.later.get_mut(&value.name), read) {
            (Some(serde_json::Value::Array(list)), serde_json::Value::Array(mut more)) => list.append(&mut more),
            (Some(serde_json::Value::Array(list)), more) => list.push(more),
            (Some(_) | None, read) => drop(self.later.insert(value.name, read)),
        }
    }

    pub(super) fn emit_replay(&self, out: &mut Vec<Chunk>) {
        out.push(Chunk::Replay {
            of: ChunkPart::Call(self.id.clone()),
            replay: ReplayData {
                wire: WIRE.into(),
                data: self.raw.as_str().into(),
            },
        });
    }
}
