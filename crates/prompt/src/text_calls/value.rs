//! Parameter values in a model's text.

use super::grammar::{NESTING, ParameterKind};
use super::tags::word;
use serde_json::{Map, Value as Json};

/// A value that is being parsed.
#[derive(Debug)]
pub(super) struct ParameterValue {
    pub(super) name: String,
    pub(super) kind: ParameterKind,
    /// Input that is not emitted yet: all of it, or only what may not belong to the value.
    held: String,
    /// Whether any input arrived.
    begun: bool,
    /// Whether the emitted part has several lines.
    lines: bool,
}

impl ParameterValue {
    pub(super) fn new(name: &str, kind: ParameterKind) -> Self {
        ParameterValue {
            name: name.into(),
            kind,
            held: String::new(),
            begun: false,
            lines: false,
        }
    }

    /// Whether it is emitted while it arrives.
    pub(super) fn streams(&self) -> bool {
        match self.kind {
            ParameterKind::Verbatim | ParameterKind::File => true,
            ParameterKind::Short | ParameterKind::Lines | ParameterKind::Data => false,
        }
    }

    /// Whether it has several lines.
    pub(super) fn has_lines(&self) -> bool {
        match self.streams() {
            true => self.lines,
            false => self.held.trim().contains('\n'),
        }
    }

    /// Adds input and returns what can be emitted.
    pub(super) fn push(&mut self, text: &str) -> String {
        self.held.push_str(text);
        if !self.streams() {
            return String::new();
        }
        if !self.begun {
            // One line break after the opening tag is layout.
            match self.held.as_str() {
                "" | "\r" => return String::new(),
                held if held.starts_with('\n') => drop(self.held.drain(..1)),
                held if held.starts_with("\r\n") => drop(self.held.drain(..2)),
                _ => {}
            }
            self.begun = true;
        }
        let emitted = match self.kind {
            ParameterKind::File => std::mem::take(&mut self.held),
            // One line break before the closing tag is layout.
            ParameterKind::Verbatim | ParameterKind::Short | ParameterKind::Lines | ParameterKind::Data => {
                let kept = match self.held.as_str() {
                    held if held.ends_with("\r\n") => 2,
                    held if held.ends_with(['\n', '\r']) => 1,
                    _ => 0,
                };
                let rest = self.held.split_off(self.held.len() - kept);
                std::mem::replace(&mut self.held, rest)
            }
        };
        self.lines |= emitted.contains('\n');
        emitted
    }

    /// The remaining text of a streamed value.
    pub(super) fn rest(&self) -> String {
        match self.held.as_str() {
            "\n" | "\r\n" => String::new(),
            held => held.into(),
        }
    }

    /// The value of one that is emitted at its end.
    pub(super) fn parse(&self) -> Json {
        let text = self.held.trim();
        match self.kind {
            ParameterKind::Short | ParameterKind::Verbatim | ParameterKind::File => text.into(),
            ParameterKind::Data => {
                let nested = || nested(text).map(|fields| unwrapped(fields, &self.name));
                data(text).or_else(nested).unwrap_or_else(|| text.into())
            }
            ParameterKind::Lines => match data(text) {
                Some(list @ Json::Array(_)) => list,
                Some(_) | None => text.lines().map(str::trim).filter(|line| !line.is_empty()).collect(),
            },
        }
    }
}

fn data(text: &str) -> Option<Json> {
    let plain = serde_json::from_str(text).ok();
    plain.or_else(|| {
        let looks_like_json = text.starts_with(['{', '[']) || matches!(text, "True" | "False" | "None");
        model::json::repair(text).ok().filter(|_| looks_like_json)
    })
}

/// Reads tags within a value, as Roo Code nests them: `<file><path>a.rs</path></file>` is `{"file": [{"path": "a.rs"}]}`.
fn nested(text: &str) -> Option<Json> {
    let mut fields: Map<String, Json> = Map::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let name = word(rest.strip_prefix('<')?);
        let inside = rest[1 + name.len()..].strip_prefix('>').filter(|_| !name.is_empty())?;
        let close = format!("</{name}>");
        let (inside, after) = inside.split_once(&close)?;
        let value = nested(inside).unwrap_or_else(|| inside.strip_prefix('\n').unwrap_or(inside).trim_end().into());
        match fields.get_mut(name) {
            Some(Json::Array(values)) => values.push(value),
            Some(_) | None => drop(fields.insert(name.into(), Json::Array(vec![value]))),
        }
        rest = after.trim_start();
    }
    // A single text or number is not a list.
    let single = |value: Json| match value {
        Json::Array(mut values) if values.len() == 1 && !values[0].is_object() => values.remove(0),
        value => value,
    };
    let fields = fields.into_iter().map(|(name, value)| (name, single(value)));
    Some(Json::Object(fields.collect())).filter(|value| value.as_object().is_some_and(|fields| !fields.is_empty()))
}

/// The list in `<edits><edit>…</edit></edits>`.
fn unwrapped(fields: Json, parameter: &str) -> Json {
    let list = match &fields {
        Json::Object(fields) if fields.len() == 1 && parameter != NESTING => fields.values().next(),
        _ => None,
    };
    list.filter(|list| list.is_array()).cloned().unwrap_or(fields)
}

/// Escapes a text for a JSON string, without the quotes.
pub(super) fn quoted(text: &str) -> String {
    let json = Json::from(text).to_string();
    json[1..json.len() - 1].to_owned()
}
