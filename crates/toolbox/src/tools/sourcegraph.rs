//! Searches public code through a Sourcegraph instance.

use std::sync::Arc;
use std::time::Duration;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tool::{CallContext, DynTool, Error, Output, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, ToolSet, erase};
use url::Url;

use crate::registry::{BuiltIn, ToolParts};
use crate::support::text::count;
use crate::support::web::{self, BodyEnd, SourcegraphOptions as Instance, WebClient, WebRequest, failed};

const DEFAULT_RESULTS: usize = 10;
const MAX_RESULTS: usize = 20;
const CONTEXT_LINES: usize = 5;
const MAX_CONTEXT_LINES: usize = 20;
const TIME: Duration = Duration::from_secs(30);
const MAX_READ: usize = 8 * 1024 * 1024;
const MAX_SHOWN: usize = 30_000;
const MAX_LINE_BYTES: usize = 300;
/// Maximum matches shown per file.
const MAX_CHUNKS: usize = 5;

pub(crate) struct SourcegraphTool {
    instance: Instance,
    base: Url,
    net: WebClient,
}

/// Searches public code on Sourcegraph. Queries take its filters, such as `repo:`, `file:`, `lang:`, `type:symbol`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    query: String,
    /// Default 10, at most 20.
    count: Option<usize>,
    /// Lines around a match; default 5.
    #[serde(alias = "context_window")]
    context: Option<usize>,
}

impl SourcegraphTool {
    /// The tool; `None` if the instance's URL is invalid.
    pub(crate) fn new(instance: Instance, net: &WebClient) -> Option<Self> {
        let base = Url::parse(&instance.base_url).ok()?;
        let net = net.allowing(&base);
        Some(Self { instance, base, net })
    }

    fn endpoint(&self) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!(
            "{}/.api/search/stream",
            self.base.path().trim_end_matches('/')
        ));
        url
    }
}

impl BuiltIn for SourcegraphTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        let (web, net) = parts.web()?;
        Some(erase(SourcegraphTool::new(web.sourcegraph.clone()?, &net)?))
    }
}

impl Tool for SourcegraphTool {
    const NAME: &'static str = "sourcegraph";
    const ALIASES: &'static [&'static str] = &["sourcegraph_search"];
    const EFFECT: ToolEffect = ToolEffect::ReadOnly;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Search,
        sets: &[ToolSet::AskProfile],
        peers: &[
            (PeerAgent::Crush, &["sourcegraph"]),
            (PeerAgent::Copilot, &["github_repo"]),
            (PeerAgent::OpenCode, &["codesearch"]),
        ],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.query.clone()
    }

    fn adapt(&self, _called: &str, input: &mut Map<String, Value>) {
        let repo = input.remove("repo").as_ref().and_then(Value::as_str).map(str::to_owned);
        if let (Some(repo), Some(query)) = (repo, input.get("query").and_then(Value::as_str)) {
            let query = format!("repo:^github\\.com/{repo}$ {query}");
            input.insert("query".into(), query.into());
        }
    }

    fn actions(&self, _: &Input) -> Vec<Action> {
        vec![Action::Fetch {
            url: self.endpoint().into(),
        }]
    }

    async fn run(&self, input: Input, context: CallContext) -> Result<Output, Error> {
        if input.query.trim().is_empty() {
            return Err(failed("the query is empty".into()));
        }
        let results = input.count.unwrap_or(DEFAULT_RESULTS).clamp(1, MAX_RESULTS);
        let lines = input.context.unwrap_or(CONTEXT_LINES).min(MAX_CONTEXT_LINES);
        let mut ask = WebRequest::get(self.endpoint(), TIME);
        ask.accept = "text/event-stream";
        ask.url
            .query_pairs_mut()
            .append_pair("q", &input.query)
            .append_pair("v", "V3")
            .append_pair("t", "standard")
            .append_pair("display", &results.to_string())
            .append_pair("cm", "true")
            .append_pair("cl", &lines.to_string());
        if let Some(token) = &self.instance.token {
            ask.headers = vec![("authorization", format!("token {}", token.reveal()))];
        }
        let mut reply = self.net.send(ask, &context).await?.success().await?;
        let taken = reply.take(MAX_READ).await;
        let mut found = CodeSearchResults::default();
        found.read(&String::from_utf8_lossy(&taken.bytes), results);
        found.check()?;
        let summary = count(found.shown.len(), "result");
        Ok(Output::text(found.render(taken.end)).with_summary(summary))
    }
}

/// The results so far.
#[derive(Debug, Default)]
struct CodeSearchResults {
    shown: Vec<String>,
    total: Option<u64>,
    alert: Option<String>,
    error: Option<String>,
    /// Whether there are more results.
    more: bool,
}

