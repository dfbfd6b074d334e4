//! Requests that reach only whom they may: every hop is checked anew, and the address that was checked is the one connected to.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use policy::Action;
use reqwest::header::{ACCEPT, LOCATION};
use rustls::ClientConfig;
use tool::{Context, Error};
use url::{Host, Url};

use super::address::{Allowed, is_public};
use super::reply::Reply;
use super::{Proxies, failed};

/// How often an answer may send a request elsewhere.
const MOST_REDIRECTS: usize = 10;
/// How long a name may take to be looked up, and a host to be reached.
const CONNECT: Duration = Duration::from_secs(15);
/// Some servers refuse what says nothing about itself.
const AGENT: &str = concat!("Mozilla/5.0 (compatible; hew/", env!("CARGO_PKG_VERSION"), ")");

/// Finds the addresses of a host.
type Lookup = Arc<dyn Fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// The way to the network. Clones share it.
#[derive(Clone)]
pub(crate) struct Net {
    allowed: Arc<[Allowed]>,
    proxies: Option<Proxies>,
    lookup: Lookup,
    tls: Arc<OnceLock<ClientConfig>>,
}

/// What is asked of a server.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) url: Url,
    /// The kinds of answer that are wanted.
    pub(crate) accept: &'static str,
    pub(crate) headers: Vec<(&'static str, String)>,
    /// Sent as JSON where there is one; such a request is not sent elsewhere.
    pub(crate) body: Option<serde_json::Value>,
    /// How long each hop may take, its answer included.
    pub(crate) time: Duration,
    pub(crate) packing: Packing,
}

/// Whether an answer may be packed for its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    /// It may, and is unpacked.
    Undone,
    /// It is wanted as it is.
    None,
}

impl Ask {
    /// Asks for what is at an address.
    pub(crate) fn get(url: Url, time: Duration) -> Self {
        Self {
            url,
            accept: "*/*",
            headers: Vec::new(),
            body: None,
            time,
            packing: Packing::Undone,
        }
    }
}

