//! Addresses of providers and proxies as people and vendors write them.

use crate::environment::Environment;

/// A base URL in full: `OLLAMA_HOST` and its like may be a bare host, without scheme, port or path.
pub(super) fn complete(said: &str, variable: &str, known: &str) -> String {
    let said = said.trim().trim_end_matches('/');
    if variable != "OLLAMA_HOST" {
        return match said.contains("://") {
            true => said.into(),
            false if is_loopback(&format!("http://{said}")) => format!("http://{said}"),
            false => format!("https://{said}"),
        };
    }
    let (scheme, rest) = said.split_once("://").unwrap_or(("http", said));
    let (host, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, "/v1"),
    };
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.chars().all(|c| c.is_ascii_digit()) => (name, port),
        Some(_) | None => (host.trim_end_matches(':'), port(known).unwrap_or("11434")),
    };
    // A server that listens everywhere is asked here.
    let name = match name {
        "" | "0.0.0.0" | "[::]" => "127.0.0.1",
        name => name,
    };
    format!("{scheme}://{name}:{port}{path}")
}

/// Whether an address is on this machine.
pub(super) fn is_loopback(url: &str) -> bool {
    let host = host(url);
    host == "localhost" || host == "::1" || host.starts_with("127.") || host.ends_with(".localhost")
}

/// The proxy for an address: what the configuration says, else the usual variables. This machine needs none.
pub(crate) fn proxy(url: &str, said: Option<&str>, env: &Environment) -> Option<String> {
    if let Some(said) = said {
        return (!said.is_empty()).then(|| said.to_string());
    }
    let host = host(url);
    let excepted = env
        .first(["NO_PROXY", "no_proxy"])
        .is_some_and(|(_, list)| list.split(',').any(|entry| covers(entry.trim(), host)));
    if is_loopback(url) || excepted {
        return None;
    }
    let variables = if url.starts_with("http://") {
        ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]
    } else {
        ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
    };
    env.first(variables).map(|(_, proxy)| match proxy.contains("://") {
        true => proxy.to_string(),
        false => format!("http://{proxy}"),
    })
}

fn covers(entry: &str, host: &str) -> bool {
    let entry = entry.trim_start_matches("*.").trim_start_matches('.');
    match entry {
        "" => false,
        "*" => true,
        entry => host == entry || host.strip_suffix(entry).is_some_and(|rest| rest.ends_with('.')),
    }
}

fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let rest = rest.rsplit('@').next().unwrap_or(rest);
    match rest.strip_prefix('[') {
        Some(inner) => inner.split(']').next().unwrap_or(inner),
        None => rest.split(':').next().unwrap_or(rest),
    }
}

fn port(url: &str) -> Option<&str> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split('/').next()?;
    rest.rsplit_once(':').map(|(_, port)| port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_hosts_become_addresses() {
        let known = "http://127.0.0.1:11434/v1";
        for (said, full) in [
            ("0.0.0.0", "http://127.0.0.1:11434/v1"),
            ("gpu.lan:8000", "http://gpu.lan:8000/v1"),
            ("https://gpu.lan/", "https://gpu.lan:11434/v1"),
            (":5000", "http://127.0.0.1:5000/v1"),
            ("http://h:1/api/v1", "http://h:1/api/v1"),
        ] {
            assert_eq!(complete(said, "OLLAMA_HOST", known), full, "{said}");
        }
        assert_eq!(complete("http://x/v1/", "OPENAI_BASE_URL", ""), "http://x/v1");
        assert_eq!(complete("localhost:8080", "", ""), "http://localhost:8080");
        assert_eq!(
            complete("me.openai.azure.com", "AZURE_OPENAI_ENDPOINT", ""),
            "https://me.openai.azure.com"
        );
    }

    #[test]
    fn the_proxy_is_the_environments_except_where_it_says_no() {
        let env = Environment::from([("HTTPS_PROXY", "p:1"), ("NO_PROXY", "corp.example, .lan")]);
        let of = |url: &str| proxy(url, None, &env);
        assert_eq!(of("https://api.example.com/v1"), Some("http://p:1".into()));
        for direct in [
            "https://corp.example",
            "https://a.corp.example:8/x",
            "https://gpu.lan",
            "https://127.0.0.1",
            "http://x",
        ] {
            assert_eq!(of(direct), None, "{direct}");
        }
        assert_eq!(of("https://notcorp.example").as_deref(), Some("http://p:1"));
        assert_eq!(proxy("https://x", Some("http://own"), &env), Some("http://own".into()));
        assert_eq!(proxy("https://x", Some(""), &env), None);
    }
}
