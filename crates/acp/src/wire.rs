//! The connection: JSON-RPC 2.0, one message per line, in both directions.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol_schema::v1::Error;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// Maximum length of a line; longer lines are rejected without buffering. Enough for an image of some megabytes.
pub const MAX_LINE: usize = 32 * 1024 * 1024;
/// Maximum number of queued messages per direction.
const QUEUE_LEN: usize = 256;
const CANCEL: &str = "$/cancel_request";

/// The id of a request: a number or a string.
pub type RequestId = Value;

/// The peer of a connection. Cheap to clone; the connection lives as long as a clone and its streams.
#[derive(Debug, Clone)]
pub struct Peer {
    lines: mpsc::Sender<String>,
    calls: Arc<RequestTable>,
}

/// A message from the peer.
#[derive(Debug)]
pub enum Incoming {
    /// A request.
    Request {
        /// Its id.
        id: RequestId,
        /// The method.
        method: String,
        /// The parameters.
        params: Value,
    },
    /// A notification.
    Notification {
        /// The method.
        method: String,
        /// The parameters.
        params: Value,
    },
}

/// Receives the response to a request.
type ReplySender = oneshot::Sender<Result<Value, Error>>;
/// Requests without a response, by id.
type PendingCalls = HashMap<i64, ReplySender>;

#[derive(Debug, Default)]
struct RequestTable {
    next: AtomicI64,
    /// Nothing once the peer is disconnected.
    waiting: Mutex<Option<PendingCalls>>,
}

impl RequestTable {
    fn lock(&self) -> MutexGuard<'_, Option<PendingCalls>> {
        // Insertions and removals are atomic.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, id: i64) -> Option<ReplySender> {
        self.lock().as_mut()?.remove(&id)
    }
}

/// Connects over two streams. Messages from the peer arrive at the receiver, which ends with the input; the task ends
/// when everything is written and every [`Peer`] is dropped.
pub fn connect(
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> (Peer, mpsc::Receiver<Incoming>, JoinHandle<()>) {
    let (lines, queue) = mpsc::channel(QUEUE_LEN);
    let (sender, incoming) = mpsc::channel(QUEUE_LEN);
    let calls = Arc::new(RequestTable {
        next: AtomicI64::new(0),
        waiting: Mutex::new(Some(HashMap::new())),
    });
    let peer = Peer { lines, calls };
    let writing = tokio::spawn(write(queue, output));
    // The reader holds no strong sender, which would keep the writer alive.
    tokio::spawn(read(input, peer.lines.downgrade(), Arc::clone(&peer.calls), sender));
    (peer, incoming, writing)
}

impl Peer {
    /// Sends a request and waits for the response. Dropping the future cancels the request.
    pub async fn request<A: DeserializeOwned>(&self, method: &str, params: &impl Serialize) -> Result<A, Error> {
        let answer = self.request_value(method, as_value(params)?).await?;
        serde_json::from_value(answer).map_err(|error| {
            Error::internal_error().data(Value::from(format!("invalid response to {method}: {error}")))
        })
    }

    async fn request_value(&self, method: &str, params: Value) -> Result<Value, Error> {
        let id = self.calls.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        match self.calls.lock().as_mut() {
            Some(waiting) => waiting.insert(id, sender),
            None => return Err(disconnected()),
        };
        let asked = InFlightRequest { peer: self, id };
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await?;
        let answer = answer.await;
        drop(asked);
        answer.unwrap_or_else(|_| Err(disconnected()))
    }

    /// Sends a notification.
    pub async fn notify(&self, method: &str, params: &impl Serialize) -> Result<(), Error> {
        let params = as_value(params)?;
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await
    }

    /// Responds to a request.
    pub async fn respond(&self, id: RequestId, answer: Result<Value, Error>) {
        let message = match answer {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => {
                let error = as_value(&error).unwrap_or_else(|_| json!({"code": -32603, "message": "internal error"}));
                json!({"jsonrpc": "2.0", "id": id, "error": error})
            }
        };
        // A disconnected peer needs no response.
        drop(self.send(message).await);
    }

    /// Whether the peer is connected.
    pub fn is_connected(&self) -> bool {
        !self.lines.is_closed() && self.calls.lock().is_some()
    }

    async fn send(&self, message: Value) -> Result<(), Error> {
        let mut line = message.to_string();
        line.push('\n');
        self.lines.send(line).await.map_err(|_| disconnected())
    }
}

/// An open request. Dropping it cancels the request.
struct InFlightRequest<'a> {
    peer: &'a Peer,
    id: i64,
}

