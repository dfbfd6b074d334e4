//! Which tags are calls, and how the values in them are read.

use model::ToolSpec;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Bound;

/// The tools that a model may call in its text.
#[derive(Debug, Clone, Default)]
pub struct Grammar {
    tools: BTreeMap<String, BTreeMap<String, Kind>>,
}

/// How the value of a parameter is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text whose every space counts.
    Verbatim,
    /// Verbatim, and the last line break belongs to it: a whole file.
    File,
    /// Text that has no spaces around it.
    Short,
    /// A list of texts; without JSON, one in each line.
    Lines,
    /// JSON: a number, a list, an object.
    Data,
}

/// Parameters whose every space counts, by the names that hew and its peers give them.
const VERBATIM: [&str; 18] = [
    "body",
    "code",
    "description",
    "diff",
    "input",
    "insert_text",
    "instruction",
    "message",
    "new_str",
    "new_string",
    "new_text",
    "old_str",
    "old_string",
    "old_text",
    "patch",
    "prompt",
    "replace",
    "search",
];
/// Parameters that are whole files.
const FILES: [&str; 2] = ["content", "file_text"];

impl Grammar {
    /// Adds a tool under one of its names.
    pub fn add(&mut self, name: &str, spec: &ToolSpec) {
        let properties = spec.input_schema["properties"].as_object();
        let kinds = properties.into_iter().flatten();
        let kinds = kinds.map(|(name, schema)| (name.clone(), Kind::of(name, schema)));
        self.tools.insert(name.into(), kinds.collect());
    }

    pub(super) fn has(&self, tool: &str) -> bool {
        self.tools.contains_key(tool)
    }

    /// Whether the name of a tool begins so.
    pub(super) fn begins(&self, start: &str) -> bool {
        let from = (Bound::Included(start), Bound::Unbounded);
        let next = self.tools.range::<str, _>(from).next();
        next.is_some_and(|(name, _)| name.starts_with(start))
    }

    pub(super) fn has_parameter(&self, tool: &str, name: &str) -> bool {
        self.tools.get(tool).is_some_and(|kinds| kinds.contains_key(name))
    }

    /// Whether the name of a parameter of a tool begins so.
    pub(super) fn parameter_begins(&self, tool: &str, start: &str) -> bool {
        let kinds = self.tools.get(tool);
        kinds.is_some_and(|kinds| kinds.keys().any(|name| name.starts_with(start)))
    }

    /// How the value of a parameter is read. One that nobody knows is text.
    pub(super) fn kind(&self, tool: &str, parameter: &str) -> Kind {
        let known = self.tools.get(tool).and_then(|kinds| kinds.get(parameter)).copied();
        known.unwrap_or_else(|| Kind::of_text(parameter))
    }
}

impl Kind {
    fn of(name: &str, schema: &Value) -> Self {
        match schema["type"].as_str() {
            Some("string") => Kind::of_text(name),
            Some("array") if schema["items"]["type"] == "string" => Kind::Lines,
            Some(_) | None => Kind::Data,
        }
    }

    pub(super) fn of_text(name: &str) -> Self {
        match name {
            name if FILES.contains(&name) => Kind::File,
            name if VERBATIM.contains(&name) => Kind::Verbatim,
            _ => Kind::Short,
        }
    }
}
