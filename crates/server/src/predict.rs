//! Edit predictions for editors, as a language server: `textDocument/inlineCompletion` of LSP 3.18, and the requests of
//! Copilot's language server that editor plugins use.
//!
//! One task reads messages; one prediction is computed at a time. A newer request, a change of the document or a
//! cancellation drops the older one, which also cancels its HTTP request.

mod backend;
mod documents;
mod predictor;
mod protocol;

pub use backend::{NamedDefinition, PredictionAnswer, PredictionBackend, PredictionError, PredictionEvent};

use std::sync::Arc;

use futures::future::BoxFuture;
use lsp::framing;
use predictor::{PredictionOutcome, Predictor, Started};
use protocol::{
    CANCELLED, CONTENT_MODIFIED, EditorMessage, INVALID_REQUEST, METHOD_NOT_FOUND, SERVER_CANCELLED, error_response,
    response,
};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;

/// Messages that may wait; an editor that sends more waits until they are read.
const MAX_QUEUED: usize = 64;

/// Serves one editor until it disconnects or sends `exit`.
pub async fn serve(
    backend: Arc<dyn PredictionBackend>,
    input: impl AsyncRead + Unpin + Send + 'static,
    mut output: impl AsyncWrite + Unpin,
) {
    let (sender, mut messages) = mpsc::channel(MAX_QUEUED);
    let reader = tokio::spawn(async move {
        let mut input = BufReader::new(input);
        while let Ok(Some(message)) = framing::read(&mut input).await {
            if sender.send(message).await.is_err() {
                break;
            }
        }
    });
    let mut server = Server {
        predictor: Predictor::new(backend),
        running: None,
        phase: ConnectionPhase::Open,
    };
    loop {
        let replies = tokio::select! {
            biased;
            message = messages.recv() => match message {
                Some(message) => match server.receive(&message) {
                    Received::Replies(replies) => replies,
                    Received::Exit => break,
                },
                None => break,
            },
            outcome = run(&mut server.running) => server.finish(outcome),
        };
        for reply in replies {
            if output.write_all(&framing::write(&reply)).await.is_err() {
                reader.abort();
                return;
            }
        }
        // The editor may have disconnected; the next read ends the loop.
        output.flush().await.ok();
    }
    reader.abort();
}

/// The state of a connection.
struct Server {
    predictor: Predictor,
    running: Option<Running>,
    phase: ConnectionPhase,
}

/// Whether the editor has ended the connection with `shutdown`: only `exit` may follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ConnectionPhase {
    Open,
    ShutDown,
}

/// The prediction that is being computed.
struct Running {
    /// The request that waits for it; `None` for a prediction in advance.
    request: Option<WaitingRequest>,
    hash: u64,
    work: BoxFuture<'static, PredictionOutcome>,
}

/// A request of the editor that has no answer yet.
struct WaitingRequest {
    id: Value,
    dialect: protocol::Dialect,
}

/// The effect of a message.
enum Received {
    Replies(Vec<Value>),
    Exit,
}

async fn run(running: &mut Option<Running>) -> PredictionOutcome {
    match running {
        Some(running) => running.work.as_mut().await,
        None => std::future::pending().await,
    }
}

