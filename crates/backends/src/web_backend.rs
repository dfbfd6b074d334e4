//! The back end of the web server: opens sessions, and provides data about them. A session in the terminal uses it too, to share
//! the session with a server.

mod services;

pub(crate) use services::{SessionOwner, WebServices};

use crate::acp_backend::check_ready;
use crate::environment::ProcessEnv;
use crate::failure::{Failure, Result};
use crate::session_export::{self, SessionFormat};
use crate::session_search::{FoundSession, SessionSearch};
use crate::tui_backend::{TuiBackend, version_text};
use crate::{EditorBackend, PredictionModel};
use crate::{atomic, paths};
use futures::future::FutureExt as _;
use host::SessionFlags;
use host::sessions::fork;
use server::http::{
    CompletionQuery, DeviceStorage, EditApproval, FileTextsRow, OpenedWebSession, PublishedSession, SearchHit,
    SessionSettings, TextCompletion, TokenSpan, WebError, WebErrorKind, WebExportFormat, WebFuture, WebSessions,
    WebTarget,
};
use session::{Change, ItemId, LoadedSession, RequestRecord, SessionId, SessionMeta, Store as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::SqliteStore;
use tokio::runtime::Handle;
use tokio::sync::OnceCell;
use tui::{OpenedSession, SessionBackend as _, SessionTarget};

/// The maximum number of search results.
const MAX_HITS: usize = 50;
/// The text around a match, in characters.
const EXCERPT: usize = 80;
/// The longest path of a socket on Linux and macOS.
const MAX_SOCKET_PATH: usize = 103;

/// The back end of the web server.
#[derive(Clone)]
pub struct WebBackend {
    root: PathBuf,
    flags: SessionFlags,
    env: ProcessEnv,
    store: Arc<SqliteStore>,
    /// The runtime of the sessions.
    runtime: Handle,
    /// The owner of the sessions.
    owner: SessionOwner,
    /// Edit predictions; connected for the first request.
    predictions: Arc<OnceCell<EditorBackend>>,
    /// The texts of the sessions, from the first search on.
    search: Arc<tokio::sync::Mutex<SessionSearch>>,
}

impl WebBackend {
    /// The back end for sessions that run on this runtime.
    pub fn new(root: PathBuf, flags: SessionFlags, env: ProcessEnv, runtime: Handle) -> Result<Self> {
        let store = host::sessions::open_store(&env)?;
        Ok(WebBackend {
            owner: SessionOwner::Server,
            ..WebBackend::with_store(root, flags, env, store, runtime)
        })
    }

    /// The back end for a session of the terminal.
    pub(crate) fn with_store(
        root: PathBuf,
        flags: SessionFlags,
        env: ProcessEnv,
        store: Arc<SqliteStore>,
        runtime: Handle,
    ) -> Self {
        // A stored session is opened in its own project.
        let flags = SessionFlags {
            directory: None,
            ..flags
        };
        WebBackend {
            root,
            flags,
            env,
            store,
            runtime,
            owner: SessionOwner::FrontEnd,
            predictions: Arc::default(),
            search: Arc::new(SessionSearch::without_subtasks().into()),
        }
    }

    async fn connect_predictions(&self) -> Result<EditorBackend> {
        let loaded = self.flags.load_config(&self.root, &self.env)?;
        let model = PredictionModel::connect(None, None, &loaded.config, &self.env).await?;
        EditorBackend::new(model, self.root.clone(), &loaded, &self.env)
    }

    /// Refuses a folder in which the user has never started a session: a client must not choose `/` as its project.
    async fn check_root(&self, root: &Path) -> Result<(), WebError> {
        if root.starts_with(&self.root) || !self.store.list(Some(root.to_owned())).await?.is_empty() {
            return Ok(());
        }
        let message = format!("{} is not a project of this server", root.display());
        let mut error = WebError::new(WebErrorKind::Forbidden, message);
        error.hint = Some("start a session there with `hew` first".into());
        Err(error)
    }

    async fn open_session(self, target: WebTarget) -> Result<OpenedWebSession, WebError> {
        if self.owner == SessionOwner::FrontEnd {
            return Err(WebError::new(WebErrorKind::Busy, "the session is closing"));
        }
        let (root, target) = match target {
            WebTarget::New { root } => {
                let root = root.unwrap_or_else(|| self.root.clone());
                let found = crate::project::root(Some(&root), &self.env).map_err(web_error)?;
                self.check_root(&found).await?;
                (found, SessionTarget::New)
            }
            WebTarget::Stored(id) => {
                let root = self.store.load(id).await?.meta.root;
                (root, SessionTarget::Named(id.to_string()))
            }
        };
        let (flags, env) = (self.flags.clone(), self.env.clone());
        let backend = TuiBackend::unshared(root, flags, env, Arc::clone(&self.store));
        let opened = backend.open(target).await.map_err(|error| WebError {
            message: error.message,
            hint: error.hint,
            kind: match backend.open_failure() {
                Some(failure) if failure.message.contains("is open in another hew process") => WebErrorKind::Busy,
                Some(_) | None => WebErrorKind::Invalid,
            },
        })?;
        let services = WebServices::new(backend, opened.id, self.runtime.clone(), SessionOwner::Server);
        Ok(web_session(opened, services))
    }

    fn socket(&self, session: SessionId) -> Option<PathBuf> {
        let path = paths::data_dir(&self.env)
            .ok()?
            .join("run")
            .join(session.0.simple().to_string());
        (path.as_os_str().len() <= MAX_SOCKET_PATH).then_some(path)
    }

    fn listen(path: &Path) -> std::io::Result<UnixListener> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        if !folder.exists() {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        // This process has the lease: a file with this name belongs to a process that died.
        drop(std::fs::remove_file(path));
        UnixListener::bind(path)
    }
}

/// A session for the web server. The events and commands are those of the opened session.
pub(crate) fn web_session(opened: OpenedSession, services: WebServices) -> OpenedWebSession {
    let info = opened.info;
    OpenedWebSession {
        id: opened.id,
        title: info.title,
        commands: opened.commands,
        events: opened.events,
        head: opened.items.last().map(|item| item.id),
        max_level: match info.permission.as_str() {
            "full" => policy::AccessLevel::Full,
            "read-only" => policy::AccessLevel::ReadOnly,
            _ => policy::AccessLevel::Workspace,
        },
        settings: SessionSettings {
            model: info.model,
            context_window: info.context_window,
            mode: info.mode,
            permission: info.permission,
            effort: info.effort,
            edit_approval: match info.edit_approval {
                Some(policy::ApprovalMode::Ask) => EditApproval::Ask,
                Some(policy::ApprovalMode::Allow) | None => EditApproval::Allow,
            },
            sandbox: info.sandbox,
            display_path: info.display_path,
            rules: info.rules,
        },
        has_unfinished_turn: info.has_unfinished_turn,
        notices: opened.notices,
        services: Arc::new(services),
    }
}

/// Removes the socket of a session.
struct RemoveSocket(PathBuf);

impl Drop for RemoveSocket {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).unwrap_or_default();
    }
}

