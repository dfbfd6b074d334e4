//! Leaves a session whole after an interruption or a crash: what had arrived is kept, every call has a result.

use crate::calls::stopped;
use crate::receive::keep_reply;
use crate::state::{Started, State};
use model::{CallId, Part};
use session::{Body, End, Error};
use std::collections::HashSet;
use std::sync::atomic::Ordering;
use tool::Effect;

/// What the model is told about a call that was at work when the turn was stopped.
const WAS_RUNNING: &str =
    "The turn was stopped while this was running. It may have taken effect in part: check before repeating it.";
/// What the model is told about a call that was waiting for the person when the turn was stopped.
const WAS_ASKING: &str = "The turn was stopped while this waited for the person, who did not answer. What it did before that may have taken effect.";
/// What the model is told about a call that had not started when the turn was stopped.
const NOT_STARTED: &str = "The turn was stopped before this began. It was not done.";
/// What the model is told about a call whose result a crash swallowed.
const CRASHED: &str =
    "hew ended before the result of this was kept. It may or may not have taken effect: check before repeating it.";

/// Keeps what an interrupted turn had done, and stops what it was doing.
pub(crate) async fn interrupted(state: &mut State) -> Result<(), Error> {
    state.running.abort_all();
    while let Some(served) = state.running.join_next().await {
        state.unkept.extend(served.ok());
    }
    state.children.settle().await;
    // First of all: what was spent counts even if nothing else can be kept.
    state.count_spending().await;
    let kept = keep(state).await;
    // Whatever could not be kept must not be taken for a part of the next turn.
    state.started.clear();
    state.unkept.clear();
    state.tell_rest().await;
    state.tell_untold().await;
    kept
}

async fn keep(state: &mut State) -> Result<(), Error> {
    state.confirm().await?;
    state.pay_owed().await?;
    keep_reply(state, End::Interrupted).await?;
    while let Some(finished) = state.unkept.pop_front() {
        state.append_result(finished).await?;
    }
    for (id, tool) in unanswered(state) {
        let (title, why) = match state.started.get(&id) {
            Some(Started { title, course, .. }) => {
                let (begun, asks) = (
                    course.begun.load(Ordering::Relaxed),
                    course.asks.load(Ordering::Relaxed),
                );
                let why = match (begun, asks) {
                    (false, _) => NOT_STARTED,
                    (true, true) => WAS_ASKING,
                    (true, false) => WAS_RUNNING,
                };
                (title.clone(), with_subtasks(state, &id, &tool, why).await)
            }
            None => (String::new(), NOT_STARTED.to_string()),
        };
        state.append_result(stopped(id, tool, title, &why)).await?;
    }
    Ok(())
}

/// Answers the calls that a crash left without results. None of them is run again.
pub(crate) async fn crashed(state: &mut State) -> Result<(), Error> {
    for (id, tool) in unanswered(state) {
        let why = with_subtasks(state, &id, &tool, CRASHED).await;
        state.append_result(stopped(id, tool, String::new(), &why)).await?;
    }
    Ok(())
}

/// Why a call has no result, and how to go on with the subtasks that it had begun.
async fn with_subtasks(state: &State, call: &CallId, tool: &str, why: &str) -> String {
    let delegates = state
        .tools
        .get(tool)
        .is_some_and(|tool| tool.effect() == Effect::Delegates);
    if !delegates {
        return why.into();
    }
    // Where they cannot be read, the general words have to do.
    let children = state.store.children(state.session).await.unwrap_or_default();
    let begun = children
        .iter()
        .filter(|meta| meta.parent.as_ref().is_some_and(|parent| parent.call == *call));
    let lines: Vec<String> = begun
        .map(|meta| format!("\n- {} ({})", meta.id, meta.title.as_deref().unwrap_or("untitled")))
        .collect();
    match lines.is_empty() {
        true => why.into(),
        false => format!(
            "This was stopped before it was done. These subtasks had begun; what they did is kept. \
             To go on with one: new_task with its id as resume.{}",
            lines.concat()
        ),
    }
}

/// The calls of the newest reply that have no result.
fn unanswered(state: &State) -> Vec<(CallId, String)> {
    let mut answered = HashSet::new();
    for item in state.items.iter().rev() {
        match &item.body {
            Body::Result { call, .. } => {
                answered.insert(call.clone());
            }
            Body::Reply { message, .. } => {
                let calls = message.parts.iter().filter_map(|part| match part {
                    Part::ToolCall { id, name, .. } => Some((id.clone(), name.clone())),
                    Part::Text { .. } | Part::Thinking { .. } | Part::ToolResult { .. } | Part::Media(_) => None,
                });
                return calls.filter(|(id, _)| !answered.contains(id)).collect();
            }
            Body::Prompt { .. }
            | Body::Summary { .. }
            | Body::Notice { .. }
            | Body::Wake { .. }
            | Body::Todos { .. }
            | Body::Panels { .. }
            | Body::Mode { .. }
            | Body::Review { .. }
            | Body::Restored { .. } => {}
        }
    }
    Vec::new()
}
