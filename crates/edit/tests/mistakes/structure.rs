//! Mistakes that the structure of the file shows: lines outside of their block, signs and numbers of another notation,
//! ranges that are too short, parts in place of the whole.

use edit::EditFormat;
use serde_json::json;

use crate::kinds::{MistakeCase, PATCHING, case, written};
use crate::notation::{anchor, block, content_case, replacing, whole};
use crate::task::{Entry, Op, Random, Source, Task, indent, is_blank, occurrences};

fn letters(line: &str) -> usize {
    line.chars().filter(|c| c.is_alphanumeric()).count()
}

fn markdown() -> Source {
    Source::new("eval.md", include_str!("../data/mistakes/eval.md.txt"))
}

/// The task with some entries in another form.
fn with_lines(task: &Task, change: &dyn Fn(&Entry) -> String) -> Vec<Entry> {
    let entry = |entry: &Entry| Entry {
        op: entry.op,
        text: change(entry),
    };
    task.entries.iter().map(entry).collect()
}

/// The removed lines of a patch lack the indentation that the added lines have.
pub(crate) fn only_removed_dedented(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (3, 8))?;
    let has = |op: Op| {
        task.entries
            .iter()
            .any(|entry| entry.op == op && !indent(&entry.text).is_empty())
    };
    if !has(Op::Remove) || !has(Op::Add) {
        return None;
    }
    let entries = with_lines(&task, &|entry| match entry.op {
        Op::Remove => entry.text.trim_start().to_owned(),
        Op::Keep | Op::Add => entry.text.clone(),
    });
    Some(written(&task, entries, PATCHING[random.below(2)], random))
}

/// Keys or items added to a nested block at the margin, so that the lines below belong to nothing.
pub(crate) fn yaml_added_at_margin(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let lines = &source.lines;
    let at = 1 + random.below(lines.len() - 2);
    let (above, below) = (&lines[at - 1], &lines[at]);
    let is_key = |line: &str| line.trim_end().ends_with(':') || line.contains(": ");
    let is_inner = !source.path.ends_with("yml") || is_blank(above) || is_blank(below) || !is_key(below);
    if is_inner || indent(below).is_empty() || occurrences(lines, &lines[at - 1..=at]).len() != 1 {
        return None;
    }
    let added = match random.below(2) {
        _ if below.trim_start().starts_with('-') => "- name: added",
        0 => "timeout: 20",
        _ => "permissions:\n  contents: read",
    };
    let place = |text: &str| format!("{}{text}", indent(below));
    let entries = |place: &dyn Fn(&str) -> String| {
        let entry = |op: Op, text: String| Entry { op, text };
        let added = added.lines().map(|line| entry(Op::Add, place(line)));
        let kept = |line: &String| entry(Op::Keep, line.clone());
        [kept(above)]
            .into_iter()
            .chain(added)
            .chain([kept(below)])
            .collect::<Vec<_>>()
    };
    let task = Task::with(source, at - 1, entries(&place));
    let format = [
        EditFormat::Json,
        EditFormat::Xml,
        EditFormat::Unified,
        EditFormat::ApplyPatch,
    ][random.below(4)];
    Some(written(&task, entries(&str::to_owned), format, random))
}

pub(crate) fn numbers_in_new(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (3, 8))?;
    let mark = random.pick(&[" | ", "|", "\t", "\u{2192}", ": "]);
    let new = task.new_lines();
    let numbered = |(step, line): (usize, &String)| format!("{}{mark}{line}", task.start + 1 + step);
    let is_shown = task
        .entries
        .iter()
        .any(|entry| entry.op == Op::Keep && letters(&entry.text) > 3);
    let new = new.iter().enumerate().map(numbered).collect();
    is_shown.then(|| replacing(random, &task, task.old(), new))
}

pub(crate) fn plus_on_new(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (2, 8))?;
    let new: Vec<String> = task.new_lines().iter().map(|line| format!("+{line}")).collect();
    let has_signs = source.lines.iter().any(|line| line.starts_with('+'));
    (!has_signs && !new.is_empty()).then(|| replacing(random, &task, task.old(), new))
}

