//! Handles requests of an editor.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use acp::schema::{
    AgentAuthCapabilities, AgentCapabilities, AuthMethod, AuthMethodAgent, AuthMethodTerminal, AuthenticateRequest,
    AuthenticateResponse, CancelNotification, ClientCapabilities, CloseSessionRequest, CloseSessionResponse,
    DeleteSessionRequest, DeleteSessionResponse, Error, Implementation, InitializeRequest, InitializeResponse,
    ListSessionsRequest, ListSessionsResponse, LoadSessionRequest, LoadSessionResponse, McpCapabilities, McpServer,
    NewSessionRequest, NewSessionResponse, PromptCapabilities, PromptRequest, PromptResponse, ResumeSessionRequest,
    SessionAdditionalDirectoriesCapabilities, SessionCapabilities, SessionCloseCapabilities, SessionDeleteCapabilities,
    SessionInfo, SessionListCapabilities, SessionResumeCapabilities, SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse, SetSessionModeRequest, SetSessionModeResponse,
};
use acp::{Incoming, Peer, ProtocolVersion, RequestId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use session::{Command, Item, NoticeLevel, SessionId};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinHandle, JoinSet};

use super::buffers::AcpBuffers;
use super::editor_session::{EditorSession, EditorSessionParams};
use super::editor_view::{self, EditorReport};
use super::options::SessionOptions;
use super::terminals::EditorTerminals;
use super::{
    AcpError, AcpErrorKind, AcpSessionTarget, AcpSessions, AcpSharing, OpenSessionRequest, OpenedAcpSession, events,
    replay,
};

/// Sessions per page of a list.
const PAGE_SIZE: usize = 50;
/// Timeout of open requests when the editor disconnects.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);
/// Id of the login method.
const AUTH_METHOD: &str = "hew-key";

/// Serves an editor until it disconnects.
pub(super) async fn run(
    backend: Arc<dyn AcpSessions>,
    peer: Peer,
    mut incoming: mpsc::Receiver<Incoming>,
    wire: Handle,
) {
    let host = Arc::new(AcpHost {
        backend,
        peer,
        wire,
        client: Mutex::default(),
        open: Mutex::default(),
    });
    let mut work = JoinSet::new();
    let mut prompts: Vec<(RequestId, String, AbortHandle)> = Vec::new();
    while let Some(message) = incoming.recv().await {
        prompts.retain(|(_, _, task)| !task.is_finished());
        match message {
            Incoming::Request { id, method, params } => {
                let (host, named) = (Arc::clone(&host), id.clone());
                let asked = params.get("sessionId").and_then(Value::as_str).map(str::to_owned);
                let prompted = asked.clone().filter(|_| method == "session/prompt");
                // Registered before the next message is read, which may cancel it.
                let arrival = prompted
                    .as_deref()
                    .and_then(|name| Some(host.session(name).ok()?.prompt_arrived()));
                let task = work.spawn(async move {
                    let answer = host.serve(&method, params).await;
                    if let Err(error) = &answer {
                        tracing::debug!(method, %error, "a request failed");
                    }
                    let given = answer
                        .as_ref()
                        .ok()
                        .and_then(|it| it.get("sessionId")?.as_str().map(str::to_owned));
                    host.peer.respond(id, answer).await;
                    drop(arrival);
                    // Only now does the editor know the session.
                    host.start_showing(given.or(asked).as_deref());
                });
                prompts.extend(prompted.map(|session| (named, session, task)));
            }
            Incoming::Notification { method, params } => host.handle_notification(&method, params, &prompts).await,
        }
        while work.try_join_next().is_some() {}
    }
    // Open requests are still answered, and a session opened meanwhile is closed too.
    host.close_all().await;
    drop(tokio::time::timeout(CLOSE_TIMEOUT, async { while work.join_next().await.is_some() {} }).await);
    work.shutdown().await;
    host.close_all().await;
}

struct AcpHost {
    backend: Arc<dyn AcpSessions>,
    peer: Peer,
    /// Runs the connection.
    wire: Handle,
    client: Mutex<ClientCapabilities>,
    open: Mutex<HashMap<SessionId, SessionEntry>>,
}

struct SessionEntry {
    live: Arc<EditorSession>,
    shown: JoinHandle<()>,
    /// Starts its updates, once the editor knows the session.
    begin: Option<oneshot::Sender<()>>,
}

/// The session parameters of an editor.
struct SessionParams {
    target: AcpSessionTarget,
    root: PathBuf,
    additional_roots: Vec<PathBuf>,
    mcp: Vec<McpServer>,
}

