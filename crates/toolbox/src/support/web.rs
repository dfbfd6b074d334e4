//! Web access shared by several tools: allowed hosts, size limits, page content.

mod allowed_hosts;
mod charset;
mod client;
mod markdown;
mod reply;

pub use allowed_hosts::{AllowedHost, CommandHosts, InvalidHostPattern};
pub(crate) use charset::decode;
pub(crate) use client::{BodyCompression, WebClient, WebRequest, is_same_host, parse, permit};
pub(crate) use markdown::{WebPage, markdown, one_line};
pub(crate) use reply::{BodyEnd, WebReply};

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use providers::Secret;
use tool::Error;

/// Configuration of the web tools.
#[derive(Debug, Clone)]
pub struct WebOptions {
    /// Private hosts and networks that may be accessed.
    pub allow_private: Vec<AllowedHost>,
    /// Selects the proxy for a URL.
    pub proxies: Option<ProxyResolver>,
    /// Maximum bytes of a page.
    pub max_page: usize,
    /// Maximum bytes of a download.
    pub max_download: usize,
    /// The search service; without it the web cannot be searched.
    pub search: Option<SearchOptions>,
    /// The Sourcegraph instance for code search.
    pub sourcegraph: Option<SourcegraphOptions>,
    /// The Chromium to use; without it the browser is not available.
    pub browser: Option<Chromium>,
}

impl WebOptions {
    /// Default maximum bytes of a page.
    pub const MAX_PAGE: usize = 5 * 1024 * 1024;
    /// Default maximum bytes of a download.
    pub const MAX_DOWNLOAD: usize = 32 * 1024 * 1024;
}

impl Default for WebOptions {
    fn default() -> Self {
        WebOptions {
            allow_private: Vec::new(),
            proxies: None,
            max_page: WebOptions::MAX_PAGE,
            max_download: WebOptions::MAX_DOWNLOAD,
            search: None,
            sourcegraph: None,
            browser: None,
        }
    }
}

/// Configuration of the search service.
#[derive(Debug, Clone)]
pub struct SearchOptions {
    /// The service.
    pub engine: SearchEngine,
    /// The API key, if required.
    pub key: Option<Secret>,
    /// The base URL, if not the default.
    pub base_url: Option<String>,
}

/// A web search service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchEngine {
    /// Brave Search.
    Brave,
    /// Tavily.
    Tavily,
    /// Exa.
    Exa,
    /// A SearXNG instance; requires a base URL.
    Searxng,
}

/// A Sourcegraph instance.
#[derive(Debug, Clone)]
pub struct SourcegraphOptions {
    /// The base URL.
    pub base_url: String,
    /// The access token, if required.
    pub token: Option<Secret>,
}

/// A Chromium-based browser.
#[derive(Debug, Clone)]
pub struct Chromium {
    /// The program.
    pub program: PathBuf,
}

/// Selects the proxy for a URL.
#[derive(Clone)]
pub struct ProxyResolver(pub Arc<ProxyLookup>);

/// Maps a URL to the URL of its proxy.
pub type ProxyLookup = dyn Fn(&str) -> Option<String> + Send + Sync;

impl fmt::Debug for ProxyResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Proxies")
    }
}

pub(crate) fn failed(why: String) -> Error {
    Error::Failed(why)
}

/// Truncates a text and notes how much was cut.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    let end = text.floor_char_boundary(most);
    match text.len() - end {
        0 => text.to_owned(),
        cut => format!("{} [+{cut} bytes]", &text[..end]),
    }
}
