//! The local HTTP proxy of the browser: it resolves names itself and connects only to the addresses that it checked,
//! and to no private ones.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use url::Url;

use super::AbortOnDrop;
use super::requested_hosts::RequestedHosts;
use crate::support::web::WebClient;

const MAX_HEAD_BYTES: usize = 64 * 1024;
const MAX_CONNECTIONS: usize = 256;
/// Timeout for receiving a request and for connecting to a host.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum number of refusals reported: a page may request many blocked hosts.
const MAX_REFUSALS: usize = 5;

#[derive(Debug)]
pub(super) struct BrowserProxy {
    pub(super) port: u16,
    refusals: Arc<Mutex<Vec<String>>>,
    _accepting: AbortOnDrop,
}

impl BrowserProxy {
    pub(super) async fn open(net: WebClient, known: RequestedHosts) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let refusals = Arc::new(Mutex::default());
        let keeper = ProxyServer {
            net,
            known,
            refusals: Arc::clone(&refusals),
        };
        let accepting = AbortOnDrop(tokio::spawn(accept(listener, keeper)));
        Ok(Self {
            port,
            refusals,
            _accepting: accepting,
        })
    }

    /// The refusals since the last call.
    pub(super) fn refusals(&self) -> Vec<String> {
        std::mem::take(&mut *self.refusals.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn accept(listener: TcpListener, keeper: ProxyServer) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if connections.len() < MAX_CONNECTIONS => {
                    drop(connections.spawn(keeper.clone().serve(stream)));
                }
                Ok(_) => {}
                // For example out of file descriptors: do not retry immediately.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

#[derive(Debug, Clone)]
struct ProxyServer {
    net: WebClient,
    known: RequestedHosts,
    refusals: Arc<Mutex<Vec<String>>>,
}

/// The head of a proxy request.
struct RequestHead {
    method: String,
    url: Url,
    /// All lines after the first.
    headers: String,
    /// Bytes received after the head.
    rest: Vec<u8>,
}

impl ProxyServer {
    async fn serve(self, mut stream: TcpStream) {
        let Ok(Some(head)) = tokio::time::timeout(TIMEOUT, read(&mut stream)).await else {
            return;
        };
        // The page did not request this host: the browser did.
        if !self.known.include(&head.url).await {
            return;
        }
        // Errors from here on appear to the browser as a broken connection.
        match self.reach(&head).await {
            Ok(ProxyRoute::Direct(server)) => drop(relay(stream, server, &head).await),
            Ok(ProxyRoute::Upstream(server, proof)) => drop(pass_on(stream, server, &head, &proof).await),
            Err(error) => {
                let why = error.to_string();
                self.note(&why);
                let answer = format!(
                    "HTTP/1.1 403 Forbidden\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{why}",
                    why.len()
                );
                drop(stream.write_all(answer.as_bytes()).await);
            }
        }
    }

    async fn reach(&self, head: &RequestHead) -> Result<ProxyRoute, ProxyError> {
        let addresses = self.net.addresses(&head.url).await?;
        match self.net.proxy(&head.url).filter(|_| addresses.is_empty()) {
            None => connect(&addresses).await.map(ProxyRoute::Direct),
            Some(proxy) => {
                let proxy = Url::parse(&proxy).map_err(ProxyError::Address)?;
                let port = proxy.port_or_known_default().unwrap_or(80);
                let host = proxy.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
                let found = tokio::net::lookup_host((host, port)).await;
                let found: Vec<SocketAddr> = found.map_err(ProxyError::Lookup)?.collect();
                let proof = match proxy.username() {
                    "" => String::new(),
                    user => {
                        let pair = format!("{user}:{}", proxy.password().unwrap_or_default());
                        format!("Proxy-Authorization: Basic {}\r\n", STANDARD.encode(pair))
                    }
                };
                Ok(ProxyRoute::Upstream(connect(&found).await?, proof))
            }
        }
    }

    fn note(&self, why: &str) {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        if refusals.len() < MAX_REFUSALS && !refusals.iter().any(|known| known == why) {
            refusals.push(why.to_owned());
        }
    }
}

/// Why a host cannot be reached.
#[derive(Debug, thiserror::Error)]
enum ProxyError {
    #[error(transparent)]
    Refused(#[from] tool::Error),
    #[error("the proxy: {0}")]
    Address(url::ParseError),
    #[error("the proxy: {0}")]
    Lookup(std::io::Error),
    #[error("there is no address")]
    NoAddress,
    #[error("{0}: {1}")]
    Connection(SocketAddr, std::io::Error),
    #[error("{0} did not answer")]
    Timeout(SocketAddr),
}

/// The connection to a server.
enum ProxyRoute {
    Direct(TcpStream),
    /// Through another proxy, with an optional authorization header.
    Upstream(TcpStream, String),
}

async fn connect(addresses: &[SocketAddr]) -> Result<TcpStream, ProxyError> {
    let mut failure = ProxyError::NoAddress;
    for address in addresses {
        #[allow(
            clippy::disallowed_methods,
            reason = "the tools for the web open sockets, and this address was checked"
        )]
        match tokio::time::timeout(TIMEOUT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => failure = ProxyError::Connection(*address, error),
            Err(_) => failure = ProxyError::Timeout(*address),
        }
    }
    Err(failure)
}

async fn read(stream: &mut TcpStream) -> Option<RequestHead> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 8 * 1024];
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        let count = stream.read(&mut buffer).await.ok()?;
        if count == 0 || bytes.len() + count > MAX_HEAD_BYTES {
            return None;
        }
        bytes.extend_from_slice(&buffer[..count]);
    };
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    let (first, headers) = text.split_once("\r\n").unwrap_or((text, ""));
    let mut words = first.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let url = match method {
        "CONNECT" => Url::parse(&format!("https://{target}")).ok()?,
        _ => Url::parse(target).ok()?,
    };
    Some(RequestHead {
        method: method.to_owned(),
        url,
        headers: headers.to_owned(),
        rest: bytes[end + 4..].to_vec(),
    })
}

