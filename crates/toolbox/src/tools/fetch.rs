//! Loads web pages.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use policy::Action;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use tool::{CallContext, DynTool, Error, Output, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, ToolSet, erase};
use url::Url;

use crate::registry::{BuiltIn, ToolParts};
use crate::support::arguments;
use crate::support::web::{self, BodyEnd, WebClient, WebReply, WebRequest, failed};

/// Maximum bytes per call, for all pages together.
const MAX_SHOWN: usize = 40_000;
/// A page is cut at the end of a line within this distance.
const LINE_END_DISTANCE: usize = 1_000;
const MAX_PAGES: usize = 5;
/// Number of cached pages.
const MAX_CACHED: usize = 4;
const DEFAULT_SECONDS: u64 = 30;
const MAX_SECONDS: u64 = 120;
const ACCEPT: &str = "text/markdown, text/html, application/json, text/*;q=0.9, */*;q=0.5";

pub(crate) struct FetchTool {
    net: WebClient,
    max_page: usize,
    cache: Mutex<VecDeque<(String, Arc<FetchedDocument>)>>,
}

/// Loads a web page as Markdown; text and JSON are returned unchanged. For other files use download.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "urls", alias = "uri", deserialize_with = "one_or_many")]
    #[schemars(with = "String")]
    url: Vec<String>,
    /// Bytes to skip.
    offset: Option<usize>,
    #[schemars(skip)]
    format: Option<String>,
    #[schemars(skip)]
    #[serde(alias = "timeout_seconds")]
    timeout: Option<u64>,
}

/// A loaded page as text.
#[derive(Debug)]
struct FetchedDocument {
    url: Url,
    title: Option<String>,
    text: String,
    notes: Vec<String>,
}

impl FetchTool {
    pub(crate) fn new(net: WebClient, max_page: usize) -> Self {
        let cache = Mutex::default();
        Self { net, max_page, cache }
    }

    /// Loads the page, or takes it from the cache for a further part.
    async fn document(&self, input: &Input, url: Url, context: &CallContext) -> Result<Arc<FetchedDocument>, Error> {
        let key = format!("{} {url}", input.format.as_deref().unwrap_or_default());
        if input.offset.is_some_and(|offset| offset > 0)
            && let Some(document) = self.recall(&key)
        {
            return Ok(document);
        }
        let seconds = input.timeout.unwrap_or(DEFAULT_SECONDS).clamp(1, MAX_SECONDS);
        let ask = WebRequest {
            accept: ACCEPT,
            ..WebRequest::get(url, Duration::from_secs(seconds))
        };
        let reply = self.net.send(ask, context).await?.success().await?;
        let raw = input.format.as_deref() == Some("html");
        let document = Arc::new(read(reply, self.max_page, seconds, raw).await?);
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.retain(|(known, _)| *known != key);
        cache.push_front((key, Arc::clone(&document)));
        cache.truncate(MAX_CACHED);
        Ok(document)
    }

    fn recall(&self, key: &str) -> Option<Arc<FetchedDocument>> {
        let cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let found = cache.iter().find(|(known, _)| known == key);
        found.map(|(_, document)| Arc::clone(document))
    }
}

impl BuiltIn for FetchTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        let (web, net) = parts.web()?;
        Some(erase(FetchTool::new(net, web.max_page)))
    }
}

impl Tool for FetchTool {
    const NAME: &'static str = "fetch";
    const ALIASES: &'static [&'static str] = &["agentic_fetch", "fetch_webpage", "url_fetch", "web_fetch", "webfetch"];
    const EFFECT: ToolEffect = ToolEffect::ReadOnly;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Fetch,
        sets: &[ToolSet::AskProfile],
        peers: &[
            (PeerAgent::Zed, &["fetch"]),
            (PeerAgent::Crush, &["agentic_fetch", "fetch", "web_fetch"]),
            (PeerAgent::Copilot, &["fetch_webpage"]),
            (
                PeerAgent::ContextPilot,
                &["firecrawl_crawl", "firecrawl_map", "firecrawl_scrape"],
            ),
            (PeerAgent::ClaudeCode, &["WebFetch"]),
            (PeerAgent::GeminiCli, &["web_fetch"]),
            (PeerAgent::OpenCode, &["webfetch"]),
        ],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.url.join(" ")
    }

    /// Gemini CLI writes the URLs into a prompt.
    fn adapt(&self, _called: &str, input: &mut Map<String, Value>) {
        let has_url = ["url", "urls", "uri"].iter().any(|name| input.contains_key(*name));
        if let (false, Some(prompt)) = (has_url, arguments::text(input, "prompt")) {
            let words = prompt.split(|letter: char| letter.is_whitespace() || "<>()\"'`,".contains(letter));
            let urls = words.filter(|word| word.starts_with("http://") || word.starts_with("https://"));
            let urls: Vec<String> = urls
                .map(|url| url.trim_end_matches(['.', ';', '!', '?']).to_owned())
                .collect();
            if !urls.is_empty() {
                input.insert("url".into(), urls.into());
            }
        }
        // Milliseconds in some agents.
        if let Some(limit) = input
            .get("timeout")
            .and_then(arguments::number)
            .filter(|limit| *limit >= 1_000.0)
        {
            input.insert("timeout".into(), ((limit / 1_000.0).ceil() as u64).into());
        }
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        // An invalid URL is rejected when the call runs.
        let urls = input.url.iter().filter_map(|url| web::parse(url).ok());
        urls.map(|url| Action::Fetch { url: url.into() }).collect()
    }

    async fn run(&self, input: Input, context: CallContext) -> Result<Output, Error> {
        if input.url.is_empty() || input.url.len() > MAX_PAGES {
            return Err(failed(format!("give 1 to {MAX_PAGES} URLs")));
        }
        let share = MAX_SHOWN / input.url.len();
        let mut parts = Vec::new();
        let mut bytes = 0;
        for text in &input.url {
            let document = match web::parse(text) {
                Ok(url) => self.document(&input, url, &context).await,
                Err(error) => Err(error),
            };
            match document {
                Ok(document) => {
                    bytes += document.text.len();
                    parts.push(render(&document, text, input.offset.unwrap_or(0), share));
                }
                Err(error) if input.url.len() == 1 => return Err(error),
                Err(error) => parts.push(format!("{text}\n[{error}]")),
            }
        }
        Ok(Output::text(parts.join("\n\n")).with_summary(format!("{bytes} bytes")))
    }
}