impl Drop for InFlightRequest<'_> {
    fn drop(&mut self) {
        if self.peer.calls.take(self.id).is_some() {
            let message = json!({"jsonrpc": "2.0", "method": CANCEL, "params": {"requestId": self.id}});
            // Best effort: skipped if the queue is full.
            drop(self.peer.lines.try_send(format!("{message}\n")));
        }
    }
}

fn as_value(params: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(params).map_err(Error::into_internal_error)
}

fn disconnected() -> Error {
    Error::internal_error().data(Value::from("the peer is disconnected"))
}

async fn write(mut queue: mpsc::Receiver<String>, mut output: impl AsyncWrite + Unpin) {
    while let Some(line) = queue.recv().await {
        let written = async {
            output.write_all(line.as_bytes()).await?;
            // Streaming produces many small lines: queued lines are flushed together.
            while let Ok(more) = queue.try_recv() {
                output.write_all(more.as_bytes()).await?;
            }
            output.flush().await
        };
        if let Err(error) = written.await {
            tracing::debug!(%error, "cannot write to the peer");
            return;
        }
    }
    // Errors on shutdown have no consequence.
    drop(output.shutdown().await);
}

async fn read(
    input: impl AsyncRead + Unpin,
    lines: mpsc::WeakSender<String>,
    calls: Arc<RequestTable>,
    incoming: mpsc::Sender<Incoming>,
) {
    let mut input = BufReader::new(input);
    loop {
        let message = match next_line(&mut input, MAX_LINE).await {
            ReadLine::End => break,
            ReadLine::Bytes(line) if line.iter().all(u8::is_ascii_whitespace) => continue,
            ReadLine::Bytes(line) => serde_json::from_slice::<Value>(&line)
                .map_err(|error| Error::parse_error().data(Value::from(error.to_string()))),
            ReadLine::TooLong => {
                let why = format!("a message has at most {MAX_LINE} bytes");
                Err(Error::invalid_request().data(Value::from(why)))
            }
        };
        let messages = match message {
            Ok(Value::Array(batch)) if !batch.is_empty() => batch.into_iter().map(classify).collect(),
            Ok(message) => vec![classify(message)],
            Err(error) => vec![ClassifiedMessage::Wrong(Value::Null, error)],
        };
        for message in messages {
            let taken = match message {
                ClassifiedMessage::Incoming(message) => incoming.send(message).await.is_ok(),
                ClassifiedMessage::Answer(id, answer) => {
                    if let Some(asked) = calls.take(id) {
                        // The receiver may have been dropped.
                        drop(asked.send(answer));
                    }
                    true
                }
                ClassifiedMessage::Wrong(id, error) => send_error(&lines, id, &error).await,
                ClassifiedMessage::Nothing => true,
            };
            if !taken {
                break;
            }
        }
    }
    // Fails the pending requests.
    drop(calls.lock().take());
}

async fn send_error(lines: &mpsc::WeakSender<String>, id: Value, error: &Error) -> bool {
    let Some(lines) = lines.upgrade() else { return false };
    let message = json!({"jsonrpc": "2.0", "id": id, "error": as_value(error).unwrap_or_default()});
    lines.send(format!("{message}\n")).await.is_ok()
}

/// A classified message.
#[derive(Debug)]
enum ClassifiedMessage {
    Incoming(Incoming),
    Answer(i64, Result<Value, Error>),
    /// An invalid message.
    Wrong(Value, Error),
    /// A response without a request.
    Nothing,
}

fn classify(message: Value) -> ClassifiedMessage {
    let Value::Object(mut message) = message else {
        return ClassifiedMessage::Wrong(Value::Null, Error::invalid_request());
    };
    let id = message.remove("id");
    match (message.remove("method"), id) {
        (Some(Value::String(method)), Some(id @ (Value::String(_) | Value::Number(_) | Value::Null))) => {
            let params = params(&mut message);
            ClassifiedMessage::Incoming(Incoming::Request { id, method, params })
        }
        (Some(Value::String(method)), None) => {
            let params = params(&mut message);
            ClassifiedMessage::Incoming(Incoming::Notification { method, params })
        }
        (None, Some(Value::Number(id))) => match (id.as_i64(), message.remove("error")) {
            (None, _) => ClassifiedMessage::Nothing,
            (Some(id), None) => ClassifiedMessage::Answer(id, Ok(message.remove("result").unwrap_or_default())),
            (Some(id), Some(error)) => {
                let unknown = |_| Error::internal_error().data(Value::from("an invalid error object"));
                ClassifiedMessage::Answer(id, Err(serde_json::from_value(error).unwrap_or_else(unknown)))
            }
        },
        (None, Some(_)) => ClassifiedMessage::Nothing,
        (Some(_) | None, id) => ClassifiedMessage::Wrong(id.unwrap_or_default(), Error::invalid_request()),
    }
}

