//! The conversation: finished entries are printed to the terminal's scrollback, the others are drawn live.

mod call_result;
mod card;
mod descriptions;
mod entry;
mod item_entries;
mod output_rows;
mod reply;
mod streaming_edits;

pub(crate) use card::ToolCard;
pub(crate) use descriptions::{describe, elapsed, relative_paths};
pub(crate) use entry::{ConversationEntry, EntryDetail};

use crate::markdown::RenderContext;
use crate::row::{StyledRow, sanitise};
use crate::view::ViewContext;
use model::{CallId, Message};
use reply::StreamedReply;
use session::{Body, Event, Item, ItemDelta, ItemId, ItemStart, NoticeLevel, TurnEnd};
use std::sync::Arc;

#[cfg(test)]
thread_local! {
    /// Number of rendered entries, for tests that measure the work of a frame.
    pub(crate) static RENDERED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Longer errors are shortened while the request is retried.
const MAX_RETRY_ERROR: usize = 70;

/// The conversation.
#[derive(Default)]
pub(crate) struct ConversationLog {
    /// All entries in order, including the completed parts of a streaming reply.
    pub(crate) entries: Vec<ConversationEntry>,
    /// Number of entries printed to the scrollback.
    printed: usize,
    /// Number of earlier entries that are not shown, until the notice is printed.
    skipped: Option<usize>,
    /// The streaming reply.
    reply: Option<StreamedReply>,
    /// The logged notice about the end of the turn.
    end_notice: Option<ConversationEntry>,
    /// The mode before and after changes since the last entry.
    mode_change: Option<(String, String)>,
    /// The heading, until it is printed.
    heading: Option<Vec<String>>,
    /// Whether a blank row separates it from another session, until it is printed.
    separated: bool,
}

impl ConversationLog {
    /// Loads earlier items: the last ones are printed, all are available in the transcript.
    pub(crate) fn restore(&mut self, items: &[Arc<Item>]) {
        self.entries = item_entries::from_items(items);
        self.print_again();
    }

    /// Prints the last entries again, because another session was shown.
    pub(crate) fn print_again(&mut self) {
        self.printed = item_entries::count_unprinted(&self.entries);
        self.skipped = (self.printed > 0).then_some(self.printed);
    }

    /// Prints a blank row first, because another session was shown.
    pub(crate) fn separate(&mut self) {
        self.separated = true;
    }

    /// Marks all entries as already printed.
    pub(crate) fn mark_all_printed(&mut self) {
        self.printed = self.entries.len();
        self.skipped = None;
        self.heading = None;
    }

    /// Prints this heading first, one line each.
    pub(crate) fn set_heading(&mut self, lines: Vec<String>) {
        self.heading = Some(lines);
    }

    /// Adds a notice for the user.
    pub(crate) fn notice(&mut self, level: NoticeLevel, text: &str) {
        self.push(ConversationEntry::Notice(level, text.into()));
    }

    /// Applies a session event.
    pub(crate) fn handle_event(&mut self, event: &Event) {
        // The logged notice about the end of a turn is for the model; the user gets a different text.
        if !matches!(event, Event::TurnFinished { .. }) {
            self.entries.extend(self.end_notice.take());
        }
        match event {
            Event::ItemStarted { id, kind } => match kind {
                ItemStart::Reply => self.reply = Some(StreamedReply::new(*id)),
                ItemStart::Result { call, tool, title } => self.card(call, tool).start(*id, tool, title),
            },
            Event::ItemDelta { id, delta } => self.append_delta(*id, delta),
            Event::ItemFinished { item } => self.finish(item),
            Event::ItemDropped { id } => self.discard_reply(*id),
            Event::Notice { level, text } => self.notice(*level, text),
            // The status line counts the attempts, so the notice is added once.
            Event::Retrying { error, .. } => {
                let text = format!("{}; retrying", short_error(error));
                let is_said = matches!(self.entries.last(), Some(ConversationEntry::Notice(_, last)) if *last == text);
                if !is_said {
                    self.notice(NoticeLevel::Warning, &text);
                }
            }
            Event::Subtask { call, event, .. } => self.add_subtask_progress(call, event),
            Event::TurnFinished { ending, .. } => self.end_turn(ending),
            Event::TurnStarted
            | Event::QuestionAsked { .. }
            | Event::QuestionAnswered { .. }
            | Event::Usage { .. }
            | Event::TitleChanged { .. }
            | Event::Rewound { .. } => {}
        }
    }

    /// Returns finished rows that were not printed yet.
    pub(crate) fn take_finished(&mut self, width: u16, cx: &ViewContext<'_>) -> Vec<StyledRow> {
        let mut rows = Vec::new();
        if std::mem::take(&mut self.separated) {
            rows.push(StyledRow::empty());
        }
        if let Some(heading) = self.heading.take() {
            let name = StyledRow::new("hew ", cx.theme.strong).push(env!("CARGO_PKG_VERSION"), cx.theme.dim);
            for (at, line) in heading.iter().enumerate() {
                let row = match at {
                    0 => name.clone().push("  ", cx.theme.dim),
                    _ => StyledRow::new("    ", cx.theme.dim),
                };
                rows.push(row.push(sanitise(line), cx.theme.dim).truncate(width.into()));
            }
            rows.push(StyledRow::empty());
        }
        if let Some(count) = self.skipped.take() {
            rows.push(StyledRow::new(
                format!("· {count} earlier entries; ctrl+t shows them"),
                cx.theme.dim,
            ));
        }
        while self.printed < self.entries.len() {
            let (before, rest) = self.entries.split_at_mut(self.printed);
            let Some(entry) = rest.first_mut() else {
                break;
            };
            if !entry.is_finished(cx) {
                break;
            }
            if before.last().is_some_and(|last| entry.wants_gap_after(last)) {
                rows.push(StyledRow::empty());
            }
            rows.extend(entry.rows(width.into(), EntryDetail::Compact, render_context(cx)));
            self.printed += 1;
        }
        rows
    }

    /// Returns the newest unfinished rows, at most `most`.
    pub(crate) fn live(&self, width: u16, most: u16, cx: &ViewContext<'_>) -> Vec<StyledRow> {
        let mut rows: Vec<StyledRow> = Vec::new();
        let mut last = self.printed.checked_sub(1).and_then(|last| self.entries.get(last));
        for entry in self.entries.get(self.printed..).unwrap_or_default() {
            if last.is_some_and(|last| entry.wants_gap_after(last)) {
                rows.push(StyledRow::empty());
            }
            rows.extend(entry.rows(width.into(), EntryDetail::Compact, render_context(cx)));
            if let ConversationEntry::Card(card) = entry {
                rows.extend(card.streaming_rows(width.into(), cx));
            }
            last = Some(entry);
        }
        if let Some(entry) = self.reply.as_ref().and_then(|reply| reply.incomplete()) {
            if last.is_some_and(|last| entry.wants_gap_after(last)) {
                rows.push(StyledRow::empty());
            }
            rows.extend(entry.rows(width.into(), EntryDetail::Compact, render_context(cx)));
        }
        let excess = rows.len().saturating_sub(most.into());
        rows.drain(..excess);
        rows
    }

    /// The text of the model's last reply since the last prompt or call.
    pub(crate) fn last_reply(&self) -> String {
        let is_reply =
            |entry: &&ConversationEntry| matches!(entry, ConversationEntry::Text(_) | ConversationEntry::Part(..));
        let from_last = self.entries.iter().rev().skip_while(|entry| !is_reply(entry));
        let mut parts: Vec<String> = from_last
            .take_while(is_reply)
            .map(ConversationEntry::copy_text)
            .collect();
        parts.reverse();
        parts.join("\n\n")
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.reply.is_none()
    }

    /// The first prompt.
    pub(crate) fn first_prompt(&self) -> Option<&Message> {
        self.entries.iter().find_map(|entry| match entry {
            ConversationEntry::Prompt(message) => Some(message.as_ref()),
            _ => None,
        })
    }

    /// Whether the session contains more than notices. Sessions with only notices are not stored.
    pub(crate) fn has_content(&self) -> bool {
        let is_kept = |entry: &ConversationEntry| !matches!(entry, ConversationEntry::Notice(..));
        self.reply.is_some() || self.entries.iter().any(is_kept)
    }

    /// The card of a call.
    pub(crate) fn find_card(&self, call: &CallId) -> Option<&ToolCard> {
        self.entries.iter().rev().find_map(|entry| match entry {
            ConversationEntry::Card(card) if card.call == *call => Some(&**card),
            _ => None,
        })
    }

    /// Notes that a question about a call is open.
    pub(crate) fn ask_about(&mut self, call: &CallId) {
        if let Some(card) = self.card_mut(call) {
            card.ask();
        }
    }

    /// Resets the start time of a call after its question was answered.
    pub(crate) fn restart_clock(&mut self, call: &CallId) {
        if let Some(card) = self.card_mut(call) {
            card.restart_clock();
        }
    }

    fn card_mut(&mut self, call: &CallId) -> Option<&mut ToolCard> {
        self.entries.iter_mut().rev().find_map(|entry| match entry {
            ConversationEntry::Card(card) if card.call == *call => Some(&mut **card),
            _ => None,
        })
    }

    fn push(&mut self, entry: ConversationEntry) {
        self.entries.push(entry);
    }

    /// The card of a call; adds one if it is missing.
    fn card(&mut self, call: &CallId, tool: &str) -> &mut ToolCard {
        let is_it = |entry: &ConversationEntry| matches!(entry, ConversationEntry::Card(card) if card.call == *call);
        let at = match self.entries.iter().rposition(is_it) {
            Some(at) => at,
            None => {
                self.push(ConversationEntry::Card(Box::new(ToolCard::new(call.clone(), tool))));
                self.entries.len() - 1
            }
        };
        match self.entries.get_mut(at) {
            Some(ConversationEntry::Card(card)) => card,
            // The entry was added above.
            Some(_) | None => unreachable!("an entry that is a card"),
        }
    }

    fn append_delta(&mut self, id: ItemId, delta: &ItemDelta) {
        if let ItemDelta::Output(text) = delta {
            let running = self.entries.iter_mut().rev().find_map(|entry| match entry {
                ConversationEntry::Card(card) if card.item() == Some(id) => Some(card),
                _ => None,
            });
            if let Some(card) = running {
                card.append_output(text);
            }
            return;
        }
        let reply = self.reply.get_or_insert_with(|| StreamedReply::new(id));
        let entries = reply.append(delta);
        self.entries.extend(entries);
        match delta {
            ItemDelta::Call { call, tool } => {
                self.card(call, tool);
            }
            ItemDelta::Input { call, json } => self.card(call, "").append_input(json),
            ItemDelta::Preview { call, update } => self.card(call, "").apply_preview(update),
            ItemDelta::Text(_) | ItemDelta::Thinking(_) | ItemDelta::Output(_) => {}
        }
    }

    /// Notes a change of the mode. It is shown with the next entry, because a key switches through the modes.
    pub(crate) fn change_mode(&mut self, from: &str, to: &str) {
        let (from, _) = self.mode_change.take().unwrap_or_else(|| (from.into(), String::new()));
        self.mode_change = (from != to).then(|| (from, to.into()));
    }

    fn finish(&mut self, item: &Arc<Item>) {
        if matches!(item.body, Body::Mode { .. }) {
            return;
        }
        if let Some((_, mode)) = self.mode_change.take() {
            self.notice(NoticeLevel::Info, &format!("mode: {mode}"));
        }
        match &item.body {
            Body::Reply { message, .. } => {
                match self.reply.take() {
                    Some(reply) => self.entries.extend(reply.finish()),
                    None => self.entries.extend(item_entries::from_reply(item, message)),
                }
                for (call, tool) in item_entries::calls(message) {
                    self.card(call, tool).input_complete(item);
                }
            }
            Body::Result { call, tool, .. } => self.card(call, tool).finish(item),
            // The operation was reported when it completed.
            Body::Restored { .. } | Body::Summary { .. } => {}
            Body::Notice { .. } => self.end_notice = item_entries::from_item(item),
            // It arrived with a prompt, which is the reason for the turn.
            Body::Notification { .. } if self.entries.last().is_some_and(ConversationEntry::is_prompt) => {}
            _ => self.entries.extend(item_entries::from_item(item)),
        }
    }

    /// Discards the partial reply of a request that is retried.
    fn discard_reply(&mut self, id: ItemId) {
        if self.reply.as_ref().is_none_or(|reply| reply.id != id) {
            return;
        }
        self.reply = None;
        let printed = self.printed;
        let is_shown = self.entries.get(..printed).unwrap_or_default().last();
        let is_shown = is_shown
            .is_some_and(|last| matches!(last, ConversationEntry::Text(_) | ConversationEntry::Thinking { .. }));
        let mut index = 0;
        self.entries.retain(|entry| {
            index += 1;
            index <= printed
                || !matches!(entry, ConversationEntry::Text(_) | ConversationEntry::Thinking { .. })
                    && !entry.is_being_written()
        });
        if is_shown {
            self.notice(NoticeLevel::Warning, "the reply above was cut off and is discarded");
        }
    }

    fn add_subtask_progress(&mut self, call: &CallId, event: &Event) {
        if let Some(line) = descriptions::subtask_progress(event) {
            self.card(call, "").add_progress(line);
        }
    }

    fn end_turn(&mut self, ending: &TurnEnd) {
        if let Some(reply) = self.reply.take() {
            self.entries.extend(reply.finish());
        }
        for entry in self.entries.iter_mut().skip(self.printed) {
            if let ConversationEntry::Card(card) = entry {
                card.interrupt();
            }
        }
        let closing = self.end_notice.take();
        match descriptions::turn_end(ending) {
            Some((level, text)) => self.notice(level, &text),
            None => self.entries.extend(closing),
        }
    }
}

/// An error without its causes if they are long; the last attempt reports all of it.
fn short_error(error: &str) -> &str {
    match error.split_once(": ") {
        Some((what, _)) if error.chars().count() > MAX_RETRY_ERROR => what,
        Some(_) | None => error,
    }
}

/// The rendering context for entries.
pub(crate) fn render_context<'a>(cx: &ViewContext<'a>) -> RenderContext<'a> {
    RenderContext {
        theme: cx.theme,
        backend: &**cx.backend,
        keys: cx.keys,
        root: &cx.state.info.root,
    }
}
