//! Mistakes about the location: line numbers, repeated lines, several edits.

use edit::EditFormat;
use serde_json::json;

use crate::kinds::{HINTED, MistakeCase, any_format, case, written};
use crate::notation::block;
use crate::task::{Entry, Op, Random, Source, Task, indent, is_blank, occurrences, patch, signed, write};

pub(crate) fn repeated(random: &mut Random, source: &Source) -> Option<(Task, Vec<usize>)> {
    let length = 1 + random.below(4);
    let mut source = source.clone();
    if source.lines.len() < 30 {
        return None;
    }
    if random.chance(60) {
        let size = 4 + random.below(10);
        let from = random.below(source.lines.len() - size);
        let copy: Vec<String> = source.lines[from..from + size].to_vec();
        for _ in 0..=random.below(2) {
            let at = random.below(source.lines.len());
            source.lines.splice(at..at, copy.iter().cloned());
        }
    }
    let start = random.below(source.lines.len() - length);
    let region = source.lines[start..start + length].to_vec();
    if is_blank(&region[0]) || is_blank(&region[length - 1]) || region.iter().any(|line| line.len() > 220) {
        return None;
    }
    let others: Vec<usize> = exact_places(&source.lines, &region)
        .into_iter()
        .filter(|at| *at != start)
        .collect();
    // Locations that differ only in whitespace are another kind.
    if others.is_empty() || occurrences(&source.lines, &region).len() != others.len() + 1 {
        return None;
    }
    let mut entries: Vec<Entry> = region
        .iter()
        .map(|line| Entry {
            op: Op::Keep,
            text: line.clone(),
        })
        .collect();
    let at = random.below(entries.len());
    if is_blank(&entries[at].text) {
        return None;
    }
    let text = format!("{} changed_{}", entries[at].text.trim_end(), random.below(9000));
    entries[at].op = Op::Remove;
    entries.insert(at + 1, Entry { op: Op::Add, text });
    Some((Task::with(&source, start, entries), others))
}

pub(crate) fn exact_places(lines: &[String], region: &[String]) -> Vec<usize> {
    (0..=lines.len() - region.len())
        .filter(|at| lines[*at..at + region.len()] == *region)
        .collect()
}

pub(crate) fn hinted(random: &mut Random, task: &Task, hint: usize) -> MistakeCase {
    let format = HINTED[random.below(4)];
    case(task, format, write(task, format, Some(hint), random))
}

pub(crate) fn exact_hint(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let (task, _) = repeated(random, source)?;
    Some(hinted(random, &task, task.start + 1))
}

pub(crate) fn stale_hint(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let (task, others) = repeated(random, source)?;
    let hint = (task.start + 1 + random.below(81))
        .checked_sub(40)
        .filter(|hint| *hint > 0)?;
    (!others.contains(&(hint - 1))).then(|| hinted(random, &task, hint))
}

pub(crate) fn wrong_copy_hint(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let (task, others) = repeated(random, source)?;
    let wrong = others[random.below(others.len())];
    let hint = (wrong + 1 + random.below(13)).checked_sub(6).filter(|hint| *hint > 0)?;
    let is_exact = others.contains(&(hint - 1)) || hint == task.start + 1;
    (!is_exact).then(|| hinted(random, &task, hint))
}

pub(crate) fn no_hint(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let (task, _) = repeated(random, source)?;
    let format = [
        EditFormat::Json,
        EditFormat::SearchReplace,
        EditFormat::Xml,
        EditFormat::ApplyPatch,
    ][random.below(4)];
    let text = write(&task, format, None, random);
    Some(MistakeCase {
        expected: None,
        ..case(&task, format, text)
    })
}

/// The last lines of a file without a final newline are a copy of other lines. The old text ends in a newline.
pub(crate) fn copy_at_end(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (1, 4)).filter(|task| !task.new_lines().is_empty())?;
    let mut source = source.clone();
    let start = source.lines.len();
    source.final_newline = false;
    source.lines.extend(task.old());
    let task = Task::with(&source, start, task.entries);
    let mut edit = json!({"old_text": block(&task.old()), "new_text": block(&task.new_lines())});
    let has_hint = random.chance(50);
    if has_hint {
        edit["line"] = json!(start + 1);
    }
    let made = case(
        &task,
        EditFormat::Json,
        json!({"path": source.path, "edits": [edit]}).to_string(),
    );
    Some(MistakeCase {
        expected: made.expected.filter(|_| has_hint),
        ..made
    })
}

