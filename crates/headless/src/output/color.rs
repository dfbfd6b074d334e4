//! Colours, if the terminal supports them and the user wants them.

use super::printable::styled;
use crate::environment::ProcessEnv;
use std::fmt::Display;
use std::io::IsTerminal;
use tui::ColorDepth;

/// The maximum line length, if the width is unknown.
const WIDEST: usize = 1_000;

/// Whether a stream is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColorMode {
    /// With colours.
    Colour,
    /// As plain text.
    Plain,
}

impl ColorMode {
    /// The mode for this stream.
    pub fn of(stream: &impl IsTerminal, env: &ProcessEnv) -> Self {
        if stream.is_terminal() && !env.plain_output() {
            ColorMode::Colour
        } else {
            ColorMode::Plain
        }
    }

    /// Less important than the rest.
    pub fn dim(self, text: impl Display) -> String {
        self.with("2", text)
    }

    /// More important than the rest.
    pub fn bold(self, text: impl Display) -> String {
        self.with("1", text)
    }

    /// Success.
    pub fn green(self, text: impl Display) -> String {
        self.with("32", text)
    }

    /// Failure.
    pub fn red(self, text: impl Display) -> String {
        self.with("31", text)
    }

    /// Warning.
    pub fn yellow(self, text: impl Display) -> String {
        self.with("33", text)
    }

    /// A name.
    pub fn cyan(self, text: impl Display) -> String {
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
pub fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stderr());
    // Some terminals, and most simulated ones, report no width.
    match size.map(|size| usize::from(size.ws_col)) {
        Ok(0) => 80,
        Ok(wide) => wide.min(WIDEST),
        Err(_) => WIDEST,
    }
}

/// The number of colours that the terminal reports.
pub fn color_depth(env: &ProcessEnv) -> ColorDepth {
    if env.get("NO_COLOR").is_some() {
        return ColorDepth::Mono;
    }
    let term = env.get("TERM").unwrap_or_default();
    match env.get("COLORTERM") {
        Some("truecolor" | "24bit") => ColorDepth::True,
        Some(_) | None if term.contains("256color") || term.contains("kitty") || term.contains("direct") => {
            ColorDepth::Indexed
        }
        Some(_) => ColorDepth::Indexed,
        None => ColorDepth::Basic,
    }
}
