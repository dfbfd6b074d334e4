//! Opens connections: to the server itself, or to it through a proxy.

use super::socket::Socket;
use super::{CONNECT, Pieces, USER_AGENT, chain};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, HOST, PROXY_AUTHORIZATION};
use http::uri::InvalidUri;
use http::{HeaderValue, Request, Uri};
use hyper_util::client::legacy::connect::HttpConnector;
use reqwest::Url;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tower_service::Service as _;
use url::Position;

/// The most that a proxy may say before it lets one through.
const LONGEST_GREETING: usize = 16 * 1024;

/// How often a silent server is asked whether it is still there, so that nothing between here and it forgets the connection.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);
/// So many unanswered questions mean that it is not.
const SIGNS: u32 = 3;

/// Something to read from and write to.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// A connection to a server, encrypted where it must be.
pub(super) type Io = Box<dyn Duplex>;

/// How to get to a server.
#[derive(Clone)]
pub(crate) struct Route {
    server: End,
    proxy: Option<Proxy>,
    /// Missing where nothing is encrypted.
    tls: Option<Arc<ClientConfig>>,
}

#[derive(Clone)]
struct Proxy {
    end: End,
    login: Option<HeaderValue>,
}

/// One end of a connection.
#[derive(Clone, PartialEq, Eq)]
struct End {
    /// As in a URL: IPv6 addresses stand in brackets.
    host: String,
    port: u16,
    encrypted: bool,
}

impl Route {
    pub(super) fn new(server: &Url, proxy: Option<&Url>, tls: Option<Arc<ClientConfig>>) -> Self {
        Route {
            server: End::of(server),
            proxy: proxy.map(|url| Proxy {
                end: End::of(url),
                login: login(url),
            }),
            tls,
        }
    }

    /// Whether a connection by this route serves for the other as well.
    pub(super) fn leads_to(&self, other: &Route) -> bool {
        self.server == other.server
    }

    /// Fills in what depends on the way: where the request is addressed, and what a proxy that passes it on wants to know.
    pub(super) fn address(&self, url: &Url, request: &mut Request<Pieces>) -> Result<(), String> {
        let handed_on = self.proxy.as_ref().filter(|_| !self.server.encrypted);
        let path = &url[Position::BeforePath..Position::AfterQuery];
        let target = match handed_on {
            Some(_) => format!("http://{}{path}", self.server.authority()),
            None => path.to_string(),
        };
        *request.uri_mut() = target.parse().map_err(|error: InvalidUri| error.to_string())?;
        let host = HeaderValue::from_str(&self.server.authority()).map_err(|error| error.to_string())?;
        let headers = request.headers_mut();
        headers.insert(HOST, host);
        if let Some(login) = login(url) {
            headers.entry(AUTHORIZATION).or_insert(login);
        }
        if let Some(login) = handed_on.and_then(|proxy| proxy.login.clone()) {
            headers.insert(PROXY_AUTHORIZATION, login);
        }
        Ok(())
    }

    /// Opens a connection.
    pub(super) async fn open(&self) -> Result<Io, String> {
        match tokio::time::timeout(CONNECT, self.reach()).await {
            Ok(opened) => opened,
            Err(_) => Err(format!("no connection within {} seconds", CONNECT.as_secs())),
        }
    }

    async fn reach(&self) -> Result<Io, String> {
        let Some(proxy) = &self.proxy else {
            let io = self.server.dial().await?;
            return self.encrypt(io, &self.server).await;
        };
        let io = proxy.end.dial().await.map_err(through_proxy)?;
        let io = self.encrypt(io, &proxy.end).await.map_err(through_proxy)?;
        if !self.server.encrypted {
            return Ok(io);
        }
        let io = tunnel(io, &self.server, proxy.login.as_ref())
            .await
            .map_err(through_proxy)?;
        self.encrypt(io, &self.server).await
    }

