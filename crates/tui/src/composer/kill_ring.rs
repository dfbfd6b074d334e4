//! The kill ring: cut text, newest last.

/// Maximum entries.
const MAX_ENTRIES: usize = 60;

/// Cut text.
#[derive(Debug, Default)]
pub(crate) struct KillRing {
    entries: Vec<String>,
    offset: usize,
}

/// Where a piece is joined to the last entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KillSide {
    /// Before it, because it was left of the caret.
    Before,
    /// After it.
    After,
}

impl KillRing {
    /// Adds an entry.
    pub(crate) fn push(&mut self, piece: String) {
        if piece.is_empty() {
            return;
        }
        self.offset = 0;
        self.entries.push(piece);
        if self.entries.len() > MAX_ENTRIES {
            self.entries.remove(0);
        }
    }

    /// Joins a piece to the last entry, because it was cut directly after it.
    pub(crate) fn join(&mut self, piece: String, side: KillSide) {
        match (self.entries.last_mut(), side) {
            (None, _) => self.push(piece),
            (Some(last), KillSide::Before) => last.insert_str(0, &piece),
            (Some(last), KillSide::After) => last.push_str(&piece),
        }
    }

    /// The last entry.
    pub(crate) fn last(&mut self) -> Option<&str> {
        self.offset = 0;
        self.entries.last().map(String::as_str)
    }

    /// The entry before the one inserted last.
    pub(crate) fn previous(&mut self) -> Option<&str> {
        self.offset = (self.offset + 1) % self.entries.len().max(1);
        self.entries.iter().rev().nth(self.offset).map(String::as_str)
    }
}
