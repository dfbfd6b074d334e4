//! Terminal input: keys, pastes, focus changes and replies to queries.

mod keyboard;
mod parser;
#[cfg(unix)]
mod reader;

pub(crate) use parser::InputParser;
#[cfg(unix)]
pub(crate) use reader::InputReader;

use crossterm::event::KeyEvent;

/// User input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    /// A key press.
    Key(KeyEvent),
    /// A paste.
    Paste(String),
    /// A focus change.
    Focus(FocusChange),
}

/// The terminal's focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FocusChange {
    Gained,
    Lost,
}

/// An event from the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TerminalEvent {
    /// User input.
    Input(Input),
    /// The background colour, 8 bits per channel.
    Background(u8, u8, u8),
    /// Active flags of the kitty keyboard protocol; the terminal supports it.
    KittyFlags(u8),
    /// Primary device attributes (DA1): all earlier queries have been answered.
    Attributes,
    /// The cursor position, counted from 0.
    Cursor { row: u16, column: u16 },
    /// The terminal's size in characters.
    Size {
        /// The first number: rows, except in terminals with a swapped order.
        first: u16,
        /// The second number: columns.
        second: u16,
    },
    /// The terminal's support for a private mode.
    Mode { mode: u16, known: bool },
    /// The terminal supports kitty graphics.
    Graphics,
}
