//! Caches the wire form of sent messages, so that a request renders only new content.

use crate::prompt_size::RenderedForm;
use crate::wire::BodyWriter;
use bytes::Bytes;
use model::{Breakpoint, Message, PromptSize, Role, ToolSpec};
use std::sync::Arc;

/// The approximate size of a block. Settled turns are joined into blocks, so that a long conversation has few pieces.
const BLOCK_SIZE: usize = if cfg!(test) { 256 } else { 64 * 1024 };

/// The cached wire form of one conversation.
///
/// Messages are identified by address: they are immutable, and the cache holds a reference so that the address is not
/// reused. Turns that cannot change any more are settled: rendered once and joined.
#[derive(Debug, Default)]
pub(crate) struct WireCache {
    /// The messages of the last request.
    messages: Vec<Arc<Message>>,
    /// The wire form of the first messages: complete turns, comma-separated.
    blocks: Vec<SettledBlock>,
    /// Settled turns that are not in a block yet.
    unblocked: Vec<Bytes>,
    /// The number of settled messages.
    settled: usize,
    /// The forms of the other messages.
    forms: Vec<Bytes>,
    tools: Option<(Arc<[ToolSpec]>, RenderedForm)>,
    system: Option<(Vec<Arc<str>>, u64)>,
    /// The size of the prompt.
    size: PromptSize,
}

/// Settled turns.
#[derive(Debug)]
struct SettledBlock {
    /// The index of the first message after the block.
    end: usize,
    text: Bytes,
}

/// Adjacent messages with their forms. Starts and ends at turn boundaries.
pub(crate) struct MessageSpan<'a> {
    /// The index of the first message.
    from: usize,
    messages: &'a [Arc<Message>],
    forms: &'a [Bytes],
}

impl<'a> MessageSpan<'a> {
    /// Writes turns. Adjacent messages with the same role become one, because roles must alternate.
    pub(crate) fn write_alternating(&self, pieces: &mut BodyWriter, assistant: &str, content: &str) {
        let mut turn: Option<Role> = None;
        for (_, message, form) in self.non_empty() {
            if turn == Some(message.role) {
                pieces.push_raw(",");
            } else {
                let role = match message.role {
                    Role::User => "user",
                    Role::Assistant => assistant,
                };
                let before = if turn.is_some() { "]}," } else { "" };
                pieces.push_raw(&format!("{before}{{\"role\":\"{role}\",\"{content}\":["));
            }
            turn = Some(message.role);
            pieces.push_shared(form.clone());
        }
        if turn.is_some() {
            pieces.push_raw("]}");
        }
    }

    /// The messages with content, with their indices and forms.
    pub(crate) fn non_empty(&self) -> impl Iterator<Item = (usize, &'a Arc<Message>, &'a Bytes)> {
        let indices = self.from..;
        let pairs = self.messages.iter().zip(self.forms);
        indices
            .zip(pairs)
            .filter(|(_, (_, form))| !form.is_empty())
            .map(|(index, (message, form))| (index, message, form))
    }
}

