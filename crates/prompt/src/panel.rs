//! Panels: live context next to the conversation, with a known rate of change.
//!
//! The state of a panel is shown once, as an item of the log. Unchanged panels are not sent again; a changed state is
//! appended, so that each request extends the previous one. If the cache is invalid anyway, all panels are laid out
//! again at the beginning and their old states are dropped (`docs/adr/0009-panels.md`).

mod builtin;
mod history;
mod recognition;
mod render;
mod scheduler;

pub use builtin::BuiltinPanel;
pub use history::HistoryPanel;
pub(crate) use recognition::{first_panel, is_panels, panel_of_call, panel_of_result, split_panels};
pub use render::{PanelForm, PanelTexts, render};
pub use scheduler::{CacheStatus, PanelScheduler, PanelUpdate};

use futures::future::{BoxFuture, FutureExt as _};
use model::ToolSpec;
use session::{Body, Item, ShownPanel, Time, Todo, Totals};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How often a panel changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Volatility {
    /// Never on its own: a change is shown with the next full layout.
    Fixed,
    /// Rarely.
    Session,
    /// About once per turn.
    Turn,
    /// Constantly; only the newest state matters.
    Live,
}

impl Volatility {
    /// For how many requests a change may be delayed; `None` for no limit.
    pub fn max_freezes(self) -> Option<u32> {
        match self {
            Volatility::Fixed => None,
            Volatility::Session => Some(3),
            Volatility::Turn => Some(2),
            Volatility::Live => Some(0),
        }
    }
}

/// Live context next to the conversation.
pub trait Panel: Send + Sync {
    /// Its name, such as `todo` or `file:src/main.rs`.
    fn name(&self) -> &str;

    /// How often it changes.
    fn volatility(&self) -> Volatility;

    /// Whether changes are also visible in the conversation, as with a list that only the model changes.
    fn change_channel(&self) -> ChangeChannel {
        ChangeChannel::Panel
    }

    /// Returns a value that changes with its content, if the content can change without a tool of the session. It is
    /// computed before each request, so it must be cheap.
    fn version(&self) -> BoxFuture<'_, Option<u64>> {
        async { None }.boxed()
    }

    /// Waits until its first content is available, if that takes long. Snapshots do not wait.
    fn load(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }

    /// Returns its current text, or `None` if it is empty.
    fn snapshot<'a>(&'a self, context: &'a PanelContext<'a>) -> BoxFuture<'a, Option<String>>;
}

/// Where changes of a panel are visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeChannel {
    /// Only in the panel.
    Panel,
    /// Also in the conversation: the panel is shown only in a full layout.
    Conversation,
}

/// Provides the open panels.
pub trait PanelSource: Send + Sync {
    /// Returns the open panels in a stable order.
    fn panels(&self) -> Vec<Arc<dyn Panel>>;

    /// Sets how many older parts of the conversation are replaced by history panels.
    fn set_history_parts(&self, _parts: usize) {}
}

/// Provides no panels.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPanels;

impl PanelSource for NoPanels {
    fn panels(&self) -> Vec<Arc<dyn Panel>> {
        Vec::new()
    }
}

/// Session data available to panels.
#[derive(Debug, Clone, Copy)]
pub struct PanelContext<'a> {
    /// The name of the session.
    pub session: &'a str,
    /// All items.
    pub items: &'a [Arc<Item>],
    /// The todo list.
    pub todos: &'a [Todo],
    /// Accumulated usage and cost.
    pub totals: Totals,
    /// The model, as `provider/id`.
    pub model: &'a str,
    /// Estimated tokens of the next request.
    pub tokens: u64,
    /// The context window; 0 if unknown.
    pub window: u64,
    /// The tools listed in the request.
    pub tools: &'a [ToolSpec],
    /// Names of tools that the model must search for.
    pub deferred: &'a [String],
    /// The current time.
    pub now: Time,
}

/// The content of a panel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PanelSnapshot {
    /// The name of the panel.
    pub name: String,
    /// How often it changes.
    pub volatility: Volatility,
    /// Where changes are visible.
    pub change_channel: ChangeChannel,
    /// Its text.
    pub text: String,
}

impl PanelSnapshot {
    /// Hash of the text, for change detection. Never 0.
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

/// Returns the panel states that the model sees, by name.
pub fn shown_states(items: &[Arc<Item>]) -> BTreeMap<&str, &ShownPanel> {
    let from = items
        .iter()
        .rposition(|item| crate::assembly::view::is_layout_boundary(item));
    let mut states = BTreeMap::new();
    for item in &items[from.unwrap_or(0)..] {
        if let Body::Panels { states: shown, .. } = &item.body {
            states.extend(shown.iter().map(|shown| (shown.panel.as_str(), shown)));
        }
    }
    states.retain(|_, shown| shown.hash != 0);
    states
}

/// Returns the last states of the panels that are open at the end of a log, by name. Unlike [`shown_states`], a summary
/// does not hide them.
pub fn open_states(items: &[Arc<Item>]) -> BTreeMap<&str, &ShownPanel> {
    let mut states = BTreeMap::new();
    for item in items {
        if let Body::Panels {
            states: shown, elision, ..
        } = &item.body
        {
            // A complete layout does not mention closed panels.
            if elision.is_some() {
                states.clear();
            }
            states.extend(shown.iter().map(|shown| (shown.panel.as_str(), shown)));
        }
    }
    states.retain(|_, shown| shown.hash != 0);
    states
}

/// Estimated bytes of visible panel states that were replaced later. The states of one item count as equally long.
pub fn outdated_bytes(items: &[Arc<Item>]) -> usize {
    let from = items
        .iter()
        .rposition(|item| crate::assembly::view::is_layout_boundary(item));
    let states = shown_states(items);
    let is_newest = |shown: &ShownPanel| states.get(shown.panel.as_str()).is_some_and(|newest| *newest == shown);
    let outdated = items[from.unwrap_or(0)..].iter().map(|item| match &item.body {
        Body::Panels { states, messages, .. } if !states.is_empty() => {
            let bytes: usize = messages.iter().map(|message| crate::message_bytes(message)).sum();
            bytes * states.iter().filter(|shown| !is_newest(shown)).count() / states.len()
        }
        _ => 0,
    });
    outdated.sum()
}

/// Returns whether all panels are in one layout before the conversation, in this form.
pub fn is_laid_out(items: &[Arc<Item>], form: PanelForm) -> bool {
    let from = items
        .iter()
        .rposition(|item| crate::assembly::view::is_layout_boundary(item));
    let mut shown = items[from.unwrap_or(0)..].iter().filter_map(|item| match &item.body {
        Body::Panels {
            states,
            elision,
            messages,
        } if !states.is_empty() => Some((elision, messages)),
        _ => None,
    });
    let is_call = |part: &model::Part| matches!(part, model::Part::ToolCall { .. });
    shown.all(|(elision, messages)| {
        let has_calls = messages.iter().any(|message| message.parts.iter().any(is_call));
        elision.is_some() && has_calls == (form == PanelForm::Calls)
    })
}

#[cfg(test)]
mod tests;
