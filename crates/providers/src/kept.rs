//! Keeps the wire form of what has been sent, so that a request costs work only for what is new.

use crate::wire::Pieces;
use bytes::Bytes;
use model::{Breakpoint, Message, Role, ToolSpec};
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
    tools: Option<(Arc<[ToolSpec]>, Bytes)>,
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
    /// `render` gives the form of one message, empty where there is nothing to say. `turns` writes the turns of a span,
    /// comma-separated, from those forms and the `marks`: neighbours of one role may become one turn.
    pub(crate) fn write(
        &mut self,
        pieces: &mut Pieces,
        before: &str,
        messages: &[Arc<Message>],
        marks: &[Breakpoint],
        mut render: impl FnMut(&Message) -> Bytes,
        turns: impl Fn(&mut Pieces, &Span<'_>),
    ) {
        // Marks move with every request, so that only what stands before them is settled.
        let marked = marks.iter().filter_map(|mark| match mark {
            Breakpoint::Message(place) => Some(*place),
            Breakpoint::Tools | Breakpoint::System(_) => None,
        });
        let limit = marked.min().unwrap_or(usize::MAX);
        self.forget_changed(messages, limit);
        for message in &messages[self.messages.len()..] {
            self.forms.push(render(message));
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
    pub(crate) fn tools(&mut self, tools: &Arc<[ToolSpec]>, render: impl FnOnce(&[ToolSpec]) -> Bytes) -> Bytes {
        if let Some((kept, form)) = &self.tools
            && Arc::ptr_eq(kept, tools)
        {
            return form.clone();
        }
        let form = render(tools);
        self.tools = Some((Arc::clone(tools), form.clone()));
        form
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

    fn check(wire: Wire, messages: &mut Vec<Arc<Message>>, longer: usize, kept: &mut Kept) {
        let mut info = crate::tests::info(wire, "claude-sonnet-4-5");
        info.features.caching = true;
        let mut settings = Settings::new("p", wire, "http://127.0.0.1");
        settings.quirks.bridge_tools = true;
        let before_last = messages.iter().rposition(|message| message.role == Role::Assistant);
        let marks = [
            before_last.and_then(|place| place.checked_sub(1)),
            messages.len().checked_sub(1),
        ];
        let request = Request {
            system: vec!["s".into()],
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
        assert!(
            serde_json::from_slice::<Value>(&said).is_ok(),
            "{}",
            String::from_utf8_lossy(&said)
        );
        if longer > 0 {
            for message in every_kind() {
                messages.push(message);
                check(wire, messages, longer - 1, kept);
                messages.pop();
            }
        }
    }

    #[test]
    fn what_is_kept_changes_no_body_wherever_a_conversation_goes_or_is_rewound_to() {
        for (wire, longest) in [
            (Wire::AnthropicMessages, 5),
            (Wire::OpenaiChat, 4),
            (Wire::OpenaiResponses, 4),
            (Wire::Gemini, 4),
        ] {
            check(wire, &mut Vec::new(), longest, &mut Kept::default());
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
            let form = |message: &Message| {
                rendered += 1;
                Bytes::from(message.text().repeat(100))
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
