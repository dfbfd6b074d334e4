//! Checks the structure that the indentation of a YAML file describes.

use std::ops::Range;

use crate::document::TextDocument;
use crate::fold::{indent_of, is_blank};

/// A key or an item of a list above the current line.
#[derive(Clone, Copy)]
struct YamlEntry {
    column: usize,
    kind: YamlKind,
    /// The line of the file.
    line: usize,
    /// Whether deeper lines may follow.
    is_open: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum YamlKind {
    Item,
    Key,
    Text,
}

/// Whether `text`, in place of the lines `replaced`, makes the indentation of a file contradictory that was not before.
pub(crate) fn breaks_structure(document: &TextDocument, replaced: &Range<usize>, text: &str) -> bool {
    const MOST: usize = 10_000;
    if document.line_count() > MOST {
        return false;
    }
    let head = (0..replaced.start).map(|at| document.line(at));
    let tail = (replaced.end..document.line_count()).map(|at| document.line(at));
    contradictions(head.chain(text.lines()).chain(tail)) > contradictions(document.lines())
}

/// The number of lines whose indentation does not agree with that of the lines above.
fn contradictions<'l>(lines: impl Iterator<Item = &'l str>) -> usize {
    let mut stack: Vec<YamlEntry> = Vec::new();
    let mut count = 0;
    // The column of the entry whose text continues on deeper lines.
    let mut scalar: Option<usize> = None;
    let mut previous = None;
    let mut open_value: Option<OpenValue> = None;
    for (number, line) in lines.enumerate() {
        let column = indent_of(line).len();
        let text = line.trim();
        if is_blank(line) || text.starts_with('#') || scalar.is_some_and(|scalar| column > scalar) {
            continue;
        }
        scalar = None;
        if let Some(open) = open_value.take() {
            open_value = open.after(text);
            continue;
        }
        if text == "---" || text == "..." {
            stack.clear();
            previous = None;
            continue;
        }
        let entries = entries(text, column, number);
        let (first, last) = (entries[0], entries[entries.len() - 1]);
        // Text, such as the lines of a template, is not part of the structure.
        while first.kind != YamlKind::Text && stack.last().is_some_and(|top| top.column > first.column) {
            stack.pop();
        }
        open_value = OpenValue::of(text);
        count += usize::from(first.kind != YamlKind::Text && !fits(&mut stack, first, previous));
        for entry in entries.into_iter().filter(|entry| entry.kind != YamlKind::Text) {
            let is_list_of_key = |top: &YamlEntry| entry.kind == YamlKind::Item && top.kind == YamlKind::Key;
            while stack
                .last()
                .is_some_and(|top| top.column > entry.column || top.column == entry.column && !is_list_of_key(top))
            {
                stack.pop();
            }
            stack.push(entry);
        }
        if is_scalar(text) {
            scalar = Some(if last.kind == YamlKind::Key {
                last.column
            } else {
                first.column
            });
        }
        // Other text between a key and its lines is not for this check.
        if last.kind != YamlKind::Text || first.kind == YamlKind::Item {
            previous = Some(number);
        }
    }
    count
}

/// Whether an entry can follow the entries above it.
fn fits(stack: &mut Vec<YamlEntry>, entry: YamlEntry, previous: Option<usize>) -> bool {
    let Some(top) = stack.last().copied() else {
        return previous.is_none();
    };
    let is_below_opener = top.is_open && Some(top.line) == previous;
    if top.column < entry.column {
        return is_below_opener;
    }
    match (entry.kind, top.kind) {
        (YamlKind::Item, YamlKind::Key) => is_below_opener,
        (YamlKind::Key, YamlKind::Item) => {
            stack.pop();
            stack
                .last()
                .is_some_and(|key| key.column == entry.column && key.kind == YamlKind::Key)
        }
        _ => true,
    }
}

