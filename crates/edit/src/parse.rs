//! One parser for each format.

pub(crate) mod apply_patch;
pub(crate) mod json;
pub(crate) mod json_value;
pub(crate) mod search_replace;
pub(crate) mod unified;
pub(crate) mod whole;
pub(crate) mod xml;

use crate::format::{Delta, Event};

/// Cuts arriving text into complete lines, without their endings.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    partial: String,
}

impl Lines {
    /// The lines that `chunk` completes.
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

    /// The last line, when it has no ending.
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

/// News about edit number `edit`.
pub(crate) fn event(edit: usize, delta: Delta) -> Event {
    Event { edit, delta }
}

/// `line` with its newline.
pub(crate) fn ended(line: &str) -> String {
    format!("{line}\n")
}
