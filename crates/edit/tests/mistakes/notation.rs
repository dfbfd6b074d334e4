//! New text in another notation than the file: escapes, entities, fences, tokens; for every kind of edit.

use edit::{EditFormat, line_anchor};
use serde_json::{Value, json};

use crate::kinds::{MistakeCase, REPLACING, any_format, case, written};
use crate::task::{Entry, Op, Random, Source, Task, indent, is_blank, occurrences, signed, write};

pub(crate) fn block(lines: &[String]) -> String {
    lines.iter().fold(String::new(), |text, line| text + line + "\n")
}

fn is_code(source: &Source) -> bool {
    let extension = source.path.rsplit('.').next().unwrap_or_default();
    ["rs", "py", "ts", "go", "kt", "java", "h", "cs", "lua", "rb"].contains(&extension)
}

fn encoded(line: &str) -> String {
    line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn has_entities(source: &Source) -> bool {
    let text = source.text();
    ["&lt;", "&gt;", "&amp;"].iter().any(|entity| text.contains(entity))
}

fn json_case(task: &Task, old: &str, new: &str) -> MistakeCase {
    let text = json!({"path": task.source.path, "edits": [{"old_text": old, "new_text": new}]}).to_string();
    case(task, EditFormat::Json, text)
}

/// A replacement of `old` by `new`.
pub(crate) fn replacing(random: &mut Random, task: &Task, old: Vec<String>, new: Vec<String>) -> MistakeCase {
    let entry = |op: Op| move |text: String| Entry { op, text };
    let old = old.into_iter().map(entry(Op::Remove));
    let entries = old.chain(new.into_iter().map(entry(Op::Add))).collect();
    let format = REPLACING[random.below(3)];
    written(task, entries, format, random)
}

/// The replacement of the right lines by `new` lines in another notation. A line that stays proves the notation.
fn with_notation(
    random: &mut Random,
    task: &Task,
    change: &dyn Fn(&str) -> String,
    is_proven: bool,
) -> Option<MistakeCase> {
    let shows = |entry: &Entry| entry.op == Op::Keep && change(&entry.text) != entry.text;
    let new: Vec<String> = task.new_lines().iter().map(|line| change(line)).collect();
    let is_visible = new != task.new_lines() && (!is_proven || task.entries.iter().any(shows));
    is_visible.then(|| replacing(random, task, task.old(), new))
}

/// A line added below a line of the region.
fn with_added(random: &mut Random, source: &Source, text: &str) -> Option<Task> {
    let task = Task::new(random, source, (2, 6))?;
    let keep = |text: String| Entry { op: Op::Keep, text };
    let mut entries: Vec<Entry> = task.old().into_iter().map(keep).collect();
    let at = random.below(entries.len());
    if is_blank(&entries[at].text) {
        return None;
    }
    let depth = |at: usize| indent(&entries[at].text).len();
    let neighbours = [at.checked_sub(1), Some(at)].into_iter().flatten();
    let deepest = neighbours.max_by_key(|at| depth(*at)).unwrap_or(at);
    let text = format!("{}{text}", indent(&entries[deepest].text));
    entries.insert(at, Entry { op: Op::Add, text });
    Some(Task::with(source, task.start, entries))
}

pub(crate) fn entities_in_short_line(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let at = random.below(source.lines.len());
    let line = source.lines[at].clone();
    let is_unique = occurrences(&source.lines, std::slice::from_ref(&line)).len() == 1;
    // A comment may contain entities.
    if ["#", "//", "*", "/*", "--"]
        .iter()
        .any(|mark| line.trim_start().starts_with(mark))
    {
        return None;
    }
    if has_entities(source) || !is_code(source) || line.trim().len() > 18 || is_blank(&line) || !is_unique {
        return None;
    }
    let new = format!("{}{}", line.trim_end(), random.pick(&[" && b", " < 3", " > x"]));
    let (old, added) = (line.clone(), new.clone());
    let entry = |op: Op, text: String| Entry { op, text };
    let task = Task::with(source, at, vec![entry(Op::Remove, old), entry(Op::Add, added)]);
    Some(replacing(random, &task, vec![line], vec![encoded(&new)]))
}

pub(crate) fn entities_in_added_line(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    if has_entities(source) || !is_code(source) {
        return None;
    }
    let sign = random.pick(&["<", "&&", ">="]).to_owned();
    let task = with_added(random, source, &format!("ready = first {sign} second;"))?;
    let mut entries = task.entries.clone();
    let added = entries.iter_mut().find(|entry| entry.op == Op::Add)?;
    added.text = encoded(&added.text);
    let format = any_format(random);
    Some(written(&task, entries, format, random))
}

pub(crate) fn markdown_escapes_in_added_line(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    if source.text().contains("\\_") || !is_code(source) {
        return None;
    }
    let task = with_added(random, source, "first_value = second_value(1);")?;
    let mut entries = task.entries.clone();
    let added = entries.iter_mut().find(|entry| entry.op == Op::Add)?;
    added.text = added.text.replace('_', "\\_");
    let format = any_format(random);
    Some(written(&task, entries, format, random))
}

pub(crate) fn quotes_escaped_in_new(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (2, 6))?;
    let has_escapes = source.text().contains("\\\"");
    with_notation(random, &task, &|line| line.replace('"', "\\\""), true).filter(|_| !has_escapes)
}

