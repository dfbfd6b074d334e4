//! Line diffs as rows, with the changed words highlighted.

use crate::backend::{Backend, ReviewableHunk, SyntaxToken};
use crate::format::hidden_lines;
use crate::markdown::RenderContext;
use crate::row::{StyledRow, StyledSpan, sanitise, wrap};
use crate::theme::Theme;
use ratatui::style::Style;
use similar::{DiffTag, group_diff_ops};
use std::ops::Range;
use std::time::{Duration, Instant};

/// Context lines around a change.
const CONTEXT_LINES: usize = 3;
/// Time limit for computing a minimal diff.
const TIME_LIMIT: Duration = Duration::from_millis(50);
/// Larger texts are not highlighted.
const MAX_HIGHLIGHTED: usize = 256 << 10;
/// Larger texts are not compared.
const MAX_BYTES: usize = 2 << 20;

/// The difference between two texts.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct LineDiff {
    /// Number of added lines.
    pub(crate) added: usize,
    /// Number of removed lines.
    pub(crate) removed: usize,
    lines: Vec<DiffLine>,
}

/// A line of a diff.
#[derive(Debug, Clone, PartialEq)]
enum DiffLine {
    /// Omitted lines between two changes.
    Gap,
    /// A line with its number and its words; each word is marked if it changed.
    Text {
        sign: LineChange,
        number: usize,
        words: Vec<(bool, String)>,
        /// Syntax tokens by byte range.
        tokens: LineTokens,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineChange {
    Unchanged,
    Added,
    Removed,
}

impl LineDiff {
    /// Compares two texts; `first` is the number of their first line.
    pub(crate) fn between(before: &str, after: &str, first: usize) -> LineDiff {
        if before.len().max(after.len()) > MAX_BYTES {
            return LineDiff {
                added: after.lines().count(),
                removed: before.lines().count(),
                lines: Vec::new(),
            };
        }
        let (old, new): (Vec<&str>, Vec<&str>) = (
            before.split_inclusive('\n').collect(),
            after.split_inclusive('\n').collect(),
        );
        let deadline = Instant::now() + TIME_LIMIT;
        let ops = edit::compare(&old, &new, Some(deadline));
        let mut diff = LineDiff::default();
        for (index, group) in group_diff_ops(ops, CONTEXT_LINES).iter().enumerate() {
            if index > 0 {
                diff.lines.push(DiffLine::Gap);
            }
            for op in group {
                let (tag, removed, added) = op.as_tag_tuple();
                let at = (removed.start + first, added.start + first);
                let (removed, added) = (old.get(removed).unwrap_or_default(), new.get(added).unwrap_or_default());
                if tag == DiffTag::Equal {
                    diff.push(LineChange::Unchanged, at.1, &plain(added));
                } else {
                    let (removed, added) =
                        mark_words(removed, added, deadline).unwrap_or_else(|| (plain(removed), plain(added)));
                    diff.push(LineChange::Removed, at.0, &removed);
                    diff.push(LineChange::Added, at.1, &added);
                }
            }
        }
        diff
    }

    /// Compares two texts of a file and highlights their syntax.
    pub(crate) fn highlighted(path: &str, before: &str, after: &str, backend: &dyn Backend) -> LineDiff {
        let mut diff = LineDiff::between(before, after, 1);
        let tokens = |text| line_tokens(path, text, backend);
        diff.add_tokens((&tokens(before), 1), (&tokens(after), 1));
        diff
    }

    /// The hunks of a file, given from top to bottom, each with context lines. `now` is the file's text.
    pub(crate) fn hunks(path: &str, now: &str, hunks: &[ReviewableHunk], backend: &dyn Backend) -> Vec<LineDiff> {
        let lines: Vec<&str> = now.split_inclusive('\n').collect();
        let range_of = |hunk: &ReviewableHunk| {
            let start = hunk.line.saturating_sub(1);
            (start, start + hunk.after.lines().count())
        };
        // Tokens of another text could divide characters.
        let is_current = hunks.iter().all(|hunk| {
            let (start, end) = range_of(hunk);
            lines.get(start..end).is_some_and(|now| now.concat() == hunk.after)
        });
        // The text before all changes.
        let (mut old, mut at) = (String::new(), 0);
        for hunk in hunks {
            let (start, end) = range_of(hunk);
            old.extend(lines.get(at..start).unwrap_or_default().iter().copied());
            old.push_str(&hunk.before);
            at = end;
        }
        old.extend(lines.get(at..).unwrap_or_default().iter().copied());
        let (old, new) = (line_tokens(path, &old, backend), line_tokens(path, now, backend));
        // The number of the same line in the old text is this much larger.
        let mut shift = 0_isize;
        let mut diffs = Vec::new();
        for hunk in hunks {
            let (start, end) = range_of(hunk);
            let removed = hunk.before.lines().count();
            let first = start.saturating_sub(CONTEXT_LINES);
            let lead = lines.get(first..start).unwrap_or_default().concat();
            let rest = lines
                .get(end..(end + CONTEXT_LINES).min(lines.len()))
                .unwrap_or_default()
                .concat();
            let (before, after) = (
                format!("{lead}{}{rest}", hunk.before),
                format!("{lead}{}{rest}", hunk.after),
            );
            // Without the lines before it, the first line is that of the hunk.
            let number = if lead.is_empty() { hunk.line } else { first + 1 };
            let mut diff = LineDiff::between(&before, &after, number);
            if is_current {
                let place = first.saturating_add_signed(shift);
                let (old, new) = (
                    old.get(place..).unwrap_or_default(),
                    new.get(first..).unwrap_or_default(),
                );
                diff.add_tokens((old, number), (new, number));
            }
            diffs.push(diff);
            shift += removed as isize - (end - start) as isize;
        }
        diffs
    }

    /// Adds the syntax tokens of both texts, each with the number of its first line.
    fn add_tokens(&mut self, old: (&[LineTokens], usize), new: (&[LineTokens], usize)) {
        for line in &mut self.lines {
            let DiffLine::Text {
                sign, number, tokens, ..
            } = line
            else {
                continue;
            };
            let (side, first) = match sign {
                LineChange::Removed => old,
                LineChange::Added | LineChange::Unchanged => new,
            };
            let found = number.checked_sub(first).and_then(|at| side.get(at));
            tokens.extend(found.into_iter().flatten().cloned());
        }
    }

    fn push(&mut self, sign: LineChange, first: usize, lines: &[MarkedWords<'_>]) {
        match sign {
            LineChange::Added => self.added += lines.len(),
            LineChange::Removed => self.removed += lines.len(),
            LineChange::Unchanged => {}
        }
        self.lines.extend(lines.iter().enumerate().map(|(at, words)| {
            DiffLine::Text {
                sign,
                number: first + at,
                words: words
                    .iter()
                    .map(|(marked, text)| (*marked, text.trim_end_matches(['\n', '\r']).to_string()))
                    .collect(),
                tokens: Vec::new(),
            }
        }));
    }

    /// Whether the texts are equal.
    pub(crate) fn is_empty(&self) -> bool {
        self.added == 0 && self.removed == 0
    }

    /// `+3 −1`
    pub(crate) fn counts(&self, theme: &Theme) -> Vec<StyledSpan> {
        let mut pieces = Vec::new();
        if self.added > 0 {
            pieces.push(StyledSpan::new(format!("+{}", self.added), theme.good));
        }
        if self.removed > 0 {
            let space = if pieces.is_empty() { "" } else { " " };
            pieces.push(StyledSpan::new(format!("{space}−{}", self.removed), theme.bad));
        }
        pieces
    }

    /// Renders at most `most` rows; the last one counts the omitted lines. Long lines are wrapped.
    pub(crate) fn rows(&self, width: usize, most: usize, context: RenderContext<'_>) -> Vec<StyledRow> {
        let theme = context.theme;
        let digits = self
            .lines
            .iter()
            .filter_map(DiffLine::number)
            .max()
            .unwrap_or(0)
            .to_string()
            .len()
            .max(3);
        let mut rows: Vec<StyledRow> = Vec::new();
        let mut shown = 0;
        for line in &self.lines {
            // Text beyond the visible rows is not wrapped.
            let row = line.row(digits, theme).truncate(width.saturating_mul(most));
            let wrapped = wrap(&row, width, &line.indent(digits, theme));
            let reserved = usize::from(shown + 1 < self.lines.len());
            if rows.len() + wrapped.len() + reserved > most {
                break;
            }
            rows.extend(wrapped);
            shown += 1;
        }
        // Tinted rows have the same width. The second span has the tint of the line; the last one may be a changed word.
        let widest = rows.iter().map(StyledRow::width).max().unwrap_or(0);
        for row in &mut rows {
            let tint = row.spans.get(1).map(|mark| mark.style.bg).unwrap_or_default();
            if let Some(bg) = tint {
                let blank = " ".repeat(widest - row.width());
                row.spans.push(StyledSpan::new(blank, Style::new().bg(bg)));
            }
        }
        let missing = self.lines.len() - shown;
        if missing > 0 {
            let text = format!("{:>digits$} {}", "", hidden_lines(missing, &context.details_key()));
            rows.push(StyledRow::new(text, theme.dim).truncate(width));
        }
        rows
    }
}

/// The words of a line, each marked if it changed.
type MarkedWords<'a> = Vec<(bool, &'a str)>;

fn plain<'a>(lines: &[&'a str]) -> Vec<MarkedWords<'a>> {
    lines.iter().map(|line| vec![(false, *line)]).collect()
}

