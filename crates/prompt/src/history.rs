//! Old parts of a conversation in a shorter form: a panel of history for a whole chunk, one line for a single result.

use crate::budget::cut;
use crate::panel::Texts;
use model::{Block, Message, Part, Role};
use session::{Body, Item, ItemId, Time};
use std::collections::HashSet;
use std::sync::Arc;

/// What a call's input takes in a panel of history at most.
const INPUT_BYTES: usize = 200;
/// What a result without a summary takes there at most.
const RESULT_BYTES: usize = 1_500;
/// What is said takes there at most.
const SAID_BYTES: usize = 4_000;

/// A chunk of a conversation as one panel, named by the time that it took.
pub(crate) fn panel(members: &[&Arc<Item>], brief: &HashSet<ItemId>) -> Arc<Item> {
    let (first, last) = (members.first(), members.last());
    let at = last.map_or(Time(0), |item| item.at);
    let from = first.map_or(at, |item| item.at);
    let mut text = format!(
        "<panel name=\"history\" from=\"{}\" to=\"{}\">\n{}\n",
        moment(from),
        moment(at),
        Texts::load().history
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
            shown: Vec::new(),
            fold: None,
        },
    })
}

fn entry(text: &mut String, item: &Item, is_brief: bool) {
    let Some(message) = item.message() else { return };
    if let Body::Result { .. } = &item.body {
        let said = match tldr(item) {
            Some(line) => line,
            None if is_brief => LEFT_OUT.into(),
            None => cut(&said(message), RESULT_BYTES),
        };
        text.push_str(&format!("[result] {said}\n"));
        return;
    }
    let who = match message.role {
        Role::User => "person",
        Role::Assistant => "agent",
    };
    for part in &message.parts {
        match part {
            Part::Text { text: said, .. } if !said.trim().is_empty() => {
                text.push_str(&format!("[{who}] {}\n", cut(said.trim(), SAID_BYTES)));
            }
            Part::ToolCall { name, input, .. } => {
                text.push_str(&format!("[call] {name}({})\n", cut(&input.to_string(), INPUT_BYTES)));
            }
            Part::Media(media) => text.push_str(&format!("[{who}] ({}, left out)\n", media.mime)),
            Part::Text { .. } | Part::Thinking { .. } | Part::ToolResult { .. } => {}
        }
    }
}

/// What stands for a result whose text is left out.
const LEFT_OUT: &str = "(The output is left out; call again if it is needed.)";
/// What stands for an older reading of a file.
const STALE: &str = "(This reading of the file is left out: the file was read again or changed later.)";

/// A result as one line; anything else as it is.
pub(crate) fn brief(item: &Arc<Item>) -> Arc<Item> {
    let Body::Result { tool, .. } = &item.body else {
        return Arc::clone(item);
    };
    let line = match (tool == READ, tldr(item)) {
        (true, _) => STALE.to_owned(),
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

/// The tool that reads files.
pub(crate) const READ: &str = "read_file";

/// What came of a call, in one line.
fn tldr(item: &Item) -> Option<String> {
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

fn said(message: &Message) -> String {
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

/// A moment in UTC, to the minute.
pub(crate) fn moment(at: Time) -> String {
    let minutes = at.0 / 60_000;
    let (year, month, day) = date(minutes / 1_440);
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02} UTC",
        minutes / 60 % 24,
        minutes % 60
    )
}

/// The date of so many days after the first of January 1970.
pub(crate) fn date(days: u64) -> (u64, u64, u64) {
    // Counted from the first of March of the year 0, so that leap days are the last of their years.
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
    fn a_moment_is_told_in_utc() {
        for (millis, told) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_400_000, "2000-02-29 00:00 UTC"),
            (1_794_823_140_000, "2026-11-16 09:59 UTC"),
        ] {
            assert_eq!(moment(Time(millis)), told);
        }
    }
}
