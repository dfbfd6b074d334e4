//! What was said and done, in order: finished entries go to the terminal's history, the others are drawn live.

use crate::row::{Row, tame, wrap};
use crate::view::Cx;
use session::{Event, Item, Level};
use std::sync::Arc;

/// What was said and done.
#[derive(Default)]
pub(crate) struct Conversation {
    notices: Vec<(Level, String)>,
    printed: usize,
}

impl Conversation {
    /// Shows what happened before.
    pub(crate) fn restore(&mut self, items: &[Arc<Item>]) {
        let _ = items;
    }

    /// Something happened.
    pub(crate) fn hear(&mut self, event: &Event) {
        if let Event::Notice { level, text } = event {
            self.notice(*level, text);
        }
    }

    /// Something that the person should know.
    pub(crate) fn notice(&mut self, level: Level, text: &str) {
        self.notices.push((level, tame(text)));
    }

    /// Rows that are finished and were not asked for yet.
    pub(crate) fn take_finished(&mut self, width: u16, cx: &Cx<'_>) -> Vec<Row> {
        let new = self.notices.get(self.printed..).unwrap_or_default();
        self.printed += new.len();
        let rows = new
            .iter()
            .map(|(_, text)| Row::of(text.replace('\n', " "), cx.theme.warn));
        rows.flat_map(|row| wrap(&row, width.into(), &Row::empty())).collect()
    }

    /// Rows that still change.
    pub(crate) fn live(&self, width: u16, most: u16, cx: &Cx<'_>) -> Vec<Row> {
        let _ = (width, most, cx);
        Vec::new()
    }
}
