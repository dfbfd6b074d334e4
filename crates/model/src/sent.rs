//! How long a prompt is as it leaves.

use std::sync::Arc;

/// How many bytes a prompt has as it was sent, part by part.
///
/// Each block (a tool, a section of the system prompt, a part of a message) counts by itself: a line with the role that says it, a
/// line with its JSON, cache marks left out. That is what servers that cannot count tokens take them from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sent {
    /// All tools.
    pub tools: u64,
    /// The whole system prompt.
    pub system: u64,
    /// Where each message ends, counted from the beginning of the first. The list is shared with the request after this one.
    pub messages: Arc<Vec<u64>>,
}

impl Sent {
    /// Tools and system prompt.
    pub fn frame(&self) -> u64 {
        self.tools + self.system
    }

    /// Everything up to the end of this message.
    pub fn upto(&self, message: usize) -> Option<u64> {
        Some(self.frame() + self.messages.get(message)?)
    }

    /// Everything.
    pub fn all(&self) -> u64 {
        self.frame() + self.messages.last().copied().unwrap_or(0)
    }
}