/// The items of lists that a line starts, and its key or text.
fn entries(text: &str, column: usize, line: usize) -> Vec<YamlEntry> {
    let (mut rest, mut column, mut entries) = (text, column, Vec::new());
    while let Some(inside) = rest
        .strip_prefix('-')
        .filter(|inside| inside.is_empty() || inside.starts_with(' '))
    {
        let kind = YamlKind::Item;
        entries.push(YamlEntry {
            column,
            kind,
            line,
            is_open: true,
        });
        column += rest.len() - inside.trim_start().len();
        rest = inside.trim_start();
    }
    let plain = without_comment(rest);
    let key = match rest.chars().next() {
        Some(quote @ ('"' | '\'')) => rest[1..].split_once(quote).map(|(_, after)| after),
        Some('[' | '{') | None => None,
        Some(_) => plain
            .find(": ")
            .map(|at| &plain[at..])
            .or(plain.ends_with(':').then_some(":")),
    };
    let value = key.and_then(|after| after.strip_prefix(':'));
    let value = value
        .filter(|value| value.is_empty() || value.starts_with(' '))
        .map(without_comment);
    let is_tag = |word: &str| word.starts_with(['&', '!']);
    entries.push(YamlEntry {
        column,
        kind: if value.is_some() { YamlKind::Key } else { YamlKind::Text },
        line,
        is_open: value.is_some_and(|value| value.split_whitespace().all(is_tag)),
    });
    entries
}

fn without_comment(text: &str) -> &str {
    text.split(" #").next().unwrap_or_default().trim_end()
}

/// Whether the lines below are text: the line ends in `|` or `>`, possibly with a number and a sign.
fn is_scalar(text: &str) -> bool {
    let text = without_comment(text).trim_end_matches(|c: char| c.is_ascii_digit() || c == '+' || c == '-');
    let before = text
        .strip_suffix(['|', '>'])
        .filter(|before| before.ends_with([' ', '\t']));
    let last = before.and_then(|before| before.split_whitespace().rfind(|word| !word.starts_with(['!', '&'])));
    last.is_some_and(|word| word.ends_with([':', '-']))
}

/// A value in brackets or quotes that continues on the lines below.
enum OpenValue {
    Brackets(usize),
    Quote(char),
}

impl OpenValue {
    /// What a line with a key or an item leaves open.
    fn of(line: &str) -> Option<Self> {
        let value = line
            .split_once(": ")
            .map_or_else(|| line.trim_start_matches("- "), |(_, value)| value.trim());
        match value.chars().next()? {
            '{' | '[' => Self::Brackets(0).after(value),
            quote @ ('"' | '\'') => (!value[1..].contains(quote)).then_some(Self::Quote(quote)),
            _ => None,
        }
    }

    /// What is still open after a line.
    fn after(self, line: &str) -> Option<Self> {
        match self {
            Self::Brackets(depth) => {
                let count = |brackets: [char; 2]| line.matches(brackets).count();
                let open = (depth + count(['{', '['])).saturating_sub(count(['}', ']']));
                (open > 0).then_some(Self::Brackets(open))
            }
            Self::Quote(quote) => (!line.contains(quote)).then_some(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_indentation_that_contradicts_the_lines_above_is_found() {
        for (expected, text) in [
            (
                0,
                "a:\n  - x: 1\n    y: 2\n  - |\n    z\n   q\nb:\n- c\n- d: 1\n  e: 2\nf: g\n",
            ),
            (
                0,
                "a:\n  b: !Sub |\n    c: 1\n  d: {\n  \"e\": [\n    1\n]}\n  f: \"x\n y: z\"\n{{- if .V }}\n  g: 1\n{{- end }}\n",
            ),
            (0, "---\n\"k\": |-\n  any: text\n - more\n'l': &m\n  <<: *n\n"),
            (1, "a:\n  b: 1\n- c\nd: e\n"),
            (1, "a:\n  b: 1\n    c: 2\n"),
        ] {
            assert_eq!(contradictions(text.lines()), expected, "{text}");
        }
    }
}
