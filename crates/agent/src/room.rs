//! Makes room in the conversation before its window is full, and after a provider has said that it is.
//!
//! It never fails a turn and never loops: notes that no model can write are made from the log itself, and one request is
//! preceded by at most three cuts. The full history stays in the log.

use crate::notes::{Fits, Noted, QUIET, Writer};
use crate::panels;
use crate::state::State;
use model::Model;
use prompt::tokens::{Family, Rate, message_tokens};
use prompt::{Budget, Cut, Fixed, Keep, Pressure};
use session::{Body, Error, Item, ItemId, Level};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// How room is made.
#[derive(Clone, Default)]
pub struct Compaction {
    /// Whether it happens by itself.
    pub automatic: Automatic,
    /// As many tokens are used at most, where the model takes more.
    pub threshold: Option<u64>,
    /// The model that writes the notes; without one, the model of the conversation, whose cache holds most of it.
    pub model: Option<Arc<dyn Model>>,
    /// How long a model may be silent while it writes notes; a minute and a half when absent.
    pub patience: Option<Duration>,
}

/// Whether room is made without being asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Automatic {
    /// It is.
    #[default]
    On,
    /// Only the person asks for it.
    Off,
}

/// A reply needs this part of the window at most.
const REPLY_PERCENT: u64 = 10;

/// How full the window is, and the notes that are being written for when it is too full.
#[derive(Default)]
pub(crate) struct Room {
    pub(crate) compaction: Compaction,
    /// The tokens in the window after the last reply, as the provider counted them; `None` before the first.
    counted: Option<u64>,
    /// About how many tokens came since.
    since: u64,
    /// How far estimates are off, by what the provider reports.
    pub(crate) rate: Rate,
    preparing: Option<JoinHandle<Noted>>,
}

impl Room {
    /// The model that sums up, where it is another one.
    pub(crate) fn model(&self) -> Option<&Arc<dyn Model>> {
        self.compaction.model.as_ref()
    }

    pub(crate) fn new(compaction: Compaction) -> Self {
        Room {
            compaction,
            ..Room::default()
        }
    }

    /// Ends what is still being written, because the session ends.
    pub(crate) async fn close(&mut self) {
        if let Some(preparing) = self.preparing.take() {
            preparing.abort();
            // What it has spent is reported when it is gone.
            drop(preparing.await);
        }
    }

    /// Takes note of the provider's own figure.
    pub(crate) fn count(&mut self, tokens: u64) {
        (self.counted, self.since) = (Some(tokens), 0);
    }

    /// Takes note of an item that the last request did not hold.
    pub(crate) fn add(&mut self, item: &Item, family: Family) {
        match &item.body {
            // The provider has counted it with the request that it answers.
            Body::Reply { .. } => {}
            _ => self.since += tokens(item, family),
        }
    }

    /// The model sees older parts in another form: what was counted no longer holds.
    pub(crate) fn refolded(&mut self) {
        self.counted = None;
    }

    /// The model no longer sees what it saw.
    pub(crate) fn forget(&mut self) {
        self.counted = None;
        if let Some(preparing) = self.preparing.take() {
            preparing.abort();
        }
    }
}

impl State {
    /// About how many tokens the next request will have.
    pub(crate) fn tokens(&self) -> u64 {
        let rate = self.room.rate;
        match self.room.counted {
            Some(counted) => counted + rate.correct(self.room.since),
            None => {
                let family = self.frame.family;
                let said: u64 = prompt::folded(&self.items)
                    .iter()
                    .map(|item| tokens(item, family))
                    .sum();
                rate.correct(said + self.system_tokens() + self.tool_tokens())
            }
        }
    }

    fn system_tokens(&self) -> u64 {
        let family = self.frame.family;
        self.frame.system.iter().map(|section| family.estimate(section)).sum()
    }

    /// The window, or what of it may be used.
    fn window(&self) -> u64 {
        let window = self.model.info().limits.window;
        match self.room.compaction.threshold {
            Some(most) if window > 0 => most.min(window),
            Some(most) => most,
            None => window,
        }
    }

    /// Whether the next request leaves room for a reply.
    fn leaves_room(&self) -> bool {
        self.tokens() <= self.room_for_prompt()
    }

