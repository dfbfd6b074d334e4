//! How the ledger tells how many tokens a part of a prompt has: about, while a session runs, or exactly, for people who ask.

use crate::tokens::{Exact, Family, tool_tokens};
use model::ToolSpec;

/// Tells how many tokens something has.
pub(crate) trait Weigh {
    /// A text.
    fn text(&self, text: &str) -> u64;

    /// All tools.
    fn tools(&self, tools: &[ToolSpec]) -> u64;
}

impl Weigh for Family {
    fn text(&self, text: &str) -> u64 {
        self.estimate(text)
    }

    fn tools(&self, tools: &[ToolSpec]) -> u64 {
        tool_tokens(*self, tools)
    }
}

impl Weigh for Exact {
    fn text(&self, text: &str) -> u64 {
        self.count(text)
    }

    fn tools(&self, tools: &[ToolSpec]) -> u64 {
        match tools.is_empty() {
            true => 0,
            false => self.count(&serde_json::to_string(tools).unwrap_or_default()),
        }
    }
}
