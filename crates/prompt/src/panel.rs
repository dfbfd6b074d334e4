//! Panels: live context beside the conversation that knows how often it changes.
//!
//! A panel's state is shown once, as an item of the log. As long as it does not change, nothing is sent anew; when it changes,
//! the new state is added at the end, so that each request extends the one before. Where the cache breaks anyway, all panels
//! are laid out anew at the beginning and their old states go (`docs/adr/0009-panels.md`).

mod board;
mod named;
mod own;
mod render;

pub use board::{Board, Cache, Fresh};
pub(crate) use named::{answered, called, first, is_panels, shown_in};
pub use own::Own;
pub use render::{Form, Texts, render};

use futures::future::BoxFuture;
use model::ToolSpec;
use session::{Body, Item, Shown, Time, Todo, Totals};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How often a panel changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Volatility {
    /// Never by itself: a change is shown where everything is laid out anew.
    Fixed,
    /// Seldom.
    Session,
    /// About once a turn.
    Turn,
    /// All the time, and the newest state is what counts.
    Live,
}

impl Volatility {
    /// For how many requests a change may be held back; `None` for as long as it takes.
    pub fn max_freezes(self) -> Option<u32> {
        match self {
            Volatility::Fixed => None,
            Volatility::Session => Some(3),
            Volatility::Turn => Some(2),
            Volatility::Live => Some(0),
        }
    }
}

/// Live context beside the conversation.
pub trait Panel: Send + Sync {
    /// What it is called, such as `todo` or `file:src/main.rs`.
    fn name(&self) -> &str;

    /// How often it changes.
    fn volatility(&self) -> Volatility;

    /// Whether the conversation itself tells of its changes, as that of a list does that only the model changes.
    fn told(&self) -> Told {
        Told::Here
    }

    /// What it says now; nothing where there is nothing to say.
    fn snapshot<'a>(&'a self, sight: &'a Sight<'a>) -> BoxFuture<'a, Option<String>>;
}

/// Where changes of a panel are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// Only by the panel.
    Here,
    /// By the conversation too: the panel is shown only where everything is laid out anew.
    InConversation,
}

/// The panels that are open.
pub trait Shelf: Send + Sync {
    /// In a stable order.
    fn open(&self) -> Vec<Arc<dyn Panel>>;
}

/// No panels at all.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPanels;

impl Shelf for NoPanels {
    fn open(&self) -> Vec<Arc<dyn Panel>> {
        Vec::new()
    }
}

/// What a panel may look at of the session.
#[derive(Debug, Clone, Copy)]
pub struct Sight<'a> {
    /// The session's name.
    pub session: &'a str,
    /// All that happened in it.
    pub items: &'a [Arc<Item>],
    /// The list of things to do.
    pub todos: &'a [Todo],
    /// What it has cost.
    pub totals: Totals,
    /// The model, as `provider/id`.
    pub model: &'a str,
    /// About how many tokens the next request has.
    pub tokens: u64,
    /// How many there may be; 0 where nobody knows.
    pub window: u64,
    /// The tools that the model is told of.
    pub tools: &'a [ToolSpec],
    /// The names of those that it has to look for.
    pub further: &'a [String],
    /// What time it is.
    pub now: Time,
}

/// What a panel says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The panel's name.
    pub name: String,
    /// How often it changes.
    pub volatility: Volatility,
    /// Where its changes are told.
    pub told: Told,
    /// What it says.
    pub text: String,
}

impl Snapshot {
    /// What the panel says, as a number by which changes are told. Never 0.
    pub fn hash(&self) -> u64 {
        hash(&self.text)
    }
}

/// FNV-1a: the same on every machine and in every version.
pub(crate) fn hash(text: &str) -> u64 {
    let sum = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    sum.max(1)
}

/// The states of panels that the model sees, by their names.
pub fn shown(items: &[Arc<Item>]) -> BTreeMap<&str, &Shown> {
    let from = items.iter().rposition(|item| crate::view::is_boundary(item));
    let mut states = BTreeMap::new();
    for item in &items[from.unwrap_or(0)..] {
        if let Body::Panels { shown, .. } = &item.body {
            states.extend(shown.iter().map(|shown| (shown.panel.as_str(), shown)));
        }
    }
    states.retain(|_, shown| shown.hash != 0);
    states
}

/// About how many bytes of panels the model sees that a later state has replaced.
pub fn outdated(items: &[Arc<Item>]) -> usize {
    let from = items.iter().rposition(|item| crate::view::is_boundary(item));
    let states = shown(items);
    let is_newest = |shown: &Shown| states.get(shown.panel.as_str()).is_some_and(|newest| *newest == shown);
    let outdated = items[from.unwrap_or(0)..].iter().filter(|item| match &item.body {
        Body::Panels { shown, .. } => !shown.is_empty() && !shown.iter().any(is_newest),
        _ => false,
    });
    let messages = outdated.flat_map(|item| item.messages());
    messages.map(|message| crate::message_bytes(message)).sum()
}

#[cfg(test)]
mod tests;
