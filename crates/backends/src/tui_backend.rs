//! The back end of the terminal front end: opens sessions and provides data about the project.

mod backend_context;
mod choices;
mod files;
mod highlighter;
mod notification;
mod open_sessions;
mod programs;
mod prompt_history;
mod servers;
mod sessions;
mod settings;
mod setup;
mod sharing;
mod themes;

pub use highlighter::Highlighter;
pub use programs::open_editor;
pub use sessions::unfinished_session;
pub use themes::chosen;

use crate::config::{Config, EffortName, LoadedConfig, PermissionLevel};
use crate::environment::ProcessEnv;
use crate::failure::{Failure, FailureKind, Result};
use crate::models::ModelRegistry;
use crate::{print_warnings, project};
use agent::{Approvals, Previews};
use backend_context::{BackendContext, blocking, boxed, user_error};
use futures::future::{BoxFuture, FutureExt as _};
use host::sessions::{find, resume_command};
use host::{
    ClientServices, RunningSession, SessionFlags, SessionProject, SessionRef, SessionRequest, SessionResources,
};
use model::Media;
use open_sessions::OpenSessions;
use policy::ApprovalMode;
use session::{BlobId, Change, Command, FileVersion, Item, RequestRecord, SessionId, SessionMeta, Store as _};
use sharing::SessionSharing;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use store::SqliteStore;
use toolbox::BackgroundJobs;
use tui::{
    BackendFuture, ClipboardContent, CodeMatch, ConflictChoice, DesktopBackend, FileRestoreResult, FileVersions,
    GoalCheck, HunkDecision, JobRow, KeyStorage, ModelBackend, OpenedSession, OperationResult, PanelRow, PermissionRow,
    PickerItem, ProcessBackend, ProjectBackend, PromptBackend, ProviderRow, RestoreRequest, ReviewBackend,
    ReviewableFile, RulesFileRow, ServerRow, SessionBackend, SessionInfo, SessionTarget, SettingRow, SettingsBackend,
    SignInPrompt, SyntaxToken, ThemeSpec, UsableModel, UserError,
};
use workspace::Workspace;

/// The maximum size of displayed files.
const MAX_SHOWN_BYTES: usize = 2 << 20;

/// The back end of the terminal front end. Clones share the session.
#[derive(Clone)]
pub struct TuiBackend {
    here: BackendContext,
    /// The open sessions.
    open: Arc<Mutex<OpenSessions>>,
    store: Arc<Mutex<Option<Arc<SqliteStore>>>>,
    /// Why the last session could not be opened.
    failed: Arc<Mutex<Option<Failure>>>,
    /// Whether sessions are shared with other processes.
    sharing: SessionSharing,
    /// The session that this back end is about; by default the one that is shown.
    only: Option<SessionId>,
}

impl TuiBackend {
    /// Creates the back end for a project.
    pub fn new(root: PathBuf, flags: SessionFlags, env: ProcessEnv) -> Self {
        TuiBackend {
            here: BackendContext::new(root, flags, env),
            open: Arc::default(),
            store: Arc::default(),
            failed: Arc::default(),
            sharing: SessionSharing::On,
            only: None,
        }
    }

    /// Why the last session could not be opened.
    pub fn open_failure(&self) -> Option<Failure> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The open session and its database.
    fn current(&self) -> Result<(Arc<SqliteStore>, SessionId)> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        match open.selected(self.only) {
            Some(session) => Ok((self.store()?, session.id)),
            None => Err(Failure::failed("no session is open")),
        }
    }

    /// The background commands of the open session.
    fn background(&self) -> Option<BackgroundJobs> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.selected(self.only).map(|session| session.background.clone())
    }

    /// The MCP servers of the open session.
    fn mcp_servers(&self) -> Option<::mcp::McpServers> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.selected(self.only).and_then(|session| session.mcp_servers.clone())
    }

    /// The database; it is opened on first use.
    fn store(&self) -> Result<Arc<SqliteStore>> {
        open_store_once(&self.store, &self.here.env)
    }
}

