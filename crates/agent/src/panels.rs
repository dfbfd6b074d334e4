//! Shows panels to the model beside the conversation, and folds the conversation where its cache is broken anyway.
//!
//! What is shown and how the conversation is folded is an item of the log: `prompt` lays out what the log says.

use crate::state::State;
use futures::future::join_all;
use model::Caching;
use prompt::panel::{self, Board, Cache, Form, Fresh, Shelf, Sight, Snapshot};
use prompt::tokens::Family;
use session::{Body, Error, Fold, Item, ItemId, Time};
use std::sync::Arc;

/// Old states of panels take at most this part of the budget before new ones have to wait.
const OUTDATED_PERCENT: u64 = 10;
/// For a model whose window nobody knows, a changed panel is worth so many tokens.
const UNKNOWN_WORTH: u64 = 2_000;
/// A conversation is folded only from this part of the budget on: before that, nothing needs to be shorter.
const FOLD_PERCENT: u64 = 25;

/// What is shown beside the conversation.
pub(crate) struct Beside {
    pub(crate) shelf: Arc<dyn Shelf>,
    board: Board,
    tempo: Tempo,
    /// What stood before the conversation in the last request.
    front: Option<Front>,
    /// When the last request left, or was made ready.
    asked: Option<Time>,
    /// The newest summary after which everything was laid out anew.
    summed_up: Option<ItemId>,
    /// About how many tokens the tools have.
    tools: Option<(Arc<[model::ToolSpec]>, Family, u64)>,
}

/// Whether anything happened since the last look that could have changed a panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tempo {
    /// Nothing did: panels are not even looked at.
    Kept,
    Broken,
}

/// What stands before the conversation: the cache breaks with it.
#[derive(Debug, Clone, PartialEq)]
struct Front {
    model: String,
    system: Vec<Arc<str>>,
    tools: Arc<[model::ToolSpec]>,
}

/// When panels are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Before the first request of a turn.
    TurnStart,
    /// Before any request.
    Request,
}

impl Beside {
    pub(crate) fn new(shelf: Arc<dyn Shelf>) -> Self {
        Beside {
            shelf,
            board: Board::default(),
            tempo: Tempo::Broken,
            front: None,
            asked: None,
            summed_up: None,
            tools: None,
        }
    }

    /// Something was done that may have changed a panel.
    pub(crate) fn disturb(&mut self) {
        self.tempo = Tempo::Broken;
    }
}

impl State {
    /// Counts tokens as the model does, from now on, and knows how many there may be.
    pub(crate) fn measure(&mut self) {
        let info = self.model.info();
        let family = Family::of(info);
        let known = self
            .beside
            .tools
            .as_ref()
            .filter(|(tools, counted, _)| Arc::ptr_eq(tools, &self.frame.tools) && *counted == family);
        let tokens = match known {
            Some((_, _, tokens)) => *tokens,
            None => prompt::tokens::tool_tokens(family, &self.frame.tools),
        };
        self.beside.tools = Some((Arc::clone(&self.frame.tools), family, tokens));
        self.frame.family = family;
        self.frame.budget = prompt::Budget::of(info, self.room.compaction.threshold, tokens);
    }

    /// About how many tokens the tools have.
    pub(crate) fn tool_tokens(&self) -> u64 {
        self.beside.tools.as_ref().map_or(0, |(_, _, tokens)| *tokens)
    }

    /// A request leaves: what stands before the conversation is cached from now on.
    pub(crate) fn asked(&mut self) {
        self.beside.front = Some(self.front());
        self.beside.asked = Some((self.clock)());
    }

    fn front(&self) -> Front {
        Front {
            model: self.model.info().name(),
            system: self.frame.system.clone(),
            tools: Arc::clone(&self.frame.tools),
        }
    }

    /// Whether the provider's cache holds nothing of the conversation any more.
    fn is_cache_broken(&self) -> bool {
        let seen = || prompt::view(&self.items);
        let newest_boundary = self.items.iter().rev().find(|item| is_boundary(item));
        let is_first = self.beside.asked.is_none() && !seen().any(|item| matches!(item.body, Body::Reply { .. }));
        let is_summed_up = newest_boundary
            .is_some_and(|item| matches!(item.body, Body::Summary { .. }) && self.beside.summed_up != Some(item.id));
        let is_other = self.beside.front.as_ref().is_some_and(|front| *front != self.front());
        let last = self.beside.asked.or_else(|| self.items.last().map(|item| item.at));
        let patience = Caching::of(self.model.info()).seconds * 1_000;
        let is_cold = last.is_some_and(|last| (self.clock)().0.saturating_sub(last.0) > patience);
        is_first || is_summed_up || is_other || is_cold
    }
}

fn is_boundary(item: &Item) -> bool {
    matches!(item.body, Body::Summary { .. } | Body::Panels { fold: Some(_), .. })
}

