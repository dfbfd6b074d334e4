//! What was cut, newest last, to be put back.

/// The most pieces that are kept.
const MOST: usize = 60;

/// What was cut.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    pieces: Vec<String>,
    turned: usize,
}

/// On which side of the last piece something is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Before it: it was left of the caret.
    Before,
    /// Behind it.
    Behind,
}

impl Ring {
    /// Keeps a piece.
    pub(crate) fn push(&mut self, piece: String) {
        if piece.is_empty() {
            return;
        }
        self.turned = 0;
        self.pieces.push(piece);
        if self.pieces.len() > MOST {
            self.pieces.remove(0);
        }
    }

    /// Adds to the last piece, because it was cut right after it.
    pub(crate) fn join(&mut self, piece: String, side: Side) {
        match (self.pieces.last_mut(), side) {
            (None, _) => self.push(piece),
            (Some(last), Side::Before) => last.insert_str(0, &piece),
            (Some(last), Side::Behind) => last.push_str(&piece),
        }
    }

    /// The last piece.
    pub(crate) fn last(&mut self) -> Option<&str> {
        self.turned = 0;
        self.pieces.last().map(String::as_str)
    }

    /// The piece before the one that was put back last.
    pub(crate) fn earlier(&mut self) -> Option<&str> {
        self.turned = (self.turned + 1) % self.pieces.len().max(1);
        self.pieces.iter().rev().nth(self.turned).map(String::as_str)
    }
}
