//! Finds deferred tools, so that only frequently used ones cost tokens in each request.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use model::ToolSpec;
use policy::Action;
use serde_json::{Value, json};
use tool::{
    Availability, CallContext, CallInput, CallPreview, DynTool, DynamicTools, Error, ModelClass, Output, OutputCap,
    PeerAgent, RebuiltTool, Registry, ToolEffect, ToolFacts, ToolKind, ToolListing, ToolSet, fold_name,
};

use crate::support::text::count;
use crate::tools::call_tool;

/// The tool's name.
pub(crate) const NAME: &str = "find_tools";
/// Facts about the tool.
pub(crate) const FACTS: ToolFacts = ToolFacts {
    listing: ToolListing::Listed,
    kind: ToolKind::Search,
    cap: OutputCap {
        entries: 8,
        bytes: 8_000,
        result: 12_000,
        line: usize::MAX,
    },
    sets: &[ToolSet::AskProfile],
    exceptions: &[
        (ModelClass::SmallWindow, Availability::Hidden),
        (ModelClass::Small, Availability::Hidden),
    ],
    peers: &[
        (PeerAgent::Copilot, &["tool_search"]),
        (PeerAgent::ClaudeCode, &["ToolSearch"]),
        (PeerAgent::Codex, &["tool_search"]),
    ],
};
/// Maximum bytes of names in one line; the rest is counted.
const MAX_NAMES: usize = 700;
/// The score of a tool's exact name.
const EXACT: usize = 64;
/// Maximum bytes of names for each other program.
const MAX_OTHERS: usize = 240;

/// Finds tools by keywords.
pub(crate) struct FindToolsTool {
    spec: ToolSpec,
    /// The deferred tools; empty until the registry that serves the call is known.
    tools: Vec<Arc<dyn DynTool>>,
    /// Tools that may still start.
    dynamic_tools: Option<Arc<dyn DynamicTools>>,
}

impl FindToolsTool {
    /// Searches the deferred tools of a registry.
    pub(crate) fn of(tools: &Registry) -> Self {
        FindToolsTool {
            spec: ToolSpec {
                name: NAME.into(),
                description: format!(
                    "Finds more tools, to be called with {}: {}",
                    call_tool::NAME,
                    offer(tools)
                ),
                input_schema: json!({
                    "type": "object",
                    "properties": {"query": {"type": "string", "description": "Names or keywords."}},
                    "required": ["query"],
                }),
            },
            tools: tools.deferred().collect(),
            dynamic_tools: tools.dynamic().cloned(),
        }
    }

    /// Waits for tools that are starting, so that a search does not miss them.
    async fn wait_for_tools(&self) -> Option<FindToolsTool> {
        let dynamic_tools = self.dynamic_tools.as_ref()?;
        if !dynamic_tools.starting().is_empty() {
            dynamic_tools.wait_until_started().await;
        }
        let mut tools = self.tools.clone();
        let known: Vec<&str> = self.tools.iter().map(|tool| tool.spec().name.as_str()).collect();
        let dynamic = dynamic_tools.tools().into_iter();
        tools.extend(dynamic.filter(|tool| !known.contains(&tool.spec().name.as_str())));
        Some(FindToolsTool {
            spec: self.spec.clone(),
            tools,
            dynamic_tools: None,
        })
    }

    fn find(&self, query: &str) -> Output {
        let cap = FACTS.cap;
        let named = exact_names(query);
        let mut found: Vec<(usize, &Arc<dyn DynTool>)> = self
            .tools
            .iter()
            .map(|tool| match &named {
                Some(names) => (if has_name(tool.as_ref(), names) { EXACT } else { 0 }, tool),
                None => (score(tool.as_ref(), query), tool),
            })
            .filter(|(score, _)| *score > 0)
            .collect();
        found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        let best = found.first().map_or(0, |(score, _)| *score);
        // Drop weak matches if there is a strong one.
        found.retain(|(score, _)| *score * 4 >= best);
        let mut text = String::new();
        let mut left = Vec::new();
        for (place, (_, tool)) in found.iter().enumerate() {
            let shown = describe(tool.spec());
            if place < cap.entries && (text.is_empty() || text.len() + shown.len() <= cap.bytes) {
                text.push_str(&shown);
            } else {
                left.push(tool.spec().name.as_str());
            }
        }
        let shown = found.len() - left.len();
        match (found.is_empty(), left.is_empty()) {
            (true, _) => {
                let all = self.tools.iter().map(|tool| tool.spec().name.as_str());
                text = format!(
                    "No matching tool besides the listed ones. Available: {}",
                    names(all, MAX_NAMES)
                );
            }
            (false, true) => {}
            (false, false) => {
                text.push_str(&format!(
                    "[{} more: {}]\n",
                    left.len(),
                    names(left.into_iter(), MAX_NAMES)
                ));
            }
        }
        Output::text(text.trim_end()).with_summary(count(shown, "tool"))
    }
}

/// Whether there are tools to find, or servers whose tools are not known yet.
pub(crate) fn are_needed(tools: &Registry) -> bool {
    let is_starting = tools
        .dynamic()
        .is_some_and(|dynamic_tools| !dynamic_tools.starting().is_empty());
    is_starting || tools.deferred().next().is_some()
}

/// A search result for the model.
fn describe(spec: &ToolSpec) -> String {
    let schema = &spec.input_schema;
    format!("{}: {}\ninput: {schema}\n\n", spec.name, spec.description)
}