/// Relays data. The request line of a plain HTTP request is rewritten for the server.
async fn relay(mut browser: TcpStream, mut server: TcpStream, head: &RequestHead) -> io::Result<()> {
    if head.method == "CONNECT" {
        browser
            .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
            .await?;
    } else {
        let target = &head.url[url::Position::BeforePath..url::Position::AfterQuery];
        let mut request = format!("{} {target} HTTP/1.1\r\n", head.method);
        // The next request may be for another host, so connections are not reused.
        let own = |line: &&str| {
            let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
            !matches!(
                name.as_str(),
                "connection" | "proxy-connection" | "proxy-authorization" | "keep-alive"
            )
        };
        for line in head.headers.split("\r\n").filter(own).filter(|line| !line.is_empty()) {
            request.push_str(line);
            request.push_str("\r\n");
        }
        request.push_str("Connection: close\r\n\r\n");
        server.write_all(request.as_bytes()).await?;
    }
    server.write_all(&head.rest).await?;
    copy_bidirectional(&mut browser, &mut server).await?;
    Ok(())
}

/// Forwards the request to the next proxy unchanged.
async fn pass_on(mut browser: TcpStream, mut proxy: TcpStream, head: &RequestHead, proof: &str) -> io::Result<()> {
    let target = match head.method.as_str() {
        "CONNECT" => {
            let host = head.url.host_str().unwrap_or_default();
            format!("{host}:{}", head.url.port_or_known_default().unwrap_or(443))
        }
        _ => head.url.to_string(),
    };
    let request = format!("{} {target} HTTP/1.1\r\n{proof}{}\r\n\r\n", head.method, head.headers);
    proxy.write_all(request.as_bytes()).await?;
    proxy.write_all(&head.rest).await?;
    copy_bidirectional(&mut browser, &mut proxy).await?;
    Ok(())
}
