//! Text within a paragraph: styles lie over each other, links lead somewhere.

use crate::row::{Piece, Row};
use crate::theme::Theme;
use ratatui::style::{Modifier, Style};
use std::sync::Arc;

/// The text of a paragraph as it is gathered.
pub(super) struct Inline<'a> {
    theme: &'a Theme,
    lines: Vec<Row>,
    styles: Vec<Style>,
    link: Option<Arc<str>>,
}

impl<'a> Inline<'a> {
    pub(super) fn new(theme: &'a Theme) -> Self {
        Inline {
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
        // A link whose text does not say where it leads says so behind it: not every terminal shows links.
        let said = self.lines.last().is_some_and(|line| line.text().ends_with(&*target));
        if !said && target.contains("://") {
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
        self.lines.push(Row::empty());
    }

    /// The lines that were gathered; none where there is no text.
    pub(super) fn take(&mut self) -> Vec<Row> {
        let lines = std::mem::take(&mut self.lines);
        if lines.iter().all(Row::is_blank) {
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
            self.lines.push(Row::empty());
        }
        let link = self.link.clone();
        if let Some(line) = self.lines.last_mut() {
            line.pieces.push(Piece::new(text, style).leading(link));
        }
    }
}
