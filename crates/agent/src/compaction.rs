//! Compacts the conversation before its window is full, and after a provider rejected it as too long.
//!
//! Compaction never fails a turn and never loops: without a usable summary of a model, one is made from the log, and a
//! request is preceded by at most three cuts. The full history stays in the log.

mod summary;

use crate::accounting::MAX_OVERESTIMATE;
use crate::conversation::Conversation;
use crate::hooks;
use crate::panels;
use crate::session::{Environment, Session, Turn};
use model::Model;
use prompt::tokens::{EstimateCorrection, TokenizerFamily, message_tokens};
use prompt::{CompactionCut, ContextPressure, FixedContent, KeepRecent, TokenBudget};
use session::{Body, Error, HistoryElision, Item, ItemId, NoticeLevel};
use std::sync::Arc;
use std::time::Duration;
use summary::{SummaryWriter, WindowFit, WrittenSummary};
use tokio::task::JoinHandle;

/// The share of the window that is reserved for a reply.
const REPLY_PERCENT: u64 = 10;
/// An elision is sufficient if it reduces the conversation to this share.
const ELIDED_PERCENT: u64 = 50;

/// The share of a rejected request's messages that is sent at each further attempt without a summary.
const REJECTED_PERCENTS: [u64; 3] = [75, 50, 25];
/// A rejected request with fewer tokens of messages is not reduced further.
const MIN_REJECTED_TOKENS: u64 = 500;

/// Settings for the compaction of long conversations.
#[derive(Clone, Default)]
pub struct CompactionSettings {
    /// Whether compaction happens automatically.
    pub automatic: AutoCompaction,
    /// The maximum number of tokens to use, if the model's window is larger.
    pub threshold: Option<u64>,
    /// The model that writes summaries; by default the model of the conversation, whose cache contains most of it.
    pub model: Option<Arc<dyn Model>>,
    /// The longest permitted silence of a model that writes a summary; 90 seconds by default.
    pub silence_timeout: Option<Duration>,
}

/// Whether compaction happens automatically.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AutoCompaction {
    /// Before the window is full.
    #[default]
    On,
    /// Only on request.
    Off,
}

/// The result of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CompactionResult {
    Compacted,
    /// There was nothing to replace.
    Unchanged,
}

/// The token count of the conversation, and the summary being written.
#[derive(Default)]
pub(crate) struct CompactionState {
    /// The tokenizer family of the current model.
    pub(crate) family: TokenizerFamily,
    /// The budget of the current model; it bounds single results.
    pub(crate) budget: Option<TokenBudget>,
    /// Correction of estimates by the reported usage.
    pub(crate) rate: EstimateCorrection,
    /// The token count after the last reply as reported by the provider.
    counted: Option<u64>,
    /// The estimated token count of the items since then.
    since: u64,
    summary: Option<JoinHandle<WrittenSummary>>,
}

impl CompactionState {
    /// Sets the token count reported by the provider.
    pub(crate) fn set_counted(&mut self, tokens: u64) {
        (self.counted, self.since) = (Some(tokens), 0);
    }

    /// Sets the token count after this reply as reported to an earlier process, unless later items have replaced a part of
    /// the conversation or the report is implausible.
    pub(crate) fn restore_count(&mut self, tokens: u64, reply: ItemId, items: &[Arc<Item>]) {
        let at = items.iter().position(|item| item.id == reply);
        let (Some(at), None) = (at, self.counted) else {
            return;
        };
        let (before, later) = items.split_at(at + 1);
        let size = |item: &Arc<Item>| item_tokens(item, self.family, self.budget);
        let estimated: u64 = prompt::elided_items(before).iter().map(size).sum();
        let is_boundary =
            |item: &Arc<Item>| matches!(item.body, Body::Summary { .. } | Body::Panels { elision: Some(_), .. });
        if tokens >= estimated / MAX_OVERESTIMATE && !later.iter().any(is_boundary) {
            self.set_counted(tokens);
            later.iter().for_each(|item| self.add_item(item));
        }
    }

    /// Adds an appended item to the estimate.
    pub(crate) fn add_item(&mut self, item: &Item) {
        match &item.body {
            // Included in the provider's count.
            Body::Reply { .. } => {}
            _ => self.since += item_tokens(item, self.family, self.budget),
        }
    }

    /// Discards the provider's count, because older items are rendered differently.
    pub(crate) fn invalidate_count(&mut self) {
        self.counted = None;
    }

