//! Shows panels to the model, and elides older parts of the conversation when the provider's cache is invalid anyway.
//!
//! Panel contents and elisions are items of the log; `prompt` renders them.

use crate::compaction::request_tokens;
use crate::session::{Environment, Session, Turn};
use futures::future::join_all;
use model::CachePolicy;
use prompt::panel::{self, CacheStatus, PanelContext, PanelForm, PanelScheduler, PanelSnapshot, PanelUpdate};
use prompt::tokens::TokenizerFamily;
use session::{Body, Error, HistoryElision, Item, ItemId, Time};
use std::sync::Arc;

/// The share of the budget that outdated panel contents may take before new ones are postponed.
const OUTDATED_PERCENT: u64 = 10;
/// The size in tokens up to which a changed panel is shown if the window is unknown.
const DEFAULT_PANEL_ALLOWANCE: u64 = 2_000;
/// The share of the budget from which a conversation is elided.
const ELIDE_PERCENT: u64 = 25;

/// Tracks what the model has seen of the panels and of the prompt prefix.
#[derive(Default)]
pub(crate) struct PanelTracker {
    scheduler: PanelScheduler,
    freshness: PanelFreshness,
    /// The versions of the panels that can change outside the session, by name.
    versions: Vec<(String, u64)>,
    /// The prefix of the last request.
    prefix: Option<PromptPrefix>,
    /// The time of the last request.
    last_request: Option<Time>,
    /// The newest summary after which all panels were rendered again.
    rendered_summary: Option<ItemId>,
    /// The estimated token count of the tool definitions, with the key it was computed for.
    tools: Option<(Arc<[model::ToolSpec]>, TokenizerFamily, u64)>,
}

/// Whether panels may have changed since the last snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum PanelFreshness {
    /// Nothing has changed; no snapshot is needed.
    Current,
    #[default]
    Stale,
}

/// The part of a request before the conversation. The provider's cache becomes invalid when it changes.
#[derive(Debug, Clone, PartialEq)]
struct PromptPrefix {
    model: String,
    system: Vec<Arc<str>>,
    tools: Arc<[model::ToolSpec]>,
}

/// The point in a turn at which panels are refreshed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PanelTiming {
    /// Before the first request of a turn.
    TurnStart,
    /// Before any request.
    Request,
}

impl PanelTracker {
    /// Marks that panels may have changed.
    pub(crate) fn mark_stale(&mut self) {
        self.freshness = PanelFreshness::Stale;
    }

    /// The estimated token count of the tool definitions.
    pub(crate) fn tool_tokens(&self) -> u64 {
        self.tools.as_ref().map_or(0, |(_, _, tokens)| *tokens)
    }

    /// Computes the token count of the tool definitions if it is not known.
    fn update_tool_tokens(&mut self, tools: &Arc<[model::ToolSpec]>, family: TokenizerFamily) -> u64 {
        let known = self.tools.as_ref();
        let known = known.filter(|(counted, by, _)| Arc::ptr_eq(counted, tools) && *by == family);
        let tokens = match known {
            Some((_, _, tokens)) => *tokens,
            None => prompt::tokens::tool_tokens(family, tools),
        };
        self.tools = Some((Arc::clone(tools), family, tokens));
        tokens
    }
}

impl PromptPrefix {
    fn of(turn: &Turn) -> Self {
        PromptPrefix {
            model: turn.model.info().name(),
            system: turn.frame.system.clone(),
            tools: Arc::clone(&turn.frame.tools),
        }
    }
}

impl Session {
    /// Updates the tokenizer family and the budget for the current model.
    pub(crate) fn update_budget(&mut self) {
        let Session {
            env,
            conversation,
            turn,
            ..
        } = self;
        let info = turn.model.info();
        let family = TokenizerFamily::of(info);
        let tool_tokens = conversation.panels.update_tool_tokens(&turn.frame.tools, family);
        conversation.compaction.family = family;
        turn.frame.family = family;
        turn.frame.budget = prompt::TokenBudget::of(info, env.config.compaction.threshold, tool_tokens);
        conversation.compaction.budget = turn.frame.budget;
    }

    /// Records that a request is sent: its prefix is cached from now on.
    pub(crate) fn record_prefix(&mut self) {
        self.conversation.panels.prefix = Some(PromptPrefix::of(&self.turn));
        self.conversation.panels.last_request = Some(self.env.now());
    }

