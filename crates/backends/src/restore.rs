//! Undo, redo and rewind of a session that is open in this process.

use crate::environment::ProcessEnv;
use crate::failure::{Failure, Result};
use host::SessionFlags;
use host::sessions::open_history;
use host::text::line;
use review::{ConflictPolicy, RestorePlan, RewindFiles, RewindPlan, SessionAccess, SessionHistory, UndoOperation};
use session::{Item, ItemId, RestoreKind, SessionId};
use tui::format::{plural, sanitise};
use tui::{FileRestoreResult, RewindScope};

/// Undoes or redoes the last turn of a session that is open in this process.
pub(crate) async fn restore_in_open_session(
    kind: RestoreKind,
    session: SessionId,
    policy: ConflictPolicy,
    flags: &SessionFlags,
    env: &ProcessEnv,
) -> Result<FileRestoreResult> {
    let (history, _) = open_history(Some(&session.to_string()), SessionAccess::Read, flags, env).await?;
    let (operation, action, verb) = match kind {
        RestoreKind::Undo => (UndoOperation::undo(&history, 1), "undo", "Undid"),
        RestoreKind::Redo | RestoreKind::FilesKept => (UndoOperation::redo(&history, 1), "redo", "Redid"),
    };
    let operation = operation.ok_or_else(|| Failure::failed(format!("nothing to {action}")))?;
    let done = format!("{verb} {}", describe_turns(&operation));
    restore_open(operation, &history, policy, &done).await
}

/// Applies an undo or redo to the files of a session that is open in this process.
async fn restore_open(
    operation: UndoOperation,
    history: &SessionHistory,
    policy: ConflictPolicy,
    done: &str,
) -> Result<FileRestoreResult> {
    let (plan, contents) = operation.plan(history, policy).await?;
    match plan.check(policy).and_then(|()| plan.check_not_empty()) {
        Ok(()) => {}
        Err(review::Error::Conflicts(_)) => return Ok(FileRestoreResult::Conflicts(conflict_list(&plan))),
        Err(error) => return Err(error.into()),
    }
    let (plan, body) = operation.apply(history, plan, &contents)?;
    let message = format!("{done}: {}", plan.summary());
    Ok(FileRestoreResult::Done {
        message,
        head: None,
        log_entry: Some(body),
    })
}

/// Rewinds a session that is open in this process to before a prompt. Changes only the files; the owner of the session moves
/// the conversation.
pub(crate) async fn rewind_open_session(
    session: SessionId,
    prompt: ItemId,
    parts: RewindScope,
    policy: ConflictPolicy,
    flags: &SessionFlags,
    env: &ProcessEnv,
) -> Result<FileRestoreResult> {
    let done = |message, head, log_entry| FileRestoreResult::Done {
        message,
        head,
        log_entry,
    };
    let (history, _) = open_history(Some(&session.to_string()), SessionAccess::Read, flags, env).await?;
    let items = history.items();
    let at = items.iter().position(|item| item.id == prompt);
    let at = at.ok_or_else(|| Failure::failed("the prompt is no longer part of this session"))?;
    let text = line(prompt_text(&items[at]).trim(), 60);
    let head = at
        .checked_sub(1)
        .and_then(|before| items.get(before))
        .map(|item| item.id);
    let (files, head) = match (parts, head) {
        (RewindScope::Both, Some(head)) => (RewindFiles::Restore(policy), head),
        (RewindScope::Conversation, Some(head)) => (RewindFiles::Keep, head),
        (RewindScope::Conversation, None) => {
            let message = format!("Rewound to before \"{text}\"; files are unchanged");
            return Ok(done(message, None, None));
        }
        (RewindScope::Files, _) | (RewindScope::Both, None) => {
            let Some(operation) = UndoOperation::undo_since(&history, prompt) else {
                let message = format!("no file was changed since \"{text}\"");
                return Ok(done(message, None, None));
            };
            let rewound = format!("Rewound the files to before \"{text}\"");
            return restore_open(operation, &history, policy, &rewound).await;
        }
    };
    let plan = RewindPlan::new(&history, head, files).await?;
    match plan.check() {
        Ok(()) => {}
        Err(review::Error::Conflicts(_)) => return Ok(FileRestoreResult::Conflicts(conflict_list(&plan.restore))),
        Err(error) => return Err(error.into()),
    }
    let (restored, body) = plan.apply_in_open_session(&history)?;
    let summary = match parts {
        RewindScope::Conversation if body.is_some() => "files are unchanged; /undo reverts them".into(),
        RewindScope::Conversation => "files are unchanged".into(),
        RewindScope::Both | RewindScope::Files => restored.summary(),
    };
    let message = format!("Rewound to before \"{text}\": {summary}");
    Ok(done(message, Some(head), body))
}

/// The undone turns: the prompt of a single one, or their number.
pub fn describe_turns(operation: &UndoOperation) -> String {
    match operation.prompts().as_slice() {
        [review::FILES_KEPT] => "the changes that a rewind kept".into(),
        [prompt] if !prompt.trim().is_empty() => format!("\"{}\"", line(prompt.trim(), 60)),
        prompts => plural(prompts.len() as u64, "turn"),
    }
}

/// The paths with conflicts and their reasons.
fn conflict_list(plan: &RestorePlan) -> Vec<String> {
    let describe = |conflict: &review::RestoreConflict| {
        let path = sanitise(&conflict.path.display().to_string());
        format!("{path}: {}", conflict.reason.describe())
    };
    plan.conflicts.iter().map(describe).collect()
}

/// The text of a prompt.
pub fn prompt_text(item: &Item) -> String {
    item.message()
        .map(|message| session::user_text(message))
        .unwrap_or_default()
}