fn open_store_once(slot: &Mutex<Option<Arc<SqliteStore>>>, env: &ProcessEnv) -> Result<Arc<SqliteStore>> {
    let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(store) = &*slot {
        return Ok(Arc::clone(store));
    }
    let store = host::sessions::open_store(env)?;
    *slot = Some(Arc::clone(&store));
    Ok(store)
}

impl SessionBackend for TuiBackend {
    fn open(&self, which: SessionTarget) -> BackendFuture<OpenedSession> {
        let BackendContext { env, flags, root, .. } = self.here.clone();
        let (open, slot) = (Arc::clone(&self.open), Arc::clone(&self.store));
        let failed = Arc::clone(&self.failed);
        let running = open.lock().unwrap_or_else(PoisonError::into_inner).ids();
        let shared = (self.sharing == SessionSharing::On).then(|| self.clone());
        async move {
            let opened = match open_store_once(&slot, &env) {
                Ok(store) => open_session(which, (root, &running), store, &flags, &env).await,
                Err(failure) => Err(failure),
            };
            match opened {
                Ok((opened, resources)) => {
                    open.lock().unwrap_or_else(PoisonError::into_inner).add(resources);
                    Ok(match shared {
                        Some(backend) => backend.share(opened),
                        None => opened,
                    })
                }
                Err(failure) => {
                    *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure.clone());
                    Err(user_error(failure))
                }
            }
        }
        .boxed()
    }

    fn activate(&self, session: SessionId) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).active = Some(session);
    }

    fn close(&self, session: SessionId) -> BoxFuture<'static, ()> {
        let session = self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(session);
        async move {
            if let Some(session) = session {
                print_warnings(&session.close().await);
            }
        }
        .boxed()
    }

    fn expand_prompt(&self, command: Command) -> BackendFuture<Command> {
        let servers = self.mcp_servers();
        boxed(async move { host::mcp_servers::expand_prompt_command(servers.as_ref(), command).await }.boxed())
    }

    fn sessions(&self) -> BackendFuture<Vec<SessionMeta>> {
        let (store, root) = (self.store(), self.here.root.clone());
        boxed(async move { sessions::list(store?.as_ref(), Some(root)).await }.boxed())
    }

    fn all_sessions(&self) -> BackendFuture<Vec<SessionMeta>> {
        let store = self.store();
        boxed(async move { sessions::list(store?.as_ref(), None).await }.boxed())
    }

    fn session_items(&self, session: SessionId) -> BackendFuture<Vec<Arc<Item>>> {
        let store = self.store();
        boxed(async move { Ok(store?.load(session).await?.items) }.boxed())
    }

    fn request_records(&self) -> BackendFuture<Vec<RequestRecord>> {
        let current = self.current();
        boxed(
            async move {
                let (store, session) = current?;
                Ok(store.request_records(session).await?)
            }
            .boxed(),
        )
    }

    fn rename_session(&self, session: SessionId, title: String) -> BackendFuture<String> {
        let store = self.store();
        boxed(
            async move {
                store?.set_title(session, title.clone()).await?;
                Ok(format!("renamed to “{title}”"))
            }
            .boxed(),
        )
    }
}

impl ProjectBackend for TuiBackend {
    fn highlight(&self, language: &str, text: &str) -> Option<Vec<(Range<usize>, SyntaxToken)>> {
        highlight(language, text)
    }

    fn read_file(&self, path: PathBuf) -> BackendFuture<String> {
        let root = self.here.root.clone();
        async move {
            let location = Workspace::open(&root).and_then(|workspace| workspace.locate(&path));
            let text = location.and_then(|location| location.read_text());
            text.map(|text| text.content)
                .map_err(|error| UserError::new(error.to_string()))
        }
        .boxed()
    }

    fn file_versions(&self, changes: Vec<Change>) -> BackendFuture<Vec<FileVersions>> {
        let store = self.store();
        async move {
            let store = store.map_err(user_error)?;
            let mut contents = Vec::new();
            for Change { path, before, after } in changes {
                contents.push(FileVersions {
                    path,
                    before: version_text(&store, before).await,
                    after: version_text(&store, after).await,
                });
            }
            Ok(contents)
        }
        .boxed()
    }

