//! Checks that changed lines are at least as deep as the block around them.

use std::ops::Range;

use similar::DiffTag;

use crate::document::TextDocument;
use crate::fold::{indent_of, is_blank, similarity};
use crate::indent::indent_unit;
use crate::text_diff::compare;
use crate::text_kind::TextKind;

/// Lines added at one place, with the lines that they replace and those around them.
struct ChangedRun<'a> {
    removed: Vec<&'a str>,
    added: Vec<&'a str>,
    above: &'a str,
    below: &'a str,
}

/// Whether `text`, in place of the lines `replaced`, leaves the block around it although that block continues below, or
/// has lines with an indentation between the levels of the file.
pub(crate) fn is_out_of_place(
    document: &TextDocument,
    replaced: &Range<usize>,
    text: &str,
    kind: TextKind<'_>,
) -> bool {
    let runs = changed_runs(document, replaced, text);
    runs.iter()
        .any(|run| run.leaves_block(document, kind) || run.lost_indentation())
        || is_between_levels(document, &runs)
}

fn changed_runs<'a>(document: &'a TextDocument, replaced: &Range<usize>, text: &'a str) -> Vec<ChangedRun<'a>> {
    let solid = |line: &&str| !is_blank(line);
    let old: Vec<&str> = replaced.clone().map(|at| document.line(at)).filter(solid).collect();
    let new: Vec<&str> = text.lines().filter(solid).collect();
    let outer_above = (0..replaced.start).rev().map(|at| document.line(at)).find(solid);
    let outer_below = (replaced.end..document.line_count())
        .map(|at| document.line(at))
        .find(solid);
    let run = |op: similar::DiffOp| {
        let (tag, removed, added) = op.as_tag_tuple();
        let above = added
            .start
            .checked_sub(1)
            .map_or(outer_above, |at| new.get(at).copied())?;
        let below = new.get(added.end).copied().or(outer_below)?;
        let is_change = matches!(tag, DiffTag::Insert | DiffTag::Replace);
        is_change.then(|| ChangedRun {
            removed: old[removed].to_vec(),
            added: new[added].to_vec(),
            above,
            below,
        })
    };
    compare(&old, &new, None).into_iter().filter_map(run).collect()
}

impl ChangedRun<'_> {
    /// Whether a line is further out than the lines around the change, and neither ends a block nor opens one that
    /// continues below.
    fn leaves_block(&self, document: &TextDocument, kind: TextKind<'_>) -> bool {
        let (mut top, mut bottom) = (width(self.above), width(self.below));
        if ends_open(self.above) && bottom > top {
            top = bottom;
        }
        if top > bottom && closes(self.below) {
            bottom = if ends_open(self.above) { bottom + 1 } else { top };
        }
        let around = self.removed.iter().map(|line| width(line)).chain([top, bottom]);
        let limit = around.min().unwrap_or_default();
        let mut shallow = self.added.iter().filter(|line| width(line) < limit).peekable();
        let (Some(first), Some(last)) = (shallow.peek().copied().copied(), self.added.last()) else {
            return false;
        };
        // A block is closed, or another one is opened that continues below.
        let is_split = closes(first)
            || width(last) < width(self.below) && (ends_open(last) || starts_open(last))
            || self.starts_other_block(limit)
            || balance(&self.added) != balance(&self.removed)
            || !self.removed.is_empty() && !self.has_moved_line();
        !is_split
            && shallow.any(|line| !(may_be_anywhere(line) || kind.has_labels() && is_label(line)))
            && !self.added.iter().any(|line| has_string_of_lines(line))
            && !has_such_line(document, width(first))
    }

    /// Whether an added line is similar to a deeper line that it replaces.
    fn has_moved_line(&self) -> bool {
        let is_moved = |added: &&str| {
            let has_words = |line: &str| line.chars().filter(|c| c.is_alphanumeric()).count() > 2;
            let deeper = |removed: &&&str| width(removed) > width(added) && has_words(removed);
            let mut deeper = self.removed.iter().filter(deeper);
            deeper.any(|removed| similarity(removed.trim(), added.trim()) >= 0.6)
        };
        self.added.iter().any(is_moved)
    }

    /// Whether the last line above the depth of the block opens one by indentation, which continues with other lines than
    /// a block of the same kind.
    fn starts_other_block(&self, limit: usize) -> bool {
        let opener = self.added.iter().rev().find(|line| width(line) < limit);
        let is_key = |line: &str| line.trim_end().ends_with(':') && self.added.last() == Some(&line);
        opener.is_some_and(|line| {
            (starts_open(line) || is_key(line))
                && first_word(line) != first_word(self.below)
                && !self.below.trim_start().starts_with('@')
        })
    }

    /// Whether each line is a changed line without its indentation.
    fn lost_indentation(&self) -> bool {
        let is_at_depth = |line: &str| {
            [self.above, self.below]
                .iter()
                .any(|near| indent_of(near) == indent_of(line))
        };
        let is_cut = |(removed, added): (&&str, &&str)| {
            indent_of(added).is_empty()
                && !indent_of(removed).is_empty()
                && is_at_depth(removed)
                && !may_be_anywhere(added)
                && similarity(removed.trim(), added.trim()) >= 0.6
        };
        self.removed.len() == self.added.len() && self.removed.iter().zip(&self.added).all(is_cut)
    }
}

