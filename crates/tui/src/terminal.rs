//! The terminal: what is set when the front end begins is put back when it ends, however it ends.

use crate::screen::{
    ASK_KITTY, Drawn, ENTER, Found, Full, HOW_WIDE, Inline, LEAVE, Painter, Pictures, Reflow, Rest, Search,
};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Size};
use std::io::{self, Write};

/// Bracketed paste, focus reports, and keys as kitty writes them (only where they would otherwise be ambiguous).
const SET: &str = "\x1b[?2004h\x1b[?1004h\x1b[>1u\x1b[>4;1m";
/// The same put back.
const RESET: &str = "\x1b[<u\x1b[>4;0m\x1b[?1004l\x1b[?2004l\x1b[?2026l\x1b[?7h\x1b[?25h\x1b[0m";
/// Which colour is behind the text? The answer to the second question says that there is none to the first.
const ASK: &str = "\x1b]11;?\x1b\\\x1b[c";

/// How wide the live region is while the size changes.
const NARROW: u16 = 40;

/// A terminal and what stands on it.
pub(crate) struct Terminal<W: Write> {
    out: W,
    painter: Painter,
    /// How it may show images.
    pictures: Pictures,
    reflow: Reflow,
    size: Size,
    inline: Inline,
    /// The screen beside the history, while it is shown.
    full: Option<Full>,
    /// The history's width when the other screen was opened.
    width: u16,
    /// The cursor is on its way to the beginning of the live region.
    search: Option<Search>,
    /// Whether the size changed a moment ago and may change again.
    unsettled: bool,
}

impl<W: Write> Terminal<W> {
    /// A terminal of this size.
    pub(crate) fn new(out: W, size: Size, painter: Painter, reflow: Reflow) -> Self {
        Terminal {
            out,
            painter,
            pictures: Pictures::None,
            reflow,
            size,
            inline: Inline::default(),
            full: None,
            width: size.width,
            search: None,
            unsettled: false,
        }
    }

    /// Begins to use it.
    pub(crate) fn set(&mut self) -> io::Result<()> {
        self.write(SET)
    }

    /// Asks what it looks like, and whether it shows images; the answers come as input.
    pub(crate) fn ask(&mut self, pictures: Pictures) -> io::Result<()> {
        self.pictures = pictures;
        match pictures {
            Pictures::None => {}
            Pictures::Iterm => self.painter.pictures = pictures,
            Pictures::Kitty => self.write(ASK_KITTY)?,
        }
        self.write(ASK)
    }

    /// It says that it knows kitty's graphics.
    pub(crate) fn shows_pictures(&mut self) {
        self.painter.pictures = self.pictures;
    }

    /// Takes the live region off and puts everything back.
    pub(crate) fn reset(&mut self) -> io::Result<()> {
        let mut out = String::new();
        if self.full.take().is_some() {
            out.push_str(LEAVE);
        }
        if self.search.take().is_some() {
            self.inline.wipe(&mut out);
        }
        self.inline.clear(&mut out);
        out.push_str(RESET);
        self.write(&out)
    }

    /// Its size.
    pub(crate) fn size(&self) -> Size {
        self.size
    }

    /// How wide the live region is drawn. While the size changes it is as narrow as terminals hardly become: rows that are
    /// broken push others into the history, from where nobody gets them back.
    pub(crate) fn live_width(&self) -> u16 {
        if self.unsettled {
            self.size.width.min(NARROW)
        } else {
            self.size.width
        }
    }

    /// It has another size now.
    pub(crate) fn resize(&mut self, size: Size, drawn: Drawn) -> io::Result<()> {
        if size == self.size {
            return Ok(());
        }
        self.size = size;
        self.unsettled = true;
        if let Some(full) = &mut self.full {
            full.forget();
            return Ok(());
        }
        // Where the cursor is on its way already, the answer decides.
        if self.search.is_none() {
            let mut out = String::new();
            self.search = self.inline.seek(size.width, self.reflow, drawn, &mut out);
            if self.search.is_none() {
                self.inline.wipe(&mut out);
            }
            self.write(&out)?;
        }
        Ok(())
    }