impl Server {
    fn receive(&mut self, message: &Value) -> Received {
        let Some(incoming) = EditorMessage::parse(message) else {
            return Received::Replies(Vec::new());
        };
        if self.phase == ConnectionPhase::ShutDown && !matches!(incoming, EditorMessage::Exit) {
            let id = message.get("id").filter(|id| !id.is_null());
            let refused = id.map(|id| error_response(id, INVALID_REQUEST, "the server is shut down"));
            return Received::Replies(refused.into_iter().collect());
        }
        let replies = match incoming {
            EditorMessage::Shutdown { id } => {
                self.phase = ConnectionPhase::ShutDown;
                let mut replies = self.drop_running(SERVER_CANCELLED, "the server is shut down");
                replies.push(response(&id, Value::Null));
                replies
            }
            EditorMessage::Initialize { id, params } => vec![response(&id, self.predictor.initialize(&params))],
            EditorMessage::Request { id, result } => vec![response(&id, result)],
            EditorMessage::Unknown { id, method } => {
                let text = format!("`{method}` is not supported");
                vec![error_response(&id, METHOD_NOT_FOUND, &text)]
            }
            EditorMessage::Exit => return Received::Exit,
            EditorMessage::Cancel { id } => self.cancel(&id),
            EditorMessage::Document(change) => {
                // It shares the text: without it, the change needs no copy.
                let replies = if change.changes_text() {
                    self.drop_running(CONTENT_MODIFIED, "the document changed")
                } else {
                    Vec::new()
                };
                self.predictor.update(change);
                replies
            }
            EditorMessage::Predict(request) => self.predict(request),
            EditorMessage::Shown => {
                self.predictor.shown();
                Vec::new()
            }
            EditorMessage::Accepted { id } => {
                let advance = self.predictor.accepted();
                let mut replies = vec![response(&id, Value::Null)];
                if let Some(Started::Work { hash, work, .. }) = advance {
                    replies.extend(self.drop_running(SERVER_CANCELLED, "a newer request arrived"));
                    self.running = Some(Running {
                        request: None,
                        hash,
                        work,
                    });
                }
                replies
            }
            EditorMessage::Rejected { id } => {
                self.predictor.rejected();
                vec![response(&id, Value::Null)]
            }
            EditorMessage::Notification => Vec::new(),
        };
        Received::Replies(replies)
    }

    fn predict(&mut self, request: protocol::PredictRequest) -> Vec<Value> {
        let waiting = WaitingRequest {
            id: request.id.clone(),
            dialect: request.dialect,
        };
        match self.predictor.start(&request) {
            Started::Answer(answer) => {
                let mut replies = self.drop_running(SERVER_CANCELLED, "a newer request arrived");
                replies.push(response(&waiting.id, waiting.dialect.render(answer.as_ref())));
                replies
            }
            Started::Work { hash, work } => {
                // A prediction in advance of the same context continues.
                if let Some(running) = &mut self.running
                    && running.request.is_none()
                    && running.hash == hash
                {
                    running.request = Some(waiting);
                    return Vec::new();
                }
                let replies = self.drop_running(SERVER_CANCELLED, "a newer request arrived");
                self.running = Some(Running {
                    request: Some(waiting),
                    hash,
                    work,
                });
                replies
            }
        }
    }

    fn finish(&mut self, outcome: PredictionOutcome) -> Vec<Value> {
        let Some(running) = self.running.take() else {
            return Vec::new();
        };
        let Some(waiting) = running.request else {
            self.predictor.store(outcome);
            return Vec::new();
        };
        let failure = outcome.failure().map(str::to_owned);
        let answer = self.predictor.finish(outcome);
        let mut replies = vec![response(&waiting.id, waiting.dialect.render(answer.as_ref()))];
        if let Some(text) = failure {
            replies.push(protocol::log_message(&text));
        }
        replies
    }

    fn cancel(&mut self, id: &Value) -> Vec<Value> {
        let is_waiting = self
            .running
            .as_ref()
            .and_then(|running| running.request.as_ref())
            .is_some_and(|request| request.id == *id);
        if is_waiting {
            self.drop_running(CANCELLED, "cancelled")
        } else {
            Vec::new()
        }
    }

    /// Drops the prediction that is being computed and answers its request.
    fn drop_running(&mut self, code: i64, reason: &str) -> Vec<Value> {
        let request = self.running.take().and_then(|running| running.request);
        let answer = |request: WaitingRequest| error_response(&request.id, code, reason);
        request.map(answer).into_iter().collect()
    }
}

/// The capabilities of the server.
fn capabilities() -> Value {
    json!({
        "positionEncoding": "utf-16",
        "textDocumentSync": {"openClose": true, "change": 2, "save": false},
        "inlineCompletionProvider": {},
        "executeCommandProvider": {"commands": [protocol::ACCEPT_COMMAND, protocol::REJECT_COMMAND]},
        "workspace": {"workspaceFolders": {"supported": true, "changeNotifications": false}},
    })
}
