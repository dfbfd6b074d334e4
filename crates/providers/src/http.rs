//! HTTP connections: one client per provider, created on the first request.

mod connection;
mod json;
mod route;
mod socket;

pub(crate) use connection::{ConnectionPool, HttpResponse, ResponseBody};
pub(crate) use json::JsonExchange;
pub(crate) use route::HttpRoute;

use crate::error::Error;
use crate::settings::ProviderSettings;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use reqwest::Url;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

/// The timeout for connecting to a server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// Servers close idle connections after about a minute; hew closes them earlier.
const IDLE_TIMEOUT: Duration = Duration::from_secs(50);

/// The addresses of `localhost`: not every resolver knows both, and a server may listen on one of them.
const LOCALHOST: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

/// The `User-Agent` header.
pub(crate) const USER_AGENT: &str = concat!("hew/", env!("CARGO_PKG_VERSION"));

/// The connections of one provider. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct ProviderTransport {
    /// For short queries.
    client: Arc<OnceLock<reqwest::Client>>,
    /// For replies.
    pub(crate) pool: Arc<ConnectionPool>,
    tls: Arc<OnceLock<Arc<ClientConfig>>>,
}

impl ProviderTransport {
    /// Returns the client and creates it on first use.
    pub(crate) fn client(&self, settings: &ProviderSettings, urls: &[&Url]) -> Result<reqwest::Client, Error> {
        if let Some(client) = self.client.get() {
            return Ok(client.clone());
        }
        let client = build_client(settings, urls)?;
        Ok(self.client.get_or_init(|| client).clone())
    }

    /// The route to a server.
    pub(crate) fn route(&self, settings: &ProviderSettings, url: &Url) -> Result<HttpRoute, Error> {
        let proxy = proxy(settings, &[url])
            .map(|text| proxy_url(settings, text))
            .transpose()?;
        let encrypted = [Some(url), proxy.as_ref()]
            .iter()
            .flatten()
            .any(|url| url.scheme() == "https");
        let tls = match (encrypted, self.tls.get()) {
            (false, _) => None,
            (true, Some(tls)) => Some(Arc::clone(tls)),
            (true, None) => {
                let mut config = build_tls_config(encrypted)?;
                config.alpn_protocols = vec![b"http/1.1".to_vec()];
                Some(Arc::clone(self.tls.get_or_init(|| Arc::new(config))))
            }
        };
        Ok(HttpRoute::new(url, proxy.as_ref(), tls))
    }
}

/// The proxy for these addresses; loopback addresses use none.
fn proxy<'a>(settings: &'a ProviderSettings, urls: &[&Url]) -> Option<&'a str> {
    let proxy = settings.proxy.as_deref();
    proxy.filter(|_| !urls.iter().any(|url| is_loopback(url)))
}

/// Parses a proxy address with or without a scheme.
fn proxy_url(settings: &ProviderSettings, text: &str) -> Result<Url, Error> {
    let refuse = |detail: String| Error::Address {
        provider: settings.provider.clone(),
        url: "the proxy".to_string(),
        detail,
    };
    let whole = if text.contains("://") {
        text.to_string()
    } else {
        format!("http://{text}")
    };
    let url = Url::parse(&whole).map_err(|error| refuse(error.to_string()))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        _ => Err(refuse("it must begin with http:// or https://".to_string())),
    }
}

fn build_client(settings: &ProviderSettings, urls: &[&Url]) -> Result<reqwest::Client, Error> {
    let proxy = proxy(settings, urls);
    let encrypted = urls.iter().any(|url| url.scheme() == "https") || proxy.is_some_and(|url| url.starts_with("https"));
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(build_tls_config(encrypted)?)
        .http1_only()
        .tcp_nodelay(true)
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE_TIMEOUT)
        // Compression would delay a streamed reply.
        .no_gzip()
        // A redirect would send the key to another host.
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(USER_AGENT)
        .resolve_to_addrs("localhost", &LOCALHOST.map(|address| SocketAddr::new(address, 0)))
        .no_proxy();
    if let Some(proxy) = proxy {
        let proxy = reqwest::Proxy::all(proxy).map_err(|error| invalid_address(settings, "the proxy", &error))?;
        builder = builder.proxy(proxy);
    }
    builder
        .build()
        .map_err(|error| invalid_address(settings, &settings.base_url, &error))
}

/// The TLS configuration, which trusts the system's certificates.
pub fn tls_config() -> Result<ClientConfig, Error> {
    build_tls_config(true)
}

