//! Opens connections to a server, directly or through a proxy.

use super::socket::BatchingSocket;
use super::{CONNECT_TIMEOUT, ConnectionError, LOCALHOST, RequestBody, USER_AGENT};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, HOST, PROXY_AUTHORIZATION};
use http::{HeaderValue, Request, Uri};
use hyper_util::client::legacy::connect::HttpConnector;
use reqwest::Url;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tower_service::Service as _;
use url::Position;

/// The maximum size of a proxy's response to `CONNECT`.
const MAX_PROXY_RESPONSE: usize = 16 * 1024;

/// The TCP keepalive interval, so that middleboxes do not drop a silent connection.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// The number of unanswered probes after which the connection is dead.
const KEEPALIVE_PROBES: u32 = 3;

/// A byte stream for reading and writing.
pub(super) trait DuplexStream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> DuplexStream for T {}

/// A connection to a server, with TLS if required.
pub(super) type BoxedIo = Box<dyn DuplexStream>;

/// The route to a server.
#[derive(Clone)]
pub(crate) struct HttpRoute {
    server: Endpoint,
    proxy: Option<ProxyEndpoint>,
    /// `None` for plain HTTP.
    tls: Option<Arc<ClientConfig>>,
}

#[derive(Clone)]
struct ProxyEndpoint {
    end: Endpoint,
    login: Option<HeaderValue>,
}

/// A host and port.
#[derive(Clone, PartialEq, Eq)]
struct Endpoint {
    /// As in a URL: IPv6 addresses are in brackets.
    host: String,
    port: u16,
    encrypted: bool,
}

impl HttpRoute {
    pub(super) fn new(server: &Url, proxy: Option<&Url>, tls: Option<Arc<ClientConfig>>) -> Self {
        HttpRoute {
            server: Endpoint::of(server),
            proxy: proxy.map(|url| ProxyEndpoint {
                end: Endpoint::of(url),
                login: proxy_authorization(url),
            }),
            tls,
        }
    }

    /// Whether a connection over this route also serves the other one.
    pub(super) fn same_target(&self, other: &HttpRoute) -> bool {
        self.server == other.server
    }

    /// Sets the request target and the headers that a forwarding proxy requires.
    pub(super) fn set_target(&self, url: &Url, request: &mut Request<RequestBody>) -> Result<(), ConnectionError> {
        let forwarding = self.proxy.as_ref().filter(|_| !self.server.encrypted);
        let path = &url[Position::BeforePath..Position::AfterQuery];
        let target = match forwarding {
            Some(_) => format!("http://{}{path}", self.server.authority()),
            None => path.to_string(),
        };
        *request.uri_mut() = target.parse::<Uri>().map_err(ConnectionError::other)?;
        let host = HeaderValue::from_str(&self.server.authority()).map_err(ConnectionError::other)?;
        let headers = request.headers_mut();
        headers.insert(HOST, host);
        if let Some(login) = proxy_authorization(url) {
            headers.entry(AUTHORIZATION).or_insert(login);
        }
        if let Some(login) = forwarding.and_then(|proxy| proxy.login.clone()) {
            headers.insert(PROXY_AUTHORIZATION, login);
        }
        Ok(())
    }

    /// Opens a connection.
    pub(super) async fn connect(&self) -> Result<BoxedIo, ConnectionError> {
        match tokio::time::timeout(CONNECT_TIMEOUT, self.connect_tcp()).await {
            Ok(opened) => opened,
            Err(_) => Err(ConnectionError::Timeout),
        }
    }

    async fn connect_tcp(&self) -> Result<BoxedIo, ConnectionError> {
        let Some(proxy) = &self.proxy else {
            let io = self.server.connect().await?;
            return self.encrypt(io, &self.server).await;
        };
        let io = proxy.end.connect().await.map_err(ConnectionError::at_proxy)?;
        let io = self.encrypt(io, &proxy.end).await.map_err(ConnectionError::at_proxy)?;
        if !self.server.encrypted {
            return Ok(io);
        }
        let io = tunnel(io, &self.server, proxy.login.as_ref())
            .await
            .map_err(ConnectionError::at_proxy)?;
        self.encrypt(io, &self.server).await
    }