impl SessionParams {
    fn new(target: AcpSessionTarget, root: PathBuf, additional_roots: Vec<PathBuf>, mcp: Vec<McpServer>) -> Self {
        SessionParams {
            target,
            root,
            additional_roots,
            mcp,
        }
    }
}

impl AcpHost {
    async fn serve(self: &Arc<Self>, method: &str, params: Value) -> Result<Value, Error> {
        match method {
            "initialize" => to_value(self.initialize(&parse_params(params)?)),
            "authenticate" => to_value(self.authenticate(parse_params(params)?).await?),
            "session/new" | "session/load" | "session/resume" => self.open_session(method, params).await,
            "session/list" => to_value(self.list(parse_params(params)?).await?),
            "session/close" => {
                let request: CloseSessionRequest = parse_params(params)?;
                self.close(parse_session_id(&request.session_id.0)?).await?;
                to_value(CloseSessionResponse::new())
            }
            "session/delete" => {
                let request: DeleteSessionRequest = parse_params(params)?;
                let session = parse_session_id(&request.session_id.0)?;
                // An open session is closed first.
                drop(self.close(session).await);
                self.backend.delete(session).await.map_err(to_protocol_error)?;
                to_value(DeleteSessionResponse::new())
            }
            "session/prompt" => {
                let request: PromptRequest = parse_params(params)?;
                let live = self.session(&request.session_id.0)?;
                if let Some(report) = EditorReport::of_prompt(request.meta.as_ref()) {
                    live.show_view(&report.map_err(|error| invalid_params(error.to_string()))?)
                        .await;
                }
                to_value(PromptResponse::new(live.prompt(request.prompt).await?))
            }
            "session/set_mode" => {
                let request: SetSessionModeRequest = parse_params(params)?;
                let live = self.session(&request.session_id.0)?;
                live.choose("mode", &request.mode_id.0).await?;
                to_value(SetSessionModeResponse::new())
            }
            "session/set_config_option" => {
                let request: SetSessionConfigOptionRequest = parse_params(params)?;
                let live = self.session(&request.session_id.0)?;
                let value = request.value.as_value_id();
                let value = value.ok_or_else(|| invalid_params("this option requires the name of a choice"))?;
                live.choose(&request.config_id.0, &value.0).await?;
                to_value(SetSessionConfigOptionResponse::new(live.offer().options()))
            }
            _ => Err(Error::method_not_found().data(Value::from(method))),
        }
    }

    async fn handle_notification(
        self: &Arc<Self>,
        method: &str,
        params: Value,
        prompts: &[(RequestId, String, AbortHandle)],
    ) {
        match method {
            "session/cancel" => {
                if let Ok(cancel) = parse_params::<CancelNotification>(params)
                    && let Ok(live) = self.session(&cancel.session_id.0)
                {
                    live.cancel().await;
                }
            }
            "$/cancel_request" => {
                // All other requests are short.
                let named = params.get("requestId").cloned().unwrap_or_default();
                let prompt = prompts.iter().find(|(id, ..)| *id == named);
                if let Some(live) = prompt.and_then(|(_, session, _)| self.session(session).ok()) {
                    live.cancel().await;
                }
            }
            editor_view::METHOD => {
                let session = params.get("sessionId").and_then(Value::as_str).map(str::to_owned);
                let live = session.and_then(|name| self.session(&name).ok());
                if let (Some(live), Ok(report)) = (live, parse_params::<EditorReport>(params)) {
                    live.show_view(&report).await;
                }
            }
            // Unknown notifications may be ignored.
            other => tracing::debug!(method = other, "unknown notification"),
        }
    }

    fn initialize(&self, request: &InitializeRequest) -> InitializeResponse {
        let terminal = request.client_capabilities.auth.terminal;
        *self.client() = request.client_capabilities.clone();
        // The newest common version; an editor that supports none of them disconnects.
        let version = request
            .protocol_version
            .clamp(ProtocolVersion::V1, ProtocolVersion::LATEST);
        let about = "Run `hew keys set PROVIDER` in a terminal, or set the provider's environment variable.";
        let method = match terminal {
            true => AuthMethod::Terminal(
                AuthMethodTerminal::new(AUTH_METHOD, "Set a provider's key")
                    .description(about.to_owned())
                    .args(vec!["keys".into(), "set".into()]),
            ),
            false => AuthMethod::Agent(
                AuthMethodAgent::new(AUTH_METHOD, "Key of a model provider").description(about.to_owned()),
            ),
        };
        let sessions = SessionCapabilities::new()
            .list(SessionListCapabilities::new())
            .delete(SessionDeleteCapabilities::new())
            .resume(SessionResumeCapabilities::new())
            .close(SessionCloseCapabilities::new())
            .additional_directories(SessionAdditionalDirectoriesCapabilities::new());
        let capabilities = AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
            .mcp_capabilities(McpCapabilities::new().http(true).sse(true))
            .session_capabilities(sessions)
            .auth(AgentAuthCapabilities::new());
        InitializeResponse::new(version)
            .agent_capabilities(capabilities)
            .auth_methods(vec![method])
            .agent_info(Implementation::new("hew", env!("CARGO_PKG_VERSION")).title("hew".to_owned()))
    }

