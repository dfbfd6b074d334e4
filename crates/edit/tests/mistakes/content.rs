//! Mistakes in the text: placeholders, tags, prefixes, markers and typos.

use edit::EditFormat;
use serde_json::json;

use crate::kinds::{MistakeCase, REPLACING, any_format, case, written};
use crate::task::{Entry, Op, Random, Source, Task, indent, is_blank, occurrences, signed, write};

pub(crate) const PHRASES: [&str; 51] = [
    "(unchanged)",
    "same as before",
    "[existing code]",
    "keep existing code",
    "{ ... }",
    "previous code omitted for brevity",
    "rest of implementation",
    "... existing code ...",
    "... rest of the code remains the same ...",
    "unchanged",
    "rest unchanged",
    "existing code here",
    "remaining code unchanged",
    "code omitted",
    "omitted for brevity",
    "no changes here",
    "as before",
    "the rest stays the same",
    "other methods unchanged",
    "... (rest of function)",
    "rest of the body",
    "same implementation as above",
    "remaining lines unchanged",
    "(same as original)",
    "original code",
    "existing logic",
    "leave the rest as is",
    "not modified",
    "keep the rest",
    "keep as is",
    "[unchanged code]",
    "<existing code>",
    "{existing code}",
    "... unchanged ...",
    "etc.",
    "snip",
    "truncated",
    "(code continues)",
    "continue with existing implementation",
    "the remaining part is not changed",
    "body unchanged",
    "...",
    "…",
    "(...)",
    "[...]",
    "{...}",
    "previous implementation",
    "everything else stays the same",
    "do not modify below",
    "the same code here",
    "more code here",
];

pub(crate) fn comment(random: &mut Random, source: &Source, phrase: &str) -> String {
    let hash = ["py", "rb", "yml", "yaml", "ex", "exs", "sh", "toml", "pl"]
        .iter()
        .any(|ext| source.path.ends_with(ext))
        || source.path.ends_with("Makefile");
    match random.below(8) {
        // Plain words are text in a document, and a single one may be code.
        0 if phrase.contains(' ') && !source.path.ends_with("md") => phrase.to_owned(),
        1 => format!("/* {phrase} */"),
        2 => format!("... {phrase} ..."),
        3 if source.path.ends_with("html") => format!("<!-- {phrase} -->"),
        3 if source.path.ends_with("lua") => format!("-- {phrase}"),
        4 if hash => format!("#... {phrase}"),
        4 => format!("//... {phrase}"),
        _ if hash => format!("# {phrase}"),
        _ => format!("// {phrase}"),
    }
}

pub(crate) fn placeholder(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (6, 22))?;
    let entries = &task.entries;
    let first_change = entries.iter().position(|entry| entry.op != Op::Keep)?;
    let last_change = entries.iter().rposition(|entry| entry.op != Op::Keep)?;
    let (from, to) = if random.chance(50) {
        (last_change + 1, entries.len())
    } else {
        (0, first_change)
    };
    let run: Vec<usize> = (from..to).collect();
    if run.len() < 2 {
        return None;
    }
    let length = 2 + random.below(run.len() - 1);
    let start = from + random.below(run.len() - length + 1);
    let hidden: Vec<&Entry> = entries[start..start + length].iter().collect();
    if hidden.iter().filter(|entry| !is_blank(&entry.text)).count() < 2 {
        return None;
    }
    let head = indent(&hidden[0].text).to_owned();
    let phrase = random.pick(&PHRASES);
    let line = format!("{head}{}", comment(random, source, phrase));
    let mut mistaken: Vec<Entry> = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        if (start..start + length).contains(&at) {
            mistaken.push(Entry {
                op: Op::Remove,
                text: entry.text.clone(),
            });
            if at + 1 == start + length {
                mistaken.push(Entry {
                    op: Op::Add,
                    text: line.clone(),
                });
            }
        } else {
            mistaken.push(entry.clone());
        }
    }
    let format = any_format(random);
    Some(written(&task, mistaken, format, random))
}

