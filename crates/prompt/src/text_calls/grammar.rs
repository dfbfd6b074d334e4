//! Which tags are calls, and how their values are parsed.

use model::ToolSpec;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::ops::Bound;

/// The tools that a model may call in its text.
#[derive(Debug, Clone, Default)]
pub struct CallGrammar {
    tools: BTreeMap<String, BTreeMap<String, ParameterKind>>,
    /// The required parameters of each tool, in order.
    required: BTreeMap<String, Vec<String>>,
    /// Names that are too common to be tags, and the tools that they mean.
    aliases: BTreeMap<String, String>,
}

/// How the value of a parameter is parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterKind {
    /// Text with significant whitespace.
    Verbatim,
    /// Verbatim including the final line break: a whole file.
    File,
    /// Text that is trimmed.
    Short,
    /// A list of texts: JSON, or one per line.
    Lines,
    /// JSON: a number, a list, an object.
    Data,
}

/// Parameters with significant whitespace, by the names that hew and other agents use.
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
/// Parameters of other agents' tools that follow a multi-line value.
const PEER_PARAMETERS: [&str; 2] = ["line_count", "task_progress"];
/// The parameter in which Roo Code nests others.
pub(super) const NESTING: &str = "args";
/// Parameters that are whole files.
const FILES: [&str; 2] = ["content", "file_text"];

impl CallGrammar {
    /// Adds a tool under one of its names.
    pub fn add(&mut self, name: &str, spec: &ToolSpec) {
        let properties = spec.input_schema["properties"].as_object();
        let kinds = properties.into_iter().flatten();
        let kinds = kinds.map(|(name, schema)| (name.clone(), ParameterKind::of(name, schema)));
        self.tools.insert(name.into(), kinds.collect());
        let required = spec.input_schema["required"].as_array().into_iter().flatten();
        let required = required.filter_map(Value::as_str).map(String::from);
        self.required.insert(name.into(), required.collect());
    }

    /// Adds the name of a tool that is not available, so that a call of it is answered and not shown as text.
    pub fn add_unavailable(&mut self, name: &str) {
        self.tools.entry(name.into()).or_default();
    }

    /// Adds another name of a tool for calls with an unambiguous syntax, such as
    /// `<tool_call>{"name": "Bash", …}</tool_call>`.
    pub fn add_alias(&mut self, alias: &str, tool: &str) {
        self.aliases.insert(alias.into(), tool.into());
    }

    /// Whether a tag with this name is a call.
    pub(super) fn has(&self, tool: &str) -> bool {
        self.tools.contains_key(tool)
    }

    /// Whether a call may have this name.
    pub(super) fn names_tool(&self, name: &str) -> bool {
        self.has(name) || self.aliases.contains_key(name)
    }

    /// The input of a call with unnamed values: those of the required parameters, in order.
    pub(super) fn positional_input(&self, tool: &str, values: Vec<Value>) -> Option<Map<String, Value>> {
        let names = self.required.get(tool)?;
        let is_complete = names.len() == values.len() && !values.is_empty();
        is_complete.then(|| names.iter().cloned().zip(values).collect())
    }

    fn parameters(&self, tool: &str) -> Option<&BTreeMap<String, ParameterKind>> {
        let own = self.aliases.get(tool).map_or(tool, String::as_str);
        self.tools.get(tool).or_else(|| self.tools.get(own))
    }

    /// Whether a tool name starts like this.
    pub(super) fn begins(&self, start: &str) -> bool {
        let from = (Bound::Included(start), Bound::Unbounded);
        let next = self.tools.range::<str, _>(from).next();
        next.is_some_and(|(name, _)| name.starts_with(start))
    }

    pub(super) fn has_parameter(&self, tool: &str, name: &str) -> bool {
        let is_known = self.parameters(tool).is_some_and(|kinds| kinds.contains_key(name));
        is_known || PEER_PARAMETERS.contains(&name)
    }

    /// Whether a parameter name of a tool starts like this.
    pub(super) fn parameter_begins(&self, tool: &str, start: &str) -> bool {
        let kinds = self.parameters(tool);
        let is_known = kinds.is_some_and(|kinds| kinds.keys().any(|name| name.starts_with(start)));
        is_known || PEER_PARAMETERS.iter().any(|name| name.starts_with(start))
    }

    /// How the value of a parameter is parsed. Unknown parameters are text.
    pub(super) fn kind(&self, tool: &str, parameter: &str) -> ParameterKind {
        let known = self.parameters(tool).and_then(|kinds| kinds.get(parameter)).copied();
        known.unwrap_or_else(|| match parameter {
            NESTING => ParameterKind::Data,
            _ => ParameterKind::of_text(parameter),
        })
    }
}

impl ParameterKind {
    fn of(name: &str, schema: &Value) -> Self {
        match schema["type"].as_str() {
            Some("string") => ParameterKind::of_text(name),
            Some("array") if schema["items"]["type"] == "string" => ParameterKind::Lines,
            Some(_) | None => ParameterKind::Data,
        }
    }

    pub(super) fn of_text(name: &str) -> Self {
        match name {
            name if FILES.contains(&name) => ParameterKind::File,
            name if VERBATIM.contains(&name) => ParameterKind::Verbatim,
            _ => ParameterKind::Short,
        }
    }
}
