//! A web server on loopback that answers as a test wants, byte by byte, and a desk that notes who asks for what.

use std::sync::{Arc, Mutex};

use futures::future::{BoxFuture, FutureExt as _};
use policy::Action;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tool::{Context, Desk, Error, Inquiry, Report, Task};

use crate::desk::context;

/// A server that answers by path. It stops when it is dropped.
pub(crate) struct Site {
    pub(crate) host: String,
    pub(crate) port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
    accepting: JoinHandle<()>,
}

/// A request that arrived.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// `GET /path?query`.
    pub(crate) line: String,
    /// Its headers, in small letters.
    pub(crate) head: String,
    pub(crate) body: String,
}

/// How a request is answered.
pub(crate) enum Answer {
    /// These bytes, then the connection is closed.
    Bytes(Vec<u8>),
    /// These bytes, then the second ones again and again.
    Endless(Vec<u8>, Vec<u8>),
    /// These bytes, and then nothing more.
    Silence(Vec<u8>),
}

impl Site {
    /// Starts on a free port of an address of this machine.
    pub(crate) async fn start(host: &str, answer: impl Fn(&Seen) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((host, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (answer, noted) = (Arc::new(answer), Arc::clone(&seen));
        let accepting = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(stream, Arc::clone(&answer), Arc::clone(&noted)));
            }
        });
        let host = host.to_owned();
        Self {
            host,
            port,
            seen,
            accepting,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}:{}{path}", self.host, self.port)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve<A: Fn(&Seen) -> Answer>(mut stream: TcpStream, answer: Arc<A>, noted: Arc<Mutex<Vec<Seen>>>) {
    let Some(seen) = read(&mut stream).await else { return };
    noted.lock().unwrap().push(seen.clone());
    // A client that has seen enough goes away, and that is fine.
    match answer(&seen) {
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

async fn read(stream: &mut TcpStream) -> Option<Seen> {
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
            return Some(Seen { line, head, body });
        }
        let count = stream.read(&mut buffer).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&buffer[..count]);
    }
}

/// A complete answer.
pub(crate) fn page(status: &str, kind: &str, body: impl AsRef<[u8]>) -> Answer {
    let body = body.as_ref();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    Answer::Bytes([head.as_bytes(), body].concat())
}

pub(crate) fn redirect(to: &str) -> Answer {
    let head = format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    Answer::Bytes(head.into_bytes())
}

/// Notes the addresses that are put before it, and refuses those that contain a word.
#[derive(Default)]
pub(crate) struct Doorkeeper {
    pub(crate) asked: Mutex<Vec<String>>,
    pub(crate) refuses: Option<&'static str>,
}

impl Desk for Doorkeeper {
    fn permit(&self, action: Action) -> BoxFuture<'static, Result<(), Error>> {
        let Action::Fetch { url } = action else {
            panic!("{action:?}")
        };
        let answer = match self.refuses.filter(|word| url.contains(word)) {
            Some(_) => Err(Error::Failed("The person said no.".into())),
            None => Ok(()),
        };
        self.asked.lock().unwrap().push(url);
        async { answer }.boxed()
    }

    fn ask(&self, _: Inquiry) -> BoxFuture<'static, Result<String, Error>> {
        panic!("nothing is asked")
    }

    fn delegate(&self, _: Task) -> BoxFuture<'static, Result<Report, Error>> {
        panic!("nothing is handed over")
    }
}

/// The context of a call at this door.
pub(crate) fn at(door: &Arc<Doorkeeper>) -> Context {
    Context {
        desk: Arc::clone(door) as Arc<dyn Desk>,
        ..context()
    }
}