impl WebSessions for WebBackend {
    fn list(&self, root: Option<PathBuf>) -> WebFuture<Vec<SessionMeta>> {
        let store = Arc::clone(&self.store);
        async move {
            let root = root.map(|root| root.canonicalize().unwrap_or(root));
            let mut all = store.list(root).await?;
            all.retain(|meta| meta.parent.is_none());
            Ok(all)
        }
        .boxed()
    }

    fn find(&self, prefix: String) -> WebFuture<SessionId> {
        let found = self.store.find(&prefix);
        async move { Ok(found.await?) }.boxed()
    }

    fn load(&self, session: SessionId) -> WebFuture<LoadedSession> {
        let loaded = self.store.load(session);
        async move { Ok(loaded.await?) }.boxed()
    }

    fn open(&self, target: WebTarget) -> WebFuture<OpenedWebSession> {
        let opening = self.runtime.spawn(self.clone().open_session(target));
        async move {
            let opened = opening.await;
            opened.unwrap_or_else(|error| Err(WebError::new(WebErrorKind::Failed, error.to_string())))
        }
        .boxed()
    }

    fn fork(&self, session: SessionId, upto: Option<ItemId>) -> WebFuture<SessionId> {
        let store = Arc::clone(&self.store);
        async move { fork(&store, session, upto).await.map_err(web_error) }.boxed()
    }

