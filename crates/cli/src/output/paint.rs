//! Colours, where the terminal and the person want them.

use crate::environment::Environment;
use std::fmt::Display;
use std::io::IsTerminal;

/// Lines are never longer than this, even where nobody says how long they may be.
const WIDEST: usize = 1_000;

/// Whether and how a stream may be coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    /// With colours.
    Colour,
    /// As plain text.
    Plain,
}

impl Paint {
    /// What fits this stream.
    pub(crate) fn of(stream: &impl IsTerminal, env: &Environment) -> Self {
        if stream.is_terminal() && !env.plain() {
            Paint::Colour
        } else {
            Paint::Plain
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
            Paint::Colour if !text.is_empty() => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            Paint::Colour | Paint::Plain => text,
        }
    }
}

/// The terminal's width in columns. Where there is none, as in a pipe, hardly anything is cut.
pub(crate) fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stderr());
    // Some terminals, and most that are simulated, do not know their width.
    match size.map(|size| usize::from(size.ws_col)) {
        Ok(0) => 80,
        Ok(wide) => wide.min(WIDEST),
        Err(_) => WIDEST,
    }
}
