//! Changes of a text as rows: what went, what came, and which words of it.

use crate::row::{Piece, Row, tame};
use crate::theme::Theme;
use similar::{ChangeTag, InlineChange, TextDiff};
use std::time::Duration;

/// So many lines around a change are shown.
const CONTEXT: usize = 3;
/// Longer than this nobody waits for the smallest difference.
const PATIENCE: Duration = Duration::from_millis(50);
/// Texts larger than this are not compared.
const MOST: usize = 2 << 20;

/// The difference between two texts.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Diff {
    /// How many lines came.
    pub(crate) added: usize,
    /// How many lines went.
    pub(crate) removed: usize,
    /// Its lines.
    lines: Vec<Line>,
}

/// One line of a difference.
#[derive(Debug, Clone, PartialEq)]
enum Line {
    /// Lines between two changes are left out.
    Gap,
    /// A line, its number, and its words: whether each belongs to the change.
    Text {
        sign: Sign,
        number: usize,
        words: Vec<(bool, String)>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Same,
    Came,
    Went,
}

impl Diff {
    /// Compares two texts; `first` is the number of their first line.
    pub(crate) fn between(before: &str, after: &str, first: usize) -> Diff {
        if before.len().max(after.len()) > MOST {
            return Diff {
                added: after.lines().count(),
                removed: before.lines().count(),
                lines: Vec::new(),
            };
        }
        let compared = TextDiff::configure().timeout(PATIENCE).diff_lines(before, after);
        let mut diff = Diff::default();
        for (index, group) in compared.grouped_ops(CONTEXT).iter().enumerate() {
            if index > 0 {
                diff.lines.push(Line::Gap);
            }
            for change in group.iter().flat_map(|op| compared.iter_inline_changes(op)) {
                diff.push(&change, first);
            }
        }
        diff
    }

    fn push(&mut self, change: &InlineChange<'_, str>, first: usize) {
        let (sign, number) = match change.tag() {
            ChangeTag::Equal => (Sign::Same, change.new_index()),
            ChangeTag::Insert => (Sign::Came, change.new_index()),
            ChangeTag::Delete => (Sign::Went, change.old_index()),
        };
        match sign {
            Sign::Came => self.added += 1,
            Sign::Went => self.removed += 1,
            Sign::Same => {}
        }
        let words = change.iter_strings_lossy();
        self.lines.push(Line::Text {
            sign,
            number: number.unwrap_or_default() + first,
            words: words
                .map(|(marked, text)| (marked, text.trim_end_matches(['\n', '\r']).to_string()))
                .collect(),
        });
    }

    /// Whether both texts are the same.
    pub(crate) fn is_empty(&self) -> bool {
        self.added == 0 && self.removed == 0
    }

    /// `+3 −1`
    pub(crate) fn counts(&self, theme: &Theme) -> Vec<Piece> {
        let mut pieces = Vec::new();
        if self.added > 0 {
            pieces.push(Piece::new(format!("+{}", self.added), theme.added));
        }
        if self.removed > 0 {
            let space = if pieces.is_empty() { "" } else { " " };
            pieces.push(Piece::new(format!("{space}−{}", self.removed), theme.removed));
        }
        pieces
    }

    /// Its lines as rows; at most so many, the last of which says how many are missing.
    pub(crate) fn rows(&self, width: usize, most: usize, theme: &Theme) -> Vec<Row> {
        let digits = self
            .lines
            .iter()
            .filter_map(Line::number)
            .max()
            .unwrap_or(0)
            .to_string()
            .len()
            .max(3);
        let shown = if self.lines.len() > most {
            most.saturating_sub(1)
        } else {
            self.lines.len()
        };
        let mut rows: Vec<Row> = self
            .lines
            .iter()
            .take(shown)
            .map(|line| line.row(digits, theme).cut(width))
            .collect();
        let missing = self.lines.len() - shown;
        if missing > 0 {
            rows.push(Row::of(format!("{:>digits$} … {missing} more lines", ""), theme.dim).cut(width));
        }
        rows
    }
}

impl Line {
    fn number(&self) -> Option<usize> {
        match self {
            Line::Gap => None,
            Line::Text { number, .. } => Some(*number),
        }
    }

    fn row(&self, digits: usize, theme: &Theme) -> Row {
        let Line::Text { sign, number, words } = self else {
            return Row::of(format!("{:>digits$} ⋯", ""), theme.dim);
        };
        let (mark, style, marked) = match sign {
            Sign::Same => ("  ", theme.dim, theme.dim),
            Sign::Came => ("+ ", theme.added, theme.added_words),
            Sign::Went => ("- ", theme.removed, theme.removed_words),
        };
        // A line that changed as a whole needs no marks within it.
        let whole = words.iter().all(|(changed, text)| *changed || text.trim().is_empty());
        let mut pieces = vec![
            Piece::new(format!("{number:>digits$} "), theme.dim),
            Piece::new(mark, style),
        ];
        for (changed, text) in words {
            let style = if *changed && !whole { marked } else { style };
            pieces.push(Piece::new(tame(text), style));
        }
        Row::from(pieces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(before: &str, after: &str, most: usize) -> Vec<String> {
        let rows = Diff::between(before, after, 1).rows(60, most, &Theme::default());
        rows.iter().map(Row::text).collect()
    }

    #[test]
    fn a_change_is_shown_with_its_surroundings_and_line_numbers() {
        let before: String = (1..=20).map(|n| format!("line {n}\n")).collect();
        let after = before.replace("line 10\n", "line ten\nline 10b\n");
        assert_eq!(
            lines(&before, &after, 50),
            [
                "  7   line 7",
                "  8   line 8",
                "  9   line 9",
                " 10 - line 10",
                " 10 + line ten",
                " 11 + line 10b",
                " 12   line 11",
                " 13   line 12",
                " 14   line 13",
            ]
        );
        assert_eq!(lines(&before, &after, 4).last().unwrap(), "    … 6 more lines");
        assert_eq!(lines("a\n", "a\n", 9), Vec::<String>::new());
    }

    #[test]
    fn the_words_that_changed_are_marked() {
        let theme = Theme::default();
        let rows = Diff::between("let user = name;\n", "let user = name.trim();\n", 1).rows(60, 9, &theme);
        let marked = |row: &Row| -> String {
            let words = [theme.added_words, theme.removed_words];
            let pieces = row.pieces.iter().filter(|piece| words.contains(&piece.style));
            pieces.map(|piece| piece.text.as_str()).collect()
        };
        assert!(marked(&rows[1]).contains("trim"), "{rows:?}");
        assert!(!marked(&rows[1]).contains("let"), "{rows:?}");
    }

    #[test]
    fn counts_say_what_came_and_went() {
        let diff = Diff::between("a\nb\n", "a\nc\nd\n", 1);
        let counts: String = diff
            .counts(&Theme::default())
            .iter()
            .map(|piece| piece.text.clone())
            .collect();
        assert_eq!(counts, "+2 −1");
        assert!(Diff::between("x", "x", 1).is_empty());
    }
}