    /// Returns whether the provider's cache contains nothing of the conversation.
    fn is_cache_broken(&self) -> bool {
        let (items, panels) = (&self.conversation.items, &self.conversation.panels);
        let is_reply = |item: &Arc<Item>| matches!(item.body, Body::Reply { .. });
        let is_first = panels.last_request.is_none() && !prompt::visible_items(items).any(is_reply);
        let newest_boundary = items.iter().rev().find(|item| is_boundary(item));
        let is_summarised = newest_boundary
            .is_some_and(|item| matches!(item.body, Body::Summary { .. }) && panels.rendered_summary != Some(item.id));
        let prefix = panels.prefix.as_ref();
        let has_other_prefix = match prefix {
            Some(prefix) => *prefix != PromptPrefix::of(&self.turn),
            // The session was resumed.
            None => last_model(items).is_some_and(|model| *model != self.turn.model.info().name()),
        };
        let last = panels.last_request.or_else(|| items.last().map(|item| item.at));
        let ttl = CachePolicy::of(self.turn.model.info()).ttl_seconds * 1_000;
        let is_expired = last.is_some_and(|last| self.env.now().0.saturating_sub(last.0) > ttl);
        is_first || is_summarised || has_other_prefix || is_expired
    }
}

/// The model of the last reply.
fn last_model(items: &[Arc<Item>]) -> Option<&String> {
    items.iter().rev().find_map(|item| match &item.body {
        Body::Reply { model, .. } => Some(model),
        _ => None,
    })
}

fn is_boundary(item: &Item) -> bool {
    matches!(item.body, Body::Summary { .. } | Body::Panels { elision: Some(_), .. })
}

/// Appends changed panels, and elides older parts of the conversation if the cache is invalid.
pub(crate) async fn refresh(session: &mut Session, timing: PanelTiming) -> Result<(), Error> {
    session.update_budget();
    report_history_parts(session);
    let is_broken = session.is_cache_broken();
    if timing == PanelTiming::TurnStart {
        // Panels may have changed between turns.
        session.conversation.panels.mark_stale();
    }
    let versions = panel_versions(session).await;
    if session.conversation.panels.versions != versions {
        session.conversation.panels.versions = versions;
        session.conversation.panels.mark_stale();
    }
    if !is_broken && session.conversation.panels.freshness == PanelFreshness::Current {
        return Ok(());
    }
    session.conversation.panels.freshness = PanelFreshness::Current;
    if is_broken {
        // The newest summary needs no further rendering.
        let mut items = session.conversation.items.iter().rev();
        let summary = items.find(|item| matches!(item.body, Body::Summary { .. }));
        session.conversation.panels.rendered_summary = summary.map(|item| item.id);
        session.record_prefix();
    }
    let cache = match is_broken {
        true => CacheStatus::Broken,
        false => CacheStatus::Warm {
            worth: panel_allowance(session),
        },
    };
    let updates = select_updates(session, cache).await;
    if session.conversation.panels.scheduler.has_delayed_changes() {
        session.conversation.panels.mark_stale();
    }
    if !is_broken {
        return match updates.is_empty() {
            true => Ok(()),
            false => append_panels(session, &updates, None).await,
        };
    }
    let items = &session.conversation.items;
    let shown = panel::shown_states(items);
    let has_news = updates.iter().any(|update| {
        let state = update.shown();
        shown.get(update.name.as_str()).is_none_or(|shown| **shown != state)
    });
    let is_closed = shown
        .keys()
        .any(|name| !updates.iter().any(|update| update.name == *name));
    let elision = changed_elision(session, timing);
    let form = PanelForm::of(session.turn.model.info());
    if !has_news && !is_closed && elision.is_none() && panel::is_laid_out(items, form) {
        return Ok(());
    }
    let elision = elision.unwrap_or_else(|| prompt::current_elision(items));
    append_panels(session, &updates, Some(elision)).await
}

/// The versions of the panels that can change outside the session.
async fn panel_versions(session: &Session) -> Vec<(String, u64)> {
    let panels = session.env.config.panels.panels();
    let versions = join_all(panels.iter().map(|panel| panel.version())).await;
    let versions = panels.iter().zip(versions);
    versions
        .filter_map(|(panel, version)| Some((panel.name().to_owned(), version?)))
        .collect()
}

