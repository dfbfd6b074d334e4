//! The key map: which key means what, where. Help is written from it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What a key means outside of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Deed {
    /// Stop the running turn, or close what is open.
    Interrupt,
    /// Leave; twice if something is running.
    Leave,
    /// Look back through the whole conversation.
    Transcript,
    /// Hand the terminal back to the shell for a while.
    Suspend,
    /// Draw everything anew.
    Redraw,
}

/// Which key means what.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    map: Vec<(KeyCode, KeyModifiers, Deed)>,
}

impl Default for Keys {
    fn default() -> Self {
        let ctrl = KeyModifiers::CONTROL;
        let none = KeyModifiers::NONE;
        Keys {
            map: vec![
                (KeyCode::Esc, none, Deed::Interrupt),
                (KeyCode::Char('c'), ctrl, Deed::Leave),
                (KeyCode::Char('d'), ctrl, Deed::Leave),
                (KeyCode::Char('t'), ctrl, Deed::Transcript),
                (KeyCode::Char('z'), ctrl, Deed::Suspend),
                (KeyCode::Char('l'), ctrl, Deed::Redraw),
            ],
        }
    }
}

impl Keys {
    /// What a key means outside of text.
    pub(crate) fn deed(&self, key: &KeyEvent) -> Option<Deed> {
        let is_it = |entry: &&(KeyCode, KeyModifiers, Deed)| entry.0 == key.code && entry.1 == key.modifiers;
        self.map.iter().find(is_it).map(|(_, _, deed)| *deed)
    }
}
