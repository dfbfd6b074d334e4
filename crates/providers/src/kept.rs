//! Keeps the wire form of what has been sent, so that a request costs work only for what is new.

use crate::length::Rendered;
use crate::wire::Pieces;
use bytes::Bytes;
use model::{Breakpoint, Message, Role, Sent, ToolSpec};
use std::sync::Arc;

/// Settled turns are joined into blocks of about this many bytes, so that a long conversation has few of them.
const BLOCK: usize = if cfg!(test) { 256 } else { 64 * 1024 };

/// The wire form of one conversation.
///
/// A message is recognised by its address: messages never change, and the clone kept here keeps the address taken. Turns that
/// nothing can change any more are settled: written out once, and joined.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// The messages of the last request.
    messages: Vec<Arc<Message>>,
    /// What the first of them look like: complete turns, comma-separated.
    blocks: Vec<Block>,
    /// Settled turns that do not make a block yet.
    loose: Vec<Bytes>,
    /// How many of the messages are settled.
    settled: usize,
    /// The forms of the other messages.
    forms: Vec<Bytes>,
    tools: Option<(Arc<[ToolSpec]>, Rendered)>,
    system: Option<(Vec<Arc<str>>, u64)>,
    /// How long all of it is.
    sent: Sent,
}

/// Settled turns.
#[derive(Debug)]
struct Block {
    /// The first message after them.
    end: usize,
    text: Bytes,
}

/// Neighbouring messages with their forms. It begins and ends where turns do.
pub(crate) struct Span<'a> {
    /// The place of the first message.
    from: usize,
    messages: &'a [Arc<Message>],
    forms: &'a [Bytes],
}

impl<'a> Span<'a> {
    /// The messages that have anything to say, with their places and forms.
    pub(crate) fn spoken(&self) -> impl Iterator<Item = (usize, &'a Arc<Message>, &'a Bytes)> {
        let places = self.from..;
        let pairs = self.messages.iter().zip(self.forms);
        places
            .zip(pairs)
            .filter(|(_, (_, form))| !form.is_empty())
            .map(|(place, (message, form))| (place, message, form))
    }
}

