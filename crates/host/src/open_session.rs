//! Opens a session: connects models, loads tools, permissions and servers, and starts the agent.

mod servers;
mod tools;

use crate::config::{
    self, AutonomyConfig, CheckpointsConfig, Config, ConfigLayer, DelegationConfig, LimitsConfig, LoadedConfig,
    PermissionLevel,
};
use crate::edit_formats::EditFormats;
use crate::environment::ProcessEnv;
use crate::failure::{Failure, Result};
use crate::grants::GrantFile;
use crate::models::{ModelRegistry, connect_models, default_effort, model_source};
use crate::open_session::servers::SessionServers;
use crate::open_session::tools::SessionTools;
pub(crate) use crate::open_session::tools::{active_profile, offered_tools};
use crate::project_context::{choose_mode, load_modes, open_workspace, project_context};
use crate::redaction::Redactor;
use crate::sessions::{existing_root, prune_checkpoints};
use crate::survival::SurvivalTask;
use crate::system_prompt::PromptChange;
use crate::text::now;
use crate::{acp_agents, log, mcp_servers, panels, permissions, project, roots, survival, system_prompt, telemetry};
use ::telemetry::{ObservedStore, Telemetry};
use agent::{
    Approvals, AutoCompaction, CompactionSettings, Previews, SessionConfig, SessionHandle, SessionSetup, TitleRequests,
};
use model::{Model, OutputSchema};
use policy::{ModeSet, Permissions, Policy};
use prompt::RequestOptions;
use session::{Command, Event, Item, Lease, LoadedSession, NewSession, SessionId, SessionMeta, Store as _, Totals};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use store::SqliteStore;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinHandle};
use tool::NotificationSender;
use toolbox::{BackgroundJobs, JobRegistry};
use workspace::checkpoint::BlobDir;
use workspace::{EditorBuffers, Workspace};

/// The delay before the first retry of a failed request.
const BACKOFF: Duration = Duration::from_secs(2);

/// The session to open.
#[derive(Debug, Clone)]
pub enum SessionRef {
    /// A new session.
    New,
    /// A stored session.
    Existing(Box<SessionMeta>),
}

/// How a model was chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ModelOrigin {
    /// For this run: modes do not change it.
    Requested,
    /// By the configuration: modes may have their own.
    #[default]
    Configured,
}

/// The project and the configuration of a session.
pub struct SessionProject {
    /// The session.
    pub session: SessionRef,
    /// The canonical path of the project directory.
    pub root: PathBuf,
    /// The configuration.
    pub loaded: LoadedConfig,
}

impl SessionProject {
    /// Loads the configuration for a session. A stored session keeps its project, unless a directory is given, and its
    /// model, unless one was requested.
    pub fn load(
        session: SessionRef,
        directory: Option<&Path>,
        model: ModelOrigin,
        flags: Vec<ConfigLayer>,
        env: &ProcessEnv,
    ) -> Result<Self> {
        let root = match (&session, directory) {
            (SessionRef::Existing(meta), None) => existing_root(&meta.root)?,
            (SessionRef::New | SessionRef::Existing(_), directory) => project::root(directory, env)?,
        };
        let mut loaded = config::load(Some(&root), env, flags)?;
        if let (SessionRef::Existing(meta), ModelOrigin::Configured) = (&session, model) {
            loaded.set_model(meta.model.clone());
        }
        Ok(SessionProject { session, root, loaded })
    }
}

/// Parameters for opening a session.
pub struct SessionRequest<'a> {
    /// The session, its project and its configuration.
    pub project: SessionProject,
    /// The environment.
    pub env: &'a ProcessEnv,
    /// The session database.
    pub store: Arc<SqliteStore>,
    /// Whether approvals can be requested.
    pub approvals: Approvals,
    /// Whether changes are shown while they are written.
    pub previews: Previews,
    /// The JSON schema of the answer.
    pub output_schema: Option<OutputSchema>,
    /// The only files that may be changed, if there is such a restriction.
    pub files: &'a [PathBuf],
    /// How the model was chosen.
    pub model_origin: ModelOrigin,
    /// Services of the client, such as an editor.
    pub client: ClientServices,
    /// A change to the system prompt.
    pub prompt_change: PromptChange,
}

/// Services that the client provides to a session.
#[derive(Clone, Default)]
pub struct ClientServices {
    /// Its MCP servers.
    pub mcp: Vec<mcp::McpDefinition>,
    /// Its unsaved buffers.
    pub buffers: Option<Arc<dyn EditorBuffers>>,
    /// Its terminals.
    pub terminals: Option<Arc<dyn tool::ClientTerminals>>,
}

