//! Composes the live region: streaming entries, queued prompts, approval prompt, composer and status line.

use crate::app::App;
use crate::row::{StyledRow, sanitise};
use crate::status;
use crate::view::{ViewContext, ViewPlacement};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect, Size};
use session::Delivery;

/// A frame: finished rows for the scrollback, the live region, and the caret.
pub(crate) struct AppFrame {
    pub(crate) history: Vec<StyledRow>,
    pub(crate) buf: Buffer,
    pub(crate) caret: Option<Position>,
}

/// Maximum visible waiting prompts.
const MAX_QUEUED: usize = 3;

/// Draws the live region with this width; finished rows use the terminal's width.
pub(crate) fn draw_inline(app: &mut App, size: Size, width: u16) -> AppFrame {
    let history = finished_rows(app, size.width);
    let App {
        backend,
        state,
        theme,
        keys,
        redraw,
        composer,
        views,
        approval,
        ..
    } = app;
    let cx = ViewContext {
        backend,
        state,
        theme,
        keys,
        redraw,
    };
    // One row stays free, so that the region never fills the terminal.
    let mut room = RowBudget(size.height.saturating_sub(1).max(1));
    let most = room.0;
    let status = room.take(1);
    let written = composer.rows(width, &cx).clamp(1, (most / 2).max(1));
    let written = room.take(written);
    let lines = if room.0 >= 4 { room.take(2) } else { 0 };
    let view = views.last().map_or(0, |view| match view.placement() {
        ViewPlacement::Inline(rows) => room.take(rows),
        ViewPlacement::Full => 0,
    });
    let pending = state.questions.front().zip(approval.as_ref());
    let question =
        pending.map(|(pending, approval)| approval.rows(pending, &composer.text(), width.into(), room.0.into(), &cx));
    let mut above = question.unwrap_or_default();
    room.take(above.len().try_into().unwrap_or(u16::MAX));
    let message = status::long_message(&cx, width);
    let message: Vec<StyledRow> = message.into_iter().take(room.0.into()).collect();
    let noted = room.take(message.len().try_into().unwrap_or(u16::MAX));
    let queue: Vec<StyledRow> = queue_rows(&cx, width).into_iter().take(room.0.into()).collect();
    room.take(queue.len().try_into().unwrap_or(u16::MAX));
    // At most half of the terminal: if it becomes narrower, wrapped rows still fit and can be erased.
    let most_live = room.0.saturating_sub(2).min((size.height / 2).max(8));
    let mut live = state.conversation.live(width, most_live, &cx);
    // A blank row between the conversation and the composer.
    if room.0 > 1 && (!live.is_empty() || !history.is_empty() || !state.conversation.is_empty()) {
        live.push(StyledRow::empty());
    }
    live.append(&mut above);
    live.extend(queue);
    let top = u16::try_from(live.len()).unwrap_or(u16::MAX);
    let height = top + view + lines + written + noted + status;
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
        let line = StyledRow::new("─".repeat(width.into()), theme.border);
        line.draw(0, y, width, &mut buf);
        line.draw(0, y + 1 + written, width, &mut buf);
        y += 1;
    }
    let area = Rect::new(0, y, width, written);
    let at = composer.draw(area, &mut buf, &cx);
    caret = caret.or(at);
    for (row, y) in message.iter().zip(y + written + u16::from(lines == 2)..) {
        row.draw(0, y, width, &mut buf);
    }
    if status > 0 {
        status::row(&cx, app.composer.badge(), width).draw(0, height - 1, width, &mut buf);
    }
    AppFrame { history, buf, caret }
}

/// Remaining rows.
struct RowBudget(u16);

impl RowBudget {
    fn take(&mut self, requested: u16) -> u16 {
        let rows = requested.min(self.0);
        self.0 -= rows;
        rows
    }
}

