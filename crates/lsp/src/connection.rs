//! Questions and answers over the two streams of a server.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use crate::{Error, frame};

/// Messages that wait to be written. A server that reads none of them is stuck.
const QUEUE: usize = 512;
/// The protocol's number for a request that nobody serves.
const NOT_SERVED: i64 = -32601;

/// What is done with what a server says of itself.
pub(crate) trait Listener: Send + Sync + 'static {
    /// It tells something.
    fn told(&self, method: &str, params: Value);

    /// It asks something; `None` means that we do not serve that.
    fn asked(&self, method: &str, params: &Value) -> Option<Value>;
}

/// A way to a server. It closes when the last of its clones is dropped.
#[derive(Clone)]
pub(crate) struct Connection(Arc<Shared>);

struct Shared {
    out: mpsc::Sender<Vec<u8>>,
    waiting: Arc<Waiting>,
    next: AtomicI64,
    closed: watch::Receiver<bool>,
}

#[derive(Default)]
struct Waiting(Mutex<HashMap<i64, oneshot::Sender<Result<Value, String>>>>);

impl Waiting {
    fn table(&self) -> MutexGuard<'_, HashMap<i64, oneshot::Sender<Result<Value, String>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    pub(crate) fn new(
        input: impl AsyncWrite + Send + Unpin + 'static,
        output: impl AsyncRead + Send + Unpin + 'static,
        listener: Arc<dyn Listener>,
    ) -> Self {
        let (out, queue) = mpsc::channel(QUEUE);
        let (closing, closed) = watch::channel(false);
        let waiting = Arc::new(Waiting::default());
        tokio::spawn(send(input, queue));
        // It must not hold the way open itself, or nobody could close it.
        tokio::spawn(receive(output, listener, out.downgrade(), waiting.clone(), closing));
        Self(Arc::new(Shared {
            out,
            waiting,
            next: AtomicI64::new(1),
            closed,
        }))
    }

    /// Asks, and waits for the answer so long.
    pub(crate) async fn ask(&self, method: &'static str, params: Value, patience: Duration) -> Result<Value, Error> {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        self.0.waiting.table().insert(id, answer);
        let mut asked = Asked {
            connection: self,
            id,
            done: false,
        };
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        let answer = timeout(patience, answered).await.map_err(|_| Error::Late { method })?;
        asked.done = true;
        match answer {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(message)) => Err(Error::Refused { method, message }),
            Err(_) => Err(Error::Gone),
        }
    }

    /// Tells something.
    pub(crate) fn tell(&self, method: &str, params: Value) -> Result<(), Error> {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}))
    }

    fn send(&self, message: Value) -> Result<(), Error> {
        if *self.0.closed.borrow() {
            return Err(Error::Gone);
        }
        self.0.out.try_send(frame::write(&message)).map_err(|_| Error::Gone)
    }

    /// Waits until the server has closed its side.
    pub(crate) async fn closed(&self) {
        let mut closed = self.0.closed.clone();
        // An error means that nobody reads any more.
        drop(closed.wait_for(|closed| *closed).await);
    }

    pub(crate) fn is_closed(&self) -> bool {
        *self.0.closed.borrow()
    }
}

/// A question on its way. When nobody waits any more, the server is told.
struct Asked<'a> {
    connection: &'a Connection,
    id: i64,
    done: bool,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.connection.0.waiting.table().remove(&self.id);
        if !self.done {
            // Where the way is closed, there is nobody to tell.
            drop(self.connection.tell("$/cancelRequest", json!({"id": self.id})));
        }
    }
}

async fn send(mut input: impl AsyncWrite + Unpin, mut queue: mpsc::Receiver<Vec<u8>>) {
    while let Some(message) = queue.recv().await {
        if input.write_all(&message).await.is_err() || input.flush().await.is_err() {
            return;
        }
    }
}

async fn receive(
    output: impl AsyncRead + Unpin,
    listener: Arc<dyn Listener>,
    out: mpsc::WeakSender<Vec<u8>>,
    waiting: Arc<Waiting>,
    closing: watch::Sender<bool>,
) {
    let mut output = BufReader::new(output);
    loop {
        let mut message = match frame::read(&mut output).await {
            Ok(Some(message)) => message,
            Ok(None) => break,
            Err(error) => {
                tracing::warn!(%error, "a language server is given up");
                break;
            }
        };
        let params = message["params"].take();
        match (message["method"].as_str(), message.get("id").cloned()) {
            (Some(method), Some(id)) => {
                let reply = match listener.asked(method, &params) {
                    Some(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
                    None => json!({"jsonrpc": "2.0", "id": id, "error": {"code": NOT_SERVED, "message": "not served"}}),
                };
                let Some(out) = out.upgrade() else { break };
                if out.send(frame::write(&reply)).await.is_err() {
                    break;
                }
            }
            (Some(method), None) => listener.told(method, params),
            (None, Some(id)) => {
                let answer = id.as_i64().and_then(|id| waiting.table().remove(&id));
                if let Some(answer) = answer {
                    // Nobody waits when the question was dropped just now.
                    drop(answer.send(outcome(message)));
                }
            }
            (None, None) => {}
        }
    }
    closing.send_replace(true);
    // Whoever still waits learns that there is nobody to answer.
    waiting.table().clear();
}

fn outcome(mut message: Value) -> Result<Value, String> {
    match message.get("error") {
        Some(error) if !error.is_null() => {
            let said = error["message"].as_str().unwrap_or("no reason given");
            Err(said.chars().take(500).collect())
        }
        _ => Ok(message["result"].take()),
    }
}
