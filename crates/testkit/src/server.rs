//! The scripted model server: real HTTP/1.1 on loopback, every request recorded.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::error::Error;
use crate::exchange;
use crate::play::Play;
use crate::record::{Outcome, Recorded, Records};
use crate::script::Script;
use crate::socket::{Scissors, Socket};

/// A scripted model server. It stops when it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

impl Server {
    /// Starts on a free port.
    pub async fn start(script: Script) -> Result<Self, Error> {
        Self::start_on(0, script).await
    }

    /// Starts on a given port.
    pub async fn start_on(port: u16, script: Script) -> Result<Self, Error> {
        let failed = |source| Error::Listen {
            address: format!("127.0.0.1:{port}"),
            source,
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let shared = Arc::new(Shared {
            play: Mutex::new(Play::new(script)),
            records: Records::default(),
        });
        let accepting = tokio::spawn(accept(listener, shared.clone()));
        Ok(Self {
            address,
            shared,
            accepting,
        })
    }

    /// Where it listens, as `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// All requests so far, in the order of their arrival.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.records.all()
    }

    /// The requests so far that took a turn, in the order of their arrival, as the script saw them.
    pub fn main_requests(&self) -> Vec<Recorded> {
        let main = |record: &Recorded| {
            matches!(
                record.outcome,
                Outcome::Turn { .. } | Outcome::Fault { .. } | Outcome::Over
            )
        };
        self.requests().into_iter().filter(main).collect()
    }

    /// Waits until this is true of the requests so far.
    pub async fn until(&self, is_so: impl Fn(&[Recorded]) -> bool) {
        self.shared.records.until(is_so).await;
    }

    /// Stops it, and returns when its port is free and its connections are closed.
    pub async fn stop(mut self) {
        self.accepting.abort();
        // Being aborted is the only way it ends.
        drop((&mut self.accepting).await);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The connections belong to the accepting task and end with it.
        self.accepting.abort();
    }
}

/// What the connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    play: Mutex<Play>,
    pub(crate) records: Records,
}

impl Shared {
    pub(crate) fn play(&self) -> MutexGuard<'_, Play> {
        self.play.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(connections.spawn(serve(stream, shared.clone()))),
                // Out of file descriptors, say: it would fail again at once.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    // Without it, small deltas would wait for the acknowledgement of the one before.
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let scissors = Scissors::default();
    let socket = Socket::new(stream, scissors.clone());
    let service = service_fn(|request| exchange::respond(request, shared.clone(), scissors.clone()));
    // A client that goes away is an everyday event here, and the record already says so.
    drop(
        http1::Builder::new()
            .serve_connection(TokioIo::new(socket), service)
            .await,
    );
}
