//! A correct edit of a real file: quoted lines, the change and the exact result.

use edit::EditFormat;
use serde_json::json;

/// Deterministic pseudo-random numbers (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(bound.max(1)).unwrap_or(1)).unwrap_or(0)
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.below(items.len())]
    }
}

/// A file as lines.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) lines: Vec<String>,
    pub(crate) eol: &'static str,
    pub(crate) final_newline: bool,
    pub(crate) bom: bool,
    /// One level of indentation.
    pub(crate) unit: String,
}

pub(crate) fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

pub(crate) fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let bom = text.starts_with('\u{feff}');
        let text = text.trim_start_matches('\u{feff}');
        let eol = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let text = text.replace("\r\n", "\n");
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let unit = indent_unit(&lines);
        Self {
            path: path.to_owned(),
            final_newline: text.ends_with('\n'),
            lines,
            eol,
            bom,
            unit,
        }
    }

    pub(crate) fn render(&self, lines: &[String]) -> String {
        let mut text = if self.bom { "\u{feff}" } else { "" }.to_owned();
        text.push_str(&lines.join(self.eol));
        if self.final_newline && !lines.is_empty() {
            text.push_str(self.eol);
        }
        text
    }

    pub(crate) fn text(&self) -> String {
        self.render(&self.lines)
    }
}

/// The most frequent increase of indentation between neighbouring lines.
fn indent_unit(lines: &[String]) -> String {
    let mut counts: Vec<(String, usize)> = Vec::new();
    let solid: Vec<&String> = lines.iter().filter(|line| !is_blank(line)).collect();
    for pair in solid.windows(2) {
        if let Some(more) = indent(pair[1])
            .strip_prefix(indent(pair[0]))
            .filter(|more| !more.is_empty())
        {
            match counts.iter_mut().find(|(unit, _)| unit == more) {
                Some((_, count)) => *count += 1,
                None => counts.push((more.to_owned(), 1)),
            }
        }
    }
    counts
        .into_iter()
        .max_by_key(|(unit, count)| (unit != " " && unit.len() <= 8, *count))
        .map_or_else(|| "    ".to_owned(), |(unit, _)| unit)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Keep,
    Remove,
    Add,
}

/// A line of the edit as the model writes it.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) op: Op,
    pub(crate) text: String,
}

/// An edit of `source` at the line `start` (from 0).
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) source: Source,
    pub(crate) start: usize,
    pub(crate) entries: Vec<Entry>,
    pub(crate) expected: String,
}

fn squash(line: &str) -> String {
    line.chars().filter(|c| !c.is_whitespace()).collect()
}

impl Task {
    /// An edit of lines that occur once. `None` if the file offers none at the chosen position.
    pub(crate) fn new(random: &mut Random, source: &Source, lengths: (usize, usize)) -> Option<Self> {
        let length = lengths.0 + random.below(lengths.1 - lengths.0 + 1);
        if source.lines.len() < length + 2 {
            return None;
        }
        let start = random.below(source.lines.len() - length + 1);
        let region = &source.lines[start..start + length];
        if is_blank(&region[0]) || is_blank(&region[length - 1]) {
            return None;
        }
        if region.iter().any(|line| line.len() > 220) || occurrences(&source.lines, region).len() != 1 {
            return None;
        }
        let solid: Vec<usize> = (0..length).filter(|at| !is_blank(&region[*at])).collect();
        let at = solid[random.below(solid.len())];
        let entries = change(random, source, start..start + length, at);
        Some(Self::with(source, start, entries))
    }

    pub(crate) fn with(source: &Source, start: usize, entries: Vec<Entry>) -> Self {
        let length = entries.iter().filter(|entry| entry.op != Op::Add).count();
        let mut lines = source.lines[..start].to_vec();
        lines.extend(
            entries
                .iter()
                .filter(|entry| entry.op != Op::Remove)
                .map(|entry| entry.text.clone()),
        );
        lines.extend_from_slice(&source.lines[start + length..]);
        Self {
            source: source.clone(),
            start,
            entries,
            expected: source.render(&lines),
        }
    }

    pub(crate) fn old(&self) -> Vec<String> {
        texts(&self.entries, Op::Add)
    }

    pub(crate) fn new_lines(&self) -> Vec<String> {
        texts(&self.entries, Op::Remove)
    }
}

fn texts(entries: &[Entry], without: Op) -> Vec<String> {
    entries
        .iter()
        .filter(|entry| entry.op != without)
        .map(|entry| entry.text.clone())
        .collect()
}

/// The positions where the non-blank lines of `region` occur, ignoring whitespace.
pub(crate) fn occurrences(lines: &[String], region: &[String]) -> Vec<usize> {
    let expected: Vec<String> = region
        .iter()
        .map(|line| squash(line))
        .filter(|line| !line.is_empty())
        .collect();
    let solid: Vec<usize> = (0..lines.len()).filter(|at| !is_blank(&lines[*at])).collect();
    if expected.is_empty() || expected.len() > solid.len() {
        return Vec::new();
    }
    let is_same = |at: usize, expected: &str| {
        let line = lines[at].trim();
        line.chars().next() == expected.chars().next() && line.len() >= expected.len() && squash(line) == expected
    };
    (0..=solid.len() - expected.len())
        .filter(|from| (0..expected.len()).all(|step| is_same(solid[from + step], &expected[step])))
        .map(|from| solid[from])
        .collect()
}