impl Net {
    pub(crate) fn new(allowed: &[Allowed], proxies: Option<Proxies>) -> Self {
        let lookup: Lookup =
            Arc::new(|host, port| async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) }.boxed());
        Self {
            allowed: allowed.into(),
            proxies,
            lookup,
            tls: Arc::default(),
        }
    }

    /// The same, which may also reach the host of this address: the person has configured it.
    pub(crate) fn also(&self, url: &Url) -> Self {
        let own = url.host().zip(url.port_or_known_default());
        let own = own.map(|(host, port)| Allowed::host(&host, port));
        Self {
            allowed: self.allowed.iter().cloned().chain(own).collect(),
            ..self.clone()
        }
    }

    /// Sends a request and follows where the answer leads. The first host has been approved with the call; each further one is
    /// put before the policy, and the person where it must.
    pub(crate) async fn send(&self, ask: Ask, context: &Context) -> Result<Reply, Error> {
        let mut url = ask.url.clone();
        let mut approved = vec![ask.url.clone()];
        for _ in 0..=MOST_REDIRECTS {
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
                return Ok(Reply::new(url, response));
            };
            let next = location.to_str().ok().and_then(|location| url.join(location).ok());
            let next = next.ok_or_else(|| failed(format!("{url} redirects to something that is no address")))?;
            if ask.body.is_some() {
                return Err(failed(format!(
                    "{url} redirects to {next}; the base URL should be the final one"
                )));
            }
            check(&next).map_err(|error| failed(format!("{url} redirects to {next}: {error}")))?;
            url = next;
        }
        Err(failed(format!(
            "{} redirects more than {MOST_REDIRECTS} times, the last time to {url}",
            ask.url
        )))
    }

    async fn exchange(&self, ask: &Ask, url: &Url, addresses: &[SocketAddr]) -> Result<reqwest::Response, Error> {
        let client = self.client(url, addresses, ask.packing)?;
        let request = match &ask.body {
            None => client.get(url.clone()),
            Some(body) => client.post(url.clone()).json(body),
        };
        let mut request = request.header(ACCEPT, ask.accept).timeout(ask.time);
        // Keys are for whom they were given to, and for nobody that he names.
        if url.origin() == ask.url.origin() {
            for (name, value) in &ask.headers {
                request = request.header(*name, value);
            }
        }
        request.send().await.map_err(|error| match error.is_timeout() {
            true => failed(format!("{url} did not answer within {} s", ask.time.as_secs())),
            false => failed(format!("{url} could not be reached: {}", cause(&error))),
        })
    }

    /// A client for one hop: it knows no address of the host but those that were checked.
    fn client(&self, url: &Url, addresses: &[SocketAddr], packing: Packing) -> Result<reqwest::Client, Error> {
        let tls = match self.tls.get() {
            Some(tls) => tls.clone(),
            None => {
                let tls = providers::trust().map_err(|error| failed(error.to_string()))?;
                self.tls.get_or_init(|| tls).clone()
            }
        };
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .http1_only()
            .connect_timeout(CONNECT)
            .pool_max_idle_per_host(0)
            .gzip(packing == Packing::Undone)
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

    /// The addresses of a host that may be connected to; none where a proxy connects, and looks the name up itself.
    pub(crate) async fn addresses(&self, url: &Url) -> Result<Vec<SocketAddr>, Error> {
        check(url)?;
        let port = url.port_or_known_default().unwrap_or(80);
        let name = match url.host() {
            Some(Host::Ipv4(address)) => return self.literal(url, address.into(), port),
            Some(Host::Ipv6(address)) => return self.literal(url, address.into(), port),
            Some(Host::Domain(name)) => name,
            None => return Err(failed(format!("{url} names no host"))),
        };
        let proxied = self.proxy(url).is_some();
        let found = tokio::time::timeout(CONNECT, (self.lookup)(name.to_owned(), port)).await;
        let found = match found {
            Ok(Ok(found)) if !found.is_empty() => found,
            Ok(Ok(_)) | Ok(Err(_)) | Err(_) if proxied => return self.unknown(name, port),
            Ok(Ok(_)) => return Err(failed(format!("{name} has no address"))),
            Ok(Err(error)) => return Err(failed(format!("{name} is not known: {error}"))),
            Err(_) => return Err(failed(format!("{name} could not be looked up in time"))),
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

    /// A name that only the proxy knows: the names by which private networks go are refused.
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

impl std::fmt::Debug for Net {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Net")
            .field("allowed", &self.allowed)
            .finish_non_exhaustive()
    }
}

/// Reads an address as models write it.
pub(crate) fn parse(text: &str) -> Result<Url, Error> {
    let text = text.trim();
    let full = match text.contains("://") {
        true => text.to_owned(),
        false => format!("https://{text}"),
    };
    let url = Url::parse(&full).map_err(|error| failed(format!("`{text}` is not a web address: {error}")))?;
    check(&url)?;
    Ok(url)
}

fn check(url: &Url) -> Result<(), Error> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(failed(format!(
            "only http and https addresses can be fetched, not {}:",
            url.scheme()
        )));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(failed(
            "an address with a user name or password in it is not fetched".into(),
        ));
    }
    match url.host() {
        Some(_) => Ok(()),
        None => Err(failed(format!("{url} names no host"))),
    }
}

/// Puts a host before the policy, and the person where it must.
pub(crate) async fn permit(context: &Context, url: &Url) -> Result<(), Error> {
    context.permit(Action::Fetch { url: url.to_string() }).await
}

/// Whether what was approved for one address counts for another: the same host and port, or the same host on its way from
/// http to https.
pub(crate) fn is_same_host(known: &Url, url: &Url) -> bool {
    let port = |url: &Url| url.port_or_known_default();
    let upgraded = port(known) == Some(80) && port(url) == Some(443) && url.scheme() == "https";
    known.host() == url.host() && (upgraded || (known.scheme() == url.scheme() && port(known) == port(url)))
}

fn refused(host: &str, address: Option<IpAddr>) -> Error {
    let at = address.map(|address| format!(" ({address})")).unwrap_or_default();
    failed(format!(
        "{host}{at} is not on the public internet, so it is not reached; the person can allow it in web.allow_private"
    ))
}