/// Loading the certificates takes milliseconds, so plain HTTP skips it.
fn build_tls_config(encrypted: bool) -> Result<ClientConfig, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| certificate_error(&error))?;
    if encrypted {
        with_verifier(builder)
    } else {
        Ok(builder
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth())
    }
}

/// Trusts the system's certificates.
///
/// Linux stores its certificates twice, as one bundle and as hundreds of files; reading both takes ten times as long as
/// the bundle. An explicitly configured directory is still read.
#[cfg(target_os = "linux")]
fn with_verifier(builder: ConfigBuilder<ClientConfig, WantsVerifier>) -> Result<ClientConfig, Error> {
    use rustls_native_certs::load_certs_from_paths;
    let found = openssl_probe::probe();
    let bundle = found.cert_file.as_deref();
    let usual = |dir: &std::path::Path| openssl_probe::candidate_cert_dirs().any(|usual| usual == dir);
    let mut loaded = load_certs_from_paths(bundle, None).certs;
    let bundled = !loaded.is_empty();
    for dir in found.cert_dir.iter().filter(|dir| !(bundled && usual(dir))) {
        loaded.extend(load_certs_from_paths(None, Some(dir)).certs);
    }
    let mut roots = RootCertStore::empty();
    let (trusted, _) = roots.add_parsable_certificates(loaded);
    if trusted == 0 {
        return Err(Error::Certificates {
            detail: "none were found".to_string(),
        });
    }
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Trusts the system's certificates.
#[cfg(not(target_os = "linux"))]
fn with_verifier(builder: ConfigBuilder<ClientConfig, WantsVerifier>) -> Result<ClientConfig, Error> {
    use rustls_platform_verifier::BuilderVerifierExt as _;
    let builder = builder
        .with_platform_verifier()
        .map_err(|error| certificate_error(&error))?;
    Ok(builder.with_no_client_auth())
}

fn certificate_error(error: &rustls::Error) -> Error {
    Error::Certificates {
        detail: error.to_string(),
    }
}

/// Whether the address is loopback, which a proxy cannot reach.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host_str() {
        Some("localhost") => true,
        Some(host) => host
            .trim_matches(['[', ']'])
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback()),
        None => false,
    }
}

/// Parses an address for requests.
pub(crate) fn parse_url(settings: &ProviderSettings, text: &str) -> Result<Url, Error> {
    let refuse = |detail: &str| Error::Address {
        provider: settings.provider.clone(),
        url: text.to_string(),
        detail: detail.to_string(),
    };
    let url = Url::parse(text).map_err(|error| refuse(&error.to_string()))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        _ => Err(refuse("it must begin with http:// or https://")),
    }
}

fn invalid_address(settings: &ProviderSettings, url: &str, error: &reqwest::Error) -> Error {
    Error::Address {
        provider: settings.provider.clone(),
        url: url.to_string(),
        detail: error_chain(error),
    }
}

/// Adds the server to an error. Other parts of an address may be secret.
pub(crate) fn with_address(url: &Url, detail: &str) -> String {
    format!("{}: {detail}", url.origin().ascii_serialization())
}

/// An error and its causes on one line.
pub(crate) fn error_chain(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !line.contains(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        cause = error.source();
    }
    line
}

/// Why a connection failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectionError {
    #[error("connecting timed out after {} seconds", CONNECT_TIMEOUT.as_secs())]
    Timeout,
    #[error("the proxy: {0}")]
    Proxy(Box<ConnectionError>),
    #[error("the response is not from a proxy")]
    NotAProxy,
    #[error("it requires a user name and password")]
    ProxyLogin,
    #[error("it refused the connection: {0}")]
    ProxyRefused(String),
    #[error("{}", error_chain(.0.as_ref()))]
    Other(Box<dyn std::error::Error + Send + Sync>),
}

impl ConnectionError {
    fn other(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        ConnectionError::Other(Box::new(error))
    }

    fn at_proxy(self) -> Self {
        ConnectionError::Proxy(Box::new(self))
    }
}

/// A request body in pieces with a known length, which avoids copying.
pub(crate) struct RequestBody {
    left: std::vec::IntoIter<Bytes>,
    bytes: u64,
}

impl RequestBody {
    pub(crate) fn new(pieces: Vec<Bytes>) -> Self {
        RequestBody {
            bytes: pieces.iter().map(|piece| piece.len() as u64).sum(),
            left: pieces.into_iter(),
        }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.left.next().map(|piece| {
            self.bytes -= piece.len() as u64;
            Ok(Frame::data(piece))
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.left.as_slice().is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes)
    }
}
