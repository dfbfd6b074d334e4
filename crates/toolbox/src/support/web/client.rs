//! HTTP requests to allowed hosts only: every redirect is checked, and the checked address is the one connected to.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use policy::Action;
use reqwest::header::{ACCEPT, LOCATION};
use rustls::ClientConfig;
use tool::{CallContext, Error};
use url::{Host, Url};

use super::allowed_hosts::{AllowedHost, is_public};
use super::reply::WebReply;
use super::{ProxyResolver, failed};

/// Maximum number of redirects.
const MAX_REDIRECTS: usize = 10;
/// Timeout for DNS lookup and for connecting.
const CONNECT: Duration = Duration::from_secs(15);
/// A server that sends nothing for this long has stalled.
const STALL: Duration = Duration::from_secs(30);
/// Some servers reject requests without a user agent.
const AGENT: &str = concat!("Mozilla/5.0 (compatible; hew/", env!("CARGO_PKG_VERSION"), ")");

/// Resolves a host name.
type DnsLookup = Arc<dyn Fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// An HTTP client with access checks. Clones share state.
#[derive(Clone)]
pub(crate) struct WebClient {
    allowed: Arc<[AllowedHost]>,
    proxies: Option<ProxyResolver>,
    lookup: DnsLookup,
    tls: Arc<OnceLock<ClientConfig>>,
}

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct WebRequest {
    pub(crate) url: Url,
    /// The Accept header.
    pub(crate) accept: &'static str,
    pub(crate) headers: Vec<(&'static str, String)>,
    /// A JSON body. A request with a body does not follow redirects.
    pub(crate) body: Option<serde_json::Value>,
    /// Timeout of each hop, including its response.
    pub(crate) time: Duration,
    /// Timeout without any data.
    pub(crate) stall: Duration,
    pub(crate) packing: BodyCompression,
}

/// Whether a response may be compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyCompression {
    /// It may be, and is decompressed.
    Decoded,
    /// It must not be.
    None,
}

impl WebRequest {
    /// A GET request.
    pub(crate) fn get(url: Url, time: Duration) -> Self {
        Self {
            url,
            accept: "*/*",
            headers: Vec::new(),
            body: None,
            time,
            stall: STALL,
            packing: BodyCompression::Decoded,
        }
    }
}