pub(crate) fn tag_or_prose_above_new(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (2, 6))?;
    let first = random.pick(&[
        "<new_text>",
        "<parameter name=\"new_string\">",
        "<content>",
        "Here is the updated code:",
    ]);
    if task.new_lines().is_empty() {
        return None;
    }
    let new = [vec![first.to_owned()], task.new_lines()].concat();
    Some(replacing(random, &task, task.old(), new))
}

pub(crate) fn markdown_fence(random: &mut Random, _: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, &markdown(), (3, 10))?;
    let kept = |entry: &&Entry| entry.op == Op::Keep && letters(&entry.text) > 3;
    let has_ends = task.entries.first().as_ref().is_some_and(kept) && task.entries.last().as_ref().is_some_and(kept);
    if !has_ends {
        return None;
    }
    let fence = |line: &str| vec![line.to_owned()];
    let new = match random.below(3) {
        0 => [fence("```markdown"), task.new_lines(), fence("```")].concat(),
        1 => [task.new_lines(), fence("```")].concat(),
        _ => [fence("```"), task.new_lines()].concat(),
    };
    Some(replacing(random, &task, task.old(), new))
}

pub(crate) fn markdown_content_in_fence(random: &mut Random, _: &Source) -> Option<MistakeCase> {
    let (task, new) = whole(random, &markdown())?;
    Some(content_case(&task, &format!("```markdown\n{}```\n", block(&new))))
}

/// A range without its end: the new text has the lines that the range was to cover.
pub(crate) fn anchored_without_end(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (4, 8))?;
    let count = |line: &str| source.lines.iter().filter(|other| *other == line).count();
    let is_shown = |entry: &Entry| entry.op == Op::Keep && letters(&entry.text) > 7 && count(&entry.text) == 1;
    if !task.entries.iter().skip(1).any(is_shown) {
        return None;
    }
    let edits = json!([{"op": "replace", "anchor": anchor(source, task.start), "text": block(&task.new_lines())}]);
    let text = json!({"path": source.path, "edits": edits}).to_string();
    Some(case(&task, EditFormat::Anchors, text))
}

/// The old text is the start of a line, and the new text is the whole line.
pub(crate) fn start_of_line(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (1, 1))?;
    let (old, new) = (task.old(), task.new_lines());
    let line = old.first().filter(|line| line.is_ascii() && line.trim().len() > 24)?;
    let is_changed = new.len() == 1 && task.entries.len() == 2;
    let cut = line.len() - 4 - random.below(6);
    let is_unique = source.text().matches(&line[..cut]).count() == 1;
    if !is_changed || !is_unique || letters(&line[cut..]) < 3 || new[0].starts_with(line.as_str()) {
        return None;
    }
    let edits = json!([{"old_text": &line[..cut], "new_text": new[0]}]);
    let text = json!({"path": source.path, "edits": edits}).to_string();
    Some(case(&task, EditFormat::Json, text))
}

pub(crate) fn part_as_content(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let (task, new) = whole(random, source).filter(|(_, new)| new.len() > 60)?;
    let from = 5 + random.below(new.len() - 30);
    let part = &new[from..from + 8];
    (!is_blank(&part[0]) && !is_blank(&part[7])).then(|| content_case(&task, &block(part)))
}

pub(crate) fn content_with_sentences(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let (task, new) = whole(random, source)?;
    let content = match random.chance(50) {
        true => format!("Here is the complete updated file:\n\n{}", block(&new)),
        false if new.last() == source.lines.last() => {
            format!("{}\nI have updated the file as requested.\n", block(&new))
        }
        false => return None,
    };
    Some(content_case(&task, &content))
}

pub(crate) fn repeated_rule(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (2, 6))?;
    let text = format!(
        "{}\n<<<<<<< SEARCH\n:start_line:{}\n-------\n{}=======\n-------\n{}>>>>>>> REPLACE\n",
        source.path,
        task.start + 1,
        block(&task.old()),
        block(&task.new_lines())
    );
    Some(case(&task, EditFormat::SearchReplace, text))
}
