//! The sessions of this server for an ACP client on the network: the same hubs that browsers use. The client can do no more than a
//! browser: it starts no MCP servers here, chooses no folders outside the projects, and raises no permission level.

use super::backend::{WebError, WebErrorKind};
use super::hub::SessionHub;
use super::registry::HubRegistry;
use crate::acp::{
    AcpError, AcpErrorKind, AcpFuture, AcpSessionTarget, AcpSessions, AcpSharing, ChangeContents, OpenSessionRequest,
    OpenedAcpSession, SelectOption, SelectState, permission_levels,
};
use acp::schema::McpServer;
use futures::future::{BoxFuture, FutureExt as _};
use session::{Change, Command, Event, Item, ItemId, NoticeLevel, SessionId, SessionMeta};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;

/// The capacity of the channels between the client and the session.
const CHANNEL: usize = 256;
/// How often opening is retried if the session is rewound meanwhile.
const ATTEMPTS: usize = 8;

/// The sessions of an ACP client.
pub(super) struct NetworkAcpSessions(Arc<NetworkAcpState>);

struct NetworkAcpState {
    registry: Arc<HubRegistry>,
    /// The sessions that the client has open, with their projects.
    open: Mutex<HashMap<SessionId, (PathBuf, Arc<SessionHub>)>>,
}

impl NetworkAcpSessions {
    pub(super) fn new(registry: Arc<HubRegistry>) -> Self {
        NetworkAcpSessions(Arc::new(NetworkAcpState {
            registry,
            open: Mutex::default(),
        }))
    }
}

impl NetworkAcpState {
    async fn open(&self, opening: OpenSessionRequest) -> Result<OpenedAcpSession, WebError> {
        let notices = ignored(&opening);
        let hub = match opening.target {
            AcpSessionTarget::New => {
                let root = opening.root.display().to_string();
                self.registry.create(Some(root)).await?
            }
            AcpSessionTarget::Named(name) => {
                let session: SessionId = name.parse().map_err(|_| missing(&name))?;
                self.registry.open(session).await?
            }
        };
        let (root, items, from_hub) = self.attach(&hub).await?;
        let settings = hub.settings();
        let modes = hub.services.modes().await?.into_iter().map(|mode| SelectOption {
            name: mode.name,
            description: mode.description,
        });
        let models = hub.services.models().await?.into_iter();
        let mut models: Vec<SelectOption> = models
            .filter(|model| model.unavailable.is_none() && model.name != settings.model)
            .map(|model| select_option(model.name))
            .collect();
        models.insert(0, select_option(settings.model.clone()));
        let (to_client, events) = mpsc::channel(CHANNEL);
        let (commands, from_client) = mpsc::channel(CHANNEL);
        drop(tokio::spawn(relay(Arc::clone(&hub), from_client, from_hub, to_client)));
        self.sessions().insert(hub.id, (root.clone(), Arc::clone(&hub)));
        Ok(OpenedAcpSession {
            id: hub.id,
            root,
            commands,
            events,
            items,
            modes: SelectState {
                current: settings.mode,
                all: modes.collect(),
            },
            models: SelectState {
                current: settings.model,
                all: models,
            },
            levels: SelectState {
                current: settings.permission,
                all: permission_levels(hub.max_level()),
            },
            notices,
            sharing: AcpSharing::Shared,
        })
    }

    /// The project, the items and the events after them.
    async fn attach(&self, hub: &SessionHub) -> Result<(PathBuf, Vec<Arc<Item>>, mpsc::Receiver<Event>), WebError> {
        for _ in 0..ATTEMPTS {
            let (head, events) = hub.attach();
            let loaded = self.registry.backend.load(hub.id).await?;
            if let Some(count) = count_up_to(&loaded.items, head) {
                let items = loaded.items.into_iter().take(count).collect();
                return Ok((loaded.meta.root, items, events));
            }
        }
        Err(WebError::new(WebErrorKind::Failed, "the session changes too quickly"))
    }

    fn hub(&self, session: SessionId) -> Option<Arc<SessionHub>> {
        self.sessions().get(&session).map(|(_, hub)| Arc::clone(hub))
    }

