//! The connection: JSON-RPC 2.0, one message a line, in both directions at once.

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

/// A longer line is refused, and what it holds is never kept: room for an image of some megabytes.
pub const MAX_LINE: usize = 32 * 1024 * 1024;
/// Messages that may wait to be written, and to be handled.
const QUEUE: usize = 256;
const CANCEL: &str = "$/cancel_request";

/// Names a request: a number or a text, as whoever asks likes it.
pub type RequestId = Value;

/// The other side of a connection. Cheap to clone; the connection lives as long as one of them and its streams.
#[derive(Debug, Clone)]
pub struct Peer {
    lines: mpsc::Sender<String>,
    calls: Arc<Calls>,
}

/// What the other side wants.
#[derive(Debug)]
pub enum Incoming {
    /// Something that is to be answered.
    Request {
        /// Names it.
        id: RequestId,
        /// What is wanted.
        method: String,
        /// With what.
        params: Value,
    },
    /// Something that is only told.
    Notification {
        /// What is told.
        method: String,
        /// With what.
        params: Value,
    },
}

/// Where an answer goes.
type Answer = oneshot::Sender<Result<Value, Error>>;
/// Questions without an answer yet.
type Waiting = HashMap<i64, Answer>;

#[derive(Debug, Default)]
struct Calls {
    next: AtomicI64,
    /// Nothing once the other side is gone.
    waiting: Mutex<Option<Waiting>>,
}

impl Calls {
    fn lock(&self) -> MutexGuard<'_, Option<Waiting>> {
        // Insertions and removals cannot be left half done.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self, id: i64) -> Option<Answer> {
        self.lock().as_mut()?.remove(&id)
    }
}

/// Talks over two streams. What the other side wants arrives at the receiver, which ends with the stream that is read; the task
/// ends when all has been written and every [`Peer`] is gone.
pub fn connect(
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> (Peer, mpsc::Receiver<Incoming>, JoinHandle<()>) {
    let (lines, queue) = mpsc::channel(QUEUE);
    let (sender, incoming) = mpsc::channel(QUEUE);
    let calls = Arc::new(Calls {
        next: AtomicI64::new(0),
        waiting: Mutex::new(Some(HashMap::new())),
    });
    let peer = Peer { lines, calls };
    let writing = tokio::spawn(write(queue, output));
    // The reader holds no sender of lines that would keep the writer from ending.
    tokio::spawn(read(input, peer.lines.downgrade(), Arc::clone(&peer.calls), sender));
    (peer, incoming, writing)
}

impl Peer {
    /// Asks something and waits for the answer. Dropping the future takes the question back.
    pub async fn ask<A: DeserializeOwned>(&self, method: &str, params: &impl Serialize) -> Result<A, Error> {
        let answer = self.ask_value(method, as_value(params)?).await?;
        serde_json::from_value(answer).map_err(|error| {
            Error::internal_error().data(Value::from(format!(
                "the answer to {method} is not understood: {error}"
            )))
        })
    }

    async fn ask_value(&self, method: &str, params: Value) -> Result<Value, Error> {
        let id = self.calls.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        match self.calls.lock().as_mut() {
            Some(waiting) => waiting.insert(id, sender),
            None => return Err(gone()),
        };
        let asked = Asked { peer: self, id };
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await?;
        let answer = answer.await;
        drop(asked);
        answer.unwrap_or_else(|_| Err(gone()))
    }

    /// Tells something that needs no answer.
    pub async fn tell(&self, method: &str, params: &impl Serialize) -> Result<(), Error> {
        let params = as_value(params)?;
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await
    }

    /// Answers a request.
    pub async fn answer(&self, id: RequestId, answer: Result<Value, Error>) {
        let message = match answer {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => {
                let error = as_value(&error).unwrap_or_else(|_| json!({"code": -32603, "message": "internal error"}));
                json!({"jsonrpc": "2.0", "id": id, "error": error})
            }
        };
        // Whoever is gone needs no answer.
        drop(self.send(message).await);
    }

    /// Whether the other side can still be spoken to.
    pub fn is_there(&self) -> bool {
        !self.lines.is_closed() && self.calls.lock().is_some()
    }

    async fn send(&self, message: Value) -> Result<(), Error> {
        let mut line = message.to_string();
        line.push('\n');
        self.lines.send(line).await.map_err(|_| gone())
    }
}

/// A question that is open. Where nobody waits any more, the other side is told.
struct Asked<'a> {
    peer: &'a Peer,
    id: i64,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if self.peer.calls.forget(self.id).is_some() {
            let message = json!({"jsonrpc": "2.0", "method": CANCEL, "params": {"requestId": self.id}});
            // It is a courtesy; a full queue may do without it.
            drop(self.peer.lines.try_send(format!("{message}\n")));
        }
    }
}

