//! Completes a session after an interruption or a crash: stores what has arrived and gives every call a result.

use crate::session::{Environment, Session, StartedCall};
use crate::turn::calls::{FinishedCall, call_title, stopped_call};
use crate::turn::request::append_reply;
use model::{CallId, Part};
use session::{Error, Item, ItemKind, ReplyEnd};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tool::{CallInput, ToolEffect};

/// The summary of a call that was interrupted, for the user.
const SUMMARY: &str = "interrupted";
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
    for call in unanswered_calls(&session.conversation.items) {
        let why = match session.turn.started.get(&call.id) {
            Some(StartedCall { progress, .. }) => {
                let begun = progress.begun.load(Ordering::Relaxed);
                let why = match (begun, progress.asks.load(Ordering::Relaxed)) {
                    (false, _) => NOT_STARTED,
                    (true, true) => WAS_ASKING,
                    (true, false) => WAS_RUNNING,
                };
                with_subtasks(&session.env, &call.id, &call.name, why).await
            }
            None => NOT_STARTED.to_string(),
        };
        session.append_result(call.stopped(&session.env, &why)).await?;
    }
    Ok(())
}

/// Adds results for the calls that a crash left without one. None of them is run again.
pub(crate) async fn after_crash(session: &mut Session) -> Result<(), Error> {
    for call in unanswered_calls(&session.conversation.items) {
        let why = with_subtasks(&session.env, &call.id, &call.name, CRASHED).await;
        session.append_result(call.stopped(&session.env, &why)).await?;
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

/// A call without a result.
struct UnansweredCall {
    id: CallId,
    /// The tool name that the model used.
    name: String,
    input: CallInput,
}

impl UnansweredCall {
    /// The result of the call, with its title.
    fn stopped(self, env: &Environment, why: &str) -> FinishedCall {
        let (tool, title) = match env.config.tools.resolve_call(&self.name, &self.input) {
            Some((tool, adapted)) => {
                let input = adapted.map_or(self.input, CallInput::from);
                (tool.spec().name.clone(), call_title(Some(&tool), &input))
            }
            None => (self.name.clone(), String::new()),
        };
        let mut call = stopped_call(self.id, tool, title, why);
        call.output.summary = Some(SUMMARY.to_owned());
        FinishedCall {
            called: self.name,
            ..call
        }
    }
}

/// The calls of the newest reply that have no result.
fn unanswered_calls(items: &[Arc<Item>]) -> Vec<UnansweredCall> {
    let mut answered = HashSet::new();
    for item in items.iter().rev() {
        answered.extend(item.call());
        if item.kind() == ItemKind::Reply {
            let parts = item.message().into_iter().flat_map(|message| &message.parts);
            let call = |part: &Part| match part {
                Part::ToolCall { id, name, input, .. } if !answered.contains(id) => Some(UnansweredCall {
                    id: id.clone(),
                    name: name.clone(),
                    input: input.clone().into(),
                }),
                _ => None,
            };
            return parts.filter_map(call).collect();
        }
    }
    Vec::new()
}
