//! Checks the lines of a result against those around them: repeated lines and lost indentation are refused.

use std::ops::Range;

use crate::document::TextDocument;
use crate::fold::{indent_of, is_blank, similarity, squash};
use crate::indent::opens_block;
use crate::refusal::RefusalReason;
use crate::resolve::{LineOp, ResolvedEdit, depth, line_ops, yaml};
use crate::text_kind::TextKind;

/// Refuses lines for `range` that repeat the lines of the file next to it.
pub(crate) fn refuse_repeated(
    document: &TextDocument,
    range: &Range<usize>,
    new: &[String],
) -> Result<(), RefusalReason> {
    let old: Vec<&str> = range.clone().map(|line| document.line(line)).collect();
    let new: Vec<&str> = new.iter().map(String::as_str).collect();
    let line = repeated_neighbour(document, range, &line_ops(&old, &new));
    line.map_or(Ok(()), |line| Err(RefusalReason::RepeatedNeighbour { line: line + 1 }))
}

fn letters(line: &str) -> usize {
    line.chars().filter(|c| c.is_alphanumeric()).count()
}

pub(crate) fn is_unique(document: &TextDocument, line: &str) -> bool {
    letters(line) > 7 && document.lines().filter(|other| *other == line).count() == 1
}

/// The line (from 0) next to the quoted lines `range` that lines added at their end or start repeat.
pub(crate) fn repeated_neighbour(document: &TextDocument, range: &Range<usize>, ops: &[LineOp]) -> Option<usize> {
    const MOST: usize = 8;
    let is_removed = |op: &&LineOp| matches!(op, LineOp::Remove(_));
    let new: Vec<&LineOp> = ops.iter().filter(|op| !is_removed(op)).collect();
    let added = |op: &&LineOp| match op {
        LineOp::Add(line) => Some(line.trim_end().to_owned()),
        LineOp::Keep(_) | LineOp::Remove(_) => None,
    };
    let mut last: Vec<String> = new.iter().rev().map_while(added).collect();
    let first: Vec<String> = new.iter().map_while(added).collect();
    last.reverse();
    let is_same = |lines: Range<usize>, other: &[String]| {
        let has_words = lines.clone().map(|at| letters(document.line(at))).sum::<usize>() > 2;
        has_words
            && lines
                .zip(other)
                .all(|(at, other)| document.line(at).trim_end() == other)
    };
    // Additions after the last quoted line may also start with the next line of the file.
    let is_appended = matches!(
        ops.len().checked_sub(last.len() + 1).and_then(|at| ops.get(at)),
        Some(LineOp::Keep(_))
    );
    let is_prepended = matches!(ops.get(first.len()), Some(LineOp::Keep(_)));
    let below = document
        .line_count()
        .saturating_sub(range.end)
        .min(MOST)
        .min(last.len());
    let is_below = (1..=below).any(|count| is_same(range.end..range.end + count, &last[last.len() - count..]))
        || below > 0
            && is_appended
            && is_same(range.end..range.end + 1, &last)
            && is_unique(document, document.line(range.end))
        || repeats_block(document, &mut (range.end..document.line_count()), last.iter());
    let above = range.start.min(MOST).min(first.len());
    let is_above = (1..=above).any(|count| is_same(range.start - count..range.start, &first))
        || above > 0
            && is_prepended
            && is_same(range.start - 1..range.start, &first[first.len() - 1..])
            && is_unique(document, document.line(range.start - 1))
        || repeats_block(document, &mut (0..range.start).rev(), first.iter().rev());
    match (is_below, is_above) {
        (true, _) => Some(range.end),
        (false, true) => Some(range.start - 1),
        (false, false) => None,
    }
}

