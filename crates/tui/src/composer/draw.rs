//! Rendering of the composer: text, completion list and queued prompts.

use super::Composer;
use super::layout::{GraphemeContent, graphemes};
use crate::keys::KeyAction;
use crate::row::StyledRow;
use crate::view::ViewContext;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use session::{Delivery, QuestionSubject};

/// Maximum visible rows of text.
const MAX_TEXT_ROWS: u16 = 12;
/// Maximum visible queued prompts.
const MAX_QUEUED: usize = 3;
/// Columns before the text.
const MARGIN: u16 = 2;

impl Composer {
    /// The number of rows that the composer needs, including the completion list; at least 1.
    pub(crate) fn rows(&mut self, width: u16, cx: &ViewContext<'_>) -> u16 {
        let text = self.editor.layout_for(text_width(width)).rows().len();
        let text = u16::try_from(text).unwrap_or(u16::MAX).clamp(1, MAX_TEXT_ROWS);
        let below = u16::from(self.search.is_some()) + self.popup.as_ref().map_or(0, |popup| popup.rows());
        text + below + u16::try_from(self.rows_above(cx).len()).unwrap_or(0)
    }

    /// Draws the composer; returns the caret position.
    pub(crate) fn draw(&mut self, area: Rect, buf: &mut Buffer, cx: &ViewContext<'_>) -> Option<Position> {
        if area.height == 0 || area.width <= MARGIN {
            return None;
        }
        let above = self.rows_above(cx);
        // The text has priority over the rows above it.
        let room = area
            .height
            .saturating_sub(1)
            .min(u16::try_from(above.len()).unwrap_or(0));
        let skip = above.len() - usize::from(room);
        for (row, y) in above.into_iter().skip(skip).zip(area.y..) {
            row.truncate(area.width.into()).draw(area.x, y, area.width, buf);
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
                "  no match"
            };
            let row = StyledRow::new("search ", cx.theme.dim)
                .push(&search.query, cx.theme.strong)
                .push(found, cx.theme.warn);
            row.push(
                format!("   {} older · esc cancel", cx.keys.hint(KeyAction::HistorySearch)),
                cx.theme.dim,
            )
            .truncate(list.width.into())
            .draw(list.x, list.y, list.width, buf);
        } else if let Some(popup) = &mut self.popup {
            popup.draw(list, buf, cx.theme);
        }
        Some(caret)
    }

    /// Rows above the text: queued prompts and output attached to the next prompt.
    fn rows_above(&self, cx: &ViewContext<'_>) -> Vec<StyledRow> {
        let mut rows = Vec::new();
        let queued: Vec<_> = cx
            .state
            .queue
            .iter()
            .filter(|queued| queued.delivery == Delivery::Queue)
            .collect();
        for queued in queued.iter().take(MAX_QUEUED) {
            let text = queued.message.text();
            let line = text.lines().next().unwrap_or_default().to_owned();
            rows.push(StyledRow::new("↳ queued  ", cx.theme.dim).push(crate::row::sanitise(&line), cx.theme.text));
        }
        if queued.len() > MAX_QUEUED {
            rows.push(StyledRow::new(
                format!("  and {} more", queued.len() - MAX_QUEUED),
                cx.theme.dim,
            ));
        }
        if let (Some(last), true) = (rows.last_mut(), self.is_empty()) {
            *last = std::mem::take(last).push(format!("  ({} to edit)", cx.keys.hint(KeyAction::Up)), cx.theme.dim);
        }
        for (line, _) in &self.running_shells {
            rows.push(StyledRow::new(format!("! {line}  running"), cx.theme.dim));
        }
        for line in self.shell_outputs.iter().filter_map(|ran| session::shell_command(ran)) {
            rows.push(StyledRow::new(
                format!("↳ attached to your next prompt: output of `{line}`"),
                cx.theme.dim,
            ));
        }
        rows
    }

    fn draw_text(&mut self, area: Rect, buf: &mut Buffer, cx: &ViewContext<'_>) -> Position {
        let theme = cx.theme;
        let layout = self.editor.layout_for(text_width(area.width));
        let text = self.editor.as_str();
        let style = if text.starts_with('!') {
            theme.warn
        } else {
            theme.accent
        };
        StyledRow::new("›", style).draw(area.x, area.y, MARGIN, buf);
        let (row, column) = layout.position(text, &self.editor.attachments, self.editor.text().caret());
        let height = usize::from(area.height);
        self.scroll = self.scroll.min(row).max((row + 1).saturating_sub(height));
        self.scroll = self.scroll.min(layout.rows().len().saturating_sub(height));
        let x = area.x + MARGIN;
        let right = area.right();
        let chosen = self.vim.as_ref().and_then(|vim| vim.selected(&self.editor));
        for (range, y) in layout.rows().iter().skip(self.scroll).zip(area.top()..area.bottom()) {
            for piece in graphemes(&text[range.clone()], range.start, &self.editor.attachments) {
                let at = x.saturating_add(piece.column);
                if at >= right {
                    break;
                }
                let room = usize::from(right - at);
                let is_chosen = chosen.as_ref().is_some_and(|chosen| chosen.contains(&piece.at));
                let text = if is_chosen { theme.text.reversed() } else { theme.text };
                match piece.content {
                    GraphemeContent::Text(shown) => buf.set_stringn(at, y, shown, room, text),
                    GraphemeContent::Attachment(label) => buf.set_stringn(at, y, label, room, theme.chip),
                    GraphemeContent::Blank => (at, y),
                };
            }
        }
        if text.is_empty() {
            let hint = match (cx.state.questions.front(), cx.state.is_working()) {
                (Some(pending), _) => match pending.question.subject {
                    QuestionSubject::Permission { .. } => "choose above, or type what to do instead",
                    QuestionSubject::Inquiry { .. } => "choose above, or type your own answer",
                },
                (None, true) => "type to steer the turn; tab to queue",
                (None, false) => "Describe a task, or press / for commands   @ files   # symbols   ! shell",
            };
            StyledRow::new(hint, theme.dim)
                .truncate(usize::from(area.width - MARGIN))
                .draw(x, area.y, area.width - MARGIN, buf);
        }
        let y = area.y + u16::try_from(row - self.scroll).unwrap_or(0);
        Position::new((x + column).min(right - 1), y.min(area.bottom() - 1))
    }
}

/// One column is reserved for the caret.
fn text_width(width: u16) -> u16 {
    width.saturating_sub(MARGIN + 1).max(1)
}
