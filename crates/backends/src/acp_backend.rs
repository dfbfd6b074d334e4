//! The back end of the ACP server: opens sessions for editors and provides data about them.

use crate::config::{Config, ConfigLayer, ConfigOrigin, LoadedConfig};
use crate::environment::ProcessEnv;
use crate::failure::{Failure, RecoveryAction, Result};
use crate::models::ModelRegistry;
use crate::tui_backend::version_text;
use crate::{print_warnings, project};
use ::mcp::{DefinitionError, McpDefinition, McpServers, McpTransport};
use acp::schema::McpServer;
use agent::{Approvals, Previews};
use futures::future::{BoxFuture, FutureExt as _};
use host::text::line;
use host::{
    ClientServices, RunningSession, SessionFlags, SessionProject, SessionRef, SessionRequest, SessionResources,
    mcp_servers, project_context,
};
use server::acp::{
    AcpError, AcpErrorKind, AcpFuture, AcpSessionTarget, AcpSessions, AcpSharing, ChangeContents, OpenSessionRequest,
    OpenedAcpSession, SelectOption, SelectState,
};
use session::{Change, Command, SessionId, SessionMeta, Store as _};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::SqliteStore;
use toml::Value;
use workspace::Workspace;

/// The maximum number of models that an editor is offered.
const MAX_MODELS: usize = 100;

/// The back end of the ACP server.
pub struct AcpBackend(Arc<AcpBackendState>);

struct AcpBackendState {
    env: ProcessEnv,
    flags: SessionFlags,
    store: Arc<SqliteStore>,
    open: Mutex<HashMap<SessionId, SessionResources>>,
}

impl AcpBackend {
    /// Creates the back end for all sessions of this process.
    pub fn new(flags: SessionFlags, env: ProcessEnv) -> Result<Self> {
        let store = host::sessions::open_store(&env)?;
        Ok(AcpBackend(Arc::new(AcpBackendState {
            env,
            flags,
            store,
            open: Mutex::default(),
        })))
    }
}

impl AcpBackendState {
    /// The flags of the command line, with additional directories.
    fn layers(&self, more: &[PathBuf]) -> Vec<ConfigLayer> {
        let mut layers = self.flags.layers.clone();
        if !more.is_empty() {
            let folders = more.iter().map(|folder| Value::String(folder.display().to_string()));
            let value = Value::Array(folders.collect());
            let origin = ConfigOrigin::Flag("additionalDirectories");
            layers.push(ConfigLayer::single(origin, &["roots".into()], value));
        }
        layers
    }

    fn load(&self, root: &Path) -> Result<LoadedConfig> {
        self.flags.load_config(root, &self.env)
    }

    async fn open(&self, opening: OpenSessionRequest) -> Result<OpenedAcpSession, AcpError> {
        let (session, directory) = match &opening.target {
            AcpSessionTarget::New => (SessionRef::New, Some(opening.root.as_path())),
            AcpSessionTarget::Named(name) => {
                let id: SessionId = name.parse().map_err(|_| missing(name))?;
                let all = self.store.list(None).await.map_err(|error| acp_error(error.into()))?;
                let meta = all
                    .into_iter()
                    .find(|meta| meta.id == id)
                    .ok_or_else(|| missing(name))?;
                (SessionRef::Existing(Box::new(meta)), None)
            }
        };
        let layers = self.layers(&opening.additional_roots);
        let project = SessionProject::load(session, directory, self.flags.model_origin, layers, &self.env);
        let project = project.map_err(acp_error)?;
        check_ready(&project.loaded.config, &self.env).await?;
        self.start(opening, project).await.map_err(acp_error)
    }

