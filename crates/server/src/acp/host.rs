//! Answers an editor: finds the session that is meant and has it do what is asked.

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
    ResumeSessionResponse, SessionAdditionalDirectoriesCapabilities, SessionCapabilities, SessionCloseCapabilities,
    SessionDeleteCapabilities, SessionInfo, SessionListCapabilities, SessionResumeCapabilities,
    SetSessionConfigOptionRequest, SetSessionConfigOptionResponse, SetSessionModeRequest, SetSessionModeResponse,
};
use acp::{Incoming, Peer, ProtocolVersion, RequestId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use session::{Command, Item, Level, SessionId};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinHandle, JoinSet};

use super::buffers::Buffers;
use super::live::{Birth, Live};
use super::offer::Offer;
use super::terminals::Terminals;
use super::{House, Kind, Opened, Opening, Trouble, Which, replay, show};

/// Sessions in one answer to a list.
const PAGE: usize = 50;
/// How long requests may take that are still open when the editor goes.
const GRACE: Duration = Duration::from_secs(10);
/// How a key is set, in the words of the protocol.
const KEY: &str = "hew-key";

/// Serves an editor until it goes.
pub(super) async fn run(house: Arc<dyn House>, peer: Peer, mut incoming: mpsc::Receiver<Incoming>, wire: Handle) {
    let host = Arc::new(Host {
        house,
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
                // Before anything else is read: what comes next may cancel it.
                let arrival = prompted
                    .as_deref()
                    .and_then(|name| Some(host.live(name).ok()?.arrive()));
                let task = work.spawn(async move {
                    let answer = host.serve(&method, params).await;
                    if let Err(error) = &answer {
                        tracing::debug!(method, %error, "a request failed");
                    }
                    let given = answer
                        .as_ref()
                        .ok()
                        .and_then(|it| it.get("sessionId")?.as_str().map(str::to_owned));
                    host.peer.answer(id, answer).await;
                    drop(arrival);
                    // Only now does the editor know the session.
                    host.show(given.or(asked).as_deref());
                });
                prompts.extend(prompted.map(|session| (named, session, task)));
            }
            Incoming::Notification { method, params } => host.hear(&method, params, &prompts).await,
        }
        while work.try_join_next().is_some() {}
    }
    // What was asked last is still answered, and a session that was opened last is closed too.
    host.end().await;
    drop(tokio::time::timeout(GRACE, async { while work.join_next().await.is_some() {} }).await);
    work.shutdown().await;
    host.end().await;
}

struct Host {
    house: Arc<dyn House>,
    peer: Peer,
    /// Carries the connection.
    wire: Handle,
    client: Mutex<ClientCapabilities>,
    open: Mutex<HashMap<SessionId, Entry>>,
}

struct Entry {
    live: Arc<Live>,
    shown: JoinHandle<()>,
    /// Lets it be shown, once the editor knows it.
    begin: Option<oneshot::Sender<()>>,
}

/// What an editor says about a session that it wants.
struct Wanted {
    which: Which,
    root: PathBuf,
    more: Vec<PathBuf>,
    mcp: Vec<McpServer>,
}

impl Host {
    async fn serve(self: &Arc<Self>, method: &str, params: Value) -> Result<Value, Error> {
        match method {
            "initialize" => answered(self.initialize(&read(params)?)),
            "authenticate" => answered(self.authenticate(read(params)?).await?),
            "session/new" => answered(self.new_session(read(params)?).await?),
            "session/load" => answered(self.load(read(params)?).await?),
            "session/resume" => answered(self.resume(read(params)?).await?),
            "session/list" => answered(self.list(read(params)?).await?),
            "session/close" => {
                let request: CloseSessionRequest = read(params)?;
                self.close(id(&request.session_id.0)?).await?;
                answered(CloseSessionResponse::new())
            }
            "session/delete" => {
                let request: DeleteSessionRequest = read(params)?;
                let session = id(&request.session_id.0)?;
                // One that is open is closed first.
                drop(self.close(session).await);
                self.house.delete(session).await.map_err(wrong)?;
                answered(DeleteSessionResponse::new())
            }
            "session/prompt" => {
                let request: PromptRequest = read(params)?;
                let live = self.live(&request.session_id.0)?;
                answered(PromptResponse::new(live.prompt(request.prompt).await?))
            }
            "session/set_mode" => {
                let request: SetSessionModeRequest = read(params)?;
                let live = self.live(&request.session_id.0)?;
                live.choose("mode", &request.mode_id.0).await?;
                answered(SetSessionModeResponse::new())
            }
            "session/set_config_option" => {
                let request: SetSessionConfigOptionRequest = read(params)?;
                let live = self.live(&request.session_id.0)?;
                let value = request.value.as_value_id();
                let value = value.ok_or_else(|| refused("this option takes the name of a choice"))?;
                live.choose(&request.config_id.0, &value.0).await?;
                answered(SetSessionConfigOptionResponse::new(live.offer().options()))
            }
            _ => Err(Error::method_not_found().data(Value::from(method))),
        }
    }

