//! The turn loop: ask the model, run its tools, until it has nothing more to do.

use crate::inbox::Inbox;
use crate::mention;
use crate::receive::{self, Failure, Said, Step};
use crate::repeats::Repeats;
use crate::room::{self, Made};
use crate::state::State;
use model::Stop;
use session::{End, Ending, Error, Level, Limit};
use std::sync::Arc;
use tool::Next;

/// How often in a row a model may say nothing at all.
const SILENCES: u32 = 2;
/// How often in a row the output limit may cut off a call before the person is told.
const CUTS: u32 = 1;

/// Runs a turn to its end. Dropping the future interrupts it; `settle` then keeps what had arrived.
pub(crate) async fn run(state: &mut State, inbox: &Arc<Inbox>) -> Ending {
    let mut repeats = Repeats::default();
    let (mut silences, mut cuts, mut overflows) = (0, 0, 0);
    for steps in 0.. {
        if let Err(error) = stitch(state, inbox).await {
            return lost(error);
        }
        if let Some(limit) = reached(state, steps) {
            return Ending::Limit(limit);
        }
        if let Err(error) = room::before_request(state).await {
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
                continue;
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

/// Stitches in what arrived since the last request: prompts, news, another model, another mode.
async fn stitch(state: &mut State, inbox: &Arc<Inbox>) -> Result<(), Error> {
    if let Some(model) = inbox.take_model() {
        state.model = model;
    }
    if let Some(mode) = inbox.take_mode() {
        state.mode = mode;
    }
    if let Some(instructions) = inbox.take_compaction() {
        room::by_hand(state, instructions).await?;
    }
    // One at a time: what is not appended yet stays in the inbox, wherever this is stopped.
    while let Some(message) = inbox.first_steering() {
        let message = mention::resolve(state, inbox, message).await;
        drop(inbox.next_steering());
        state.append_prompt(message).await?;
    }
    if inbox.has_news() {
        state.append_news(inbox.take_news()).await?;
    }
    Ok(())
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
    if step.next == Next::EndTurn {
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