fn as_value(params: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(params).map_err(Error::into_internal_error)
}

fn gone() -> Error {
    Error::internal_error().data(Value::from("the other side is gone"))
}

async fn write(mut queue: mpsc::Receiver<String>, mut output: impl AsyncWrite + Unpin) {
    while let Some(line) = queue.recv().await {
        let written = async {
            output.write_all(line.as_bytes()).await?;
            // What streams comes in many small lines: they go out together where they come together.
            while let Ok(more) = queue.try_recv() {
                output.write_all(more.as_bytes()).await?;
            }
            output.flush().await
        };
        if let Err(error) = written.await {
            tracing::debug!(%error, "the other side reads no more");
            return;
        }
    }
    // Nobody is left to be told of an error.
    drop(output.shutdown().await);
}

async fn read(
    input: impl AsyncRead + Unpin,
    lines: mpsc::WeakSender<String>,
    calls: Arc<Calls>,
    incoming: mpsc::Sender<Incoming>,
) {
    let mut input = BufReader::new(input);
    loop {
        let message = match next_line(&mut input, MAX_LINE).await {
            Line::End => break,
            Line::Bytes(line) if line.iter().all(u8::is_ascii_whitespace) => continue,
            Line::Bytes(line) => serde_json::from_slice::<Value>(&line)
                .map_err(|error| Error::parse_error().data(Value::from(error.to_string()))),
            Line::TooLong => {
                let why = format!("a message has at most {MAX_LINE} bytes");
                Err(Error::invalid_request().data(Value::from(why)))
            }
        };
        let messages = match message {
            Ok(Value::Array(batch)) if !batch.is_empty() => batch.into_iter().map(sort).collect(),
            Ok(message) => vec![sort(message)],
            Err(error) => vec![Sorted::Wrong(Value::Null, error)],
        };
        for message in messages {
            let taken = match message {
                Sorted::Incoming(message) => incoming.send(message).await.is_ok(),
                Sorted::Answer(id, answer) => {
                    if let Some(asked) = calls.forget(id) {
                        // Whoever asked may be gone.
                        drop(asked.send(answer));
                    }
                    true
                }
                Sorted::Wrong(id, error) => complain(&lines, id, &error).await,
                Sorted::Nothing => true,
            };
            if !taken {
                break;
            }
        }
    }
    // Whoever still waits learns that no answer will come.
    drop(calls.lock().take());
}

async fn complain(lines: &mpsc::WeakSender<String>, id: Value, error: &Error) -> bool {
    let Some(lines) = lines.upgrade() else { return false };
    let message = json!({"jsonrpc": "2.0", "id": id, "error": as_value(error).unwrap_or_default()});
    lines.send(format!("{message}\n")).await.is_ok()
}

/// What a message is.
#[derive(Debug)]
enum Sorted {
    Incoming(Incoming),
    Answer(i64, Result<Value, Error>),
    /// Something that cannot be meant.
    Wrong(Value, Error),
    /// An answer to something that nobody asked.
    Nothing,
}

