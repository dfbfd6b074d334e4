//! Puts the live region together: what still changes, the question, the composer, the status line.

use crate::app::App;
use crate::row::Row;
use crate::status;
use crate::view::{Cx, Place};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect, Size};

/// What is drawn: finished rows for the history, the region, and where the caret is.
pub(crate) struct Frame {
    pub(crate) history: Vec<Row>,
    pub(crate) buf: Buffer,
    pub(crate) caret: Option<Position>,
}

/// Draws the live region.
pub(crate) fn inline(app: &mut App, size: Size) -> Frame {
    let width = size.width;
    let App {
        house,
        state,
        theme,
        keys,
        wake,
        composer,
        views,
        ..
    } = app;
    let history = {
        let mut conversation = std::mem::take(&mut state.conversation);
        let cx = Cx {
            house,
            state,
            theme,
            keys,
            wake,
        };
        let rows = conversation.take_finished(width, &cx);
        state.conversation = conversation;
        rows
    };
    let cx = Cx {
        house,
        state,
        theme,
        keys,
        wake,
    };
    // One row stays free, so that the region never fills the whole terminal.
    let most = size.height.saturating_sub(1).max(1);
    let mut left = most;
    let mut take = |wanted: u16| {
        let rows = wanted.min(left);
        left -= rows;
        rows
    };
    let status = take(1);
    let written = take(composer.rows(width, &cx).clamp(1, (most / 2).max(1)));
    let frame = take(2);
    let view = views.last().map_or(0, |view| match view.place() {
        Place::Inline(rows) => take(rows),
        Place::Full => 0,
    });
    let live = state.conversation.live(width, left, &cx);
    let live_rows = u16::try_from(live.len()).unwrap_or(u16::MAX).min(left);
    let height = live_rows + view + frame + written + status;
    let mut buf = Buffer::empty(Rect::new(0, 0, width, height));
    let mut y = 0;
    for row in live.iter().take(live_rows.into()) {
        row.draw(0, y, width, &mut buf);
        y += 1;
    }
    let mut caret = None;
    if let Some(shown) = views.last_mut().filter(|_| view > 0) {
        caret = shown.draw(Rect::new(0, y, width, view), &mut buf, &cx);
    }
    y += view;
    let line = Row::of("─".repeat(width.into()), theme.border);
    if frame == 2 {
        line.draw(0, y, width, &mut buf);
        line.draw(0, y + 1 + written, width, &mut buf);
        y += 1;
    }
    let area = Rect::new(0, y, width, written);
    let at = composer.draw(area, &mut buf, &cx);
    caret = caret.or(at);
    if status > 0 {
        status::row(&cx, width).draw(0, height - 1, width, &mut buf);
    }
    Frame { history, buf, caret }
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
