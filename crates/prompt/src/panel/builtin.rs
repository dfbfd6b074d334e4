//! Panels that only need the session itself.

use super::{ChangeChannel, Panel, PanelContext, Volatility};
use crate::assembly::history::format_time;
use futures::future::{BoxFuture, FutureExt as _};
use session::{Body, Item};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A panel that only needs the session itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuiltinPanel {
    /// The todo list.
    Todo,
    /// Context usage and cost.
    Statistics,
    /// The tools by name.
    Tools,
    /// Events outside the conversation.
    Notifications,
    /// The prompts of the session.
    Logs,
}

/// Maximum number of entries.
const NEWEST: usize = 10;
/// Maximum number of turns.
const TURNS: usize = 40;

impl BuiltinPanel {
    /// All of them.
    pub const ALL: [BuiltinPanel; 5] = [
        BuiltinPanel::Todo,
        BuiltinPanel::Statistics,
        BuiltinPanel::Tools,
        BuiltinPanel::Notifications,
        BuiltinPanel::Logs,
    ];
}

impl Panel for BuiltinPanel {
    fn name(&self) -> &str {
        match self {
            BuiltinPanel::Todo => "todo",
            BuiltinPanel::Statistics => "statistics",
            BuiltinPanel::Tools => "tools",
            BuiltinPanel::Notifications => "notifications",
            BuiltinPanel::Logs => "logs",
        }
    }

    fn volatility(&self) -> Volatility {
        match self {
            BuiltinPanel::Todo => Volatility::Live,
            BuiltinPanel::Statistics | BuiltinPanel::Notifications => Volatility::Turn,
            BuiltinPanel::Tools | BuiltinPanel::Logs => Volatility::Session,
        }
    }

    fn change_channel(&self) -> ChangeChannel {
        match self {
            // The todo tool returns the list; notifications and prompts are items of the conversation.
            BuiltinPanel::Todo | BuiltinPanel::Notifications | BuiltinPanel::Logs => ChangeChannel::Conversation,
            BuiltinPanel::Statistics | BuiltinPanel::Tools => ChangeChannel::Panel,
        }
    }

    fn snapshot<'a>(&'a self, context: &'a PanelContext<'a>) -> BoxFuture<'a, Option<String>> {
        let text = match self {
            BuiltinPanel::Todo => todo(context),
            BuiltinPanel::Statistics => Some(statistics(context)),
            BuiltinPanel::Tools => tools(context),
            BuiltinPanel::Notifications => notifications(context.items),
            BuiltinPanel::Logs => logs(context.items),
        };
        async move { text }.boxed()
    }
}

fn todo(context: &PanelContext<'_>) -> Option<String> {
    let lines = context
        .todos
        .iter()
        .map(|todo| format!("{}: {}", todo.status.name(), todo.text));
    some(lines.collect::<Vec<_>>().join("\n"))
}

/// Rounded, so that not every request changes it.
fn statistics(context: &PanelContext<'_>) -> String {
    let mut text = format!("Model: {}\n", context.model);
    if let Some(percent) = (context.tokens * 100).checked_div(context.window) {
        text.push_str(&format!(
            "Window: about {} % of {} tokens\n",
            percent / 5 * 5,
            context.window
        ));
    }
    let files: BTreeSet<_> = context
        .items
        .iter()
        .flat_map(|item| match &item.body {
            Body::Result { changes, .. } => changes.as_slice(),
            _ => &[],
        })
        .map(|change| &change.path)
        .collect();
    let turns = context
        .items
        .iter()
        .filter(|item| matches!(item.body, Body::Prompt { .. }))
        .count();
    text.push_str(&format!(
        "Cost: ${:.1}\nPrompts: {turns}\nFiles changed: {}",
        context.totals.cost.usd(),
        files.len()
    ));
    text
}

fn tools(context: &PanelContext<'_>) -> Option<String> {
    let mut listed: Vec<&str> = context.tools.iter().map(|tool| tool.name.as_str()).collect();
    listed.sort_unstable();
    let mut further: Vec<&str> = context.deferred.iter().map(String::as_str).collect();
    further.sort_unstable();
    if listed.is_empty() && further.is_empty() {
        return None;
    }
    let mut text = format!("Available: {}", listed.join(", "));
    if !further.is_empty() {
        text.push_str(&format!("\nAvailable through find_tools: {}", further.join(", ")));
    }
    Some(text)
}

fn notifications(items: &[Arc<Item>]) -> Option<String> {
    let entries = items.iter().rev().filter_map(|item| match &item.body {
        Body::Notification { source: cause, .. } => Some(format!("{} {cause}", format_time(item.at))),
        _ => None,
    });
    let mut newest: Vec<String> = entries.take(NEWEST).collect();
    newest.reverse();
    some(newest.join("\n"))
}

fn logs(items: &[Arc<Item>]) -> Option<String> {
    let turns = items.iter().rev().filter_map(|item| match &item.body {
        Body::Prompt { message } => {
            let text = message.text();
            let line = text.trim().lines().next().unwrap_or_default().to_owned();
            let end = line.floor_char_boundary(160);
            Some(format!("{} {}", format_time(item.at), &line[..end]))
        }
        Body::Notice { text } => Some(format!("{} ({text})", format_time(item.at))),
        _ => None,
    });
    let mut newest: Vec<String> = turns.take(TURNS).collect();
    newest.reverse();
    some(newest.join("\n"))
}

fn some(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}