/// The size in tokens up to which a changed panel is appended to a cached conversation.
fn panel_allowance(session: &Session) -> u64 {
    let Some(budget) = session.turn.frame.budget else {
        return DEFAULT_PANEL_ALLOWANCE;
    };
    let most = budget.tokens * OUTDATED_PERCENT / 100;
    let outdated = panel::outdated_bytes(&session.conversation.items) as u64 / 4;
    most.saturating_sub(outdated)
}

/// Selects the panels to show.
async fn select_updates(session: &mut Session, cache: CacheStatus) -> Vec<PanelUpdate> {
    let snapshots = take_snapshots(session).await;
    let (family, now) = (session.turn.frame.family, session.env.now());
    let conversation = &mut session.conversation;
    let shown = panel::shown_states(&conversation.items);
    let scheduler = &mut conversation.panels.scheduler;
    if conversation.panels.last_request.is_none() {
        scheduler.restore(&conversation.items);
    }
    scheduler.select_updates(&snapshots, &shown, cache, now, |text| family.estimate(text))
}

/// Takes snapshots of the open panels.
async fn take_snapshots(session: &Session) -> Vec<PanelSnapshot> {
    let Session {
        env,
        conversation,
        turn,
        accounting,
    } = session;
    let Environment { config, .. } = env.as_ref();
    let panels = config.panels.panels();
    if panels.is_empty() {
        return Vec::new();
    }
    let info = turn.model.info();
    let (id, model) = (env.session.to_string(), info.name());
    let deferred: Vec<String> = config.tools.deferred().map(|tool| tool.spec().name.clone()).collect();
    let context = PanelContext {
        session: &id,
        items: &conversation.items,
        todos: &conversation.todos,
        totals: accounting.totals,
        model: &model,
        tokens: request_tokens(conversation, turn),
        window: info.limits.window,
        tools: &turn.frame.tools,
        deferred: &deferred,
        now: env.now(),
    };
    let texts = join_all(panels.iter().map(|panel| panel.snapshot(&context))).await;
    let snapshots = panels.iter().zip(texts).filter_map(|(panel, text)| {
        Some(PanelSnapshot {
            name: panel.name().to_owned(),
            volatility: panel.volatility(),
            change_channel: panel.change_channel(),
            text: text.filter(|text| !text.trim().is_empty())?,
        })
    });
    snapshots.collect()
}

/// A different elision, if the conversation is long enough for one.
fn changed_elision(session: &Session, timing: PanelTiming) -> Option<HistoryElision> {
    let (conversation, turn) = (&session.conversation, &session.turn);
    let budget = turn.frame.budget?;
    if request_tokens(conversation, turn) * 100 < budget.tokens * ELIDE_PERCENT {
        return None;
    }
    let current = prompt::current_elision(&conversation.items);
    let mut elision = prompt::plan_elision(&conversation.items, turn.frame.family);
    if timing != PanelTiming::TurnStart {
        // Chunks of history are detached only between turns.
        elision.history = current.history.clone();
    }
    (elision != current).then_some(elision)
}

/// Appends panel contents and the elision.
async fn append_panels(
    session: &mut Session,
    updates: &[PanelUpdate],
    elision: Option<HistoryElision>,
) -> Result<(), Error> {
    let Session {
        env,
        conversation,
        turn,
        ..
    } = session;
    let form = PanelForm::of(turn.model.info());
    let (family, budget) = (turn.frame.family, turn.frame.budget);
    let body = Body::Panels {
        messages: panel::render(updates, elision.is_some(), form, family, budget, env.now()),
        states: updates.iter().map(PanelUpdate::shown).collect(),
        elision,
    };
    conversation.append(env, ItemId::new(), body).await?;
    report_history_parts(session);
    Ok(())
}

/// Reports how many parts of the conversation can be reopened.
fn report_history_parts(session: &Session) {
    let elision = prompt::current_elision(&session.conversation.items);
    session.env.config.panels.set_history_parts(elision.history.len());
}

/// Applies an elision because the conversation does not fit; all panels are rendered again.
pub(crate) async fn apply_elision(session: &mut Session, elision: HistoryElision) -> Result<(), Error> {
    let updates = select_updates(session, CacheStatus::Broken).await;
    append_panels(session, &updates, Some(elision)).await
}
