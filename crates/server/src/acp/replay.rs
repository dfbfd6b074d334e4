//! Shows the editor what has happened in a session before.

use std::sync::Arc;

use acp::schema::{
    ContentBlock, ContentChunk, ImageContent, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionUpdate,
    ToolCall, ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::{Block, Media, Message, Outcome, Part};
use session::{Body, Item, Status, Todo};

use super::live::Live;
use super::tools;

/// Tells all that happened, in order.
pub(super) async fn replay(live: &Live, items: &[Arc<Item>]) {
    let mut todos = None;
    for item in items {
        let id = item.id.to_string();
        match &item.body {
            Body::Prompt { message } => said(live, message, &id).await,
            Body::Reply { message, .. } => replied(live, message, &id).await,
            Body::Result { call, .. } => {
                if let Some(fields) = result(live, &item.body).await {
                    let update = ToolCallUpdate::new(call.to_string(), fields);
                    live.update(SessionUpdate::ToolCallUpdate(update)).await;
                }
            }
            Body::Todos { list } => todos = Some(list),
            Body::Summary { .. }
            | Body::Notice { .. }
            | Body::Wake { .. }
            | Body::Mode { .. }
            | Body::Panels { .. }
            | Body::Review { .. }
            | Body::Restored { .. } => {}
        }
    }
    if let Some(list) = todos {
        live.update(plan(list)).await;
    }
}

async fn said(live: &Live, message: &Message, id: &str) {
    let chunk = |content: ContentBlock| SessionUpdate::UserMessageChunk(ContentChunk::new(content).message_id(id));
    let text = session::spoken(message);
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

async fn replied(live: &Live, message: &Message, id: &str) {
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
                    .kind(tools::kind(name))
                    .raw_input(input.clone())
                    .locations(tools::locations(input, &live.root)),
            ),
            Part::Text { .. } | Part::Thinking { .. } | Part::ToolResult { .. } | Part::Media(_) => continue,
        };
        live.update(update).await;
    }
}

/// What came of a call, for the editor.
pub(super) async fn result(live: &Live, body: &Body) -> Option<ToolCallUpdateFields> {
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
    if !shown.is_empty() {
        let contents = live.house.contents(shown).await.unwrap_or_default();
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
        if *outcome == Outcome::Error {
            status = ToolCallStatus::Failed;
        }
        for block in blocks {
            match block {
                // Where there is a difference to see, the words to the model say the same.
                Block::Text { .. } if !only_text && *outcome == Outcome::Ok => {}
                Block::Text { text } if tool == "terminal" => content.push(tools::printed(text)),
                Block::Text { text } => content.push(tools::text(text)),
                Block::Media(media) if !media.is_pdf() => content.push(image(media).into()),
                Block::Media(_) => {}
            }
        }
    }
    let mut fields = ToolCallUpdateFields::new()
        .status(status)
        .title(tools::title(tool, title))
        .kind(tools::kind(tool))
        .content(content);
    if !changes.is_empty() {
        let paths = changes.iter().map(|change| change.path.clone());
        fields = fields.locations(tools::changed(paths, &live.root));
    }
    Some(fields)
}

/// The things to do, as a plan.
pub(super) fn plan(list: &[Todo]) -> SessionUpdate {
    let entries = list.iter().map(|todo| {
        let status = match todo.status {
            Status::Pending => PlanEntryStatus::Pending,
            Status::InProgress => PlanEntryStatus::InProgress,
            // A plan knows no other way to be done with something.
            Status::Completed | Status::Cancelled => PlanEntryStatus::Completed,
        };
        let text = match todo.status {
            Status::Cancelled => format!("{} (given up)", todo.text),
            Status::Pending | Status::InProgress | Status::Completed => todo.text.clone(),
        };
        PlanEntry::new(text, PlanEntryPriority::Medium, status)
    });
    SessionUpdate::Plan(Plan::new(entries.collect()))
}

fn image(media: &Media) -> ContentBlock {
    ContentBlock::Image(ImageContent::new(STANDARD.encode(&media.data), media.mime.clone()))
}