/// Whether all added lines are one column off the levels of the file, where it has no such lines.
fn is_between_levels(document: &TextDocument, runs: &[ChangedRun<'_>]) -> bool {
    // A line like its neighbour is right there.
    let is_beside = |run: &&ChangedRun<'_>| {
        let near = [indent_of(run.above), indent_of(run.below)];
        run.added.iter().any(|line| near.contains(&indent_of(line)))
    };
    let added = || runs.iter().filter(|run| !is_beside(run)).flat_map(|run| &run.added);
    let is_indented = |line: &&&str| line.starts_with(' ');
    if !added().any(|line| is_indented(&line)) || added().any(|line| line.starts_with('\t')) {
        return false;
    }
    let unit = indent_unit(document.lines());
    let is_off = |line: &str| {
        let columns = indent_of(line).len();
        let is_text = line.trim_start().starts_with('*');
        columns > 0 && !is_text && (columns % unit.len() == 1 || (columns + 1).is_multiple_of(unit.len()))
    };
    unit.starts_with("  ")
        && added().filter(is_indented).all(|line| is_off(line))
        && !document.lines().any(|line| !is_blank(line) && is_off(line))
}

/// Whether the file has a line of this depth between deeper ones that neither opens nor closes a block.
fn has_such_line(document: &TextDocument, depth: usize) -> bool {
    let solid: Vec<&str> = document.lines().filter(|line| !is_blank(line)).collect();
    solid.windows(3).any(|lines| {
        width(lines[1]) == depth
            && width(lines[0]) > depth
            && width(lines[2]) > depth
            && !closes(lines[1])
            && !ends_open(lines[1])
            && !starts_open(lines[1])
            && !may_be_anywhere(lines[1])
    })
}

/// The brackets that lines open and do not close.
fn balance(lines: &[&str]) -> isize {
    let brackets = lines.iter().flat_map(|line| line.chars());
    brackets
        .map(|c| isize::from("([{".contains(c)) - isize::from(")]}".contains(c)))
        .sum()
}

fn width(line: &str) -> usize {
    indent_of(line).chars().map(|c| if c == '\t' { 4 } else { 1 }).sum()
}

fn first_word(line: &str) -> &str {
    let line = line.trim_start();
    let end = line
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(line.len());
    &line[..end]
}

/// Whether a line ends a block.
fn closes(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with(['}', ')', ']'])
        || line.starts_with("</")
        || ["/>", "-->", ";;", "{/", "{{/", "{% end", "{%- end", "{{- end", "{{ end"]
            .iter()
            .any(|end| line.starts_with(end))
        || ["end", "fi", "done", "esac", "endif", "endforeach", "endfunction"]
            .iter()
            .any(|end| first_word(line).eq_ignore_ascii_case(end))
}

/// Whether the end of a line opens a block or continues the line.
fn ends_open(line: &str) -> bool {
    let line = line.trim_end();
    line.ends_with(['{', '(', '[', ':', '=', '\\', '|', '&', '>'])
        || [" do", " then", "->"].iter().any(|word| line.ends_with(word))
}

/// Whether the first word of a line opens a block in languages in which the end of the line does not show it.
fn starts_open(line: &str) -> bool {
    const WORDS: [&str; 30] = [
        "else", "elif", "elsif", "elseif", "rescue", "ensure", "when", "case", "default", "catch", "finally", "except",
        "where", "begin", "do", "then", "def", "class", "module", "function", "with", "if", "for", "while", "unless",
        "switch", "let", "async", "try", "match",
    ];
    WORDS.contains(&first_word(line))
}

/// Comments, directives, labels and the like can have any indentation.
fn may_be_anywhere(line: &str) -> bool {
    let line = line.trim();
    let marks = [
        "//", "#", "/*", "*", "--", "<!--", "@", "%", "\\", "`", ".. ", ">", "{%", "{{", "<%",
    ];
    marks.iter().any(|mark| line.starts_with(mark)) || closes(line)
}

/// Whether a line is only a name with a colon.
fn is_label(line: &str) -> bool {
    let name = line.trim().strip_suffix(':');
    name.is_some_and(|name| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_.$".contains(c)))
}

/// Whether a string that continues on other lines starts or ends in a line.
fn has_string_of_lines(line: &str) -> bool {
    ["\"\"\"", "'''", "`", "<<", "r#\""]
        .iter()
        .any(|mark| line.contains(mark))
}
