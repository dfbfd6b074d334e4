//! Draws the composer: its mark, the text, the completion list, and what waits.

use super::Composer;
use super::layout::{Shown, pieces};
use crate::keys::Deed;
use crate::row::Row;
use crate::view::Cx;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use session::Delivery;

/// The most rows of text that are shown at once.
const MOST: u16 = 12;
/// The most queued prompts that are shown.
const QUEUED: usize = 3;
/// The columns before the text.
const MARGIN: u16 = 2;

impl Composer {
    /// How many rows it would like, completion included; at least 1.
    pub(crate) fn rows(&mut self, width: u16, cx: &Cx<'_>) -> u16 {
        let text = self.editor.fit(text_width(width)).rows().len();
        let text = u16::try_from(text).unwrap_or(u16::MAX).clamp(1, MOST);
        let below = u16::from(self.search.is_some()) + self.popup.as_ref().map_or(0, |popup| popup.rows());
        text + below + u16::try_from(self.above(cx).len()).unwrap_or(0)
    }

    /// Draws itself; the answer is where the caret stands.
    pub(crate) fn draw(&mut self, area: Rect, buf: &mut Buffer, cx: &Cx<'_>) -> Option<Position> {
        if area.height == 0 || area.width <= MARGIN {
            return None;
        }
        let above = self.above(cx);
        // The line that is written in comes first, whatever else there is room for.
        let room = area
            .height
            .saturating_sub(1)
            .min(u16::try_from(above.len()).unwrap_or(0));
        let skip = above.len() - usize::from(room);
        for (row, y) in above.into_iter().skip(skip).zip(area.y..) {
            row.cut(area.width.into()).draw(area.x, y, area.width, buf);
        }
        let area = Rect::new(area.x, area.y + room, area.width, area.height - room);
        let below = u16::from(self.search.is_some()) + self.popup.as_ref().map_or(0, |popup| popup.rows());
        let below = below.min(area.height - 1);
        let text = Rect::new(area.x, area.y, area.width, area.height - below);
        let caret = self.draw_text(text, buf, cx);
        let list = Rect::new(area.x, text.bottom(), area.width, below);
        if let Some(search) = &self.search {
            let found = if self.history.find(search).is_some() {
                ""
            } else {
                "  nothing found"
            };
            let row = Row::of("search ", cx.theme.dim)
                .and(&search.query, cx.theme.strong)
                .and(found, cx.theme.warn);
            row.and(
                format!("   {} earlier · esc back", cx.keys.hint(Deed::HistorySearch)),
                cx.theme.dim,
            )
            .cut(list.width.into())
            .draw(list.x, list.y, list.width, buf);
        } else if let Some(popup) = &mut self.popup {
            popup.draw(list, buf, cx.theme);
        }
        Some(caret)
    }

    /// Rows above the text: what is queued, and what goes with the next prompt.
    fn above(&self, cx: &Cx<'_>) -> Vec<Row> {
        let mut rows = Vec::new();
        let queued: Vec<_> = cx
            .state
            .queue
            .iter()
            .filter(|queued| queued.delivery == Delivery::Queue)
            .collect();
        for queued in queued.iter().take(QUEUED) {
            let text = queued.message.text();
            let line = text.lines().next().unwrap_or_default().to_owned();
            rows.push(Row::of("↳ queued  ", cx.theme.dim).and(crate::row::tame(&line), cx.theme.text));
        }
        if queued.len() > QUEUED {
            rows.push(Row::of(format!("  and {} more", queued.len() - QUEUED), cx.theme.dim));
        }
        if let (Some(last), true) = (rows.last_mut(), self.is_empty()) {
            *last = std::mem::take(last).and(format!("  ({} edits it)", cx.keys.hint(Deed::Up)), cx.theme.dim);
        }
        for (line, _) in &self.shells {
            rows.push(Row::of(format!("! {line}  running"), cx.theme.dim));
        }
        for line in self.carried.iter().filter_map(|ran| session::ran_line(ran)) {
            rows.push(Row::of(
                format!("↳ with your next prompt: what `{line}` printed"),
                cx.theme.dim,
            ));
        }
        rows
    }

    fn draw_text(&mut self, area: Rect, buf: &mut Buffer, cx: &Cx<'_>) -> Position {
        let theme = cx.theme;
        let layout = self.editor.fit(text_width(area.width));
        let text = self.editor.as_str();
        let style = if text.starts_with('!') {
            theme.warn
        } else {
            theme.accent
        };
        Row::of("›", style).draw(area.x, area.y, MARGIN, buf);
        let (row, column) = layout.place(text, &self.editor.chips, self.editor.text().caret());
        let height = usize::from(area.height);
        self.scroll = self.scroll.min(row).max((row + 1).saturating_sub(height));
        self.scroll = self.scroll.min(layout.rows().len().saturating_sub(height));
        let x = area.x + MARGIN;
        let right = area.right();
        let chosen = self.vim.as_ref().and_then(|vim| vim.selected(&self.editor));
        for (range, y) in layout.rows().iter().skip(self.scroll).zip(area.top()..area.bottom()) {
            for piece in pieces(&text[range.clone()], range.start, &self.editor.chips) {
                let at = x.saturating_add(piece.column);
                if at >= right {
                    break;
                }
                let room = usize::from(right - at);
                let is_chosen = chosen.as_ref().is_some_and(|chosen| chosen.contains(&piece.at));
                let text = if is_chosen { theme.text.reversed() } else { theme.text };
                match piece.shown {
                    Shown::Text(shown) => buf.set_stringn(at, y, shown, room, text),
                    Shown::Chip(label) => buf.set_stringn(at, y, label, room, theme.chip),
                    Shown::Blank => (at, y),
                };
            }
        }
        if text.is_empty() {
            let hint = match (cx.state.asked.is_empty(), cx.state.is_working()) {
                (false, _) => "one of the keys above, or your own words",
                (true, true) => "type to steer; tab queues for later",
                (true, false) => "what is to be done?   @ files   # symbols   / commands   ! shell",
            };
            Row::of(hint, theme.dim)
                .cut(usize::from(area.width - MARGIN))
                .draw(x, area.y, area.width - MARGIN, buf);
        }
        let y = area.y + u16::try_from(row - self.scroll).unwrap_or(0);
        Position::new((x + column).min(right - 1), y.min(area.bottom() - 1))
    }
}

/// One column is kept for the caret.
fn text_width(width: u16) -> u16 {
    width.saturating_sub(MARGIN + 1).max(1)
}