    /// How many tokens a request may have at the very most.
    fn room_for_prompt(&self) -> u64 {
        let window = self.window();
        let most = window * REPLY_PERCENT / 100;
        let reply = match self.model.info().limits.output {
            0 => most,
            output => output.min(most),
        };
        window - reply
    }

    fn writer(&self, instructions: Option<String>, fits: Fits) -> Writer {
        Writer {
            main: Arc::clone(&self.model),
            chosen: self.room.compaction.model.clone(),
            small: self.small.clone(),
            frame: self.frame.clone(),
            spending: self.spending.clone(),
            instructions,
            fits,
            quiet: self.room.compaction.patience.unwrap_or(QUIET),
        }
    }
}

/// Makes room before the next request if it is needed, and has notes prepared if it soon will be.
pub(crate) async fn before_request(state: &mut State) -> Result<(), Error> {
    state.measure();
    if state.room.compaction.automatic == Automatic::Off {
        let budget = state.frame.budget.map(|budget| budget.tokens);
        return fit(state, budget).await;
    }
    match prompt::pressure_in(state.window(), state.tokens()) {
        Pressure::Low => Ok(()),
        Pressure::Rising => {
            prepare_unasked(state, Fits::Yes).await;
            Ok(())
        }
        Pressure::High => {
            if state.room.preparing.is_none() && folds_enough(state).await? {
                return Ok(());
            }
            prepare_unasked(state, Fits::Yes).await;
            apply_prepared(state).await?;
            // What still fits is sent as it is: the newest results are worth more than a comfortable rest.
            if !state.leaves_room() {
                cut_without_model(state).await?;
            }
            if !state.leaves_room() {
                let most = state.room_for_prompt().saturating_sub(state.tool_tokens());
                fit(state, Some(most)).await?;
            }
            Ok(())
        }
    }
}

/// A fold makes enough room if it leaves at most this part of the conversation.
const FOLDED_PERCENT: u64 = 50;

/// Folds the conversation, if that makes so much room that nothing needs to be summed up: whether it did.
async fn folds_enough(state: &mut State) -> Result<bool, Error> {
    let family = state.frame.family;
    let sum = |items: &[Arc<Item>]| -> u64 { items.iter().map(|item| tokens(item, family)).sum() };
    let fold = prompt::fold(&state.items, family);
    let (before, after) = (
        sum(&prompt::folded(&state.items)),
        sum(&prompt::folded_so(&state.items, &fold)),
    );
    if after * 100 > before * FOLDED_PERCENT {
        return Ok(false);
    }
    panels::fold_now(state, fold).await?;
    let text = format!("shortened older parts of the conversation: about {before} tokens became {after}");
    state.notice(Level::Info, text).await;
    Ok(true)
}

/// Leaves out and shortens what does not fit into so many tokens, without a model. The log keeps all of it.
async fn fit(state: &mut State, most: Option<u64>) -> Result<(), Error> {
    let Some(most) = most else { return Ok(()) };
    if state.tokens() <= most + state.tool_tokens() {
        return Ok(());
    }
    let family = state.frame.family;
    let shown = state
        .items
        .iter()
        .filter(|item| matches!(item.body, Body::Panels { .. }));
    let panels: u64 = shown.map(|item| tokens(item, family)).sum();
    let budget = Budget {
        family,
        tokens: state.room.rate.estimated(most),
    };
    let fixed = Fixed {
        tokens: state.system_tokens() + panels.min(budget.panels()),
        protocol: state.frame.protocol,
    };
    let Some(fold) = prompt::fit(&state.items, fixed, budget) else {
        return Ok(());
    };
    let gone = fold.gone.len();
    panels::fold_now(state, fold).await?;
    let text = format!("the conversation did not fit: older parts are shortened, and {gone} of its items are left out");
    state.notice(Level::Warning, text).await;
    Ok(())
}

/// About how many tokens an item takes.
fn tokens(item: &Item, family: Family) -> u64 {
    item.messages()
        .iter()
        .map(|message| message_tokens(family, message))
        .sum()
}

/// Whether room was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Made {
    Room,
    /// There was nothing to replace.
    Nothing,
}

