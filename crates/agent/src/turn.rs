//! The turn loop: ask the model, run its tools, until it has nothing more to do.

use crate::hooked::Submitted;
use crate::inbox::Inbox;
use crate::panels::{self, Moment};
use crate::receive::{self, Failure, Said, Step};
use crate::repeats::Repeats;
use crate::room::{self, Made};
use crate::state::State;
use crate::surroundings::Refusal;
use model::{Cost, Message, Stop};
use session::{End, Ending, Error, Level, Limit, Totals};
use std::sync::Arc;

/// How often in a row a model may say nothing at all.
const SILENCES: u32 = 2;
/// How often in a row the output limit may cut off a call before the person is told.
const CUTS: u32 = 1;

/// How often hooks may make a model go on that has nothing more to do.
const HELD: u32 = 8;

/// Runs a turn to its end. Dropping the future interrupts it; `settle` then keeps what had arrived.
pub(crate) async fn run(state: &mut State, inbox: &Arc<Inbox>) -> Ending {
    let mut repeats = Repeats::default();
    let (mut silences, mut cuts, mut overflows, mut held) = (0, 0, 0, 0);
    for steps in 0.. {
        if steps == 0
            && let Err(error) = panels::show(state, Moment::TurnStart).await
        {
            return lost(error);
        }
        match stitch(state, inbox).await {
            // What the turn was to be about must not reach the model.
            Ok(Stitched { refused, kept: false }) if steps == 0 && !refused.is_empty() => return unsent(&refused),
            Ok(Stitched { refused, .. }) => {
                for refusal in refused {
                    state.notice(Level::Warning, refusal.notice()).await;
                }
            }
            Err(error) => return lost(error),
        }
        if let Some(limit) = reached(state, steps) {
            return Ending::Limit(limit);
        }
        if let Some(limit) = unasked(state, inbox).await {
            return Ending::Limit(limit);
        }
        if let Err(error) = room::before_request(state).await {
            return lost(error);
        }
        if let Err(error) = panels::show(state, Moment::Request).await {
            return lost(error);
        }
        let step = match receive::step(state, inbox, &mut repeats).await {
            Ok(step) => step,
            Err(Failure::Model(error @ model::Error::ContextOverflow { .. })) => {
                match room::after_overflow(state, overflows).await {
                    Ok(Made::Room) => overflows += 1,
                    Ok(Made::Nothing) => return failed(&error),
                    Err(error) => return lost(error),
                }
                continue;
            }
            Err(Failure::Model(error)) => return failed(&error),
            Err(Failure::Store(error)) => return lost(error),
        };
        overflows = 0;
        silences = if step.said == Said::Nothing { silences + 1 } else { 0 };
        cuts = if is_cut_call(&step) { cuts + 1 } else { 0 };
        if cuts > CUTS {
            return Ending::MaxTokens;
        }
        if let Some(ending) = ending(&step, silences) {
            if ending == Ending::Completed && inbox.has_steering() {
                state.last_words = None;
                continue;
            }
            if ending == Ending::Completed
                && held < HELD
                && let Some(why) = state.keep_going(held > 0).await
            {
                held += 1;
                state.last_words = None;
                match state
                    .append_prompt(Message::user(format!("A hook says that this is not done yet: {why}")))
                    .await
                {
                    Ok(()) => continue,
                    Err(error) => return lost(error),
                }
            }
            return ending;
        }
        if step.said == Said::Nothing {
            state
                .notice(Level::Warning, "the model said nothing; asking again")
                .await;
        }
    }
    Ending::Completed
}

/// Asks whether to go on where so much has been spent that the person wants to be asked; the limit, if not.
async fn unasked(state: &mut State, inbox: &Arc<Inbox>) -> Option<Limit> {
    let spent = state.since_asked;
    let policy = state.rules.now();
    let approval = policy.permissions.approval.over(policy.level);
    let requests = u32::try_from(spent.requests).unwrap_or(u32::MAX);
    let micros = u64::try_from(spent.cost.nano_usd / 1_000).unwrap_or(0);
    let (limit, what) = match approval.limit(requests, micros)? {
        policy::Limit::Requests(most) => (Limit::Steps(most), format!("{most} requests were made")),
        policy::Limit::Cost(most) => {
            let most = Cost::from_usd(most as f64 / 1e6);
            (Limit::Cost(most), format!("more than ${:.2} was spent", most.usd()))
        }
    };
    let question = format!("Since you were last asked, {what}. Go on?");
    if state.desk(inbox, None, "hew").confirm(&question).await {
        state.since_asked = Totals::default();
        return None;
    }
    Some(limit)
}