impl WireCache {
    /// Writes a conversation, preceded by `before` if it is not empty.
    ///
    /// `render` returns the form of one message, empty if it has no content; its first argument is the form of the
    /// previous message with content, because both may be merged. `turns` writes the turns of a span, comma-separated,
    /// from those forms and the `marks`: adjacent messages with the same role may become one turn.
    pub(crate) fn write(
        &mut self,
        pieces: &mut BodyWriter,
        before: &str,
        messages: &[Arc<Message>],
        marks: &[Breakpoint],
        mut render: impl FnMut(Option<&Bytes>, &Message) -> RenderedForm,
        turns: impl Fn(&mut BodyWriter, &MessageSpan<'_>),
    ) {
        // Breakpoints move with every request, so only turns before them are settled.
        let marked = marks.iter().filter_map(|mark| match mark {
            Breakpoint::Message(index) => Some(*index),
            Breakpoint::Tools | Breakpoint::System(_) => None,
        });
        let limit = marked.min().unwrap_or(usize::MAX);
        self.invalidate_changed(messages, limit);
        // The list is usually not shared any more, so that nothing is copied.
        let ends = Arc::make_mut(&mut self.size.messages);
        ends.truncate(self.messages.len());
        for message in &messages[self.messages.len()..] {
            let before = self.forms.iter().rev().find(|form| !form.is_empty());
            let RenderedForm { form, bytes } = render(before, message);
            ends.push(ends.last().unwrap_or(&0) + bytes);
            self.forms.push(form);
            self.messages.push(Arc::clone(message));
        }
        self.settle(limit, &turns);
        let mut before = before;
        for settled in self.blocks.iter().map(|block| &block.text).chain(&self.unblocked) {
            pieces.push_raw(std::mem::take(&mut before));
            pieces.push_shared(settled.clone());
        }
        if self.forms.iter().any(|form| !form.is_empty()) {
            pieces.push_raw(if self.has_settled() { "," } else { before });
            turns(pieces, &self.span(self.settled, self.messages.len()));
        }
    }

    /// The wire form of the tools, rendered only if they changed since the last request.
    pub(crate) fn tools(&mut self, tools: &Arc<[ToolSpec]>, render: impl FnOnce(&[ToolSpec]) -> RenderedForm) -> Bytes {
        let cached = self.tools.take().filter(|(cached, _)| Arc::ptr_eq(cached, tools));
        let (_, rendered) = self
            .tools
            .insert(cached.unwrap_or_else(|| (Arc::clone(tools), render(tools))));
        self.size.tools = rendered.bytes;
        rendered.form.clone()
    }

    /// Records the system prompt, measured only if it changed since the last request.
    pub(crate) fn system(&mut self, system: &[Arc<str>], measure: impl FnOnce() -> u64) {
        let is_same = |cached: &[Arc<str>]| {
            cached.len() == system.len() && cached.iter().zip(system).all(|(a, b)| Arc::ptr_eq(a, b))
        };
        let cached = self.system.take().filter(|(cached, _)| is_same(cached));
        let (_, bytes) = self
            .system
            .insert(cached.unwrap_or_else(|| (system.to_vec(), measure())));
        self.size.system = *bytes;
    }

    /// Starts a new request.
    pub(crate) fn begin_request(&mut self) {
        (self.size.tools, self.size.system) = (0, 0);
    }

    /// The size of the last request.
    pub(crate) fn prompt_size(&self) -> PromptSize {
        self.size.clone()
    }

    /// Drops everything from the first changed message on.
    fn invalidate_changed(&mut self, messages: &[Arc<Message>], limit: usize) {
        let pairs = self.messages.iter().zip(messages);
        let same = pairs.take_while(|(a, b)| Arc::ptr_eq(a, b)).count();
        // A turn is settled by the reply that follows it.
        let firm = same.saturating_sub(1).min(limit);
        if firm < self.settled {
            self.blocks.retain(|block| block.end <= firm);
            self.unblocked.clear();
            self.settled = self.blocks.last().map_or(0, |block| block.end);
            self.forms.clear();
            self.messages.truncate(self.settled);
        } else {
            self.forms.truncate(same - self.settled);
            self.messages.truncate(same);
        }
    }

    /// Settles the turns before this index.
    fn settle(&mut self, limit: usize, turns: &impl Fn(&mut BodyWriter, &MessageSpan<'_>)) {
        let first = self.settled;
        while let Some(end) = self.next_end(first).filter(|end| *end <= limit) {
            let span = self.span(first, end);
            if span.non_empty().next().is_some() {
                let mut pieces = BodyWriter::default();
                pieces.push_raw(if self.has_settled() { "," } else { "" });
                turns(&mut pieces, &span);
                self.unblocked.push(joined(&pieces.finish()));
            }
            self.settled = end;
            if self.unblocked.iter().map(Bytes::len).sum::<usize>() >= BLOCK_SIZE {
                let text = joined(&self.unblocked);
                self.unblocked.clear();
                self.blocks.push(SettledBlock { end, text });
            }
        }
        self.forms.drain(..self.settled - first);
    }

    /// The end of the next turns that can be settled: before a reply that follows a user message, because the messages
    /// before and after that point are never merged. The forms start at the message with index `first`.
    fn next_end(&self, first: usize) -> Option<usize> {
        let mut role = None;
        for index in self.settled..self.messages.len() {
            if self.forms[index - first].is_empty() {
                continue;
            }
            match (role, self.messages[index].role) {
                (Some(Role::User), Role::Assistant) => return Some(index),
                (_, next) => role = Some(next),
            }
        }
        None
    }

    fn has_settled(&self) -> bool {
        !self.blocks.is_empty() || !self.unblocked.is_empty()
    }

    /// The unsettled messages up to this index. The forms start at the message with index `first`.
    fn span(&self, first: usize, end: usize) -> MessageSpan<'_> {
        MessageSpan {
            from: self.settled,
            messages: &self.messages[self.settled..end],
            forms: &self.forms[self.settled - first..end - first],
        }
    }
}

/// Joins the pieces into one exactly sized allocation.
fn joined(pieces: &[Bytes]) -> Bytes {
    Bytes::from(pieces.concat().into_boxed_slice())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::ProviderSettings;
    use crate::wire::body;
    use model::{Block as Content, Part, Request, ToolOutcome, Wire};
    use serde_json::{Value, json};

    fn message(role: Role, part: Part) -> Arc<Message> {
        let parts = vec![part];
        Arc::new(Message { role, parts })
    }

    /// One message of each kind; the third has no content on any wire.
    fn every_kind() -> Vec<Arc<Message>> {
        let text = || Part::text("words ".repeat(20));
        let thinking = Part::Thinking {
            text: String::new(),
            replay: None,
        };
        let call = Part::ToolCall {
            id: "c".into(),
            name: "f".into(),
            input: json!({}),
            malformed: None,
            replay: None,
        };
        let result = Part::ToolResult {
            id: "c".into(),
            name: "f".into(),
            content: vec![Content::text("done")],
            outcome: ToolOutcome::Ok,
        };
        vec![
            message(Role::User, text()),
            message(Role::Assistant, text()),
            message(Role::Assistant, thinking),
            message(Role::Assistant, call),
            message(Role::User, result),
        ]
    }

    fn tools() -> Arc<[ToolSpec]> {
        let tool = |name: &str| ToolSpec {
            name: name.into(),
            description: "It \"does\".".into(),
            input_schema: json!({"type": "object", "properties": {"a": {"type": "string"}}}),
        };
        [tool("f"), tool("g")].into()
    }

    /// The blocks of a body as a server sees them: a line with the role and a line with the JSON each.
    fn blocks(wire: Wire, body: &Value) -> String {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let parts = |content: &Value| match content {
            Value::String(text) => vec![json!({"type": "text", "text": text})],
            other => list(other),
        };
        let mut out = String::new();
        let mut push = |role: &Value, part: &Value| {
            let mut part = part.clone();
            part.as_object_mut().map(|part| part.shift_remove("cache_control"));
            out.push_str(&format!("{}\n{part}\n", role.as_str().unwrap_or_default()));
        };
        match wire {
            Wire::Gemini => {
                let functions = list(&body["tools"][0]["functionDeclarations"]);
                let system = list(&body["systemInstruction"]["parts"]);
                functions
                    .iter()
                    .chain(&system)
                    .for_each(|part| push(&Value::Null, part));
                for content in list(&body["contents"]) {
                    list(&content["parts"])
                        .iter()
                        .for_each(|part| push(&content["role"], part));
                }
            }
            Wire::OpenaiResponses => {
                list(&body["tools"]).iter().for_each(|tool| push(&Value::Null, tool));
                push(&Value::Null, &body["instructions"]);
                for item in list(&body["input"]) {
                    push(item.get("role").unwrap_or(&item["type"]), &item);
                }
            }
            Wire::BedrockConverse => {
                list(&body["toolConfig"]["tools"])
                    .iter()
                    .for_each(|tool| push(&Value::Null, tool));
                list(&body["system"]).iter().for_each(|part| push(&Value::Null, part));
                for message in list(&body["messages"]) {
                    list(&message["content"])
                        .iter()
                        .for_each(|part| push(&message["role"], part));
                }
            }
            Wire::OpenaiChat | Wire::AnthropicMessages | Wire::BedrockAnthropic | Wire::VertexAnthropic => {
                list(&body["tools"]).iter().for_each(|tool| push(&Value::Null, tool));
                parts(&body["system"]).iter().for_each(|part| push(&Value::Null, part));
                for mut message in list(&body["messages"]) {
                    let fields = message.as_object_mut().unwrap();
                    let (role, content) = (
                        fields.shift_remove("role").unwrap(),
                        fields.shift_remove("content").unwrap(),
                    );
                    parts(&content).iter().for_each(|part| push(&role, part));
                    if !fields.is_empty() {
                        push(&role, &message);
                    }
                }
            }
        }
        out
    }

    fn check(wire: Wire, bridges: bool, messages: &mut Vec<Arc<Message>>, longer: usize, cached: &mut WireCache) {
        let mut info = crate::tests::info(wire, "claude-sonnet-4-5");
        info.features.caching = true;
        let mut settings = ProviderSettings::new("p", wire, "http://127.0.0.1");
        settings.quirks.bridge_tools = bridges;
        let before_last = messages.iter().rposition(|message| message.role == Role::Assistant);
        let marks = [
            before_last.and_then(|index| index.checked_sub(1)),
            messages.len().checked_sub(1),
        ];
        let request = Request {
            tools: cached.tools.as_ref().map_or_else(tools, |(tools, _)| Arc::clone(tools)),
            system: vec!["s \"t\"".into(), "u\nv".into()],
            messages: messages.clone().into(),
            breakpoints: marks.into_iter().flatten().map(Breakpoint::Message).collect(),
            ..Request::default()
        };
        let rendered = body(&request, &info, &settings, cached, &mut Vec::new()).concat();
        let fresh = body(&request, &info, &settings, &mut WireCache::default(), &mut Vec::new()).concat();
        assert_eq!(
            String::from_utf8_lossy(&rendered),
            String::from_utf8_lossy(&fresh),
            "{messages:?}"
        );
        let rendered: Value = serde_json::from_slice(&rendered).unwrap();
        if !bridges {
            // The bridge message between a result and a user message belongs to no message.
            let blocks = blocks(wire, &rendered);
            assert_eq!(cached.prompt_size().total(), blocks.len() as u64, "{wire:?}\n{blocks}");
        }
        if longer > 0 {
            for message in every_kind() {
                messages.push(message);
                check(wire, bridges, messages, longer - 1, cached);
                messages.pop();
            }
        }
    }

    #[test]
    fn the_cache_changes_no_body_and_measures_it_for_any_continuation_or_rewind() {
        for (wire, bridges, longest) in [
            (Wire::AnthropicMessages, false, 5),
            (Wire::OpenaiChat, false, 4),
            (Wire::OpenaiChat, true, 4),
            (Wire::OpenaiResponses, false, 4),
            (Wire::Gemini, false, 4),
        ] {
            check(wire, bridges, &mut Vec::new(), longest, &mut WireCache::default());
        }
    }

    #[test]
    fn a_turn_is_rendered_once_and_a_settled_block_is_shared_by_all_later_requests() {
        let mut cached = WireCache::default();
        let mut messages = Vec::new();
        let mut rendered = 0;
        let mut seen = Vec::new();
        for _ in 0..20 {
            messages.extend([every_kind()[0].clone(), every_kind()[1].clone()]);
            let mut pieces = BodyWriter::default();
            let form = |_: Option<&Bytes>, message: &Message| {
                rendered += 1;
                RenderedForm {
                    form: Bytes::from(message.text().repeat(100)),
                    bytes: 1,
                }
            };
            let turns = |pieces: &mut BodyWriter, span: &MessageSpan<'_>| {
                span.non_empty()
                    .for_each(|(_, _, form)| pieces.push_shared(form.clone()))
            };
            cached.write(&mut pieces, "", &messages, &[], form, turns);
            let first = pieces.finish().first().map(|piece| piece.as_ptr());
            seen.push(first);
        }
        assert_eq!(rendered, messages.len());
        assert!(seen[1..].iter().all(|first| *first == seen[1]), "{seen:?}");
    }
}