/// Whether most of the added lines are those of the file, `beside` the quoted ones and in their order: a whole block is
/// written for the quoted part of it. Lines that a similar block would share do not count.
fn repeats_block<'a>(
    document: &TextDocument,
    beside: &mut dyn Iterator<Item = usize>,
    added: impl Iterator<Item = &'a String>,
) -> bool {
    const MOST: usize = 60;
    const SPARE: usize = 4;
    let added: Vec<&str> = added
        .map(String::as_str)
        .filter(|line| !is_blank(line))
        .take(MOST)
        .collect();
    if added.iter().filter(|line| letters(line) > 2).count() < 2 {
        return false;
    }
    let lines = beside
        .map(|at| document.line(at).trim_end())
        .filter(|line| !is_blank(line));
    let lines: Vec<&str> = lines.take(added.len() + SPARE).collect();
    let shared = common_lines(&added, &lines);
    let unique = || {
        let words = shared.iter().filter(|line| letters(line) > 7);
        words.filter(|line| is_unique(document, line)).count()
    };
    let with_words = shared.iter().filter(|line| letters(line) > 2).count();
    let starts_alike = added.first() == lines.first() && added.first().is_some_and(|line| letters(line) > 2);
    let is_share = |parts: usize, of: usize| shared.len() * of >= added.len() * parts;
    let is_mostly_shared =
        is_share(2, 3) && unique() > 1 || is_share(3, 4) && unique() > 0 || is_share(1, 2) && unique() > 2;
    let ends_open = || {
        let last = added
            .last()
            .filter(|last| last.ends_with(OPEN_ENDS) && shared.contains(last));
        last.is_some_and(|last| is_unique(document, last))
    };
    is_share(1, 2) && ends_open()
        || with_words > 1 && is_mostly_shared
        || with_words > 1 && starts_alike && is_share(3, 5) && shared.len() > 2
}

/// The longest common subsequence.
fn common_lines<'a>(one: &[&'a str], other: &[&str]) -> Vec<&'a str> {
    let width = other.len() + 1;
    let mut lengths = vec![0_usize; (one.len() + 1) * width];
    for (row, line) in one.iter().enumerate().rev() {
        for (column, other) in other.iter().enumerate().rev() {
            let at = row * width + column;
            lengths[at] = match line == other {
                true => lengths[at + width + 1] + 1,
                false => lengths[at + width].max(lengths[at + 1]),
            };
        }
    }
    let (mut row, mut column, mut common) = (0, 0, Vec::new());
    while row < one.len() && column < other.len() {
        let at = row * width + column;
        if one[row] == other[column] {
            common.push(one[row]);
            (row, column) = (row + 1, column + 1);
        } else if lengths[at + width] >= lengths[at + 1] {
            row += 1;
        } else {
            column += 1;
        }
    }
    common
}

/// Whether new lines have lost the indentation of their place, or have tabs where the file has spaces or the reverse. An
/// edit that only changes whitespace means it.
pub(crate) fn is_misplaced(
    document: &TextDocument,
    (old, new): (&str, &str),
    found: &ResolvedEdit,
    kind: TextKind<'_>,
) -> bool {
    // The structure of the whole file is read for each.
    const MOST_CHECKED: usize = 8;
    if kind.is_document() || squash(old) == squash(new) {
        return false;
    }
    if is_moved_out(old, new) {
        return true;
    }
    found.splices.iter().any(|splice| {
        let (first, last) = (document.line_at(splice.range.start), document.line_at(splice.range.end));
        let head = &document.body()[document.line_start(first)..splice.range.start];
        let tail = document.body()[splice.range.end..]
            .split('\n')
            .next()
            .unwrap_or_default();
        let text = format!("{head}{}{tail}", splice.text);
        let is_whole = splice.range.end == document.line_start(last);
        let end = if is_whole {
            last
        } else {
            (last + 1).min(document.line_count())
        };
        let text = if is_whole {
            &text[..text.len() - tail.len()]
        } else {
            &text
        };
        let place = NewLines {
            document,
            replaced: first..end,
            text,
        };
        place.has_other_tabs(kind)
            || kind.is_indented() && place.has_line_at_margin()
            || kind.has_blocks() && depth::is_out_of_place(document, &place.replaced, text, kind)
            || kind.is_yaml()
                && found.splices.len() <= MOST_CHECKED
                && yaml::breaks_structure(document, &place.replaced, text)
    })
}

