//! The turn loop: send a request, run the tool calls, repeat until the turn ends.

pub(crate) mod approval;
mod call_failure;
pub(crate) mod calls;
mod limits;
mod loop_guard;
mod previews;
pub(crate) mod request;
mod retry;
mod written_calls;

use crate::compaction::{self, CompactionResult};
use crate::hooks;
use crate::panels::{self, PanelTiming};
use crate::prompts::{self, PromptRefusal, SubmitResult};
use crate::session::Session;
use calls::CallQueue;
use loop_guard::LoopGuard;
pub(crate) use loop_guard::{ReplyContent, StepResult};
use model::Message;
use policy::Mode;
use session::{Error, ItemKind, NoticeLevel, TurnEnd};
use std::sync::Arc;
use written_calls::{is_call_attempt, is_echo, is_unnamed_code};

/// Runs a turn to its end. Dropping the future interrupts the turn; `recovery` then stores what has arrived.
pub(crate) async fn run(session: &mut Session) -> TurnEnd {
    let mut guard = LoopGuard::default();
    loop {
        if let Err(end) = step(session, &mut guard).await
            && let Err(end) = continue_after(session, &mut guard, end).await
        {
            if let TurnEnd::Refused { .. } = &end
                && let Err(error) = hide_refused_prompt(session).await
            {
                return error.into();
            }
            return end;
        }
    }
}

/// One request and its tool calls.
async fn step(session: &mut Session, guard: &mut LoopGuard) -> Result<(), TurnEnd> {
    let step = guard.begin_step();
    if step == 0 {
        panels::refresh(session, PanelTiming::TurnStart).await?;
    }
    let applied = apply_queued_commands(session).await?;
    report_refusals(session, applied, step).await?;
    limits::check(session, step)?;
    limits::ask_to_continue_past_limit(session).await?;
    compaction::before_request(session).await?;
    panels::refresh(session, PanelTiming::Request).await?;
    let mut calls = CallQueue::new();
    let end = match request::send(session, &mut calls).await {
        Err(error @ model::Error::ContextOverflow { window, .. }) => {
            if session.learn_window(window).await {
                // The next request is fitted to the window.
                guard.overflowed();
                return Ok(());
            }
            return after_overflow(session, guard, error).await;
        }
        reply => reply?,
    };
    let content = match request::append_reply(session, end.clone()).await? {
        ReplyContent::Text if is_call_attempt(session) => ReplyContent::CallAttempt,
        ReplyContent::Text if is_unnamed_code(session) => ReplyContent::UnnamedCode,
        ReplyContent::Text if is_echo(session) => ReplyContent::Empty,
        ReplyContent::Text if session.turn.model.info().is_small() && guard.has_only_failed_calls() => {
            ReplyContent::FailedCalls
        }
        content => content,
    };
    let mut results = calls.run(session, guard).await?;
    // A small model that has written its edits is done: it has seen the files, and further requests rarely improve them.
    results.ends_turn |= std::mem::take(&mut session.turn.wrote_edits) && results.all_succeeded();
    guard.observe(&StepResult { end, content, results })?;
    let (notice, prompt) = match content {
        ReplyContent::Empty => (
            "the model returned an empty reply; asking again",
            prompt::empty_reply_message(),
        ),
        ReplyContent::CallAttempt => (
            "the model wrote a tool call that cannot be understood; asking again",
            prompt::unusable_call_message(),
        ),
        ReplyContent::UnnamedCode => (
            "the model wrote code without a file name; asking again",
            prompt::unnamed_code_message(),
        ),
        ReplyContent::FailedCalls => (
            "all calls of the model failed; asking again",
            prompt::failed_calls_message(),
        ),
        ReplyContent::Text | ReplyContent::Calls | ReplyContent::MalformedCalls => return Ok(()),
    };
    session.env.notice(NoticeLevel::Warning, notice).await;
    Ok(session.conversation.append_prompt(&session.env, prompt).await?)
}

