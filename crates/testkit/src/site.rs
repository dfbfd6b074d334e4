//! A web server on loopback with arbitrary responses.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::error::Error;

/// A web server that responds by request. It stops when it is dropped.
#[derive(Debug)]
pub struct StubSite {
    /// The local address that it listens on.
    pub host: String,
    /// The port it listens on.
    pub port: u16,
    visits: Arc<Mutex<Vec<SiteRequest>>>,
    accepting: JoinHandle<()>,
}

/// A received request.
#[derive(Debug, Clone)]
pub struct SiteRequest {
    /// `GET /path?query`.
    pub line: String,
    /// Its headers in lower case.
    pub head: String,
    /// Its body.
    pub body: String,
}

/// A response.
#[derive(Debug, Clone)]
pub enum SiteResponse {
    /// These bytes, then the connection is closed.
    Bytes(Vec<u8>),
    /// These bytes, then the second ones repeatedly.
    Endless(Vec<u8>, Vec<u8>),
    /// These bytes, then nothing more.
    Stall(Vec<u8>),
}

impl StubSite {
    /// Starts on a free port of a local address.
    pub async fn start(
        host: &str,
        answer: impl Fn(&SiteRequest) -> SiteResponse + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let failed = |source| Error::Listen {
            address: format!("{host}:0"),
            source,
        };
        let listener = TcpListener::bind((host, 0)).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let visits = Arc::new(Mutex::new(Vec::new()));
        let (answer, noted) = (Arc::new(answer), Arc::clone(&visits));
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&answer), Arc::clone(&noted)));
            }
        });
        Ok(Self {
            host: host.to_owned(),
            port,
            visits,
            accepting,
        })
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}:{}{path}", self.host, self.port)
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<SiteRequest> {
        self.visits.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for StubSite {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve<A: Fn(&SiteRequest) -> SiteResponse>(
    mut stream: TcpStream,
    answer: Arc<A>,
    noted: Arc<Mutex<Vec<SiteRequest>>>,
) {
    let Some(visit) = read(&mut stream).await else { return };
    noted.lock().unwrap_or_else(PoisonError::into_inner).push(visit.clone());
    // Clients may disconnect early.
    match answer(&visit) {
        SiteResponse::Bytes(bytes) => drop(stream.write_all(&bytes).await),
        SiteResponse::Endless(start, piece) => {
            let mut fine = stream.write_all(&start).await;
            while fine.is_ok() {
                fine = stream.write_all(&piece).await;
            }
        }
        SiteResponse::Stall(start) => {
            drop(stream.write_all(&start).await);
            drop(stream.read(&mut [0]).await);
        }
    }
}

async fn read(stream: &mut TcpStream) -> Option<SiteRequest> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let line = head.lines().next()?.trim_end_matches(" HTTP/1.1").to_owned();
            let head = head.to_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            let total = end + 4 + length.unwrap_or(0);
            while bytes.len() < total {
                let count = stream.read(&mut buffer).await.ok().filter(|count| *count > 0)?;
                bytes.extend_from_slice(&buffer[..count]);
            }
            let body = String::from_utf8_lossy(&bytes[end + 4..total]).into_owned();
            return Some(SiteRequest { line, head, body });
        }
        let count = stream.read(&mut buffer).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&buffer[..count]);
    }
}

/// A complete response.
pub fn page(status: &str, kind: &str, body: impl AsRef<[u8]>) -> SiteResponse {
    let body = body.as_ref();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    SiteResponse::Bytes([head.as_bytes(), body].concat())
}

/// A redirect to another address.
pub fn redirect(to: &str) -> SiteResponse {
    let head = format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    SiteResponse::Bytes(head.into_bytes())
}
