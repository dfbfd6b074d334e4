//! Tool arguments: a path and edits of old and new text, an insertion, whole content, or a patch in a string.

use crate::anchor::{AnchorOp, AnchoredEdit, LineAnchor};
use crate::format::{EditDelta, EditEvent, EditFormat, MalformedEdit, detect, parse};
use crate::parse::event;
use crate::parse::json_value::{IncrementalJsonReader, JsonPathStep, LooseJson, StringGrowth};
use crate::parsed_edit::{EditChange, InsertPosition, ParsedEdit, ReplaceScope, ReplaceUnit, Replacement};

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
const START_ANCHOR: &[&str] = &["anchor", "start_anchor", "start", "from", "pos"];
const END_ANCHOR: &[&str] = &["end", "end_anchor", "to"];
const OPERATION: &[&str] = &["op", "operation", "action", "type"];
const ANCHORED_TEXT: &[&str] = &["text", "new_text", "content", "lines", "new_string"];
const CONTENT: &[&str] = &["content", "contents", "file_text"];
const PATCH: &[&str] = &["patch", "patchText", "patch_text", "input", "diff"];

/// Parses streaming tool arguments.
#[derive(Debug, Default)]
pub(crate) struct JsonParser {
    reader: IncrementalJsonReader,
    name: Option<String>,
    started: usize,
    /// New text that arrived before its old text was complete.
    held: Option<(usize, String)>,
    old_done: Option<usize>,
}

impl JsonParser {
    pub(crate) fn push(&mut self, chunk: &str) -> Vec<EditEvent> {
        let mut events = Vec::new();
        for growth in self.reader.push(chunk) {
            self.growth(growth, &mut events);
        }
        events
    }

    pub(crate) fn finish(self) -> Result<Vec<ParsedEdit>, MalformedEdit> {
        let documents = self
            .reader
            .finish()
            .map_err(|(line, problem)| MalformedEdit::new(0, line, problem))?;
        let mut edits = Vec::new();
        for document in &documents {
            collect(document, &[], &mut edits)?;
        }
        Ok(edits)
    }

    fn growth(&mut self, growth: StringGrowth, events: &mut Vec<EditEvent>) {
        let (edit, key) = match growth.path.as_slice() {
            [JsonPathStep::Key(key)] => (0, key),
            [JsonPathStep::Key(edits), JsonPathStep::At(at), JsonPathStep::Key(key)]
                if EDITS.contains(&edits.as_str()) =>
            {
                (*at, key)
            }
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
                EditDelta::Started {
                    name: self.name.clone(),
                    hint: None,
                },
            ));
        }
        if is_old {
            events.push(event(edit, EditDelta::Old(growth.text)));
            if growth.done {
                self.old_done = Some(edit);
                self.flush(events);
            }
        } else if self.old_done == Some(edit) || CONTENT.contains(&key) {
            events.push(event(edit, EditDelta::New(growth.text)));
            if growth.done {
                events.push(event(edit, EditDelta::Finished));
            }
        } else {
            self.held.get_or_insert((edit, String::new())).1.push_str(&growth.text);
        }
    }

    fn flush(&mut self, events: &mut Vec<EditEvent>) {
        if let Some((edit, text)) = self.held.take() {
            events.push(event(edit, EditDelta::New(text)));
        }
    }
}

fn collect(value: &LooseJson, names: &[String], edits: &mut Vec<ParsedEdit>) -> Result<(), MalformedEdit> {
    match value {
        LooseJson::Array(values) => values.iter().try_for_each(|value| collect(value, names, edits)),
        LooseJson::Object(entries) => object(entries, names, edits),
        LooseJson::Null | LooseJson::Bool(_) | LooseJson::Number(_) | LooseJson::String(_) => {
            Err(problem(edits, "expected an object with a path and edits"))
        }
    }
}

type JsonEntries = [(String, LooseJson)];

