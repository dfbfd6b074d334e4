//! The web as the configuration has it.

use crate::config::{Config, SearchName};
use crate::environment::Environment;
use crate::log;
use crate::models;
use providers::Secret;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toolbox::{Chromium, Engine, Proxies, Search, Sourcegraph, Web};

/// Where public code is searched, unless the configuration says otherwise.
const SOURCEGRAPH: &str = "https://sourcegraph.com";
const SOURCEGRAPH_TOKEN: &[&str] = &["SRC_ACCESS_TOKEN"];
/// What a Chromium, or a browser of its family, is called.
const BROWSERS: &[&str] = &[
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "microsoft-edge",
    "brave-browser",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
];
/// What `browser` says for no browser.
const NONE: &str = "none";

/// How the tools reach the web; `None` where they shall not.
pub(super) fn web(config: &Config, env: &Environment) -> Option<Web> {
    let said = &config.web;
    if said.enabled == Some(false) {
        return None;
    }
    let bytes = |said: Option<u32>, usual: usize| said.map_or(usual, |bytes| bytes as usize);
    let secret = |named: &Option<String>, usual: &[&'static str]| {
        let names = named.iter().map(String::as_str).chain(usual.iter().copied());
        env.first(names).map(|(_, value)| {
            log::hide(value.trim());
            Secret::new(value.trim())
        })
    };
    let search = said.search.map(|name| Search {
        engine: engine(name),
        key: secret(&said.search_key_env, usual_keys(name)),
        base_url: said.search_url.clone(),
    });
    let sourcegraph = Sourcegraph {
        base_url: said.sourcegraph_url.clone().unwrap_or_else(|| SOURCEGRAPH.into()),
        token: match said.sourcegraph_url.is_some() || said.sourcegraph_token_env.is_some() {
            true => secret(&said.sourcegraph_token_env, SOURCEGRAPH_TOKEN),
            // A token belongs to an instance; the public one needs none.
            false => None,
        },
    };
    Some(Web {
        // They have been checked already.
        allow_private: said.allow_private.iter().filter_map(|host| host.parse().ok()).collect(),
        proxies: Some(proxies(config, env)),
        max_page: bytes(said.max_page, Web::MAX_PAGE),
        max_download: bytes(said.max_download, Web::MAX_DOWNLOAD),
        search,
        sourcegraph: Some(sourcegraph),
        browser: browser(said.browser.as_deref(), env).map(|program| Chromium { program }),
    })
}

/// The variables that hold keys for the web, which no command shall see.
pub(super) fn secrets(config: &Config) -> impl Iterator<Item = &str> {
    let own = [&config.web.search_key_env, &config.web.sourcegraph_token_env];
    own.into_iter().filter_map(Option::as_deref)
}

fn engine(name: SearchName) -> Engine {
    match name {
        SearchName::Brave => Engine::Brave,
        SearchName::Tavily => Engine::Tavily,
        SearchName::Exa => Engine::Exa,
        SearchName::Searxng => Engine::Searxng,
    }
}

/// The variables that the services' own tools read.
fn usual_keys(name: SearchName) -> &'static [&'static str] {
    match name {
        SearchName::Brave => &["BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY"],
        SearchName::Tavily => &["TAVILY_API_KEY"],
        SearchName::Exa => &["EXA_API_KEY"],
        SearchName::Searxng => &[],
    }
}

fn proxies(config: &Config, env: &Environment) -> Proxies {
    let (said, env) = (config.proxy.clone(), env.clone());
    Proxies(Arc::new(move |url| models::proxy(url, said.as_deref(), &env)))
}

/// The browser that the configuration names, or the first that is installed.
fn browser(said: Option<&str>, env: &Environment) -> Option<PathBuf> {
    let names = match said {
        Some(NONE) => return None,
        Some(name) => std::slice::from_ref(&name).to_vec(),
        None => BROWSERS.to_vec(),
    };
    let folders: Vec<PathBuf> = std::env::split_paths(env.get("PATH").unwrap_or_default()).collect();
    names.into_iter().find_map(|name| {
        let absolute = Path::new(name).is_absolute();
        let places = folders.iter().map(|folder| folder.join(name)).filter(|_| !absolute);
        let own = absolute.then(|| PathBuf::from(name));
        own.into_iter().chain(places).find(|path| path.is_file())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_says_whom_to_ask_and_with_which_key() {
        let env = Environment::from([
            ("TAVILY_API_KEY", "usual"),
            ("MINE", "own "),
            ("SRC_ACCESS_TOKEN", "token"),
        ]);
        let read = |text: &str| web(&toml::from_str(text).unwrap(), &env);
        let key = |text: &str| {
            read(text)
                .unwrap()
                .search
                .unwrap()
                .key
                .map(|key| key.reveal().to_owned())
        };
        assert_eq!(key("web.search = 'tavily'").as_deref(), Some("usual"));
        assert_eq!(
            key("web = {search = 'tavily', search_key_env = 'MINE'}").as_deref(),
            Some("own")
        );
        assert_eq!(key("web.search = 'exa'"), None);
        assert!(read("").unwrap().search.is_none());
        assert!(read("web.enabled = false").is_none());
        let code = read("").unwrap().sourcegraph.unwrap();
        assert_eq!((code.base_url.as_str(), code.token.is_some()), (SOURCEGRAPH, false));
        let own = read("web.sourcegraph_url = 'https://code.example'")
            .unwrap()
            .sourcegraph
            .unwrap();
        assert_eq!(
            (own.base_url.as_str(), own.token.is_some()),
            ("https://code.example", true)
        );
    }

    #[test]
    fn a_browser_is_taken_from_the_path_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("google-chrome"), "").unwrap();
        let env = Environment::from([("PATH", folder.path().to_str().unwrap())]);
        let found = folder.path().join("google-chrome");
        assert_eq!(browser(None, &env), Some(found.clone()));
        assert_eq!(browser(found.to_str(), &env), Some(found));
        assert_eq!(browser(Some("none"), &env), None);
        assert_eq!(browser(Some("firefox"), &env), None);
    }
}
