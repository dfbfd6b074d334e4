//! Searches public code through a Sourcegraph instance.

use std::time::Duration;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tool::{Context, Effect, Error, Output, Tool};
use url::Url;

use crate::text::count;
use crate::web::{self, Ask, End, Net, Sourcegraph as Instance, failed};

const DEFAULT_RESULTS: usize = 10;
const MAX_RESULTS: usize = 20;
const CONTEXT_LINES: usize = 5;
const MAX_CONTEXT_LINES: usize = 20;
const TIME: Duration = Duration::from_secs(30);
const MOST_READ: usize = 8 * 1024 * 1024;
const MOST_SHOWN: usize = 30_000;
const LONGEST_LINE: usize = 300;
/// Matches shown of one file.
const MOST_CHUNKS: usize = 5;

pub(crate) struct Sourcegraph {
    instance: Instance,
    base: Url,
    net: Net,
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

impl Sourcegraph {
    /// The tool, where the instance has a usable address.
    pub(crate) fn new(instance: Instance, net: &Net) -> Option<Self> {
        let base = Url::parse(&instance.base_url).ok()?;
        let net = net.also(&base);
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

impl Tool for Sourcegraph {
    const NAME: &'static str = "sourcegraph";
    const ALIASES: &'static [&'static str] = &["sourcegraph_search"];
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
        let results = input.count.unwrap_or(DEFAULT_RESULTS).clamp(1, MAX_RESULTS);
        let lines = input.context.unwrap_or(CONTEXT_LINES).min(MAX_CONTEXT_LINES);
        let mut ask = Ask::get(self.endpoint(), TIME);
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
        let taken = reply.take(MOST_READ).await;
        let mut found = Found::default();
        found.read(&String::from_utf8_lossy(&taken.bytes), results);
        found.check()?;
        let summary = count(found.shown.len(), "result");
        Ok(Output::text(found.render(taken.end)).summary(summary))
    }
}

/// What a search has found so far.
#[derive(Debug, Default)]
struct Found {
    shown: Vec<String>,
    total: Option<u64>,
    alert: Option<String>,
    error: Option<String>,
    /// Whether there is more than is shown.
    more: bool,
}

impl Found {
    /// Reads a stream of events: `event:` and `data:` lines, an empty line after each event.
    fn read(&mut self, stream: &str, most: usize) {
        let mut event = "";
        for line in stream.lines() {
            if let Some(name) = line.strip_prefix("event:") {
                event = name.trim();
            } else if let Some(data) = line.strip_prefix("data:") {
                if let Ok(data) = serde_json::from_str(data.trim_start()) {
                    self.take(event, &data, most);
                }
            } else if line.is_empty() {
                event = "";
            }
        }
    }

    fn take(&mut self, event: &str, data: &Value, most: usize) {
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
                let said = [text(&data["title"]), text(&data["description"])];
                self.alert = Some(said.into_iter().flatten().collect::<Vec<_>>().join(": "));
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

    fn render(self, end: End) -> String {
        let mut text = String::new();
        let mut shown = 0;
        for result in &self.shown {
            if !text.is_empty() && text.len() + result.len() > MOST_SHOWN {
                break;
            }
            text.push_str(&web::shorten(result, MOST_SHOWN));
            text.push('\n');
            shown += 1;
        }
        let mut notes = vec![match shown {
            0 => "nothing was found".to_owned(),
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
            End::Whole => {}
            End::TooLong | End::TooSlow | End::Broken => notes.push("the answer was cut off".into()),
        }
        format!("{text}[{}]", notes.join("; "))
    }
}

/// One result; a kind that is not known is left out.
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
            let symbols = result["symbols"].as_array().into_iter().flatten().take(MOST_CHUNKS);
            let lines = symbols.map(|symbol| {
                let said = |key: &str| symbol[key].as_str().unwrap_or_default();
                let line = symbol["line"].as_u64().unwrap_or(0);
                format!("{line}:{} {}\n", said("kind").to_lowercase(), said("name"))
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
    for (index, chunk) in chunks.iter().take(MOST_CHUNKS).enumerate() {
        if index > 0 {
            text.push_str("--\n");
        }
        let first = chunk["contentStart"]["line"].as_u64().unwrap_or(0) + 1;
        for (line, number) in chunk["content"].as_str().unwrap_or_default().lines().zip(first..) {
            text.push_str(&format!("{number}:{}\n", web::shorten(line, LONGEST_LINE)));
        }
    }
    let lines = result["lineMatches"].as_array().map(Vec::as_slice).unwrap_or_default();
    for line in lines.iter().take(MOST_CHUNKS) {
        let number = line["lineNumber"].as_u64().unwrap_or(0) + 1;
        let said = line["line"].as_str().unwrap_or_default();
        text.push_str(&format!("{number}:{}\n", web::shorten(said, LONGEST_LINE)));
    }
    let left = (chunks.len() + lines.len()).saturating_sub(MOST_CHUNKS);
    if left > 0 {
        text.push_str(&format!("[+{}]\n", count(left, "match")));
    }
    text
}
