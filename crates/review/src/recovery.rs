//! Records the changes of a command that was running when hew was killed.

use crate::Error;
use model::{Block, CallId, Message, Part, Role, ToolOutcome};
use session::{Body, Item, ItemId, ItemKind, SessionId, Store as _, Time};
use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use store::SqliteStore;
use workspace::checkpoint::{BlobLimits, InterruptedCommand, journal_path};

/// The result of the call.
const KILLED: &str =
    "hew ended while this call was running. It may have taken effect in part: check before repeating it.";

/// Appends a result with the changes so far to a call whose command was running when hew ended. The session, or the one
/// that started it as a subtask, must be open for writing. Returns whether a result was appended.
pub async fn record_interrupted_command(
    store: &SqliteStore,
    session: SessionId,
    root: &Path,
    limits: BlobLimits,
) -> Result<bool, Error> {
    let blobs = store.files().with_limits(limits);
    let path = journal_path(&blobs, &session.to_string());
    let Some(command) = InterruptedCommand::load(&path) else {
        return Ok(false);
    };
    let children = store.children(session).await?.into_iter().map(|child| child.id);
    let mut sessions = std::iter::once(session).chain(children);
    let Some(session) = sessions.find(|id| id.to_string() == command.session) else {
        return Ok(false);
    };
    let items = store.load(session).await?.items;
    let unanswered = unanswered_call(&items, &command.call);
    if let Some((call, tool)) = &unanswered {
        let changes = command.changes(root, &blobs).changes;
        let message = Message {
            role: Role::User,
            parts: vec![Part::ToolResult {
                id: call.clone(),
                name: tool.clone(),
                content: vec![Block::text(KILLED)],
                outcome: ToolOutcome::Error,
            }],
        };
        let item = Item {
            id: ItemId::new(),
            parent: items.last().map(|item| item.id),
            at: items.last().map_or(Time(0), |item| item.at),
            body: Body::Result {
                message: Arc::new(message),
                call: call.clone(),
                tool: tool.clone(),
                title: String::new(),
                summary: None,
                exit: None,
                millis: 0,
                changes,
            },
        };
        store.append(session, Arc::new(item)).await?;
    }
    // If it cannot be removed, the call has a result next time.
    fs::remove_file(path).ok();
    Ok(unanswered.is_some())
}

/// The call with this id, if it belongs to the newest reply and has no result.
fn unanswered_call(items: &[Arc<Item>], call: &str) -> Option<(CallId, String)> {
    let mut answered = HashSet::new();
    for item in items.iter().rev() {
        answered.extend(item.call());
        if item.kind() == ItemKind::Reply {
            let mut calls = item.tool_calls();
            let (id, name) = calls.find(|(id, _)| id.as_str() == call && !answered.contains(id))?;
            return Some((id.clone(), name.to_owned()));
        }
    }
    None
}
