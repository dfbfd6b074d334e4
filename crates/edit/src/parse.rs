//! One parser for each format.

pub(crate) mod apply_patch;
pub(crate) mod json;
pub(crate) mod json_value;
pub(crate) mod search_replace;
pub(crate) mod unified;
pub(crate) mod whole;
pub(crate) mod xml;

use crate::format::{EditDelta, EditEvent};

/// Splits streaming text into complete lines, without their endings.
#[derive(Debug, Default)]
pub(crate) struct LineBuffer {
    partial: String,
}

impl LineBuffer {
    /// The lines completed by `chunk`.
    pub(crate) fn push(&mut self, chunk: &str) -> Vec<String> {
        let mut lines = Vec::new();
        let mut rest = chunk;
        while let Some((line, after)) = rest.split_once('\n') {
            self.partial.push_str(line);
            lines.push(self.take());
            rest = after;
        }
        self.partial.push_str(rest);
        lines
    }

    /// The last line, if it has no ending.
    pub(crate) fn finish(&mut self) -> Option<String> {
        (!self.partial.is_empty()).then(|| self.take())
    }

    fn take(&mut self) -> String {
        let mut line = std::mem::take(&mut self.partial);
        if line.ends_with('\r') {
            line.pop();
        }
        line
    }
}

/// An event for the edit with this index.
pub(crate) fn event(edit: usize, delta: EditDelta) -> EditEvent {
    EditEvent { edit, delta }
}

/// `line` with its newline.
pub(crate) fn with_newline(line: &str) -> String {
    format!("{line}\n")
}