pub(crate) fn zero_context(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let lines = &source.lines;
    if lines.len() < 12 {
        return None;
    }
    let (one, two) = (random.below(lines.len() - 4), random.below(lines.len() - 4));
    let (replaced, inserted) = (one.min(two), one.max(two) + 2);
    if is_blank(&lines[replaced]) || lines[replaced].len() > 220 {
        return None;
    }
    let changed = format!("{} changed_{}", lines[replaced].trim_end(), random.below(900));
    let added = format!("{}fresh_{}();", indent(&lines[inserted]), random.below(900));
    let mut after = lines.clone();
    after[replaced].clone_from(&changed);
    after.insert(inserted, added.clone());
    let shift = if random.chance(60) { 0 } else { 1 + random.below(4) };
    let text = format!(
        "--- a/{0}\n+++ b/{0}\n@@ -{1} +{1} @@\n-{2}\n+{changed}\n@@ -{3},0 +{4} @@\n+{added}\n",
        source.path,
        replaced + 1 + shift,
        lines[replaced],
        inserted + shift,
        inserted + shift + 1
    );
    let task = Task {
        source: source.clone(),
        start: replaced,
        entries: Vec::new(),
        expected: source.render(&after),
    };
    Some(case(&task, EditFormat::Unified, text))
}

pub(crate) fn other_line(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (1, 3))?;
    let mut entries = task.entries.clone();
    let word = |text: &str| {
        text.split(|c: char| !c.is_alphanumeric())
            .find(|word| word.len() > 3)
            .map(str::to_owned)
    };
    let at = entries
        .iter()
        .position(|entry| entry.op != Op::Add && word(&entry.text).is_some())?;
    let word = word(&entries[at].text)?;
    entries[at].text = entries[at]
        .text
        .replacen(&word, &format!("other{}", random.below(900)), 1);
    let format = any_format(random);
    let made = written(&task, entries, format, random);
    Some(MistakeCase { expected: None, ..made })
}

pub(crate) fn short_text(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let at = random.below(source.lines.len());
    let line = &source.lines[at];
    let places: Vec<usize> = line.char_indices().map(|(place, _)| place).collect();
    if places.len() < 8 || is_blank(line) {
        return None;
    }
    let from = random.below(places.len() - 4);
    let to = (from + 2 + random.below(12)).min(places.len() - 1);
    let old = &line[places[from]..places[to]];
    if old.trim().is_empty() {
        return None;
    }
    let new = format!("{old}_x{}", random.below(900));
    let body = source.lines.join("\n");
    let is_unique = body.matches(old).count() == 1;
    let mut lines = source.lines.clone();
    lines[at] = line.replacen(old, &new, 1);
    let task = Task {
        source: source.clone(),
        start: at,
        entries: Vec::new(),
        expected: source.render(&lines),
    };
    let text = json!({"path": source.path, "edits": [{"old_text": old, "new_text": new}]}).to_string();
    let made = case(&task, EditFormat::Json, text);
    Some(MistakeCase {
        expected: made.expected.filter(|_| is_unique),
        ..made
    })
}

pub(crate) fn several(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let one = Task::new(random, source, (2, 6))?;
    let two = Task::new(random, source, (2, 6))?;
    let (first, second) = if one.start < two.start { (one, two) } else { (two, one) };
    if second.start < first.start + first.old().len() + 1 {
        return None;
    }
    let end = second.start + second.old().len();
    let mut lines = source.lines[..first.start].to_vec();
    lines.extend(first.new_lines());
    lines.extend_from_slice(&source.lines[first.start + first.old().len()..second.start]);
    lines.extend(second.new_lines());
    lines.extend_from_slice(&source.lines[end..]);
    let expected = source.render(&lines);
    let hunks = format!("{}@@\n{}", signed(&first.entries), signed(&second.entries));
    let text = patch(&source.path, &hunks);
    Some(MistakeCase {
        expected: Some(expected),
        ..case(&first, EditFormat::ApplyPatch, text)
    })
}
