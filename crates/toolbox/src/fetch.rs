//! Loads web pages.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use policy::Action;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use tool::{Context, Effect, Error, Output, Tool};
use url::Url;

use crate::web::{self, Ask, End, Net, Reply, failed};

/// A call gives back this much of a page, or of all pages together.
const MOST_SHOWN: usize = 40_000;
/// A page is cut at the end of a line where one is this near.
const NEAR: usize = 1_000;
const MOST_PAGES: usize = 5;
/// Pages that were read before and may be leafed through.
const MOST_KEPT: usize = 4;
const DEFAULT_SECONDS: u64 = 30;
const MAX_SECONDS: u64 = 120;
const ACCEPT: &str = "text/markdown, text/html, application/json, text/*;q=0.9, */*;q=0.5";

pub(crate) struct Fetch {
    net: Net,
    max_page: usize,
    kept: Mutex<VecDeque<(String, Arc<Document>)>>,
}

/// Loads a web page as Markdown; text and JSON come as they are. For other files use download.
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

/// What was loaded, as text.
#[derive(Debug)]
struct Document {
    url: Url,
    title: Option<String>,
    text: String,
    notes: Vec<String>,
}

impl Fetch {
    pub(crate) fn new(net: Net, max_page: usize) -> Self {
        let kept = Mutex::default();
        Self { net, max_page, kept }
    }

    /// The page, from before if it is only leafed through.
    async fn document(&self, input: &Input, url: Url, context: &Context) -> Result<Arc<Document>, Error> {
        let key = format!("{} {url}", input.format.as_deref().unwrap_or_default());
        if input.offset.is_some_and(|offset| offset > 0)
            && let Some(document) = self.recall(&key)
        {
            return Ok(document);
        }
        let seconds = input.timeout.unwrap_or(DEFAULT_SECONDS).clamp(1, MAX_SECONDS);
        let ask = Ask {
            accept: ACCEPT,
            ..Ask::get(url, Duration::from_secs(seconds))
        };
        let reply = self.net.send(ask, context).await?.success().await?;
        let raw = input.format.as_deref() == Some("html");
        let document = Arc::new(read(reply, self.max_page, seconds, raw).await?);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(known, _)| *known != key);
        kept.push_front((key, Arc::clone(&document)));
        kept.truncate(MOST_KEPT);
        Ok(document)
    }

    fn recall(&self, key: &str) -> Option<Arc<Document>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().find(|(known, _)| known == key);
        found.map(|(_, document)| Arc::clone(document))
    }
}

impl Tool for Fetch {
    const NAME: &'static str = "fetch";
    const ALIASES: &'static [&'static str] = &["agentic_fetch", "fetch_webpage", "url_fetch", "web_fetch", "webfetch"];
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.url.join(" ")
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        // What is no address is refused when it is run.
        let urls = input.url.iter().filter_map(|url| web::parse(url).ok());
        urls.map(|url| Action::Fetch { url: url.into() }).collect()
    }

    async fn run(&self, input: Input, context: Context) -> Result<Output, Error> {
        if input.url.is_empty() || input.url.len() > MOST_PAGES {
            return Err(failed(format!("give 1 to {MOST_PAGES} addresses")));
        }
        let share = MOST_SHOWN / input.url.len();
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
        Ok(Output::text(parts.join("\n\n")).summary(format!("{bytes} bytes")))
    }
}

/// Reads an answer as text.
async fn read(mut reply: Reply, most: usize, seconds: u64, raw: bool) -> Result<Document, Error> {
    let url = reply.url.clone();
    let kind = reply.kind();
    if let Some(packing) = reply.packed() {
        return Err(failed(format!(
            "{url} is packed as `{packing}`, which was not asked for"
        )));
    }
    if !kind.is_empty() && !is_text(&kind) {
        return Err(failed(format!("{url} is {kind}, not text; save it with download")));
    }
    let charset = reply.charset().map(str::to_owned);
    let taken = reply.take(most).await;
    if taken.bytes.is_empty() && taken.end != End::Whole {
        return Err(failed(format!(
            "{url}: nothing of the answer arrived within {seconds} s"
        )));
    }
    let utf16 = [&b"\xFF\xFE"[..], b"\xFE\xFF"]
        .iter()
        .any(|mark| taken.bytes.starts_with(mark))
        || charset
            .as_deref()
            .is_some_and(|name| name.to_ascii_lowercase().starts_with("utf-16"));
    if !utf16 && taken.bytes.contains(&0) {
        return Err(failed(format!(
            "{url} is binary, whatever it says; save it with download"
        )));
    }
    let notes = match taken.end {
        End::Whole => Vec::new(),
        End::TooLong => vec![format!("it is longer; only its first {most} bytes were read")],
        End::TooSlow => vec![format!("it was still coming after {seconds} s and is cut here")],
        End::Broken => vec!["the connection broke before its end".to_owned()],
    };
    let html = kind.contains("html") || (kind.is_empty() && looks_like_html(&taken.bytes));
    let text = web::decode(&taken.bytes, charset.as_deref(), html);
    drop(taken);
    let page = match html && !raw {
        true => {
            crate::project::aside({
                let url = url.clone();
                move || Ok(web::markdown(&text, &url))
            })
            .await?
        }
        false => web::Page { title: None, text },
    };
    Ok(Document {
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

/// A part of a document, and how it was cut.
fn render(document: &Document, asked: &str, offset: usize, most: usize) -> String {
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
        _ if total == 0 => "there is no text in it".to_owned(),
        (0, end) if end == total => format!("{total} bytes"),
        (start, end) if end == total => format!("bytes {start}-{end} of {total}"),
        (start, end) => format!("bytes {start}-{end} of {total}; go on with offset {end}"),
    };
    let notes: Vec<&str> = std::iter::once(range.as_str())
        .chain(document.notes.iter().map(String::as_str))
        .collect();
    format!("{text}[{}]", notes.join("; "))
}

/// Where a part ends: at the end of a line, if one is near.
fn end(text: &str, start: usize, most: usize) -> usize {
    let end = text.floor_char_boundary(start.saturating_add(most));
    if end == text.len() {
        return end;
    }
    let near = text.floor_char_boundary(end.saturating_sub(NEAR).max(start));
    text[near..end].rfind('\n').map_or(end, |at| near + at + 1)
}

/// One text, or a list of them.
fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Said {
        One(String),
        Many(Vec<String>),
    }
    Ok(match Said::deserialize(deserializer)? {
        Said::One(one) => vec![one],
        Said::Many(many) => many,
    })
}