pub(crate) fn placeholder_body(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let opens = |line: &str| line.trim_end().ends_with(['{', ':', '(']) || line.trim_end().ends_with("do");
    let starts: Vec<usize> = (0..source.lines.len().saturating_sub(6))
        .filter(|at| opens(&source.lines[*at]))
        .collect();
    let start = *starts.get(random.below(starts.len()))?;
    let outer = indent(&source.lines[start]).len();
    let end = (start + 1..source.lines.len())
        .find(|at| !is_blank(&source.lines[*at]) && indent(&source.lines[*at]).len() <= outer)?;
    let hidden = source.lines[start + 1..end]
        .iter()
        .filter(|line| !is_blank(line))
        .count();
    if hidden < 3 || end - start > 40 {
        return None;
    }
    let region = &source.lines[start..=end];
    if occurrences(&source.lines, region).len() != 1 {
        return None;
    }
    let first = &region[0];
    let changed = format!("{} // renamed_{}", first.trim_end(), random.below(9000));
    let mut truth: Vec<Entry> = region
        .iter()
        .map(|line| Entry {
            op: Op::Keep,
            text: line.clone(),
        })
        .collect();
    truth[0].op = Op::Remove;
    truth.insert(
        1,
        Entry {
            op: Op::Add,
            text: changed.clone(),
        },
    );
    let task = Task::with(source, start, truth);
    let phrase = random.pick(&PHRASES);
    let inside = comment(random, source, phrase);
    let new = match random.below(4) {
        0 if !source.path.ends_with("md") => {
            vec![format!("{} {} {}", changed, inside, region[region.len() - 1].trim())]
        }
        1 => vec![
            changed,
            format!("{}{}{inside}", indent(first), source.unit),
            region[region.len() - 1].clone(),
        ],
        2 => vec![changed, inside, region[region.len() - 1].clone()],
        _ => vec![
            changed,
            region[1].clone(),
            format!("{}{}{inside}", indent(first), source.unit),
            region[region.len() - 1].clone(),
        ],
    };
    let mut entries: Vec<Entry> = region
        .iter()
        .map(|line| Entry {
            op: Op::Remove,
            text: line.clone(),
        })
        .collect();
    entries.extend(new.into_iter().map(|text| Entry { op: Op::Add, text }));
    let format = any_format(random);
    Some(written(&task, entries, format, random))
}

pub(crate) fn genuine_comment(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (3, 9))?;
    let mut entries: Vec<Entry> = task
        .entries
        .iter()
        .filter(|entry| entry.op != Op::Add)
        .cloned()
        .collect();
    entries.iter_mut().for_each(|entry| entry.op = Op::Keep);
    let phrase = random.pick(&[
        "The rest of the fields stay unchanged",
        "Same as before, but with a limit",
        "Keep existing code paths working",
        "Remaining items are skipped",
        "Unchanged since the first version",
        "Existing callers rely on this",
    ]);
    let at = random.below(entries.len());
    let mark = if ["py", "rb", "yml", "ex"].iter().any(|ext| source.path.ends_with(ext)) || source.path == "Makefile" {
        "#"
    } else {
        "//"
    };
    let text = format!("{}{mark} {phrase}", indent(&entries[at].text));
    if random.chance(40) {
        let old = entries[at].clone();
        if is_blank(&old.text) {
            return None;
        }
        entries[at].op = Op::Remove;
        entries.insert(
            at + 1,
            Entry {
                op: Op::Add,
                text: format!("{} changed_{}", old.text.trim_end(), random.below(900)),
            },
        );
    }
    entries.insert(at, Entry { op: Op::Add, text });
    let task = Task::with(source, task.start, entries.clone());
    let format = any_format(random);
    Some(written(&task, entries, format, random))
}

pub(crate) fn no_final_newline(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let mut source = source.clone();
    source.final_newline = false;
    while source.lines.last().is_some_and(|line| is_blank(line)) {
        source.lines.pop();
    }
    let length = 1 + random.below(4);
    let start = source.lines.len().checked_sub(length)?;
    if is_blank(&source.lines[start]) || occurrences(&source.lines, &source.lines[start..]).len() != 1 {
        return None;
    }
    let mut entries: Vec<Entry> = source.lines[start..]
        .iter()
        .map(|line| Entry {
            op: Op::Keep,
            text: line.clone(),
        })
        .collect();
    let at = random.below(entries.len());
    let head = indent(&entries[at].text).to_owned();
    if is_blank(&entries[at].text) {
        return None;
    }
    if random.chance(50) {
        entries.insert(
            at + 1,
            Entry {
                op: Op::Add,
                text: format!("{head}fresh_{}();", random.below(900)),
            },
        );
    } else {
        let text = format!("{} changed_{}", entries[at].text.trim_end(), random.below(900));
        entries[at].op = Op::Remove;
        entries.insert(at + 1, Entry { op: Op::Add, text });
    }
    let task = Task::with(&source, start, entries.clone());
    let format = [EditFormat::SearchReplace, EditFormat::Xml, EditFormat::ApplyPatch][random.below(3)];
    Some(written(&task, entries, format, random))
}

