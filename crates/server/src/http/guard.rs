//! Checks of a request that do not depend on the route: host, origin, rate limits; and the headers of every response.

use http::header::{HOST, HeaderName, HeaderValue, ORIGIN};
use http::{HeaderMap, Method, Uri};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Scripts, styles and connections come from this server only, and nothing may embed its pages.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Failed logins of an address within the period before further ones are refused.
const MAX_FAILURES: u32 = 10;
/// Failed logins of all addresses within the period.
const MAX_ALL_FAILURES: u32 = 100;
/// The period.
const FAILURE_PERIOD: Duration = Duration::from_secs(60);
/// Event streams of one device.
const MAX_DEVICE_STREAMS: usize = 256;
/// Event streams of all devices.
const MAX_STREAMS: usize = 1024;

/// The names under which this server may be addressed. A page of another site that resolves its own name to this address (DNS
/// rebinding) sends that name.
#[derive(Debug, Clone)]
pub(super) struct AllowedHosts {
    /// Lower-case, with the port unless it is the default of the scheme.
    pub(super) hosts: Vec<String>,
    /// Whether any address with this port is allowed: a name is required for rebinding.
    pub(super) any_address: Option<u16>,
    /// `http` or `https`.
    pub(super) scheme: &'static str,
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    Host,
    Origin,
}

impl AllowedHosts {
    /// Checks the host in the request line, if there is one, and the headers `Host`, `Origin` and `Sec-Fetch-Site`.
    pub(super) fn check(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let mut hosts = headers.get_all(HOST).iter();
        let host = match (hosts.next().map(HeaderValue::to_str), hosts.next()) {
            (Some(Ok(host)), None) => host.to_ascii_lowercase(),
            (_, _) => return Err(Refusal::Host),
        };
        let address: Option<SocketAddr> = host.parse().ok();
        let is_address = address.is_some_and(|address| Some(address.port()) == self.any_address);
        if !is_address && !self.hosts.contains(&host) {
            return Err(Refusal::Host);
        }
        if uri
            .authority()
            .is_some_and(|named| !named.as_str().eq_ignore_ascii_case(&host))
        {
            return Err(Refusal::Host);
        }
        for origin in headers.get_all(ORIGIN) {
            let is_same = origin
                .to_str()
                .is_ok_and(|origin| origin.eq_ignore_ascii_case(&format!("{}://{host}", self.scheme)));
            if !is_same {
                return Err(Refusal::Origin);
            }
        }
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        match text("sec-fetch-site") {
            None | Some("same-origin" | "none") => Ok(()),
            // A link of another site to a page is harmless: pages contain no data.
            Some(_) if method == Method::GET && text("sec-fetch-mode") == Some("navigate") => Ok(()),
            Some(_) => Err(Refusal::Origin),
        }
    }
}