/// Finished rows for the scrollback.
fn finished_rows(app: &mut App, width: u16) -> Vec<StyledRow> {
    let mut conversation = std::mem::take(&mut app.state.conversation);
    let rows = conversation.take_finished(width, &app.cx());
    app.state.conversation = conversation;
    rows
}

/// Rows for prompts that wait for delivery.
fn queue_rows(cx: &ViewContext<'_>, width: u16) -> Vec<StyledRow> {
    let theme = cx.theme;
    let row = |queued: &crate::state::WaitingPrompt| {
        let word = match (cx.state.session.is_some(), queued.delivery) {
            (false, _) => "waiting for the session",
            (true, Delivery::Steer) => "joins at the next step",
            (true, Delivery::Queue) => "queued",
            (true, Delivery::Interrupt) => "next",
        };
        let text = sanitise(&queued.message.text()).replace('\n', " ");
        StyledRow::new("⧗ ", theme.dim)
            .push(text, theme.quiet)
            .truncate(usize::from(width).saturating_sub(26))
            .push(format!("  {word}"), theme.dim)
    };
    // A prompt that starts a turn is being delivered; queued prompts are shown by the composer.
    let waiting = cx.state.queue.iter().filter(|queued| match cx.state.session {
        Some(_) => cx.state.is_working() && queued.delivery != Delivery::Queue,
        None => true,
    });
    let mut rows: Vec<StyledRow> = waiting.clone().take(MAX_QUEUED).map(row).collect();
    let more = waiting.count().saturating_sub(MAX_QUEUED);
    if more > 0 {
        rows.push(StyledRow::new(format!("⧗ {more} more"), theme.dim));
    }
    rows
}

/// Draws the approval prompt on the whole screen, with the composer and the status line below.
fn draw_full_approval(app: &mut App, size: Size) -> Option<AppFrame> {
    let App {
        backend,
        state,
        theme,
        keys,
        redraw,
        composer,
        approval,
        ..
    } = app;
    let approval = approval.as_mut().filter(|approval| approval.is_full_screen())?;
    let pending = state.questions.front()?;
    let cx = ViewContext {
        backend,
        state,
        theme,
        keys,
        redraw,
    };
    let Size { width, height } = size;
    let written = composer.rows(width, &cx).clamp(1, (height / 4).max(1));
    let room = height.saturating_sub(written + 2);
    let mut buf = Buffer::empty(Rect::new(0, 0, width, height));
    let rows = approval.full_rows(pending, &composer.text(), width.into(), room.into(), &cx);
    for (row, y) in rows.iter().zip(0..room) {
        row.draw(0, y, width, &mut buf);
    }
    StyledRow::new("─".repeat(width.into()), theme.border).draw(0, room, width, &mut buf);
    let caret = composer.draw(Rect::new(0, room + 1, width, written), &mut buf, &cx);
    let message = status::long_message(&cx, width).into_iter().next();
    let last = message.unwrap_or_else(|| status::row(&cx, composer.badge(), width));
    last.draw(0, height.saturating_sub(1), width, &mut buf);
    Some(AppFrame {
        history: Vec::new(),
        buf,
        caret,
    })
}

/// Draws a full-screen view.
pub(crate) fn draw_full(app: &mut App, size: Size) -> Option<AppFrame> {
    if app.views.is_empty() && size.height >= 8 {
        return draw_full_approval(app, size);
    }
    let App {
        backend,
        state,
        theme,
        keys,
        redraw,
        views,
        ..
    } = app;
    let view = views
        .last_mut()
        .filter(|view| view.placement() == ViewPlacement::Full)?;
    let cx = ViewContext {
        backend,
        state,
        theme,
        keys,
        redraw,
    };
    let area = Rect::new(0, 0, size.width, size.height);
    let mut buf = Buffer::empty(area);
    let caret = view.draw(area, &mut buf, &cx);
    Some(AppFrame {
        history: Vec::new(),
        buf,
        caret,
    })
}