impl WebClient {
    pub(crate) fn new(allowed: &[AllowedHost], proxies: Option<ProxyResolver>) -> Self {
        let lookup: DnsLookup =
            Arc::new(|host, port| async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) }.boxed());
        Self {
            allowed: allowed.into(),
            proxies,
            lookup,
            tls: Arc::default(),
        }
    }

    /// Also allows the host of this URL, because it is configured.
    pub(crate) fn allowing(&self, url: &Url) -> Self {
        let own = url.host().zip(url.port_or_known_default());
        let own = own.map(|(host, port)| AllowedHost::host(&host, port));
        Self {
            allowed: self.allowed.iter().cloned().chain(own).collect(),
            ..self.clone()
        }
    }

    /// Sends a request and follows redirects. The first host was approved with the call; each other host needs
    /// approval.
    pub(crate) async fn send(&self, ask: WebRequest, context: &CallContext) -> Result<WebReply, Error> {
        let mut url = ask.url.clone();
        let mut approved = vec![ask.url.clone()];
        for _ in 0..=MAX_REDIRECTS {
            let addresses = self.addresses(&url).await?;
            if !approved.iter().any(|known| is_same_host(known, &url)) {
                permit(context, &url).await?;
                approved.push(url.clone());
            }
            let response = self.exchange(&ask, &url, &addresses).await?;
            let location = response
                .headers()
                .get(LOCATION)
                .filter(|_| response.status().is_redirection());
            let Some(location) = location else {
                return Ok(WebReply::new(url, response));
            };
            let next = location.to_str().ok().and_then(|location| url.join(location).ok());
            let next = next.ok_or_else(|| failed(format!("{url} redirects to an invalid URL")))?;
            if ask.body.is_some() {
                return Err(failed(format!(
                    "{url} redirects to {next}; the base URL should be the final one"
                )));
            }
            check(&next).map_err(|error| failed(format!("{url} redirects to {next}: {error}")))?;
            url = next;
        }
        Err(failed(format!(
            "{} redirects more than {MAX_REDIRECTS} times, the last time to {url}",
            ask.url
        )))
    }

    async fn exchange(
        &self,
        ask: &WebRequest,
        url: &Url,
        addresses: &[SocketAddr],
    ) -> Result<reqwest::Response, Error> {
        let client = self.client(url, addresses, ask)?;
        let request = match &ask.body {
            None => client.get(url.clone()),
            Some(body) => client.post(url.clone()).json(body),
        };
        let mut request = request.header(ACCEPT, ask.accept).timeout(ask.time);
        // Headers with keys are sent to the original origin only.
        if url.origin() == ask.url.origin() {
            for (name, value) in &ask.headers {
                request = request.header(*name, value);
            }
        }
        request.send().await.map_err(|error| match error.is_timeout() {
            true => {
                let limit = if error.is_connect() { CONNECT } else { ask.stall };
                failed(format!(
                    "{url} did not answer within {} s",
                    limit.min(ask.time).as_secs()
                ))
            }
            false => failed(format!("{url} could not be reached: {}", cause(&error))),
        })
    }

    /// A client for one hop that knows only the checked addresses.
    fn client(&self, url: &Url, addresses: &[SocketAddr], ask: &WebRequest) -> Result<reqwest::Client, Error> {
        let tls = match self.tls.get() {
            Some(tls) => tls.clone(),
            None => {
                let tls = providers::tls_config().map_err(|error| failed(error.to_string()))?;
                self.tls.get_or_init(|| tls).clone()
            }
        };
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .http1_only()
            .connect_timeout(CONNECT)
            .read_timeout(ask.stall)
            .pool_max_idle_per_host(0)
            .gzip(ask.packing == BodyCompression::Decoded)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(AGENT)
            .no_proxy();
        if let Some(Host::Domain(name)) = url.host() {
            builder = builder.resolve_to_addrs(name, addresses);
        }
        if addresses.is_empty()
            && let Some(proxy) = self.proxy(url)
        {
            let proxy = reqwest::Proxy::all(proxy).map_err(|error| failed(format!("the proxy: {error}")))?;
            builder = builder.proxy(proxy);
        }
        builder.build().map_err(|error| failed(error.to_string()))
    }

    pub(crate) fn proxy(&self, url: &Url) -> Option<String> {
        self.proxies.as_ref().and_then(|proxies| (proxies.0)(url.as_str()))
    }

    /// The allowed addresses of a host; empty if a proxy resolves the name and connects.
    pub(crate) async fn addresses(&self, url: &Url) -> Result<Vec<SocketAddr>, Error> {
        check(url)?;
        let port = url.port_or_known_default().unwrap_or(80);
        let name = match url.host() {
            Some(Host::Ipv4(address)) => return self.literal(url, address.into(), port),
            Some(Host::Ipv6(address)) => return self.literal(url, address.into(), port),
            Some(Host::Domain(name)) => name,
            None => return Err(failed(format!("{url} has no host"))),
        };
        let proxied = self.proxy(url).is_some();
        let found = tokio::time::timeout(CONNECT, (self.lookup)(name.to_owned(), port)).await;
        let found = match found {
            Ok(Ok(found)) if !found.is_empty() => found,
            Ok(Ok(_)) | Ok(Err(_)) | Err(_) if proxied => return self.unknown(name, port),
            Ok(Ok(_)) => return Err(failed(format!("{name} has no address"))),
            Ok(Err(error)) => return Err(failed(format!("could not resolve {name}: {error}"))),
            Err(_) => return Err(failed(format!("timed out resolving {name}"))),
        };
        let fine: Vec<SocketAddr> = found
            .iter()
            .copied()
            .filter(|address| self.may_reach(name, address.ip(), port))
            .collect();
        match (fine.is_empty(), proxied) {
            (true, _) => Err(refused(name, found.first().map(SocketAddr::ip))),
            (false, true) => Ok(Vec::new()),
            (false, false) => Ok(fine),
        }
    }

    fn literal(&self, url: &Url, address: IpAddr, port: u16) -> Result<Vec<SocketAddr>, Error> {
        match self.may_reach("", address, port) {
            true if self.proxy(url).is_some() => Ok(Vec::new()),
            true => Ok(vec![SocketAddr::new(address, port)]),
            false => Err(refused(&address.to_string(), None)),
        }
    }

    fn may_reach(&self, name: &str, address: IpAddr, port: u16) -> bool {
        is_public(address) || self.allowed.iter().any(|allowed| allowed.covers(name, address, port))
    }

    /// A name that only the proxy can resolve: names of private networks are rejected.
    fn unknown(&self, name: &str, port: u16) -> Result<Vec<SocketAddr>, Error> {
        let plain = name.trim_end_matches('.').to_ascii_lowercase();
        let private = !plain.contains('.')
            || [".localhost", ".local", ".internal", ".lan", ".home.arpa"]
                .iter()
                .any(|ending| plain.ends_with(ending));
        match private && !self.allowed.iter().any(|allowed| allowed.covers_name(name, port)) {
            true => Err(refused(name, None)),
            false => Ok(Vec::new()),
        }
    }
}

