//! The web tools in the configuration.

use super::bounds;
use super::key::config_table;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::num::NonZeroU32;

config_table! {
    /// The web tools.
    pub struct WebConfig {
        /// Whether the model is offered web tools.
        enabled: bool = true,
        /// Hosts and networks that may be reached although they are not public, such as `localhost:3000` or
        /// `10.0.0.0/8`.
        #[serde(deserialize_with = "hosts")]
        allow_private: Vec<String>,
        /// How many bytes of a page are read.
        max_page: NonZeroU32 = bounds::count(5 << 20),
        /// The maximum size of a download in bytes.
        max_download: NonZeroU32 = bounds::count(32 << 20),
        /// The web search service.
        search: Option<SearchServiceName>,
        /// The URL of the service, if it is not the usual one. Required for SearXNG.
        #[serde(deserialize_with = "bounds::web_address")]
        search_url: Option<String>,
        /// The environment variable that holds the key of the service. Without it, the usual variable of the service.
        search_key_env: Option<String>,
        /// The Sourcegraph instance for searching public code. Without it, `https://sourcegraph.com`.
        #[serde(deserialize_with = "bounds::web_address")]
        sourcegraph_url: Option<String>,
        /// The environment variable that holds its access token. Without it, `SRC_ACCESS_TOKEN` if `sourcegraph_url`
        /// is set.
        sourcegraph_token_env: Option<String>,
        /// The Chromium browser, as a name or a path, or `none`. Without it, the first that is installed.
        browser: Option<String>,
    }
}

/// A web search service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SearchServiceName {
    /// Brave Search.
    Brave,
    /// Tavily.
    Tavily,
    /// Exa.
    Exa,
    /// SearXNG.
    Searxng,
}

pub(super) fn hosts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let hosts = Vec::<String>::deserialize(deserializer)?;
    match hosts.iter().find_map(|host| host.parse::<toolbox::AllowedHost>().err()) {
        Some(error) => Err(D::Error::custom(error)),
        None => Ok(hosts),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    #[test]
    fn hosts_and_addresses_are_checked() {
        for (text, expected) in [
            ("web.allow_private = ['http://x']", "is not a host or network"),
            ("web.search_url = 'localhost'", "is not an address"),
            ("web.max_page = 0", "nonzero"),
            ("web.search = 'altavista'", "unknown variant"),
            ("web.serach = 'brave'", "unknown field"),
        ] {
            let error = toml::from_str::<Config>(text).unwrap_err();
            assert!(error.message().contains(expected), "{text}: {}", error.message());
        }
        let valid = "web = {search = 'searxng', search_url = 'http://localhost:8888', allow_private = ['localhost:1', '10.0.0.0/8']}";
        assert!(toml::from_str::<Config>(valid).is_ok());
    }
}
