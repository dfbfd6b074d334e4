//! What comes from the terminal: keys, pastes, focus, and answers to what it was asked.

mod keyboard;
mod parser;
#[cfg(unix)]
mod reader;

pub(crate) use parser::Parser;
#[cfg(unix)]
pub(crate) use reader::Reader;

use crossterm::event::KeyEvent;

/// What the person does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    /// A key was pressed.
    Key(KeyEvent),
    /// Text was pasted, all at once.
    Paste(String),
    /// The terminal got the focus, or lost it.
    Focus(Focus),
}

/// Whether the terminal has the focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Focus {
    /// It has.
    Gained,
    /// It has not.
    Lost,
}

/// What a terminal sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Signal {
    /// The person did something.
    Input(Input),
    /// The background colour, 8 bits a channel.
    Background(u8, u8, u8),
    /// Which flags of the kitty keyboard protocol are on: the protocol is spoken.
    KittyFlags(u8),
    /// The terminal says what it is (DA1): everything that was asked before has been answered.
    Attributes,
    /// Where the cursor is, counted from 0.
    Cursor {
        /// The row.
        row: u16,
        /// The column.
        column: u16,
    },
    /// How large the terminal is, in the order in which it was asked.
    Size {
        /// The first figure: the rows, except where terminals have it wrong.
        first: u16,
        /// The second figure: the columns.
        second: u16,
    },
    /// A private mode is known to the terminal.
    Mode {
        /// Its number.
        mode: u16,
        /// Whether it is known.
        known: bool,
    },
    /// The terminal knows kitty's graphics.
    Graphics,
}