    /// Discards the count and the summary being written, because the visible items have changed.
    pub(crate) fn reset(&mut self) {
        self.counted = None;
        if let Some(summary) = self.summary.take() {
            summary.abort();
        }
    }

    /// Stops the summary being written, and waits until its usage is reported.
    pub(crate) async fn close(&mut self) {
        if let Some(summary) = self.summary.take() {
            summary.abort();
            drop(summary.await);
        }
    }
}

/// The estimated token count of the next request.
pub(crate) fn request_tokens(conversation: &Conversation, turn: &Turn) -> u64 {
    let CompactionState {
        rate,
        counted,
        since,
        family,
        budget,
        ..
    } = &conversation.compaction;
    match counted {
        Some(counted) => counted + rate.correct(*since),
        None => {
            let items = prompt::elided_items(&conversation.items);
            let items: u64 = items.iter().map(|item| item_tokens(item, *family, *budget)).sum();
            rate.correct(items + system_tokens(turn) + conversation.panels.tool_tokens())
        }
    }
}

fn system_tokens(turn: &Turn) -> u64 {
    let family = turn.frame.family;
    turn.frame.system.iter().map(|section| family.estimate(section)).sum()
}

/// The estimated token count of an item as it is sent.
fn item_tokens(item: &Item, family: TokenizerFamily, budget: Option<TokenBudget>) -> u64 {
    match budget {
        Some(budget) => budget.item_tokens(item),
        None => {
            let messages = item.messages();
            messages.iter().map(|message| message_tokens(family, message)).sum()
        }
    }
}

/// The usable part of the model's window.
fn usable_window(env: &Environment, turn: &Turn) -> u64 {
    let window = turn.model.info().limits.window;
    match env.config.compaction.threshold {
        Some(most) if window > 0 => most.min(window),
        Some(most) => most,
        None => window,
    }
}

/// The maximum token count of a request.
fn max_prompt_tokens(env: &Environment, turn: &Turn) -> u64 {
    let window = usable_window(env, turn);
    let most = window * REPLY_PERCENT / 100;
    let reply = match turn.model.info().limits.output {
        0 => most,
        output => output.min(most),
    };
    window - reply
}

/// Returns whether the next request leaves enough of the window for a reply.
fn fits_window(session: &Session) -> bool {
    request_tokens(&session.conversation, &session.turn) <= max_prompt_tokens(&session.env, &session.turn)
}

/// Compacts the conversation if the next request needs it, and starts writing a summary if it soon will.
pub(crate) async fn before_request(session: &mut Session) -> Result<(), Error> {
    session.update_budget();
    session.restore_ledger().await;
    if session.env.config.compaction.automatic == AutoCompaction::Off {
        let budget = session.turn.frame.budget.map(|budget| budget.tokens);
        return fit(session, budget).await.map(drop);
    }
    let tokens = request_tokens(&session.conversation, &session.turn);
    match prompt::pressure_for_window(usable_window(&session.env, &session.turn), tokens) {
        ContextPressure::Low => Ok(()),
        ContextPressure::Rising => {
            prepare_automatically(session, WindowFit::Yes).await;
            Ok(())
        }
        ContextPressure::High => {
            if session.conversation.compaction.summary.is_none() && elide_enough(session).await? {
                return Ok(());
            }
            prepare_automatically(session, WindowFit::Yes).await;
            apply_prepared(session).await?;
            // Whatever still fits is sent unchanged: the newest results are worth more than a wide margin.
            if fits_window(session) {
                return Ok(());
            }
            let most = max_prompt_tokens(&session.env, &session.turn);
            let most = most.saturating_sub(session.conversation.panels.tool_tokens());
            if !keeps_last_round(session, most) {
                cut_without_model(session).await?;
            }
            fit(session, Some(most)).await.map(drop)
        }
    }
}

/// Elides older parts of the conversation if that makes a summary unnecessary. Returns whether it did.
async fn elide_enough(session: &mut Session) -> Result<bool, Error> {
    let (items, family) = (&session.conversation.items, session.turn.frame.family);
    let budget = session.turn.frame.budget;
    let sum = |items: &[Arc<Item>]| -> u64 { items.iter().map(|item| item_tokens(item, family, budget)).sum() };
    let elision = prompt::plan_elision(items, family);
    let before = sum(&prompt::elided_items(items));
    let after = sum(&prompt::preview_elision(items, &elision));
    if after * 100 > before * ELIDED_PERCENT {
        return Ok(false);
    }
    panels::apply_elision(session, elision).await?;
    let text = format!("shortened older parts of the conversation from about {before} to {after} tokens");
    session.env.notice(NoticeLevel::Info, text).await;
    Ok(true)
}