/// Reads a response as text.
async fn read(mut reply: WebReply, most: usize, seconds: u64, raw: bool) -> Result<FetchedDocument, Error> {
    let url = reply.url.clone();
    let kind = reply.kind();
    if let Some(packing) = reply.packed() {
        return Err(failed(format!("{url} has the unsupported encoding `{packing}`")));
    }
    if !kind.is_empty() && !is_text(&kind) {
        return Err(failed(format!("{url} is {kind}, not text; save it with download")));
    }
    let charset = reply.charset().map(str::to_owned);
    let taken = reply.take(most).await;
    if taken.bytes.is_empty() && taken.end != BodyEnd::Whole {
        return Err(failed(format!("{url}: no data received within {seconds} s")));
    }
    let utf16 = [&b"\xFF\xFE"[..], b"\xFE\xFF"]
        .iter()
        .any(|mark| taken.bytes.starts_with(mark))
        || charset
            .as_deref()
            .is_some_and(|name| name.to_ascii_lowercase().starts_with("utf-16"));
    if !utf16 && taken.bytes.contains(&0) {
        return Err(failed(format!("{url} is binary; save it with download")));
    }
    let notes = match taken.end {
        BodyEnd::Whole => Vec::new(),
        BodyEnd::TooLong => vec![format!("truncated: only the first {most} bytes were read")],
        BodyEnd::TooSlow => vec![format!("truncated after {seconds} s")],
        BodyEnd::Broken => vec!["truncated: the connection was lost".to_owned()],
    };
    let html = kind.contains("html") || (kind.is_empty() && looks_like_html(&taken.bytes));
    let text = web::decode(&taken.bytes, charset.as_deref(), html);
    drop(taken);
    let page = match html && !raw {
        true => {
            crate::support::project::run_blocking({
                let url = url.clone();
                move || Ok(web::markdown(&text, &url))
            })
            .await?
        }
        false => web::WebPage { title: None, text },
    };
    Ok(FetchedDocument {
        url,
        title: page.title,
        text: page.text,
        notes,
    })
}

fn is_text(kind: &str) -> bool {
    const TEXTS: [&str; 13] = [
        "application/ecmascript",
        "application/graphql",
        "application/javascript",
        "application/json",
        "application/sql",
        "application/toml",
        "application/x-httpd-php",
        "application/x-javascript",
        "application/x-ndjson",
        "application/x-sh",
        "application/x-yaml",
        "application/xml",
        "application/yaml",
    ];
    kind.starts_with("text/") || kind.ends_with("+json") || kind.ends_with("+xml") || TEXTS.contains(&kind)
}

fn looks_like_html(bytes: &[u8]) -> bool {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(512)]).to_ascii_lowercase();
    let start = start.trim_start_matches('\u{feff}').trim_start();
    start.starts_with("<!doctype html") || start.starts_with("<html")
}

/// Renders a part of a document.
fn render(document: &FetchedDocument, asked: &str, offset: usize, most: usize) -> String {
    let total = document.text.len();
    if offset > 0 && offset >= total {
        return format!("[offset {offset} is past the end; {} has {total} bytes]", document.url);
    }
    let start = document.text.ceil_char_boundary(offset);
    let end = end(&document.text, start, most);
    let mut text = String::new();
    if offset == 0 {
        let title = document
            .title
            .iter()
            .map(|title| format!("Title: {}\n", web::shorten(title, 300)));
        let moved =
            (web::parse(asked).ok().as_ref() != Some(&document.url)).then(|| format!("From: {}\n", document.url));
        text.extend(title.chain(moved));
        if !text.is_empty() {
            text.push('\n');
        }
    }
    text.push_str(&document.text[start..end]);
    if !text.ends_with('\n') && !text.is_empty() {
        text.push('\n');
    }
    let range = match (start, end) {
        _ if total == 0 => "no text".to_owned(),
        (0, end) if end == total => format!("{total} bytes"),
        (start, end) if end == total => format!("bytes {start}-{end} of {total}"),
        (start, end) => format!("bytes {start}-{end} of {total}; continue with offset {end}"),
    };
    let notes: Vec<&str> = std::iter::once(range.as_str())
        .chain(document.notes.iter().map(String::as_str))
        .collect();
    format!("{text}[{}]", notes.join("; "))
}

/// The end of a part: at the end of a line, if one is near.
fn end(text: &str, start: usize, most: usize) -> usize {
    let end = text.floor_char_boundary(start.saturating_add(most));
    if end == text.len() {
        return end;
    }
    let near = text.floor_char_boundary(end.saturating_sub(LINE_END_DISTANCE).max(start));
    text[near..end].rfind('\n').map_or(end, |at| near + at + 1)
}

/// Deserializes one URL or a list of URLs.
fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a URL, or a list of URLs")]
    enum UrlArgument {
        One(String),
        Many(Vec<String>),
    }
    Ok(match UrlArgument::deserialize(deserializer)? {
        UrlArgument::One(one) => vec![one],
        UrlArgument::Many(many) => many,
    })
}