    /// The hub with a file in its project.
    fn hub_of(&self, path: &Path) -> Option<Arc<SessionHub>> {
        let sessions = self.sessions();
        let mut all = sessions.values();
        all.find(|(root, _)| path.starts_with(root))
            .map(|(_, hub)| Arc::clone(hub))
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, (PathBuf, Arc<SessionHub>)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The number of items up to one; `None` if it is not among them.
fn count_up_to(items: &[Arc<Item>], head: Option<ItemId>) -> Option<usize> {
    match head {
        None => Some(0),
        Some(head) => items.iter().position(|item| item.id == head).map(|at| at + 1),
    }
}

/// Forwards commands to the session, and its events to the client, until the client closes it or one of them is gone.
async fn relay(
    hub: Arc<SessionHub>,
    mut commands: mpsc::Receiver<Command>,
    mut from_hub: mpsc::Receiver<Event>,
    to_client: mpsc::Sender<Event>,
) {
    let (_client, _latest) = hub.subscribe();
    let (failed, mut failures) = mpsc::channel(CHANNEL);
    let forward = async {
        while let Some(command) = commands.recv().await {
            if matches!(command, Command::Close | Command::Finish) {
                return;
            }
            if let Err(error) = send(&hub, command).await {
                let text = match error.hint {
                    Some(hint) => format!("{}; {hint}", error.message),
                    None => error.message,
                };
                let level = NoticeLevel::Warning;
                failed.send(Event::Notice { level, text }).await.unwrap_or_default();
            }
        }
    };
    let follow = async {
        loop {
            let event = tokio::select! {
                biased;
                Some(failure) = failures.recv() => Some(failure),
                event = from_hub.recv() => event,
            };
            let Some(event) = event else { return };
            if to_client.send(event).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = forward => {}
        () = follow => {}
    }
}

/// Sends a command with the checks of the HTTP API.
async fn send(hub: &SessionHub, command: Command) -> Result<(), WebError> {
    match command {
        Command::SetModel { name } => {
            let window = hub.services.context_window(name.clone()).await?;
            hub.set_model(name, window).await
        }
        Command::SetLevel { level } => hub.set_level(level).await,
        Command::Answer { question, answer } => answered_elsewhere(hub.answer(question, answer).await),
        Command::Subtask { session, command } => match *command {
            Command::Answer { question, answer } => answered_elsewhere(hub.answer(question, answer).await),
            command => {
                let command = Box::new(command);
                hub.send(Command::Subtask { session, command }).await
            }
        },
        command => hub.send(command).await,
    }
}

/// Another front end may have answered first.
fn answered_elsewhere(result: Result<(), WebError>) -> Result<(), WebError> {
    match result {
        Err(error) if error.kind == WebErrorKind::Busy => Ok(()),
        result => result,
    }
}

/// What the client asks for and does not get.
fn ignored(opening: &OpenSessionRequest) -> Vec<String> {
    let servers = opening.mcp.iter().map(|server| match server {
        McpServer::Stdio(server) => server.name.as_str(),
        McpServer::Http(server) => server.name.as_str(),
        McpServer::Sse(server) => server.name.as_str(),
        _ => "unknown",
    });
    let servers: Vec<&str> = servers.collect();
    let mut notices = Vec::new();
    if !servers.is_empty() {
        notices.push(format!(
            "MCP servers of a client on the network are not started ({}); add them to the configuration of the server",
            servers.join(", ")
        ));
    }
    if !opening.additional_roots.is_empty() {
        notices.push("additional directories of a client on the network are ignored".to_owned());
    }
    notices
}

impl AcpSessions for NetworkAcpSessions {
    fn ready(&self) -> AcpFuture<()> {
        let ready = self.0.registry.backend.ready();
        async move { ready.await.map_err(acp_error) }.boxed()
    }

    fn open(&self, opening: OpenSessionRequest) -> AcpFuture<OpenedAcpSession> {
        let state = Arc::clone(&self.0);
        async move { state.open(opening).await.map_err(acp_error) }.boxed()
    }

    /// The session stays open in the server.
    fn close(&self, session: SessionId) -> BoxFuture<'static, ()> {
        drop(self.0.sessions().remove(&session));
        futures::future::ready(()).boxed()
    }

    fn list(&self, root: Option<PathBuf>) -> AcpFuture<Vec<SessionMeta>> {
        let listed = self.0.registry.backend.list(root);
        async move {
            let mut all = listed.await.map_err(acp_error)?;
            // A session without items has nothing to resume.
            all.retain(|meta| meta.items > 0);
            Ok(all)
        }
        .boxed()
    }

    fn delete(&self, session: SessionId) -> AcpFuture<()> {
        let registry = Arc::clone(&self.0.registry);
        async move {
            registry.close(session).await;
            registry.backend.delete(session).await.map_err(acp_error)
        }
        .boxed()
    }

    fn contents(&self, changes: Vec<Change>) -> AcpFuture<Vec<ChangeContents>> {
        let texts = self.0.registry.backend.texts(changes);
        async move {
            let texts = texts.await.map_err(acp_error)?.into_iter();
            let contents = texts.map(|file| ChangeContents {
                path: file.path.into(),
                before: file.before,
                after: file.after,
            });
            Ok(contents.collect())
        }
        .boxed()
    }

    fn text(&self, path: PathBuf) -> AcpFuture<String> {
        let hub = self.0.hub_of(&path);
        async move {
            let hub = hub.ok_or_else(|| acp_error(WebError::invalid("the file is in no open project")))?;
            hub.services.read_file(path).await.map_err(acp_error)
        }
        .boxed()
    }

    fn commands(&self, session: SessionId) -> AcpFuture<Vec<SelectOption>> {
        let hub = self.0.hub(session);
        async move {
            let Some(hub) = hub else { return Ok(Vec::new()) };
            let commands = hub.services.commands().await.map_err(acp_error)?.into_iter();
            let option = commands.map(|command| SelectOption {
                name: command.name,
                description: command.description,
            });
            Ok(option.collect())
        }
        .boxed()
    }

    fn resolve_command(&self, session: SessionId, command: Command) -> AcpFuture<Command> {
        let hub = self.0.hub(session);
        async move {
            match hub {
                Some(hub) => hub.services.expand(command).await.map_err(acp_error),
                None => Ok(command),
            }
        }
        .boxed()
    }

    fn window(&self, session: SessionId, _model: &str) -> u64 {
        let hub = self.0.hub(session);
        hub.map(|hub| hub.settings().context_window).unwrap_or_default()
    }

    fn tool_kind(&self, tool: &str) -> tool::ToolKind {
        self.0.registry.backend.tool_kind(tool)
    }
}

fn select_option(name: String) -> SelectOption {
    SelectOption {
        name,
        description: String::new(),
    }
}

fn missing(name: &str) -> WebError {
    WebError::new(WebErrorKind::NotFound, format!("there is no session `{name}`"))
}

fn acp_error(error: WebError) -> AcpError {
    AcpError {
        what: error.message,
        hint: error.hint,
        kind: match error.kind {
            WebErrorKind::NotFound => AcpErrorKind::Missing,
            _ => AcpErrorKind::Other,
        },
    }
}
