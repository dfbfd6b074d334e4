//! URLs of providers and proxies.

use crate::environment::ProcessEnv;
use std::net::{IpAddr, Ipv6Addr};

/// Completes a base URL: `OLLAMA_HOST` and similar variables may be a bare host, without scheme, port or path.
pub(super) fn complete_url(text: &str, variable: &str, known: &str) -> String {
    let text = text.trim().trim_end_matches('/');
    if variable != "OLLAMA_HOST" {
        return match text.contains("://") {
            true => text.into(),
            false if is_loopback(&format!("http://{text}")) => format!("http://{text}"),
            false => format!("https://{text}"),
        };
    }
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    let (host, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, "/v1"),
    };
    let usual_port = || port(known).unwrap_or("11434");
    let (name, port) = match host.rsplit_once(':') {
        Some(_) if host.parse::<Ipv6Addr>().is_ok() => (host, usual_port()),
        Some((name, port)) if !port.is_empty() && port.chars().all(|c| c.is_ascii_digit()) => (name, port),
        Some(_) | None => (host.trim_end_matches(':'), usual_port()),
    };
    let name = match name {
        // A server that listens on all addresses is reached on this machine.
        "" | "*" | "0.0.0.0" | "::" | "[::]" => "localhost",
        name => name,
    };
    let name = match name.parse::<Ipv6Addr>() {
        Ok(_) => format!("[{name}]"),
        Err(_) => name.to_owned(),
    };
    format!("{scheme}://{name}:{port}{path}")
}

/// Whether a URL is on this machine.
pub(super) fn is_loopback(url: &str) -> bool {
    let host = host(url);
    let is_local = |address: IpAddr| address.is_loopback() || address.is_unspecified();
    host == "localhost" || host.ends_with(".localhost") || host.parse().is_ok_and(is_local)
}

/// The proxy for a URL: the configured one, or that of the usual variables. This machine needs none.
pub fn proxy_for(url: &str, configured: Option<&str>, env: &ProcessEnv) -> Option<String> {
    if let Some(proxy) = configured {
        return (!proxy.is_empty()).then(|| proxy.to_string());
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
    fn bare_hosts_become_urls() {
        let known = "http://localhost:11434/v1";
        for (text, full) in [
            ("0.0.0.0", "http://localhost:11434/v1"),
            ("*", "http://localhost:11434/v1"),
            ("::", "http://localhost:11434/v1"),
            ("[::]:5000", "http://localhost:5000/v1"),
            ("::1", "http://[::1]:11434/v1"),
            ("[::1]", "http://[::1]:11434/v1"),
            ("http://[::1]:5000", "http://[::1]:5000/v1"),
            ("gpu.lan:8000", "http://gpu.lan:8000/v1"),
            ("https://gpu.lan/", "https://gpu.lan:11434/v1"),
            (":5000", "http://localhost:5000/v1"),
            ("http://h:1/api/v1", "http://h:1/api/v1"),
        ] {
            assert_eq!(complete_url(text, "OLLAMA_HOST", known), full, "{text}");
        }
        assert_eq!(complete_url("http://x/v1/", "OPENAI_BASE_URL", ""), "http://x/v1");
        assert_eq!(complete_url("localhost:8080", "", ""), "http://localhost:8080");
        assert_eq!(
            complete_url("me.openai.azure.com", "AZURE_OPENAI_ENDPOINT", ""),
            "https://me.openai.azure.com"
        );
    }

    #[test]
    fn the_proxy_of_the_environment_is_used_unless_no_proxy_excludes_the_host() {
        let env = ProcessEnv::from([("HTTPS_PROXY", "p:1"), ("NO_PROXY", "corp.example, .lan")]);
        let of = |url: &str| proxy_for(url, None, &env);
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
        assert_eq!(
            proxy_for("https://x", Some("http://own"), &env),
            Some("http://own".into())
        );
        assert_eq!(proxy_for("https://x", Some(""), &env), None);
    }
}