    async fn hear(self: &Arc<Self>, method: &str, params: Value, prompts: &[(RequestId, String, AbortHandle)]) {
        match method {
            "session/cancel" => {
                if let Ok(cancel) = read::<CancelNotification>(params)
                    && let Ok(live) = self.live(&cancel.session_id.0)
                {
                    live.cancel().await;
                }
            }
            "$/cancel_request" => {
                // All else is done in a moment.
                let named = params.get("requestId").cloned().unwrap_or_default();
                let prompt = prompts.iter().find(|(id, ..)| *id == named);
                if let Some(live) = prompt.and_then(|(_, session, _)| self.live(session).ok()) {
                    live.cancel().await;
                }
            }
            // What is not known may be ignored: nobody waits for an answer.
            other => tracing::debug!(method = other, "a notification that is not known"),
        }
    }

    fn initialize(&self, request: &InitializeRequest) -> InitializeResponse {
        let terminal = request.client_capabilities.auth.terminal;
        *self.client() = request.client_capabilities.clone();
        // The newest version that both know; an editor that knows none of ours goes away by itself.
        let version = request
            .protocol_version
            .clamp(ProtocolVersion::V1, ProtocolVersion::LATEST);
        let about = "Run `hew keys set PROVIDER` in a terminal, or set the provider's environment variable.";
        let method = match terminal {
            true => AuthMethod::Terminal(
                AuthMethodTerminal::new(KEY, "Set a provider's key")
                    .description(about.to_owned())
                    .args(vec!["keys".into(), "set".into()]),
            ),
            false => {
                AuthMethod::Agent(AuthMethodAgent::new(KEY, "Key of a model provider").description(about.to_owned()))
            }
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
        if &*request.method_id.0 != KEY {
            return Err(refused(format!(
                "there is no way to log in called `{}`",
                request.method_id
            )));
        }
        self.house.ready().await.map_err(wrong)?;
        Ok(AuthenticateResponse::new())
    }

    async fn new_session(self: &Arc<Self>, request: NewSessionRequest) -> Result<NewSessionResponse, Error> {
        let (live, _) = self
            .open(Wanted {
                which: Which::New,
                root: request.cwd,
                more: request.additional_directories,
                mcp: request.mcp_servers,
            })
            .await?;
        let offer = live.offer();
        Ok(NewSessionResponse::new(live.name.clone())
            .modes(offer.modes())
            .config_options(offer.options()))
    }

    async fn load(self: &Arc<Self>, request: LoadSessionRequest) -> Result<LoadSessionResponse, Error> {
        let (live, items) = self
            .open(Wanted {
                which: Which::Named(request.session_id.0.to_string()),
                root: request.cwd,
                more: request.additional_directories,
                mcp: request.mcp_servers,
            })
            .await?;
        replay::replay(&live, &items).await;
        let offer = live.offer();
        Ok(LoadSessionResponse::new()
            .modes(offer.modes())
            .config_options(offer.options()))
    }

    async fn resume(self: &Arc<Self>, request: ResumeSessionRequest) -> Result<ResumeSessionResponse, Error> {
        let (live, _) = self
            .open(Wanted {
                which: Which::Named(request.session_id.0.to_string()),
                root: request.cwd,
                more: request.additional_directories,
                mcp: request.mcp_servers,
            })
            .await?;
        let offer = live.offer();
        Ok(ResumeSessionResponse::new()
            .modes(offer.modes())
            .config_options(offer.options()))
    }

    async fn open(self: &Arc<Self>, wanted: Wanted) -> Result<(Arc<Live>, Vec<Arc<Item>>), Error> {
        for folder in std::iter::once(&wanted.root).chain(&wanted.more) {
            absolute(folder)?;
        }
        if let Which::Named(name) = &wanted.which
            && let Ok(session) = id(name)
        {
            // Loading again what is open begins anew: the editor has forgotten it.
            drop(self.close(session).await);
        }
        let client = self.client().clone();
        let can_show = client.fs.read_text_file || client.fs.write_text_file;
        let buffers = can_show.then(|| {
            Arc::new(Buffers {
                peer: self.peer.clone(),
                can: client.fs.clone(),
                session: OnceLock::new(),
                wire: self.wire.clone(),
            })
        });
        let terminals = client.terminal.then(|| {
            Arc::new(Terminals {
                peer: self.peer.clone(),
                session: OnceLock::new(),
            })
        });
        let opening = Opening {
            which: wanted.which,
            root: wanted.root,
            more: wanted.more,
            mcp: wanted.mcp,
            buffers: buffers.clone().map(|it| it as Arc<dyn workspace::Buffers>),
            terminals: terminals.clone().map(|it| it as Arc<dyn tool::Terminals>),
        };
        let opened = self.house.open(opening).await.map_err(wrong)?;
        let name = opened.id.to_string();
        // They are new: nobody else has named the session.
        drop(buffers.map(|buffers| buffers.session.set(name.clone())));
        drop(terminals.map(|terminals| terminals.session.set(name)));
        Ok(self.introduce(opened, client))
    }

    /// Takes a session in and shows it from now on.
    fn introduce(self: &Arc<Self>, opened: Opened, client: ClientCapabilities) -> (Arc<Live>, Vec<Arc<Item>>) {
        let Opened {
            id,
            root,
            commands,
            events,
            items,
            modes,
            models,
            levels,
            told,
        } = opened;
        let live = Arc::new(Live::new(Birth {
            id,
            root,
            peer: self.peer.clone(),
            house: Arc::clone(&self.house),
            client,
            commands,
            offer: Offer { modes, models, levels },
        }));
        let (begin, known) = oneshot::channel();
        let shown = tokio::spawn({
            let live = Arc::clone(&live);
            async move {
                // One that is closed before is shown, too: somebody has to hear its end.
                drop(known.await);
                for text in told {
                    live.notice(Level::Warning, text).await;
                }
                live.tell_commands().await;
                show::show(live, events).await;
            }
        });
        let entry = Entry {
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
            Some(cursor) => cursor.parse().map_err(|_| refused("this cursor is none of ours"))?,
        };
        if let Some(root) = &request.cwd {
            absolute(root)?;
        }
        let all = self.house.list(request.cwd).await.map_err(wrong)?;
        let next = (all.len() > start + PAGE).then(|| (start + PAGE).to_string());
        let page = all.into_iter().skip(start).take(PAGE).map(|meta| {
            let updated = jiff::Timestamp::from_millisecond(i64::try_from(meta.updated.0).unwrap_or_default());
            SessionInfo::new(meta.id.to_string(), meta.root)
                .title(meta.title)
                .updated_at(updated.ok().map(|time| time.to_string()))
        });
        Ok(ListSessionsResponse::new(page.collect()).next_cursor(next))
    }

    /// Ends a session in good order: what runs is stopped, and all of it is kept.
    async fn close(&self, session: SessionId) -> Result<(), Error> {
        let entry = self.sessions().remove(&session);
        let Some(Entry { live, shown, begin }) = entry else {
            return Err(unknown(&session.to_string()));
        };
        drop(begin);
        live.cancel().await;
        live.command(Command::Close).await;
        // Its last events are still shown.
        drop(shown.await);
        self.house.close(session).await;
        Ok(())
    }

    /// The editor is gone.
    async fn end(&self) {
        let all: Vec<SessionId> = self.sessions().keys().copied().collect();
        let closing = all.into_iter().map(|session| self.close(session));
        drop(futures::future::join_all(closing).await);
    }

    /// Shows a session that the editor has just been told of.
    fn show(&self, name: Option<&str>) {
        let session = name.and_then(|name| name.parse().ok());
        let begin = session.and_then(|session: SessionId| self.sessions().get_mut(&session)?.begin.take());
        // One that is gone already needs not be shown.
        if let Some(begin) = begin {
            begin.send(()).ok();
        }
    }

    fn live(&self, name: &str) -> Result<Arc<Live>, Error> {
        let session = id(name)?;
        let open = self.sessions();
        let entry = open.get(&session).ok_or_else(|| unknown(name))?;
        Ok(Arc::clone(&entry.live))
    }

    fn client(&self) -> MutexGuard<'_, ClientCapabilities> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, Entry>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
    serde_json::from_value(params).map_err(|error| refused(error.to_string()))
}

fn answered(answer: impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(answer).map_err(Error::into_internal_error)
}

fn id(name: &str) -> Result<SessionId, Error> {
    name.parse().map_err(|_| unknown(name))
}

fn unknown(name: &str) -> Error {
    Error::resource_not_found(None).data(json!({"sessionId": name, "details": "no such session is open here"}))
}

fn absolute(folder: &Path) -> Result<(), Error> {
    match folder.is_absolute() {
        true => Ok(()),
        false => Err(refused(format!("`{}` is not an absolute path", folder.display()))),
    }
}

fn refused(why: impl Into<String>) -> Error {
    Error::invalid_params().data(Value::from(why.into()))
}

fn wrong(trouble: Trouble) -> Error {
    let text = trouble.to_string();
    let code = match trouble.kind {
        Kind::Login => -32000,
        Kind::Missing => -32002,
        Kind::Other => -32603,
    };
    // Editors show the message, and few of them the data.
    Error::new(code, text)
}