/// Continues a completed turn if a prompt has arrived meanwhile, todos are open in the mode that works until the request is
/// done, or a stop hook objects.
async fn continue_after(session: &mut Session, guard: &mut LoopGuard, end: TurnEnd) -> Result<(), TurnEnd> {
    if end != TurnEnd::Completed {
        return Err(end);
    }
    if !session.env.inbox.has_steering() {
        // A model that states its result is done.
        let is_stated = session.turn.final_answer.is_some();
        if session.turn.mode.name == Mode::agent().name
            && !is_stated
            && let Some(reminder) = guard.todo_reminder(&session.conversation.todos)
        {
            let prompt = Message::user(reminder);
            return Ok(session.conversation.append_prompt(&session.env, prompt).await?);
        }
        let Some(attempt) = guard.next_hook_continuation() else {
            return Err(end);
        };
        let Some(reason) = hooks::run_stop_hooks(session, attempt > 0).await else {
            return Err(end);
        };
        guard.continued_by_hook();
        session.turn.final_answer = None;
        let prompt = Message::user(format!("A hook reports that the task is not complete: {reason}"));
        return Ok(session.conversation.append_prompt(&session.env, prompt).await?);
    }
    session.turn.final_answer = None;
    Ok(())
}

/// Hides a refused prompt and its reply from later requests: the model would refuse those, too.
async fn hide_refused_prompt(session: &mut Session) -> Result<(), Error> {
    let items = &session.conversation.items;
    // Only items that the model sees count. A filter may have blocked the prompt, so that there is no reply.
    let mut seen = items
        .iter()
        .rev()
        .filter(|item| item.message().is_some() && item.kind() != ItemKind::Panels);
    let mut newest = seen.next();
    let mut elision = prompt::current_elision(items);
    if let Some(reply) = newest.filter(|item| item.kind() == ItemKind::Reply) {
        elision.hidden.push(reply.id);
        newest = seen.next();
    }
    // A reply to something else leaves the prompt alone.
    let prompt = newest.filter(|item| item.kind() == ItemKind::Prompt);
    elision.hidden.extend(prompt.map(|item| item.id));
    panels::apply_elision(session, elision).await
}

/// Compacts the conversation after the provider rejected it as too long.
async fn after_overflow(session: &mut Session, guard: &mut LoopGuard, error: model::Error) -> Result<(), TurnEnd> {
    match compaction::after_overflow(session, guard.overflows()).await? {
        CompactionResult::Compacted => {
            guard.overflowed();
            Ok(())
        }
        CompactionResult::Unchanged => Err(error.into()),
    }
}

/// The result of applying the queued commands.
#[derive(Default)]
struct AppliedCommands {
    /// Whether an item was appended.
    appended: bool,
    /// The prompts that were not sent.
    refused: Vec<PromptRefusal>,
}

/// Applies what has arrived since the last request: prompts, notifications, another model or mode, a compaction.
async fn apply_queued_commands(session: &mut Session) -> Result<AppliedCommands, Error> {
    let inbox = Arc::clone(&session.env.inbox);
    let mut applied = AppliedCommands::default();
    if let Some(model) = inbox.take_model() {
        session.turn.default_model = Arc::clone(&model);
        session.turn.model = model;
        session.turn.render_system_prompt(&session.env);
        session.env.events.send_queued().await;
    }
    if let Some(effort) = inbox.take_effort() {
        session.turn.frame.call.effort = effort;
    }
    if let Some(name) = inbox.take_mode() {
        session.switch_mode(&name).await?;
    }
    if let Some(instructions) = inbox.take_compaction() {
        compaction::on_request(session, instructions).await?;
    }
    // One at a time: a prompt stays in the inbox until it is appended, so that an interruption loses nothing.
    while let Some(submitted) = prompts::submit_next(session).await? {
        match submitted {
            SubmitResult::Appended => applied.appended = true,
            SubmitResult::Refused(refusal) => applied.refused.push(refusal),
        }
    }
    if inbox.has_notifications() {
        applied.appended = true;
        // A job or a subtask in the background may have changed anything.
        session.conversation.panels.mark_stale();
        let notifications = inbox.take_notifications();
        session
            .conversation
            .append_notifications(&session.env, notifications)
            .await?;
    }
    Ok(applied)
}

/// Reports refused prompts. A turn ends if all of its initial prompts are refused.
async fn report_refusals(session: &Session, applied: AppliedCommands, step: u32) -> Result<(), TurnEnd> {
    let AppliedCommands { appended, refused } = applied;
    if step == 0 && !appended && !refused.is_empty() {
        let (errors, hints): (Vec<String>, Vec<String>) = refused.iter().map(PromptRefusal::message).unzip();
        return Err(TurnEnd::Failed {
            error: errors.join("; "),
            hint: hints.into_iter().next().unwrap_or_default(),
        });
    }
    for refusal in refused {
        session.env.notice(NoticeLevel::Warning, refusal.notice()).await;
    }
    Ok(())
}
