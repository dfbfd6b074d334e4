//! Finds the tools that are served but not listed, so that a request pays only for those that are used all the time.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use model::ToolSpec;
use policy::Action;
use serde_json::{Value, json};
use tool::{Context, DynTool, Effect, Error, Output, Preview, Registry};

use crate::call_tool;
use crate::caps;
use crate::text::count;

/// What the model calls it.
pub(crate) const NAME: &str = "find_tools";
/// Bytes of names in one line; more are only counted.
const MOST_NAMES: usize = 700;

/// Finds tools by words.
pub(crate) struct FindTools {
    spec: ToolSpec,
    /// Those that can be found; nothing until it is known which registry serves the call.
    tools: Vec<Arc<dyn DynTool>>,
}

impl FindTools {
    /// A finder for the tools of a registry that are not listed.
    pub(crate) fn of(tools: &Registry) -> Self {
        FindTools {
            spec: ToolSpec {
                name: NAME.into(),
                description: format!(
                    "Shows how to use further tools, which are then called through {}: {}.",
                    call_tool::NAME,
                    names(tools.deferred().map(|tool| tool.spec().name.as_str()))
                ),
                input_schema: json!({
                    "type": "object",
                    "properties": {"query": {"type": "string", "description": "Names or words."}},
                    "required": ["query"],
                }),
            },
            tools: tools.deferred().map(Arc::clone).collect(),
        }
    }

    fn find(&self, query: &str) -> Output {
        let cap = caps::of(NAME);
        let mut found: Vec<(usize, &Arc<dyn DynTool>)> = self
            .tools
            .iter()
            .map(|tool| (score(tool.as_ref(), query), tool))
            .filter(|(score, _)| *score > 0)
            .collect();
        found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        let best = found.first().map_or(0, |(score, _)| *score);
        // What only shares a word with the query is noise beside what it names.
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
                text = format!("No tool fits. There are: {}", names(all));
            }
            (false, true) => {}
            (false, false) => {
                text.push_str(&format!("[{} more: {}]\n", left.len(), names(left.into_iter())));
            }
        }
        Output::text(text.trim_end()).summary(count(shown, "tool"))
    }
}

/// How a tool is described to the model that looked for it.
fn describe(spec: &ToolSpec) -> String {
    let schema = &spec.input_schema;
    format!("{}: {}\ninput: {schema}\n\n", spec.name, spec.description)
}

/// How well a tool fits: its name counts most, then its aliases, then the words about it.
fn score(tool: &dyn DynTool, query: &str) -> usize {
    let spec = tool.spec();
    let about = spec.description.to_lowercase();
    let query = query.to_lowercase();
    let words = query
        .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .filter(|word| !word.is_empty());
    let mut score = 0;
    for word in words {
        let stem = word.strip_suffix('s').filter(|stem| stem.len() > 2).unwrap_or(word);
        score += match () {
            () if spec.name == word => 64,
            () if tool.aliases().contains(&word) => 48,
            () if spec.name.split('_').any(|part| part == stem || part == word) => 16,
            () if stem.len() > 2 && spec.name.contains(stem) => 8,
            () if stem.len() > 2 && tool.aliases().iter().any(|alias| alias.contains(stem)) => 4,
            () if stem.len() > 2 && about.contains(stem) => 2,
            () => 0,
        };
    }
    score
}

/// Names in one line, as many as may be.
fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut line = String::new();
    let mut left = 0;
    for name in names {
        if left > 0 || line.len() + name.len() + 2 > MOST_NAMES {
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

impl DynTool for FindTools {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn aliases(&self) -> &[&'static str] {
        &["tool_search", "search_tools"]
    }

    fn effect(&self) -> Effect {
        Effect::Reads
    }

    fn title(&self, input: &Value) -> String {
        query(input).unwrap_or_default()
    }

    fn actions(&self, input: &Value) -> Result<Vec<Action>, Error> {
        query(input).map(|_| Vec::new())
    }

    fn preview(&self) -> Option<Box<dyn Preview>> {
        None
    }

    /// Tools may have come since this one was made, such as those of a server that was slow to start.
    fn resolve(&self, input: &Value, tools: &Registry) -> Option<(Arc<dyn DynTool>, Value)> {
        let now = FindTools {
            spec: self.spec.clone(),
            tools: tools.deferred().map(Arc::clone).collect(),
        };
        Some((Arc::new(now), input.clone()))
    }

    fn run(self: Arc<Self>, input: Value, _: Context) -> BoxFuture<'static, Result<Output, Error>> {
        async move { query(&input).map(|query| self.find(&query)) }.boxed()
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