pub(crate) fn template_escaped_in_new(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (2, 6))?;
    let text = source.text();
    let has_escapes = text.contains("\\`") || text.contains("\\$");
    let escaped = |line: &str| line.replace('`', "\\`").replace("${", "\\${");
    with_notation(random, &task, &escaped, true).filter(|_| !has_escapes)
}

pub(crate) fn unicode_escaped_in_new(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (2, 6))?;
    let escaped = |line: &str| {
        let line = line.replace('<', "\\u003c").replace('>', "\\u003e");
        line.replace('&', "\\u0026")
    };
    let has_escapes = source.text().contains("\\u0");
    with_notation(random, &task, &escaped, true).filter(|_| !has_escapes)
}

pub(crate) fn special_token(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (1, 6))?;
    let new = task.new_lines();
    let token = random.pick(&[
        "<|im_end|>",
        "<|endoftext|>",
        "<\u{ff5c}tool\u{2581}call\u{2581}end\u{ff5c}>",
    ]);
    let last = new.last()?;
    (!is_blank(last)).then(|| json_case(&task, &task.old().join("\n"), &format!("{}{token}", new.join("\n"))))
}

pub(crate) fn half_a_fence(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (1, 6))?;
    let mut new = task.new_lines();
    match random.chance(50) {
        true => new.push("```".to_owned()),
        false => new.insert(0, random.pick(&["```", "```python"]).to_owned()),
    }
    (new.len() > 1).then(|| replacing(random, &task, task.old(), new))
}

pub(crate) fn character_data(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (1, 6))?;
    let (old, new) = (block(&task.old()), block(&task.new_lines()));
    let text = format!("<old_text>\n{old}</old_text>\n<new_text>\n<![CDATA[\n{new}]]>\n</new_text>\n");
    (!new.is_empty()).then(|| case(&task, EditFormat::Xml, text))
}

pub(crate) fn file_name_in_new(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (1, 6))?;
    let path = &source.path;
    let first = [path.clone(), format!("`{path}`"), format!("# filepath: {path}")][random.below(3)].clone();
    let new: Vec<String> = std::iter::once(first).chain(task.new_lines()).collect();
    (path.contains('.') && new.len() > 1).then(|| replacing(random, &task, task.old(), new))
}

/// A backslash of a regular expression is not escaped once more in JSON.
pub(crate) fn backslash_not_escaped(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let text = random
        .pick(&["\\bword\\b", "\\d+", "a\\fb", "C:\\bin", "\\u001b[0m"])
        .to_owned();
    let task = with_added(random, source, &format!("match('{text}');"))?;
    let text = write(&task, EditFormat::Json, None, random);
    let is_known = task
        .entries
        .iter()
        .any(|entry| entry.op == Op::Keep && entry.text.contains('\\'));
    (!is_known).then(|| case(&task, EditFormat::Json, text.replace("\\\\", "\\")))
}