impl Kept {
    /// Writes a conversation, with `before` before it where it is not empty.
    ///
    /// `render` gives the form of one message, empty where there is nothing to say; it is told the form of
    /// the last one that has, because what both say may become one. `turns` writes the turns of a span, comma-separated, from those forms and the `marks`: neighbours of one role may become one turn.
    pub(crate) fn write(
        &mut self,
        pieces: &mut Pieces,
        before: &str,
        messages: &[Arc<Message>],
        marks: &[Breakpoint],
        mut render: impl FnMut(Option<&Bytes>, &Message) -> Rendered,
        turns: impl Fn(&mut Pieces, &Span<'_>),
    ) {
        // Marks move with every request, so that only what stands before them is settled.
        let marked = marks.iter().filter_map(|mark| match mark {
            Breakpoint::Message(place) => Some(*place),
            Breakpoint::Tools | Breakpoint::System(_) => None,
        });
        let limit = marked.min().unwrap_or(usize::MAX);
        self.forget_changed(messages, limit);
        // Whoever was told of the last request has forgotten it, as a rule, so that nothing is copied.
        let ends = Arc::make_mut(&mut self.sent.messages);
        ends.truncate(self.messages.len());
        for message in &messages[self.messages.len()..] {
            let before = self.forms.iter().rev().find(|form| !form.is_empty());
            let Rendered { form, bytes } = render(before, message);
            ends.push(ends.last().unwrap_or(&0) + bytes);
            self.forms.push(form);
            self.messages.push(Arc::clone(message));
        }
        self.settle(limit, &turns);
        let mut before = before;
        for settled in self.blocks.iter().map(|block| &block.text).chain(&self.loose) {
            pieces.text(std::mem::take(&mut before));
            pieces.share(settled.clone());
        }
        if self.forms.iter().any(|form| !form.is_empty()) {
            pieces.text(if self.has_settled() { "," } else { before });
            turns(pieces, &self.span(self.settled, self.messages.len()));
        }
    }

    /// The wire form of the tools, rendered only when they are not the ones of the last request.
    pub(crate) fn tools(&mut self, tools: &Arc<[ToolSpec]>, render: impl FnOnce(&[ToolSpec]) -> Rendered) -> Bytes {
        let kept = self.tools.take().filter(|(kept, _)| Arc::ptr_eq(kept, tools));
        let (_, rendered) = self
            .tools
            .insert(kept.unwrap_or_else(|| (Arc::clone(tools), render(tools))));
        self.sent.tools = rendered.bytes;
        rendered.form.clone()
    }

    /// Takes note of the system prompt, whose length is measured only when it is not that of the last request.
    pub(crate) fn system(&mut self, system: &[Arc<str>], measure: impl FnOnce() -> u64) {
        let is_same =
            |kept: &[Arc<str>]| kept.len() == system.len() && kept.iter().zip(system).all(|(a, b)| Arc::ptr_eq(a, b));
        let kept = self.system.take().filter(|(kept, _)| is_same(kept));
        let (_, bytes) = self.system.insert(kept.unwrap_or_else(|| (system.to_vec(), measure())));
        self.sent.system = *bytes;
    }

    /// Another request begins.
    pub(crate) fn begin(&mut self) {
        (self.sent.tools, self.sent.system) = (0, 0);
    }

    /// How long the request is that was written last.
    pub(crate) fn sent(&self) -> Sent {
        self.sent.clone()
    }

    /// Forgets everything from the first message on that is not the one that was there before.
    fn forget_changed(&mut self, messages: &[Arc<Message>], limit: usize) {
        let pairs = self.messages.iter().zip(messages);
        let same = pairs.take_while(|(a, b)| Arc::ptr_eq(a, b)).count();
        // Turns are settled by the reply that follows them.
        let firm = same.saturating_sub(1).min(limit);
        if firm < self.settled {
            self.blocks.retain(|block| block.end <= firm);
            self.loose.clear();
            self.settled = self.blocks.last().map_or(0, |block| block.end);
            self.forms.clear();
            self.messages.truncate(self.settled);
        } else {
            self.forms.truncate(same - self.settled);
            self.messages.truncate(same);
        }
    }

    /// Settles the turns before this place.
    fn settle(&mut self, limit: usize, turns: &impl Fn(&mut Pieces, &Span<'_>)) {
        let first = self.settled;
        while let Some(end) = self.next_end(first).filter(|end| *end <= limit) {
            let span = self.span(first, end);
            if span.spoken().next().is_some() {
                let mut pieces = Pieces::default();
                pieces.text(if self.has_settled() { "," } else { "" });
                turns(&mut pieces, &span);
                self.loose.push(joined(&pieces.finish()));
            }
            self.settled = end;
            if self.loose.iter().map(Bytes::len).sum::<usize>() >= BLOCK {
                let text = joined(&self.loose);
                self.loose.clear();
                self.blocks.push(Block { end, text });
            }
        }
        self.forms.drain(..self.settled - first);
    }

    /// Where the next turns that can be settled end: before a reply that follows the person's words, because what stands before
    /// it and what follows it are never one turn. The forms begin with that of the message at `first`.
    fn next_end(&self, first: usize) -> Option<usize> {
        let mut role = None;
        for place in self.settled..self.messages.len() {
            if self.forms[place - first].is_empty() {
                continue;
            }
            match (role, self.messages[place].role) {
                (Some(Role::User), Role::Assistant) => return Some(place),
                (_, next) => role = Some(next),
            }
        }
        None
    }

    fn has_settled(&self) -> bool {
        !self.blocks.is_empty() || !self.loose.is_empty()
    }

    /// The messages that are not settled, up to this place. The forms begin with that of the message at `first`.
    fn span(&self, first: usize, end: usize) -> Span<'_> {
        Span {
            from: self.settled,
            messages: &self.messages[self.settled..end],
            forms: &self.forms[self.settled - first..end - first],
        }
    }
}

/// One piece of memory, no larger than it must be.
fn joined(pieces: &[Bytes]) -> Bytes {
    Bytes::from(pieces.concat().into_boxed_slice())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use crate::wire::body;
    use model::{Block as Content, Outcome, Part, Request, Wire};
    use serde_json::{Value, json};

    fn message(role: Role, part: Part) -> Arc<Message> {
        let parts = vec![part];
        Arc::new(Message { role, parts })
    }

    /// One message of each kind that turns are made of; the third says nothing on any wire.
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
            outcome: Outcome::Ok,
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

    /// The blocks of a body, a line for the role and one for the JSON each, as a server finds them.
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

    fn check(wire: Wire, bridges: bool, messages: &mut Vec<Arc<Message>>, longer: usize, kept: &mut Kept) {
        let mut info = crate::tests::info(wire, "claude-sonnet-4-5");
        info.features.caching = true;
        let mut settings = Settings::new("p", wire, "http://127.0.0.1");
        settings.quirks.bridge_tools = bridges;
        let before_last = messages.iter().rposition(|message| message.role == Role::Assistant);
        let marks = [
            before_last.and_then(|place| place.checked_sub(1)),
            messages.len().checked_sub(1),
        ];
        let request = Request {
            tools: kept.tools.as_ref().map_or_else(tools, |(tools, _)| Arc::clone(tools)),
            system: vec!["s \"t\"".into(), "u\nv".into()],
            messages: messages.clone().into(),
            breakpoints: marks.into_iter().flatten().map(Breakpoint::Message).collect(),
            ..Request::default()
        };
        let said = body(&request, &info, &settings, kept, &mut Vec::new()).concat();
        let fresh = body(&request, &info, &settings, &mut Kept::default(), &mut Vec::new()).concat();
        assert_eq!(
            String::from_utf8_lossy(&said),
            String::from_utf8_lossy(&fresh),
            "{messages:?}"
        );
        let said: Value = serde_json::from_slice(&said).unwrap();
        if !bridges {
            // What stands between a result and a person's words is nobody's.
            let blocks = blocks(wire, &said);
            assert_eq!(kept.sent().all(), blocks.len() as u64, "{wire:?}\n{blocks}");
        }
        if longer > 0 {
            for message in every_kind() {
                messages.push(message);
                check(wire, bridges, messages, longer - 1, kept);
                messages.pop();
            }
        }
    }

    #[test]
    fn what_is_kept_changes_no_body_and_its_length_is_known_wherever_a_conversation_goes_or_is_rewound_to() {
        for (wire, bridges, longest) in [
            (Wire::AnthropicMessages, false, 5),
            (Wire::OpenaiChat, false, 4),
            (Wire::OpenaiChat, true, 4),
            (Wire::OpenaiResponses, false, 4),
            (Wire::Gemini, false, 4),
        ] {
            check(wire, bridges, &mut Vec::new(), longest, &mut Kept::default());
        }
    }

    #[test]
    fn a_turn_is_written_out_once_and_a_settled_block_is_shared_by_all_later_requests() {
        let mut kept = Kept::default();
        let mut messages = Vec::new();
        let mut rendered = 0;
        let mut seen = Vec::new();
        for _ in 0..20 {
            messages.extend([every_kind()[0].clone(), every_kind()[1].clone()]);
            let mut pieces = Pieces::default();
            let form = |_: Option<&Bytes>, message: &Message| {
                rendered += 1;
                Rendered {
                    form: Bytes::from(message.text().repeat(100)),
                    bytes: 1,
                }
            };
            let turns = |pieces: &mut Pieces, span: &Span<'_>| {
                span.spoken().for_each(|(_, _, form)| pieces.share(form.clone()))
            };
            kept.write(&mut pieces, "", &messages, &[], form, turns);
            let first = pieces.finish().first().map(|piece| piece.as_ptr());
            seen.push(first);
        }
        assert_eq!(rendered, messages.len());
        assert!(seen[1..].iter().all(|first| *first == seen[1]), "{seen:?}");
    }
}
