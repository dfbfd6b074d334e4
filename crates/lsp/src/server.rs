//! A running server and its open documents.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sandbox::{Confinement, PipedProcess, ProcessEnvironment, Program};
use serde_json::{Value, json};
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::{Instant, timeout};
use workspace::Workspace;

use crate::connection::LspConnection;
use crate::diagnostics::DiagnosticStore;
use crate::positions::{self, PositionEncoding};
use crate::{Error, LanguageServerSpec};

/// Timeout of `initialize`.
const INITIALIZE_TIMEOUT: Duration = Duration::from_secs(45);
/// Timeout of `shutdown`.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of open documents; the least recently used one is closed.
const MAX_DOCUMENTS: usize = 50;
/// Maximum size of a file.
const MAX_FILE_BYTES: usize = 4 * 1024 * 1024;
/// Maximum length of standard error in messages.
const MAX_STDERR: usize = 400;

/// File change types of the protocol.
const CREATED: u8 = 1;
const CHANGED: u8 = 2;
const DELETED: u8 = 3;

/// A running server.
pub(crate) struct LanguageServer {
    pub(crate) spec: Arc<LanguageServerSpec>,
    pub(crate) connection: LspConnection,
    pub(crate) diagnostics: Arc<DiagnosticStore>,
    pub(crate) units: PositionEncoding,
    pub(crate) abilities: Value,
    workspace: Workspace,
    documents: AsyncMutex<OpenDocuments>,
    process: Mutex<PipedProcess>,
    used: Mutex<Instant>,
}

#[derive(Default)]
struct OpenDocuments {
    open: BTreeMap<PathBuf, OpenDocument>,
    /// Counts uses, to find the least recently used document.
    clock: u64,
}

struct OpenDocument {
    version: i32,
    /// Hash of its text, as known to the server.
    hash: u64,
    needed: u64,
}

/// A document as known to the server.
pub(crate) struct SyncedDocument {
    pub(crate) path: PathBuf,
    pub(crate) text: Arc<str>,
    pub(crate) version: i32,
    /// The generation before the server got this version.
    pub(crate) since: u64,
}

impl LanguageServer {
    /// Starts a server for a directory and initializes it.
    pub(crate) async fn start(
        spec: Arc<LanguageServerSpec>,
        root: &Path,
        workspace: Workspace,
        environment: &ProcessEnvironment,
        confinement: Option<&Confinement>,
    ) -> Result<Self, Error> {
        let failed = |why: String| Error::Start {
            server: spec.name.clone(),
            why,
        };
        let (program, args) = spec
            .command
            .split_first()
            .ok_or_else(|| failed("it has no command".into()))?;
        let program = Program::Exec {
            program: program.into(),
            args: args.iter().map(Into::into).collect(),
        };
        let environment = spec
            .env
            .iter()
            .fold(environment.clone(), |all, (name, value)| all.with(name, value));
        let confinement = confinement.map(|confinement| confinement.with_access(&spec.access));
        let started = PipedProcess::start(&program, root, &environment, confinement.as_ref());
        let (process, input, output) = started.map_err(|error| failed(error.to_string()))?;
        let uri = positions::uri(root).ok_or_else(|| failed("the directory cannot be expressed as a URI".into()))?;
        let store = Arc::new(DiagnosticStore::new(spec.settings.clone(), json!(uri.as_str())));
        let connection = LspConnection::new(input, output, store.clone());
        let introduction = connection
            .request("initialize", initialize_params(&spec, uri.as_str()), INITIALIZE_TIMEOUT)
            .await;
        let abilities = match introduction {
            Ok(mut answer) => answer["capabilities"].take(),
            Err(error) => return Err(failed(startup_error(&error, &process))),
        };
        connection.notify("initialized", json!({}))?;
        if !spec.settings.is_null() {
            connection.notify("workspace/didChangeConfiguration", json!({"settings": spec.settings}))?;
        }
        Ok(Self {
            units: PositionEncoding::from_name(abilities["positionEncoding"].as_str()),
            connection,
            diagnostics: store,
            abilities,
            workspace,
            documents: AsyncMutex::default(),
            process: Mutex::new(process),
            used: Mutex::new(Instant::now()),
            spec,
        })
    }

