//! Mistakes in lines, line breaks and indentation.

use edit::EditFormat;

use crate::kinds::{MistakeCase, REPLACING, adjacent, any_format, case, visible, written};
use crate::task::{Entry, Op, Random, Source, Task, indent, is_blank, occurrences, patch};

pub(crate) fn joined(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (3, 10))?;
    let mut entries = task.entries.clone();
    let at = adjacent(random, &entries, |entry| entry.op == Op::Keep)?;
    let next = entries.remove(at + 1);
    let glue = random.pick(&[" ", " ", "", "  "]);
    entries[at].text = format!("{}{glue}{}", entries[at].text.trim_end(), next.text.trim_start());
    let format = any_format(random);
    Some(written(&task, entries, format, random))
}

pub(crate) fn split(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (2, 9))?;
    let mut entries = task.entries.clone();
    let places: Vec<usize> = (0..entries.len())
        .filter(|at| entries[*at].op == Op::Keep && entries[*at].text.trim().contains(' '))
        .collect();
    let at = *places.get(random.below(places.len()))?;
    let (head, body) = (indent(&entries[at].text).to_owned(), entries[at].text.trim().to_owned());
    let spaces: Vec<usize> = body.match_indices(' ').map(|(at, _)| at).collect();
    let cut = spaces[random.below(spaces.len())];
    let unit = source.unit.clone();
    let second = match random.below(3) {
        0 => format!("{head}{}", body[cut..].trim_start()),
        1 => format!("{head}{unit}{}", body[cut..].trim_start()),
        _ => body[cut..].trim_start().to_owned(),
    };
    entries[at].text = format!("{head}{}", &body[..cut]);
    entries.insert(
        at + 1,
        Entry {
            op: Op::Keep,
            text: second,
        },
    );
    let format = any_format(random);
    Some(written(&task, entries, format, random))
}

pub(crate) fn all_joined(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (2, 6))?;
    let glue = |lines: Vec<String>| {
        let head = lines.first().map(|line| indent(line).to_owned()).unwrap_or_default();
        let body: Vec<&str> = lines
            .iter()
            .map(|line| line.trim())
            .filter(|line| !line.is_empty())
            .collect();
        format!("{head}{}", body.join(" "))
    };
    let entries = vec![
        Entry {
            op: Op::Remove,
            text: glue(task.old()),
        },
        Entry {
            op: Op::Add,
            text: glue(task.new_lines()),
        },
    ];
    let format = any_format(random);
    Some(written(&task, entries, format, random))
}

pub(crate) fn is_closer(line: &str) -> bool {
    let body = line.trim();
    !body.is_empty() && (body.chars().all(|c| "})];,>".contains(c)) || body == "end")
}

pub(crate) fn omitted_bracket(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (4, 14))?;
    omitted(random, &task, is_closer)
}

pub(crate) fn omitted_line(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (4, 14))?;
    omitted(random, &task, |line| !is_blank(line))
}

pub(crate) fn omitted(random: &mut Random, task: &Task, fits: fn(&str) -> bool) -> Option<MistakeCase> {
    let mut entries = task.entries.clone();
    let places: Vec<usize> = (1..entries.len().saturating_sub(1))
        .filter(|at| entries[*at].op == Op::Keep && fits(&entries[*at].text))
        .collect();
    let at = *places.get(random.below(places.len()))?;
    // Next to an insertion, or if the rest still matches, the mistake has no effect.
    if [at - 1, at + 1].iter().any(|beside| entries[*beside].op == Op::Add) {
        return None;
    }
    entries.remove(at);
    let mistaken = Task {
        entries,
        ..task.clone()
    };
    if !occurrences(&task.source.lines, &mistaken.old()).is_empty() {
        return None;
    }
    let format = any_format(random);
    Some(written(task, mistaken.entries, format, random))
}