/// Returns whether the conversation can be reduced to a number of tokens without losing the newest calls and results.
fn keeps_last_round(session: &Session, most: u64) -> bool {
    let mut items = session.conversation.items.iter().rev();
    let newest = items.find(|item| matches!(item.body, Body::Reply { .. }));
    let elision = plan_fit(session, most);
    newest.is_none_or(|newest| elision.is_none_or(|elision| !elision.hidden.contains(&newest.id)))
}

/// The elision that makes the conversation fit a number of tokens; `None` if it fits.
fn plan_fit(session: &Session, most: u64) -> Option<HistoryElision> {
    let Session { conversation, turn, .. } = session;
    if request_tokens(conversation, turn) <= most + conversation.panels.tool_tokens() {
        return None;
    }
    let family = turn.frame.family;
    let shown = conversation.items.iter();
    let shown = shown.filter(|item| matches!(item.body, Body::Panels { .. }));
    let panels: u64 = shown.map(|item| item_tokens(item, family, None)).sum();
    let budget = TokenBudget {
        family,
        tokens: conversation.compaction.rate.estimated(most),
    };
    let fixed = FixedContent {
        tokens: system_tokens(turn) + panels.min(budget.panels()),
        protocol: turn.frame.protocol,
        // Without a known window, the request contains results uncut.
        results: turn.frame.budget.or(Some(TokenBudget::unlimited(family))),
    };
    prompt::fit_to_budget(&conversation.items, fixed, budget)
}

/// Hides and shortens items until the conversation fits a number of tokens, without a model.
async fn fit(session: &mut Session, most: Option<u64>) -> Result<CompactionResult, Error> {
    let Some(elision) = most.and_then(|most| plan_fit(session, most)) else {
        return Ok(CompactionResult::Unchanged);
    };
    let hidden = elision.hidden.len();
    panels::apply_elision(session, elision).await?;
    let text = format!("the conversation was too long: older parts are shortened and {hidden} items are hidden");
    session.env.notice(NoticeLevel::Warning, text).await;
    Ok(CompactionResult::Compacted)
}

/// Reduces the messages of a rejected request to the first of these percentages that changes them, without a model.
async fn fit_rejected(session: &mut Session, percents: &[u64]) -> Result<CompactionResult, Error> {
    let (conversation, turn) = (&session.conversation, &session.turn);
    let system = system_tokens(turn);
    let fixed = system + conversation.panels.tool_tokens();
    let messages = request_tokens(conversation, turn).saturating_sub(fixed);
    if messages < MIN_REJECTED_TOKENS {
        return Ok(CompactionResult::Unchanged);
    }
    for percent in percents {
        if fit(session, Some(system + messages * percent / 100)).await? == CompactionResult::Compacted {
            return Ok(CompactionResult::Compacted);
        }
    }
    Ok(CompactionResult::Unchanged)
}

/// Compacts the conversation on request of the user.
pub(crate) async fn on_request(session: &mut Session, instructions: Option<String>) -> Result<CompactionResult, Error> {
    if let Some(summary) = session.conversation.compaction.summary.take() {
        summary.abort();
    }
    let Some(cut) = CompactionCut::at(&session.conversation.items, KeepRecent::LastRound) else {
        return Ok(CompactionResult::Unchanged);
    };
    let instructions = match hooks::run_compact_hooks(&session.env, instructions, true).await {
        Ok(instructions) => instructions,
        Err(why) => {
            let text = format!("a hook prevented the compaction: {why}");
            session.env.notice(NoticeLevel::Warning, text).await;
            return Ok(CompactionResult::Unchanged);
        }
    };
    session.restore_ledger().await;
    prepare(session, cut, instructions, WindowFit::Yes);
    apply_prepared(session).await
}

