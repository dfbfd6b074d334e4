//! Inline text of a paragraph: nested styles and links.

use crate::row::{StyledRow, StyledSpan};
use crate::theme::Theme;
use ratatui::style::{Modifier, Style};
use std::sync::Arc;

/// The collected text of a paragraph.
pub(super) struct InlineText<'a> {
    theme: &'a Theme,
    lines: Vec<StyledRow>,
    styles: Vec<Style>,
    link: Option<Arc<str>>,
}

impl<'a> InlineText<'a> {
    pub(super) fn new(theme: &'a Theme) -> Self {
        InlineText {
            theme,
            lines: Vec::new(),
            styles: Vec::new(),
            link: None,
        }
    }

    pub(super) fn push(&mut self, style: Style) {
        self.styles.push(style);
    }

    pub(super) fn push_emphasis(&mut self) {
        self.push(Style::new().add_modifier(Modifier::ITALIC));
    }

    pub(super) fn push_struck(&mut self) {
        self.push(Style::new().add_modifier(Modifier::CROSSED_OUT));
    }

    pub(super) fn pop(&mut self) {
        self.styles.pop();
    }

    pub(super) fn link(&mut self, target: &str) {
        self.link = Some(target.into());
        self.styles.push(self.theme.link);
    }

    pub(super) fn end_link(&mut self) {
        self.styles.pop();
        let Some(target) = self.link.take() else {
            return;
        };
        // Not every terminal supports links, so the target is shown unless the text contains it.
        let is_shown = self.lines.last().is_some_and(|line| line.text().ends_with(&*target));
        if !is_shown && target.contains("://") {
            self.piece(&format!(" ({target})"), self.theme.dim);
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        let style = self.styles.iter().fold(self.theme.text, |all, one| all.patch(*one));
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                self.line_break();
            }
            self.piece(line, style);
        }
    }

    pub(super) fn code(&mut self, text: &str) {
        let style = self.styles.iter().fold(self.theme.code, |all, one| all.patch(*one));
        self.piece(text, style.patch(self.theme.code));
    }

    pub(super) fn line_break(&mut self) {
        self.lines.push(StyledRow::empty());
    }

    /// Takes the collected lines; empty if there is no text.
    pub(super) fn take(&mut self) -> Vec<StyledRow> {
        let lines = std::mem::take(&mut self.lines);
        if lines.iter().all(StyledRow::is_blank) {
            Vec::new()
        } else {
            lines
        }
    }

    pub(super) fn clear(&mut self) {
        self.lines.clear();
    }

    fn piece(&mut self, text: &str, style: Style) {
        if text.is_empty() {
            return;
        }
        if self.lines.is_empty() {
            self.lines.push(StyledRow::empty());
        }
        let link = self.link.clone();
        if let Some(line) = self.lines.last_mut() {
            line.spans.push(StyledSpan::new(text, style).with_link(link));
        }
    }
}
