//! The size of a prompt on the wire.

use std::sync::Arc;

/// The size of a prompt as sent, in bytes.
///
/// Each block (a tool, a section of the system prompt, a part of a message) counts as a line with its role and a line
/// with its JSON without cache breakpoints. Servers without a tokenizer estimate tokens from this size.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptSize {
    /// All tools.
    pub tools: u64,
    /// The whole system prompt.
    pub system: u64,
    /// The end of each message, relative to the start of the first. The list is shared with the next request.
    pub messages: Arc<Vec<u64>>,
}

impl PromptSize {
    /// Tools and system prompt.
    pub fn prefix(&self) -> u64 {
        self.tools + self.system
    }

    /// Everything up to the end of this message.
    pub fn through_message(&self, message: usize) -> Option<u64> {
        Some(self.prefix() + self.messages.get(message)?)
    }

    /// Everything.
    pub fn total(&self) -> u64 {
        self.prefix() + self.messages.last().copied().unwrap_or(0)
    }
}
