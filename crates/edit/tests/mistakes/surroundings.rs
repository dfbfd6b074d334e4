//! New text that does not fit the lines around it: lost indentation, lines of the file repeated.

use edit::EditFormat;
use serde_json::json;

use crate::kinds::{MistakeCase, PATCHING, any_format, case, written};
use crate::notation::{anchored, block, replacing};
use crate::task::{Entry, Op, Random, Source, Task, indent, is_blank, occurrences};

fn letters(line: &str) -> usize {
    line.chars().filter(|c| c.is_alphanumeric()).count()
}

/// The lines without the indentation that all of them have; `None` if there is none, or no line shows the loss.
fn dedented(task: &Task) -> Option<Vec<String>> {
    let new = task.new_lines();
    let solid = new.iter().filter(|line| !is_blank(line));
    let width = solid.map(|line| indent(line).len()).min().filter(|width| *width > 0)?;
    let is_shared = |entry: &&Entry| entry.op == Op::Keep && letters(&entry.text) > 3;
    if task.entries.iter().filter(is_shared).count() < 2 {
        return None;
    }
    let line = |line: &String| line.get(width..).unwrap_or_default().to_owned();
    Some(new.iter().map(line).collect())
}

pub(crate) fn new_dedented(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (3, 8))?;
    let new = dedented(&task)?;
    Some(replacing(random, &task, task.old(), new))
}

pub(crate) fn anchored_dedented(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (3, 8))?;
    Some(anchored(&task, &block(&dedented(&task)?)))
}

pub(crate) fn first_new_line_stripped(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (3, 7))?;
    let mut new = task.new_lines();
    let is_kept = task
        .entries
        .first()
        .is_some_and(|entry| entry.op == Op::Keep && letters(&entry.text) > 3);
    let others = task.entries.iter().skip(1);
    let shared = others.filter(|entry| entry.op == Op::Keep && letters(&entry.text) > 3);
    if !is_kept || shared.count() < 1 || indent(&new[0]).is_empty() {
        return None;
    }
    new[0] = new[0].trim_start().to_owned();
    Some(replacing(random, &task, task.old(), new))
}

/// The old text starts after the indentation of its line, the new text with it.
pub(crate) fn indentation_twice(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (1, 1))?;
    let (old, new) = (task.old()[0].trim().to_owned(), task.new_lines());
    let is_unique = source.text().matches(&old).count() == 1;
    if new.is_empty() || !is_unique || indent(&task.old()[0]).is_empty() {
        return None;
    }
    let edits = json!([{"old_text": old, "new_text": new.join("\n")}]);
    let text = json!({"path": source.path, "edits": edits}).to_string();
    Some(case(&task, EditFormat::Json, text))
}

/// A statement added at the margin of an indented block; the patch quotes the lines of the block unchanged.
pub(crate) fn added_at_margin(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let is_known = ["py", "rs", "ts", "go", "cs", "kt", "java"]
        .iter()
        .any(|end| source.path.ends_with(end));
    let at = random.below(source.lines.len() - 4);
    let region = &source.lines[at..at + 4];
    let is_plain = |line: &String| letters(line) > 3 && !line.contains(['"', '\'', '`', '*']);
    let is_same = region
        .iter()
        .all(|line| indent(line) == indent(&region[0]) && is_plain(line));
    let is_block = !indent(&region[0]).is_empty() && region[1].ends_with(';') | source.path.ends_with("py");
    if !is_known || !is_same || !is_block || occurrences(&source.lines, region).len() != 1 {
        return None;
    }
    let keep = |text: &String| Entry {
        op: Op::Keep,
        text: text.clone(),
    };
    let mut entries: Vec<Entry> = region.iter().map(keep).collect();
    let text = format!("{}fresh_{}();", indent(&region[0]), random.below(900));
    entries.insert(2, Entry { op: Op::Add, text });
    let task = Task::with(source, at, entries.clone());
    entries[2].text = entries[2].text.trim_start().to_owned();
    Some(written(&task, entries, PATCHING[random.below(2)], random))
}

pub(crate) fn other_tabs_in_added(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (2, 8))?;
    let has_spaces = source.unit.starts_with(' ');
    let is_other = |line: &String| indent(line).contains(if has_spaces { '\t' } else { ' ' });
    let counted = source.lines.iter().filter(|line| !indent(line).is_empty()).count();
    if source.lines.iter().any(is_other) || counted < 3 || source.path.ends_with("go") && has_spaces {
        return None;
    }
    let converted = |line: &str| {
        let depth = indent(line).len() / source.unit.len();
        format!(
            "{}{}",
            if has_spaces { "\t" } else { "    " }.repeat(depth),
            line.trim_start()
        )
    };
    let entry = |entry: &Entry| match entry.op {
        Op::Add => Entry {
            op: Op::Add,
            text: converted(&entry.text),
        },
        Op::Keep | Op::Remove => entry.clone(),
    };
    let entries: Vec<Entry> = task.entries.iter().map(entry).collect();
    let is_visible = entries
        .iter()
        .zip(&task.entries)
        .any(|(one, other)| one.text != other.text);
    let format = any_format(random);
    is_visible.then(|| written(&task, entries, format, random))
}

/// The anchors name fewer lines than the text has.
pub(crate) fn anchored_with_neighbours(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (1, 6))?;
    let end = task.start + task.old().len();
    let next = source.lines.get(end..end + 1 + random.below(3))?;
    if next.iter().any(|line| letters(line) < 4) {
        return None;
    }
    let new: Vec<String> = task.new_lines().into_iter().chain(next.iter().cloned()).collect();
    Some(anchored(&task, &block(&new)))
}

/// The old text is one line, the new text the block that follows it, with a change.
pub(crate) fn block_for_line(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (6, 9))?;
    let line = task.entries.first().filter(|entry| entry.op == Op::Keep)?.text.clone();
    let is_unique =
        |line: &String| letters(line) > 7 && source.lines.iter().filter(|other| *other == line).count() == 1;
    let kept = task.entries[1..].iter().filter(|entry| entry.op == Op::Keep);
    let (unique, all) = (
        kept.clone().filter(|entry| is_unique(&entry.text)).count(),
        kept.count(),
    );
    let added = task.entries.iter().filter(|entry| entry.op == Op::Add).count();
    if !is_unique(&line) || unique < 3 || added * 2 > all {
        return None;
    }
    Some(replacing(random, &task, vec![line], task.new_lines()))
}
