//! The possible readings of a complete call whose values may contain tags.
//!
//! A value may contain its own closing tag, and text that looks like another parameter, so the end of a value is a
//! guess. A reading is valid if nothing but whitespace is between the parameters, no parameter is repeated, and no
//! closing tag is left over. If several readings are valid, or none, the call must not be run.

use super::grammar::{CallGrammar, ParameterKind};
use super::syntax::CallSyntax;
use super::tags::{TagMatch, closing};
use super::value::ParameterValue;
use model::entities::{self, ENTITIES};
use serde_json::{Map, Value};

/// The meaning of a call.
#[derive(Debug, PartialEq)]
pub(super) enum CallReading {
    /// The values end where they were guessed to end.
    AsWritten,
    /// The values that differ, and the length of the call.
    Other { values: Vec<(String, Value)>, end: usize },
    /// Several readings, or none, are valid.
    Ambiguous,
}

/// A call as it was read while it arrived.
pub(super) struct StreamedCall<'a> {
    pub(super) tool: &'a str,
    pub(super) form: CallSyntax,
    /// The names of its parameters, in order.
    pub(super) names: &'a [String],
    pub(super) input: Map<String, Value>,
    /// Whether a value ends without its closing tag.
    pub(super) is_cut: bool,
}

/// Checks a call against the text from its tag to the next call, or to the end of the reply.
pub(super) fn read(region: &str, call: &StreamedCall<'_>, grammar: &CallGrammar) -> CallReading {
    let free: Vec<&String> = call.names.iter().filter(|name| !is_single_line(name)).collect();
    let closers = |name: &str| region.matches(&format!("</{}", call.form.end_of(name))).count();
    let expected = |name: &str| {
        let own = call.form.end_of(name);
        call.names.iter().filter(|other| call.form.end_of(other) == own).count()
    };
    let is_repeated = free.iter().any(|name| {
        let is_list = grammar.kind(call.tool, name) == ParameterKind::Lines;
        !is_list && call.names.iter().filter(|other| other == name).count() > 1
    });
    let has_more = free.iter().any(|name| closers(name) > expected(name));
    let is_cut = call.is_cut && free.iter().any(|name| closers(name) >= expected(name));
    if !is_repeated && !has_more && !is_cut {
        return CallReading::AsWritten;
    }
    let Some(start) = region.find('>') else {
        return CallReading::AsWritten;
    };
    let mut search = ReadingSearch {
        region,
        call,
        grammar,
        steps: 0,
        values: Vec::new(),
        found: Vec::new(),
    };
    search.parameters(search.after_tags(start + 1));
    match (search.found.pop(), search.found.is_empty() && search.steps <= MAX_STEPS) {
        (Some((values, end)), true) => {
            let is_same = values.iter().all(|(name, value)| call.input.get(name) == Some(value));
            match is_same && values.len() == call.input.len() {
                true => CallReading::AsWritten,
                false => CallReading::Other { values, end },
            }
        }
        (Some(_), false) | (None, _) => CallReading::Ambiguous,
    }
}

/// Maximum number of tags that are tried.
const MAX_STEPS: usize = 4_000;

/// Parameters that have no closing tag in their value.
fn is_single_line(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.ends_with("path") || matches!(name.as_str(), "target_file" | "file" | "source" | "destination")
}

struct ReadingSearch<'a> {
    region: &'a str,
    call: &'a StreamedCall<'a>,
    grammar: &'a CallGrammar,
    steps: usize,
    values: Vec<(String, Value)>,
    found: Vec<(Vec<(String, Value)>, usize)>,
}

impl ReadingSearch<'_> {
    /// The position after the tags of the call: an outer tag precedes the call's own.
    fn after_tags(&self, at: usize) -> usize {
        let rest = self.region[at..].trim_start();
        let own = ["<function", "<invoke", "<antml:invoke"];
        let is_own = own.iter().any(|tag| rest.starts_with(tag));
        match self.call.form.names_tool_in_attribute() && is_own {
            true => self.region.len() - rest.len() + rest.find('>').map_or(0, |end| end + 1),
            false => at,
        }
    }

    /// Continues between parameters.
    fn parameters(&mut self, at: usize) {
        self.steps += 1;
        if self.steps > MAX_STEPS || self.found.len() > 1 {
            return;
        }
        let rest = self.region[at..].trim_start();
        let at = self.region.len() - rest.len();
        let form = self.call.form;
        // Nothing follows, so that the end of an outer tag is not awaited.
        let ended = format!("{rest}.");
        if let TagMatch::Yes(bytes) = form.closing(&ended, self.call.tool) {
            let end = at + bytes.min(rest.len());
            if self.is_clean(end) {
                self.found.push((merged(&self.values), end));
            }
            return;
        }
        let (TagMatch::Yes(bytes), name) = form.opening(rest) else {
            return;
        };
        let is_known =
            self.grammar.has_parameter(self.call.tool, name) || self.call.names.iter().any(|own| own == name);
        let kind = match self.grammar.kind(self.call.tool, name) {
            ParameterKind::File if form.names_tool_in_attribute() => ParameterKind::Verbatim,
            kind => kind,
        };
        let is_used = self.values.iter().any(|(own, _)| own == name) && kind != ParameterKind::Lines;
        if is_known && !is_used {
            self.value(name.to_owned(), kind, at + bytes);
        }
    }

    /// Tries each end of a value.
    fn value(&mut self, name: String, kind: ParameterKind, start: usize) {
        let tag = self.call.form.end_of(&name).to_owned();
        let mut from = start;
        while let Some(position) = self.region[from..].find("</").map(|position| from + position) {
            from = position + 2;
            let TagMatch::Yes(bytes) = closing(&self.region[position..], &tag) else {
                continue;
            };
            let mut value = ParameterValue::new(&name, kind);
            let mut text = value.push(&self.region[start..position]);
            let value = match value.streams() {
                true => {
                    text.push_str(&value.rest());
                    text.into()
                }
                false => value.parse(),
            };
            self.values.push((name.clone(), value));
            self.parameters(position + bytes);
            self.values.pop();
            if is_single_line(&name) || self.found.len() > 1 || self.steps > MAX_STEPS {
                return;
            }
        }
    }

    /// Whether no closing tag of the call is left over.
    fn is_clean(&self, end: usize) -> bool {
        let rest = &self.region[end..];
        let is_left = |name: &str| rest.contains(&format!("</{}", self.call.form.end_of(name)));
        !self.values.iter().any(|(name, _)| is_left(name))
    }
}

