//! The messages of editors: LSP 3.18's inline completions and the requests of Copilot's language server.

use predict::BufferPosition;
use serde_json::{Value, json};

use super::documents::DocumentChange;
use super::predictor::ShownPrediction;

pub(super) const CANCELLED: i64 = -32_800;
pub(super) const CONTENT_MODIFIED: i64 = -32_801;
pub(super) const SERVER_CANCELLED: i64 = -32_802;
pub(super) const METHOD_NOT_FOUND: i64 = -32_601;
pub(super) const INVALID_REQUEST: i64 = -32_600;

/// The command of a prediction that was accepted; editors send it after they applied the edit.
pub(super) const ACCEPT_COMMAND: &str = "hew.acceptPrediction";
/// The command of a prediction that was rejected.
pub(super) const REJECT_COMMAND: &str = "hew.rejectPrediction";
/// The commands of Copilot's language server that plugins send on their own.
const COPILOT_ACCEPT: [&str; 2] = [
    "github.copilot.didAcceptCompletionItem",
    "github.copilot.didAcceptNextEditSuggestionItem",
];

/// How a prediction is rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// `textDocument/inlineCompletion`: an insertion at the cursor.
    InlineCompletion,
    /// `textDocument/copilotInlineEdit`: an edit anywhere in the document.
    InlineEdit,
}

/// A request for a prediction.
#[derive(Debug, Clone)]
pub(super) struct PredictRequest {
    pub(super) id: Value,
    pub(super) uri: String,
    pub(super) position: BufferPosition,
    /// Whether the user asked for it, so that it is not delayed.
    pub(super) is_explicit: bool,
    pub(super) dialect: Dialect,
}

/// A message of the editor.
pub(super) enum EditorMessage {
    Initialize {
        id: Value,
        params: Value,
    },
    /// A request with a fixed result.
    Request {
        id: Value,
        result: Value,
    },
    Unknown {
        id: Value,
        method: String,
    },
    Shutdown {
        id: Value,
    },
    Exit,
    Cancel {
        id: Value,
    },
    Document(DocumentChange),
    Predict(PredictRequest),
    Shown,
    Accepted {
        id: Value,
    },
    Rejected {
        id: Value,
    },
    /// A notification without effect.
    Notification,
}

impl EditorMessage {
    /// Parses a message; `None` if it is not a request or notification.
    pub(super) fn parse(message: &Value) -> Option<Self> {
        let method = message["method"].as_str()?;
        let params = &message["params"];
        let id = message.get("id").filter(|id| !id.is_null()).cloned();
        Some(match (method, id) {
            ("initialize", Some(id)) => EditorMessage::Initialize {
                id,
                params: params.clone(),
            },
            ("shutdown", Some(id)) => EditorMessage::Shutdown { id },
            ("exit", _) => EditorMessage::Exit,
            ("$/cancelRequest", _) => EditorMessage::Cancel {
                id: params["id"].clone(),
            },
            ("textDocument/inlineCompletion", Some(id)) => predict(id, params, Dialect::InlineCompletion),
            ("textDocument/copilotInlineEdit", Some(id)) => predict(id, params, Dialect::InlineEdit),
            ("workspace/executeCommand", Some(id)) => command(id, params),
            ("notifyAccepted", Some(id)) => EditorMessage::Accepted { id },
            ("notifyRejected", Some(id)) => EditorMessage::Rejected { id },
            ("checkStatus", Some(id)) => EditorMessage::Request {
                id,
                result: json!({"status": "OK", "user": "hew"}),
            },
            ("signIn" | "signInInitiate" | "signInConfirm", Some(id)) => EditorMessage::Request {
                id,
                result: json!({"status": "AlreadySignedIn", "user": "hew"}),
            },
            ("signOut", Some(id)) => EditorMessage::Request {
                id,
                result: json!({"status": "NotSignedIn"}),
            },
            ("setEditorInfo" | "notifyShown", Some(id)) => EditorMessage::Request {
                id,
                result: "OK".into(),
            },
            ("getVersion", Some(id)) => EditorMessage::Request {
                id,
                result: json!({"version": env!("CARGO_PKG_VERSION")}),
            },
            ("textDocument/didShowCompletion" | "textDocument/didShowInlineEdit", _) => EditorMessage::Shown,
            (method, None) => match DocumentChange::parse(method, params) {
                Some(change) => EditorMessage::Document(change),
                None => EditorMessage::Notification,
            },
            (method, Some(id)) => EditorMessage::Unknown {
                id,
                method: method.to_owned(),
            },
        })
    }
}

fn predict(id: Value, params: &Value, dialect: Dialect) -> EditorMessage {
    let Some(uri) = params["textDocument"]["uri"].as_str() else {
        return EditorMessage::Request {
            id,
            result: Value::Null,
        };
    };
    EditorMessage::Predict(PredictRequest {
        id,
        uri: uri.to_owned(),
        position: position(&params["position"]),
        // 1 is `Invoked`.
        is_explicit: params["context"]["triggerKind"] == 1,
        dialect,
    })
}

fn command(id: Value, params: &Value) -> EditorMessage {
    match params["command"].as_str() {
        Some(ACCEPT_COMMAND) => EditorMessage::Accepted { id },
        Some(command) if COPILOT_ACCEPT.contains(&command) => EditorMessage::Accepted { id },
        Some(REJECT_COMMAND) => EditorMessage::Rejected { id },
        Some(_) | None => EditorMessage::Request {
            id,
            result: Value::Null,
        },
    }
}

/// Parses a position; missing parts are 0.
pub(super) fn position(value: &Value) -> BufferPosition {
    let number = |name: &str| usize::try_from(value[name].as_u64().unwrap_or(0)).unwrap_or(usize::MAX);
    BufferPosition {
        line: number("line"),
        column: number("character"),
    }
}

impl Dialect {
    /// Renders an answer.
    pub(super) fn render(self, shown: Option<&ShownPrediction>) -> Value {
        let command = json!({"title": "Accept", "command": ACCEPT_COMMAND});
        match (self, shown) {
            (Dialect::InlineCompletion, None) => json!({"items": []}),
            (Dialect::InlineEdit, None) => json!({"edits": []}),
            (Dialect::InlineCompletion, Some(shown)) => json!({"items": [{
                "insertText": shown.text,
                "range": range(shown),
                "command": command,
            }]}),
            (Dialect::InlineEdit, Some(shown)) => json!({"edits": [{
                "text": shown.text,
                "range": range(shown),
                "textDocument": {"uri": shown.uri, "version": shown.version},
                "command": command,
            }]}),
        }
    }
}

fn range(shown: &ShownPrediction) -> Value {
    let position = |at: BufferPosition| json!({"line": at.line, "character": at.column});
    json!({"start": position(shown.start), "end": position(shown.end)})
}

/// A successful response.
pub(super) fn response(id: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// An error response.
pub(super) fn error_response(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// A message for the editor's log.
pub(super) fn log_message(text: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": "window/logMessage", "params": {"type": 2, "message": text}})
}
