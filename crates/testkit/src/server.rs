//! The scripted model server: real HTTP/1.1 on loopback; all requests are recorded.

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
use crate::playback::Playback;
use crate::record::{RecordedRequest, Records, RequestOutcome};
use crate::script::Script;
use crate::socket::{ConnectionCutter, Socket};

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
        Self::start_at((Ipv4Addr::LOCALHOST, port).into(), script).await
    }

    /// Starts at a given address.
    pub async fn start_at(address: SocketAddr, script: Script) -> Result<Self, Error> {
        let failed = |source| Error::Listen {
            address: address.to_string(),
            source,
        };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let shared = Arc::new(Shared {
            play: Mutex::new(Playback::new(script)),
            records: Records::default(),
        });
        let accepting = tokio::spawn(accept(listener, shared.clone()));
        Ok(Self {
            address,
            shared,
            accepting,
        })
    }

    /// Its address, `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// All requests so far, in order of arrival.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.shared.records.all()
    }

    /// The requests so far that took a turn, in order of arrival.
    pub fn main_requests(&self) -> Vec<RecordedRequest> {
        let main = |record: &RecordedRequest| {
            matches!(
                record.outcome,
                RequestOutcome::Turn { .. } | RequestOutcome::Fault { .. } | RequestOutcome::Over
            )
        };
        self.requests().into_iter().filter(main).collect()
    }

    /// Waits until the condition holds for the requests so far.
    pub async fn wait_until(&self, condition: impl Fn(&[RecordedRequest]) -> bool) {
        self.shared.records.wait_until(condition).await;
    }

    /// Stops it, and returns when its port and connections are closed.
    pub async fn stop(mut self) {
        self.accepting.abort();
        // The task ends only by being aborted.
        drop((&mut self.accepting).await);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The connections belong to the accepting task and end with it.
        self.accepting.abort();
    }
}

/// The state shared by the connections.
#[derive(Debug)]
pub(crate) struct Shared {
    play: Mutex<Playback>,
    pub(crate) records: Records,
}

impl Shared {
    pub(crate) fn play(&self) -> MutexGuard<'_, Playback> {
        self.play.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(connections.spawn(serve(stream, shared.clone()))),
                // For example, out of file descriptors: an immediate retry would fail again.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    // Otherwise small deltas would wait for the acknowledgement of the previous one.
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let scissors = ConnectionCutter::default();
    let socket = Socket::new(stream, scissors.clone());
    let service = service_fn(|request| exchange::respond(request, shared.clone(), scissors.clone()));
    // Clients that disconnect are normal and already recorded.
    drop(
        http1::Builder::new()
            .serve_connection(TokioIo::new(socket), service)
            .await,
    );
}