/// Whether the new text is further out than the quoted lines by an amount that all lines which both have confirm, or starts
/// at the margin with a line similar to an indented one.
fn is_moved_out(old: &str, new: &str) -> bool {
    let solid =
        |text: &'_ str| -> Vec<String> { text.lines().filter(|line| !is_blank(line)).map(str::to_owned).collect() };
    let (old, new) = (solid(old), solid(new));
    if first_line_is_cut(&old, &new) {
        return true;
    }
    let outermost = |lines: &[String]| lines.iter().map(|line| indent_of(line).len()).min().unwrap_or_default();
    let (depth, first) = (outermost(&old), new.first().map_or("", String::as_str));
    let Some(amount) = depth.checked_sub(outermost(&new)).filter(|amount| *amount > 0) else {
        return false;
    };
    if indent_of(first).is_empty() && old.iter().any(|line| similarity(line.trim(), first) >= 0.6) {
        return true;
    }
    let mut shared = new.iter().filter(|line| letters(line) > 2).filter_map(|line| {
        let is_shifted = |same: &&String| indent_of(same).len().checked_sub(indent_of(line).len()) == Some(amount);
        let mut same = old.iter().filter(|old| old.trim() == line.trim()).peekable();
        same.peek()?;
        Some(same.any(|same| is_shifted(&same)))
    });
    shared.next().is_some_and(|first| first) && shared.all(|is_shifted| is_shifted)
}

/// Whether only the first line has lost its indentation, among the lines that both texts have.
fn first_line_is_cut(old: &[String], new: &[String]) -> bool {
    let Some((was, now)) = old.first().zip(new.first()) else {
        return false;
    };
    let is_cut = !indent_of(was).is_empty() && indent_of(now).is_empty() && similarity(was.trim(), now) >= 0.6;
    let mut others = new[1..].iter().filter(|line| letters(line) > 2).filter_map(|line| {
        let same = old.iter().find(|old| old.trim() == line.trim())?;
        Some(same.trim_end() == line.trim_end())
    });
    is_cut && others.next().is_some_and(|first| first) && others.all(|is_kept| is_kept)
}

/// Lines that a change writes, with the lines (from 0) that they replace.
struct NewLines<'a> {
    document: &'a TextDocument,
    replaced: Range<usize>,
    text: &'a str,
}

