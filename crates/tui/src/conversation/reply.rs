//! A reply that streams: thinking and text are gathered, and handed on as entries once they are complete.

use super::Entry;
use crate::markdown::Splitter;
use session::{Delta, ItemId};
use std::time::Instant;

/// A reply that streams.
pub(super) struct Reply {
    /// The item that it will become.
    pub(super) id: ItemId,
    text: Splitter,
    thinking: String,
    /// When it began to think.
    thought: Instant,
}

/// So much of what is thought is shown while it comes.
const SHOWN: usize = 2_000;

impl Reply {
    pub(super) fn new(id: ItemId) -> Self {
        Reply {
            id,
            text: Splitter::default(),
            thinking: String::new(),
            thought: Instant::now(),
        }
    }

    /// Takes what was added, and gives the entries that it completes.
    pub(super) fn take(&mut self, delta: &Delta) -> Vec<Entry> {
        match delta {
            Delta::Text(text) => {
                let mut entries: Vec<Entry> = self.end_thinking().into_iter().collect();
                self.text.push(text);
                entries.extend(std::iter::from_fn(|| self.text.next()).map(Entry::Text));
                entries
            }
            Delta::Thinking(text) => {
                let entries = self.end_text();
                if self.thinking.is_empty() {
                    self.thought = Instant::now();
                }
                self.thinking.push_str(text);
                entries
            }
            Delta::Call { .. } => {
                let mut entries: Vec<Entry> = self.end_thinking().into_iter().collect();
                entries.extend(self.end_text());
                entries
            }
            Delta::Input { .. } | Delta::Preview { .. } | Delta::Output(_) => Vec::new(),
        }
    }

    /// What is not complete yet.
    pub(super) fn growing(&self) -> Option<Entry> {
        if !self.thinking.is_empty() {
            let from = self.thinking.len().saturating_sub(SHOWN);
            let from = (from..=self.thinking.len())
                .find(|at| self.thinking.is_char_boundary(*at))
                .unwrap_or(0);
            return Some(Entry::Thinking {
                text: self.thinking.get(from..).unwrap_or_default().into(),
                took: None,
                done: false,
            });
        }
        self.text.rest().map(Entry::Text)
    }

    /// There is no more.
    pub(super) fn finish(mut self) -> Vec<Entry> {
        let mut entries: Vec<Entry> = self.end_thinking().into_iter().collect();
        entries.extend(self.end_text());
        entries
    }

    fn end_thinking(&mut self) -> Option<Entry> {
        let text = std::mem::take(&mut self.thinking);
        (!text.trim().is_empty()).then(|| Entry::Thinking {
            text: text.into(),
            took: Some(self.thought.elapsed()),
            done: true,
        })
    }

    fn end_text(&mut self) -> Vec<Entry> {
        self.text.finish().into_iter().map(Entry::Text).collect()
    }
}
