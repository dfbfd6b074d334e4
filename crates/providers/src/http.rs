//! Connections: one client per provider, made when the first request leaves.

mod connect;
mod connection;
mod socket;

pub(crate) use connect::Route;
pub(crate) use connection::{Answer, Body as AnswerBody, Pool};

use crate::error::Error;
use crate::settings::Settings;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use reqwest::Url;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

/// How long it may take to reach a server.
const CONNECT: Duration = Duration::from_secs(30);
/// Servers close idle connections after a minute or so; hew lets go before they do.
const IDLE: Duration = Duration::from_secs(50);

/// How hew calls itself.
pub(crate) const USER_AGENT: &str = concat!("hew/", env!("CARGO_PKG_VERSION"));

/// The connections of one provider. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Transport {
    /// For short questions.
    client: Arc<OnceLock<reqwest::Client>>,
    /// For replies.
    pub(crate) pool: Arc<Pool>,
    tls: Arc<OnceLock<Arc<ClientConfig>>>,
}

impl Transport {
    /// The client, made now if it was not before.
    pub(crate) fn client(&self, settings: &Settings, urls: &[&Url]) -> Result<reqwest::Client, Error> {
        if let Some(client) = self.client.get() {
            return Ok(client.clone());
        }
        let client = build(settings, urls)?;
        Ok(self.client.get_or_init(|| client).clone())
    }

    /// The way to a server.
    pub(crate) fn route(&self, settings: &Settings, url: &Url) -> Result<Route, Error> {
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
                let mut config = tls(encrypted)?;
                config.alpn_protocols = vec![b"http/1.1".to_vec()];
                Some(Arc::clone(self.tls.get_or_init(|| Arc::new(config))))
            }
        };
        Ok(Route::new(url, proxy.as_ref(), tls))
    }
}

/// The proxy to go through: none to this machine itself.
fn proxy<'a>(settings: &'a Settings, urls: &[&Url]) -> Option<&'a str> {
    let proxy = settings.proxy.as_deref();
    proxy.filter(|_| !urls.iter().any(|url| is_loopback(url)))
}

/// Reads a proxy's address, which people write with and without its scheme.
fn proxy_url(settings: &Settings, text: &str) -> Result<Url, Error> {
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

fn build(settings: &Settings, urls: &[&Url]) -> Result<reqwest::Client, Error> {
    let proxy = proxy(settings, urls);
    let encrypted = urls.iter().any(|url| url.scheme() == "https") || proxy.is_some_and(|url| url.starts_with("https"));
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls(encrypted)?)
        .http1_only()
        .tcp_nodelay(true)
        .connect_timeout(CONNECT)
        .pool_idle_timeout(IDLE)
        // Replies stream; packing would hold them back.
        .no_gzip()
        // A redirect would carry the key to another host.
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(USER_AGENT)
        .no_proxy();
    if let Some(proxy) = proxy {
        let proxy = reqwest::Proxy::all(proxy).map_err(|error| address(settings, "the proxy", &error))?;
        builder = builder.proxy(proxy);
    }
    builder
        .build()
        .map_err(|error| address(settings, &settings.base_url, &error))
}

/// How connections are made safe: by the certificates that the system trusts.
pub fn trust() -> Result<ClientConfig, Error> {
    tls(true)
}

/// Loading the system's certificates takes milliseconds, so plain HTTP goes without.
fn tls(encrypted: bool) -> Result<ClientConfig, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| certificates(&error))?;
    if encrypted {
        verified(builder)
    } else {
        Ok(builder
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth())
    }
}

/// Trusts what the system trusts.
///
/// Linux keeps its certificates twice, as one bundle and as hundreds of files; reading both takes ten times as long as the
/// bundle alone. A folder that somebody chose on purpose is still read.
#[cfg(target_os = "linux")]
fn verified(builder: ConfigBuilder<ClientConfig, WantsVerifier>) -> Result<ClientConfig, Error> {
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

/// Trusts what the system trusts.
#[cfg(not(target_os = "linux"))]
fn verified(builder: ConfigBuilder<ClientConfig, WantsVerifier>) -> Result<ClientConfig, Error> {
    use rustls_platform_verifier::BuilderVerifierExt as _;
    let builder = builder.with_platform_verifier().map_err(|error| certificates(&error))?;
    Ok(builder.with_no_client_auth())
}

fn certificates(error: &rustls::Error) -> Error {
    Error::Certificates {
        detail: error.to_string(),
    }
}

/// Whether the address is this machine's own, which no proxy can reach.
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

/// Reads an address that requests can be sent to.
pub(crate) fn url(settings: &Settings, text: &str) -> Result<Url, Error> {
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

fn address(settings: &Settings, url: &str, error: &reqwest::Error) -> Error {
    Error::Address {
        provider: settings.provider.clone(),
        url: url.to_string(),
        detail: chain(error),
    }
}

/// What happened, and at which server. What else an address holds may be secret.
pub(crate) fn at(url: &Url, detail: &str) -> String {
    format!("{}: {detail}", url.origin().ascii_serialization())
}

/// An error and its causes in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
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

/// A body in pieces, of known length, that is never copied together.
pub(crate) struct Pieces {
    left: std::vec::IntoIter<Bytes>,
    bytes: u64,
}

impl Pieces {
    pub(crate) fn new(pieces: Vec<Bytes>) -> Self {
        Pieces {
            bytes: pieces.iter().map(|piece| piece.len() as u64).sum(),
            left: pieces.into_iter(),
        }
    }
}

impl Body for Pieces {
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
