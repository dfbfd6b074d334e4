//! Selects the panels for a request: those that changed, unless they are delayed.

use super::render::PanelTexts;
use super::{ChangeChannel, PanelSnapshot};
use session::{Item, ShownPanel, Time};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// State of each panel besides what the model was shown.
#[derive(Debug, Clone, Default)]
pub struct PanelScheduler {
    states: HashMap<String, PanelState>,
}

#[derive(Debug, Clone)]
struct PanelState {
    hash: u64,
    /// Time of the last change.
    since: Time,
    /// Number of requests by which a change was delayed.
    freezes: u32,
}

/// The delay of a change that a note replaces: it is not shown later.
const NOTED: u32 = u32::MAX;

/// Whether the provider's cache still contains the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheStatus {
    /// Valid: a shown panel is appended and costs its tokens.
    Warm {
        /// Maximum tokens of a changed panel.
        worth: u64,
    },
    /// Invalid: everything is sent again, including all changed panels.
    Broken,
}

/// A panel to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PanelUpdate {
    /// The name of the panel.
    pub name: String,
    /// Its text; `None` if it is closed or empty.
    pub text: Option<String>,
    /// Time of its last change.
    pub since: Time,
}

impl PanelUpdate {
    /// The stored state.
    pub fn shown(&self) -> ShownPanel {
        ShownPanel {
            panel: self.name.clone(),
            hash: self.text.as_deref().map_or(0, super::hash),
            since: self.since,
        }
    }
}

impl PanelScheduler {
    /// Takes the times of the last changes from the log of an earlier process.
    pub fn restore(&mut self, items: &[Arc<Item>]) {
        for (name, shown) in super::open_states(items) {
            let state = PanelState {
                hash: shown.hash,
                since: shown.since,
                freezes: 0,
            };
            self.states.entry(name.to_owned()).or_insert(state);
        }
    }

    /// Returns the panels for the next request, from the oldest change to the newest. `counts` returns the tokens of a
    /// text.
    ///
    /// Unchanged panels are not shown again. A change is delayed for as many requests as the volatility allows, and
    /// without limit if the panel is longer than it is worth: then a note replaces it. New and removed panels are shown
    /// immediately.
    pub fn select_updates(
        &mut self,
        snapshots: &[PanelSnapshot],
        shown: &BTreeMap<&str, &ShownPanel>,
        cache: CacheStatus,
        now: Time,
        counts: impl Fn(&str) -> u64,
    ) -> Vec<PanelUpdate> {
        let mut updates: Vec<PanelUpdate> = Vec::new();
        for snapshot in snapshots {
            let name = snapshot.name.as_str();
            let state = self.update_state(snapshot, shown.get(name).copied(), now);
            let text = match change(state, snapshot, shown.get(name).copied(), cache, &counts) {
                PanelChange::None => continue,
                PanelChange::Shown => snapshot.text.clone(),
                PanelChange::TooLong => {
                    let note = PanelTexts::load().outdated;
                    if shown.get(name).is_some_and(|shown| shown.hash == super::hash(&note)) {
                        state.freezes = NOTED;
                        continue;
                    }
                    note
                }
            };
            state.freezes = 0;
            updates.push(PanelUpdate {
                name: snapshot.name.clone(),
                text: Some(text),
                since: state.since,
            });
        }
        updates.sort_by_key(|update| update.since);
        if cache != CacheStatus::Broken {
            let is_gone = |name: &&str| !snapshots.iter().any(|snapshot| snapshot.name == **name);
            updates.extend(shown.keys().filter(|name| is_gone(name)).map(|name| PanelUpdate {
                name: (*name).to_owned(),
                text: None,
                since: now,
            }));
        }
        self.states
            .retain(|name, _| snapshots.iter().any(|snapshot| snapshot.name == *name));
        updates
    }

    /// Whether a change was delayed and is due with one of the next requests.
    pub fn has_delayed_changes(&self) -> bool {
        self.states.values().any(|state| (1..NOTED).contains(&state.freezes))
    }

    /// Records the content of a panel: the time changes only with the content.
    fn update_state(&mut self, snapshot: &PanelSnapshot, shown: Option<&ShownPanel>, now: Time) -> &mut PanelState {
        let hash = snapshot.hash();
        let since = shown
            .filter(|shown| shown.hash == hash)
            .map_or(now, |shown| shown.since);
        let state = self.states.entry(snapshot.name.clone()).or_insert(PanelState {
            hash,
            since,
            freezes: 0,
        });
        if state.hash != hash {
            (state.hash, state.since) = (hash, now);
        }
        state
    }
}

/// How a panel differs from what the model sees.
enum PanelChange {
    /// Not at all, or the change is delayed.
    None,
    /// The new content is shown.
    Shown,
    /// The new content is longer than it is worth.
    TooLong,
}

fn change(
    state: &mut PanelState,
    snapshot: &PanelSnapshot,
    shown: Option<&ShownPanel>,
    cache: CacheStatus,
    counts: &impl Fn(&str) -> u64,
) -> PanelChange {
    let CacheStatus::Warm { worth } = cache else {
        return PanelChange::Shown;
    };
    let is_new = shown.is_none();
    if shown.is_some_and(|shown| shown.hash == state.hash) {
        state.freezes = 0;
        return PanelChange::None;
    }
    if snapshot.change_channel == ChangeChannel::Conversation {
        return PanelChange::None;
    }
    if is_new {
        return PanelChange::Shown;
    }
    match snapshot.volatility.max_freezes() {
        None => return PanelChange::None,
        Some(most) if state.freezes < most => {
            state.freezes += 1;
            return PanelChange::None;
        }
        Some(_) => {}
    }
    // The byte length suffices to accept short panels.
    match snapshot.text.len() as u64 <= worth || counts(&snapshot.text) <= worth {
        true => PanelChange::Shown,
        false => PanelChange::TooLong,
    }
}
