//! A web server on loopback that answers as a test wants, byte by byte.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::error::Error;

/// A web server that answers by what is asked. It stops when it is dropped.
#[derive(Debug)]
pub struct Site {
    /// The address of this machine that it listens on.
    pub host: String,
    /// The port it listens on.
    pub port: u16,
    visits: Arc<Mutex<Vec<Visit>>>,
    accepting: JoinHandle<()>,
}

/// A request that arrived.
#[derive(Debug, Clone)]
pub struct Visit {
    /// `GET /path?query`.
    pub line: String,
    /// Its headers, in small letters.
    pub head: String,
    /// What came after them.
    pub body: String,
}

/// How a request is answered.
#[derive(Debug, Clone)]
pub enum Answer {
    /// These bytes, then the connection is closed.
    Bytes(Vec<u8>),
    /// These bytes, then the second ones again and again.
    Endless(Vec<u8>, Vec<u8>),
    /// These bytes, and then nothing more.
    Silence(Vec<u8>),
}

impl Site {
    /// Starts on a free port of an address of this machine.
    pub async fn start(host: &str, answer: impl Fn(&Visit) -> Answer + Send + Sync + 'static) -> Result<Self, Error> {
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

    /// The address of a path on it.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}:{}{path}", self.host, self.port)
    }

    /// All requests so far.
    pub fn visits(&self) -> Vec<Visit> {
        self.visits.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve<A: Fn(&Visit) -> Answer>(mut stream: TcpStream, answer: Arc<A>, noted: Arc<Mutex<Vec<Visit>>>) {
    let Some(visit) = read(&mut stream).await else { return };
    noted.lock().unwrap_or_else(PoisonError::into_inner).push(visit.clone());
    // A client that has seen enough goes away, and that is fine.
    match answer(&visit) {
        Answer::Bytes(bytes) => drop(stream.write_all(&bytes).await),
        Answer::Endless(start, piece) => {
            let mut fine = stream.write_all(&start).await;
            while fine.is_ok() {
                fine = stream.write_all(&piece).await;
            }
        }
        Answer::Silence(start) => {
            drop(stream.write_all(&start).await);
            drop(stream.read(&mut [0]).await);
        }
    }
}

async fn read(stream: &mut TcpStream) -> Option<Visit> {
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
            return Some(Visit { line, head, body });
        }
        let count = stream.read(&mut buffer).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&buffer[..count]);
    }
}

/// A complete answer.
pub fn page(status: &str, kind: &str, body: impl AsRef<[u8]>) -> Answer {
    let body = body.as_ref();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    Answer::Bytes([head.as_bytes(), body].concat())
}

/// An answer that sends the client to another address.
pub fn redirect(to: &str) -> Answer {
    let head = format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    Answer::Bytes(head.into_bytes())
}