    fn delete(&self, session: SessionId) -> WebFuture<()> {
        let deleted = self.store.delete(session);
        async move { Ok(deleted.await?) }.boxed()
    }

    fn rename(&self, session: SessionId, title: String) -> WebFuture<()> {
        let stored = self.store.set_title(session, title);
        async move { Ok(stored.await?) }.boxed()
    }

    fn export(&self, session: SessionId, format: WebExportFormat) -> WebFuture<String> {
        let store = Arc::clone(&self.store);
        let format = match format {
            WebExportFormat::Markdown => SessionFormat::Markdown,
            WebExportFormat::Json => SessionFormat::Json,
        };
        async move {
            let loaded = store.load(session).await?;
            let records = store.request_records(session).await?;
            let subtasks = store.children(session).await?;
            let text = session_export::render(&store, &loaded, &subtasks, &records, format).await;
            text.map_err(web_error)
        }
        .boxed()
    }

    fn records(&self, session: SessionId) -> WebFuture<Vec<RequestRecord>> {
        let records = self.store.request_records(session);
        async move { Ok(records.await?) }.boxed()
    }

    fn search(&self, query: String) -> WebFuture<Vec<SearchHit>> {
        let backend = self.clone();
        let work = self.runtime.spawn(async move {
            let mut search = backend.search.lock().await;
            let found = search.search(&backend.store, None, &query, MAX_HITS).await?;
            Ok(found.iter().map(|found| search_hit(found, &query)).collect())
        });
        async move {
            let done = work.await;
            let done = done.map_err(|error| WebError::new(WebErrorKind::Failed, error.to_string()))?;
            done.map_err(web_error)
        }
        .boxed()
    }

    fn texts(&self, changes: Vec<Change>) -> WebFuture<Vec<FileTextsRow>> {
        let store = Arc::clone(&self.store);
        async move {
            let mut texts = Vec::new();
            for Change { path, before, after } in changes {
                texts.push(FileTextsRow {
                    path: path.display().to_string(),
                    before: version_text(&store, before).await,
                    after: version_text(&store, after).await,
                });
            }
            Ok(texts)
        }
        .boxed()
    }

    fn highlight(&self, language: String, text: String) -> WebFuture<Option<Vec<TokenSpan>>> {
        async move {
            let work = tokio::task::spawn_blocking(move || highlight(&language, &text));
            work.await
                .map_err(|error| WebError::new(WebErrorKind::Failed, error.to_string()))
        }
        .boxed()
    }

    fn default_root(&self) -> PathBuf {
        self.root.clone()
    }

    fn holder(&self, session: SessionId) -> Option<PathBuf> {
        // The socket of a process that died refuses connections.
        self.socket(session).filter(|path| UnixStream::connect(path).is_ok())
    }

    fn publish(&self, session: SessionId) -> Option<PublishedSession> {
        let path = self.socket(session)?;
        match WebBackend::listen(&path) {
            Ok(listener) => Some(PublishedSession {
                listener,
                cleanup: Box::new(RemoveSocket(path)),
            }),
            Err(error) => {
                tracing::debug!(%error, "the session cannot be shared");
                None
            }
        }
    }

    fn complete(&self, query: CompletionQuery) -> WebFuture<TextCompletion> {
        let backend = self.clone();
        let work = self.runtime.spawn(async move {
            let predictions = backend
                .predictions
                .get_or_try_init(|| backend.connect_predictions())
                .await?;
            predictions.complete_text(query).await
        });
        async move {
            let done = work
                .await
                .map_err(|error| WebError::new(WebErrorKind::Failed, error.to_string()))?;
            done.map_err(web_error)
        }
        .boxed()
    }