pub(crate) fn cut_last(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (3, 9))?;
    let mut entries = task.entries.clone();
    let last = entries.iter().rposition(|entry| entry.op != Op::Add)?;
    if entries[last].op != Op::Keep || last + 1 != entries.len() {
        return None;
    }
    let body = entries[last].text.trim_end().to_owned();
    let from = indent(&body).len();
    let cuts: Vec<usize> = body.char_indices().map(|(at, _)| at).filter(|at| *at > from).collect();
    let cut = *cuts.get(random.below(cuts.len()))?;
    // A quoted bracket or comment sign alone may be the whole line of another place.
    if !body[..cut].contains(char::is_alphanumeric) {
        return None;
    }
    entries[last].text = body[..cut].to_owned();
    if random.chance(40) {
        // The whitespace differs as well.
        for entry in &mut entries {
            entry.text = format!("  {}", entry.text);
        }
    }
    let format = any_format(random);
    Some(written(&task, entries, format, random))
}

pub(crate) fn sign_over_indent(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (2, 9))?;
    let hunk = task.entries.iter().fold(String::new(), |text, entry| {
        let rest = if entry.text.starts_with([' ', '\t']) {
            &entry.text[1..]
        } else {
            entry.text.as_str()
        };
        match entry.op {
            Op::Keep => format!("{text}{}\n", entry.text),
            Op::Remove => format!("{text}-{rest}\n"),
            Op::Add => format!("{text}+{rest}\n"),
        }
    });
    if random.chance(50) {
        return Some(case(&task, EditFormat::ApplyPatch, patch(&source.path, &hunk)));
    }
    let header = format!(
        "@@ -{0},{1} +{0},{2} @@",
        task.start + 1,
        task.old().len(),
        task.new_lines().len()
    );
    let text = format!("--- a/{0}\n+++ b/{0}\n{header}\n{hunk}", source.path);
    Some(case(&task, EditFormat::Unified, text))
}

pub(crate) fn offset(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (1, 10))?;
    let mut entries = task.entries.clone();
    let amount = random.below(4) + 1;
    let more = random.chance(40);
    for entry in entries.iter_mut().filter(|entry| !is_blank(&entry.text)) {
        entry.text = if more {
            format!("{}{}", " ".repeat(amount), entry.text)
        } else {
            let width = indent(&entry.text).len().min(amount);
            entry.text[entry.text.floor_char_boundary(width)..].to_owned()
        };
    }
    let format = any_format(random);
    visible(&task, entries, format, random)
}

pub(crate) fn space_after_sign(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (1, 9))?;
    let in_context = random.chance(50) || !task.entries.iter().any(|entry| entry.op == Op::Remove);
    let hunk = task.entries.iter().fold(String::new(), |text, entry| match entry.op {
        Op::Keep if in_context => format!("{text}  {}\n", entry.text),
        Op::Keep => format!("{text} {}\n", entry.text),
        Op::Remove => format!("{text}- {}\n", entry.text),
        Op::Add => format!("{text}+ {}\n", entry.text),
    });
    Some(case(&task, EditFormat::ApplyPatch, patch(&source.path, &hunk)))
}

pub(crate) fn at_margin(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (1, 8))?;
    let mut entries = task.entries.clone();
    let base = entries
        .iter()
        .find(|entry| entry.op == Op::Add)
        .map(|entry| indent(&entry.text).to_owned());
    let relative = random.chance(50);
    for entry in &mut entries {
        let rest = match &base {
            Some(base) if relative && entry.op == Op::Add => {
                entry.text.strip_prefix(base.as_str()).unwrap_or(&entry.text)
            }
            _ => entry.text.as_str(),
        };
        let deeper = !indent(rest).is_empty() && relative && entry.op == Op::Add;
        entry.text = format!("{}{}", if deeper { "    " } else { "" }, entry.text.trim_start());
    }
    let format = any_format(random);
    visible(&task, entries, format, random)
}