/// The innermost cause says most.
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

    fn net(allowed: &[&str], known: &'static [(&'static str, &'static str)]) -> Net {
        let allowed: Vec<Allowed> = allowed.iter().map(|text| text.parse().unwrap()).collect();
        let lookup: Lookup = Arc::new(move |host, port| {
            let found = known.iter().filter(|(name, _)| *name == host);
            let found = found
                .map(|(_, address)| SocketAddr::new(address.parse().unwrap(), port))
                .collect();
            async move { Ok(found) }.boxed()
        });
        Net {
            lookup,
            ..Net::new(&allowed, None)
        }
    }

    async fn check(net: &Net, url: &str) -> String {
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
    async fn only_public_and_allowed_addresses_are_reached_however_they_are_written() {
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
            let told = check(&net, url).await;
            assert!(told.contains("is not on the public internet"), "{url}: {told}");
        }
        for (url, told) in [
            (
                "ftp://good.example",
                "only http and https addresses can be fetched, not ftp:",
            ),
            (
                "file:///etc/passwd",
                "only http and https addresses can be fetched, not file:",
            ),
            (
                "https://user:pass@good.example",
                "an address with a user name or password in it is not fetched",
            ),
            (
                "https://user@good.example",
                "an address with a user name or password in it is not fetched",
            ),
            ("https://no.example", "no.example has no address"),
            ("https://", "`https://` is not a web address: empty host"),
        ] {
            assert_eq!(check(&net, url).await, told, "{url}");
        }
    }

    #[tokio::test]
    async fn a_proxy_does_not_open_the_way_to_private_hosts() {
        let net = Net {
            proxies: Some(Proxies(Arc::new(|_| Some("http://127.0.0.1:3128".into())))),
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
    async fn the_address_that_was_checked_is_the_one_connected_to() {
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
        // No resolver but ours knows this name.
        let net = net(&["127.0.0.1"], &[("pinned.invalid", "127.0.0.1")]);
        let url = parse(&format!("http://pinned.invalid:{port}/x")).unwrap();
        let context = Context::alone("c".into(), FEATURES);
        let ask = Ask::get(url, Duration::from_secs(30));
        let mut reply = net.send(ask, &context).await.unwrap();
        assert_eq!(reply.take(10).await.bytes, b"hi");
        assert!(server.await.unwrap().contains(&format!("host: pinned.invalid:{port}")));
    }

    /// Takes one request, answers it, and gives back what was asked.
    async fn serve(listener: tokio::net::TcpListener, answer: String) -> String {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut buffer = [0; 4096];
        let count = stream.read(&mut buffer).await.unwrap();
        stream.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8_lossy(&buffer[..count]).to_lowercase()
    }

    struct Willing;

    impl tool::Desk for Willing {
        fn permit(&self, _: Action) -> futures::future::BoxFuture<'static, Result<(), Error>> {
            async { Ok(()) }.boxed()
        }
        fn ask(&self, inquiry: tool::Inquiry) -> futures::future::BoxFuture<'static, Result<String, Error>> {
            tool::Nobody.ask(inquiry)
        }
        fn delegate(&self, task: tool::Task) -> futures::future::BoxFuture<'static, Result<tool::Report, Error>> {
            tool::Nobody.delegate(task)
        }
    }

    #[tokio::test]
    async fn keys_do_not_go_where_a_redirect_leads() {
        let first = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let second = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let [from, to] = [&first, &second].map(|listener| listener.local_addr().unwrap());
        let moved = format!("HTTP/1.1 302 Found\r\nlocation: http://{to}/\r\ncontent-length: 0\r\n\r\n");
        let first = tokio::spawn(serve(first, moved));
        let second = tokio::spawn(serve(second, "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi".into()));
        let context = Context {
            desk: Arc::new(Willing),
            ..Context::alone("c".into(), FEATURES)
        };
        let mut ask = Ask::get(parse(&format!("http://{from}/")).unwrap(), Duration::from_secs(30));
        ask.headers = vec![("x-key", "secret".into())];
        let net = net(&["127.0.0.1"], &[]);
        assert_eq!(net.send(ask, &context).await.unwrap().take(10).await.bytes, b"hi");
        assert!(first.await.unwrap().contains("x-key: secret"));
        assert!(!second.await.unwrap().contains("secret"));
    }

    #[test]
    fn an_approval_counts_for_its_host_and_for_more_safety_only() {
        let same = |a: &str, b: &str| is_same_host(&Url::parse(a).unwrap(), &Url::parse(b).unwrap());
        assert!(same("http://a/x", "http://a/y") && same("http://a", "https://a"));
        assert!(!same("https://a", "http://a") && !same("http://a", "http://b") && !same("http://a", "http://a:81"));
        assert!(!same("http://a:81", "https://a") && !same("http://a", "https://a:444"));
    }
}
