//! A streaming reply: collects thinking and text, and returns entries when they are complete.

use super::ConversationEntry;
use crate::markdown::MarkdownSplitter;
use session::{ItemDelta, ItemId};
use std::time::Instant;

/// A streaming reply.
pub(super) struct StreamedReply {
    /// The item that it becomes.
    pub(super) id: ItemId,
    text: MarkdownSplitter,
    thinking: String,
    /// Start of the current thinking.
    thought: Instant,
}

/// Visible bytes of streaming thinking.
const VISIBLE_THINKING: usize = 2_000;

impl StreamedReply {
    pub(super) fn new(id: ItemId) -> Self {
        StreamedReply {
            id,
            text: MarkdownSplitter::default(),
            thinking: String::new(),
            thought: Instant::now(),
        }
    }

    /// Appends a delta; returns the completed entries.
    pub(super) fn append(&mut self, delta: &ItemDelta) -> Vec<ConversationEntry> {
        match delta {
            ItemDelta::Text(text) => {
                let mut entries: Vec<ConversationEntry> = self.end_thinking().into_iter().collect();
                self.text.push(text);
                entries.extend(std::iter::from_fn(|| self.text.next()).map(ConversationEntry::Text));
                entries
            }
            ItemDelta::Thinking(text) => {
                let entries = self.end_text();
                if self.thinking.is_empty() {
                    self.thought = Instant::now();
                }
                self.thinking.push_str(text);
                entries
            }
            ItemDelta::Call { .. } => {
                let mut entries: Vec<ConversationEntry> = self.end_thinking().into_iter().collect();
                entries.extend(self.end_text());
                entries
            }
            ItemDelta::Input { .. } | ItemDelta::Preview { .. } | ItemDelta::Output(_) => Vec::new(),
        }
    }

    /// The incomplete entry.
    pub(super) fn incomplete(&self) -> Option<ConversationEntry> {
        if !self.thinking.is_empty() {
            let from = self.thinking.len().saturating_sub(VISIBLE_THINKING);
            let from = (from..=self.thinking.len())
                .find(|at| self.thinking.is_char_boundary(*at))
                .unwrap_or(0);
            return Some(ConversationEntry::Thinking {
                text: self.thinking.get(from..).unwrap_or_default().into(),
                took: None,
                done: false,
            });
        }
        self.text.incomplete().map(ConversationEntry::Text)
    }

    /// Returns the remaining entries.
    pub(super) fn finish(mut self) -> Vec<ConversationEntry> {
        let mut entries: Vec<ConversationEntry> = self.end_thinking().into_iter().collect();
        entries.extend(self.end_text());
        entries
    }

    fn end_thinking(&mut self) -> Option<ConversationEntry> {
        let text = std::mem::take(&mut self.thinking);
        (!text.trim().is_empty()).then(|| ConversationEntry::Thinking {
            text: text.into(),
            took: Some(self.thought.elapsed()),
            done: true,
        })
    }

    fn end_text(&mut self) -> Vec<ConversationEntry> {
        self.text.finish().into_iter().map(ConversationEntry::Text).collect()
    }
}
