//! Finds the tools that are served but not listed, so that a request pays only for those that are used all the time.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use model::ToolSpec;
use policy::Action;
use serde_json::{Value, json};
use tool::{Context, DynTool, Effect, Error, Guests, Output, Preview, Registry};

use crate::call_tool;
use crate::caps;
use crate::text::count;

/// What the model calls it.
pub(crate) const NAME: &str = "find_tools";
/// Bytes of names in one line; more are only counted.
const MOST_NAMES: usize = 700;
/// Bytes of names of each other program.
const MOST_OTHERS: usize = 240;

/// Finds tools by words.
pub(crate) struct FindTools {
    spec: ToolSpec,
    /// Those that can be found; nothing until it is known which registry serves the call.
    tools: Vec<Arc<dyn DynTool>>,
    /// Those that may still come.
    guests: Option<Arc<dyn Guests>>,
}

impl FindTools {
    /// A finder for the tools of a registry that are not listed.
    pub(crate) fn of(tools: &Registry) -> Self {
        FindTools {
            spec: ToolSpec {
                name: NAME.into(),
                description: format!(
                    "Shows how to use further tools, which are then called through {}: {}",
                    call_tool::NAME,
                    offer(tools)
                ),
                input_schema: json!({
                    "type": "object",
                    "properties": {"query": {"type": "string", "description": "Names or words."}},
                    "required": ["query"],
                }),
            },
            tools: tools.deferred().collect(),
            guests: tools.guests().cloned(),
        }
    }

    /// Waits for those who are expected, so that nobody is told too early that there is no such tool.
    async fn settle(&self) -> Option<FindTools> {
        let guests = self.guests.as_ref().filter(|guests| !guests.expected().is_empty())?;
        guests.arrived().await;
        let mut tools = self.tools.clone();
        let known: Vec<&str> = self.tools.iter().map(|tool| tool.spec().name.as_str()).collect();
        let came = guests.tools().into_iter();
        tools.extend(came.filter(|tool| !known.contains(&tool.spec().name.as_str())));
        Some(FindTools {
            spec: self.spec.clone(),
            tools,
            guests: None,
        })
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
                text = format!("No tool fits. There are: {}", names(all, MOST_NAMES));
            }
            (false, true) => {}
            (false, false) => {
                text.push_str(&format!(
                    "[{} more: {}]\n",
                    left.len(),
                    names(left.into_iter(), MOST_NAMES)
                ));
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
    // A name with other signs in it falls apart below.
    let odd = spec
        .name
        .contains(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let named = odd && query.split([' ', ',']).any(|word| word == spec.name.to_lowercase());
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
    let mut score = if named { 64 } else { 0 };
    for word in words {
        let stem = word.strip_suffix('s').filter(|stem| stem.len() > 2).unwrap_or(word);
        score += match () {
            () if spec.name == word => 64,
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

/// What there is to be found: our own tools by name, and a taste of what each other program brings.
fn offer(tools: &Registry) -> String {
    let all: Vec<Arc<dyn DynTool>> = tools.deferred().collect();
    let own = all.iter().filter(|tool| tool.source().is_none());
    let mut line = names(own.map(|tool| tool.spec().name.as_str()), MOST_NAMES);
    line.push('.');
    let mut others: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for tool in &all {
        if let Some(source) = tool.source() {
            others.entry(source).or_default().push(tool.spec().name.as_str());
        }
    }
    for (source, theirs) in others {
        line.push_str(&format!(" Of {source}: {}.", names(theirs.into_iter(), MOST_OTHERS)));
    }
    let expected = tools.guests().map(|guests| guests.expected()).unwrap_or_default();
    if !expected.is_empty() {
        let starting = names(expected.iter().map(String::as_str), MOST_OTHERS);
        line.push_str(&format!(" Those of {starting} are not known yet; look for them."));
    }
    line
}

/// Names in one line, as many as may be.
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
            tools: tools.deferred().collect(),
            guests: tools.guests().cloned(),
        };
        Some((Arc::new(now), input.clone()))
    }

    fn run(self: Arc<Self>, input: Value, _: Context) -> BoxFuture<'static, Result<Output, Error>> {
        async move {
            let query = query(&input)?;
            Ok(match self.settle().await {
                Some(settled) => settled.find(&query),
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