fn params(message: &mut Map<String, Value>) -> Value {
    message.remove("params").unwrap_or_default()
}

enum ReadLine {
    Bytes(Vec<u8>),
    TooLong,
    End,
}

/// Reads the next line without its terminator. A line that is too long is discarded.
async fn next_line(input: &mut (impl AsyncBufRead + Unpin), most: usize) -> ReadLine {
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let Ok(chunk) = input.fill_buf().await else {
            return ReadLine::End;
        };
        if chunk.is_empty() {
            // A truncated message is ignored.
            return match line.is_empty() || too_long {
                true => ReadLine::End,
                false => ReadLine::Bytes(line),
            };
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = &chunk[..end.unwrap_or(chunk.len())];
        if !too_long && line.len() + part.len() > most {
            too_long = true;
            line = Vec::new();
        }
        if !too_long {
            line.extend_from_slice(part);
        }
        let used = end.map_or(chunk.len(), |end| end + 1);
        input.consume(used);
        if end.is_some() {
            return match too_long {
                true => ReadLine::TooLong,
                false => ReadLine::Bytes(line),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::duplex;

    #[tokio::test]
    async fn both_sides_send_requests_and_responses_concurrently() {
        let (ours, theirs) = (duplex(1024), duplex(1024));
        let (one, mut to_one, _) = connect(ours.0, theirs.0);
        let (two, mut to_two, _) = connect(theirs.1, ours.1);
        let answering = |peer: Peer, request: Incoming| async move {
            let Incoming::Request { id, method, .. } = request else {
                panic!()
            };
            let answer = match method.as_str() {
                "good" => Ok(json!("yes")),
                _ => Err(Error::method_not_found()),
            };
            peer.respond(id, answer).await;
        };
        let nothing = json!({});
        let (asked, other, (), ()) = tokio::join!(
            one.request::<String>("good", &nothing),
            two.request::<String>("bad", &nothing),
            async { answering(two.clone(), to_two.recv().await.unwrap()).await },
            async { answering(one.clone(), to_one.recv().await.unwrap()).await },
        );
        assert_eq!(asked.unwrap(), "yes");
        assert_eq!(other.unwrap_err(), Error::method_not_found());
    }

    #[tokio::test]
    async fn invalid_messages_get_errors_and_the_connection_continues() {
        let (input, mut typed) = duplex(1 << 16);
        let (output, seen) = duplex(1 << 16);
        let (_peer, mut incoming, _) = connect(input, output);
        let mut seen = BufReader::new(seen).lines();
        for (input, code) in [
            ("{", -32700),
            ("7", -32600),
            ("[]", -32600),
            (r#"{"id":1}"#, 0),
            (r#"{"method":5}"#, -32600),
        ] {
            typed.write_all(format!("{input}\n").as_bytes()).await.unwrap();
            if code != 0 {
                let answer: Value = serde_json::from_str(&seen.next_line().await.unwrap().unwrap()).unwrap();
                assert_eq!(answer["error"]["code"], json!(code), "{input}");
            }
        }
        typed
            .write_all(b"\n{\"jsonrpc\":\"2.0\",\"method\":\"hi\"}\n")
            .await
            .unwrap();
        let Some(Incoming::Notification { method, .. }) = incoming.recv().await else {
            panic!()
        };
        assert_eq!(method, "hi");
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_skipped() {
        let text = format!("{}\nshort\nlast", "x".repeat(100));
        let mut input = BufReader::with_capacity(16, text.as_bytes());
        assert!(matches!(next_line(&mut input, 50).await, ReadLine::TooLong));
        assert!(matches!(next_line(&mut input, 50).await, ReadLine::Bytes(line) if line == b"short"));
        assert!(matches!(next_line(&mut input, 50).await, ReadLine::Bytes(line) if line == b"last"));
        assert!(matches!(next_line(&mut input, 50).await, ReadLine::End));
    }

    #[tokio::test]
    async fn pending_requests_fail_when_the_peer_disconnects() {
        let (input, typed) = duplex(64);
        let (output, _seen) = duplex(1024);
        let (peer, mut incoming, _) = connect(input, output);
        let asking = tokio::spawn({
            let peer = peer.clone();
            async move { peer.request::<Value>("x", &json!({})).await }
        });
        drop(typed);
        assert!(incoming.recv().await.is_none());
        assert!(asking.await.unwrap().is_err());
        assert!(peer.request::<Value>("y", &json!({})).await.is_err());
        assert!(!peer.is_connected());
    }
}