/// A mistyped word in the quoted line and in the line that takes its place.
pub(crate) fn typo_in_both(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (3, 8))?;
    let mut entries = task.entries.clone();
    let at = entries.iter().position(|entry| entry.op == Op::Remove)?;
    let (old, new) = (entries[at].text.clone(), entries.get(at + 1)?.text.clone());
    let word = old
        .split(|c: char| !c.is_alphanumeric())
        .find(|word| word.len() > 5 && word.is_ascii())?;
    let mistyped = format!("{}{}", &word[..2], &word[3..]);
    let is_visible = word.as_bytes()[2] != word.as_bytes()[3] && word.as_bytes()[1] != word.as_bytes()[2];
    if entries[at + 1].op != Op::Add || !new.contains(word) || !is_visible {
        return None;
    }
    entries[at].text = old.replacen(word, &mistyped, 1);
    entries[at + 1].text = new.replacen(word, &mistyped, 1);
    let format = any_format(random);
    Some(written(&task, entries, format, random))
}

/// Lines inserted at a position, and the case for the text that a model writes.
fn insertion(source: &Source, at: usize, added: &[String], text: &str) -> MistakeCase {
    let mut lines = source.lines.clone();
    lines.splice(at..at, added.iter().cloned());
    let task = Task {
        source: source.clone(),
        start: at,
        entries: Vec::new(),
        expected: source.render(&lines),
    };
    let text = json!({"path": source.path, "insert_line": at, "new_str": text}).to_string();
    case(&task, EditFormat::Json, text)
}

fn inserted_lines(random: &mut Random, source: &Source) -> (usize, Vec<String>) {
    let at = 1 + random.below(source.lines.len() - 2);
    let head = indent(&source.lines[at]);
    let lines = vec![
        format!("{head}fresh_{}();", random.below(900)),
        format!("{head}go(first_value);"),
    ];
    (at, lines)
}

pub(crate) fn inserted_in_other_notation(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let (at, added) = inserted_lines(random, source);
    let numbered = |mark: &str| {
        let line = |(step, line): (usize, &String)| format!("{}{mark}{line}\n", at + 1 + step);
        added.iter().enumerate().map(line).collect::<String>()
    };
    let text = match random.below(5) {
        0 => format!("```\n{}```\n", block(&added)),
        1 => numbered("\t"),
        2 => numbered(" | "),
        3 => added.iter().map(|line| format!("+{line}\n")).collect(),
        _ => added.join("\\n"),
    };
    is_code(source).then(|| insertion(source, at, &added, &text))
}

pub(crate) fn placeholder_around_inserted(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let (at, added) = inserted_lines(random, source);
    let note = random.pick(&[
        "// ... existing code ...",
        "# ... existing code ...",
        "// rest of the file unchanged",
    ]);
    let mut lines = added.clone();
    match random.chance(50) {
        true => lines.insert(0, note.to_owned()),
        false => lines.push(note.to_owned()),
    }
    is_code(source).then(|| insertion(source, at, &added, &block(&lines)))
}

pub(crate) fn inserted_with_neighbour(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let (at, added) = inserted_lines(random, source);
    let has_words = |line: &str| line.chars().filter(|c| c.is_alphanumeric()).count() > 5;
    let (above, below) = (source.lines[at - 1].clone(), source.lines[at].clone());
    if !has_words(&above) || !has_words(&below) {
        return None;
    }
    let mut lines = added.clone();
    match random.chance(50) {
        true => lines.insert(0, above),
        false => lines.push(below),
    }
    Some(insertion(source, at, &added, &block(&lines)))
}

pub(crate) fn anchor(source: &Source, at: usize) -> Value {
    let number = u64::try_from(at + 1).unwrap_or_default();
    json!(line_anchor(number, &source.lines[at]))
}

