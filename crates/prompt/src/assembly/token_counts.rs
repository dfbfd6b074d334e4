//! Token counts per message, computed once.

use crate::tokens::{TokenizerFamily, message_tokens};
use model::Message;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Cached token counts. Messages are immutable and identified by their address; the clone stored here keeps the address
/// from being reused.
#[derive(Debug, Clone, Default)]
pub(crate) struct TokenCountCache {
    family: TokenizerFamily,
    known: HashMap<usize, (Arc<Message>, u64)>,
}

/// Unused entries are evicted when they outnumber the used ones, and at least this many.
const SPARE: usize = 256;

impl TokenCountCache {
    /// Sets the tokenizer family.
    pub(crate) fn set_family(&mut self, family: TokenizerFamily) {
        if self.family != family {
            self.family = family;
            self.known.clear();
        }
    }

    /// Estimated tokens of these messages.
    pub(crate) fn sum(&mut self, messages: &[Arc<Message>]) -> u64 {
        messages.iter().map(|message| self.of(message)).sum()
    }

    /// Estimated tokens of one message.
    pub(crate) fn of(&mut self, message: &Arc<Message>) -> u64 {
        let family = self.family;
        let count = || (Arc::clone(message), message_tokens(family, message));
        self.known.entry(address(message)).or_insert_with(count).1
    }

    /// Evicts messages that are not in `messages`, if there are many.
    pub(crate) fn evict_unused(&mut self, messages: &[Arc<Message>]) {
        if self.known.len() <= messages.len() * 2 + SPARE {
            return;
        }
        let used: HashSet<usize> = messages.iter().map(address).collect();
        self.known.retain(|address, _| used.contains(address));
    }
}

fn address(message: &Arc<Message>) -> usize {
    Arc::as_ptr(message).addr()
}