    /// It says how wide it was when the cursor had moved.
    pub(crate) fn is_wide(&mut self, width: u16) -> io::Result<()> {
        let Some(search) = self.search.take() else {
            return Ok(());
        };
        let mut out = String::new();
        match self.inline.answer(search, width, &mut out) {
            Found::There | Found::Lost => self.inline.wipe(&mut out),
            Found::Further(search) => self.search = Some(search),
        }
        self.write(&out)
    }

    /// It says nothing: some do not. What was believed is taken for true.
    pub(crate) fn is_silent(&mut self) -> io::Result<()> {
        if self.search.take().is_none() {
            return Ok(());
        }
        let mut out = String::new();
        self.inline.wipe(&mut out);
        self.write(&out)
    }

    /// Whether nothing can be drawn until it has answered.
    pub(crate) fn is_searching(&self) -> bool {
        self.search.is_some()
    }

    /// Whether the cursor is at the caret, and only the terminal knows how far that is from the beginning of the live region.
    pub(crate) fn is_away(&self) -> bool {
        self.full.is_none() && self.inline.is_away()
    }

    /// Asks how wide it is; the answer comes as input.
    pub(crate) fn ask_width(&mut self) -> io::Result<()> {
        self.write(HOW_WIDE)
    }

    /// Its size has not changed for a while.
    pub(crate) fn settle(&mut self) {
        self.unsettled = false;
    }

    /// Whether its size changed a moment ago.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.unsettled
    }

    /// Draws the live region, and finished rows above it.
    pub(crate) fn inline(
        &mut self,
        history: &[String],
        buf: &mut Buffer,
        caret: Option<Position>,
        rest: Rest,
    ) -> io::Result<()> {
        let mut out = String::new();
        if self.full.take().is_some() {
            out.push_str(LEAVE);
            out.push_str("\x1b[?25l");
            if self.width != self.size.width {
                self.inline.wipe(&mut out);
            }
        }
        let rest = if self.unsettled {
            // Rows may be anywhere by now: single ones would be written over others.
            self.inline.forget();
            Rest::Top
        } else {
            rest
        };
        self.inline.frame(history, buf, caret, rest, &self.painter, &mut out);
        self.write(&out)
    }

    /// Draws the screen beside the history.
    pub(crate) fn full(&mut self, buf: &Buffer, caret: Option<Position>) -> io::Result<()> {
        let mut out = String::new();
        let painter = self.painter;
        if self.full.is_none() {
            // The terminal keeps where the cursor is, and carries it along while the other screen is shown.
            self.inline.park(&mut out);
            self.width = self.size.width;
        }
        let full = self.full.get_or_insert_with(|| {
            out.push_str(ENTER);
            Full::default()
        });
        full.frame(buf, caret, &painter, &mut out);
        self.write(&out)
    }

    /// What stands on it is not what was drawn: everything is drawn anew.
    pub(crate) fn forget(&mut self) -> io::Result<()> {
        match &mut self.full {
            Some(full) => {
                full.forget();
                Ok(())
            }
            None => {
                let mut out = String::new();
                self.inline.clear(&mut out);
                self.write(&out)
            }
        }
    }

    /// How colours are written.
    pub(crate) fn painter(&self) -> &Painter {
        &self.painter
    }

    /// Writes bytes as they are; nothing where there are none.
    pub(crate) fn write(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }
}

#[cfg(test)]
impl Terminal<Vec<u8>> {
    /// Everything that was written.
    pub(crate) fn written(&self) -> &[u8] {
        &self.out
    }

    /// What was written since the last time.
    pub(crate) fn take_written(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// It is one that does this with long rows.
    pub(crate) fn reflow_as(&mut self, reflow: Reflow) {
        self.reflow = reflow;
    }
}

/// Everything put back, for a program that is about to fall: written without knowing what stands there.
pub(crate) fn restore_after_fall() {
    let mut out = io::stdout();
    // There is nobody left to tell.
    drop(
        out.write_all(format!("{LEAVE}{RESET}\r\n").as_bytes())
            .and_then(|()| out.flush()),
    );
    drop(crossterm::terminal::disable_raw_mode());
}
