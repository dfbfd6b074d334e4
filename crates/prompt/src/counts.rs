//! How many tokens each message has, counted once.

use crate::tokens::{Family, message_tokens};
use model::Message;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What has been counted. Messages never change and are recognised by their address, which the clone kept here keeps taken.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    family: Family,
    known: HashMap<usize, (Arc<Message>, u64)>,
}

/// What is no longer of use is dropped once it is more than what is, and at least this much.
const SPARE: usize = 256;

impl Counts {
    /// Counts by this family from now on.
    pub(crate) fn count_by(&mut self, family: Family) {
        if self.family != family {
            self.family = family;
            self.known.clear();
        }
    }

    /// About how many tokens these have together.
    pub(crate) fn sum(&mut self, messages: &[Arc<Message>]) -> u64 {
        messages.iter().map(|message| self.of(message)).sum()
    }

    /// About how many tokens this one has.
    pub(crate) fn of(&mut self, message: &Arc<Message>) -> u64 {
        let family = self.family;
        let count = || (Arc::clone(message), message_tokens(family, message));
        self.known.entry(address(message)).or_insert_with(count).1
    }

    /// Forgets messages that are not among these, when there are many of them.
    pub(crate) fn tidy(&mut self, messages: &[Arc<Message>]) {
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
