//! What the result of a call contains.

use super::descriptions;
use model::{Block, Media, Part, ToolOutcome};
use session::{Body, Item};

/// Whether the result is that of a shell command.
pub(super) fn is_command(item: &Item) -> bool {
    matches!(&item.body, Body::Result { exit: Some(_), .. })
}

/// Whether a command or a subtask continues in the background.
pub(super) fn is_in_background(item: &Item) -> bool {
    let is_subtask = matches!(&item.body, Body::Result { tool, summary: Some(summary), .. }
        if tool == "new_task" && summary.starts_with("in the background"));
    is_subtask || background_job(item).is_some()
}

/// Whether an interruption or a crash ended the call.
pub(super) fn was_interrupted(item: &Item) -> bool {
    let is_marked = matches!(&item.body, Body::Result { summary: Some(summary), .. } if summary == "interrupted");
    is_marked && item.has_failed()
}

/// The job that the command of a result continues as.
pub(super) fn background_job(item: &Item) -> Option<&str> {
    match &item.body {
        Body::Result {
            tool,
            summary: Some(summary),
            exit: None,
            ..
        } if tool == "terminal" && summary.starts_with("job ") => Some(summary),
        _ => None,
    }
}

/// The output in a command's result, without the note about its exit.
pub(super) fn command_output(text: &str) -> &str {
    let text = text.trim_end();
    match text.rsplit_once('\n') {
        Some((output, last)) if last.starts_with('[') && last.ends_with(']') => output,
        None if text.starts_with('[') && text.ends_with(']') => "",
        Some(_) | None => text,
    }
}

/// The file changes of a result.
pub(super) fn changes(item: &Item) -> &[session::Change] {
    match &item.body {
        Body::Result { changes, .. } => changes,
        _ => &[],
    }
}

/// Images in a result.
pub(super) fn images(item: &Item) -> impl Iterator<Item = &Media> {
    let parts = item
        .message()
        .map(|message| message.parts.as_slice())
        .unwrap_or_default();
    let blocks = parts.iter().flat_map(|part| match part {
        Part::ToolResult { content, .. } => content.as_slice(),
        _ => &[],
    });
    blocks.filter_map(|block| match block {
        Block::Media(media) => Some(media),
        Block::Text { .. } => None,
    })
}

/// The outcome of a result.
pub(super) fn result_outcome(item: &Item) -> ToolOutcome {
    let parts = item
        .message()
        .map(|message| message.parts.as_slice())
        .unwrap_or_default();
    let found = parts.iter().find_map(|part| match part {
        Part::ToolResult { outcome, .. } => Some(*outcome),
        _ => None,
    });
    found.unwrap_or(ToolOutcome::Ok)
}

/// The text of a result.
pub(super) fn result_text(item: &Item) -> String {
    let parts = item
        .message()
        .map(|message| message.parts.as_slice())
        .unwrap_or_default();
    let found = parts.iter().find_map(|part| match part {
        Part::ToolResult { content, .. } => Some(content),
        _ => None,
    });
    let Some(content) = found else {
        return String::new();
    };
    let texts = content.iter().map(|block| match block {
        Block::Text { text } => text.clone(),
        Block::Media(media) => format!("[{} · {}]", media.mime, descriptions::byte_size(media.data.len())),
    });
    texts.collect::<Vec<_>>().join("\n")
}