/// A session that runs.
pub struct RunningSession {
    /// Receives commands.
    pub commands: mpsc::Sender<Command>,
    /// Sends events.
    pub events: mpsc::Receiver<Event>,
    /// The model, as `provider/id`.
    pub model: String,
    /// The mode.
    pub mode: String,
    /// All modes.
    pub modes: ModeSet,
    /// The permission level: actions that need no approval.
    pub permission: PermissionLevel,
    /// Its previous usage and cost.
    pub totals: Totals,
    /// Whether the last turn is finished.
    pub complete: bool,
    /// Problems with the configuration, rules, modes and servers.
    pub warnings: Vec<String>,
    /// The rules files in the system prompt.
    pub rules: Vec<PathBuf>,
    /// Its resources.
    pub resources: SessionResources,
}

/// The resources of a running session. They are kept until it is closed.
pub struct SessionResources {
    /// Its id.
    pub id: SessionId,
    /// The project directory.
    pub root: PathBuf,
    /// The configuration.
    pub config: Config,
    /// Its commands in the background.
    pub background: BackgroundJobs,
    /// The MCP servers, if any are defined.
    pub mcp_servers: Option<mcp::McpServers>,
    /// The language servers, if the project is trusted.
    pub language_servers: Option<lsp::LanguageServers>,
    /// The grants of the session.
    pub grants: agent::SessionGrants,
    /// The open panels.
    pub panels: toolbox::OpenPanels,
    /// The files that the model has read.
    pub reads: toolbox::ReadTracker,
    task: Option<JoinHandle<()>>,
    lease: Lease,
    edit_formats: Option<EditFormats>,
    blobs: BlobDir,
    store: Arc<SqliteStore>,
    telemetry: Option<Arc<Telemetry>>,
    survival: SurvivalTask,
}

impl SessionResources {
    /// The session database.
    pub fn store(&self) -> &Arc<SqliteStore> {
        &self.store
    }

    /// Waits for the end of the session.
    pub async fn wait(&mut self) -> std::result::Result<(), JoinError> {
        match self.task.take() {
            Some(task) => task.await,
            None => Ok(()),
        }
    }

    /// Waits for the end of the session, releases it, and saves what it learned. Returns warnings.
    pub async fn close(mut self) -> Vec<String> {
        // The log of a session that panicked is complete.
        drop(self.wait().await);
        drop((self.lease, self.language_servers, self.survival));
        let exported = match &self.telemetry {
            Some(telemetry) => telemetry.close().await,
            None => None,
        };
        let saved = self.edit_formats.map_or(Ok(()), |formats| formats.save());
        let pruned = prune_checkpoints(&self.store, &self.blobs).await;
        [saved, pruned]
            .into_iter()
            .filter_map(|result| result.err().map(|failure| failure.message))
            .chain(exported)
            .collect()
    }
}