    fn git_branch(&self) -> BackendFuture<Option<String>> {
        let root = self.here.root.clone();
        async move {
            let git = Workspace::open(&root).ok().and_then(|workspace| workspace.git());
            Ok(git.and_then(|git| match git.head {
                workspace::GitHead::Branch(name) => Some(name),
                workspace::GitHead::Detached(id) => Some(id.chars().take(8).collect()),
                workspace::GitHead::Unknown => None,
            }))
        }
        .boxed()
    }

    fn files(&self) -> BackendFuture<Arc<Vec<String>>> {
        let here = self.here.clone();
        blocking(move || files::files(&here))
    }

    fn symbols(&self) -> BackendFuture<Arc<Vec<String>>> {
        let here = self.here.clone();
        blocking(move || files::symbols(&here))
    }

    fn search_code(&self, words: String) -> BackendFuture<Vec<CodeMatch>> {
        let here = self.here.clone();
        blocking(move || files::search_code(&here, &words))
    }

    fn read_image(&self, path: String) -> BackendFuture<Media> {
        let here = self.here.clone();
        blocking(move || files::image(&path, &here))
    }
}

impl ReviewBackend for TuiBackend {
    fn pending_changes(&self) -> BackendFuture<Vec<ReviewableFile>> {
        let current = self.current();
        boxed(
            async move {
                let (store, session) = current?;
                sessions::changes(store, session).await
            }
            .boxed(),
        )
    }

    fn review_changes(&self, verdicts: Vec<(String, HunkDecision)>) -> BackendFuture<OperationResult> {
        let current = self.current();
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let reads = open.selected(self.only).map(|session| session.reads.clone());
        let review = async move {
            let (store, session) = current?;
            sessions::review(store, session, verdicts, &reads.unwrap_or_default()).await
        };
        boxed(review.boxed())
    }

    fn restore(&self, request: RestoreRequest, choice: ConflictChoice) -> BackendFuture<FileRestoreResult> {
        let (current, here) = (self.current(), self.here.clone());
        boxed(async move { sessions::restore(request, choice, current?.1, &here.flags, &here.env).await }.boxed())
    }
}

impl ModelBackend for TuiBackend {
    fn resolve_model(&self, model: String) -> BackendFuture<UsableModel> {
        let here = self.here.clone();
        blocking(move || choices::resolve(&model, &here))
    }

    fn models(&self) -> BackendFuture<Vec<PickerItem>> {
        let here = self.here.clone();
        boxed(async move { choices::models(&here).await }.boxed())
    }

    fn providers(&self) -> BackendFuture<Vec<ProviderRow>> {
        let here = self.here.clone();
        boxed(async move { setup::providers(&here).await }.boxed())
    }

    fn key_storages(&self) -> Vec<(KeyStorage, String)> {
        setup::key_places(&self.here)
    }

    fn save_key(&self, provider: String, key: String, keep: KeyStorage) -> BackendFuture<String> {
        let here = self.here.clone();
        boxed(async move { setup::save_key(&provider, &key, keep, &here).await }.boxed())
    }

    fn sign_in(&self, provider: String) -> BackendFuture<SignInPrompt> {
        let here = self.here.clone();
        boxed(async move { setup::sign_in(&provider, here).await }.boxed())
    }

    fn test_model(&self, model: String) -> BackendFuture<String> {
        let here = self.here.clone();
        boxed(async move { setup::test(&model, &here).await }.boxed())
    }
}

impl SettingsBackend for TuiBackend {
    fn custom_commands(&self) -> BackendFuture<Vec<PickerItem>> {
        let (here, servers) = (self.here.clone(), self.mcp_servers());
        blocking(move || {
            let mut commands = choices::commands(&here)?;
            commands.extend(servers.iter().flat_map(choices::prompts));
            Ok(commands)
        })
    }

    fn modes(&self) -> BackendFuture<Vec<PickerItem>> {
        let here = self.here.clone();
        blocking(move || choices::modes(&here))
    }

