//! What was said and done, in order: finished entries go to the terminal's history, the others are drawn live.

mod card;
mod entry;
mod growing;
mod past;
mod reply;
mod words;

pub(crate) use card::Card;
pub(crate) use entry::{Entry, Fold};
pub(crate) use words::{describe, took};

use crate::markdown::Look;
use crate::row::{Row, tame};
use crate::view::Cx;
use model::CallId;
use reply::Reply;
use session::{Body, Delta, Ending, Event, Item, ItemId, ItemKind, Level};
use std::sync::Arc;

#[cfg(test)]
thread_local! {
    /// How many entries were made into rows, for tests that count the work of a frame.
    pub(crate) static RENDERED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// What was said and done.
#[derive(Default)]
pub(crate) struct Conversation {
    /// Everything, in order. Entries of a reply that still streams are among them as far as they are complete.
    pub(crate) entries: Vec<Entry>,
    /// So many of them are in the terminal's history.
    printed: usize,
    /// So many entries of the past are not shown, which has to be said.
    skipped: Option<usize>,
    /// The reply that streams.
    reply: Option<Reply>,
    /// What the log says about the end of the turn.
    closing: Option<Entry>,
    /// What stands above everything, until it is printed.
    heading: Option<String>,
}

impl Conversation {
    /// Shows what happened before: the last of it in the terminal's history, all of it to look back.
    pub(crate) fn restore(&mut self, items: &[Arc<Item>]) {
        self.entries = past::entries(items);
        self.printed = past::skipped(&self.entries);
        self.skipped = (self.printed > 0).then_some(self.printed);
    }

    /// All of the past stands in the terminal's history already.
    pub(crate) fn is_shown(&mut self) {
        self.printed = self.entries.len();
        self.skipped = None;
    }

    /// A new session begins in this folder, with a line that says so.
    pub(crate) fn begin(&mut self, folder: &str) {
        self.heading = Some(folder.to_owned());
    }

    /// Something that the person should know.
    pub(crate) fn notice(&mut self, level: Level, text: &str) {
        self.push(Entry::Notice(level, text.into()));
    }

    /// Something happened.
    pub(crate) fn hear(&mut self, event: &Event) {
        // What the log says about the end of a turn is for the model; people are told in the same moment, in other words.
        if !matches!(event, Event::TurnFinished { .. }) {
            self.entries.extend(self.closing.take());
        }
        match event {
            Event::ItemStarted { id, kind } => match kind {
                ItemKind::Reply => self.reply = Some(Reply::new(*id)),
                ItemKind::Result { call, tool, title } => self.card(call, tool).start(*id, tool, title),
            },
            Event::ItemDelta { id, delta } => self.grow(*id, delta),
            Event::ItemFinished { item } => self.finish(item),
            Event::ItemDropped { id } => self.drop(*id),
            Event::Notice { level, text } => self.notice(*level, text),
            // The status line counts the attempts; here it is said once.
            Event::Retrying { error, .. } => {
                let text = format!("{error}; it is tried again");
                let is_said = matches!(self.entries.last(), Some(Entry::Notice(_, last)) if *last == text);
                if !is_said {
                    self.notice(Level::Warning, &text);
                }
            }
            Event::Subtask { call, event, .. } => self.hear_below(call, event),
            Event::TurnFinished { ending, .. } => self.end(ending),
            Event::TurnStarted
            | Event::Asked { .. }
            | Event::Answered { .. }
            | Event::Usage { .. }
            | Event::Titled { .. } => {}
        }
    }

    /// Rows that are finished and were not asked for yet.
    pub(crate) fn take_finished(&mut self, width: u16, cx: &Cx<'_>) -> Vec<Row> {
        let mut rows = Vec::new();
        if let Some(heading) = self.heading.take() {
            let row = Row::of("hew ", cx.theme.strong).and(env!("CARGO_PKG_VERSION"), cx.theme.dim);
            rows.push(row.and(format!("  {}", tame(&heading)), cx.theme.dim).cut(width.into()));
            rows.push(Row::empty());
        }
        if let Some(count) = self.skipped.take() {
            rows.push(Row::of(
                format!("· {count} earlier entries: ctrl+t looks back"),
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
                rows.push(Row::empty());
            }
            rows.extend(entry.rows(width.into(), Fold::Compact, look(cx)));
            self.printed += 1;
        }
        rows
    }

    /// Rows that still change, at most so many: the newest.
    pub(crate) fn live(&self, width: u16, most: u16, cx: &Cx<'_>) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        let mut last = self.printed.checked_sub(1).and_then(|last| self.entries.get(last));
        for entry in self.entries.get(self.printed..).unwrap_or_default() {
            if last.is_some_and(|last| entry.wants_gap_after(last)) {
                rows.push(Row::empty());
            }
            rows.extend(entry.rows(width.into(), Fold::Compact, look(cx)));
            if let Entry::Card(card) = entry {
                rows.extend(card.growing_rows(width.into(), cx));
            }
            last = Some(entry);
        }
        if let Some(entry) = self.reply.as_ref().and_then(|reply| reply.growing()) {
            if last.is_some_and(|last| entry.wants_gap_after(last)) {
                rows.push(Row::empty());
            }
            rows.extend(entry.rows(width.into(), Fold::Compact, look(cx)));
        }
        let excess = rows.len().saturating_sub(most.into());
        rows.drain(..excess);
        rows
    }

    /// What the model said last, since the last prompt or call.
    pub(crate) fn last_reply(&self) -> String {
        let is_reply = |entry: &&Entry| matches!(entry, Entry::Text(_) | Entry::Part(..));
        let from_last = self.entries.iter().rev().skip_while(|entry| !is_reply(entry));
        let mut parts: Vec<String> = from_last.take_while(is_reply).map(Entry::copied).collect();
        parts.reverse();
        parts.join("\n\n")
    }

    /// Whether anything has been said.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.reply.is_none()
    }

    /// Whether anything was said in it, or done: notices alone are for the person, and nobody keeps them.
    pub(crate) fn was_said(&self) -> bool {
        let is_kept = |entry: &Entry| !matches!(entry, Entry::Notice(..));
        self.reply.is_some() || self.entries.iter().any(is_kept)
    }

    /// The card of a call that has not been printed.
    pub(crate) fn card_of(&self, call: &CallId) -> Option<&Card> {
        self.entries.iter().rev().find_map(|entry| match entry {
            Entry::Card(card) if card.call == *call => Some(&**card),
            _ => None,
        })
    }

    /// The person has answered what a call asked: it begins to work now.
    pub(crate) fn answered(&mut self, call: &CallId) {
        let found = self.entries.iter_mut().rev().find_map(|entry| match entry {
            Entry::Card(card) if card.call == *call => Some(card),
            _ => None,
        });
        if let Some(card) = found {
            card.answered();
        }
    }

    fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// The card of a call; a new one where there is none.
    fn card(&mut self, call: &CallId, tool: &str) -> &mut Card {
        let is_it = |entry: &Entry| matches!(entry, Entry::Card(card) if card.call == *call);
        let at = match self.entries.iter().rposition(is_it) {
            Some(at) => at,
            None => {
                self.push(Entry::Card(Box::new(Card::new(call.clone(), tool))));
                self.entries.len() - 1
            }
        };
        match self.entries.get_mut(at) {
            Some(Entry::Card(card)) => card,
            // It was put there a moment ago.
            Some(_) | None => unreachable!("an entry that is a card"),
        }
    }

    fn grow(&mut self, id: ItemId, delta: &Delta) {
        if let Delta::Output(text) = delta {
            let running = self.entries.iter_mut().rev().find_map(|entry| match entry {
                Entry::Card(card) if card.item() == Some(id) => Some(card),
                _ => None,
            });
            if let Some(card) = running {
                card.print(text);
            }
            return;
        }
        let reply = self.reply.get_or_insert_with(|| Reply::new(id));
        let entries = reply.take(delta);
        self.entries.extend(entries);
        match delta {
            Delta::Call { call, tool } => {
                self.card(call, tool);
            }
            Delta::Input { call, json } => self.card(call, "").write(json),
            Delta::Preview { call, glimpse } => self.card(call, "").glimpse(glimpse),
            Delta::Text(_) | Delta::Thinking(_) | Delta::Output(_) => {}
        }
    }

    fn finish(&mut self, item: &Arc<Item>) {
        match &item.body {
            Body::Reply { message, .. } => {
                match self.reply.take() {
                    Some(reply) => self.entries.extend(reply.finish()),
                    None => self.entries.extend(past::reply(item, message)),
                }
                for (call, tool) in past::calls(message) {
                    self.card(call, tool).written(item);
                }
            }
            Body::Result { call, tool, .. } => self.card(call, tool).finish(item),
            Body::Notice { .. } => self.closing = past::entry(item),
            Body::Prompt { .. }
            | Body::Summary { .. }
            | Body::Wake { .. }
            | Body::Mode { .. }
            | Body::Todos { .. }
            | Body::Review { .. }
            | Body::Panels { .. }
            | Body::Restored { .. } => self.entries.extend(past::entry(item)),
        }
    }

    /// A request is sent again: what it had brought so far does not count.
    fn drop(&mut self, id: ItemId) {
        if self.reply.as_ref().is_none_or(|reply| reply.id != id) {
            return;
        }
        self.reply = None;
        let printed = self.printed;
        let mut index = 0;
        self.entries.retain(|entry| {
            index += 1;
            index <= printed || !matches!(entry, Entry::Text(_) | Entry::Thinking { .. }) && !entry.is_written_only()
        });
    }

    fn hear_below(&mut self, call: &CallId, event: &Event) {
        if let Some(line) = words::below(event) {
            self.card(call, "").progress(line);
        }
    }

    fn end(&mut self, ending: &Ending) {
        if let Some(reply) = self.reply.take() {
            self.entries.extend(reply.finish());
        }
        for entry in self.entries.iter_mut().skip(self.printed) {
            if let Entry::Card(card) = entry {
                card.stop();
            }
        }
        let closing = self.closing.take();
        match words::ending(ending) {
            Some((level, text)) => self.notice(level, &text),
            None => self.entries.extend(closing),
        }
    }
}

/// How entries are made to look.
pub(crate) fn look<'a>(cx: &Cx<'a>) -> Look<'a> {
    Look {
        theme: cx.theme,
        house: &**cx.house,
    }
}