    async fn authenticate(&self, request: AuthenticateRequest) -> Result<AuthenticateResponse, Error> {
        if &*request.method_id.0 != AUTH_METHOD {
            return Err(invalid_params(format!("unknown login method `{}`", request.method_id)));
        }
        self.backend.ready().await.map_err(to_protocol_error)?;
        Ok(AuthenticateResponse::new())
    }

    /// Creates, loads or resumes a session. Loading replays its items.
    async fn open_session(self: &Arc<Self>, method: &str, params: Value) -> Result<Value, Error> {
        let params = match method {
            "session/new" => {
                let NewSessionRequest {
                    cwd,
                    additional_directories,
                    mcp_servers,
                    ..
                } = parse_params(params)?;
                SessionParams::new(AcpSessionTarget::New, cwd, additional_directories, mcp_servers)
            }
            "session/load" => {
                let LoadSessionRequest {
                    session_id,
                    cwd,
                    additional_directories,
                    mcp_servers,
                    ..
                } = parse_params(params)?;
                let target = AcpSessionTarget::Named(session_id.0.to_string());
                SessionParams::new(target, cwd, additional_directories, mcp_servers)
            }
            _ => {
                let ResumeSessionRequest {
                    session_id,
                    cwd,
                    additional_directories,
                    mcp_servers,
                    ..
                } = parse_params(params)?;
                let target = AcpSessionTarget::Named(session_id.0.to_string());
                SessionParams::new(target, cwd, additional_directories, mcp_servers)
            }
        };
        let is_new = params.target == AcpSessionTarget::New;
        let (session, items) = self.open(params).await?;
        if method == "session/load" {
            replay::replay(&session, &items).await;
        }
        let options = session.offer();
        let (modes, options) = (options.modes(), options.options());
        match is_new {
            true => to_value(
                NewSessionResponse::new(session.name.clone())
                    .modes(modes)
                    .config_options(options),
            ),
            // The response to `session/resume` has the same fields.
            false => to_value(LoadSessionResponse::new().modes(modes).config_options(options)),
        }
    }

    async fn open(self: &Arc<Self>, params: SessionParams) -> Result<(Arc<EditorSession>, Vec<Arc<Item>>), Error> {
        for folder in std::iter::once(&params.root).chain(&params.additional_roots) {
            require_absolute(folder)?;
        }
        if let AcpSessionTarget::Named(name) = &params.target
            && let Ok(session) = parse_session_id(name)
        {
            // Loading an open session reopens it: the editor has forgotten it.
            drop(self.leave(session).await);
        }
        let client = self.client().clone();
        let can_show = client.fs.read_text_file || client.fs.write_text_file;
        let buffers = can_show.then(|| {
            Arc::new(AcpBuffers {
                peer: self.peer.clone(),
                can: client.fs.clone(),
                session: OnceLock::new(),
                wire: self.wire.clone(),
            })
        });
        let terminals = client.terminal.then(|| {
            Arc::new(EditorTerminals {
                peer: self.peer.clone(),
                session: OnceLock::new(),
            })
        });
        let opening = OpenSessionRequest {
            target: params.target,
            root: params.root,
            additional_roots: params.additional_roots,
            mcp: params.mcp,
            buffers: buffers.clone().map(|it| it as Arc<dyn workspace::EditorBuffers>),
            terminals: terminals.clone().map(|it| it as Arc<dyn tool::ClientTerminals>),
        };
        let opened = self.backend.open(opening).await.map_err(to_protocol_error)?;
        let name = opened.id.to_string();
        // The cells are new, so setting them cannot fail.
        drop(buffers.map(|buffers| buffers.session.set(name.clone())));
        drop(terminals.map(|terminals| terminals.session.set(name)));
        Ok(self.register(opened, client))
    }