    fn rules_files(&self) -> BackendFuture<Vec<RulesFileRow>> {
        let here = self.here.clone();
        blocking(move || settings::rules_files(&here))
    }

    fn permission_rules(&self) -> BackendFuture<Vec<PermissionRow>> {
        let here = self.here.clone();
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let session = open
            .selected(self.only)
            .map(|session| session.grants.list())
            .unwrap_or_default();
        drop(open);
        blocking(move || settings::rules(&here, &session))
    }

    fn revoke_rule(&self, rule: String) -> BackendFuture<String> {
        let here = self.here.clone();
        blocking(move || settings::revoke(&rule, &here))
    }

    fn settings(&self) -> BackendFuture<Vec<SettingRow>> {
        let here = self.here.clone();
        blocking(move || settings::settings(&here))
    }

    fn change_setting(&self, key: String, value: String) -> BackendFuture<String> {
        let here = self.here.clone();
        blocking(move || settings::set(&key, &value, &here))
    }

    fn user_themes(&self) -> BTreeMap<String, ThemeSpec> {
        themes::own(&self.here.env)
    }
}

impl ProcessBackend for TuiBackend {
    fn run_shell(&self, line: String) -> BackendFuture<String> {
        let here = self.here.clone();
        boxed(async move { programs::shell(&line, &here).await }.boxed())
    }

    fn run_check(&self, line: String) -> BackendFuture<GoalCheck> {
        let here = self.here.clone();
        boxed(async move { programs::check(&line, &here).await }.boxed())
    }

    fn run_hew(&self, arguments: Vec<String>) -> BackendFuture<String> {
        let here = self.here.clone();
        boxed(async move { programs::hew(&arguments, &here).await }.boxed())
    }

    fn panels(&self) -> BackendFuture<Vec<PanelRow>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = open.selected(self.only).map(|session| panel_rows(&session.panels));
        async move { Ok(rows.unwrap_or_default()) }.boxed()
    }

    fn toggle_panel(&self, panel: PanelRow) -> BackendFuture<String> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let PanelRow { name, is_open } = panel;
        let result = match (open.selected(self.only), is_open) {
            (None, _) => Err("no session is open".to_owned()),
            (Some(session), true) => match session.panels.close(&name) {
                true => Ok(format!("closed the panel {name}")),
                false => Err(format!("the panel {name} is not open")),
            },
            (Some(session), false) => match session.panels.open(&name) {
                Ok(()) => Ok(format!("opened the panel {name}")),
                Err(error) => Err(error.to_string()),
            },
        };
        async move { result.map_err(UserError::new) }.boxed()
    }

    fn servers(&self) -> BackendFuture<Vec<ServerRow>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let list = open
            .selected(self.only)
            .map(|session| servers::servers(session.mcp_servers.as_ref(), session.language_servers.as_ref()));
        async move { Ok(list.unwrap_or_default()) }.boxed()
    }

    fn jobs(&self) -> BackendFuture<Vec<JobRow>> {
        let jobs = self.background().map(|background| sessions::jobs(&background));
        async move { Ok(jobs.unwrap_or_default()) }.boxed()
    }

    fn running_jobs(&self) -> usize {
        self.background().map_or(0, |background| background.running())
    }

    fn move_to_background(&self) -> bool {
        self.background().is_some_and(|background| background.detach())
    }

    fn stop_job(&self, id: u32) -> BackendFuture<String> {
        let background = self.background();
        async move {
            let stopped = match background {
                Some(background) => background.stop(id).await,
                None => false,
            };
            match stopped {
                true => Ok(format!("job {id} stopped")),
                false => Err(UserError::new(format!("job {id} is not running"))),
            }
        }
        .boxed()
    }
}

impl PromptBackend for TuiBackend {
    fn prompt_history(&self) -> BackendFuture<Vec<String>> {
        let here = self.here.clone();
        blocking(move || prompt_history::prompts(&here))
    }

    fn save_prompt(&self, prompt: String) {
        prompt_history::remember(&prompt, &self.here);
    }

    fn load_draft(&self) -> BackendFuture<Option<String>> {
        let here = self.here.clone();
        blocking(move || prompt_history::draft(&here))
    }