/// Makes room because the person asks for it.
pub(crate) async fn by_hand(state: &mut State, instructions: Option<String>) -> Result<Made, Error> {
    if let Some(preparing) = state.room.preparing.take() {
        preparing.abort();
    }
    let Some(cut) = Cut::at(&state.items, Keep::LastRound) else {
        return Ok(Made::Nothing);
    };
    let instructions = match state.before_compact(instructions, true).await {
        Ok(instructions) => instructions,
        Err(why) => {
            let text = format!("a hook keeps the conversation as it is: {why}");
            state.notice(Level::Warning, text).await;
            return Ok(Made::Nothing);
        }
    };
    state.recall_books().await;
    prepare(state, cut, instructions, Fits::Yes);
    apply_prepared(state).await
}

/// Makes room because the provider says that the window is full: first as usual, then with all means.
pub(crate) async fn after_overflow(state: &mut State, attempt: u32) -> Result<Made, Error> {
    if state.room.compaction.automatic == Automatic::Off {
        return Ok(Made::Nothing);
    }
    match attempt {
        0 => {
            prepare_unasked(state, Fits::No).await;
            match apply_prepared(state).await? {
                Made::Room => Ok(Made::Room),
                Made::Nothing => cut_without_model(state).await,
            }
        }
        1 => cut_without_model(state).await,
        2 => cut_to_the_bone(state).await,
        _ => Ok(Made::Nothing),
    }
}

/// Has notes written because room is needed, with what hooks say to it.
async fn prepare_unasked(state: &mut State, fits: Fits) {
    if state.room.preparing.is_some() {
        return;
    }
    // Hooks hear of it only where there is something to sum up.
    if let Some(cut) = Cut::at(&state.items, Keep::LastRound) {
        let instructions = state.before_compact(None, false).await.ok().flatten();
        state.recall_books().await;
        prepare(state, cut, instructions, fits);
    }
}

/// Has notes written beside the conversation.
fn prepare(state: &mut State, cut: Cut, instructions: Option<String>, fits: Fits) {
    let writer = state.writer(instructions, fits);
    state.room.preparing = Some(tokio::spawn(writer.write(cut)));
}

/// Waits for the notes and puts them in the place of what they stand for.
async fn apply_prepared(state: &mut State) -> Result<Made, Error> {
    let Some(preparing) = &state.room.preparing else {
        return Ok(Made::Nothing);
    };
    if !preparing.is_finished() {
        state
            .notice(Level::Info, "summarising the conversation to make room")
            .await;
    }
    // Whoever stops the turn here finds the notes still being written.
    let noted = match &mut state.room.preparing {
        Some(preparing) => preparing.await,
        None => return Ok(Made::Nothing),
    };
    state.room.preparing = None;
    state.count_spending().await;
    let Ok(noted) = noted else { return Ok(Made::Nothing) };
    for failure in &noted.failures {
        state
            .notice(Level::Warning, format!("no usable summary: {failure}"))
            .await;
    }
    let message = match &noted.notes {
        Some(notes) => noted.cut.message(notes),
        None => noted.cut.message_without_model(),
    };
    replace(state, &noted.cut, message).await
}

/// Replaces everything by what the log itself says.
async fn cut_without_model(state: &mut State) -> Result<Made, Error> {
    match Cut::at(&state.items, Keep::Nothing) {
        Some(cut) => {
            let message = cut.message_without_model();
            replace(state, &cut, message).await
        }
        None => Ok(Made::Nothing),
    }
}

/// Leaves nothing but what the person said last.
async fn cut_to_the_bone(state: &mut State) -> Result<Made, Error> {
    match Cut::at(&state.items, Keep::Nothing) {
        Some(cut) => {
            let message = cut.bare_message();
            replace(state, &cut, message).await
        }
        None => Ok(Made::Nothing),
    }
}

async fn replace(state: &mut State, cut: &Cut, message: model::Message) -> Result<Made, Error> {
    let after = prompt::message_bytes(&message);
    if after >= cut.bytes() {
        return Ok(Made::Nothing);
    }
    let before = state.tokens();
    let body = Body::Summary {
        message: Arc::new(message),
        kept: cut.kept(),
    };
    state.append(ItemId::new(), body).await?;
    let now = state.tokens();
    let text = format!("summarised the conversation: about {before} tokens became {now}");
    state.notice(Level::Info, text).await;
    Ok(Made::Room)
}