pub(crate) fn stray_tag(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (1, 6))?;
    let name = random.pick(&[
        "parameter",
        "new_text",
        "content",
        "edit",
        "invoke",
        "old_text",
        "new_string",
        "edits",
        "function",
        "file",
    ]);
    let mut mistaken = task.clone();
    let last = mistaken.entries.iter().rposition(|entry| entry.op != Op::Remove)?;
    if is_blank(&mistaken.entries[last].text) {
        return None;
    }
    let stray = format!("</{name}>");
    let text = write(&task, EditFormat::Xml, None, random);
    let end = "</new_text>";
    let text = match random.below(4) {
        0 => text.replacen(&format!("\n{end}"), &format!("{stray}{end}"), 1),
        1 => text.replacen(&format!("\n{end}"), &format!("{stray}\n{end}"), 1),
        2 => text.replacen(end, &format!("{stray}\n{end}"), 1),
        _ => {
            mistaken.entries[last].text.push_str(&stray);
            write(&mistaken, EditFormat::Xml, None, random)
        }
    };
    Some(case(&task, EditFormat::Xml, text))
}

pub(crate) fn listing_prefixes(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (1, 10))?;
    let mut entries = task.entries.clone();
    let mark = random.pick(&["|", " | ", ":", ": ", "\t", "\u{2192}"]);
    let width = if random.chance(50) { 6 } else { 0 };
    let in_new = random.chance(60);
    let mut number = task.start;
    for entry in &mut entries {
        if entry.op != Op::Add {
            number += 1;
        }
        if entry.op != Op::Add || in_new {
            entry.text = format!("{number:>width$}{mark}{}", entry.text);
        }
    }
    if !in_new {
        // The new text is written without prefixes, the quoted one with them.
        let old = write(
            &Task {
                entries,
                ..task.clone()
            },
            EditFormat::SearchReplace,
            None,
            random,
        );
        let new = write(&task, EditFormat::SearchReplace, None, random);
        let (old, new) = (
            old.split_once("=======\n")?.0.to_owned(),
            new.split_once("=======\n")?.1.to_owned(),
        );
        return Some(case(&task, EditFormat::SearchReplace, format!("{old}=======\n{new}")));
    }
    let format = REPLACING[random.below(3)];
    Some(written(&task, entries, format, random))
}

pub(crate) fn prose_between(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (1, 6))?;
    let prose = random.pick(&[
        "Now the new version:",
        "becomes\n",
        "This replaces the call with the new one.",
        "->",
    ]);
    let text = write(&task, EditFormat::Xml, None, random);
    let between = "</old_text>\n<new_text>";
    Some(case(
        &task,
        EditFormat::Xml,
        text.replacen(between, &between.replace('\n', &format!("\n{prose}\n")), 1),
    ))
}

pub(crate) fn dash_markers(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (1, 8))?;
    let text = write(&task, EditFormat::SearchReplace, None, random);
    let text = text
        .replacen("<<<<<<< SEARCH", "------- SEARCH", 1)
        .replacen(">>>>>>> REPLACE", "+++++++ REPLACE", 1);
    Some(case(&task, EditFormat::SearchReplace, text))
}

pub(crate) fn typo(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (3, 10))?;
    let mut entries = task.entries.clone();
    let places: Vec<usize> = (0..entries.len())
        .filter(|at| entries[*at].op == Op::Keep && entries[*at].text.trim().len() > 6 && entries[*at].text.is_ascii())
        .collect();
    let at = *places.get(random.below(places.len()))?;
    let from = indent(&entries[at].text).len();
    let place = from + random.below(entries[at].text.trim_end().len() - from);
    let letter = entries[at].text.remove(place);
    match random.below(3) {
        0 => {}
        1 => entries[at].text.insert_str(place, &format!("{letter}{letter}")),
        _ => entries[at]
            .text
            .insert(place, random.pick(&["e", "x", "7", "_"]).chars().next()?),
    }
    let format = any_format(random);
    Some(written(&task, entries, format, random))
}

pub(crate) fn look_alikes(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let mut source = source.clone();
    let at = random.below(source.lines.len());
    if is_blank(&source.lines[at]) {
        return None;
    }
    source.lines[at].push_str(random.pick(&[
        " // it\u{2019}s \u{201c}done\u{201d}",
        " # a \u{2014} b\u{2026}",
        " /* caf\u{e9} \u{2192} \u{65e5}\u{672c} */",
    ]));
    let start = at.saturating_sub(random.below(4));
    let end = (at + 1 + random.below(4)).min(source.lines.len());
    let region = source.lines[start..end].to_vec();
    if is_blank(&region[0]) || is_blank(&region[region.len() - 1]) || occurrences(&source.lines, &region).len() != 1 {
        return None;
    }
    let mut entries: Vec<Entry> = region
        .iter()
        .map(|line| Entry {
            op: Op::Keep,
            text: line.clone(),
        })
        .collect();
    entries.push(Entry {
        op: Op::Add,
        text: format!("{}fresh_{}();", indent(&region[region.len() - 1]), random.below(900)),
    });
    let task = Task::with(&source, start, entries.clone());
    for entry in &mut entries {
        entry.text = entry
            .text
            .replace('\u{2019}', "'")
            .replace(['\u{201c}', '\u{201d}'], "\"")
            .replace('\u{2014}', "-")
            .replace('\u{2026}', "...");
    }
    let format = any_format(random);
    Some(written(&task, entries, format, random))
}