fn object(entries: &JsonEntries, names: &[String], edits: &mut Vec<ParsedEdit>) -> Result<(), MalformedEdit> {
    let names = match text_field(entries, PATH, edits)? {
        Some((_, path)) => vec![path.to_owned()],
        None => names.to_vec(),
    };
    match field(entries, EDITS) {
        Some((_, LooseJson::String(inner))) => return nested(inner, &names, edits),
        Some((_, value)) => return collect(value, &names, edits),
        None => {}
    }
    if let Some(change) = change(entries, edits)? {
        edits.push(ParsedEdit::stated(names, change));
        return Ok(());
    }
    if let Some((_, patch)) = text_field(entries, PATCH, edits)? {
        let format = detect(patch).filter(|format| !matches!(format, EditFormat::Json | EditFormat::Whole));
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

fn change(entries: &JsonEntries, edits: &[ParsedEdit]) -> Result<Option<EditChange>, MalformedEdit> {
    if let Some(edit) = anchored(entries, edits)? {
        return Ok(Some(EditChange::Anchored(edit)));
    }
    let old = text_field(entries, OLD, edits)?;
    let new = text_field(entries, NEW, edits)?;
    let content = text_field(entries, CONTENT, edits)?;
    let line = number_field(entries, LINE, edits)?;
    if let Some(after) = number_field(entries, &["insert_line"], edits)? {
        let (_, text) = new
            .or(content)
            .ok_or_else(|| problem(edits, "the insertion has no `new_text`"))?;
        return Ok(Some(EditChange::Insert {
            position: InsertPosition::After(after),
            text: text.to_owned(),
        }));
    }
    match (old, new, content) {
        (Some((_, old)), Some((_, new)), _) => {
            let scope = if flag(entries, ALL) {
                ReplaceScope::All
            } else {
                ReplaceScope::One
            };
            let readings = vec![(old.to_owned(), new.to_owned())];
            Ok(Some(EditChange::Replace(Replacement {
                readings,
                hint: line,
                scope,
                unit: ReplaceUnit::Text,
            })))
        }
        (Some((name, _)), None, _) => Err(problem(edits, &format!("`{name}` is given but `new_text` is missing"))),
        (None, Some((name, _)), _) => Err(problem(edits, &format!("`{name}` is given but `old_text` is missing"))),
        (None, None, Some((_, content))) => Ok(Some(match line {
            None => EditChange::Write(content.to_owned()),
            Some(0) => EditChange::Insert {
                position: InsertPosition::End,
                text: content.to_owned(),
            },
            Some(line) => EditChange::Insert {
                position: InsertPosition::Before(line),
                text: content.to_owned(),
            },
        })),
        (None, None, None) => Ok(None),
    }
}

/// An edit at line anchors.
fn anchored(entries: &JsonEntries, edits: &[ParsedEdit]) -> Result<Option<AnchoredEdit>, MalformedEdit> {
    if field(entries, OLD).is_some() {
        return Ok(None);
    }
    let anchor = |names: &[&'static str]| match field(entries, names) {
        Some((_, LooseJson::String(text))) => LineAnchor::parse(text),
        _ => None,
    };
    let op = match field(entries, OPERATION) {
        Some((_, LooseJson::String(op))) => anchor_op(op),
        _ => None,
    };
    // `{"insert_after": "12#k3f", "text": …}`
    let keyed = ["replace", "delete", "insert_before", "insert_after"]
        .iter()
        .find_map(|name| Some((anchor(&[name])?, anchor_op(name))));
    let Some((start, op)) = anchor(START_ANCHOR).map(|start| (start, op)).or(keyed) else {
        return match field(entries, START_ANCHOR) {
            Some(("anchor" | "start_anchor", _)) => Err(problem(
                edits,
                "an anchor has the form `12#abc`; copy it from the file as it was shown",
            )),
            _ => Ok(None),
        };
    };
    let text = match field(entries, ANCHORED_TEXT) {
        Some((_, LooseJson::String(text))) => Some(text.clone()),
        Some((_, LooseJson::Array(lines))) => {
            let lines = lines.iter().filter_map(|line| match line {
                LooseJson::String(line) => Some(format!("{}\n", line.trim_end_matches('\n'))),
                _ => None,
            });
            Some(lines.collect())
        }
        _ => None,
    };
    let op = op.unwrap_or(match text.as_deref() {
        None => AnchorOp::Delete,
        Some(_) => AnchorOp::Replace,
    });
    if text.is_none() && op != AnchorOp::Delete {
        return Err(problem(edits, "the edit has no `text`"));
    }
    let text = text.unwrap_or_default();
    let end = anchor(END_ANCHOR);
    if end.is_none() && field(entries, END_ANCHOR).is_some_and(|(_, end)| *end != LooseJson::String(String::new())) {
        return Err(problem(edits, "`end` is not an anchor such as `12#abc`"));
    }
    Ok(Some(AnchoredEdit { op, start, end, text }))
}

fn anchor_op(name: &str) -> Option<AnchorOp> {
    match name.trim().to_ascii_lowercase().replace('-', "_").as_str() {
        "replace" | "set" | "update" | "replace_range" | "replace_line" => Some(AnchorOp::Replace),
        "delete" | "remove" => Some(AnchorOp::Delete),
        "insert_before" | "before" | "prepend" => Some(AnchorOp::InsertBefore),
        "insert_after" | "insert" | "after" | "append" => Some(AnchorOp::InsertAfter),
        _ => None,
    }
}

/// Edits encoded as a JSON string.
fn nested(text: &str, names: &[String], edits: &mut Vec<ParsedEdit>) -> Result<(), MalformedEdit> {
    let mut reader = IncrementalJsonReader::default();
    reader.push(text);
    let documents = reader
        .finish()
        .map_err(|(line, what)| problem(edits, &format!("the edits string, line {line}: {what}")))?;
    if documents.is_empty() {
        return Err(problem(edits, "the edits string contains no edits"));
    }
    documents
        .iter()
        .try_for_each(|document| collect(document, names, edits))
}

fn field<'a>(entries: &'a JsonEntries, names: &[&'static str]) -> Option<(&'static str, &'a LooseJson)> {
    names.iter().find_map(|name| {
        let (_, value) = entries.iter().rev().find(|(key, _)| key == name)?;
        (*value != LooseJson::Null).then_some((*name, value))
    })
}

fn text_field<'a>(
    entries: &'a JsonEntries,
    names: &[&'static str],
    edits: &[ParsedEdit],
) -> Result<Option<(&'static str, &'a str)>, MalformedEdit> {
    match field(entries, names) {
        None => Ok(None),
        Some((name, LooseJson::String(text))) => Ok(Some((name, text))),
        Some((name, _)) => Err(problem(edits, &format!("`{name}` must be a string"))),
    }
}

fn number_field(
    entries: &JsonEntries,
    names: &[&'static str],
    edits: &[ParsedEdit],
) -> Result<Option<usize>, MalformedEdit> {
    match field(entries, names) {
        None => Ok(None),
        Some((name, LooseJson::Number(text) | LooseJson::String(text))) => match text.trim().parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(problem(edits, &format!("`{name}` must be a line number"))),
        },
        Some((name, _)) => Err(problem(edits, &format!("`{name}` must be a line number"))),
    }
}

fn flag(entries: &JsonEntries, names: &[&'static str]) -> bool {
    match field(entries, names) {
        Some((_, LooseJson::Bool(yes))) => *yes,
        Some((_, LooseJson::String(text))) => text.eq_ignore_ascii_case("true"),
        _ => false,
    }
}

fn problem(edits: &[ParsedEdit], what: &str) -> MalformedEdit {
    MalformedEdit::new(edits.len() + 1, 1, what)
}
