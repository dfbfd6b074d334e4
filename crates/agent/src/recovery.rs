//! Completes a session after an interruption or a crash: stores what has arrived and gives every call a result.

use crate::session::{Environment, Session, StartedCall};
use crate::turn::calls::stopped_call;
use crate::turn::request::append_reply;
use model::CallId;
use session::{Error, Item, ItemKind, ReplyEnd};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tool::ToolEffect;

/// The result of a call that was running when the turn was interrupted.
const WAS_RUNNING: &str = "The turn was interrupted while this call was running. It may have taken effect in part: check before repeating it.";
/// The result of a call that waited for an answer when the turn was interrupted.
const WAS_ASKING: &str = "The turn was interrupted while this call waited for an answer of the user. What it did before that may have taken effect.";
/// The result of a call that was not started when the turn was interrupted.
const NOT_STARTED: &str = "The turn was interrupted before this call started. It was not run.";
/// The result of a call whose actual result was lost in a crash.
const CRASHED: &str = "hew ended before the result of this call was stored. It may or may not have taken effect: check before repeating it.";

/// Stops the calls of an interrupted turn and stores everything that has arrived.
pub(crate) async fn after_interruption(session: &mut Session) -> Result<(), Error> {
    let turn = &mut session.turn;
    turn.running.abort_all();
    while let Some(call) = turn.running.join_next().await {
        turn.finished.extend(call.ok());
    }
    session.env.subtasks.stop_awaited().await;
    // Before all else: usage counts even if nothing else can be stored.
    session.record_usage().await;
    let stored = append_unfinished(session).await;
    // Results that could not be stored must not become part of the next turn.
    session.turn.started.clear();
    session.turn.finished.clear();
    session.conversation.send_finished_items(&session.env).await;
    session.env.events.send_queued().await;
    stored
}

async fn append_unfinished(session: &mut Session) -> Result<(), Error> {
    session.conversation.confirm().await?;
    session.apply_effects().await?;
    append_reply(session, ReplyEnd::Interrupted).await?;
    while let Some(call) = session.turn.finished.pop_front() {
        session.append_result(call).await?;
    }
    for (id, tool) in unanswered_calls(&session.conversation.items) {
        let (title, why) = match session.turn.started.get(&id) {
            Some(StartedCall { title, progress, .. }) => {
                let begun = progress.begun.load(Ordering::Relaxed);
                let why = match (begun, progress.asks.load(Ordering::Relaxed)) {
                    (false, _) => NOT_STARTED,
                    (true, true) => WAS_ASKING,
                    (true, false) => WAS_RUNNING,
                };
                (title.clone(), with_subtasks(&session.env, &id, &tool, why).await)
            }
            None => (String::new(), NOT_STARTED.to_string()),
        };
        session.append_result(stopped_call(id, tool, title, &why)).await?;
    }
    Ok(())
}

/// Adds results for the calls that a crash left without one. None of them is run again.
pub(crate) async fn after_crash(session: &mut Session) -> Result<(), Error> {
    for (id, tool) in unanswered_calls(&session.conversation.items) {
        let why = with_subtasks(&session.env, &id, &tool, CRASHED).await;
        session
            .append_result(stopped_call(id, tool, String::new(), &why))
            .await?;
    }
    Ok(())
}

/// The reason why a call has no result; for a delegating call, with the subtasks that can be resumed.
async fn with_subtasks(env: &Environment, call: &CallId, tool: &str, why: &str) -> String {
    let tool = env.config.tools.get(tool);
    if tool.is_none_or(|tool| tool.effect() != ToolEffect::Delegating) {
        return why.into();
    }
    // The general reason is sufficient if the store cannot be read.
    let children = env.config.store.children(env.session).await.unwrap_or_default();
    let started = children
        .iter()
        .filter(|meta| meta.parent.as_ref().is_some_and(|parent| parent.call == *call));
    let lines: Vec<String> = started
        .map(|meta| format!("\n- {} ({})", meta.id, meta.title.as_deref().unwrap_or("untitled")))
        .collect();
    match lines.is_empty() {
        true => why.into(),
        false => format!(
            "This call was interrupted. It had started the following subtasks, whose work is stored. \
             To continue one, call new_task with its id as resume.{}",
            lines.concat()
        ),
    }
}

/// The calls of the newest reply that have no result.
fn unanswered_calls(items: &[Arc<Item>]) -> Vec<(CallId, String)> {
    let mut answered = HashSet::new();
    for item in items.iter().rev() {
        answered.extend(item.call());
        if item.kind() == ItemKind::Reply {
            let open = item.tool_calls().filter(|(id, _)| !answered.contains(id));
            return open.map(|(id, name)| (id.clone(), name.to_owned())).collect();
        }
    }
    Vec::new()
}