pub(crate) fn fenced(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (1, 8))?;
    let format = any_format(random);
    let text = write(&task, format, None, random);
    let after = random.pick(&[
        "",
        "\nThis updates the file.\n",
        "\nLet me know if you need more - happy to help.\n",
    ]);
    let text = match format {
        EditFormat::Json => return None,
        EditFormat::SearchReplace | EditFormat::Xml => format!("Here is the change:\n\n{text}{after}"),
        _ => format!("Here is the change:\n\n```diff\n{text}```\n{after}"),
    };
    Some(case(&task, format, text))
}

/// A replacement with the old text as it is and another new text.
fn with_new(task: &Task, new: Vec<String>, random: &mut Random) -> MistakeCase {
    let entry = |op: Op| move |text: String| Entry { op, text };
    let old = task.old().into_iter().map(entry(Op::Remove));
    let entries = old.chain(new.into_iter().map(entry(Op::Add))).collect();
    let format = REPLACING[random.below(3)];
    written(task, entries, format, random)
}

pub(crate) fn new_with_signs(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (2, 8))?;
    let is_signed = |line: &String| line.starts_with(['+', '-']);
    if task.old().iter().any(is_signed) || task.new_lines().iter().any(is_signed) {
        return None;
    }
    let signs = signed(&task.entries);
    Some(with_new(&task, signs.lines().map(str::to_owned).collect(), random))
}

pub(crate) fn new_with_entities(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (2, 8))?;
    let encode = |line: &String| line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let shows = |entry: &Entry| entry.op == Op::Keep && encode(&entry.text) != entry.text;
    if source.text().contains("&lt;") || source.text().contains("&amp;") || !task.entries.iter().any(shows) {
        return None;
    }
    Some(with_new(&task, task.new_lines().iter().map(encode).collect(), random))
}

pub(crate) fn new_on_one_line(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (3, 8))?;
    let (old, new) = (task.old().join("\n"), task.new_lines().join("\n"));
    if old.contains('\\') || new.contains(['\\', '\t']) || !new.contains('\n') {
        return None;
    }
    let text = json!({"path": source.path, "old_text": old, "new_text": new.replace('\n', "\\n")}).to_string();
    Some(case(&task, EditFormat::Json, text))
}

pub(crate) fn json_in_code_fence(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (1, 8))?;
    let text = write(&task, EditFormat::Json, None, random);
    let language = source.path.rsplit('.').next().unwrap_or_default();
    Some(case(&task, EditFormat::Auto, format!("```{language}\n{text}\n```\n")))
}

pub(crate) fn spaced_changes(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (2, 10))?;
    // Without a removed line, the space may be meant.
    let is_removed = |entry: &Entry| entry.op == Op::Remove && !is_blank(&entry.text);
    if !task.entries.iter().any(is_removed) || task.entries.iter().all(|entry| entry.op != Op::Keep) {
        return None;
    }
    let mut entries = task.entries.clone();
    for entry in entries.iter_mut().filter(|entry| entry.op != Op::Keep) {
        entry.text.insert(0, ' ');
    }
    let format = [EditFormat::ApplyPatch, EditFormat::Unified][random.below(2)];
    Some(written(&task, entries, format, random))
}

pub(crate) fn note_in_place(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    const NOTES: [&str; 8] = [
        "// and so on",
        "// remainder of the file",
        "# code as above",
        "/* same */",
        "// nothing else changes",
        "# [... lines 10-40 ...]",
        "// (body not shown)",
        "// \u{22ee}",
    ];
    if source.path.ends_with("md") || source.path.ends_with("html") {
        return None;
    }
    let task = Task::new(random, source, (8, 20))?;
    let note = NOTES[random.below(NOTES.len())];
    let last = task.entries.iter().rposition(|entry| entry.op != Op::Keep)?;
    let removed: Vec<&Entry> = task.entries[last + 1..]
        .iter()
        .filter(|entry| !is_blank(&entry.text))
        .collect();
    if removed.len() < 4 {
        return None;
    }
    let remove = |entry: &Entry| Entry {
        op: Op::Remove,
        ..entry.clone()
    };
    let mut entries = task.entries[..=last].to_vec();
    entries.extend(task.entries[last + 1..].iter().map(remove));
    let text = format!("{}{note}", indent(&removed[0].text));
    entries.push(Entry { op: Op::Add, text });
    let format = any_format(random);
    Some(written(&task, entries, format, random))
}
