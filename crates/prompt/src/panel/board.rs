//! Decides which panels are shown with a request: those that changed, unless they are held back.

use super::{Snapshot, Told};
use session::{Shown, Time};
use std::collections::{BTreeMap, HashMap};

/// What is known of each panel beside what the model was shown.
#[derive(Debug, Clone, Default)]
pub struct Board {
    states: HashMap<String, State>,
}

#[derive(Debug, Clone)]
struct State {
    hash: u64,
    /// Since when it says what it says.
    since: Time,
    /// For how many requests a change was held back.
    freezes: u32,
}

/// Whether the provider's cache still holds the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// It does: whatever is shown is added at the end and costs its tokens.
    Warm {
        /// The most tokens that a changed panel is worth at the moment.
        worth: u64,
    },
    /// It does not: everything is sent anew, and whatever has changed may as well be.
    Broken,
}

/// A panel to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fresh {
    /// The panel's name.
    pub name: String,
    /// What it says; nothing where it is closed or empty.
    pub text: Option<String>,
    /// Since when.
    pub since: Time,
}

impl Fresh {
    /// What is kept of it.
    pub fn shown(&self) -> Shown {
        Shown {
            panel: self.name.clone(),
            hash: self.text.as_deref().map_or(0, super::hash),
            since: self.since,
        }
    }
}

impl Board {
    /// The panels to show with the next request, from the oldest change to the newest. `counts` says how many tokens a text has.
    ///
    /// A panel that has not changed is not shown again. One that has is held back for as many requests as its volatility
    /// allows, and as long as it takes where it is longer than it is worth; one that is new or gone is told of at once.
    pub fn choose(
        &mut self,
        snapshots: &[Snapshot],
        shown: &BTreeMap<&str, &Shown>,
        cache: Cache,
        now: Time,
        counts: impl Fn(&str) -> u64,
    ) -> Vec<Fresh> {
        let mut fresh: Vec<Fresh> = Vec::new();
        for snapshot in snapshots {
            let state = self.note(snapshot, shown.get(snapshot.name.as_str()).copied(), now);
            if is_due(
                state,
                snapshot,
                shown.get(snapshot.name.as_str()).copied(),
                cache,
                &counts,
            ) {
                state.freezes = 0;
                fresh.push(Fresh {
                    name: snapshot.name.clone(),
                    text: Some(snapshot.text.clone()),
                    since: state.since,
                });
            }
        }
        fresh.sort_by_key(|fresh| fresh.since);
        if cache != Cache::Broken {
            let is_gone = |name: &&str| !snapshots.iter().any(|snapshot| snapshot.name == **name);
            fresh.extend(shown.keys().filter(|name| is_gone(name)).map(|name| Fresh {
                name: (*name).to_owned(),
                text: None,
                since: now,
            }));
        }
        self.states
            .retain(|name, _| snapshots.iter().any(|snapshot| snapshot.name == *name));
        fresh
    }

    /// Takes note of what a panel says: the time counts only when that changes.
    fn note(&mut self, snapshot: &Snapshot, shown: Option<&Shown>, now: Time) -> &mut State {
        let hash = snapshot.hash();
        // A session that goes on knows from its log since when a panel says what it says.
        let since = shown
            .filter(|shown| shown.hash == hash)
            .map_or(now, |shown| shown.since);
        let state = self.states.entry(snapshot.name.clone()).or_insert(State {
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

fn is_due(
    state: &mut State,
    snapshot: &Snapshot,
    shown: Option<&Shown>,
    cache: Cache,
    counts: &impl Fn(&str) -> u64,
) -> bool {
    let Cache::Warm { worth } = cache else { return true };
    let is_new = shown.is_none();
    if shown.is_some_and(|shown| shown.hash == state.hash) {
        state.freezes = 0;
        return false;
    }
    if snapshot.told == Told::InConversation {
        return false;
    }
    if !is_new {
        let is_held = match snapshot.volatility.max_freezes() {
            None => true,
            Some(most) => state.freezes < most,
        };
        if is_held {
            state.freezes += 1;
            return false;
        }
    }
    // The first bytes tell enough where a panel is far too long.
    snapshot.text.len() as u64 <= worth || counts(&snapshot.text) <= worth
}
