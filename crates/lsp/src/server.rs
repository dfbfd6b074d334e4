//! One running server and the documents it has open.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sandbox::{Environment, Partner, Program};
use serde_json::{Value, json};
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::{Instant, timeout};
use workspace::Workspace;

use crate::connection::Connection;
use crate::heard::Heard;
use crate::text::{self, Units};
use crate::{Error, Spec};

/// How long a server may take to introduce itself.
const INTRODUCTION: Duration = Duration::from_secs(45);
/// How long it may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(2);
/// Documents that are open at once; the one that was needed longest ago is closed for a new one.
const MOST_DOCUMENTS: usize = 50;
/// Longer files are not shown to servers.
const LONGEST: usize = 4 * 1024 * 1024;
/// Of what a server says when it fails, so much is told.
const MAX_SAID: usize = 400;

/// The protocol's numbers for what happened to a file.
const CREATED: u8 = 1;
const CHANGED: u8 = 2;
const DELETED: u8 = 3;

/// One running server.
pub(crate) struct Server {
    pub(crate) spec: Arc<Spec>,
    pub(crate) connection: Connection,
    pub(crate) heard: Arc<Heard>,
    pub(crate) units: Units,
    pub(crate) abilities: Value,
    workspace: Workspace,
    documents: AsyncMutex<Documents>,
    partner: Mutex<Partner>,
    used: Mutex<Instant>,
}

#[derive(Default)]
struct Documents {
    open: BTreeMap<PathBuf, Document>,
    /// Counts what is needed, so that one knows what was needed last.
    clock: u64,
}

struct Document {
    version: i32,
    /// Of its text, as the server knows it.
    hash: u64,
    needed: u64,
}

/// A document as the server knows it now.
pub(crate) struct Synced {
    pub(crate) path: PathBuf,
    pub(crate) text: Arc<str>,
    pub(crate) version: i32,
    /// How much had been heard before the server was told of this version.
    pub(crate) since: u64,
}

impl Server {
    /// Starts a server for a folder and introduces us.
    pub(crate) async fn start(
        spec: Arc<Spec>,
        root: &Path,
        workspace: Workspace,
        environment: &Environment,
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
        let (partner, input, output) =
            Partner::start(&program, root, &environment).map_err(|error| failed(error.to_string()))?;
        let uri = text::uri(root).ok_or_else(|| failed("the folder has no name it understands".into()))?;
        let heard = Arc::new(Heard::new(spec.settings.clone(), json!(uri.as_str())));
        let connection = Connection::new(input, output, heard.clone());
        let introduction = connection
            .ask("initialize", introduction(&spec, uri.as_str()), INTRODUCTION)
            .await;
        let abilities = match introduction {
            Ok(mut answer) => answer["capabilities"].take(),
            Err(error) => return Err(failed(told(&error, &partner))),
        };
        connection.tell("initialized", json!({}))?;
        if !spec.settings.is_null() {
            connection.tell("workspace/didChangeConfiguration", json!({"settings": spec.settings}))?;
        }
        Ok(Self {
            units: Units::named(abilities["positionEncoding"].as_str()),
            connection,
            heard,
            abilities,
            workspace,
            documents: AsyncMutex::default(),
            partner: Mutex::new(partner),
            used: Mutex::new(Instant::now()),
            spec,
        })
    }

    /// Whether it says that it serves such questions.
    pub(crate) fn can(&self, ability: &str) -> bool {
        !matches!(self.abilities[ability], Value::Null | Value::Bool(false))
    }

    /// When it was last needed.
    pub(crate) fn used(&self) -> Instant {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How much memory it holds, where the system says.
    pub(crate) fn memory(&self) -> Option<u64> {
        self.partner.lock().unwrap_or_else(PoisonError::into_inner).memory()
    }

    /// The end of what it wrote to its standard error.
    pub(crate) fn said(&self) -> String {
        said(&self.partner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes the server know a file as it is on disk. `None` where there is no such text.
    pub(crate) async fn sync(&self, path: &Path) -> Option<Synced> {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        let language = self.spec.language(path)?.to_owned();
        // Held while the file is read, so that what the server hears of a file is in order.
        let mut documents = self.documents.lock().await;
        let since = self.heard.count();
        let Some(text) = self.read(path).await else {
            self.close(&mut documents, path);
            return None;
        };
        let uri = text::uri(path)?;
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
                    self.connection.tell("textDocument/didChange", params).ok()?;
                    self.saved(uri, &text, CHANGED);
                }
                document.version
            }
            None => {
                self.make_room(&mut documents);
                let opened = json!({"uri": uri, "languageId": language, "version": 1, "text": &*text});
                self.connection
                    .tell("textDocument/didOpen", json!({"textDocument": opened}))
                    .ok()?;
                let version = 1;
                documents
                    .open
                    .insert(path.to_owned(), Document { version, hash, needed });
                version
            }
        };
        Some(Synced {
            path: path.to_owned(),
            text,
            version,
            since,
        })
    }