    fn tool_kind(&self, tool: &str) -> tool::ToolKind {
        toolbox::facts(tool).map_or(tool::ToolKind::Other, |facts| facts.kind)
    }

    fn ready(&self) -> WebFuture<()> {
        let backend = self.clone();
        let work = self.runtime.spawn(async move {
            let loaded = backend
                .flags
                .load_config(&backend.root, &backend.env)
                .map_err(web_error)?;
            let ready = check_ready(&loaded.config, &backend.env).await;
            ready.map_err(|error| WebError::invalid(error.to_string()))
        });
        async move {
            let done = work.await;
            done.map_err(|error| WebError::new(WebErrorKind::Failed, error.to_string()))?
        }
        .boxed()
    }
}

fn search_hit(found: &FoundSession, query: &str) -> SearchHit {
    let query = query.trim().to_lowercase();
    let line = match found.line.as_str() {
        "" => found
            .text
            .lines()
            .find(|line| !line.trim().is_empty() && !line.starts_with("## ")),
        line => Some(line),
    };
    let line = line.unwrap_or_default();
    let lower = line.to_lowercase();
    // Lower case may have another length: positions are counted in characters.
    let before = lower
        .find(&query)
        .and_then(|at| lower.get(..at))
        .map_or(0, |before| before.chars().count());
    let excerpt = line
        .chars()
        .skip(before.saturating_sub(EXCERPT / 2))
        .take(EXCERPT + query.chars().count());
    SearchHit {
        session: found.meta.id.to_string(),
        title: found.meta.title.clone(),
        item: found.item.map(|item| item.to_string()),
        excerpt: excerpt.collect(),
        at_ms: found.meta.updated.0,
    }
}

/// Highlighted parts with positions in UTF-16 units, as scripts count them.
fn highlight(language: &str, text: &str) -> Option<Vec<TokenSpan>> {
    let (mut bytes, mut units) = (0, 0);
    let mut position = |to: usize| {
        let part = text.get(bytes..to).unwrap_or_default();
        units += part.encode_utf16().count();
        bytes = to;
        units
    };
    let spans = index::highlight(language, text)?.into_iter();
    Some(
        spans
            .map(|(range, kind)| (position(range.start), position(range.end), token_name(kind)))
            .collect(),
    )
}

fn token_name(kind: index::HighlightKind) -> &'static str {
    match kind {
        index::HighlightKind::Comment => "comment",
        index::HighlightKind::Keyword => "keyword",
        index::HighlightKind::String => "string",
        index::HighlightKind::Number => "number",
        index::HighlightKind::Type => "type",
        index::HighlightKind::Function => "function",
        index::HighlightKind::Constant => "constant",
        index::HighlightKind::Property => "property",
        index::HighlightKind::Variable => "variable",
        index::HighlightKind::Operator => "operator",
        index::HighlightKind::Punctuation => "punctuation",
        index::HighlightKind::Tag => "tag",
    }
}

pub(super) fn web_error(failure: Failure) -> WebError {
    WebError {
        message: failure.message,
        hint: failure.hint,
        kind: WebErrorKind::Invalid,
    }
}

/// The file of paired devices.
pub struct DeviceFiles(PathBuf);

impl DeviceFiles {
    /// Devices in this file.
    pub fn new(path: PathBuf) -> Self {
        DeviceFiles(path)
    }
}

impl DeviceStorage for DeviceFiles {
    fn load(&self) -> std::io::Result<Option<String>> {
        match std::fs::read_to_string(&self.0) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn save(&self, text: &str) -> std::io::Result<()> {
        atomic::write(&self.0, text)
    }

    fn version(&self) -> u128 {
        // A file is replaced as a whole, so that its number changes too.
        let Ok(data) = std::fs::metadata(&self.0) else {
            return 0;
        };
        let time = u128::from(data.mtime().unsigned_abs()) << 32 | u128::from(data.mtime_nsec().unsigned_abs());
        time ^ (u128::from(data.ino()) << 64) ^ (u128::from(data.size()) << 100)
    }
}
