//! Token counting in the ledger: estimated while a session runs, or exact on demand.

use crate::tokens::{ExactTokenizer, TokenizerFamily, tool_tokens};
use model::ToolSpec;

/// Counts tokens.
pub(crate) trait TokenCounter {
    /// A text.
    fn text(&self, text: &str) -> u64;

    /// All tools.
    fn tools(&self, tools: &[ToolSpec]) -> u64;
}

impl TokenCounter for TokenizerFamily {
    fn text(&self, text: &str) -> u64 {
        self.estimate(text)
    }

    fn tools(&self, tools: &[ToolSpec]) -> u64 {
        tool_tokens(*self, tools)
    }
}

impl TokenCounter for ExactTokenizer {
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