/// The headers of every response.
pub(super) fn add_security_headers(headers: &mut HeaderMap) {
    let fixed: [(&'static str, &'static str); 8] = [
        ("content-security-policy", CONTENT_SECURITY_POLICY),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("permissions-policy", "camera=(), microphone=(), geolocation=()"),
        ("cache-control", "no-store"),
    ];
    for (name, value) in fixed {
        let name = HeaderName::from_static(name);
        if !headers.contains_key(&name) {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
}

/// Limits failed logins.
#[derive(Debug, Default)]
pub(super) struct LoginLimiter(Mutex<HashMap<Option<IpAddr>, FailureCount>>);

/// Failed logins since a time.
type FailureCount = (u32, Option<Instant>);

impl LoginLimiter {
    /// Whether further attempts of an address are refused.
    pub(super) fn is_limited(&self, address: Option<IpAddr>) -> bool {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        failures.retain(|_, (_, since)| since.is_some_and(|since| since.elapsed() < FAILURE_PERIOD));
        let own = failures.get(&address).map_or(0, |(count, _)| *count);
        let all: u32 = failures.values().map(|(count, _)| *count).sum();
        own >= MAX_FAILURES || all >= MAX_ALL_FAILURES
    }

    /// Counts a failure.
    pub(super) fn fail(&self, address: Option<IpAddr>) {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, since) = failures.entry(address).or_default();
        *count = count.saturating_add(1);
        since.get_or_insert_with(Instant::now);
    }
}

/// Limits the number of event streams.
#[derive(Debug, Clone, Default)]
pub(super) struct StreamLimiter(Arc<Mutex<HashMap<String, usize>>>);

/// The right to one event stream.
pub(super) struct StreamPermit {
    limiter: StreamLimiter,
    device: String,
}

impl StreamLimiter {
    /// The right to a stream; `None` if there are too many.
    pub(super) fn permit(&self, device: &str) -> Option<StreamPermit> {
        let mut streams = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if streams.values().sum::<usize>() >= MAX_STREAMS {
            return None;
        }
        let own = streams.entry(device.to_owned()).or_default();
        if *own >= MAX_DEVICE_STREAMS {
            return None;
        }
        *own += 1;
        Some(StreamPermit {
            limiter: self.clone(),
            device: device.to_owned(),
        })
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let mut streams = self.limiter.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = streams.get_mut(&self.device) {
            *own -= 1;
            if *own == 0 {
                streams.remove(&self.device);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(headers: &[(&'static str, &str)]) -> Result<(), Refusal> {
        check_uri("/", headers)
    }

    fn check_uri(uri: &'static str, headers: &[(&'static str, &str)]) -> Result<(), Refusal> {
        let allowed = AllowedHosts {
            hosts: vec!["127.0.0.1:4440".into(), "localhost:4440".into()],
            any_address: None,
            scheme: "http",
        };
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        allowed.check(&Method::GET, &Uri::from_static(uri), &map)
    }

    #[test]
    fn only_the_own_names_and_origins_pass() {
        for headers in [
            &[("host", "127.0.0.1:4440")][..],
            &[("host", "LOCALHOST:4440"), ("origin", "http://localhost:4440")],
            &[("host", "127.0.0.1:4440"), ("sec-fetch-site", "same-origin")],
            &[
                ("host", "127.0.0.1:4440"),
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-mode", "navigate"),
            ],
        ] {
            assert_eq!(check(headers), Ok(()), "{headers:?}");
        }
        for host in [
            "evil.example:4440",
            "127.0.0.1",
            "127.0.0.1:4441",
            "127.0.0.1.evil.example:4440",
            "",
        ] {
            assert_eq!(check(&[("host", host)]), Err(Refusal::Host), "{host}");
        }
        assert_eq!(check(&[]), Err(Refusal::Host));
        let own = &[("host", "127.0.0.1:4440")];
        assert_eq!(check_uri("http://evil.example/", own), Err(Refusal::Host));
        assert_eq!(check_uri("http://127.0.0.1:4440/", own), Ok(()));
        assert_eq!(
            check(&[("host", "127.0.0.1:4440"), ("host", "evil.example")]),
            Err(Refusal::Host)
        );
        for origin in [
            "null",
            "http://evil.example",
            "https://127.0.0.1:4440",
            "http://localhost:4440",
        ] {
            let headers = [("host", "127.0.0.1:4440"), ("origin", origin)];
            assert_eq!(check(&headers), Err(Refusal::Origin), "{origin}");
        }
        assert_eq!(
            check(&[
                ("host", "127.0.0.1:4440"),
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-mode", "no-cors")
            ]),
            Err(Refusal::Origin)
        );
    }

    #[test]
    fn failed_logins_are_limited_by_address() {
        let limiter = LoginLimiter::default();
        let (one, other) = (Some([10, 0, 0, 1].into()), Some([10, 0, 0, 2].into()));
        for _ in 0..MAX_FAILURES {
            assert!(!limiter.is_limited(one));
            limiter.fail(one);
        }
        assert!(limiter.is_limited(one) && !limiter.is_limited(other));
    }
}