/// Compacts the conversation because the provider rejected it as too long, with more effect at each attempt.
pub(crate) async fn after_overflow(session: &mut Session, attempt: u32) -> Result<CompactionResult, Error> {
    let attempt = attempt as usize;
    if session.env.config.compaction.automatic == AutoCompaction::Off {
        return fit_rejected(session, REJECTED_PERCENTS.get(attempt..).unwrap_or_default()).await;
    }
    if attempt == 0 {
        prepare_automatically(session, WindowFit::No).await;
        if apply_prepared(session).await? == CompactionResult::Compacted {
            return Ok(CompactionResult::Compacted);
        }
    }
    match attempt {
        0 | 1 => match fit_rejected(session, &REJECTED_PERCENTS[1..]).await? {
            CompactionResult::Compacted => Ok(CompactionResult::Compacted),
            CompactionResult::Unchanged => cut_without_model(session).await,
        },
        2 => cut_without_model(session).await,
        3 => cut_to_last_prompt(session).await,
        _ => Ok(CompactionResult::Unchanged),
    }
}

/// Starts writing a summary, unless one is being written or there is nothing to summarise.
async fn prepare_automatically(session: &mut Session, fits: WindowFit) {
    if session.conversation.compaction.summary.is_some() {
        return;
    }
    if let Some(cut) = CompactionCut::at(&session.conversation.items, KeepRecent::LastRound) {
        let instructions = hooks::run_compact_hooks(&session.env, None, false).await.ok().flatten();
        session.restore_ledger().await;
        prepare(session, cut, instructions, fits);
    }
}

/// Starts writing a summary in the background.
fn prepare(session: &mut Session, cut: CompactionCut, instructions: Option<String>, fits: WindowFit) {
    let config = &session.env.config;
    let writer = SummaryWriter {
        main: Arc::clone(&session.turn.model),
        chosen: config.compaction.model.clone(),
        small: config.small_model.clone(),
        frame: session.turn.frame.clone(),
        usage: session.env.usage.clone(),
        instructions,
        fits,
        silence_timeout: config.compaction.silence_timeout.unwrap_or(summary::SILENCE_TIMEOUT),
    };
    session.conversation.compaction.summary = Some(tokio::spawn(writer.write(cut)));
}

/// Waits for the summary and appends it.
async fn apply_prepared(session: &mut Session) -> Result<CompactionResult, Error> {
    // The task stays in place while it is awaited: an interrupted turn leaves it running.
    let Some(summary) = &mut session.conversation.compaction.summary else {
        return Ok(CompactionResult::Unchanged);
    };
    if !summary.is_finished() {
        let text = "summarising the conversation";
        session.env.notice(NoticeLevel::Info, text).await;
    }
    let written = summary.await;
    session.conversation.compaction.summary = None;
    session.record_usage().await;
    let Ok(written) = written else {
        return Ok(CompactionResult::Unchanged);
    };
    for failure in &written.failures {
        let text = format!("no usable summary: {failure}");
        session.env.notice(NoticeLevel::Warning, text).await;
    }
    let message = match &written.text {
        Some(text) => written.cut.message(text),
        None => written.cut.message_without_model(),
    };
    append_summary(session, &written.cut, message).await
}

/// Replaces the whole conversation by a summary made from the log.
async fn cut_without_model(session: &mut Session) -> Result<CompactionResult, Error> {
    let Some(cut) = CompactionCut::at(&session.conversation.items, KeepRecent::Nothing) else {
        return Ok(CompactionResult::Unchanged);
    };
    let message = cut.message_without_model();
    append_summary(session, &cut, message).await
}

/// Replaces the whole conversation by the last prompt.
async fn cut_to_last_prompt(session: &mut Session) -> Result<CompactionResult, Error> {
    let Some(cut) = CompactionCut::at(&session.conversation.items, KeepRecent::Nothing) else {
        return Ok(CompactionResult::Unchanged);
    };
    let message = cut.minimal_message();
    append_summary(session, &cut, message).await
}

/// Appends a summary, unless it is longer than the part it replaces.
async fn append_summary(
    session: &mut Session,
    cut: &CompactionCut,
    message: model::Message,
) -> Result<CompactionResult, Error> {
    if prompt::message_bytes(&message) >= cut.bytes() {
        return Ok(CompactionResult::Unchanged);
    }
    let Session {
        env,
        conversation,
        turn,
        ..
    } = session;
    let before = request_tokens(conversation, turn);
    let body = Body::Summary {
        message: Arc::new(message),
        first_kept: cut.kept(),
    };
    conversation.append(env, ItemId::new(), body).await?;
    let after = request_tokens(conversation, turn);
    let text = format!("summarised the conversation from about {before} to {after} tokens");
    env.notice(NoticeLevel::Info, text).await;
    Ok(CompactionResult::Compacted)
}
