//! The terminal's modes and contents. Modes are restored however the front end exits.

use crate::screen::{
    AnsiEncoder, CursorRest, CursorSearch, CursorSearchResult, DrawTiming, ENTER_FULL_SCREEN, FullScreen,
    ImageProtocol, LEAVE_FULL_SCREEN, LiveRegion, QUERY_KITTY, QUERY_SIZE, Reflow,
};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Size};
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// Bracketed paste, focus reports, and the kitty keyboard protocol for ambiguous keys.
const SET_MODES: &str = "\x1b[?2004h\x1b[?1004h\x1b[>1u\x1b[>4;1m";
/// Resets the modes.
const RESET_MODES: &str = "\x1b[<u\x1b[>4;0m\x1b[?1004l\x1b[?2004l\x1b[?2026l\x1b[?7h\x1b[?25h\x1b[0m";
/// Queries the background colour. The reply to the second query shows that the first is not supported.
const QUERY_BACKGROUND: &str = "\x1b]11;?\x1b\\\x1b[c";
/// The last of the feature queries.
const QUERY_ATTRIBUTES: &str = "\x1b[c";

/// Width of the live region while the size changes.
const RESIZING_WIDTH: u16 = 40;

/// A terminal and its contents.
pub(crate) struct TerminalDisplay<W: Write> {
    out: W,
    encoder: AnsiEncoder,
    /// The image protocol to use if the terminal confirms it.
    image_protocol: ImageProtocol,
    reflow: Reflow,
    size: Size,
    live_region: LiveRegion,
    /// The alternate screen, while it is shown.
    full: Option<FullScreen>,
    /// The width when the alternate screen was entered.
    inline_width: u16,
    /// A cursor move that waits for confirmation.
    cursor_search: Option<CursorSearch>,
    /// Whether the size changed recently and may change again.
    resizing: bool,
    /// Queries whose replies are outstanding.
    queries: PendingQueries,
}

/// Queries that the terminal has not answered.
#[derive(Debug, Default)]
struct PendingQueries {
    size: usize,
    attributes: usize,
    /// Time of the last query.
    last: Option<Instant>,
}

impl<W: Write> TerminalDisplay<W> {
    pub(crate) fn new(out: W, size: Size, painter: AnsiEncoder, reflow: Reflow) -> Self {
        TerminalDisplay {
            out,
            encoder: painter,
            image_protocol: ImageProtocol::None,
            reflow,
            size,
            live_region: LiveRegion::default(),
            full: None,
            inline_width: size.width,
            cursor_search: None,
            resizing: false,
            queries: PendingQueries::default(),
        }
    }

    /// Notes that the terminal answered a query for its size.
    pub(crate) fn size_reported(&mut self) {
        self.queries.size = self.queries.size.saturating_sub(1);
    }

    /// Notes that the terminal answered a query for its attributes, which is the last of the feature queries.
    pub(crate) fn attributes_reported(&mut self) {
        self.queries.attributes = self.queries.attributes.saturating_sub(1);
    }

    /// How long replies must still be expected; `None` if there are none.
    pub(crate) fn reply_deadline(&self, timeout: Duration) -> Option<Instant> {
        let PendingQueries { size, attributes, last } = &self.queries;
        let deadline = last.map(|last| last + timeout).filter(|_| size + attributes > 0);
        deadline.filter(|deadline| Instant::now() < *deadline)
    }

    /// Sets the modes.
    pub(crate) fn set_modes(&mut self) -> io::Result<()> {
        self.write(SET_MODES)
    }

    /// Queries the background colour and image support; replies arrive as input.
    pub(crate) fn query_features(&mut self, pictures: ImageProtocol) -> io::Result<()> {
        self.image_protocol = pictures;
        match pictures {
            ImageProtocol::None => {}
            ImageProtocol::Iterm => self.encoder.images = pictures,
            ImageProtocol::Kitty => self.write(QUERY_KITTY)?,
        }
        self.write(QUERY_BACKGROUND)
    }

    /// Enables images after the terminal confirmed kitty graphics.
    pub(crate) fn enable_images(&mut self) {
        self.encoder.images = self.image_protocol;
    }

    /// Erases the live region and resets the modes.
    pub(crate) fn reset(&mut self) -> io::Result<()> {
        let mut out = String::new();
        if self.full.take().is_some() {
            out.push_str(LEAVE_FULL_SCREEN);
        }
        if self.cursor_search.take().is_some() {
            self.live_region.wipe(&mut out);
        }
        self.live_region.clear(&mut out);
        out.push_str(RESET_MODES);
        self.write(&out)
    }

    pub(crate) fn size(&self) -> Size {
        self.size
    }

    /// The width of the live region. While the size changes, it is narrower than most terminals, because wrapped rows
    /// push others into the scrollback, where they cannot be erased.
    pub(crate) fn live_width(&self) -> u16 {
        if self.resizing {
            self.size.width.min(RESIZING_WIDTH)
        } else {
            self.size.width
        }
    }

    /// Applies a new size.
    pub(crate) fn resize(&mut self, size: Size, drawn: DrawTiming) -> io::Result<()> {
        if size == self.size {
            return Ok(());
        }
        self.size = size;
        self.resizing = true;
        if let Some(full) = &mut self.full {
            full.invalidate();
            return Ok(());
        }
        // If the cursor is already moving, the reply decides.
        if self.cursor_search.is_none() {
            let mut out = String::new();
            self.cursor_search = self
                .live_region
                .move_to_start_after_resize(size.width, self.reflow, drawn, &mut out);
            if self.cursor_search.is_none() {
                self.live_region.wipe(&mut out);
            }
            self.write(&out)?;
        }
        Ok(())
    }