    /// Registers a session and starts its updates.
    fn register(
        self: &Arc<Self>,
        opened: OpenedAcpSession,
        client: ClientCapabilities,
    ) -> (Arc<EditorSession>, Vec<Arc<Item>>) {
        let OpenedAcpSession {
            id,
            root,
            commands,
            events,
            items,
            modes,
            models,
            levels,
            notices,
            sharing,
        } = opened;
        let live = Arc::new(EditorSession::new(EditorSessionParams {
            id,
            root,
            peer: self.peer.clone(),
            backend: Arc::clone(&self.backend),
            client,
            commands,
            offer: SessionOptions { modes, models, levels },
            sharing,
        }));
        let (begin, known) = oneshot::channel();
        let shown = tokio::spawn({
            let live = Arc::clone(&live);
            async move {
                // If it is closed before that, its final events are still processed.
                drop(known.await);
                for text in notices {
                    live.notice(NoticeLevel::Warning, text).await;
                }
                live.send_commands().await;
                events::show_events(live, events).await;
            }
        });
        let entry = SessionEntry {
            live: Arc::clone(&live),
            shown,
            begin: Some(begin),
        };
        self.sessions().insert(id, entry);
        (live, items)
    }

    async fn list(&self, request: ListSessionsRequest) -> Result<ListSessionsResponse, Error> {
        let start: usize = match request.cursor.as_deref() {
            None => 0,
            Some(cursor) => cursor.parse().map_err(|_| invalid_params("invalid cursor"))?,
        };
        if let Some(root) = &request.cwd {
            require_absolute(root)?;
        }
        let all = self.backend.list(request.cwd).await.map_err(to_protocol_error)?;
        let next = (all.len() > start + PAGE_SIZE).then(|| (start + PAGE_SIZE).to_string());
        let page = all.into_iter().skip(start).take(PAGE_SIZE).map(|meta| {
            let updated = jiff::Timestamp::from_millisecond(i64::try_from(meta.updated.0).unwrap_or_default());
            SessionInfo::new(meta.id.to_string(), meta.root)
                .title(meta.title)
                .updated_at(updated.ok().map(|time| time.to_string()))
        });
        Ok(ListSessionsResponse::new(page.collect()).next_cursor(next))
    }

    /// Closes a session: running work is stopped, everything is saved.
    async fn close(&self, session: SessionId) -> Result<(), Error> {
        self.session(&session.to_string())?.cancel().await;
        self.leave(session).await
    }

    /// Closes a session for this editor. Running work is stopped unless the session is shared.
    async fn leave(&self, session: SessionId) -> Result<(), Error> {
        let entry = self.sessions().remove(&session);
        let Some(SessionEntry { live, shown, begin }) = entry else {
            return Err(unknown(&session.to_string()));
        };
        drop(begin);
        if live.sharing == AcpSharing::Exclusive {
            live.cancel().await;
        }
        live.command(Command::Close).await;
        // Its last events are still shown.
        drop(shown.await);
        self.backend.close(session).await;
        Ok(())
    }

    /// Closes all sessions for this editor.
    async fn close_all(&self) {
        let all: Vec<SessionId> = self.sessions().keys().copied().collect();
        let closing = all.into_iter().map(|session| self.leave(session));
        drop(futures::future::join_all(closing).await);
    }

    /// Starts the updates of a session that the editor knows now.
    fn start_showing(&self, name: Option<&str>) {
        let session = name.and_then(|name| name.parse().ok());
        let begin = session.and_then(|session: SessionId| self.sessions().get_mut(&session)?.begin.take());
        // A session that has ended needs no updates.
        if let Some(begin) = begin {
            begin.send(()).ok();
        }
    }

    fn session(&self, name: &str) -> Result<Arc<EditorSession>, Error> {
        let session = parse_session_id(name)?;
        let open = self.sessions();
        let entry = open.get(&session).ok_or_else(|| unknown(name))?;
        Ok(Arc::clone(&entry.live))
    }

    fn client(&self) -> MutexGuard<'_, ClientCapabilities> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, SessionEntry>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn parse_params<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
    serde_json::from_value(params).map_err(|error| invalid_params(error.to_string()))
}

fn to_value(answer: impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(answer).map_err(Error::into_internal_error)
}

fn parse_session_id(name: &str) -> Result<SessionId, Error> {
    name.parse().map_err(|_| unknown(name))
}

fn unknown(name: &str) -> Error {
    Error::resource_not_found(None).data(json!({"sessionId": name, "details": "the session is not open"}))
}

fn require_absolute(folder: &Path) -> Result<(), Error> {
    match folder.is_absolute() {
        true => Ok(()),
        false => Err(invalid_params(format!(
            "`{}` is not an absolute path",
            folder.display()
        ))),
    }
}

fn invalid_params(why: impl Into<String>) -> Error {
    Error::invalid_params().data(Value::from(why.into()))
}

fn to_protocol_error(trouble: AcpError) -> Error {
    let text = trouble.to_string();
    let code = match trouble.kind {
        AcpErrorKind::Login => -32000,
        AcpErrorKind::Missing => -32002,
        AcpErrorKind::Other => -32603,
    };
    // Editors show the message, and few of them the data.
    Error::new(code, text)
}