/// Opens a session.
pub async fn open(request: SessionRequest<'_>) -> Result<RunningSession> {
    let SessionRequest {
        project: SessionProject { session, root, loaded },
        env,
        store,
        client,
        ..
    } = &request;
    let (config, trust) = (&loaded.config, loaded.trust);
    // If it is not supported, the sandbox still hides keys from commands.
    drop(sandbox::harden());
    let models = connect_models(&ModelRegistry::new(config, env), config).await?;
    let name = models.main.info().name();
    let stored = open_stored(store, session, root, &name, checkpoint_limits(&config.checkpoints)).await?;
    let catalog = load_modes(root, trust, env);
    let initial = choose_mode(&request, &catalog, &stored.items)?;
    let (mut permissions, mut warnings) = load_permissions(&request, &stored)?;
    warnings.extend(models.notice.clone().into_iter().chain(initial.warning));
    warnings.extend(catalog.problems);
    let workspace = with_buffers(open_workspace(root, &permissions)?, client);
    let (jobs, notices) = (JobRegistry::default(), NotificationSender::channel());
    let background = BackgroundJobs::from(jobs.view());
    let context = project_context(config, trust, &workspace, jobs.view(), env);
    warnings.extend(context.sources().shadowed_rules());
    let rules = context.initial_rules().into_iter().map(|rules| rules.path).collect();
    let (servers, problems) =
        SessionServers::start(&request, &workspace, &permissions, &models.main, notices.0.clone()).await?;
    warnings.extend(problems);
    Arc::make_mut(&mut permissions.rules).extend(mcp_servers::always_allow_rules(Some(&servers.mcp)));
    let system_prompt = system_prompt::renderer(
        &context,
        &workspace,
        &initial.modes,
        mcp_servers::names(Some(&servers.mcp)),
        trust,
        env,
        request.prompt_change.clone(),
    );
    let edit_formats = models.edit.as_ref().map(|_| EditFormats::load(env)).transpose()?;
    warnings.extend(edit_formats.as_ref().and_then(|formats| formats.warning.clone()));
    let telemetry = telemetry::start(config, env)?;
    let redactor = Redactor::of_config(config, env);
    let tools = SessionTools {
        request: &request,
        stored: &stored,
        models: &models,
        model_name: &name,
        servers: &servers,
        workspace: &workspace,
        mode: &initial.mode,
        modes: &initial.modes,
        edit_formats: edit_formats.as_ref(),
        redactor: &redactor,
        panels: toolbox::OpenPanels::default(),
        reads: toolbox::ReadTracker::default(),
    };
    let registry = tools.registry(jobs).await?;
    let (panels, reads) = (tools.panels.clone(), tools.reads.clone());
    warnings.extend(panels::open_initial(&panels, config.panels.as_deref()));
    let policy = Policy {
        level: config.permission.into(),
        permissions,
    };
    panels::reopen(&panels, &stored.items, &policy, &initial.mode);
    let complete = is_complete(&stored.items) && stored.queued.is_empty();
    mcp_servers::watch(
        &servers.mcp,
        servers::mcp_context(&request, servers.confinement.as_ref()),
    );
    let (mcp_servers, language_servers) = (servers.mcp.clone(), servers.language.clone());
    let default_effort = default_effort(models.main.info());
    let session_config = SessionConfig {
        root: root.clone(),
        small_model: models.small,
        title_requests: match config.title {
            true => TitleRequests::On,
            false => TitleRequests::Off,
        },
        models: model_source(config.clone(), (*env).clone()),
        tools: registry,
        modes: initial.modes.clone(),
        hooks: servers.hooks(&request),
        approvals: request.approvals,
        store: match &telemetry {
            Some(telemetry) => Arc::new(ObservedStore::new(Arc::clone(store), Arc::clone(telemetry))),
            None => Arc::clone(store) as _,
        },
        system_prompt,
        project_context: context,
        context_source: Arc::new(toolbox::ToolContextSource(workspace)),
        limits: limits(&config.limits),
        compaction: compaction(config, models.summary),
        panels: Arc::new(panels.clone()),
        request_options: request_options(config, default_effort, request.output_schema.clone()),
        previews: request.previews,
        backoff: BACKOFF,
        clock: now,
        subtask_limits: subtask_limits(&config.delegation),
        external_agents: servers
            .agents
            .map(|agents| Arc::new(acp_agents::AgentDirectory(agents)) as Arc<dyn agent::ExternalAgents>),
    };
    let SessionHandle {
        commands,
        events,
        task,
        grants,
    } = agent::start(SessionSetup {
        session: stored.id,
        items: stored.items,
        totals: stored.totals,
        queued_prompts: stored.queued,
        title: stored.title,
        model: models.main,
        policy,
        mode: initial.mode.clone(),
        grant_store: Some(Arc::new(GrantFile::open(root, env)?)),
        autonomy: autonomy(&config.autonomy),
        notifications: notices,
        config: session_config,
    });
    Ok(RunningSession {
        commands,
        events: log::log_events(&stored.id.to_string(), events),
        model: name,
        mode: initial.mode.name,
        modes: initial.modes,
        permission: config.permission,
        totals: stored.totals,
        complete,
        warnings: warnings.iter().map(|warning| redactor.redact(warning)).collect(),
        rules,
        resources: SessionResources {
            id: stored.id,
            root: root.clone(),
            config: config.clone(),
            background,
            mcp_servers: Some(mcp_servers),
            language_servers,
            grants,
            panels,
            reads,
            task: Some(task),
            lease: stored.lease,
            edit_formats,
            blobs: blobs(&request),
            survival: survival::track(store, telemetry.clone()),
            telemetry,
            store: Arc::clone(store),
        },
    })
}

/// The stored versions of files.
fn blobs(request: &SessionRequest<'_>) -> BlobDir {
    let limits = checkpoint_limits(&request.project.loaded.config.checkpoints);
    request.store.files().with_limits(limits)
}

