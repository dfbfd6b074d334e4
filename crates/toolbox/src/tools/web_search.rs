//! Searches the web with the configured service.

use std::sync::Arc;
use std::time::Duration;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tool::{CallContext, DynTool, Error, Output, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, ToolSet, erase};
use url::Url;

use crate::registry::{BuiltIn, ToolParts};
use crate::support::text::count;
use crate::support::web::{self, SearchEngine, SearchOptions, WebClient, WebRequest, failed};

const DEFAULT_RESULTS: usize = 8;
const MAX_RESULTS: usize = 20;
const TIME: Duration = Duration::from_secs(30);
/// Maximum size of a response.
const MAX_READ: usize = 2 * 1024 * 1024;
const MAX_TITLE_BYTES: usize = 200;
const MAX_URL_BYTES: usize = 1_000;
const MAX_SNIPPET_BYTES: usize = 600;

pub(crate) struct WebSearchTool {
    search: SearchOptions,
    base: Url,
    net: WebClient,
}

/// Searches the web; use fetch to load a page.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "search_term", alias = "q")]
    query: String,
    /// Default 8, at most 20.
    #[serde(alias = "max_results", alias = "num_results", alias = "limit")]
    count: Option<usize>,
}

#[derive(Debug, PartialEq, Eq)]
struct WebSearchHit {
    title: String,
    url: String,
    snippet: String,
}

impl WebSearchTool {
    /// The tool; `None` if the service's URL is invalid.
    pub(crate) fn new(search: SearchOptions, net: &WebClient) -> Option<Self> {
        let base = match (&search.base_url, search.engine) {
            (Some(base), _) => base,
            (None, SearchEngine::Brave) => "https://api.search.brave.com",
            (None, SearchEngine::Tavily) => "https://api.tavily.com",
            (None, SearchEngine::Exa) => "https://api.exa.ai",
            (None, SearchEngine::Searxng) => return None,
        };
        let base = Url::parse(base).ok()?;
        let net = net.allowing(&base);
        Some(Self { search, base, net })
    }

    fn ask(&self, query: &str, results: usize) -> Result<WebRequest, Error> {
        let key = self.search.key.as_ref().map(|key| key.reveal().to_owned());
        let required_key = || {
            key.clone()
                .ok_or_else(|| failed("the search service has no key; see web.search in the configuration".into()))
        };
        let mut ask = WebRequest::get(self.endpoint(), TIME);
        ask.accept = "application/json";
        match self.search.engine {
            SearchEngine::Brave => {
                let mut pairs = ask.url.query_pairs_mut();
                pairs.append_pair("q", query).append_pair("count", &results.to_string());
                drop(pairs);
                ask.headers = vec![("x-subscription-token", required_key()?)];
            }
            SearchEngine::Tavily => {
                ask.body = Some(json!({"query": query, "max_results": results}));
                ask.headers = vec![("authorization", format!("Bearer {}", required_key()?))];
            }
            SearchEngine::Exa => {
                let contents = json!({"highlights": {"numSentences": 2, "highlightsPerUrl": 1}});
                ask.body = Some(json!({"query": query, "numResults": results, "contents": contents}));
                ask.headers = vec![("x-api-key", required_key()?)];
            }
            SearchEngine::Searxng => {
                ask.url
                    .query_pairs_mut()
                    .append_pair("q", query)
                    .append_pair("format", "json");
                ask.headers = key
                    .map(|key| ("authorization", format!("Bearer {key}")))
                    .into_iter()
                    .collect();
            }
        }
        Ok(ask)
    }

    fn endpoint(&self) -> Url {
        let path = match self.search.engine {
            SearchEngine::Brave => "/res/v1/web/search",
            SearchEngine::Tavily | SearchEngine::Exa | SearchEngine::Searxng => "/search",
        };
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        url
    }

    async fn hits(&self, input: &Input, context: &CallContext) -> Result<Vec<WebSearchHit>, Error> {
        let results = input.count.unwrap_or(DEFAULT_RESULTS).clamp(1, MAX_RESULTS);
        let reply = self.net.send(self.ask(&input.query, results)?, context).await?;
        let mut reply = reply.success().await.map_err(|error| self.advise(error))?;
        let taken = reply.take(MAX_READ).await;
        let answer: Value = serde_json::from_slice(&taken.bytes)
            .map_err(|error| self.advise(failed(format!("{} did not answer with JSON: {error}", reply.url))))?;
        let list = match self.search.engine {
            SearchEngine::Brave => &answer["web"]["results"],
            SearchEngine::Tavily | SearchEngine::Exa | SearchEngine::Searxng => &answer["results"],
        };
        let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(list.iter().filter_map(hit).take(results).collect())
    }

    fn advise(&self, error: Error) -> Error {
        match self.search.engine {
            SearchEngine::Searxng => failed(format!(
                "{error}\n(SearXNG answers in JSON only if its settings list `json` under search.formats.)"
            )),
            SearchEngine::Brave | SearchEngine::Tavily | SearchEngine::Exa => error,
        }
    }
}

impl BuiltIn for WebSearchTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        let (web, net) = parts.web()?;
        Some(erase(WebSearchTool::new(web.search.clone()?, &net)?))
    }
}

impl Tool for WebSearchTool {
    const NAME: &'static str = "web_search";
    const ALIASES: &'static [&'static str] = &["google_web_search", "search_web", "websearch"];
    const EFFECT: ToolEffect = ToolEffect::ReadOnly;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Search,
        sets: &[ToolSet::AskProfile],
        peers: &[
            (PeerAgent::Zed, &["search_web", "web_search"]),
            (PeerAgent::Crush, &["web_search"]),
            (
                PeerAgent::ContextPilot,
                &["brave_llm_context", "brave_search", "firecrawl_search"],
            ),
            (PeerAgent::ClaudeCode, &["WebSearch"]),
            (PeerAgent::Codex, &["web_search"]),
            (PeerAgent::GeminiCli, &["google_web_search"]),
            (PeerAgent::OpenCode, &["websearch"]),
        ],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.query.clone()
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
        let hits = self.hits(&input, &context).await?;
        let found = count(hits.len(), "result");
        let mut text = String::new();
        for (index, hit) in hits.iter().enumerate() {
            text.push_str(&format!("{}. {}\n{}\n", index + 1, hit.title, hit.url));
            if !hit.snippet.is_empty() {
                text.push_str(&format!("{}\n", hit.snippet));
            }
            text.push('\n');
        }
        let note = if hits.is_empty() { "no results" } else { &found };
        Ok(Output::text(format!("{text}[{note}]")).with_summary(found))
    }
}

/// Parses a result of any service; `None` without a URL.
fn hit(result: &Value) -> Option<WebSearchHit> {
    let text = |key: &str| result[key].as_str().filter(|text| !text.trim().is_empty());
    let url = text("url")?;
    let highlights = result["highlights"]
        .as_array()
        .and_then(|list| list.first())
        .and_then(Value::as_str);
    let snippet = text("description")
        .or(text("content"))
        .or(highlights)
        .or(text("summary"))
        .or(text("text"));
    let title = text("title").map(web::one_line).filter(|title| !title.is_empty());
    Some(WebSearchHit {
        title: web::shorten(title.as_deref().unwrap_or(url), MAX_TITLE_BYTES),
        url: web::shorten(url, MAX_URL_BYTES),
        snippet: web::shorten(&snippet.map(web::one_line).unwrap_or_default(), MAX_SNIPPET_BYTES),
    })
}