    /// Handles the reported width at the time of a cursor move.
    pub(crate) fn handle_width(&mut self, width: u16) -> io::Result<()> {
        let Some(search) = self.cursor_search.take() else {
            return Ok(());
        };
        let mut out = String::new();
        match self.live_region.handle_width(search, width, &mut out) {
            CursorSearchResult::AtStart | CursorSearchResult::Lost => self.live_region.wipe(&mut out),
            CursorSearchResult::Moving(search) => self.cursor_search = Some(search),
        }
        self.write(&out)
    }

    /// Assumes the expected width if the terminal does not reply.
    pub(crate) fn assume_width(&mut self) -> io::Result<()> {
        if self.cursor_search.take().is_none() {
            return Ok(());
        }
        let mut out = String::new();
        self.live_region.wipe(&mut out);
        self.write(&out)
    }

    /// Whether nothing can be drawn until the terminal replies.
    pub(crate) fn is_cursor_moving(&self) -> bool {
        self.cursor_search.is_some()
    }

    /// Whether the cursor is at the caret, so that its distance from the start of the live region depends on the
    /// terminal's width.
    pub(crate) fn is_cursor_at_caret(&self) -> bool {
        self.full.is_none() && self.live_region.is_cursor_away()
    }

    /// Queries the width; the reply arrives as input.
    pub(crate) fn query_width(&mut self) -> io::Result<()> {
        self.write(QUERY_SIZE)
    }

    /// Marks the size as stable.
    pub(crate) fn mark_stable(&mut self) {
        self.resizing = false;
    }

    /// Whether the size changed recently.
    pub(crate) fn is_resizing(&self) -> bool {
        self.resizing
    }

    /// Draws the live region and finished rows above it.
    pub(crate) fn draw_inline(
        &mut self,
        history: &[String],
        buf: &mut Buffer,
        caret: Option<Position>,
        rest: CursorRest,
    ) -> io::Result<()> {
        let mut out = String::new();
        if self.full.take().is_some() {
            out.push_str(LEAVE_FULL_SCREEN);
            out.push_str("\x1b[?25l");
            if self.inline_width != self.size.width {
                self.live_region.wipe(&mut out);
            }
        }
        let rest = if self.resizing {
            // Rows may have moved, so changed rows cannot be written separately.
            self.live_region.invalidate();
            CursorRest::Top
        } else {
            rest
        };
        self.live_region
            .frame(history, buf, caret, rest, &self.encoder, &mut out);
        self.write(&out)
    }

    /// Draws the alternate screen.
    pub(crate) fn draw_full(&mut self, buf: &Buffer, caret: Option<Position>) -> io::Result<()> {
        let mut out = String::new();
        let painter = self.encoder;
        if self.full.is_none() {
            // The terminal keeps the cursor's position while the alternate screen is shown.
            self.live_region.move_to_start(&mut out);
            self.inline_width = self.size.width;
        }
        let full = self.full.get_or_insert_with(|| {
            out.push_str(ENTER_FULL_SCREEN);
            FullScreen::default()
        });
        full.frame(buf, caret, &painter, &mut out);
        self.write(&out)
    }

    /// Redraws everything.
    pub(crate) fn redraw(&mut self) -> io::Result<()> {
        match &mut self.full {
            Some(full) => {
                full.invalidate();
                Ok(())
            }
            None => {
                let mut out = String::new();
                self.live_region.clear(&mut out);
                self.write(&out)
            }
        }
    }

    pub(crate) fn painter(&self) -> &AnsiEncoder {
        &self.encoder
    }

    /// Writes text; nothing if it is empty.
    pub(crate) fn write(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let (size, attributes) = (text.matches(QUERY_SIZE).count(), text.matches(QUERY_ATTRIBUTES).count());
        if size + attributes > 0 {
            self.queries.size += size;
            self.queries.attributes += attributes;
            self.queries.last = Some(Instant::now());
        }
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }
}

#[cfg(test)]
impl TerminalDisplay<Vec<u8>> {
    /// All output.
    pub(crate) fn written(&self) -> &[u8] {
        &self.out
    }

    /// Takes the output since the last call.
    pub(crate) fn take_written(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Sets how the terminal treats long rows.
    pub(crate) fn reflow_as(&mut self, reflow: Reflow) {
        self.reflow = reflow;
    }
}

/// Resets the terminal without knowledge of its contents.
pub(crate) fn restore_blindly() {
    let mut out = io::stdout();
    // There is no way to report an error.
    drop(
        out.write_all(format!("{LEAVE_FULL_SCREEN}{RESET_MODES}\r\n").as_bytes())
            .and_then(|()| out.flush()),
    );
    drop(crossterm::terminal::disable_raw_mode());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_expected_until_each_query_is_answered() {
        let timeout = Duration::from_secs(60);
        let mut terminal = TerminalDisplay::new(Vec::new(), Size::new(80, 24), AnsiEncoder::default(), Reflow::Wraps);
        terminal.set_modes().unwrap();
        assert_eq!(terminal.reply_deadline(timeout), None, "setting modes is not a query");
        terminal.query_features(ImageProtocol::None).unwrap();
        terminal.query_width().unwrap();
        assert!(terminal.reply_deadline(timeout).is_some());
        terminal.size_reported();
        assert!(terminal.reply_deadline(timeout).is_some(), "the attributes are missing");
        terminal.attributes_reported();
        assert_eq!(terminal.reply_deadline(timeout), None);
        terminal.query_width().unwrap();
        assert_eq!(
            terminal.reply_deadline(Duration::ZERO),
            None,
            "a terminal may never answer"
        );
    }
}