/// The region with one change at line `at`.
fn change(random: &mut Random, source: &Source, range: std::ops::Range<usize>, at: usize) -> Vec<Entry> {
    let region = &source.lines[range.clone()];
    let mut entries = Vec::new();
    let kind = random.below(7);
    let add = |text: String| Entry { op: Op::Add, text };
    for (number, line) in region.iter().enumerate() {
        let keep = Entry {
            op: Op::Keep,
            text: line.clone(),
        };
        if number != at {
            entries.push(keep);
            continue;
        }
        let value = random.below(9000) + 1000;
        // Above a line that closes a block, a statement belongs to the block.
        let mut above = source.lines[..range.start + number].iter().rev();
        let inner = above.find(|line| !is_blank(line));
        let is_end = line.trim_start().starts_with(['}', ')', ']', '<']) || line.trim() == "end";
        let inner = inner.filter(|inner| is_end && indent(inner).len() > indent(line).len());
        let depth = inner.map_or(indent(line), |inner| indent(inner));
        let statement = |value: usize| format!("{depth}fresh_{value} = compute({value}, other);");
        match kind {
            0 | 1 => {
                entries.push(Entry { op: Op::Remove, ..keep });
                entries.push(add(modified(random, line, value)));
            }
            2 | 3 => {
                entries.push(keep);
                // Below a line that opens a block, a statement belongs to the block.
                let next = source.lines[range.start + at + 1..].iter().find(|line| !is_blank(line));
                let depth = next.map_or(indent(line), |next| {
                    if indent(next).len() > indent(line).len() {
                        indent(next)
                    } else {
                        indent(line)
                    }
                });
                for step in 0..=random.below(2) {
                    entries.push(add(format!("{depth}fresh_{} = compute({value}, other);", value + step)));
                }
            }
            4 if region.len() > 2 => entries.push(Entry { op: Op::Remove, ..keep }),
            5 => {
                let value = random.below(9000) + 1000;
                entries.push(Entry { op: Op::Remove, ..keep });
                entries.push(add(format!("{}if ready_{value} {{", indent(line))));
                entries.push(add(format!("{}{}go_{value}(other);", indent(line), source.unit)));
                entries.push(add(format!("{}}}", indent(line))));
            }
            _ => {
                entries.push(add(statement(value)));
                entries.push(keep);
            }
        }
    }
    entries
}

/// `line` with another word or an addition.
fn modified(random: &mut Random, line: &str, value: usize) -> String {
    let words: Vec<&str> = line
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.len() > 2)
        .collect();
    let is_key = line.trim_end().ends_with(':');
    if words.is_empty() || random.chance(30) && !is_key {
        return format!("{} changed_{value}", line.trim_end());
    }
    let word = words[random.below(words.len())];
    line.replacen(word, &format!("{word}_{value}"), 1)
}

/// Writes the edit in a format. `hint` is a line counted from 1.
pub(crate) fn write(task: &Task, format: EditFormat, hint: Option<usize>, random: &mut Random) -> String {
    let block = |lines: Vec<String>| lines.iter().fold(String::new(), |text, line| text + line + "\n");
    match format {
        EditFormat::Json => {
            let (mut old, mut new) = (block(task.old()), block(task.new_lines()));
            if random.chance(50) && !old.is_empty() && !new.is_empty() {
                old.pop();
                new.pop();
            }
            let mut edit = json!({"old_text": old, "new_text": new});
            if let Some(line) = hint {
                edit["line"] = json!(line);
            }
            json!({"path": task.source.path, "edits": [edit]}).to_string()
        }
        EditFormat::SearchReplace => {
            let marker = match hint {
                Some(line) if random.chance(50) => format!("<<<<<<< SEARCH\n:start_line:{line}\n-------\n"),
                Some(line) => format!("<<<<<<< SEARCH line={line}\n"),
                None => "<<<<<<< SEARCH\n".to_owned(),
            };
            format!(
                "{}\n{marker}{}=======\n{}>>>>>>> REPLACE\n",
                task.source.path,
                block(task.old()),
                block(task.new_lines())
            )
        }
        EditFormat::Xml => {
            let line = hint.map_or_else(String::new, |line| format!(" line={line}"));
            format!(
                "<edits>\n<old_text{line}>\n{}</old_text>\n<new_text>\n{}</new_text>\n</edits>\n",
                block(task.old()),
                block(task.new_lines())
            )
        }
        EditFormat::Unified => {
            let line = hint.unwrap_or(task.start + 1);
            let (old, new) = (task.old().len(), task.new_lines().len());
            format!(
                "--- a/{0}\n+++ b/{0}\n@@ -{line},{old} +{line},{new} @@\n{1}",
                task.source.path,
                signed(&task.entries)
            )
        }
        _ => patch(&task.source.path, &signed(&task.entries)),
    }
}

pub(crate) fn patch(path: &str, hunk: &str) -> String {
    format!("*** Begin Patch\n*** Update File: {path}\n@@\n{hunk}*** End Patch\n")
}

pub(crate) fn signed(entries: &[Entry]) -> String {
    entries.iter().fold(String::new(), |text, entry| {
        let sign = match entry.op {
            Op::Keep => ' ',
            Op::Remove => '-',
            Op::Add => '+',
        };
        format!("{text}{sign}{}\n", entry.text)
    })
}
