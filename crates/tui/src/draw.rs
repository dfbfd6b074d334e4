//! Puts the live region together: what still changes, what waits, the question, the composer, the status line.

use crate::app::App;
use crate::row::{Row, tame};
use crate::status;
use crate::view::{Cx, Place};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect, Size};
use session::Delivery;

/// What is drawn: finished rows for the history, the region, and where the caret is.
pub(crate) struct Frame {
    pub(crate) history: Vec<Row>,
    pub(crate) buf: Buffer,
    pub(crate) caret: Option<Position>,
}

/// So many prompts that wait are shown.
const QUEUE: usize = 3;

/// Draws the live region so wide; what is finished is as wide as the terminal.
pub(crate) fn inline(app: &mut App, size: Size, width: u16) -> Frame {
    let history = finished(app, size.width);
    let App {
        house,
        state,
        theme,
        keys,
        wake,
        composer,
        views,
        approval,
        ..
    } = app;
    let cx = Cx {
        house,
        state,
        theme,
        keys,
        wake,
    };
    // One row stays free, so that the region never fills the whole terminal.
    let mut room = Room(size.height.saturating_sub(1).max(1));
    let most = room.0;
    let status = room.take(1);
    let written = composer.rows(width, &cx).clamp(1, (most / 2).max(1));
    let written = room.take(written);
    let lines = if room.0 >= 4 { room.take(2) } else { 0 };
    let view = views.last().map_or(0, |view| match view.place() {
        Place::Inline(rows) => room.take(rows),
        Place::Full => 0,
    });
    let asked = state.asked.front().zip(approval.as_ref());
    let question =
        asked.map(|(asked, approval)| approval.rows(asked, &composer.text(), width.into(), room.0.into(), &cx));
    let mut above = question.unwrap_or_default();
    room.take(above.len().try_into().unwrap_or(u16::MAX));
    let queue: Vec<Row> = queue(&cx, width).into_iter().take(room.0.into()).collect();
    room.take(queue.len().try_into().unwrap_or(u16::MAX));
    // No more than half of the terminal: rows that a narrower terminal breaks in two still fit onto it, and can be taken back.
    let most_live = room.0.saturating_sub(2).min((size.height / 2).max(8));
    let mut live = state.conversation.live(width, most_live, &cx);
    // A blank row between what was said and what is written now.
    if room.0 > 1 && (!live.is_empty() || !history.is_empty() || !state.conversation.is_empty()) {
        live.push(Row::empty());
    }
    live.append(&mut above);
    live.extend(queue);
    let top = u16::try_from(live.len()).unwrap_or(u16::MAX);
    let height = top + view + lines + written + status;
    let mut buf = Buffer::empty(Rect::new(0, 0, width, height));
    for (row, y) in live.iter().zip(0..) {
        row.draw(0, y, width, &mut buf);
    }
    let mut y = top;
    let mut caret = None;
    if let Some(shown) = views.last_mut().filter(|_| view > 0) {
        caret = shown.draw(Rect::new(0, y, width, view), &mut buf, &cx);
    }
    y += view;
    if lines == 2 {
        let line = Row::of("─".repeat(width.into()), theme.border);
        line.draw(0, y, width, &mut buf);
        line.draw(0, y + 1 + written, width, &mut buf);
        y += 1;
    }
    let area = Rect::new(0, y, width, written);
    let at = composer.draw(area, &mut buf, &cx);
    caret = caret.or(at);
    if status > 0 {
        status::row(&cx, app.composer.badge(), width).draw(0, height - 1, width, &mut buf);
    }
    Frame { history, buf, caret }
}

/// Rows that are left.
struct Room(u16);

impl Room {
    fn take(&mut self, wanted: u16) -> u16 {
        let rows = wanted.min(self.0);
        self.0 -= rows;
        rows
    }
}

/// Rows for the terminal's history.
fn finished(app: &mut App, width: u16) -> Vec<Row> {
    let mut conversation = std::mem::take(&mut app.state.conversation);
    let rows = conversation.take_finished(width, &app.cx());
    app.state.conversation = conversation;
    rows
}

/// Prompts that wait for their turn.
fn queue(cx: &Cx<'_>, width: u16) -> Vec<Row> {
    let theme = cx.theme;
    let row = |queued: &crate::state::Queued| {
        let word = match (cx.state.session.is_some(), queued.delivery) {
            (false, _) => "waits for the session",
            (true, Delivery::Steer) => "joins at the next step",
            (true, Delivery::Queue) => "queued",
            (true, Delivery::Interrupt) => "next",
        };
        let text = tame(&queued.message.text()).replace('\n', " ");
        Row::of("⧗ ", theme.dim)
            .and(text, theme.quiet)
            .cut(usize::from(width).saturating_sub(26))
            .and(format!("  {word}"), theme.dim)
    };
    // A prompt that starts a turn is on its way, not waiting; what is queued for later stands above the composer.
    let waiting = cx.state.queue.iter().filter(|queued| match cx.state.session {
        Some(_) => cx.state.is_working() && queued.delivery != Delivery::Queue,
        None => true,
    });
    let mut rows: Vec<Row> = waiting.clone().take(QUEUE).map(row).collect();
    let more = waiting.count().saturating_sub(QUEUE);
    if more > 0 {
        rows.push(Row::of(format!("⧗ {more} more"), theme.dim));
    }
    rows
}

/// Draws the view that has a screen of its own.
pub(crate) fn full(app: &mut App, size: Size) -> Option<Frame> {
    let App {
        house,
        state,
        theme,
        keys,
        wake,
        views,
        ..
    } = app;
    let view = views.last_mut().filter(|view| view.place() == Place::Full)?;
    let cx = Cx {
        house,
        state,
        theme,
        keys,
        wake,
    };
    let area = Rect::new(0, 0, size.width, size.height);
    let mut buf = Buffer::empty(area);
    let caret = view.draw(area, &mut buf, &cx);
    Some(Frame {
        history: Vec::new(),
        buf,
        caret,
    })
}