    /// Whether it supports a capability.
    pub(crate) fn supports(&self, ability: &str) -> bool {
        !matches!(self.abilities[ability], Value::Null | Value::Bool(false))
    }

    /// Time of the last use.
    pub(crate) fn last_used(&self) -> Instant {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its memory in bytes, if the system reports it.
    pub(crate) fn memory(&self) -> Option<u64> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner).memory()
    }

    /// The end of its standard error.
    pub(crate) fn stderr_tail(&self) -> String {
        stderr(&self.process.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Syncs a file with the server. `None` if the file cannot be read as text.
    pub(crate) async fn sync(&self, path: &Path) -> Option<SyncedDocument> {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        let language = self.spec.language(path)?.to_owned();
        // Locked while the file is read, so that notifications about a file are in order.
        let mut documents = self.documents.lock().await;
        let since = self.diagnostics.generation();
        let Some(text) = self.read(path).await else {
            self.close(&mut documents, path);
            return None;
        };
        let uri = positions::uri(path)?;
        let uri = uri.as_str();
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let hash = hasher.finish();
        documents.clock += 1;
        let needed = documents.clock;
        let version = match documents.open.get_mut(path) {
            Some(document) => {
                document.needed = needed;
                if document.hash != hash {
                    document.hash = hash;
                    document.version += 1;
                    let named = json!({"uri": uri, "version": document.version});
                    let params = json!({"textDocument": named, "contentChanges": [{"text": &*text}]});
                    self.connection.notify("textDocument/didChange", params).ok()?;
                    self.notify_saved(uri, &text, CHANGED);
                }
                document.version
            }
            None => {
                self.evict_document(&mut documents);
                let opened = json!({"uri": uri, "languageId": language, "version": 1, "text": &*text});
                self.connection
                    .notify("textDocument/didOpen", json!({"textDocument": opened}))
                    .ok()?;
                let version = 1;
                documents
                    .open
                    .insert(path.to_owned(), OpenDocument { version, hash, needed });
                version
            }
        };
        Some(SyncedDocument {
            path: path.to_owned(),
            text,
            version,
            since,
        })
    }

    /// Returns the document symbols as sent by the server.
    pub(crate) async fn outline(&self, path: &Path, limit: Duration) -> Option<Value> {
        if !self.supports("documentSymbolProvider") {
            return None;
        }
        let params = json!({"textDocument": {"uri": positions::uri(path)?.as_str()}});
        self.connection
            .request("textDocument/documentSymbol", params, limit)
            .await
            .ok()
    }

    /// Notifies the server of files changed by others, and syncs the open documents.
    pub(crate) async fn refresh(&self, paths: &[PathBuf]) {
        let known: Vec<PathBuf> = self.documents.lock().await.open.keys().cloned().collect();
        let mut happened = Vec::new();
        for path in paths.iter().filter(|path| !known.contains(path)) {
            let kind = if self.workspace.locate(path).is_ok_and(|place| place.exists()) {
                CREATED
            } else {
                DELETED
            };
            happened.extend(positions::uri(path).map(|uri| json!({"uri": uri.as_str(), "type": kind})));
        }
        if !happened.is_empty() {
            // A server that has ended needs no notification.
            drop(
                self.connection
                    .notify("workspace/didChangeWatchedFiles", json!({"changes": happened})),
            );
        }
        for path in &known {
            self.sync(path).await;
        }
    }

    /// Shuts the server down.
    pub(crate) async fn stop(&self) {
        if self
            .connection
            .request("shutdown", Value::Null, SHUTDOWN_TIMEOUT)
            .await
            .is_ok()
        {
            drop(self.connection.notify("exit", Value::Null));
            drop(timeout(SHUTDOWN_TIMEOUT, self.connection.closed()).await);
        }
    }

    async fn read(&self, path: &Path) -> Option<Arc<str>> {
        let place = self.workspace.locate(path).ok()?;
        let text = tokio::task::spawn_blocking(move || place.read_text())
            .await
            .ok()?
            .ok()?;
        (text.content.len() <= MAX_FILE_BYTES).then(|| text.content.into())
    }

    fn notify_saved(&self, uri: &str, text: &str, kind: u8) {
        let mut params = json!({"textDocument": {"uri": uri}});
        if self.abilities["textDocumentSync"]["save"]["includeText"] == true {
            params["text"] = text.into();
        }
        // A server that has ended needs no notification.
        drop(self.connection.notify("textDocument/didSave", params));
        let happened = json!({"changes": [{"uri": uri, "type": kind}]});
        drop(self.connection.notify("workspace/didChangeWatchedFiles", happened));
    }

    fn evict_document(&self, documents: &mut OpenDocuments) {
        if documents.open.len() < MAX_DOCUMENTS {
            return;
        }
        let oldest = documents.open.iter().min_by_key(|(_, document)| document.needed);
        if let Some(path) = oldest.map(|(path, _)| path.clone()) {
            self.close(documents, &path);
        }
    }

    fn close(&self, documents: &mut OpenDocuments, path: &Path) {
        if documents.open.remove(path).is_none() {
            return;
        }
        self.diagnostics.forget(path);
        if let Some(uri) = positions::uri(path) {
            // A server that has ended needs no notification.
            drop(
                self.connection
                    .notify("textDocument/didClose", json!({"textDocument": {"uri": uri.as_str()}})),
            );
        }
    }
}

/// The error, preferably from the server's standard error.
fn startup_error(error: &Error, process: &PipedProcess) -> String {
    let stderr = stderr(process);
    match stderr.is_empty() {
        true => error.to_string(),
        false => stderr,
    }
}

fn stderr(process: &PipedProcess) -> String {
    let stderr = process.stderr();
    let text = if stderr.omitted_bytes > 0 {
        stderr.tail
    } else {
        stderr.head
    };
    let text = text.trim();
    let start = text.ceil_char_boundary(text.len().saturating_sub(MAX_STDERR));
    text[start..].to_owned()
}

/// The `initialize` parameters. Pull diagnostics are not announced, so that the server publishes them.
fn initialize_params(spec: &LanguageServerSpec, root: &str) -> Value {
    let mut params = json!({
        "processId": std::process::id(),
        "clientInfo": {"name": "hew", "version": env!("CARGO_PKG_VERSION")},
        "rootUri": root,
        "workspaceFolders": [{"uri": root, "name": "project"}],
        "capabilities": {
            "general": {"positionEncodings": ["utf-8", "utf-16", "utf-32"]},
            "window": {"workDoneProgress": true, "showMessage": {}},
            "workspace": {
                "applyEdit": true,
                "configuration": true,
                "workspaceFolders": true,
                "didChangeConfiguration": {"dynamicRegistration": false},
                "didChangeWatchedFiles": {"dynamicRegistration": true},
                "symbol": {"symbolKind": {"valueSet": (1..=26).collect::<Vec<u8>>()}},
                "workspaceEdit": {"documentChanges": true, "resourceOperations": []},
            },
            "textDocument": {
                "synchronization": {"didSave": true},
                "publishDiagnostics": {"versionSupport": true, "relatedInformation": false},
                "definition": {"linkSupport": true},
                "references": {},
                "hover": {"contentFormat": ["markdown", "plaintext"]},
                "rename": {"prepareSupport": false},
                "formatting": {},
                "documentSymbol": {"hierarchicalDocumentSymbolSupport": true},
                "codeAction": {
                    "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix", "refactor", "source"]}},
                    "resolveSupport": {"properties": ["edit"]},
                    "dataSupport": true,
                },
            },
        },
    });
    if !spec.init_options.is_null() {
        params["initializationOptions"] = spec.init_options.clone();
    }
    params
}