/// The permissions in all directories of the project. Stores the additional directories.
fn load_permissions(request: &SessionRequest<'_>, stored: &StoredSession) -> Result<(Permissions, Vec<String>)> {
    let SessionProject { root, loaded, .. } = &request.project;
    let (layers, missing) = roots::with_stored(&loaded.layers, &stored.roots);
    let (mut permissions, mut warnings) = permissions::load(&layers, loaded.trust, root, request.env);
    if loaded.config.limits.steps.is_none() {
        // One more request for the answer after the last step.
        permissions
            .approval
            .max_requests
            .get_or_insert(config::DEFAULT_STEPS + 1);
    }
    warnings.extend(missing);
    let (more_roots, problems) = roots::find(root, &layers, request.env);
    if let Some(problem) = problems.into_iter().next() {
        return Err(Failure::usage(problem).hint("check --add-dir, and `roots` in your configuration"));
    }
    if more_roots != stored.roots {
        drop(request.store.set_roots(stored.id, more_roots));
    }
    Ok((permissions, warnings))
}

fn with_buffers(workspace: Workspace, client: &ClientServices) -> Workspace {
    match &client.buffers {
        Some(buffers) => workspace.with_editor(Arc::clone(buffers)),
        None => workspace,
    }
}

/// The stored state of a session.
struct StoredSession {
    id: SessionId,
    items: Vec<Arc<Item>>,
    totals: Totals,
    title: Option<String>,
    queued: Vec<session::QueuedPrompt>,
    roots: Vec<PathBuf>,
    lease: Lease,
}

/// Creates or loads a session and takes its lease.
async fn open_stored(
    store: &SqliteStore,
    session: &SessionRef,
    root: &Path,
    model: &str,
    limits: workspace::checkpoint::BlobLimits,
) -> Result<StoredSession> {
    match session {
        SessionRef::New => {
            let id = SessionId::new();
            let new = NewSession {
                id,
                root: root.into(),
                model: model.into(),
                at: now(),
                parent: None,
            };
            Ok(StoredSession {
                id,
                items: Vec::new(),
                totals: Totals::default(),
                title: None,
                queued: Vec::new(),
                roots: Vec::new(),
                lease: store.create(new).await?,
            })
        }
        SessionRef::Existing(meta) => {
            let session::OpenSession { mut loaded, lease } = store.open(meta.id).await?;
            if review::record_interrupted_command(store, meta.id, root, limits).await? {
                loaded = store.load(meta.id).await?;
            }
            let LoadedSession {
                meta,
                items,
                queued,
                roots,
            } = loaded;
            Ok(StoredSession {
                id: meta.id,
                items,
                totals: meta.totals,
                title: meta.title,
                queued,
                roots,
                lease,
            })
        }
    }
}

/// Whether the last turn of these items is finished.
pub fn is_complete(items: &[Arc<Item>]) -> bool {
    let last = items.iter().rev().find(|item| item.kind().is_exchange());
    last.is_none_or(|item| item.is_final_reply())
}

/// The limits of stored versions of files.
pub fn checkpoint_limits(config: &CheckpointsConfig) -> workspace::checkpoint::BlobLimits {
    workspace::checkpoint::BlobLimits {
        quota: config.quota.0,
        max_file: config.max_file.0,
    }
}

fn compaction(config: &Config, model: Option<Arc<dyn Model>>) -> CompactionSettings {
    CompactionSettings {
        automatic: match config.compact {
            false => AutoCompaction::Off,
            true => AutoCompaction::On,
        },
        threshold: config.max_context.map(u64::from),
        model,
        ..CompactionSettings::default()
    }
}

fn request_options(
    config: &Config,
    default_effort: Option<model::Effort>,
    output_schema: Option<OutputSchema>,
) -> RequestOptions {
    RequestOptions {
        effort: config.effort.map(Into::into).or(default_effort),
        temperature: config.temperature,
        max_output: config.max_output.map(Into::into),
        output_schema,
        options: serde_json::Map::new(),
    }
}

fn limits(limits: &LimitsConfig) -> agent::TurnLimits {
    agent::TurnLimits {
        steps: limits.steps.map(Into::into),
        cost: limits.cost.map(model::Cost::from_usd),
        time: limits.time.map(|time| time.0),
    }
}

fn subtask_limits(config: &DelegationConfig) -> agent::SubtaskLimits {
    agent::SubtaskLimits {
        depth: config.depth,
        parallel: config.parallel.get() as usize,
    }
}

fn autonomy(config: &AutonomyConfig) -> agent::AutonomySettings {
    agent::AutonomySettings {
        allowed: config.enabled,
        output_tokens: config.output_tokens.map(|tokens| tokens.get().into()),
        cost: config.cost.map(model::Cost::from_usd),
        time: config.time.map(|time| time.0),
        messages: Some(config.messages.into()),
        retries: config.retries,
        todos: config.todos,
    }
}