/// The task as a replacement of its lines, named by anchors, by `text`.
pub(crate) fn anchored(task: &Task, text: &str) -> MistakeCase {
    let end = task.start + task.old().len() - 1;
    let (start, end) = (anchor(&task.source, task.start), anchor(&task.source, end));
    let edits = json!([{"op": "replace", "anchor": start, "end": end, "text": text}]);
    let text = json!({"path": task.source.path, "edits": edits}).to_string();
    case(task, EditFormat::Anchors, text)
}

pub(crate) fn anchored_in_other_notation(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (2, 6))?;
    let new = task.new_lines();
    let is_signed = |line: &String| line.starts_with(['+', '-']);
    if !is_code(source) || new.len() < 2 || source.lines.iter().any(is_signed) {
        return None;
    }
    let numbered = |(step, line): (usize, &String)| format!("{}\t{line}\n", task.start + 1 + step);
    let text = match random.below(5) {
        0 => format!("```\n{}```\n", block(&new)),
        1 => signed(&task.entries),
        2 => new.iter().enumerate().map(numbered).collect(),
        3 if !block(&new).contains('\\') => new.join("\\n"),
        3 => return None,
        _ => format!("{}</text>\n", block(&new)),
    };
    Some(anchored(&task, &text))
}

pub(crate) fn anchored_exact(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let task = Task::new(random, source, (1, 6))?;
    Some(anchored(&task, &block(&task.new_lines())))
}

/// A whole file with one change.
pub(crate) fn whole(random: &mut Random, source: &Source) -> Option<(Task, Vec<String>)> {
    let mut new = source.lines.clone();
    let at = random.below(new.len());
    if new.len() > 300 || is_blank(&new[at]) || !source.final_newline {
        return None;
    }
    new[at].push_str(" changed_1");
    let task = Task {
        source: source.clone(),
        start: 0,
        entries: Vec::new(),
        expected: source.render(&new),
    };
    Some((task, new))
}

pub(crate) fn content_case(task: &Task, content: &str) -> MistakeCase {
    let text = json!({"path": task.source.path, "content": content}).to_string();
    case(task, EditFormat::Json, text)
}

pub(crate) fn whole_escaped(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let (task, new) = whole(random, source)?;
    let quoted = json!(block(&new)).to_string();
    let content = match random.below(3) {
        0 => quoted,
        1 => quoted[1..quoted.len() - 1].to_owned(),
        _ if !source.text().contains('\\') => block(&new).replace('\n', "\\n"),
        _ => return None,
    };
    Some(content_case(&task, &content))
}

pub(crate) fn whole_deeper(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let (task, new) = whole(random, source)?;
    let pad = random.pick(&["    ", "  ", "\t"]);
    let deeper = |line: &String| match is_blank(line) {
        true => format!("{line}\n"),
        false => format!("{pad}{line}\n"),
    };
    Some(content_case(&task, &new.iter().map(deeper).collect::<String>()))
}

pub(crate) fn whole_with_prose(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let (task, new) = whole(random, source)?;
    let before = random.pick(&["Here is the updated file:\n\n", "Sure! I made the change.\n\n", ""]);
    let after = random.pick(&["\n", "\n\nThis adds the change.\n", ""]);
    Some(content_case(&task, &format!("{before}```\n{}```{after}", block(&new))))
}

pub(crate) fn whole_with_end(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let (task, new) = whole(random, source)?;
    let end = random.pick(&[
        "</parameter>\n</invoke>",
        "<|im_end|>",
        "<|endoftext|>",
        "</file_content>",
        "```",
    ]);
    (!source.path.ends_with("html")).then(|| content_case(&task, &format!("{}{end}\n", block(&new))))
}

pub(crate) fn whole_below_its_name(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let (task, new) = whole(random, source)?;
    let first = [source.path.clone(), format!("File: {}", source.path)][random.below(2)].clone();
    source
        .path
        .contains('.')
        .then(|| content_case(&task, &format!("{first}\n{}", block(&new))))
}

pub(crate) fn whole_with_markdown_escapes(random: &mut Random, source: &Source) -> Option<MistakeCase> {
    let (task, new) = whole(random, source)?;
    let has_escapes = source.text().contains("\\_");
    (is_code(source) && !has_escapes).then(|| content_case(&task, &block(&new).replace('_', "\\_")))
}