impl std::fmt::Debug for WebClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Net")
            .field("allowed", &self.allowed)
            .finish_non_exhaustive()
    }
}

/// Parses a URL as models write it.
pub(crate) fn parse(text: &str) -> Result<Url, Error> {
    let text = text.trim();
    let full = match text.contains("://") {
        true => text.to_owned(),
        false => format!("https://{text}"),
    };
    let url = Url::parse(&full).map_err(|error| failed(format!("`{text}` is not a valid URL: {error}")))?;
    check(&url)?;
    Ok(url)
}

fn check(url: &Url) -> Result<(), Error> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(failed(format!(
            "only http and https URLs are supported, not {}:",
            url.scheme()
        )));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(failed("URLs with a user name or password are not supported".into()));
    }
    match url.host() {
        Some(_) => Ok(()),
        None => Err(failed(format!("{url} has no host"))),
    }
}

/// Requests approval for a host.
pub(crate) async fn permit(context: &CallContext, url: &Url) -> Result<(), Error> {
    context.permit(Action::Fetch { url: url.to_string() }).await
}

/// Whether the approval of one URL covers another: the same host and port, or an upgrade to https.
pub(crate) fn is_same_host(known: &Url, url: &Url) -> bool {
    let port = |url: &Url| url.port_or_known_default();
    let upgraded = port(known) == Some(80) && port(url) == Some(443) && url.scheme() == "https";
    known.host() == url.host() && (upgraded || (known.scheme() == url.scheme() && port(known) == port(url)))
}

fn refused(host: &str, address: Option<IpAddr>) -> Error {
    let at = address.map(|address| format!(" ({address})")).unwrap_or_default();
    failed(format!(
        "{host}{at} is not on the public internet; the user can allow it with web.allow_private"
    ))
}

