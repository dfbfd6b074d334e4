//! Changes of a text as rows: what went, what came, and which words of it.

use crate::row::{Piece, Row, tame};
use crate::theme::Theme;
use similar::{DiffTag, group_diff_ops};
use std::time::{Duration, Instant};

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
        let (old, new): (Vec<&str>, Vec<&str>) = (
            before.split_inclusive('\n').collect(),
            after.split_inclusive('\n').collect(),
        );
        let deadline = Instant::now() + PATIENCE;
        let ops = edit::compare(&old, &new, Some(deadline));
        let mut diff = Diff::default();
        for (index, group) in group_diff_ops(ops, CONTEXT).iter().enumerate() {
            if index > 0 {
                diff.lines.push(Line::Gap);
            }
            for op in group {
                let (tag, went, came) = op.as_tag_tuple();
                let at = (went.start + first, came.start + first);
                let (went, came) = (old.get(went).unwrap_or_default(), new.get(came).unwrap_or_default());
                if tag == DiffTag::Equal {
                    diff.push(Sign::Same, at.1, &plain(came));
                } else {
                    let (went, came) = marked(went, came, deadline).unwrap_or_else(|| (plain(went), plain(came)));
                    diff.push(Sign::Went, at.0, &went);
                    diff.push(Sign::Came, at.1, &came);
                }
            }
        }
        diff
    }

    fn push(&mut self, sign: Sign, first: usize, lines: &[Words<'_>]) {
        match sign {
            Sign::Came => self.added += lines.len(),
            Sign::Went => self.removed += lines.len(),
            Sign::Same => {}
        }
        self.lines.extend(lines.iter().enumerate().map(|(at, words)| {
            Line::Text {
                sign,
                number: first + at,
                words: words
                    .iter()
                    .map(|(marked, text)| (*marked, text.trim_end_matches(['\n', '\r']).to_string()))
                    .collect(),
            }
        }));
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

/// The words of a line, and whether each belongs to the change.
type Words<'a> = Vec<(bool, &'a str)>;

fn plain<'a>(lines: &[&'a str]) -> Vec<Words<'a>> {
    lines.iter().map(|line| vec![(false, *line)]).collect()
}

/// The words that differ, where so much stayed that it helps to see them.
fn marked<'a>(went: &[&'a str], came: &[&'a str], deadline: Instant) -> Option<(Vec<Words<'a>>, Vec<Words<'a>>)> {
    let enough = |same: usize, old: usize, new: usize| 4 * same >= old + new;
    if went.is_empty() || came.is_empty() || !enough(went.len().min(came.len()), went.len(), came.len()) {
        return None;
    }
    let (old, new) = (in_lines(went), in_lines(came));
    let texts = |words: &[(usize, &'a str)]| -> Vec<&'a str> { words.iter().map(|(_, word)| *word).collect() };
    let ops = edit::compare(&texts(&old), &texts(&new), Some(deadline));
    let same = ops.iter().filter(|op| op.tag() == DiffTag::Equal);
    if !enough(same.map(|op| op.old_range().len()).sum(), old.len(), new.len()) {
        return None;
    }
    let (mut before, mut after) = (vec![Vec::new(); went.len()], vec![Vec::new(); came.len()]);
    for op in ops {
        let (tag, went, came) = op.as_tag_tuple();
        let is_change = tag != DiffTag::Equal;
        mark(&mut before, old.get(went).unwrap_or_default(), is_change);
        mark(&mut after, new.get(came).unwrap_or_default(), is_change);
    }
    Some((before, after))
}

/// The words of all these lines, each with the number of its line.
fn in_lines<'a>(lines: &[&'a str]) -> Vec<(usize, &'a str)> {
    let numbered = lines.iter().enumerate();
    numbered
        .flat_map(|(at, line)| edit::words(line).into_iter().map(move |word| (at, word)))
        .collect()
}

fn mark<'a>(lines: &mut [Words<'a>], words: &[(usize, &'a str)], is_change: bool) {
    for (line, word) in words {
        if let Some(line) = lines.get_mut(*line) {
            line.push((is_change && !word.ends_with('\n'), word));
        }
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