pub(crate) fn dedented(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (1, 10))?;
    let mut entries = task.entries.clone();
    let width = entries
        .iter()
        .filter(|entry| !is_blank(&entry.text))
        .map(|entry| indent(&entry.text).len())
        .min()?;
    for entry in entries.iter_mut().filter(|entry| !is_blank(&entry.text)) {
        entry.text = entry.text[width..].to_owned();
    }
    let format = any_format(random);
    visible(&task, entries, format, random)
}

/// Only the new text has the indentation of the file.
pub(crate) fn old_dedented(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (3, 10))?;
    let dedented = |line: &String| line.strip_prefix(source.unit.as_str()).map(str::to_owned);
    let old: Option<Vec<String>> = task
        .old()
        .iter()
        .map(|line| {
            if is_blank(line) {
                Some(line.clone())
            } else {
                dedented(line)
            }
        })
        .collect();
    // The lines after the first that both texts have show the difference.
    let is_shared = |entry: &&Entry| entry.op == Op::Keep && entry.text.contains(char::is_alphanumeric);
    if task.entries.iter().skip(1).filter(is_shared).count() < 2 {
        return None;
    }
    let entry = |op: Op| move |text: String| Entry { op, text };
    let removed = old?.into_iter().map(entry(Op::Remove));
    let entries = removed
        .chain(task.new_lines().into_iter().map(entry(Op::Add)))
        .collect();
    let format = REPLACING[random.below(3)];
    Some(written(&task, entries, format, random))
}

/// Only the context lines have a space after their sign, or only the added ones.
pub(crate) fn spaced_context(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (3, 9))?;
    if task.entries.iter().any(|entry| entry.op == Op::Remove) {
        return None;
    }
    let mut entries = task.entries.clone();
    for entry in entries.iter_mut().filter(|entry| entry.op == Op::Keep) {
        entry.text.insert(0, ' ');
    }
    let format = [EditFormat::ApplyPatch, EditFormat::Unified][random.below(2)];
    Some(written(&task, entries, format, random))
}

pub(crate) fn other_indent(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (1, 10))?;
    let other = random.pick(&["\t", "  ", "    ", "   ", "        "]);
    let mut entries = task.entries.clone();
    for entry in entries.iter_mut().filter(|entry| !is_blank(&entry.text)) {
        let mut rest = entry.text.as_str();
        let mut depth = 0;
        while let Some(inner) = rest.strip_prefix(source.unit.as_str()) {
            rest = inner;
            depth += 1;
        }
        entry.text = format!("{}{rest}", other.repeat(depth));
    }
    let format = any_format(random);
    visible(&task, entries, format, random)
}

pub(crate) fn first_stripped(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (2, 8))?;
    // The depth of another first line is not known.
    if task.entries[0].op == Op::Add {
        return None;
    }
    let mut entries = task.entries.clone();
    for op in [Op::Add, Op::Remove] {
        if let Some(entry) = entries.iter_mut().find(|entry| entry.op != op) {
            entry.text = entry.text.trim_start().to_owned();
        }
    }
    let format = REPLACING[random.below(3)];
    visible(&task, entries, format, random)
}

pub(crate) fn blank_lines(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (3, 12))?;
    let mut entries = task.entries.clone();
    if random.chance(50) {
        let before = entries.len();
        entries.retain(|entry| !is_blank(&entry.text) || entry.op != Op::Keep);
        if entries.len() == before {
            return None;
        }
    } else {
        let at = adjacent(random, &entries, |entry| entry.op == Op::Keep)?;
        entries.insert(
            at + 1,
            Entry {
                op: Op::Keep,
                text: String::new(),
            },
        );
    }
    let format = any_format(random);
    Some(written(&task, entries, format, random))
}

pub(crate) fn trailing_space(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (1, 8))?;
    let mut entries = task.entries.clone();
    let at = random.below(entries.len());
    if entries[at].op == Op::Add {
        return None;
    }
    entries[at].text.push_str("  ");
    let format = any_format(random);
    Some(written(&task, entries, format, random))
}