    async fn encrypt(&self, io: BoxedIo, end: &Endpoint) -> Result<BoxedIo, ConnectionError> {
        let Some(tls) = self.tls.as_ref().filter(|_| end.encrypted) else {
            return Ok(io);
        };
        let host = end.host.trim_matches(['[', ']']).to_string();
        let name = ServerName::try_from(host).map_err(ConnectionError::other)?;
        let connector = tokio_rustls::TlsConnector::from(Arc::clone(tls));
        let stream = connector.connect(name, io).await.map_err(ConnectionError::other)?;
        Ok(Box::new(stream))
    }
}

impl Endpoint {
    fn of(url: &Url) -> Self {
        Endpoint {
            host: url.host_str().unwrap_or_default().to_string(),
            port: url.port_or_known_default().unwrap_or(80),
            encrypted: url.scheme() == "https",
        }
    }

    /// The host, with the port if it is not the default.
    fn authority(&self) -> String {
        match (self.encrypted, self.port) {
            (false, 80) | (true, 443) => self.host.clone(),
            (_, port) => format!("{}:{port}", self.host),
        }
    }

    async fn connect(&self) -> Result<BoxedIo, ConnectionError> {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        connector.set_keepalive(Some(KEEPALIVE_INTERVAL));
        connector.set_keepalive_interval(Some(KEEPALIVE_INTERVAL));
        connector.set_keepalive_retries(Some(KEEPALIVE_PROBES));
        #[cfg(target_os = "linux")]
        connector.set_tcp_user_timeout(Some(KEEPALIVE_INTERVAL * 2));
        let authorities = match self.host.as_str() {
            "localhost" => LOCALHOST
                .map(|address| SocketAddr::new(address, self.port).to_string())
                .to_vec(),
            host => vec![format!("{host}:{}", self.port)],
        };
        let mut failure = None;
        for authority in authorities {
            let uri = format!("http://{authority}/").parse::<Uri>();
            match connector.call(uri.map_err(ConnectionError::other)?).await {
                Ok(socket) => return Ok(Box::new(BatchingSocket::new(socket.into_inner()))),
                Err(error) => failure = failure.or(Some(ConnectionError::other(error))),
            }
        }
        Err(failure.unwrap_or(ConnectionError::Timeout))
    }
}

/// Asks a proxy to tunnel to a server.
async fn tunnel(mut io: BoxedIo, server: &Endpoint, login: Option<&HeaderValue>) -> Result<BoxedIo, ConnectionError> {
    let target = format!("{}:{}", server.host, server.port);
    let mut request =
        format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nUser-Agent: {USER_AGENT}\r\n").into_bytes();
    if let Some(login) = login {
        request.extend_from_slice(b"Proxy-Authorization: ");
        request.extend_from_slice(login.as_bytes());
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"\r\n");
    io.write_all(&request).await.map_err(ConnectionError::other)?;
    io.flush().await.map_err(ConnectionError::other)?;
    let mut response = Vec::new();
    // A server sends nothing before the request, so all bytes are the proxy's response.
    while !response.ends_with(b"\r\n\r\n") {
        if io.read_buf(&mut response).await.map_err(ConnectionError::other)? == 0 || response.len() > MAX_PROXY_RESPONSE
        {
            return Err(ConnectionError::NotAProxy);
        }
    }
    let line = String::from_utf8_lossy(&response);
    let line = line.lines().next().unwrap_or_default();
    match line.split_whitespace().nth(1) {
        Some(status) if status.starts_with('2') => Ok(io),
        Some("407") => Err(ConnectionError::ProxyLogin),
        Some(_) | None => Err(ConnectionError::ProxyRefused(line.to_string())),
    }
}

/// The user name and password of an address, as a header.
fn proxy_authorization(url: &Url) -> Option<HeaderValue> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let name = percent_decode(url.username());
    let password = percent_decode(url.password().unwrap_or_default());
    let pair = [name, b":".to_vec(), password].concat();
    let mut value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(pair))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Decodes percent-encoding.
fn percent_decode(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while let Some(&byte) = bytes.get(index) {
        let code = text.get(index + 1..index + 3).filter(|_| byte == b'%');
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(code) => {
                out.push(code);
                index += 3;
            }
            None => {
                out.push(byte);
                index += 1;
            }
        }
    }
    out
}