/// Claude Code names tools exactly: `select:Read,Edit`.
fn exact_names(query: &str) -> Option<Vec<String>> {
    let names = query.trim().strip_prefix("select:")?;
    Some(names.split(',').map(fold_name).collect())
}

/// Whether a tool has one of these names here or in another agent.
fn has_name(tool: &dyn DynTool, names: &[String]) -> bool {
    let facts = tool.facts();
    let peers = facts.peers.iter().flat_map(|(_, names)| names.iter().copied());
    let mut own = std::iter::once(tool.spec().name.as_str())
        .chain(tool.aliases().iter().copied())
        .chain(peers);
    own.any(|own| names.contains(&fold_name(own))) || names.iter().any(|name| tool.answers_to(name))
}

/// Scores a match: the name counts most, then the aliases, then the description.
fn score(tool: &dyn DynTool, query: &str) -> usize {
    let spec = tool.spec();
    let about = spec.description.to_lowercase();
    let query = query.to_lowercase();
    // A name with other characters is split below.
    let is_split = spec
        .name
        .contains(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let named = is_split && query.split([' ', ',']).any(|word| word == spec.name.to_lowercase());
    let words = query
        .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .filter(|word| !word.is_empty());
    let parts = |text: &str| {
        text.to_lowercase()
            .split(['_', '-', '.', ' '])
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let (own, source) = (parts(&spec.name), parts(tool.source().unwrap_or_default()));
    let mut score = if named { EXACT } else { 0 };
    for word in words {
        let stem = word.strip_suffix('s').filter(|stem| stem.len() > 2).unwrap_or(word);
        score += match () {
            () if spec.name == word => EXACT,
            () if tool.aliases().contains(&word) => 48,
            () if own.iter().chain(&source).any(|part| part == stem || part == word) => 16,
            () if stem.len() > 2 && spec.name.contains(stem) => 8,
            () if stem.len() > 2 && tool.aliases().iter().any(|alias| alias.contains(stem)) => 4,
            () if stem.len() > 2 && about.contains(stem) => 2,
            () => 0,
        };
    }
    score
}

/// The deferred tools by name: all built-in ones, and some of each other program.
fn offer(tools: &Registry) -> String {
    let all: Vec<Arc<dyn DynTool>> = tools.deferred().collect();
    let own = all.iter().filter(|tool| tool.source().is_none());
    let mut line = names(own.map(|tool| tool.spec().name.as_str()), MAX_NAMES);
    line.push('.');
    let mut others: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for tool in &all {
        if let Some(source) = tool.source() {
            others.entry(source).or_default().push(tool.spec().name.as_str());
        }
    }
    for (source, tools) in others {
        line.push_str(&format!(" Of {source}: {}.", names(tools.into_iter(), MAX_OTHERS)));
    }
    let expected = tools
        .dynamic()
        .map(|dynamic_tools| dynamic_tools.starting())
        .unwrap_or_default();
    if !expected.is_empty() {
        let starting = names(expected.iter().map(String::as_str), MAX_OTHERS);
        line.push_str(&format!(" Still starting: {starting}; search for their tools."));
    }
    line
}

/// As many names as fit in one line.
fn names<'a>(names: impl Iterator<Item = &'a str>, most: usize) -> String {
    let mut line = String::new();
    let mut left = 0;
    for name in names {
        if left > 0 || line.len() + name.len() + 2 > most {
            left += 1;
            continue;
        }
        if !line.is_empty() {
            line.push_str(", ");
        }
        line.push_str(name);
    }
    if left > 0 {
        line.push_str(&format!(" and {left} more"));
    }
    line
}

impl DynTool for FindToolsTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn aliases(&self) -> &[&'static str] {
        &["tool_search", "search_tools"]
    }

    fn effect(&self) -> ToolEffect {
        ToolEffect::ReadOnly
    }

    fn facts(&self) -> ToolFacts {
        FACTS
    }

    fn title(&self, input: &CallInput) -> String {
        query(input).unwrap_or_default()
    }

    fn actions(&self, input: &CallInput) -> Result<Vec<Action>, Error> {
        query(input).map(|_| Vec::new())
    }

    fn preview(&self) -> Option<Box<dyn CallPreview>> {
        None
    }

    fn rebuilt_for(&self, tools: &Registry) -> RebuiltTool {
        match are_needed(tools) {
            true => RebuiltTool::Replaced(Arc::new(FindToolsTool::of(tools))),
            false => RebuiltTool::Removed,
        }
    }

    /// Dynamic tools may have started since, such as those of a slow server.
    fn resolve(&self, input: &Value, tools: &Registry) -> Option<(Arc<dyn DynTool>, Value)> {
        let now = FindToolsTool {
            spec: self.spec.clone(),
            tools: tools.deferred().collect(),
            dynamic_tools: tools.dynamic().cloned(),
        };
        Some((Arc::new(now), input.clone()))
    }

    fn run(self: Arc<Self>, input: CallInput, _: CallContext) -> BoxFuture<'static, Result<Output, Error>> {
        async move {
            let query = query(&input)?;
            Ok(match self.wait_for_tools().await {
                Some(updated) => updated.find(&query),
                None => self.find(&query),
            })
        }
        .boxed()
    }
}

fn query(input: &Value) -> Result<String, Error> {
    let words = ["query", "name", "names", "pattern"]
        .iter()
        .find_map(|key| input.get(key));
    match words {
        Some(Value::String(query)) => Ok(query.clone()),
        Some(Value::Array(words)) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            Ok(words.join(" "))
        }
        Some(_) | None => Err(Error::Input {
            tool: NAME.into(),
            detail: "missing field `query`".into(),
        }),
    }
}
