//! Markdown and diffs as text with escape sequences, for output without the screen.

use crate::backend::Backend;
use crate::conversation::{ConversationEntry, EntryDetail};
use crate::diff::LineDiff;
use crate::keys::KeyMap;
use crate::markdown::{MarkdownSplitter, RenderContext};
use crate::row::StyledRow;
use crate::screen::{AnsiEncoder, ColorDepth};
use crate::theme::Theme;
use std::path::Path;
use std::sync::Arc;

/// Lines of a diff that are printed.
const DIFF_LINES: usize = 60;

/// Renders text as the front end does. Markdown is rendered block by block while it arrives.
pub struct OutputRenderer {
    backend: Arc<dyn Backend>,
    theme: Theme,
    keys: KeyMap,
    encoder: AnsiEncoder,
    splitter: MarkdownSplitter,
    last: Option<ConversationEntry>,
}

impl OutputRenderer {
    /// A renderer for a terminal with these colours.
    pub fn new(backend: Arc<dyn Backend>, depth: ColorDepth) -> Self {
        // There is no key to show hidden lines.
        let unbound = [("toggle-details".to_owned(), Vec::new())].into();
        OutputRenderer {
            backend,
            theme: Theme::default().for_depth(depth),
            keys: KeyMap::with_overrides(&unbound).0,
            encoder: AnsiEncoder {
                depth,
                ..AnsiEncoder::default()
            },
            splitter: MarkdownSplitter::default(),
            last: None,
        }
    }

    /// Adds Markdown; returns the lines of complete blocks.
    pub fn push(&mut self, text: &str, width: usize) -> String {
        self.splitter.push(text);
        let mut out = String::new();
        while let Some(block) = self.splitter.next() {
            self.add(ConversationEntry::Text(block), width, &mut out);
        }
        out
    }

    /// Ends the text; returns the remaining lines.
    pub fn finish(&mut self, width: usize) -> String {
        let mut out = String::new();
        for block in self.splitter.finish() {
            self.add(ConversationEntry::Text(block), width, &mut out);
        }
        self.splitter = MarkdownSplitter::default();
        self.last = None;
        out
    }

    /// Renders the difference between two texts of a file.
    pub fn diff(&self, path: &str, before: &str, after: &str, width: usize) -> String {
        let diff = LineDiff::highlighted(path, before, after, &*self.backend);
        let rows = diff.rows(width.saturating_sub(2), DIFF_LINES, self.context());
        self.encode(&rows, "  ")
    }

    fn add(&mut self, entry: ConversationEntry, width: usize, out: &mut String) {
        if self.last.as_ref().is_some_and(|last| entry.wants_gap_after(last)) {
            out.push('\n');
        }
        let rows = entry.rows(width, EntryDetail::Full, self.context());
        out.push_str(&self.encode(&rows, ""));
        self.last = Some(entry);
    }

    fn encode(&self, rows: &[StyledRow], indent: &str) -> String {
        let lines = rows
            .iter()
            .map(|row| format!("{indent}{}\n", self.encoder.encode_row(row)));
        lines.collect()
    }

    fn context(&self) -> RenderContext<'_> {
        RenderContext {
            theme: &self.theme,
            backend: &*self.backend,
            keys: &self.keys,
            // Titles of calls are relative already.
            root: Path::new(""),
        }
    }
}
