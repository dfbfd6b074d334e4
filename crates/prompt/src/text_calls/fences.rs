//! Tracks code fences in streamed text.

/// Whether the end of the text so far is inside a code fence.
#[derive(Debug, Default)]
pub(super) struct FenceTracker {
    /// The current line so far.
    line: String,
    /// The character and length of the opening fence.
    open: Option<(char, usize)>,
}

impl FenceTracker {
    pub(super) fn push(&mut self, text: &str) {
        for piece in text.split_inclusive('\n') {
            self.line.push_str(piece);
            if piece.ends_with('\n') {
                let line = std::mem::take(&mut self.line);
                self.end_line(line.trim());
            }
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    fn end_line(&mut self, line: &str) {
        let Some(mark) = line.chars().next().filter(|first| matches!(first, '`' | '~')) else {
            return;
        };
        let info = line.trim_start_matches(mark);
        let length = line.len() - info.len();
        match self.open {
            None if length >= 3 && !(mark == '`' && info.contains('`')) => self.open = Some((mark, length)),
            Some((own, least)) if own == mark && length >= least && info.is_empty() => self.open = None,
            Some(_) | None => {}
        }
    }
}