impl CodeSearchResults {
    /// Parses server-sent events.
    fn read(&mut self, stream: &str, most: usize) {
        let mut event = "";
        for line in stream.lines() {
            if let Some(name) = line.strip_prefix("event:") {
                event = name.trim();
            } else if let Some(data) = line.strip_prefix("data:") {
                if let Ok(data) = serde_json::from_str(data.trim_start()) {
                    self.handle_event(event, &data, most);
                }
            } else if line.is_empty() {
                event = "";
            }
        }
    }

    fn handle_event(&mut self, event: &str, data: &Value, most: usize) {
        let text = |value: &Value| value.as_str().map(|text| web::shorten(text, 500));
        match event {
            "matches" => {
                for result in data.as_array().into_iter().flatten() {
                    match self.shown.len() < most {
                        true => self.shown.extend(render(result)),
                        false => self.more = true,
                    }
                }
            }
            "progress" => self.total = data["matchCount"].as_u64().or(self.total),
            "alert" => {
                let field = [text(&data["title"]), text(&data["description"])];
                self.alert = Some(field.into_iter().flatten().collect::<Vec<_>>().join(": "));
            }
            "error" => self.error = text(&data["message"]).or(Some("it failed without a reason".into())),
            _ => {}
        }
    }

    fn check(&self) -> Result<(), Error> {
        match &self.error {
            Some(why) if self.shown.is_empty() => Err(failed(format!("the search failed: {why}"))),
            Some(_) | None => Ok(()),
        }
    }

    fn render(self, end: BodyEnd) -> String {
        let mut text = String::new();
        let mut shown = 0;
        for result in &self.shown {
            if !text.is_empty() && text.len() + result.len() > MAX_SHOWN {
                break;
            }
            text.push_str(&web::shorten(result, MAX_SHOWN));
            text.push('\n');
            shown += 1;
        }
        let mut notes = vec![match shown {
            0 => "no results".to_owned(),
            shown => count(shown, "result"),
        }];
        if let Some(total) = self.total.filter(|_| shown > 0) {
            notes.push(count(total as usize, "match") + " in all");
        }
        if shown < self.shown.len() || self.more {
            notes.push("there are more; narrow the query".into());
        }
        notes.extend(self.alert);
        notes.extend(self.error.map(|why| format!("it ended early: {why}")));
        match end {
            BodyEnd::Whole => {}
            BodyEnd::TooLong | BodyEnd::TooSlow | BodyEnd::Broken => notes.push("the response was truncated".into()),
        }
        format!("{text}[{}]", notes.join("; "))
    }
}

/// Renders one result; `None` for an unknown type.
fn render(result: &Value) -> Option<String> {
    let text = |key: &str| result[key].as_str().unwrap_or_default();
    let place = format!("{} {}", text("repository"), text("path"));
    match text("type") {
        "content" => Some(format!("{place}\n{}", content(result))),
        "path" => Some(format!("{place}\n")),
        "repo" => Some(format!(
            "{}  {}\n",
            text("repository"),
            web::shorten(text("description"), 300)
        )),
        "symbol" => {
            let symbols = result["symbols"].as_array().into_iter().flatten().take(MAX_CHUNKS);
            let lines = symbols.map(|symbol| {
                let field = |key: &str| symbol[key].as_str().unwrap_or_default();
                let line = symbol["line"].as_u64().unwrap_or(0);
                format!("{line}:{} {}\n", field("kind").to_lowercase(), field("name"))
            });
            Some(format!("{place}\n{}", lines.collect::<String>()))
        }
        "commit" => Some(format!("{}\n{}\n", text("label"), web::shorten(text("content"), 1_000))),
        _ => None,
    }
}

/// The matches in a file, with line numbers.
fn content(result: &Value) -> String {
    let mut text = String::new();
    let chunks = result["chunkMatches"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (index, chunk) in chunks.iter().take(MAX_CHUNKS).enumerate() {
        if index > 0 {
            text.push_str("--\n");
        }
        let first = chunk["contentStart"]["line"].as_u64().unwrap_or(0) + 1;
        for (line, number) in chunk["content"].as_str().unwrap_or_default().lines().zip(first..) {
            text.push_str(&format!("{number}:{}\n", web::shorten(line, MAX_LINE_BYTES)));
        }
    }
    let lines = result["lineMatches"].as_array().map(Vec::as_slice).unwrap_or_default();
    for line in lines.iter().take(MAX_CHUNKS) {
        let number = line["lineNumber"].as_u64().unwrap_or(0) + 1;
        let field = line["line"].as_str().unwrap_or_default();
        text.push_str(&format!("{number}:{}\n", web::shorten(field, MAX_LINE_BYTES)));
    }
    let left = (chunks.len() + lines.len()).saturating_sub(MAX_CHUNKS);
    if left > 0 {
        text.push_str(&format!("[+{}]\n", count(left, "match")));
    }
    text
}
