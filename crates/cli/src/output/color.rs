//! Colours, if the terminal supports them and the user wants them.

use super::printable::styled;
use crate::environment::ProcessEnv;
use std::fmt::Display;
use std::io::IsTerminal;

/// The maximum line length, if the width is unknown.
const WIDEST: usize = 1_000;

/// Whether and how a stream may be coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColorMode {
    /// With colours.
    Colour,
    /// As plain text.
    Plain,
}

impl ColorMode {
    /// The mode for this stream.
    pub(crate) fn of(stream: &impl IsTerminal, env: &ProcessEnv) -> Self {
        if stream.is_terminal() && !env.plain_output() {
            ColorMode::Colour
        } else {
            ColorMode::Plain
        }
    }

    /// Less important than the rest.
    pub(crate) fn dim(self, text: impl Display) -> String {
        self.with("2", text)
    }

    /// More important than the rest.
    pub(crate) fn bold(self, text: impl Display) -> String {
        self.with("1", text)
    }

    /// Went well.
    pub(crate) fn green(self, text: impl Display) -> String {
        self.with("32", text)
    }

    /// Went wrong.
    pub(crate) fn red(self, text: impl Display) -> String {
        self.with("31", text)
    }

    /// Wants attention.
    pub(crate) fn yellow(self, text: impl Display) -> String {
        self.with("33", text)
    }

    /// Names something.
    pub(crate) fn cyan(self, text: impl Display) -> String {
        self.with("36", text)
    }

    fn with(self, code: &str, text: impl Display) -> String {
        let text = text.to_string();
        match self {
            ColorMode::Colour if !text.is_empty() => styled(code, &text),
            ColorMode::Colour | ColorMode::Plain => text,
        }
    }
}

/// The terminal's width in columns; a large value in a pipe.
pub(crate) fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stderr());
    // Some terminals, and most that are simulated, do not know their width.
    match size.map(|size| usize::from(size.ws_col)) {
        Ok(0) => 80,
        Ok(wide) => wide.min(WIDEST),
        Err(_) => WIDEST,
    }
}
