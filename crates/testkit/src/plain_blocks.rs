//! A prompt in a plain rendering, block by block, as seen by servers without a tokenizer, which count bytes.

use serde_json::{Map, Value, json};

use crate::parsed_request::{ParsedRequest, PromptBlock};
use crate::wire::{Wire, field, list, unmarked};

/// The blocks of a prompt: each has a line with the role and a line of JSON without cache breakpoints.
pub(crate) fn blocks(seen: &ParsedRequest) -> Vec<PromptBlock> {
    let mut plain = PlainBlocks::default();
    match seen.wire {
        Wire::Anthropic | Wire::Bedrock | Wire::Vertex => plain.anthropic(&seen.raw),
        Wire::Chat => plain.chat(&seen.raw),
        Wire::Responses => plain.responses(&seen.raw),
        Wire::Gemini => plain.gemini(&seen.raw),
    }
    plain.blocks
}

#[derive(Default)]
struct PlainBlocks {
    blocks: Vec<PromptBlock>,
}

impl PlainBlocks {
    fn push(&mut self, role: &str, part: &Value) {
        let (part, marked) = unmarked(part);
        self.blocks.push(PromptBlock::of(&format!("{role}\n{part}\n"), marked));
    }

    fn anthropic(&mut self, body: &Value) {
        list(&body["tools"]).iter().for_each(|tool| self.push("", tool));
        parts(&body["system"]).iter().for_each(|part| self.push("", part));
        for message in list(&body["messages"]) {
            for part in parts(&message["content"]) {
                self.push(text(&message["role"]), &part);
            }
        }
    }

    fn chat(&mut self, body: &Value) {
        list(&body["tools"]).iter().for_each(|tool| self.push("", tool));
        for message in list(&body["messages"]) {
            let role = text(&message["role"]);
            parts(&message["content"]).iter().for_each(|part| self.push(role, part));
            let rest = message.as_object().into_iter().flatten();
            let rest: Map<String, Value> = rest
                .filter(|(key, _)| !["role", "content"].contains(&key.as_str()))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            if !rest.is_empty() {
                self.push(role, &Value::Object(rest));
            }
        }
    }

    fn responses(&mut self, body: &Value) {
        list(&body["tools"]).iter().for_each(|tool| self.push("", tool));
        if body["instructions"].is_string() {
            self.push("", &body["instructions"]);
        }
        for item in list(&body["input"]) {
            let role = item["role"].as_str().unwrap_or(text(&item["type"]));
            self.push(role, item);
        }
    }

    fn gemini(&mut self, body: &Value) {
        for tool in list(&body["tools"]) {
            let functions = field(tool, "functionDeclarations").map_or(&[][..], list);
            functions.iter().for_each(|function| self.push("", function));
        }
        let system = field(body, "systemInstruction").unwrap_or(&Value::Null);
        list(&system["parts"]).iter().for_each(|part| self.push("", part));
        for content in list(&body["contents"]) {
            let role = text(&content["role"]);
            list(&content["parts"]).iter().for_each(|part| self.push(role, part));
        }
    }
}

/// Content as parts: a string is one text part.
fn parts(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        other => list(other).to_vec(),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