    /// What a file defines, in the protocol's form.
    pub(crate) async fn outline(&self, path: &Path, patience: Duration) -> Option<Value> {
        if !self.can("documentSymbolProvider") {
            return None;
        }
        let params = json!({"textDocument": {"uri": text::uri(path)?.as_str()}});
        self.connection
            .ask("textDocument/documentSymbol", params, patience)
            .await
            .ok()
    }

    /// Tells of files that were made, changed or removed by others, and brings the open ones up to date.
    pub(crate) async fn refresh(&self, paths: &[PathBuf]) {
        let known: Vec<PathBuf> = self.documents.lock().await.open.keys().cloned().collect();
        let mut happened = Vec::new();
        for path in paths.iter().filter(|path| !known.contains(path)) {
            let kind = if self.workspace.locate(path).is_ok_and(|place| place.exists()) {
                CREATED
            } else {
                DELETED
            };
            happened.extend(text::uri(path).map(|uri| json!({"uri": uri.as_str(), "type": kind})));
        }
        if !happened.is_empty() {
            // Where it has ended, there is nobody to tell.
            drop(
                self.connection
                    .tell("workspace/didChangeWatchedFiles", json!({"changes": happened})),
            );
        }
        for path in &known {
            self.sync(path).await;
        }
    }

    /// Says goodbye, and ends it.
    pub(crate) async fn stop(&self) {
        if self.connection.ask("shutdown", Value::Null, GOODBYE).await.is_ok() {
            drop(self.connection.tell("exit", Value::Null));
            drop(timeout(GOODBYE, self.connection.closed()).await);
        }
    }

    async fn read(&self, path: &Path) -> Option<Arc<str>> {
        let place = self.workspace.locate(path).ok()?;
        let text = tokio::task::spawn_blocking(move || place.read_text())
            .await
            .ok()?
            .ok()?;
        (text.content.len() <= LONGEST).then(|| text.content.into())
    }

    fn saved(&self, uri: &str, text: &str, kind: u8) {
        let mut params = json!({"textDocument": {"uri": uri}});
        if self.abilities["textDocumentSync"]["save"]["includeText"] == true {
            params["text"] = text.into();
        }
        // Where it has ended, there is nobody to tell.
        drop(self.connection.tell("textDocument/didSave", params));
        let happened = json!({"changes": [{"uri": uri, "type": kind}]});
        drop(self.connection.tell("workspace/didChangeWatchedFiles", happened));
    }

    fn make_room(&self, documents: &mut Documents) {
        if documents.open.len() < MOST_DOCUMENTS {
            return;
        }
        let oldest = documents.open.iter().min_by_key(|(_, document)| document.needed);
        if let Some(path) = oldest.map(|(path, _)| path.clone()) {
            self.close(documents, &path);
        }
    }

    fn close(&self, documents: &mut Documents, path: &Path) {
        if documents.open.remove(path).is_none() {
            return;
        }
        self.heard.forget(path);
        if let Some(uri) = text::uri(path) {
            // Where it has ended, there is nobody to tell.
            drop(
                self.connection
                    .tell("textDocument/didClose", json!({"textDocument": {"uri": uri.as_str()}})),
            );
        }
    }
}

/// An error in the server's own words where it has left any.
fn told(error: &Error, partner: &Partner) -> String {
    let said = said(partner);
    match said.is_empty() {
        true => error.to_string(),
        false => said,
    }
}

fn said(partner: &Partner) -> String {
    let said = partner.said();
    let text = if said.cut > 0 { said.tail } else { said.head };
    let text = text.trim();
    let start = text.ceil_char_boundary(text.len().saturating_sub(MAX_SAID));
    text[start..].to_owned()
}

/// Who we are and what we understand. Findings are to be told as they are found, so pulling them is not offered.
fn introduction(spec: &Spec, root: &str) -> Value {
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
