//! Searches the web through a service that the person has configured.

use std::time::Duration;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tool::{Context, Effect, Error, Output, Tool};
use url::Url;

use crate::text::count;
use crate::web::{self, Ask, Engine, Net, Search, failed};

const DEFAULT_RESULTS: usize = 8;
const MAX_RESULTS: usize = 20;
const TIME: Duration = Duration::from_secs(30);
/// No service says this much about twenty pages.
const MOST_READ: usize = 2 * 1024 * 1024;
const LONGEST_TITLE: usize = 200;
const LONGEST_URL: usize = 1_000;
const LONGEST_SNIPPET: usize = 600;

pub(crate) struct WebSearch {
    search: Search,
    base: Url,
    net: Net,
}

/// Searches the web; fetch then loads a page.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "search_term", alias = "q")]
    query: String,
    /// Default 8, at most 20.
    #[serde(alias = "max_results", alias = "num_results", alias = "limit")]
    count: Option<usize>,
}

#[derive(Debug, PartialEq, Eq)]
struct Hit {
    title: String,
    url: String,
    snippet: String,
}

impl WebSearch {
    /// The tool, where the service has a usable address.
    pub(crate) fn new(search: Search, net: &Net) -> Option<Self> {
        let base = match (&search.base_url, search.engine) {
            (Some(base), _) => base,
            (None, Engine::Brave) => "https://api.search.brave.com",
            (None, Engine::Tavily) => "https://api.tavily.com",
            (None, Engine::Exa) => "https://api.exa.ai",
            (None, Engine::Searxng) => return None,
        };
        let base = Url::parse(base).ok()?;
        let net = net.also(&base);
        Some(Self { search, base, net })
    }

    fn ask(&self, query: &str, results: usize) -> Result<Ask, Error> {
        let key = self.search.key.as_ref().map(|key| key.reveal().to_owned());
        let wanted = || {
            key.clone()
                .ok_or_else(|| failed("the search service has no key; see web.search in the configuration".into()))
        };
        let mut ask = Ask::get(self.endpoint(), TIME);
        ask.accept = "application/json";
        match self.search.engine {
            Engine::Brave => {
                let mut pairs = ask.url.query_pairs_mut();
                pairs.append_pair("q", query).append_pair("count", &results.to_string());
                drop(pairs);
                ask.headers = vec![("x-subscription-token", wanted()?)];
            }
            Engine::Tavily => {
                ask.body = Some(json!({"query": query, "max_results": results}));
                ask.headers = vec![("authorization", format!("Bearer {}", wanted()?))];
            }
            Engine::Exa => {
                let contents = json!({"highlights": {"numSentences": 2, "highlightsPerUrl": 1}});
                ask.body = Some(json!({"query": query, "numResults": results, "contents": contents}));
                ask.headers = vec![("x-api-key", wanted()?)];
            }
            Engine::Searxng => {
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
            Engine::Brave => "/res/v1/web/search",
            Engine::Tavily | Engine::Exa | Engine::Searxng => "/search",
        };
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        url
    }

    async fn hits(&self, input: &Input, context: &Context) -> Result<Vec<Hit>, Error> {
        let results = input.count.unwrap_or(DEFAULT_RESULTS).clamp(1, MAX_RESULTS);
        let reply = self.net.send(self.ask(&input.query, results)?, context).await?;
        let mut reply = reply.success().await.map_err(|error| self.advise(error))?;
        let taken = reply.take(MOST_READ).await;
        let answer: Value = serde_json::from_slice(&taken.bytes)
            .map_err(|error| self.advise(failed(format!("{} did not answer with JSON: {error}", reply.url))))?;
        let list = match self.search.engine {
            Engine::Brave => &answer["web"]["results"],
            Engine::Tavily | Engine::Exa | Engine::Searxng => &answer["results"],
        };
        let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(list.iter().filter_map(hit).take(results).collect())
    }

    fn advise(&self, error: Error) -> Error {
        match self.search.engine {
            Engine::Searxng => failed(format!(
                "{error}\n(SearXNG answers in JSON only if its settings list `json` under search.formats.)"
            )),
            Engine::Brave | Engine::Tavily | Engine::Exa => error,
        }
    }
}

impl Tool for WebSearch {
    const NAME: &'static str = "web_search";
    const ALIASES: &'static [&'static str] = &["google_web_search", "search_web", "websearch"];
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.query.clone()
    }

    fn actions(&self, _: &Input) -> Vec<Action> {
        vec![Action::Fetch {
            url: self.endpoint().into(),
        }]
    }

    async fn run(&self, input: Input, context: Context) -> Result<Output, Error> {
        if input.query.trim().is_empty() {
            return Err(failed("there is nothing to search for".into()));
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
        let note = if hits.is_empty() { "nothing was found" } else { &found };
        Ok(Output::text(format!("{text}[{note}]")).summary(found))
    }
}

/// A result in whichever words the service uses; one without an address is none.
fn hit(result: &Value) -> Option<Hit> {
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
    Some(Hit {
        title: web::shorten(title.as_deref().unwrap_or(url), LONGEST_TITLE),
        url: web::shorten(url, LONGEST_URL),
        snippet: web::shorten(&snippet.map(web::one_line).unwrap_or_default(), LONGEST_SNIPPET),
    })
}