fn sort(message: Value) -> Sorted {
    let Value::Object(mut message) = message else {
        return Sorted::Wrong(Value::Null, Error::invalid_request());
    };
    let id = message.remove("id");
    match (message.remove("method"), id) {
        (Some(Value::String(method)), Some(id @ (Value::String(_) | Value::Number(_) | Value::Null))) => {
            let params = params(&mut message);
            Sorted::Incoming(Incoming::Request { id, method, params })
        }
        (Some(Value::String(method)), None) => {
            let params = params(&mut message);
            Sorted::Incoming(Incoming::Notification { method, params })
        }
        (None, Some(Value::Number(id))) => match (id.as_i64(), message.remove("error")) {
            (None, _) => Sorted::Nothing,
            (Some(id), None) => Sorted::Answer(id, Ok(message.remove("result").unwrap_or_default())),
            (Some(id), Some(error)) => {
                let unknown = |_| Error::internal_error().data(Value::from("an error that is not understood"));
                Sorted::Answer(id, Err(serde_json::from_value(error).unwrap_or_else(unknown)))
            }
        },
        (None, Some(_)) => Sorted::Nothing,
        (Some(_) | None, id) => Sorted::Wrong(id.unwrap_or_default(), Error::invalid_request()),
    }
}

fn params(message: &mut Map<String, Value>) -> Value {
    message.remove("params").unwrap_or_default()
}

enum Line {
    Bytes(Vec<u8>),
    TooLong,
    End,
}

/// The next line without its end. Of one that is too long nothing is kept.
async fn next_line(input: &mut (impl AsyncBufRead + Unpin), most: usize) -> Line {
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let Ok(chunk) = input.fill_buf().await else {
            return Line::End;
        };
        if chunk.is_empty() {
            // A message that was cut off is none.
            return match line.is_empty() || too_long {
                true => Line::End,
                false => Line::Bytes(line),
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
                true => Line::TooLong,
                false => Line::Bytes(line),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::duplex;

    #[tokio::test]
    async fn both_sides_ask_and_answer_at_once() {
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
            peer.answer(id, answer).await;
        };
        let nothing = json!({});
        let (asked, other, (), ()) = tokio::join!(
            one.ask::<String>("good", &nothing),
            two.ask::<String>("bad", &nothing),
            async { answering(two.clone(), to_two.recv().await.unwrap()).await },
            async { answering(one.clone(), to_one.recv().await.unwrap()).await },
        );
        assert_eq!(asked.unwrap(), "yes");
        assert_eq!(other.unwrap_err(), Error::method_not_found());
    }

    #[tokio::test]
    async fn nonsense_is_answered_and_the_connection_goes_on() {
        let (input, mut typed) = duplex(1 << 16);
        let (output, seen) = duplex(1 << 16);
        let (_peer, mut incoming, _) = connect(input, output);
        let mut seen = BufReader::new(seen).lines();
        for (said, code) in [
            ("{", -32700),
            ("7", -32600),
            ("[]", -32600),
            (r#"{"id":1}"#, 0),
            (r#"{"method":5}"#, -32600),
        ] {
            typed.write_all(format!("{said}\n").as_bytes()).await.unwrap();
            if code != 0 {
                let answer: Value = serde_json::from_str(&seen.next_line().await.unwrap().unwrap()).unwrap();
                assert_eq!(answer["error"]["code"], json!(code), "{said}");
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
    async fn a_line_that_is_too_long_is_skipped_whole() {
        let text = format!("{}\nshort\nlast", "x".repeat(100));
        let mut input = BufReader::with_capacity(16, text.as_bytes());
        assert!(matches!(next_line(&mut input, 50).await, Line::TooLong));
        assert!(matches!(next_line(&mut input, 50).await, Line::Bytes(line) if line == b"short"));
        assert!(matches!(next_line(&mut input, 50).await, Line::Bytes(line) if line == b"last"));
        assert!(matches!(next_line(&mut input, 50).await, Line::End));
    }

    #[tokio::test]
    async fn whoever_waits_learns_that_the_other_side_is_gone() {
        let (input, typed) = duplex(64);
        let (output, _seen) = duplex(1024);
        let (peer, mut incoming, _) = connect(input, output);
        let asking = tokio::spawn({
            let peer = peer.clone();
            async move { peer.ask::<Value>("x", &json!({})).await }
        });
        drop(typed);
        assert!(incoming.recv().await.is_none());
        assert!(asking.await.unwrap().is_err());
        assert!(peer.ask::<Value>("y", &json!({})).await.is_err());
        assert!(!peer.is_there());
    }
}
