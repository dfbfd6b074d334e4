//! JSON-RPC over the streams of a server.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use crate::{Error, framing};

/// Messages that may be queued for writing. A full queue means that the server is stuck.
const QUEUE_LEN: usize = 512;
/// JSON-RPC error code for an unknown method.
const METHOD_NOT_FOUND: i64 = -32601;

/// Handles messages from a server.
pub(crate) trait ServerListener: Send + Sync + 'static {
    /// Handles a notification.
    fn on_notification(&self, method: &str, params: Value);

    /// Handles a request; `None` if the method is not supported.
    fn on_request(&self, method: &str, params: &Value) -> Option<Value>;
}

/// A connection to a server. It closes when the last clone is dropped.
#[derive(Clone)]
pub(crate) struct LspConnection(Arc<ConnectionInner>);

struct ConnectionInner {
    out: mpsc::Sender<Vec<u8>>,
    waiting: Arc<PendingReplies>,
    next: AtomicI64,
    closed: watch::Receiver<bool>,
}

#[derive(Default)]
struct PendingReplies(Mutex<HashMap<i64, oneshot::Sender<Result<Value, ResponseError>>>>);

impl PendingReplies {
    fn lock(&self) -> MutexGuard<'_, HashMap<i64, oneshot::Sender<Result<Value, ResponseError>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LspConnection {
    pub(crate) fn new(
        input: impl AsyncWrite + Send + Unpin + 'static,
        output: impl AsyncRead + Send + Unpin + 'static,
        listener: Arc<dyn ServerListener>,
    ) -> Self {
        let (out, queue) = mpsc::channel(QUEUE_LEN);
        let (closing, closed) = watch::channel(false);
        let waiting = Arc::new(PendingReplies::default());
        tokio::spawn(send(input, queue));
        // The reader must not keep the connection open.
        tokio::spawn(receive(output, listener, out.downgrade(), waiting.clone(), closing));
        Self(Arc::new(ConnectionInner {
            out,
            waiting,
            next: AtomicI64::new(1),
            closed,
        }))
    }

    /// Sends a request and waits for the response up to a timeout.
    pub(crate) async fn request(&self, method: &'static str, params: Value, limit: Duration) -> Result<Value, Error> {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        self.0.waiting.lock().insert(id, answer);
        let mut asked = PendingRequest {
            connection: self,
            id,
            done: false,
        };
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        let answer = timeout(limit, answered).await.map_err(|_| Error::Timeout { method })?;
        asked.done = true;
        match answer {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(ResponseError { message })) => Err(Error::Refused { method, message }),
            Err(_) => Err(Error::Closed),
        }
    }

    /// Sends a notification.
    pub(crate) fn notify(&self, method: &str, params: Value) -> Result<(), Error> {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}))
    }

    fn send(&self, message: Value) -> Result<(), Error> {
        if *self.0.closed.borrow() {
            return Err(Error::Closed);
        }
        self.0.out.try_send(framing::write(&message)).map_err(|_| Error::Closed)
    }

    /// Waits until the server has closed its side.
    pub(crate) async fn closed(&self) {
        let mut closed = self.0.closed.clone();
        // An error means that the reader has ended.
        drop(closed.wait_for(|closed| *closed).await);
    }

    pub(crate) fn is_closed(&self) -> bool {
        *self.0.closed.borrow()
    }
}

/// A request in flight. Dropping it cancels the request.
struct PendingRequest<'a> {
    connection: &'a LspConnection,
    id: i64,
    done: bool,
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        self.connection.0.waiting.lock().remove(&self.id);
        if !self.done {
            // A closed connection needs no cancellation.
            drop(self.connection.notify("$/cancelRequest", json!({"id": self.id})));
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
    listener: Arc<dyn ServerListener>,
    out: mpsc::WeakSender<Vec<u8>>,
    waiting: Arc<PendingReplies>,
    closing: watch::Sender<bool>,
) {
    let mut output = BufReader::new(output);
    loop {
        let mut message = match framing::read(&mut output).await {
            Ok(Some(message)) => message,
            Ok(None) => break,
            Err(error) => {
                tracing::warn!(%error, "language server connection failed");
                break;
            }
        };
        let params = message["params"].take();
        match (message["method"].as_str(), message.get("id").cloned()) {
            (Some(method), Some(id)) => {
                let reply = match listener.on_request(method, &params) {
                    Some(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
                    None => {
                        json!({"jsonrpc": "2.0", "id": id, "error": {"code": METHOD_NOT_FOUND, "message": "method not supported"}})
                    }
                };
                let Some(out) = out.upgrade() else { break };
                if out.send(framing::write(&reply)).await.is_err() {
                    break;
                }
            }
            (Some(method), None) => listener.on_notification(method, params),
            (None, Some(id)) => {
                let answer = id.as_i64().and_then(|id| waiting.lock().remove(&id));
                if let Some(answer) = answer {
                    // The receiver was dropped if the request was just cancelled.
                    drop(answer.send(response_result(message)));
                }
            }
            (None, None) => {}
        }
    }
    closing.send_replace(true);
    // Fails the pending requests.
    waiting.lock().clear();
}

/// The error object of a response.
#[derive(Debug)]
struct ResponseError {
    message: String,
}

fn response_result(mut message: Value) -> Result<Value, ResponseError> {
    match message.get("error") {
        Some(error) if !error.is_null() => {
            let text = error["message"].as_str().unwrap_or("unknown error");
            Err(ResponseError {
                message: text.chars().take(500).collect(),
            })
        }
        _ => Ok(message["result"].take()),
    }
}