/// Marks changed words, if enough of the lines is unchanged to make that useful.
fn mark_words<'a>(
    removed: &[&'a str],
    added: &[&'a str],
    deadline: Instant,
) -> Option<(Vec<MarkedWords<'a>>, Vec<MarkedWords<'a>>)> {
    let enough = |same: usize, old: usize, new: usize| 4 * same >= old + new;
    if removed.is_empty() || added.is_empty() || !enough(removed.len().min(added.len()), removed.len(), added.len()) {
        return None;
    }
    let (old, new) = (words_by_line(removed), words_by_line(added));
    let texts = |words: &[(usize, &'a str)]| -> Vec<&'a str> { words.iter().map(|(_, word)| *word).collect() };
    let ops = edit::compare(&texts(&old), &texts(&new), Some(deadline));
    let same = ops.iter().filter(|op| op.tag() == DiffTag::Equal);
    if !enough(same.map(|op| op.old_range().len()).sum(), old.len(), new.len()) {
        return None;
    }
    let (mut before, mut after) = (vec![Vec::new(); removed.len()], vec![Vec::new(); added.len()]);
    for op in ops {
        let (tag, removed, added) = op.as_tag_tuple();
        let is_change = tag != DiffTag::Equal;
        mark(&mut before, old.get(removed).unwrap_or_default(), is_change);
        mark(&mut after, new.get(added).unwrap_or_default(), is_change);
    }
    Some((before, after))
}

/// The words of all lines with their line index.
fn words_by_line<'a>(lines: &[&'a str]) -> Vec<(usize, &'a str)> {
    let numbered = lines.iter().enumerate();
    numbered
        .flat_map(|(at, line)| edit::words(line).into_iter().map(move |word| (at, word)))
        .collect()
}

fn mark<'a>(lines: &mut [MarkedWords<'a>], words: &[(usize, &'a str)], is_change: bool) {
    for (line, word) in words {
        if let Some(line) = lines.get_mut(*line) {
            line.push((is_change && !word.ends_with('\n'), word));
        }
    }
}

impl DiffLine {
    fn number(&self) -> Option<usize> {
        match self {
            DiffLine::Gap => None,
            DiffLine::Text { number, .. } => Some(*number),
        }
    }

    /// The start of a wrapped line's further rows.
    fn indent(&self, digits: usize, theme: &Theme) -> StyledRow {
        let bg = match self {
            DiffLine::Text {
                sign: LineChange::Added,
                ..
            } => theme.added.bg,
            DiffLine::Text {
                sign: LineChange::Removed,
                ..
            } => theme.removed.bg,
            DiffLine::Text { .. } | DiffLine::Gap => None,
        };
        let tint = Style { bg, ..Style::new() };
        StyledRow::new(" ".repeat(digits + 1), theme.dim).push("  ", tint)
    }

    fn row(&self, digits: usize, theme: &Theme) -> StyledRow {
        let DiffLine::Text {
            sign,
            number,
            words,
            tokens,
        } = self
        else {
            return StyledRow::new(format!("{:>digits$} ⋯", ""), theme.dim);
        };
        let (mark, style, marked) = match sign {
            LineChange::Unchanged => ("  ", theme.dim, theme.dim),
            LineChange::Added => ("+ ", theme.added, theme.added_words),
            LineChange::Removed => ("- ", theme.removed, theme.removed_words),
        };
        // Without a tint, the colour of the text shows the change.
        let is_tinted = style.bg.is_some();
        let is_highlighted = is_tinted || *sign == LineChange::Unchanged;
        // A line that changed completely needs no word marks.
        let whole = words.iter().all(|(changed, text)| *changed || text.trim().is_empty());
        let mut pieces = vec![
            StyledSpan::new(format!("{number:>digits$} "), theme.dim),
            StyledSpan::new(mark, style),
        ];
        let mut at = 0;
        for (changed, text) in words {
            let style = if *changed && !whole { marked } else { style };
            let range = at..at + text.len();
            at = range.end;
            if !is_highlighted || tokens.is_empty() {
                pieces.push(StyledSpan::new(sanitise(text), style));
                continue;
            }
            let base = match sign {
                LineChange::Unchanged => theme.text,
                LineChange::Added | LineChange::Removed => style,
            };
            for (part, token) in split_by_tokens(&range, tokens) {
                let piece = text.get(part.start - range.start..part.end - range.start);
                let token = token.map(|token| theme.token_style(token)).unwrap_or_default();
                // The background shows the change, the colour the token.
                let fg = match (is_tinted && *sign != LineChange::Unchanged, *changed && !whole) {
                    (true, true) => base.fg,
                    (true, false) => theme.on_tint(token.fg).or(base.fg),
                    (false, _) => token.fg.or(base.fg),
                };
                let style = Style { fg, ..base };
                pieces.push(StyledSpan::new(sanitise(piece.unwrap_or_default()), style));
            }
        }
        StyledRow::from(pieces)
    }
}

/// Splits a range of a line at the borders of its tokens.
fn split_by_tokens(
    range: &Range<usize>,
    tokens: &[(Range<usize>, SyntaxToken)],
) -> Vec<(Range<usize>, Option<SyntaxToken>)> {
    let mut parts = Vec::new();
    let mut at = range.start;
    for (token, kind) in tokens {
        let (start, end) = (token.start.max(at), token.end.min(range.end));
        if start >= end {
            continue;
        }
        if start > at {
            parts.push((at..start, None));
        }
        parts.push((start..end, Some(*kind)));
        at = end;
    }
    if at < range.end {
        parts.push((at..range.end, None));
    }
    parts
}

/// Syntax tokens of a line, by byte range within it.
type LineTokens = Vec<(Range<usize>, SyntaxToken)>;

/// Syntax tokens of each line. Empty for an unknown language and for large texts.
fn line_tokens(path: &str, text: &str, backend: &dyn Backend) -> Vec<LineTokens> {
    match text.len() <= MAX_HIGHLIGHTED {
        true => backend
            .highlight(path, text)
            .map(|spans| tokens_by_line(text, &spans))
            .unwrap_or_default(),
        false => Vec::new(),
    }
}

fn tokens_by_line(text: &str, spans: &[(Range<usize>, SyntaxToken)]) -> Vec<LineTokens> {
    let mut lines = Vec::new();
    let mut spans = spans.iter().peekable();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        let mut tokens = Vec::new();
        while let Some((range, token)) = spans.peek() {
            if range.start >= end {
                break;
            }
            tokens.push((range.start.max(start) - start..range.end.min(end) - start, *token));
            // A token of several lines belongs to each of them.
            if range.end > end {
                break;
            }
            spans.next();
        }
        lines.push(tokens);
        start = end;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::render_context;
    use crate::test_support::{FakeBackend, ViewHarness};
    use ratatui::style::Color;

    fn lines(before: &str, after: &str, most: usize) -> Vec<String> {
        let harness = ViewHarness::new(FakeBackend::default());
        let rows = LineDiff::between(before, after, 1).rows(60, most, render_context(&harness.cx()));
        rows.iter().map(StyledRow::text).collect()
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
        assert_eq!(lines(&before, &after, 4).last().unwrap(), "    +6 lines (ctrl+o)");
        assert_eq!(lines("a\n", "a\n", 9), Vec::<String>::new());
    }

    #[test]
    fn a_long_line_is_wrapped_and_all_of_it_can_be_read() {
        let words: String = (0..40).map(|n| format!("word{n} ")).collect();
        let shown = lines("", &format!("{words}end\nlast\n"), usize::MAX);
        assert_eq!(shown.last().unwrap(), "  2 + last");
        assert!(shown[1].starts_with("      word"), "{shown:#?}");
        let text = shown.join(" ");
        assert!(
            (0..40).all(|n| text.contains(&format!("word{n} "))) && text.contains("end"),
            "{shown:#?}"
        );
        // A line that does not fit is counted.
        assert_eq!(lines("", &format!("{words}end\nlast\n"), 3), ["    +2 lines (ctrl+o)"]);
    }

    #[test]
    fn the_words_that_changed_are_marked() {
        let harness = ViewHarness::new(FakeBackend::default());
        let (cx, theme) = (harness.cx(), Theme::default());
        let diff = LineDiff::between("let user = name;\n", "let user = name.trim();\n", 1);
        let rows = diff.rows(60, 9, render_context(&cx));
        let marked = |row: &StyledRow| -> String {
            let words = [theme.added_words, theme.removed_words];
            let pieces = row.spans.iter().filter(|piece| words.contains(&piece.style));
            pieces.map(|piece| piece.text.as_str()).collect()
        };
        assert!(marked(&rows[1]).contains("trim"), "{rows:?}");
        assert!(!marked(&rows[1]).contains("let"), "{rows:?}");
    }

    #[test]
    fn the_rest_of_a_short_line_has_the_tint_of_the_line() {
        let harness = ViewHarness::new(FakeBackend::default());
        let cx = harness.cx();
        let mut theme = Theme::default();
        theme.removed.bg = Some(Color::Red);
        theme.removed_words.bg = Some(Color::LightRed);
        theme.added.bg = Some(Color::Green);
        let context = RenderContext {
            theme: &theme,
            ..render_context(&cx)
        };
        let rows = LineDiff::between("let items = [];\n", "let items = a_long_list();\n", 1).rows(60, 9, context);
        let rest = rows[0].spans.last().unwrap();
        assert_eq!((rest.text.trim(), rest.style.bg), ("", theme.removed.bg), "{rows:?}");
        assert_eq!(rows[0].width(), rows[1].width());
    }

    #[test]
    fn hunks_have_context_lines_and_the_numbers_of_the_current_file() {
        let harness = ViewHarness::new(FakeBackend::default());
        let hunk = |line, before: &str, after: &str| ReviewableHunk {
            line,
            before: before.into(),
            after: after.into(),
            ..ReviewableHunk::default()
        };
        let now = "1\n2\nnew\n4\n5\n6\n7\nadded\n8\n";
        let hunks = [
            hunk(3, "old\ngone\n", "new\n"),
            hunk(8, "", "added\n"),
            hunk(9, "x\n", "not current\n"),
        ];
        let cx = harness.cx();
        let diffs = LineDiff::hunks("a.txt", now, &hunks, &**cx.backend);
        let rows = |diff: &LineDiff| -> Vec<String> {
            let rows = diff.rows(60, usize::MAX, render_context(&harness.cx()));
            rows.iter().map(|row| row.text().trim().to_string()).collect()
        };
        assert_eq!(
            rows(&diffs[0]),
            [
                "1   1", "2   2", "3 - old", "4 - gone", "3 + new", "4   4", "5   5", "6   6"
            ]
        );
        assert_eq!(rows(&diffs[1]), ["5   5", "6   6", "7   7", "8 + added", "9   8"]);
        assert_eq!(
            rows(&diffs[2]),
            ["6   6", "7   7", "8   added", "9 - x", "9 + not current"]
        );
    }

    #[test]
    fn counts_show_added_and_removed_lines() {
        let diff = LineDiff::between("a\nb\n", "a\nc\nd\n", 1);
        let counts: String = diff
            .counts(&Theme::default())
            .iter()
            .map(|piece| piece.text.clone())
            .collect();
        assert_eq!(counts, "+2 −1");
        assert!(LineDiff::between("x", "x", 1).is_empty());
    }
}
