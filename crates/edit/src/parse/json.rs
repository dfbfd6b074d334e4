//! Tool arguments: a path and edits of old and new text, an insertion, whole content, or a patch inside a string.

use crate::format::{Delta, Event, Format, Malformed, detect, parse};
use crate::parse::event;
use crate::parse::json_value::{Growth, Reader, Step, Value};
use crate::script::{Change, Edit, Place, Replace, Scope, Unit};

const PATH: &[&str] = &[
    "path",
    "file_path",
    "filePath",
    "file",
    "filename",
    "target_file",
    "relative_path",
];
const EDITS: &[&str] = &["edits", "replacements", "changes", "operations"];
const OLD: &[&str] = &[
    "old_text",
    "old_string",
    "oldString",
    "old_str",
    "oldText",
    "search",
    "find",
];
const NEW: &[&str] = &[
    "new_text",
    "new_string",
    "newString",
    "new_str",
    "newText",
    "replace",
    "replacement",
];
const ALL: &[&str] = &["replace_all", "replaceAll", "allow_multiple"];
const LINE: &[&str] = &["line", "start_line", "line_hint"];
const CONTENT: &[&str] = &["content", "contents", "file_text"];
const PATCH: &[&str] = &["patch", "patchText", "patch_text", "input", "diff"];

/// Reads tool arguments while they stream.
#[derive(Debug, Default)]
pub(crate) struct Json {
    reader: Reader,
    name: Option<String>,
    started: usize,
    /// New text that came before its old text was complete.
    held: Option<(usize, String)>,
    old_done: Option<usize>,
}

impl Json {
    pub(crate) fn push(&mut self, chunk: &str) -> Vec<Event> {
        let mut events = Vec::new();
        for growth in self.reader.push(chunk) {
            self.growth(growth, &mut events);
        }
        events
    }

    pub(crate) fn finish(self) -> Result<Vec<Edit>, Malformed> {
        let documents = self
            .reader
            .finish()
            .map_err(|(line, problem)| Malformed::new(0, line, problem))?;
        let mut edits = Vec::new();
        for document in &documents {
            collect(document, &[], &mut edits)?;
        }
        Ok(edits)
    }

    fn growth(&mut self, growth: Growth, events: &mut Vec<Event>) {
        let (edit, key) = match growth.path.as_slice() {
            [Step::Key(key)] => (0, key),
            [Step::Key(edits), Step::At(at), Step::Key(key)] if EDITS.contains(&edits.as_str()) => (*at, key),
            _ => return,
        };
        let key = key.as_str();
        if PATH.contains(&key) {
            self.name.get_or_insert_default().push_str(&growth.text);
            return;
        }
        let is_old = OLD.contains(&key);
        if !is_old && !NEW.contains(&key) && !CONTENT.contains(&key) {
            return;
        }
        if edit >= self.started {
            self.flush(events);
            self.started = edit + 1;
            events.push(event(
                edit,
                Delta::Started {
                    name: self.name.clone(),
                    hint: None,
                },
            ));
        }
        if is_old {
            events.push(event(edit, Delta::Old(growth.text)));
            if growth.done {
                self.old_done = Some(edit);
                self.flush(events);
            }
        } else if self.old_done == Some(edit) || CONTENT.contains(&key) {
            events.push(event(edit, Delta::New(growth.text)));
            if growth.done {
                events.push(event(edit, Delta::Finished));
            }
        } else {
            self.held.get_or_insert((edit, String::new())).1.push_str(&growth.text);
        }
    }

    fn flush(&mut self, events: &mut Vec<Event>) {
        if let Some((edit, text)) = self.held.take() {
            events.push(event(edit, Delta::New(text)));
        }
    }
}

fn collect(value: &Value, names: &[String], edits: &mut Vec<Edit>) -> Result<(), Malformed> {
    match value {
        Value::Array(values) => values.iter().try_for_each(|value| collect(value, names, edits)),
        Value::Object(entries) => object(entries, names, edits),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Err(problem(edits, "expected an object with a path and edits"))
        }
    }
}

type Entries = [(String, Value)];

