//! Shortened forms of old items: a history panel for a chunk, one line for a single result.

use crate::budget::cut_middle;
use crate::panel::PanelTexts;
use model::{Block, Message, Part, Role};
use session::{Body, Item, ItemId, Time};
use std::collections::HashSet;
use std::sync::Arc;

/// Maximum bytes of a call's input in a history panel.
const INPUT_BYTES: usize = 200;
/// Maximum bytes of a result without a summary in a history panel.
const RESULT_BYTES: usize = 1_500;
/// Maximum bytes of a text in a history panel.
const TEXT_BYTES: usize = 4_000;

/// Renders a chunk of a conversation as one panel, labelled with its time range. `number` counts the chunks from 1.
pub(crate) fn history_panel(members: &[&Arc<Item>], brief: &HashSet<ItemId>, number: usize) -> Arc<Item> {
    let (first, last) = (members.first(), members.last());
    let at = last.map_or(Time(0), |item| item.at);
    let from = first.map_or(at, |item| item.at);
    let mut text = format!(
        "<panel name=\"history\" from=\"{}\" to=\"{}\">\n{}\n",
        format_time(from),
        format_time(at),
        PanelTexts::load().history.replace("{number}", &number.to_string())
    );
    for item in members {
        entry(&mut text, item, brief.contains(&item.id));
    }
    text.push_str("</panel>");
    Arc::new(Item {
        id: first.map_or_else(ItemId::default, |item| item.id),
        parent: None,
        at,
        body: Body::Panels {
            messages: vec![Arc::new(Message::user(text))],
            states: Vec::new(),
            elision: None,
        },
    })
}

fn entry(text: &mut String, item: &Item, is_brief: bool) {
    let Some(message) = item.message() else { return };
    if let Body::Result { .. } = &item.body {
        let body = match result_line(item) {
            Some(line) => line,
            None if is_brief => LEFT_OUT.into(),
            None => cut_middle(&result_text(message), RESULT_BYTES),
        };
        text.push_str(&format!("[result] {body}\n"));
        return;
    }
    parts(text, message, TEXT_BYTES, INPUT_BYTES);
}

/// Appends an item in full.
pub(crate) fn full_entry(text: &mut String, item: &Item) {
    let Some(message) = item.message() else { return };
    match &item.body {
        Body::Result { .. } => text.push_str(&format!("[result] {}\n", result_text(message))),
        _ => parts(text, message, usize::MAX, usize::MAX),
    }
}

/// Appends the texts and calls of a message, each up to a size in bytes.
fn parts(text: &mut String, message: &Message, text_bytes: usize, input_bytes: usize) {
    let speaker = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    for part in &message.parts {
        match part {
            Part::Text { text: body, .. } if !body.trim().is_empty() => {
                text.push_str(&format!("[{speaker}] {}\n", cut_middle(body.trim(), text_bytes)));
            }
            Part::ToolCall { name, input, .. } => {
                text.push_str(&format!(
                    "[call] {name}({})\n",
                    cut_middle(&input.to_string(), input_bytes)
                ));
            }
            Part::Media(media) => text.push_str(&format!("[{speaker}] ({}, omitted)\n", media.mime)),
            Part::Text { .. } | Part::Thinking { .. } | Part::ToolResult { .. } => {}
        }
    }
}

/// Replaces an omitted result.
const LEFT_OUT: &str = "(Output omitted; call again if needed.)";
/// Replaces the read of a file that is outdated or does not fit.
const OLD_READ: &str =
    "(Omitted, because the file was read again or changed later, or to save space. Read it again if needed.)";

/// Returns a result as one line; other items unchanged.
pub(crate) fn abbreviated(item: &Arc<Item>) -> Arc<Item> {
    let Body::Result { tool, .. } = &item.body else {
        return Arc::clone(item);
    };
    let line = match (tool == READ_TOOL, result_line(item)) {
        (true, _) => OLD_READ.to_owned(),
        (false, Some(line)) => format!("{line} {LEFT_OUT}"),
        (false, None) => LEFT_OUT.to_owned(),
    };
    let mut short = Item::clone(item);
    if let Body::Result { message, .. } = &mut short.body {
        let parts = message.parts.iter().map(|part| match part {
            Part::ToolResult { id, name, outcome, .. } => Part::ToolResult {
                id: id.clone(),
                name: name.clone(),
                content: vec![Block::text(line.clone())],
                outcome: *outcome,
            },
            Part::Text { .. } | Part::Thinking { .. } | Part::ToolCall { .. } | Part::Media(_) => part.clone(),
        });
        *message = Arc::new(Message {
            role: message.role,
            parts: parts.collect(),
        });
    }
    Arc::new(short)
}

/// Name of the tool that reads files.
pub(crate) const READ_TOOL: &str = "read_file";

/// The outcome of a call in one line.
fn result_line(item: &Item) -> Option<String> {
    match &item.body {
        Body::Result {
            tool,
            title,
            summary: Some(summary),
            ..
        } => Some(format!(
            "{tool} {}: {summary}",
            title.lines().next().unwrap_or_default()
        )),
        _ => None,
    }
}

fn result_text(message: &Message) -> String {
    let blocks = message.parts.iter().filter_map(|part| match part {
        Part::ToolResult { content, .. } => Some(content),
        Part::Text { .. } | Part::Thinking { .. } | Part::ToolCall { .. } | Part::Media(_) => None,
    });
    let texts = blocks.flatten().filter_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        Block::Media(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Formats a time in UTC, to the minute.
pub(crate) fn format_time(at: Time) -> String {
    let minutes = at.0 / 60_000;
    let (year, month, day) = date(minutes / 1_440);
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02} UTC",
        minutes / 60 % 24,
        minutes % 60
    )
}

/// The date of a number of days after 1970-01-01.
pub(crate) fn date(days: u64) -> (u64, u64, u64) {
    // Counted from March 1 of year 0, so that leap days are the last days of their years.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_formatted_in_utc() {
        for (millis, expected) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_400_000, "2000-02-29 00:00 UTC"),
            (1_794_823_140_000, "2026-11-16 09:59 UTC"),
        ] {
            assert_eq!(format_time(Time(millis)), expected);
        }
    }
}