    async fn start(&self, opening: OpenSessionRequest, mut project: SessionProject) -> Result<OpenedAcpSession> {
        let is_new = matches!(project.session, SessionRef::New);
        let config_warnings = std::mem::take(&mut project.loaded.warnings);
        let running = host::open(SessionRequest {
            project,
            env: &self.env,
            store: Arc::clone(&self.store),
            approvals: Approvals::Ask,
            previews: Previews::Show,
            output_schema: None,
            files: &[],
            model_origin: self.flags.model_origin,
            prompt_change: Default::default(),
            client: ClientServices {
                mcp: opening.mcp.into_iter().map(definition).collect(),
                buffers: opening.buffers,
                terminals: opening.terminals,
            },
        })
        .await?;
        let RunningSession {
            commands,
            events,
            resources,
            warnings: mut notices,
            ..
        } = running;
        let (id, root) = (resources.id, resources.root.clone());
        let items = match is_new {
            true => Vec::new(),
            false => self.store.load(id).await?.items,
        };
        let all_modes = running.modes.iter().map(|mode| SelectOption {
            name: mode.name.clone(),
            description: line(mode.when_to_use.trim(), 200),
        });
        let modes = SelectState {
            current: running.mode,
            all: all_modes.collect(),
        };
        let models = self.models(&resources.config, &running.model);
        let levels = SelectState {
            current: running.permission.name().into(),
            all: server::acp::permission_levels(policy::AccessLevel::Full),
        };
        notices.extend(config_warnings);
        notices.extend(project::broad_project_warning(&root, running.permission, &self.env));
        self.sessions().insert(id, resources);
        Ok(OpenedAcpSession {
            id,
            root,
            commands,
            events,
            items,
            modes,
            models,
            levels,
            notices,
            sharing: AcpSharing::Exclusive,
        })
    }

    /// The models with keys, the current one first.
    fn models(&self, config: &Config, current: &str) -> SelectState {
        let models = ModelRegistry::new(config, &self.env);
        let mut names: Vec<String> = models
            .iter()
            .filter(|info| models.immediate_settings(info).is_ok())
            .map(model::Info::name)
            .collect();
        names.retain(|name| name != current);
        names.truncate(MAX_MODELS);
        names.insert(0, current.to_owned());
        let all = names.into_iter().map(|name| SelectOption {
            name,
            description: String::new(),
        });
        SelectState {
            current: current.to_owned(),
            all: all.collect(),
        }
    }

    fn commands(&self, session: SessionId) -> Result<Vec<SelectOption>> {
        let Some((root, servers)) = self.with_session(session, |open| (open.root.clone(), open.mcp_servers.clone()))
        else {
            return Ok(Vec::new());
        };
        let loaded = self.load(&root)?;
        let found = project_context::commands(&root, &loaded, &self.env)?.into_values();
        let own = found.map(|slash| SelectOption {
            description: line(&slash.description, 200),
            name: slash.name,
        });
        let prompts = servers.iter().flat_map(McpServers::prompts).map(|prompt| SelectOption {
            name: prompt.command(),
            description: line(
                prompt.description.as_deref().unwrap_or("a prompt of an MCP server"),
                200,
            ),
        });
        Ok(own.chain(prompts).collect())
    }

