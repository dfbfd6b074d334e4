//! Styled rows and wrapping.

mod wrap;

pub(crate) use wrap::wrap;

use model::Media;
use ratatui::buffer::Buffer;
use ratatui::style::Style;
use std::sync::Arc;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// A row of styled text without line breaks, tabs or control characters.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct StyledRow {
    pub(crate) spans: Vec<StyledSpan>,
    /// An image below the row, for terminals that support images.
    pub(crate) image: Option<Media>,
}

/// Text in one style.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct StyledSpan {
    pub(crate) text: String,
    pub(crate) style: Style,
    /// Link target.
    pub(crate) link: Option<Arc<str>>,
}

impl StyledSpan {
    pub(crate) fn new(text: impl Into<String>, style: Style) -> Self {
        StyledSpan {
            text: text.into(),
            style,
            link: None,
        }
    }

    /// Sets the link target.
    pub(crate) fn with_link(mut self, link: Option<Arc<str>>) -> Self {
        self.link = link;
        self
    }
}

impl StyledRow {
    pub(crate) fn empty() -> Self {
        StyledRow::default()
    }

    /// A row with one span.
    pub(crate) fn new(text: impl Into<String>, style: Style) -> Self {
        StyledRow::from(vec![StyledSpan::new(text, style)])
    }

    /// Appends a span.
    pub(crate) fn push(mut self, text: impl Into<String>, style: Style) -> Self {
        self.spans.push(StyledSpan::new(text, style));
        self
    }

    /// Prepends a span.
    pub(crate) fn prefix(mut self, text: impl Into<String>, style: Style) -> Self {
        self.spans.insert(0, StyledSpan::new(text, style));
        self
    }

    /// Width in columns.
    pub(crate) fn width(&self) -> usize {
        self.spans.iter().map(|piece| piece.text.width()).sum()
    }

    pub(crate) fn text(&self) -> String {
        self.spans.iter().map(|piece| piece.text.as_str()).collect()
    }

    /// Whether the row contains only white space.
    pub(crate) fn is_blank(&self) -> bool {
        self.spans.iter().all(|piece| piece.text.trim().is_empty())
    }

    /// Truncates the row to `width` columns, with an ellipsis.
    pub(crate) fn truncate(self, width: usize) -> StyledRow {
        if self.width() <= width {
            return self;
        }
        let mut left = width.saturating_sub(1);
        let mut pieces: Vec<StyledSpan> = Vec::new();
        for piece in self.spans {
            let (kept, used) = fit_width(&piece.text, left);
            left -= used;
            let whole = kept.len() == piece.text.len();
            let (style, link) = (piece.style, piece.link.clone());
            pieces.push(if whole {
                piece
            } else {
                StyledSpan::new(kept, style).with_link(link)
            });
            if !whole {
                pieces.push(StyledSpan::new("…", style));
                break;
            }
        }
        StyledRow {
            spans: pieces,
            image: self.image,
        }
    }

    /// Adds an image below the row.
    pub(crate) fn with_image(mut self, media: &Media) -> StyledRow {
        self.image = Some(media.clone());
        self
    }

    /// Draws the row, clipped to `width`.
    pub(crate) fn draw(&self, x: u16, y: u16, width: u16, buf: &mut Buffer) {
        if y >= buf.area.bottom() || y < buf.area.top() {
            return;
        }
        let mut at = x;
        let end = x.saturating_add(width).min(buf.area.right());
        for piece in &self.spans {
            if at >= end {
                break;
            }
            let (next, _) = buf.set_stringn(at, y, &piece.text, usize::from(end - at), piece.style);
            at = next;
        }
    }
}

impl From<Vec<StyledSpan>> for StyledRow {
    fn from(pieces: Vec<StyledSpan>) -> Self {
        StyledRow {
            spans: pieces,
            image: None,
        }
    }
}

/// The prefix of a text that fits in `width` columns, and its width.
pub(crate) fn fit_width(text: &str, width: usize) -> (&str, usize) {
    let mut used = 0;
    for (at, cluster) in text.grapheme_indices(true) {
        let next = used + cluster.width();
        if next > width {
            return (text.get(..at).unwrap_or_default(), used);
        }
        used = next;
    }
    (text, used)
}

/// Sanitises text for a row: like [`sanitise`](crate::format::sanitise), with tabs expanded to spaces.
pub(crate) fn sanitise(text: &str) -> String {
    expand_tabs(crate::format::sanitise(text))
}

/// Sanitises program output for rows: like [`sanitise_output`](crate::format::sanitise_output), with tabs expanded.
pub(crate) fn sanitise_output(text: &str) -> String {
    expand_tabs(crate::format::sanitise_output(text))
}

fn expand_tabs(clean: String) -> String {
    if !clean.contains('\t') {
        return clean;
    }
    let mut expanded = String::with_capacity(clean.len());
    let mut column = 0;
    for c in clean.chars() {
        match c {
            '\n' => {
                expanded.push('\n');
                column = 0;
            }
            '\t' => {
                let spaces = 4 - column % 4;
                expanded.extend(std::iter::repeat_n(' ', spaces));
                column += spaces;
            }
            c => {
                expanded.push(c);
                column += 1;
            }
        }
    }
    expanded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_truncated_between_graphemes() {
        let cut = |text: &str, width| StyledRow::new(text, Style::new()).truncate(width).text();
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("漢字漢字", 5), "漢字…");
        assert_eq!(cut("漢字漢字", 4), "漢…");
        assert_eq!(cut("e\u{301}e\u{301}e\u{301}", 2), "e\u{301}…");
    }

    #[test]
    fn untrusted_text_cannot_control_the_terminal() {
        let cases = [
            ("a\tb", "a   b"),
            ("\x1b[31mred\x1b[0m", "red"),
            ("\x1b]0;title\x07x", "x"),
            ("\x1b]52;c;AAAA\x1b\\x", "x"),
            ("rm -r x\rls\r\nnext", "rm -r x ls\nnext"),
            ("a\u{7}\u{8}b\u{202e}c", "abc"),
            ("\x1b", ""),
        ];
        for (text, clean) in cases {
            assert_eq!(sanitise(text), clean, "{text:?}");
        }
        assert_eq!(sanitise_output("10 %\r20 %\r\nnext"), "20 %\nnext");
    }
}