    async fn encrypt(&self, io: Io, end: &End) -> Result<Io, String> {
        let Some(tls) = self.tls.as_ref().filter(|_| end.encrypted) else {
            return Ok(io);
        };
        let host = end.host.trim_matches(['[', ']']).to_string();
        let name = ServerName::try_from(host).map_err(|error| error.to_string())?;
        let connector = tokio_rustls::TlsConnector::from(Arc::clone(tls));
        let stream = connector.connect(name, io).await.map_err(|error| chain(&error))?;
        Ok(Box::new(stream))
    }
}

fn through_proxy(detail: String) -> String {
    format!("the proxy: {detail}")
}

impl End {
    fn of(url: &Url) -> Self {
        End {
            host: url.host_str().unwrap_or_default().to_string(),
            port: url.port_or_known_default().unwrap_or(80),
            encrypted: url.scheme() == "https",
        }
    }

    /// The host, and the port where it is not the usual one.
    fn authority(&self) -> String {
        match (self.encrypted, self.port) {
            (false, 80) | (true, 443) => self.host.clone(),
            (_, port) => format!("{}:{port}", self.host),
        }
    }

    async fn dial(&self) -> Result<Io, String> {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT));
        connector.set_keepalive(Some(SIGN_OF_LIFE));
        connector.set_keepalive_interval(Some(SIGN_OF_LIFE));
        connector.set_keepalive_retries(Some(SIGNS));
        #[cfg(target_os = "linux")]
        connector.set_tcp_user_timeout(Some(SIGN_OF_LIFE * 2));
        let address = format!("http://{}:{}/", self.host, self.port);
        let uri = address.parse::<Uri>().map_err(|error| error.to_string())?;
        let socket = connector.call(uri).await.map_err(|error| chain(&error))?;
        Ok(Box::new(Socket::new(socket.into_inner())))
    }
}

/// Asks a proxy to pass everything on to a server.
async fn tunnel(mut io: Io, server: &End, login: Option<&HeaderValue>) -> Result<Io, String> {
    let target = format!("{}:{}", server.host, server.port);
    let mut asked = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nUser-Agent: {USER_AGENT}\r\n").into_bytes();
    if let Some(login) = login {
        asked.extend_from_slice(b"Proxy-Authorization: ");
        asked.extend_from_slice(login.as_bytes());
        asked.extend_from_slice(b"\r\n");
    }
    asked.extend_from_slice(b"\r\n");
    let broken = |error: io::Error| chain(&error);
    io.write_all(&asked).await.map_err(broken)?;
    io.flush().await.map_err(broken)?;
    let mut answer = Vec::new();
    // The server says nothing before it is spoken to: all that comes is the proxy's answer.
    while !answer.ends_with(b"\r\n\r\n") {
        if io.read_buf(&mut answer).await.map_err(broken)? == 0 || answer.len() > LONGEST_GREETING {
            return Err("it did not answer as a proxy does".into());
        }
    }
    let line = String::from_utf8_lossy(&answer);
    let line = line.lines().next().unwrap_or_default();
    match line.split_whitespace().nth(1) {
        Some(status) if status.starts_with('2') => Ok(io),
        Some("407") => Err("it wants a name and a password".into()),
        Some(_) | None => Err(format!("it refused: {line}")),
    }
}

/// The name and password in an address, as a header.
fn login(url: &Url) -> Option<HeaderValue> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let name = decoded(url.username());
    let password = decoded(url.password().unwrap_or_default());
    let pair = [name, b":".to_vec(), password].concat();
    let mut value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(pair))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Text without its percent signs.
fn decoded(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut place = 0;
    while let Some(&byte) = bytes.get(place) {
        let code = text.get(place + 1..place + 3).filter(|_| byte == b'%');
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(code) => {
                out.push(code);
                place += 3;
            }
            None => {
                out.push(byte);
                place += 1;
            }
        }
    }
    out
}
