//! Replays a session for the editor.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use acp::schema::{
    ContentBlock, ContentChunk, ImageContent, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionUpdate,
    ToolCall, ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::{Block, Media, Message, Part, ToolOutcome};
use session::{Body, Item, Todo, TodoStatus};

use super::editor_session::EditorSession;
use super::{ChangeContents, tools};

/// Replays all items in order.
pub(super) async fn replay(live: &EditorSession, items: &[Arc<Item>]) {
    let mut todos = None;
    for item in items {
        let id = item.id.to_string();
        match &item.body {
            Body::Prompt { message } => replay_prompt(live, message, &id).await,
            Body::Reply { message, .. } => replay_reply(live, message, &id).await,
            Body::Result { call, .. } => {
                if let Some(fields) = result_fields(live, &item.body).await {
                    let update = ToolCallUpdate::new(call.to_string(), fields);
                    live.update(SessionUpdate::ToolCallUpdate(update)).await;
                }
            }
            Body::Todos { list } => todos = Some(list),
            _ => {}
        }
    }
    if let Some(list) = todos {
        live.update(todo_plan(list)).await;
    }
}

pub(super) async fn replay_prompt(live: &EditorSession, message: &Message, id: &str) {
    let chunk = |content: ContentBlock| SessionUpdate::UserMessageChunk(ContentChunk::new(content).message_id(id));
    let text = session::user_text(message);
    if !text.is_empty() {
        live.update(chunk(text.into())).await;
    }
    for part in &message.parts {
        if let Part::Media(media) = part
            && !media.is_pdf()
        {
            live.update(chunk(image(media))).await;
        }
    }
}

async fn replay_reply(live: &EditorSession, message: &Message, id: &str) {
    for part in &message.parts {
        let update = match part {
            Part::Text { text, .. } if !text.is_empty() => {
                SessionUpdate::AgentMessageChunk(ContentChunk::new(text.clone().into()).message_id(id))
            }
            Part::Thinking { text, .. } if !text.is_empty() => {
                SessionUpdate::AgentThoughtChunk(ContentChunk::new(text.clone().into()).message_id(id))
            }
            Part::ToolCall { id, name, input, .. } => SessionUpdate::ToolCall(
                ToolCall::new(id.to_string(), name.clone())
                    .name(name.clone())
                    .kind(tools::kind(live.backend.tool_kind(name)))
                    .raw_input(input.clone())
                    .locations(tools::locations(input, &live.root)),
            ),
            Part::Text { .. } | Part::Thinking { .. } | Part::ToolResult { .. } | Part::Media(_) => continue,
        };
        live.update(update).await;
    }
}

/// The result of a call, for the editor.
pub(super) async fn result_fields(live: &EditorSession, body: &Body) -> Option<ToolCallUpdateFields> {
    let Body::Result {
        message,
        tool,
        title,
        changes,
        ..
    } = body
    else {
        return None;
    };
    let mut status = ToolCallStatus::Completed;
    let mut content: Vec<ToolCallContent> = Vec::new();
    let shown: Vec<_> = changes
        .iter()
        .filter(|change| change.contents().is_some())
        .cloned()
        .collect();
    let mut lines = HashMap::new();
    if !shown.is_empty() {
        let contents = live.backend.contents(shown).await.unwrap_or_default();
        let first = |it: &ChangeContents| (live.root.join(&it.path), tools::first_changed_line(it));
        lines.extend(contents.iter().map(first));
        content.extend(contents.into_iter().filter_map(|it| tools::diff(it, &live.root)));
    }
    let only_text = content.is_empty();
    for part in &message.parts {
        let Part::ToolResult {
            content: blocks,
            outcome,
            ..
        } = part
        else {
            continue;
        };
        if *outcome == ToolOutcome::Error {
            status = ToolCallStatus::Failed;
        }
        for block in blocks {
            match block {
                // If there is a diff, the text for the model repeats it.
                Block::Text { .. } if !only_text && *outcome == ToolOutcome::Ok => {}
                Block::Text { text } if tool == "terminal" => content.push(tools::code_block(text)),
                Block::Text { text } => content.push(tools::text(text)),
                Block::Media(media) if !media.is_pdf() => content.push(image(media).into()),
                Block::Media(_) => {}
            }
        }
    }
    let mut fields = ToolCallUpdateFields::new()
        .status(status)
        .title(tools::title(tool, title))
        .kind(tools::kind(live.backend.tool_kind(tool)))
        .content(content);
    if !changes.is_empty() {
        let line = |path: &PathBuf| lines.get(&live.root.join(path)).copied().flatten();
        let places = changes.iter().map(|change| (change.path.clone(), line(&change.path)));
        fields = fields.locations(tools::change_locations(places, &live.root));
    }
    Some(fields)
}

/// The todo list as a plan.
pub(super) fn todo_plan(list: &[Todo]) -> SessionUpdate {
    let entries = list.iter().map(|todo| {
        let status = match todo.status {
            TodoStatus::Pending => PlanEntryStatus::Pending,
            TodoStatus::InProgress => PlanEntryStatus::InProgress,
            // Plans have no cancelled status.
            TodoStatus::Completed | TodoStatus::Cancelled => PlanEntryStatus::Completed,
        };
        let text = match todo.status {
            TodoStatus::Cancelled => format!("{} (cancelled)", todo.text),
            TodoStatus::Pending | TodoStatus::InProgress | TodoStatus::Completed => todo.text.clone(),
        };
        PlanEntry::new(text, PlanEntryPriority::Medium, status)
    });
    SessionUpdate::Plan(Plan::new(entries.collect()))
}

fn image(media: &Media) -> ContentBlock {
    ContentBlock::Image(ImageContent::new(STANDARD.encode(&media.data), media.mime.clone()))
}
