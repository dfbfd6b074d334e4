//! Settings of the web tools from the configuration.

use crate::config::{Config, SearchServiceName};
use crate::environment::ProcessEnv;
use crate::log;
use crate::models;
use providers::Secret;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toolbox::{Chromium, ProxyResolver, SearchEngine, SearchOptions, SourcegraphOptions, WebOptions};

/// The default Sourcegraph instance.
const SOURCEGRAPH: &str = "https://sourcegraph.com";
const SOURCEGRAPH_TOKEN: &[&str] = &["SRC_ACCESS_TOKEN"];
/// The names of Chromium and related browsers.
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
/// The value of `browser` for no browser.
const NONE: &str = "none";

/// Loads the settings of the web tools. Returns `None` if they are disabled.
pub(crate) fn load(config: &Config, env: &ProcessEnv) -> Option<WebOptions> {
    let settings = &config.web;
    if !settings.enabled {
        return None;
    }
    let secret = |named: &Option<String>, usual: &[&'static str]| {
        let names = named.iter().map(String::as_str).chain(usual.iter().copied());
        env.first(names).map(|(_, value)| {
            log::hide(value.trim());
            Secret::new(value.trim())
        })
    };
    let search = settings.search.map(|name| SearchOptions {
        engine: engine(name),
        key: secret(&settings.search_key_env, default_key_variables(name)),
        base_url: settings.search_url.clone(),
    });
    let sourcegraph = SourcegraphOptions {
        base_url: settings.sourcegraph_url.clone().unwrap_or_else(|| SOURCEGRAPH.into()),
        token: match settings.sourcegraph_url.is_some() || settings.sourcegraph_token_env.is_some() {
            true => secret(&settings.sourcegraph_token_env, SOURCEGRAPH_TOKEN),
            // A token belongs to an instance; the public one does not need one.
            false => None,
        },
    };
    Some(WebOptions {
        // They have been checked already.
        allow_private: settings
            .allow_private
            .iter()
            .filter_map(|host| host.parse().ok())
            .collect(),
        proxies: Some(proxy_lookup(config, env)),
        max_page: settings.max_page.get() as usize,
        max_download: settings.max_download.get() as usize,
        search,
        sourcegraph: Some(sourcegraph),
        browser: find_browser(settings.browser.as_deref(), env).map(|program| Chromium { program }),
    })
}

/// The configured variables with keys of web services, which are hidden from commands.
pub(crate) fn secret_variables(config: &Config) -> impl Iterator<Item = &str> {
    let own = [&config.web.search_key_env, &config.web.sourcegraph_token_env];
    own.into_iter().filter_map(Option::as_deref)
}

fn engine(name: SearchServiceName) -> SearchEngine {
    match name {
        SearchServiceName::Brave => SearchEngine::Brave,
        SearchServiceName::Tavily => SearchEngine::Tavily,
        SearchServiceName::Exa => SearchEngine::Exa,
        SearchServiceName::Searxng => SearchEngine::Searxng,
    }
}

/// The usual variables of the services.
fn default_key_variables(name: SearchServiceName) -> &'static [&'static str] {
    match name {
        SearchServiceName::Brave => &["BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY"],
        SearchServiceName::Tavily => &["TAVILY_API_KEY"],
        SearchServiceName::Exa => &["EXA_API_KEY"],
        SearchServiceName::Searxng => &[],
    }
}

fn proxy_lookup(config: &Config, env: &ProcessEnv) -> ProxyResolver {
    let (proxy, env) = (config.proxy.clone(), env.clone());
    ProxyResolver(Arc::new(move |url| models::proxy_for(url, proxy.as_deref(), &env)))
}

/// Finds the configured browser, or the first that is installed.
fn find_browser(configured: Option<&str>, env: &ProcessEnv) -> Option<PathBuf> {
    let names = match configured {
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
    fn the_configuration_determines_services_and_keys() {
        let env = ProcessEnv::from([
            ("TAVILY_API_KEY", "usual"),
            ("MINE", "own "),
            ("SRC_ACCESS_TOKEN", "token"),
        ]);
        let read = |text: &str| load(&toml::from_str(text).unwrap(), &env);
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
    fn a_browser_is_found_in_the_path() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("google-chrome"), "").unwrap();
        let env = ProcessEnv::from([("PATH", folder.path().to_str().unwrap())]);
        let found = folder.path().join("google-chrome");
        assert_eq!(find_browser(None, &env), Some(found.clone()));
        assert_eq!(find_browser(found.to_str(), &env), Some(found));
        assert_eq!(find_browser(Some("none"), &env), None);
        assert_eq!(find_browser(Some("firefox"), &env), None);
    }
}