/// The innermost cause is the most specific.
fn cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEATURES: model::Features = model::Features {
        tools: true,
        parallel_tools: true,
        images: false,
        pdf: false,
        reasoning: false,
        caching: false,
    };

    fn net(allowed: &[&str], known: &'static [(&'static str, &'static str)]) -> WebClient {
        let allowed: Vec<AllowedHost> = allowed.iter().map(|text| text.parse().unwrap()).collect();
        let lookup: DnsLookup = Arc::new(move |host, port| {
            let found = known.iter().filter(|(name, _)| *name == host);
            let found = found
                .map(|(_, address)| SocketAddr::new(address.parse().unwrap(), port))
                .collect();
            async move { Ok(found) }.boxed()
        });
        WebClient {
            lookup,
            ..WebClient::new(&allowed, None)
        }
    }

    async fn check(net: &WebClient, url: &str) -> String {
        let addresses = match parse(url) {
            Ok(url) => net.addresses(&url).await,
            Err(error) => Err(error),
        };
        match addresses {
            Ok(addresses) => addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
            Err(error) => error.to_string(),
        }
    }

    #[tokio::test]
    async fn only_public_and_allowed_addresses_are_accepted_in_any_notation() {
        const KNOWN: &[(&str, &str)] = &[
            ("good.example", "93.184.216.34"),
            ("mixed.example", "10.0.0.1"),
            ("mixed.example", "93.184.216.34"),
            ("inner.example", "10.0.0.1"),
            ("metadata.google.internal", "169.254.169.254"),
            ("localhost", "::1"),
        ];
        let net = net(&["127.0.0.1:8080", "inner.example"], KNOWN);
        for (url, addresses) in [
            ("good.example/path", "93.184.216.34:443"),
            ("http://good.example:81", "93.184.216.34:81"),
            ("http://mixed.example", "93.184.216.34:80"),
            ("https://inner.example", "10.0.0.1:443"),
            ("http://127.0.0.1:8080", "127.0.0.1:8080"),
            ("http://2130706433:8080", "127.0.0.1:8080"),
        ] {
            assert_eq!(check(&net, url).await, addresses, "{url}");
        }
        for url in [
            "http://localhost",
            "http://metadata.google.internal",
            "http://169.254.169.254/latest/meta-data",
            "http://127.0.0.1",
            "http://2130706433",
            "http://0x7f.1",
            "http://0177.0.0.1",
            "http://127.1",
            "http://0",
            "http://0.0.0.0",
            "http://[::1]",
            "http://[::ffff:127.0.0.1]",
            "http://[::]",
            "http://[fd00:ec2::254]",
            "http://192.168.1.1",
            "http://１２７.0.0.1",
        ] {
            let result = check(&net, url).await;
            assert!(result.contains("is not on the public internet"), "{url}: {result}");
        }
        for (url, result) in [
            ("ftp://good.example", "only http and https URLs are supported, not ftp:"),
            (
                "file:///etc/passwd",
                "only http and https URLs are supported, not file:",
            ),
            (
                "https://user:pass@good.example",
                "URLs with a user name or password are not supported",
            ),
            (
                "https://user@good.example",
                "URLs with a user name or password are not supported",
            ),
            ("https://no.example", "no.example has no address"),
            ("https://", "`https://` is not a valid URL: empty host"),
        ] {
            assert_eq!(check(&net, url).await, result, "{url}");
        }
    }

    #[tokio::test]
    async fn a_proxy_does_not_give_access_to_private_hosts() {
        let net = WebClient {
            proxies: Some(ProxyResolver(Arc::new(|_| Some("http://127.0.0.1:3128".into())))),
            ..net(&["box.lan"], &[("inner.example", "10.0.0.1")])
        };
        for url in ["http://only.example", "http://box.lan", "http://1.1.1.1"] {
            assert_eq!(check(&net, url).await, "", "{url}");
        }
        for url in [
            "http://inner.example",
            "http://intranet",
            "http://x.internal",
            "http://127.0.0.1",
            "http://a.localhost",
        ] {
            assert!(
                check(&net, url).await.contains("is not on the public internet"),
                "{url}"
            );
        }
    }

    #[tokio::test]
    async fn the_checked_address_is_the_one_connected_to() {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut buffer = [0; 4096];
            let count = stream.read(&mut buffer).await.unwrap();
            stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi")
                .await
                .unwrap();
            String::from_utf8_lossy(&buffer[..count]).to_lowercase()
        });
        // Only the test's resolver knows this name.
        let net = net(&["127.0.0.1"], &[("pinned.invalid", "127.0.0.1")]);
        let url = parse(&format!("http://pinned.invalid:{port}/x")).unwrap();
        let context = CallContext::detached("c".into(), FEATURES);
        let ask = WebRequest::get(url, Duration::from_secs(30));
        let mut reply = net.send(ask, &context).await.unwrap();
        assert_eq!(reply.take(10).await.bytes, b"hi");
        assert!(server.await.unwrap().contains(&format!("host: pinned.invalid:{port}")));
    }

    /// Answers one request and returns it.
    async fn serve(listener: tokio::net::TcpListener, answer: String) -> String {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut buffer = [0; 4096];
        let count = stream.read(&mut buffer).await.unwrap();
        stream.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8_lossy(&buffer[..count]).to_lowercase()
    }

    struct Willing;

    impl tool::ToolHost for Willing {
        fn permit(&self, _: Action) -> futures::future::BoxFuture<'static, Result<(), Error>> {
            async { Ok(()) }.boxed()
        }
        fn ask(&self, inquiry: tool::UserQuestion) -> futures::future::BoxFuture<'static, Result<String, Error>> {
            tool::DetachedHost.ask(inquiry)
        }
        fn delegate(
            &self,
            task: tool::SubtaskRequest,
        ) -> futures::future::BoxFuture<'static, Result<tool::SubtaskReport, Error>> {
            tool::DetachedHost.delegate(task)
        }
    }

    #[tokio::test]
    async fn key_headers_are_not_sent_after_a_redirect() {
        let first = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let second = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let [from, to] = [&first, &second].map(|listener| listener.local_addr().unwrap());
        let moved = format!("HTTP/1.1 302 Found\r\nlocation: http://{to}/\r\ncontent-length: 0\r\n\r\n");
        let first = tokio::spawn(serve(first, moved));
        let second = tokio::spawn(serve(second, "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi".into()));
        let context = CallContext {
            host: Arc::new(Willing),
            ..CallContext::detached("c".into(), FEATURES)
        };
        let mut ask = WebRequest::get(parse(&format!("http://{from}/")).unwrap(), Duration::from_secs(30));
        ask.headers = vec![("x-key", "secret".into())];
        let net = net(&["127.0.0.1"], &[]);
        assert_eq!(net.send(ask, &context).await.unwrap().take(10).await.bytes, b"hi");
        assert!(first.await.unwrap().contains("x-key: secret"));
        assert!(!second.await.unwrap().contains("secret"));
    }

    #[tokio::test]
    async fn a_body_that_stalls_ends_long_before_the_timeout() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        // The connection stays open.
        let server = tokio::spawn(async move {
            use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
            let (mut stream, _) = listener.accept().await.unwrap();
            assert!(stream.read(&mut [0; 4096]).await.unwrap() > 0);
            let start = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhi";
            stream.write_all(start).await.unwrap();
            std::future::pending::<()>().await;
        });
        let context = CallContext {
            host: Arc::new(Willing),
            ..CallContext::detached("c".into(), FEATURES)
        };
        let url = parse(&format!("http://{address}/")).unwrap();
        let ask = WebRequest {
            stall: Duration::from_millis(50),
            ..WebRequest::get(url, Duration::from_secs(3_600))
        };
        let mut reply = net(&["127.0.0.1"], &[]).send(ask, &context).await.unwrap();
        let taken = reply.take(1_000).await;
        assert_eq!(
            (taken.bytes.as_slice(), taken.end),
            (b"hi".as_slice(), crate::support::web::BodyEnd::TooSlow)
        );
        server.abort();
    }

    #[test]
    fn an_approval_covers_its_host_and_an_upgrade_to_https() {
        let same = |a: &str, b: &str| is_same_host(&Url::parse(a).unwrap(), &Url::parse(b).unwrap());
        assert!(same("http://a/x", "http://a/y") && same("http://a", "https://a"));
        assert!(!same("https://a", "http://a") && !same("http://a", "http://b") && !same("http://a", "http://a:81"));
        assert!(!same("http://a:81", "https://a") && !same("http://a", "https://a:444"));
    }
}