    fn save_draft(&self, text: String) {
        prompt_history::save_draft(&text, &self.here);
    }
}

impl DesktopBackend for TuiBackend {
    fn clipboard(&self) -> BackendFuture<ClipboardContent> {
        let here = self.here.clone();
        boxed(async move { files::clipboard(&here).await }.boxed())
    }

    fn notify(&self, title: &str, text: &str) {
        let (title, text, env) = (title.to_owned(), text.to_owned(), self.here.env.clone());
        tokio::spawn(async move { notification::notify(&title, &text, &env).await });
    }

    fn edit_file(&self, path: PathBuf) -> BackendFuture<()> {
        let here = self.here.clone();
        boxed(async move { programs::edit_file(&path, &here).await }.boxed())
    }

    fn open_editor(&self, text: String) -> BackendFuture<String> {
        let here = self.here.clone();
        boxed(async move { programs::edit(&text, &here).await }.boxed())
    }
}

/// Opens a session for the front end.
async fn open_session(
    which: SessionTarget,
    (root, running): (PathBuf, &[SessionId]),
    store: Arc<SqliteStore>,
    flags: &SessionFlags,
    env: &ProcessEnv,
) -> Result<(OpenedSession, SessionResources)> {
    let mut warnings = Vec::new();
    let meta = match which {
        SessionTarget::New => None,
        SessionTarget::Newest => match find(&store, None, &root).await {
            Ok(meta) => Some(meta),
            Err(failure) if failure.kind == FailureKind::Usage => {
                warnings.push(format!("{}; starting a new session", failure.message));
                None
            }
            Err(failure) => return Err(failure),
        },
        SessionTarget::Named(id) => Some(find(&store, Some(&id), &root).await?),
        SessionTarget::Fork { session, upto } => {
            let id = host::sessions::fork(&store, session, upto).await?;
            Some(store.load(id).await?.meta)
        }
    };
    let is_new = meta.is_none();
    if is_new {
        warnings.extend(unfinished_session(&store, &root, running).await);
    }
    let reference = meta.map_or(SessionRef::New, |meta| SessionRef::Existing(Box::new(meta)));
    // A new session of a front end that resumed a session elsewhere starts in the directory of the front end.
    let directory = if is_new {
        Some(root.as_path())
    } else {
        flags.directory.as_deref()
    };
    let layers = flags.layers.clone();
    let mut project = SessionProject::load(reference, directory, flags.model_origin, layers, env)?;
    warnings.append(&mut project.loaded.warnings);
    let running = host::open(SessionRequest {
        project,
        env,
        store: Arc::clone(&store),
        approvals: Approvals::Ask,
        previews: Previews::Show,
        output_schema: None,
        files: &flags.files,
        model_origin: flags.model_origin,
        client: ClientServices::default(),
        prompt_change: Default::default(),
    })
    .await?;
    let history = match is_new {
        true => None,
        false => Some(store.load(running.resources.id).await?),
    };
    Ok(opened_session(running, history, warnings, env))
}

/// Describes a running session to the front end.
fn opened_session(
    running: RunningSession,
    history: Option<session::LoadedSession>,
    warnings: Vec<String>,
    env: &ProcessEnv,
) -> (OpenedSession, SessionResources) {
    let resources = running.resources;
    let (config, root) = (&resources.config, &resources.root);
    let models = ModelRegistry::new(config, env);
    let main = models.find(&running.model).ok();
    let default_effort = main.as_ref().and_then(host::models::default_effort);
    let info = SessionInfo {
        context_window: main.map_or(0, |info| info.limits.window),
        default_effort,
        model: running.model,
        mode: running.mode,
        permission: running.permission.name().into(),
        edit_approval: edit_approval(config, history.as_ref()),
        effort: config
            .effort
            .or(default_effort.map(Into::into))
            .map(EffortName::name)
            .unwrap_or_default(),
        rules: running
            .rules
            .iter()
            .map(|path| crate::paths::display_path(path, env))
            .collect(),
        sandbox: sandbox_summary(config, running.permission),
        root: root.clone(),
        display_path: crate::paths::display_path(root, env),
        title: history.as_ref().and_then(|history| history.meta.title.clone()),
        totals: running.totals,
        resume_command: resume_command(resources.id),
        has_unfinished_turn: !running.complete,
    };
    let mut notices = running.warnings;
    notices.extend(warnings);
    notices.extend(project::broad_project_warning(root, running.permission, env));
    let opened = OpenedSession {
        id: resources.id,
        commands: running.commands,
        events: running.events,
        items: history.map(|history| history.items).unwrap_or_default(),
        info,
        notices,
    };
    (opened, resources)
}