/// Shows panels that have changed, and folds what is worth it where the cache is broken.
pub(crate) async fn show(state: &mut State, moment: Moment) -> Result<(), Error> {
    state.measure();
    let is_broken = state.is_cache_broken();
    if moment == Moment::TurnStart {
        // Whatever happened between turns.
        state.beside.disturb();
    }
    if !is_broken && state.beside.tempo == Tempo::Kept {
        return Ok(());
    }
    state.beside.tempo = Tempo::Kept;
    if is_broken {
        // What is laid out now need not be laid out again for the same reason.
        let summary = state
            .items
            .iter()
            .rev()
            .find(|item| matches!(item.body, Body::Summary { .. }));
        state.beside.summed_up = summary.map(|item| item.id);
        state.asked();
    }
    let cache = match is_broken {
        true => Cache::Broken,
        false => Cache::Warm { worth: worth(state) },
    };
    let snapshots = look(state).await;
    let family = state.frame.family;
    let now = (state.clock)();
    let shown = panel::shown(&state.items);
    let mut board = std::mem::take(&mut state.beside.board);
    let fresh = board.choose(&snapshots, &shown, cache, now, |text| family.estimate(text));
    let is_news = fresh.iter().any(|fresh| {
        let state = fresh.shown();
        shown.get(fresh.name.as_str()).is_none_or(|shown| **shown != state)
    });
    let is_closed = shown.keys().any(|name| !fresh.iter().any(|fresh| fresh.name == *name));
    state.beside.board = board;
    let fold = match cache {
        Cache::Broken => refold(state, moment),
        Cache::Warm { .. } => None,
    };
    let anew = is_broken && (is_news || is_closed || fold.is_some() || panel::outdated(&state.items) > 0);
    if anew {
        let fold = fold.unwrap_or_else(|| prompt::fold_in_force(&state.items));
        return keep(state, &fresh, Some(fold)).await;
    }
    match !is_broken && !fresh.is_empty() {
        true => keep(state, &fresh, None).await,
        false => Ok(()),
    }
}

/// How many tokens a changed panel may have to be shown at the end of a conversation that is cached.
fn worth(state: &State) -> u64 {
    let Some(budget) = state.frame.budget else {
        return UNKNOWN_WORTH;
    };
    let most = budget.tokens * OUTDATED_PERCENT / 100;
    let outdated = panel::outdated(&state.items) as u64 / 4;
    most.saturating_sub(outdated)
}

/// What the open panels say.
async fn look(state: &State) -> Vec<Snapshot> {
    let open = state.beside.shelf.open();
    if open.is_empty() {
        return Vec::new();
    }
    let info = state.model.info();
    let (session, model) = (state.session.to_string(), info.name());
    let further: Vec<String> = state.tools.deferred().map(|tool| tool.spec().name.clone()).collect();
    let sight = Sight {
        session: &session,
        items: &state.items,
        todos: &state.todos,
        totals: state.totals,
        model: &model,
        tokens: state.tokens(),
        window: info.limits.window,
        tools: &state.frame.tools,
        further: &further,
        now: (state.clock)(),
    };
    let texts = join_all(open.iter().map(|panel| panel.snapshot(&sight))).await;
    let said = open.iter().zip(texts).filter_map(|(panel, text)| {
        Some(Snapshot {
            name: panel.name().to_owned(),
            volatility: panel.volatility(),
            told: panel.told(),
            text: text.filter(|text| !text.trim().is_empty())?,
        })
    });
    said.collect()
}

/// Another fold, where there is something to fold and the conversation is long enough for it.
fn refold(state: &State, moment: Moment) -> Option<Fold> {
    let budget = state.frame.budget?;
    if state.tokens() * 100 < budget.tokens * FOLD_PERCENT {
        return None;
    }
    let now = prompt::fold_in_force(&state.items);
    let mut fold = prompt::fold(&state.items, state.frame.family);
    if moment != Moment::TurnStart {
        // Chunks are detached between turns only.
        fold.history = now.history.clone();
    }
    (fold != now).then_some(fold)
}

/// Keeps what is shown, and how the conversation is folded.
pub(crate) async fn keep(state: &mut State, fresh: &[Fresh], fold: Option<Fold>) -> Result<(), Error> {
    let form = Form::of(state.model.info());
    let at = (state.clock)();
    let (family, budget) = (state.frame.family, state.frame.budget);
    let body = Body::Panels {
        messages: panel::render(fresh, fold.is_some(), form, family, budget, at),
        shown: fresh.iter().map(Fresh::shown).collect(),
        fold,
    };
    state.append(ItemId::new(), body).await
}

/// Folds the conversation because there is no room for it as it is; what the panels say is shown anew.
pub(crate) async fn fold_now(state: &mut State, fold: Fold) -> Result<(), Error> {
    let snapshots = look(state).await;
    let family = state.frame.family;
    let now = (state.clock)();
    let shown = panel::shown(&state.items);
    let mut board = std::mem::take(&mut state.beside.board);
    let fresh = board.choose(&snapshots, &shown, Cache::Broken, now, |text| family.estimate(text));
    state.beside.board = board;
    keep(state, &fresh, Some(fold)).await
}
