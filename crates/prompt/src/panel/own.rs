//! Panels that need nothing but the session itself.

use super::{Panel, Sight, Told, Volatility};
use crate::history::moment;
use futures::future::{BoxFuture, FutureExt as _};
use session::{Body, Item};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A panel that needs nothing but the session itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Own {
    /// The list of things to do.
    Todo,
    /// How full the window is, what the session has cost.
    Statistics,
    /// The tools by name.
    Tools,
    /// What happened beside the conversation.
    Notifications,
    /// What was asked for, turn by turn.
    Logs,
}

/// As many of the newest entries are shown.
const NEWEST: usize = 10;
/// As many turns are shown.
const TURNS: usize = 40;

impl Own {
    /// All of them.
    pub const ALL: [Own; 5] = [Own::Todo, Own::Statistics, Own::Tools, Own::Notifications, Own::Logs];
}

impl Panel for Own {
    fn name(&self) -> &str {
        match self {
            Own::Todo => "todo",
            Own::Statistics => "statistics",
            Own::Tools => "tools",
            Own::Notifications => "notifications",
            Own::Logs => "logs",
        }
    }

    fn volatility(&self) -> Volatility {
        match self {
            Own::Todo => Volatility::Live,
            Own::Statistics | Own::Notifications => Volatility::Turn,
            Own::Tools | Own::Logs => Volatility::Session,
        }
    }

    fn told(&self) -> Told {
        match self {
            // The tool that changes the list answers with it; news are items themselves, and so is what is asked for.
            Own::Todo | Own::Notifications | Own::Logs => Told::InConversation,
            Own::Statistics | Own::Tools => Told::Here,
        }
    }

    fn snapshot<'a>(&'a self, sight: &'a Sight<'a>) -> BoxFuture<'a, Option<String>> {
        let text = match self {
            Own::Todo => todo(sight),
            Own::Statistics => Some(statistics(sight)),
            Own::Tools => tools(sight),
            Own::Notifications => notifications(sight.items),
            Own::Logs => logs(sight.items),
        };
        async move { text }.boxed()
    }
}

fn todo(sight: &Sight<'_>) -> Option<String> {
    let lines = sight
        .todos
        .iter()
        .map(|todo| format!("{}: {}", todo.status.word(), todo.text));
    some(lines.collect::<Vec<_>>().join("\n"))
}

/// Rounded, so that not every request changes it.
fn statistics(sight: &Sight<'_>) -> String {
    let mut text = format!("Model: {}\n", sight.model);
    if let Some(percent) = (sight.tokens * 100).checked_div(sight.window) {
        text.push_str(&format!(
            "Window: about {} % of {} tokens\n",
            percent / 5 * 5,
            sight.window
        ));
    }
    let files: BTreeSet<_> = sight
        .items
        .iter()
        .flat_map(|item| match &item.body {
            Body::Result { changes, .. } => changes.as_slice(),
            _ => &[],
        })
        .map(|change| &change.path)
        .collect();
    let turns = sight
        .items
        .iter()
        .filter(|item| matches!(item.body, Body::Prompt { .. }))
        .count();
    text.push_str(&format!(
        "Cost: ${:.1}\nPrompts: {turns}\nFiles changed: {}",
        sight.totals.cost.usd(),
        files.len()
    ));
    text
}

fn tools(sight: &Sight<'_>) -> Option<String> {
    let mut listed: Vec<&str> = sight.tools.iter().map(|tool| tool.name.as_str()).collect();
    listed.sort_unstable();
    let mut further: Vec<&str> = sight.further.iter().map(String::as_str).collect();
    further.sort_unstable();
    if listed.is_empty() && further.is_empty() {
        return None;
    }
    let mut text = format!("At hand: {}", listed.join(", "));
    if !further.is_empty() {
        text.push_str(&format!("\nTo be found with find_tools: {}", further.join(", ")));
    }
    Some(text)
}

fn notifications(items: &[Arc<Item>]) -> Option<String> {
    let news = items.iter().rev().filter_map(|item| match &item.body {
        Body::Wake { cause, .. } => Some(format!("{} {cause}", moment(item.at))),
        _ => None,
    });
    let mut newest: Vec<String> = news.take(NEWEST).collect();
    newest.reverse();
    some(newest.join("\n"))
}

fn logs(items: &[Arc<Item>]) -> Option<String> {
    let turns = items.iter().rev().filter_map(|item| match &item.body {
        Body::Prompt { message } => {
            let text = message.text();
            let line = text.trim().lines().next().unwrap_or_default().to_owned();
            let end = line.floor_char_boundary(160);
            Some(format!("{} {}", moment(item.at), &line[..end]))
        }
        Body::Notice { text } => Some(format!("{} ({text})", moment(item.at))),
        _ => None,
    });
    let mut newest: Vec<String> = turns.take(TURNS).collect();
    newest.reverse();
    some(newest.join("\n"))
}

fn some(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}