/// What became of what arrived.
#[derive(Default)]
struct Stitched {
    /// Something was added to the conversation.
    kept: bool,
    /// Why prompts are not sent.
    refused: Vec<Refusal>,
}

/// Stitches in what arrived since the last request: prompts, another model, another mode.
async fn stitch(state: &mut State, inbox: &Arc<Inbox>) -> Result<Stitched, Error> {
    let mut stitched = Stitched::default();
    if let Some(model) = inbox.take_model() {
        state.usual_model = Arc::clone(&model);
        state.model = model;
        state.render_system();
        state.tell_untold().await;
    }
    if let Some(name) = inbox.take_mode() {
        state.switch_mode(&name).await?;
    }
    if let Some(instructions) = inbox.take_compaction() {
        room::by_hand(state, instructions).await?;
    }
    // One at a time: what is not appended yet stays in the inbox, wherever this is stopped.
    while let Some(submitted) = state.submit(inbox).await? {
        match submitted {
            Submitted::Kept => stitched.kept = true,
            Submitted::Refused(refusal) => stitched.refused.push(refusal),
        }
    }
    if inbox.has_news() {
        stitched.kept = true;
        state.append_news(inbox.take_news()).await?;
    }
    Ok(stitched)
}

/// Whether the output limit cut off a call. The model is told and tries again, once.
fn is_cut_call(step: &Step) -> bool {
    step.end == End::Finished(Stop::MaxTokens) && step.said == Said::BrokenCalls
}

/// The limit that has been reached, if one has. Time is watched by the actor, since it passes within steps too.
fn reached(state: &State, steps: u32) -> Option<Limit> {
    let own = state.own_steps.filter(|limit| steps >= *limit).map(Limit::Steps);
    let cost = || {
        state
            .limits
            .cost
            .filter(|limit| state.tally.cost() >= *limit)
            .map(Limit::Cost)
    };
    // Taken last: what is taken counts for all.
    let shared = || match state.tally.take_step(state.limits.steps) {
        true => None,
        false => state.limits.steps.map(Limit::Steps),
    };
    own.or_else(cost).or_else(shared)
}

/// How the turn ends after this step, if it does.
fn ending(step: &Step, silences: u32) -> Option<Ending> {
    if let Some((tool, times)) = &step.looped {
        return Some(Ending::Loop {
            tool: tool.clone(),
            times: *times,
        });
    }
    if step.ends {
        return Some(Ending::Completed);
    }
    match (&step.end, step.said) {
        (End::Finished(Stop::Refusal { detail }), _) => Some(Ending::Refused { detail: detail.clone() }),
        (_, Said::Calls | Said::BrokenCalls) => None,
        (End::Finished(Stop::MaxTokens), _) => Some(Ending::MaxTokens),
        (End::Cut { .. }, Said::Words) => None,
        (_, Said::Nothing) if silences > SILENCES => Some(Ending::Failed {
            error: format!("the model said nothing {silences} times in a row"),
            hint: "ask differently, or choose another model".into(),
        }),
        (_, Said::Nothing) => None,
        (End::Finished(Stop::End | Stop::ToolUse | Stop::Other { .. }) | End::Interrupted, Said::Words) => {
            Some(Ending::Completed)
        }
    }
}

/// How a turn ends of which nothing may be sent.
fn unsent(refused: &[Refusal]) -> Ending {
    let (errors, hints): (Vec<String>, Vec<String>) = refused.iter().map(Refusal::words).unzip();
    Ending::Failed {
        error: errors.join("; "),
        hint: hints.into_iter().next().unwrap_or_default(),
    }
}

fn failed(error: &model::Error) -> Ending {
    Ending::Failed {
        error: error.to_string(),
        hint: error.hint().into(),
    }
}

fn lost(error: Error) -> Ending {
    Ending::Failed {
        hint: error.hint().into(),
        error: error.to_string(),
    }
}
