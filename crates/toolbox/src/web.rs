//! What the tools for the web share: whom they may reach, how much of an answer they take, and what a page says.

mod address;
mod charset;
mod markdown;
mod net;
mod reply;

pub use address::{Allowed, NoHost};
pub(crate) use charset::decode;
pub(crate) use markdown::{Page, markdown, one_line};
pub(crate) use net::{Ask, Net, Packing, is_same_host, parse, permit};
pub(crate) use reply::{End, Reply};

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use providers::Secret;
use tool::Error;

/// How the tools for the web are fitted.
#[derive(Debug, Clone)]
pub struct Web {
    /// Hosts and networks that may be reached although they are not public.
    pub allow_private: Vec<Allowed>,
    /// Which proxy leads to an address.
    pub proxies: Option<Proxies>,
    /// How many bytes of a page are read.
    pub max_page: usize,
    /// How many bytes a download may have.
    pub max_download: usize,
    /// Who searches the web; without it nobody does.
    pub search: Option<Search>,
    /// Where public code is searched, as `https://host`.
    pub sourcegraph: Option<Sourcegraph>,
    /// The Chromium that is driven; without it there is no browser.
    pub browser: Option<Chromium>,
}

impl Web {
    /// How many bytes of a page are read, unless the person says otherwise.
    pub const MAX_PAGE: usize = 5 * 1024 * 1024;
    /// How many bytes a download may have, unless the person says otherwise.
    pub const MAX_DOWNLOAD: usize = 32 * 1024 * 1024;
}

impl Default for Web {
    fn default() -> Self {
        Web {
            allow_private: Vec::new(),
            proxies: None,
            max_page: Web::MAX_PAGE,
            max_download: Web::MAX_DOWNLOAD,
            search: None,
            sourcegraph: None,
            browser: None,
        }
    }
}

/// Who searches the web.
#[derive(Debug, Clone)]
pub struct Search {
    /// Which service.
    pub engine: Engine,
    /// Its key, where it wants one.
    pub key: Option<Secret>,
    /// Where it is, where that is not its usual place.
    pub base_url: Option<String>,
}

/// A service that searches the web.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Brave Search.
    Brave,
    /// Tavily.
    Tavily,
    /// Exa.
    Exa,
    /// An instance of SearXNG; its address must be given.
    Searxng,
}

/// A Sourcegraph instance.
#[derive(Debug, Clone)]
pub struct Sourcegraph {
    /// Where it is.
    pub base_url: String,
    /// Its access token, where it wants one.
    pub token: Option<Secret>,
}

/// A Chromium, or a browser of its family.
#[derive(Debug, Clone)]
pub struct Chromium {
    /// The program.
    pub program: PathBuf,
}

/// Finds the proxy that leads to an address.
#[derive(Clone)]
pub struct Proxies(pub Arc<ProxyFor>);

/// From an address to the address of its proxy.
pub type ProxyFor = dyn Fn(&str) -> Option<String> + Send + Sync;

impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Proxies")
    }
}

pub(crate) fn failed(why: String) -> Error {
    Error::Failed(why)
}

/// The start of a text, with how much was cut.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    let end = text.floor_char_boundary(most);
    match text.len() - end {
        0 => text.to_owned(),
        cut => format!("{} [+{cut} bytes]", &text[..end]),
    }
}