/// Joins the parts of lists.
fn merged(values: &[(String, Value)]) -> Vec<(String, Value)> {
    let mut all: Vec<(String, Value)> = Vec::new();
    for (name, value) in values {
        match (all.iter_mut().find(|(own, _)| own == name), value) {
            (Some((_, Value::Array(list))), Value::Array(more)) => list.extend(more.iter().cloned()),
            (Some((_, own)), value) => *own = value.clone(),
            (None, value) => all.push((name.clone(), value.clone())),
        }
    }
    all
}

/// Files whose text contains entities by itself.
const MARKUP: [&str; 16] = [
    "htm", "html", "xhtml", "xml", "svg", "vue", "svelte", "jsx", "tsx", "xaml", "plist", "erb", "hbs", "php", "ejs",
    "astro",
];
/// Files of prose, which may name entities.
const PROSE: [&str; 6] = ["md", "markdown", "mdx", "txt", "rst", "adoc"];
/// Operators that are not written as entities in code.
const OPERATORS: [&str; 13] = [
    "&amp;&amp;",
    "&lt;=",
    "&gt;=",
    "-&gt;",
    "=&gt;",
    "&lt;-",
    " &lt; ",
    " &gt; ",
    "&lt;&lt;",
    "&gt;&gt;",
    "2&gt;",
    " &lt;",
    "&lt;/",
];

/// The values of an input that the model clearly wrote with XML entities, decoded.
pub(super) fn decoded_entities(input: &Map<String, Value>) -> Vec<(String, Value)> {
    let path = input
        .iter()
        .find(|(name, _)| name.to_ascii_lowercase().ends_with("path"));
    let extension = path
        .and_then(|(_, path)| path.as_str()?.rsplit_once('.'))
        .map(|(_, extension)| extension.to_ascii_lowercase())
        .unwrap_or_default();
    // Whether old text is in the file as it is written is known only to the edit engine.
    let is_quoted = |(name, value): (&String, &Value)| {
        name.to_ascii_lowercase().starts_with("old") && value.as_str().is_some_and(has_entity)
    };
    if input.iter().any(is_quoted) || PROSE.contains(&extension.as_str()) {
        return Vec::new();
    }
    let is_markup = MARKUP.contains(&extension.as_str());
    input
        .iter()
        .filter(|(name, _)| !name.to_ascii_lowercase().starts_with("old"))
        .filter_map(|(name, value)| Some((name, value.as_str()?)))
        .filter(|(_, text)| is_encoded(text) && (!is_markup || text.trim_start().starts_with("&lt;")))
        .map(|(name, text)| (name.clone(), entities::decode(text).into()))
        .collect()
}

fn has_entity(text: &str) -> bool {
    ENTITIES.iter().any(|(entity, _)| text.contains(entity))
}

/// Whether every special character is an entity, and one of them is an operator outside of quotes.
fn is_encoded(text: &str) -> bool {
    if !has_entity(text) || text.contains('<') {
        return false;
    }
    let is_entity = |rest: &str| ENTITIES.iter().any(|(entity, _)| rest.starts_with(entity));
    let has_plain = text.match_indices('&').any(|(at, _)| !is_entity(&text[at..]));
    !has_plain
        && OPERATORS
            .iter()
            .any(|operator| text.match_indices(operator).any(|(at, _)| is_unquoted(text, at)))
}

fn is_unquoted(text: &str, at: usize) -> bool {
    let line = text[..at].rsplit('\n').next().unwrap_or_default();
    ['"', '\'', '`']
        .iter()
        .all(|quote| line.matches(*quote).count() % 2 == 0)
}
