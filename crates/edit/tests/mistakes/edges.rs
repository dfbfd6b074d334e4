//! Mistakes at the ends of the texts: newlines, neighbouring lines, parts of lines, tags, fences; and whole files in
//! another notation.

use edit::EditFormat;
use serde_json::json;

use crate::kinds::{MistakeCase, PATCHING, REPLACING, any_format, case, written};
use crate::task::{Entry, Op, Random, Source, Task, is_blank, write};

fn lines(lines: &[String]) -> String {
    lines.iter().fold(String::new(), |text, line| text + line + "\n")
}

/// The task as JSON with these texts.
fn json_case(task: &Task, old: &str, new: &str) -> MistakeCase {
    let text = json!({"path": task.source.path, "edits": [{"old_text": old, "new_text": new}]}).to_string();
    case(task, EditFormat::Json, text)
}

/// The old text ends in a newline and the new text does not, or both start so.
pub(crate) fn newline_lost(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (1, 5))?;
    let (old, new) = (lines(&task.old()), lines(&task.new_lines()));
    let new = new
        .strip_suffix('\n')
        .filter(|new| !new.starts_with('\n') && !new.ends_with('\n'))?;
    match random.chance(50) {
        true => Some(json_case(&task, &old, new)),
        false => Some(json_case(&task, &format!("\n{}", old.strip_suffix('\n')?), new))
            .filter(|_| task.start > 0 && !is_blank(&source.lines[task.start - 1])),
    }
}

/// The last quoted line is replaced and cut off in the old text only.
pub(crate) fn part_of_line(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (2, 6))?;
    let (old, new) = (task.old(), task.new_lines());
    let last = old.last()?.trim_end();
    let cut = last
        .rfind(' ')
        .filter(|cut| last[..*cut].contains(char::is_alphanumeric))?;
    let rest = last[cut..].trim();
    let is_changed = new.last() != old.last() && new.last()?.trim_end().ends_with(rest);
    let old = lines(&old);
    let quoted = &old[..old.trim_end().len() - (last.len() - cut)];
    let is_unique = task.source.lines.join("\n").matches(quoted).count() == 1;
    (is_changed && is_unique).then(|| json_case(&task, quoted, lines(&new).trim_end_matches('\n')))
}

/// The new text repeats a line next to the quoted ones.
pub(crate) fn repeated_neighbour(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (2, 6))?;
    let count = 1 + random.below(2);
    let from = task.start + task.old().len();
    let neighbours = source.lines.get(from..from + count)?;
    if neighbours
        .iter()
        .any(|line| line.chars().filter(|c| c.is_alphanumeric()).count() < 3)
    {
        return None;
    }
    let mut entries = task.entries.clone();
    let added = neighbours.iter().map(|line| Entry {
        op: Op::Add,
        text: line.clone(),
    });
    entries.extend(added);
    let format = any_format(random);
    Some(written(&task, entries, format, random))
}

pub(crate) fn stray_tag_of_json(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (2, 6))?;
    let tag = random.pick(&[
        "</parameter>",
        "</new_string>",
        "</tool_call>",
        "</edit_file>",
        "</content>",
    ]);
    if source.path.ends_with("html") || task.new_lines().is_empty() {
        return None;
    }
    let mut new = lines(&task.new_lines());
    if random.chance(50) {
        new.pop();
    }
    new.push_str(tag);
    Some(json_case(&task, &lines(&task.old()), &new))
}

pub(crate) fn fenced_new_text(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (2, 6))?;
    let fence = random.pick(&["```", "~~~", "`````"]);
    let mut fenced = vec![fence.to_owned()];
    fenced.extend(task.new_lines());
    fenced.push(fence.to_owned());
    Some(json_case(&task, &lines(&task.old()), &lines(&fenced)))
}

/// Typographic quotes in all lines, as a model writes that cannot write plain ones.
pub(crate) fn look_alikes_in_new(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (2, 6))?;
    let fancy = |text: &str| text.replace('\'', "\u{2019}").replace('"', "\u{201c}");
    let entries: Vec<Entry> = task
        .entries
        .iter()
        .map(|entry| Entry {
            op: entry.op,
            text: fancy(&entry.text),
        })
        .collect();
    let is_quoted = |quote: char| task.old().iter().any(|line| line.contains(quote));
    let is_used = |quote: char| task.new_lines().iter().any(|line| line.contains(quote));
    let is_known = ['\'', '"'].into_iter().all(|quote| is_quoted(quote) || !is_used(quote));
    let has_any = is_quoted('"') || is_quoted('\'');
    let is_plain = source.lines.iter().all(|line| line.is_ascii());
    (is_known && has_any && is_plain).then(|| written(&task, entries, any_format(random), random))
}

/// The added lines of a patch lack a column, and nothing else does.
pub(crate) fn sign_over_additions(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (3, 7))?;
    let is_short =
        |line: &String| !is_blank(line) && (crate::task::indent(line).len() + 1).is_multiple_of(source.unit.len());
    if source.unit.len() < 2 || !source.unit.starts_with(' ') || source.lines.iter().any(is_short) {
        return None;
    }
    let is_on_level = |line: &str| crate::task::indent(line).len().is_multiple_of(source.unit.len());
    if task
        .entries
        .iter()
        .any(|entry| entry.op == Op::Add && !is_on_level(&entry.text))
    {
        return None;
    }
    let mut changed = false;
    let entries = task.entries.iter().map(|entry| match entry.text.strip_prefix(' ') {
        Some(rest) if entry.op == Op::Add && !is_blank(rest) => {
            changed = true;
            Entry {
                op: Op::Add,
                text: rest.to_owned(),
            }
        }
        _ => entry.clone(),
    });
    let entries: Vec<Entry> = entries.collect();
    changed.then(|| written(&task, entries, PATCHING[random.below(2)], random))
}

/// A whole file with one change.
fn whole(random: &mut Random, source: &Source) -> Option<(Task, Vec<String>)> {
    if source.lines.len() > 300 || source.lines.len() < 5 || source.bom {
        return None;
    }
    let mut new = source.lines.clone();
    let at = random.below(new.len());
    new[at].push_str(" changed_1");
    let task = Task {
        source: source.clone(),
        start: 0,
        entries: Vec::new(),
        expected: source.render(&new),
    };
    Some((task, new)).filter(|_| source.final_newline && source.eol == "\n")
}

fn content_case(task: &Task, content: &str) -> MistakeCase {
    let text = json!({"path": task.source.path, "content": content}).to_string();
    case(task, EditFormat::Json, text)
}

pub(crate) fn whole_in_other_notation(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let (task, new) = whole(random, source)?;
    let numbered = |mark: &str| -> Vec<String> {
        let lines = new.iter().enumerate();
        lines.map(|(at, line)| format!("{}{mark}{line}", at + 1)).collect()
    };
    let content = match random.below(4) {
        0 => format!("```\n{}```\n", lines(&new)),
        1 => lines(&numbered("\t")),
        2 => lines(&numbered(" | ")),
        _ => format!("{}</content>\n", lines(&new)),
    };
    Some(content_case(&task, &content))
}

pub(crate) fn edit_as_content(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (2, 6))?;
    let format = any_format(random);
    let text = write(&task, format, None, random);
    let text = match format == REPLACING[1] {
        true => text.split_once('\n')?.1.to_owned(),
        false => text,
    };
    Some(MistakeCase {
        expected: None,
        ..content_case(&task, &text)
    })
}