impl NewLines<'_> {
    fn above(&self, line: usize) -> Option<&str> {
        let lines = (0..line.min(self.document.line_count())).rev();
        lines.map(|at| self.document.line(at)).find(|line| !is_blank(line))
    }

    fn below(&self, line: usize) -> Option<&str> {
        let lines = line..self.document.line_count();
        lines.map(|at| self.document.line(at)).find(|line| !is_blank(line))
    }

    fn is_new(&self, line: &str) -> bool {
        !self
            .replaced
            .clone()
            .any(|at| self.document.line(at).trim_end() == line.trim_end())
    }

    /// Whether a new line is indented by tabs and no line of the file is, or by spaces where all lines have tabs.
    fn has_other_tabs(&self, kind: TextKind<'_>) -> bool {
        if kind.is_makefile() && self.has_recipe_of_spaces() {
            return true;
        }
        let indent = |line: &str| match indent_of(line) {
            indent if indent.starts_with('\t') => Some('\t'),
            indent if indent.len() > 1 && !line.trim_start().starts_with('*') => Some(' '),
            _ => None,
        };
        let new: Vec<char> = self
            .text
            .lines()
            .filter(|line| self.is_new(line))
            .filter_map(indent)
            .collect();
        let Some(first) = new.first().filter(|first| !kind.is_tab_usual() || **first == ' ') else {
            return false;
        };
        let near = self
            .above(self.replaced.start)
            .into_iter()
            .chain(self.below(self.replaced.end))
            .find_map(indent);
        if new.iter().any(|other| other != first) || near == Some(*first) {
            return false;
        }
        let mut others = 0;
        for line in self.document.lines() {
            match indent(line) {
                Some(kind) if kind == *first => return false,
                Some(_) => others += 1,
                None => {}
            }
        }
        others > 1
    }

    /// Whether a new line of a recipe is indented by spaces or at the margin.
    fn has_recipe_of_spaces(&self) -> bool {
        const DIRECTIVES: [&str; 14] = [
            "if", "else", "end", "define", "include", "-include", "sinclude", "export", "unexport", "vpath",
            "override", "@", "$(", "#",
        ];
        let is_command = |line: &str| {
            indent_of(line).is_empty()
                && letters(line) > 2
                && !line.contains([':', '='])
                && !DIRECTIVES.iter().any(|start| line.starts_with(start))
        };
        let mut above = self.above(self.replaced.start).unwrap_or_default();
        for line in self.text.lines().filter(|line| !is_blank(line)) {
            let is_rule =
                indent_of(above).is_empty() && !above.starts_with('#') && above.contains(':') && !above.contains('=');
            let is_recipe = above.starts_with('\t') || is_rule;
            let is_after_recipe = above.starts_with('\t') && is_command(line);
            if (line.starts_with("  ") || is_after_recipe) && is_recipe && !above.ends_with('\\') && self.is_new(line) {
                return true;
            }
            above = line;
        }
        false
    }

    /// Whether a new statement is at the margin, between indented lines.
    fn has_line_at_margin(&self) -> bool {
        // Lines of a string can have any indentation.
        if ["\"\"\"", "'''", "`", "<<", "r#\""]
            .iter()
            .any(|mark| self.text.contains(mark))
        {
            return false;
        }
        let is_at_margin = |line: &str| indent_of(line).is_empty() && !is_blank(line);
        if self.replaced.clone().any(|at| is_at_margin(self.document.line(at))) {
            return false;
        }
        let lines: Vec<&str> = self.text.lines().filter(|line| !is_blank(line)).collect();
        let replaced: Vec<&str> = self.replaced.clone().map(|at| self.document.line(at)).collect();
        let is_indented = |line: Option<&str>| line.is_some_and(|line| !indent_of(line).is_empty());
        let is_inside = is_indented(self.above(self.replaced.start)) && is_indented(self.below(self.replaced.end));
        let is_like = |line: &str| replaced.iter().any(|old| similarity(old.trim(), line.trim()) >= 0.6);
        let starts_block = |line: &str| !replaced.iter().all(|old| is_blank(old)) && line.ends_with('{');
        if let Some(first) = lines.first().filter(|first| is_inside && is_at_margin(first))
            && !first.starts_with('#')
            && (is_like(first) || starts_block(first))
        {
            return true;
        }
        let mut at = 0;
        while at < lines.len() {
            let count = lines[at..].iter().take_while(|line| is_at_margin(line)).count();
            let run = &lines[at..at + count];
            let above = match at.checked_sub(1) {
                Some(above) => lines.get(above).copied(),
                None => self.above(self.replaced.start),
            };
            let below = match lines.get(at + count) {
                Some(below) => Some(*below),
                None => self.below(self.replaced.end),
            };
            if run.iter().all(|line| self.is_new(line))
                && run.iter().any(|line| !may_be_at_margin(line))
                && run.last().is_some_and(|last| !last.ends_with(OPEN_ENDS))
                && is_between_indented(above, below)
            {
                return !self.has_such_line(run[0]);
            }
            at += count + 1;
        }
        false
    }

    /// Whether the file has a statement at the margin between indented lines, or an item of a list there like `first`.
    fn has_such_line(&self, first: &str) -> bool {
        let is_item = |line: &str| line.starts_with("- ");
        if is_item(first) && self.document.lines().any(is_item) {
            return true;
        }
        let solid: Vec<&str> = self.document.lines().filter(|line| !is_blank(line)).collect();
        solid.windows(3).any(|lines| {
            indent_of(lines[1]).is_empty()
                && !may_be_at_margin(lines[1])
                && is_between_indented(Some(lines[0]), Some(lines[2]))
        })
    }
}

fn is_between_indented(above: Option<&str>, below: Option<&str>) -> bool {
    let is_indented = |line: &str| !indent_of(line).is_empty();
    let is_inside = |above: &str| is_indented(above) || opens_block(above) && below.is_some_and(is_indented);
    let Some((above, below)) = above.zip(below).filter(|(above, _)| is_inside(above)) else {
        return false;
    };
    let continues = [".", "&&", "||", "?", ":", "+", "|"]
        .iter()
        .any(|mark| below.trim_start().starts_with(mark));
    let closes = below.starts_with(['}', ')', ']']) && is_indented(above);
    (is_indented(below) || closes) && !continues
}

/// How a line ends that opens a block or continues on the next one.
const OPEN_ENDS: [char; 18] = [
    '{', '(', '[', ':', ',', '=', '\\', '+', '-', '|', '&', '?', '<', '>', '`', '"', '\'', '.',
];

/// Comments, directives, labels, brackets, and lines that open a block or continue on the next one.
fn may_be_at_margin(line: &str) -> bool {
    let line = line.trim_end();
    let starts = [
        "//", "#", "/*", "*", "--", "@", "}", ")", "]", "<", "end", "%", "\\", "extern", "using",
    ];
    starts.iter().any(|start| line.starts_with(start)) || line.ends_with(OPEN_ENDS) || letters(line) == 0
}