/// Whether changes are approved: a resumed session still asks if the user chose that.
fn edit_approval(config: &Config, history: Option<&session::LoadedSession>) -> Option<ApprovalMode> {
    let recorded = history.and_then(|history| history.items.iter().rev().find_map(|item| item.edit_approval()));
    match recorded {
        Some(ApprovalMode::Ask) => recorded,
        Some(ApprovalMode::Allow) | None => config.approval.writes.map(Into::into),
    }
}

/// All problems of the configuration, including those of the terminal front end.
pub fn config_problems(loaded: &LoadedConfig, root: &Path, env: &ProcessEnv) -> Vec<String> {
    let mut problems = chosen(&loaded.config, env).2;
    problems.extend(host::validate::problems(loaded, root, env));
    problems.dedup();
    problems
}

/// The open panels, then those that can be opened without a parameter.
fn panel_rows(panels: &toolbox::OpenPanels) -> Vec<PanelRow> {
    let open = panels.names();
    let others = toolbox::PANEL_NAMES.iter().map(|name| (*name).to_owned());
    let others: Vec<String> = others
        .filter(|name| !name.contains(':') && !open.contains(name))
        .collect();
    let row = |is_open: bool| move |name: String| PanelRow { name, is_open };
    open.into_iter()
        .map(row(true))
        .chain(others.into_iter().map(row(false)))
        .collect()
}

/// Highlights source text by the name of its language or file.
fn highlight(language: &str, text: &str) -> Option<Vec<(Range<usize>, SyntaxToken)>> {
    let spans = index::highlight(language, text)?.into_iter();
    Some(spans.map(|(range, token)| (range, convert_token(token))).collect())
}

fn convert_token(token: index::HighlightKind) -> SyntaxToken {
    match token {
        index::HighlightKind::Comment => SyntaxToken::Comment,
        index::HighlightKind::Keyword => SyntaxToken::Keyword,
        index::HighlightKind::String => SyntaxToken::String,
        index::HighlightKind::Number => SyntaxToken::Number,
        index::HighlightKind::Type => SyntaxToken::Type,
        index::HighlightKind::Function => SyntaxToken::Function,
        index::HighlightKind::Constant => SyntaxToken::Constant,
        index::HighlightKind::Property => SyntaxToken::Property,
        index::HighlightKind::Variable => SyntaxToken::Variable,
        index::HighlightKind::Operator => SyntaxToken::Operator,
        index::HighlightKind::Punctuation => SyntaxToken::Punctuation,
        index::HighlightKind::Tag => SyntaxToken::Tag,
    }
}

/// A short description of the sandbox.
pub fn sandbox_summary(config: &Config, permission: PermissionLevel) -> String {
    let writes = match permission {
        PermissionLevel::ReadOnly => "writes nothing",
        PermissionLevel::Workspace => "writes the project and temporary files",
        PermissionLevel::Full => return "none".into(),
    };
    let network = match config.sandbox.network {
        true => "network",
        false => "no network",
    };
    format!("{writes}, {network}")
}

/// The text of a stored file version, if it is UTF-8 and not too large to show.
pub async fn version_text(store: &SqliteStore, version: Option<FileVersion>) -> Option<String> {
    let id: BlobId = version?.content?;
    let bytes = store.get_blob(id).await.ok()??;
    let text = (bytes.len() <= MAX_SHOWN_BYTES).then(|| String::from_utf8(bytes.to_vec()).ok());
    text.flatten()
}