fn object(entries: &Entries, names: &[String], edits: &mut Vec<Edit>) -> Result<(), Malformed> {
    let names = match text_field(entries, PATH, edits)? {
        Some((_, path)) => vec![path.to_owned()],
        None => names.to_vec(),
    };
    match field(entries, EDITS) {
        Some((_, Value::String(inner))) => return nested(inner, &names, edits),
        Some((_, value)) => return collect(value, &names, edits),
        None => {}
    }
    if let Some(change) = change(entries, edits)? {
        edits.push(Edit::stated(names, change));
        return Ok(());
    }
    if let Some((_, patch)) = text_field(entries, PATCH, edits)? {
        let format = detect(patch).filter(|format| !matches!(format, Format::Json | Format::Whole));
        let format = format.ok_or_else(|| problem(edits, "the patch is in no known format"))?;
        for mut edit in parse(patch, format)? {
            if edit.names.is_empty() {
                edit.names.clone_from(&names);
            }
            edits.push(edit);
        }
        return Ok(());
    }
    Err(problem(
        edits,
        "the object has neither `edits` nor `old_text` and `new_text` nor `content`",
    ))
}

fn change(entries: &Entries, edits: &[Edit]) -> Result<Option<Change>, Malformed> {
    let old = text_field(entries, OLD, edits)?;
    let new = text_field(entries, NEW, edits)?;
    let content = text_field(entries, CONTENT, edits)?;
    let line = number_field(entries, LINE, edits)?;
    if let Some(after) = number_field(entries, &["insert_line"], edits)? {
        let (_, text) = new
            .or(content)
            .ok_or_else(|| problem(edits, "the insertion has no `new_text`"))?;
        return Ok(Some(Change::Insert {
            place: Place::After(after),
            text: text.to_owned(),
        }));
    }
    match (old, new, content) {
        (Some((_, old)), Some((_, new)), _) => {
            let scope = if flag(entries, ALL) { Scope::All } else { Scope::One };
            let readings = vec![(old.to_owned(), new.to_owned())];
            Ok(Some(Change::Replace(Replace {
                readings,
                hint: line,
                scope,
                unit: Unit::Text,
            })))
        }
        (Some((name, _)), None, _) => Err(problem(edits, &format!("`{name}` is there but `new_text` is missing"))),
        (None, Some((name, _)), _) => Err(problem(edits, &format!("`{name}` is there but `old_text` is missing"))),
        (None, None, Some((_, content))) => Ok(Some(match line {
            None => Change::Write(content.to_owned()),
            Some(0) => Change::Insert {
                place: Place::End,
                text: content.to_owned(),
            },
            Some(line) => Change::Insert {
                place: Place::Before(line),
                text: content.to_owned(),
            },
        })),
        (None, None, None) => Ok(None),
    }
}

/// Edits that came as a string which holds JSON.
fn nested(text: &str, names: &[String], edits: &mut Vec<Edit>) -> Result<(), Malformed> {
    let mut reader = Reader::default();
    reader.push(text);
    let documents = reader
        .finish()
        .map_err(|(line, what)| problem(edits, &format!("the edits string, line {line}: {what}")))?;
    if documents.is_empty() {
        return Err(problem(edits, "the edits string holds no edits"));
    }
    documents
        .iter()
        .try_for_each(|document| collect(document, names, edits))
}

fn field<'a>(entries: &'a Entries, names: &[&'static str]) -> Option<(&'static str, &'a Value)> {
    names.iter().find_map(|name| {
        let (_, value) = entries.iter().rev().find(|(key, _)| key == name)?;
        (*value != Value::Null).then_some((*name, value))
    })
}

fn text_field<'a>(
    entries: &'a Entries,
    names: &[&'static str],
    edits: &[Edit],
) -> Result<Option<(&'static str, &'a str)>, Malformed> {
    match field(entries, names) {
        None => Ok(None),
        Some((name, Value::String(text))) => Ok(Some((name, text))),
        Some((name, _)) => Err(problem(edits, &format!("`{name}` must be a string"))),
    }
}

fn number_field(entries: &Entries, names: &[&'static str], edits: &[Edit]) -> Result<Option<usize>, Malformed> {
    match field(entries, names) {
        None => Ok(None),
        Some((name, Value::Number(text) | Value::String(text))) => match text.trim().parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(problem(edits, &format!("`{name}` must be a line number"))),
        },
        Some((name, _)) => Err(problem(edits, &format!("`{name}` must be a line number"))),
    }
}

fn flag(entries: &Entries, names: &[&'static str]) -> bool {
    match field(entries, names) {
        Some((_, Value::Bool(yes))) => *yes,
        Some((_, Value::String(text))) => text.eq_ignore_ascii_case("true"),
        _ => false,
    }
}

fn problem(edits: &[Edit], what: &str) -> Malformed {
    Malformed::new(edits.len() + 1, 1, what)
}
