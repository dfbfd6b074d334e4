//! How the tools reach the web.

use super::bounds;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// How the tools reach the web. Only the user's own configuration may have this.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Web {
    /// Whether there are tools for the web at all; they are there unless this is false.
    pub(crate) enabled: Option<bool>,
    /// Hosts and networks that may be reached although they are not public, such as `localhost:3000` or `10.0.0.0/8`.
    #[serde(deserialize_with = "hosts")]
    pub(crate) allow_private: Vec<String>,
    /// How many bytes of a page are read.
    #[serde(deserialize_with = "bounds::at_least_one")]
    #[schemars(range(min = 1))]
    pub(crate) max_page: Option<u32>,
    /// How many bytes a download may have.
    #[serde(deserialize_with = "bounds::at_least_one")]
    #[schemars(range(min = 1))]
    pub(crate) max_download: Option<u32>,
    /// The service that searches the web.
    pub(crate) search: Option<SearchName>,
    /// Where the service is, where that is not its usual place. SearXNG needs it.
    #[serde(deserialize_with = "bounds::web_address")]
    pub(crate) search_url: Option<String>,
    /// The environment variable that holds the key of the service.
    pub(crate) search_key_env: Option<String>,
    /// The Sourcegraph instance in which public code is searched.
    #[serde(deserialize_with = "bounds::web_address")]
    pub(crate) sourcegraph_url: Option<String>,
    /// The environment variable that holds the access token for it.
    pub(crate) sourcegraph_token_env: Option<String>,
    /// The Chromium that is driven, as a name or a path, or `none`.
    pub(crate) browser: Option<String>,
}

/// A service that searches the web.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SearchName {
    /// Brave Search.
    Brave,
    /// Tavily.
    Tavily,
    /// Exa.
    Exa,
    /// SearXNG.
    Searxng,
}

fn hosts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let said = Vec::<String>::deserialize(deserializer)?;
    match said.iter().find_map(|host| host.parse::<toolbox::Allowed>().err()) {
        Some(error) => Err(D::Error::custom(error)),
        None => Ok(said),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    #[test]
    fn hosts_and_addresses_are_checked() {
        for (text, why) in [
            ("web.allow_private = ['http://x']", "is neither a host nor a network"),
            ("web.search_url = 'localhost'", "is not an address"),
            ("web.max_page = 0", "at least 1"),
            ("web.search = 'altavista'", "unknown variant"),
            ("web.serach = 'brave'", "unknown field"),
        ] {
            let error = toml::from_str::<Config>(text).unwrap_err();
            assert!(error.message().contains(why), "{text}: {}", error.message());
        }
        let fine = "web = {search = 'searxng', search_url = 'http://localhost:8888', allow_private = ['localhost:1', '10.0.0.0/8']}";
        assert!(toml::from_str::<Config>(fine).is_ok());
    }
}