    fn with_session<T>(&self, session: SessionId, read: impl FnOnce(&SessionResources) -> T) -> Option<T> {
        self.sessions().get(&session).map(read)
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, SessionResources>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AcpSessions for AcpBackend {
    fn tool_kind(&self, tool: &str) -> tool::ToolKind {
        toolbox::facts(tool).map_or(tool::ToolKind::Other, |facts| facts.kind)
    }

    fn ready(&self) -> AcpFuture<()> {
        let backend = Arc::clone(&self.0);
        async move {
            let root = project::root(backend.flags.directory.as_deref(), &backend.env).map_err(acp_error)?;
            let loaded = backend.load(&root).map_err(acp_error)?;
            check_ready(&loaded.config, &backend.env).await
        }
        .boxed()
    }

    fn open(&self, opening: OpenSessionRequest) -> AcpFuture<OpenedAcpSession> {
        let backend = Arc::clone(&self.0);
        async move { backend.open(opening).await }.boxed()
    }

    fn close(&self, session: SessionId) -> BoxFuture<'static, ()> {
        let backend = Arc::clone(&self.0);
        async move {
            let session = backend.sessions().remove(&session);
            if let Some(session) = session {
                print_warnings(&session.close().await);
            }
        }
        .boxed()
    }

    fn list(&self, root: Option<PathBuf>) -> AcpFuture<Vec<SessionMeta>> {
        let backend = Arc::clone(&self.0);
        async move {
            let root = root.map(|root| root.canonicalize().unwrap_or(root));
            let mut all = backend
                .store
                .list(root)
                .await
                .map_err(|error| acp_error(error.into()))?;
            // A session without items has nothing to resume.
            all.retain(|meta| meta.parent.is_none() && meta.items > 0);
            Ok(all)
        }
        .boxed()
    }

    fn delete(&self, session: SessionId) -> AcpFuture<()> {
        let backend = Arc::clone(&self.0);
        async move {
            let deleted = backend.store.delete(session).await;
            deleted.map_err(|error| match error {
                session::Error::Unknown(name) => missing(&name),
                error => acp_error(error.into()),
            })
        }
        .boxed()
    }

    fn contents(&self, changes: Vec<Change>) -> AcpFuture<Vec<ChangeContents>> {
        let backend = Arc::clone(&self.0);
        async move {
            let mut contents = Vec::new();
            for Change { path, before, after } in changes {
                contents.push(ChangeContents {
                    path,
                    before: version_text(&backend.store, before).await,
                    after: version_text(&backend.store, after).await,
                });
            }
            Ok(contents)
        }
        .boxed()
    }

    fn text(&self, path: PathBuf) -> AcpFuture<String> {
        async move {
            let folder = path.parent().unwrap_or(&path);
            let location = Workspace::open(folder).and_then(|workspace| workspace.locate(&path));
            let text = location.and_then(|location| location.read_text());
            text.map(|text| text.content)
                .map_err(|error| acp_error(Failure::failed(error.to_string())))
        }
        .boxed()
    }

    fn commands(&self, session: SessionId) -> AcpFuture<Vec<SelectOption>> {
        let backend = Arc::clone(&self.0);
        async move { backend.commands(session).map_err(acp_error) }.boxed()
    }

    fn resolve_command(&self, session: SessionId, command: Command) -> AcpFuture<Command> {
        let servers = self.0.with_session(session, |open| open.mcp_servers.clone()).flatten();
        async move {
            mcp_servers::expand_prompt_command(servers.as_ref(), command)
                .await
                .map_err(acp_error)
        }
        .boxed()
    }

    fn window(&self, session: SessionId, model: &str) -> u64 {
        let found = self.0.with_session(session, |open| {
            let models = ModelRegistry::new(&open.config, &self.0.env);
            models.find(model).map(|info| info.limits.window).unwrap_or_default()
        });
        found.unwrap_or_default()
    }
}

/// Checks that the main model has a key.
pub(crate) async fn check_ready(config: &Config, env: &ProcessEnv) -> Result<(), AcpError> {
    let models = ModelRegistry::new(config, env);
    let login = |failure| AcpError {
        kind: AcpErrorKind::Login,
        ..acp_error(failure)
    };
    let main = models.main_model().await.map_err(|failure| match failure.recovery {
        RecoveryAction::Setup => login(failure),
        RecoveryAction::None => acp_error(failure),
    })?;
    models.settings(&main.info).await.map(drop).map_err(login)
}

/// Converts an MCP server of the editor.
fn definition(server: McpServer) -> McpDefinition {
    let pairs = |all: Vec<(String, String)>| all.into_iter().collect();
    let (name, transport) = match server {
        McpServer::Stdio(stdio) => (
            stdio.name,
            Ok(McpTransport::Stdio {
                command: stdio.command.display().to_string(),
                args: stdio.args,
                env: pairs(stdio.env.into_iter().map(|it| (it.name, it.value)).collect()),
                cwd: None,
            }),
        ),
        McpServer::Http(http) => (
            http.name,
            Ok(McpTransport::Http {
                url: http.url,
                headers: pairs(http.headers.into_iter().map(|it| (it.name, it.value)).collect()),
            }),
        ),
        McpServer::Sse(sse) => (
            sse.name,
            Ok(McpTransport::Sse {
                url: sse.url,
                headers: pairs(sse.headers.into_iter().map(|it| (it.name, it.value)).collect()),
            }),
        ),
        _ => (
            "unknown".into(),
            Err(DefinitionError::Structure("unsupported transport".into())),
        ),
    };
    let none = McpTransport::Http {
        url: String::new(),
        headers: std::collections::BTreeMap::new(),
    };
    McpDefinition {
        transport,
        origin: "the editor".into(),
        ..McpDefinition::new(name, none)
    }
}

fn acp_error(failure: Failure) -> AcpError {
    AcpError {
        what: failure.message,
        hint: failure.hint,
        kind: AcpErrorKind::Other,
    }
}

fn missing(name: &str) -> AcpError {
    let error = session::Error::Unknown(name.into());
    AcpError {
        what: error.to_string(),
        hint: Some(error.hint().into()),
        kind: AcpErrorKind::Missing,
    }
}
