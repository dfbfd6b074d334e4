//! The house of the terminal front end: opens sessions and knows what is around them.

mod choices;
mod desktop;
mod files;
mod here;
mod programs;
mod remembered;
mod servers;
mod sessions;
mod settings;
mod setup;
mod themes;

pub(crate) use programs::open_editor;
pub(crate) use sessions::fork;
pub(crate) use themes::chosen;

use super::{Choice as ModelChoice, Start, Started, Which as Session};
use crate::args::{Global, Turn};
use crate::commands::load_silently;
use crate::commands::run::{find, make_room, resume_command};
use crate::config::{Config, Layer, Origin, Permission};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::models::Models;
use crate::{project, wiring};
use agent::{Approvals, Handle, Previews};
use futures::future::{BoxFuture, FutureExt as _};
use here::{Here, blocking, later, trouble};
use model::Media;
use session::{BlobId, Change, Command, Item, Lease, Meta, Record, Restoring, SessionId, Store as _, Version};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use store::Sqlite;
use tokio::task::JoinHandle;
use toolbox::Background;
use tui::{
    Choice, Clip, Contents, Done, Facts, FileChanges, House, Job, Keep, Later, Opened, Provider, Rule, Server, Setting,
    Spec, Token, Trouble, Verdict, Which,
};
use workspace::Workspace;
use workspace::checkpoint::Depot;

/// Files and versions of files larger than this are not shown.
const MOST: usize = 2 << 20;

/// The house of the terminal front end.
pub(crate) struct Home {
    here: Here,
    turn: Turn,
    /// The session that is open.
    open: Arc<Mutex<Option<Held>>>,
    store: Arc<Mutex<Option<Arc<Sqlite>>>>,
    /// Why the last session could not be opened.
    failed: Arc<Mutex<Option<Failure>>>,
}

/// What is held of a session while it is open.
struct Held {
    task: JoinHandle<()>,
    lease: Lease,
    formats: Option<wiring::formats::EditFormats>,
    depot: Depot,
    background: Background,
    id: SessionId,
    servers: (Option<::mcp::Servers>, Option<lsp::Servers>),
}

impl Home {
    /// A house for this project.
    pub(crate) fn new(root: PathBuf, turn: Turn, global: Global, env: Environment) -> Self {
        Home {
            here: Here { env, global, root },
            turn,
            open: Arc::default(),
            store: Arc::default(),
            failed: Arc::default(),
        }
    }

    /// Why the last session could not be opened, where it could not.
    pub(crate) fn failed(&self) -> Option<Failure> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The session that is open and the database it is in.
    fn current(&self) -> Result<(Arc<Sqlite>, SessionId)> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        match open.as_ref() {
            Some(held) => Ok((self.store()?, held.id)),
            None => Err(Failure::failed("no session is open")),
        }
    }

    /// The commands in the background of the session that is open.
    fn background(&self) -> Option<Background> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.as_ref().map(|held| held.background.clone())
    }

    /// The MCP servers of the session that is open.
    fn mcp(&self) -> Option<::mcp::Servers> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.as_ref().and_then(|held| held.servers.0.clone())
    }

    /// Undoes the last turn of the session that is open, or redoes it.
    fn restore(&self, how: Restoring) -> Later<Done> {
        let (current, here) = (self.current(), self.here.clone());
        later(async move { sessions::restore(how, current?.1, &here.global, &here.env).await }.boxed())
    }

    /// The database, opened when it is first needed.
    fn store(&self) -> Result<Arc<Sqlite>> {
        store_of(&self.store, &self.here.env)
    }
}

fn store_of(slot: &Mutex<Option<Arc<Sqlite>>>, env: &Environment) -> Result<Arc<Sqlite>> {
    let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(store) = &*slot {
        return Ok(Arc::clone(store));
    }
    let store = wiring::open_store(env)?;
    *slot = Some(Arc::clone(&store));
    Ok(store)
}

impl House for Home {
    fn open(&self, which: Which) -> Later<Opened> {
        let (Here { env, global, root }, turn) = (self.here.clone(), self.turn.clone());
        let (open, slot) = (Arc::clone(&self.open), Arc::clone(&self.store));
        let failed = Arc::clone(&self.failed);
        async move {
            let opened = match store_of(&slot, &env) {
                Ok(store) => open_session(which, root, store, &turn, &global, &env).await,
                Err(failure) => Err(failure),
            };
            match opened {
                Ok((opened, held)) => {
                    *open.lock().unwrap_or_else(PoisonError::into_inner) = Some(held);
                    Ok(opened)
                }
                Err(failure) => {
                    *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure.clone());
                    Err(trouble(failure))
                }
            }
        }
        .boxed()
    }

    fn close(&self) -> BoxFuture<'static, ()> {
        let held = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        let store = self.store().ok();
        async move {
            let Some(Held {
                task,
                lease,
                formats,
                depot,
                ..
            }) = held
            else {
                return;
            };
            // What a session that broke down has left is in its log.
            drop(task.await);
            drop(lease);
            // The work is done all the same.
            drop(formats.map(|formats| formats.save()));
            if let Some(store) = store {
                make_room(&store, &depot).await;
            }
        }
        .boxed()
    }

    fn highlight(&self, language: &str, text: &str) -> Option<Vec<(Range<usize>, Token)>> {
        let spans = index::highlight(language, text)?;
        Some(
            spans
                .into_iter()
                .map(|(range, token)| (range, coloured(token)))
                .collect(),
        )
    }

    fn text(&self, path: PathBuf) -> Later<String> {
        let root = self.here.root.clone();
        async move {
            let location = Workspace::open(&root).and_then(|workspace| workspace.locate(&path));
            let text = location.and_then(|location| location.read_text());
            text.map(|text| text.content)
                .map_err(|error| Trouble::new(error.to_string()))
        }
        .boxed()
    }

    fn contents(&self, changes: Vec<Change>) -> Later<Vec<Contents>> {
        let store = self.store();
        async move {
            let store = store.map_err(trouble)?;
            let mut contents = Vec::new();
            for Change { path, before, after } in changes {
                contents.push(Contents {
                    path,
                    before: text_of(&store, before).await,
                    after: text_of(&store, after).await,
                });
            }
            Ok(contents)
        }
        .boxed()
    }

    fn branch(&self) -> Later<Option<String>> {
        let root = self.here.root.clone();
        async move {
            let git = Workspace::open(&root).ok().and_then(|workspace| workspace.git());
            Ok(git.and_then(|git| match git.head {
                workspace::Head::Branch(name) => Some(name),
                workspace::Head::Detached(id) => Some(id.chars().take(8).collect()),
                workspace::Head::Unknown => None,
            }))
        }
        .boxed()
    }

    fn files(&self) -> Later<Arc<Vec<String>>> {
        let here = self.here.clone();
        blocking(move || files::files(&here))
    }

    fn symbols(&self) -> Later<Arc<Vec<String>>> {
        let here = self.here.clone();
        blocking(move || files::symbols(&here))
    }

    fn commands(&self) -> Later<Vec<Choice>> {
        let (here, servers) = (self.here.clone(), self.mcp());
        blocking(move || {
            let mut commands = choices::commands(&here)?;
            commands.extend(servers.iter().flat_map(choices::prompts));
            Ok(commands)
        })
    }

    fn window(&self, model: String) -> Later<u64> {
        let here = self.here.clone();
        blocking(move || choices::window(&model, &here))
    }

    fn fill_in(&self, command: Command) -> Later<Command> {
        let servers = self.mcp();
        later(async move { wiring::mcp::slash(servers.as_ref(), command).await }.boxed())
    }

    fn image(&self, path: String) -> Later<Media> {
        let here = self.here.clone();
        blocking(move || files::image(&path, &here))
    }

    fn clipboard(&self) -> Later<Clip> {
        let here = self.here.clone();
        later(async move { files::clipboard(&here).await }.boxed())
    }

    fn notify(&self, title: &str, text: &str) {
        let (title, text, env) = (title.to_owned(), text.to_owned(), self.here.env.clone());
        tokio::spawn(async move { desktop::notify(&title, &text, &env).await });
    }

    fn prompts(&self) -> Later<Vec<String>> {
        let here = self.here.clone();
        blocking(move || remembered::prompts(&here))
    }

    fn remember(&self, prompt: String) {
        remembered::remember(&prompt, &self.here);
    }

    fn draft(&self) -> Later<Option<String>> {
        let here = self.here.clone();
        blocking(move || remembered::draft(&here))
    }

    fn save_draft(&self, text: String) {
        remembered::save_draft(&text, &self.here);
    }

    fn shell(&self, line: String) -> Later<String> {
        let here = self.here.clone();
        later(async move { programs::shell(&line, &here).await }.boxed())
    }

    fn edit(&self, text: String) -> Later<String> {
        let here = self.here.clone();
        later(async move { programs::edit(&text, &here).await }.boxed())
    }

    fn models(&self) -> Later<Vec<Choice>> {
        let here = self.here.clone();
        later(async move { choices::models(&here).await }.boxed())
    }

    fn modes(&self) -> Later<Vec<Choice>> {
        let here = self.here.clone();
        blocking(move || choices::modes(&here))
    }

    fn sessions(&self) -> Later<Vec<Meta>> {
        let (store, root) = (self.store(), self.here.root.clone());
        later(async move { sessions::list(store?.as_ref(), Some(root)).await }.boxed())
    }

    fn all_sessions(&self) -> Later<Vec<Meta>> {
        let store = self.store();
        later(async move { sessions::list(store?.as_ref(), None).await }.boxed())
    }

    fn items(&self, session: SessionId) -> Later<Vec<Arc<Item>>> {
        let store = self.store();
        later(async move { Ok(store?.load(session).await?.items) }.boxed())
    }

    fn records(&self) -> Later<Vec<Record>> {
        let current = self.current();
        later(
            async move {
                let (store, session) = current?;
                Ok(store.records(session).await?)
            }
            .boxed(),
        )
    }

    fn rename(&self, session: SessionId, title: String) -> Later<String> {
        let store = self.store();
        later(
            async move {
                store?.title(session, title.clone()).await?;
                Ok(format!("it is called “{title}” now"))
            }
            .boxed(),
        )
    }

    fn changes(&self) -> Later<Vec<FileChanges>> {
        let current = self.current();
        later(
            async move {
                let (store, session) = current?;
                sessions::changes(store, session).await
            }
            .boxed(),
        )
    }

    fn review(&self, verdicts: Vec<(String, Verdict)>) -> Later<Done> {
        let current = self.current();
        later(
            async move {
                let (store, session) = current?;
                sessions::review(store, session, verdicts).await
            }
            .boxed(),
        )
    }

    fn undo(&self) -> Later<Done> {
        self.restore(Restoring::Undo)
    }

    fn redo(&self) -> Later<Done> {
        self.restore(Restoring::Redo)
    }

    fn servers(&self) -> Later<Vec<Server>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let held = open.as_ref().map(|held| &held.servers);
        let list = held.map(|(mcp, lsp)| servers::servers(mcp.as_ref(), lsp.as_ref()));
        async move { Ok(list.unwrap_or_default()) }.boxed()
    }

    fn jobs(&self) -> Later<Vec<Job>> {
        let jobs = self.background().map(|background| sessions::jobs(&background));
        async move { Ok(jobs.unwrap_or_default()) }.boxed()
    }

    fn stop_job(&self, id: u32) -> Later<String> {
        let background = self.background();
        async move {
            let stopped = match background {
                Some(background) => background.stop(id).await,
                None => false,
            };
            match stopped {
                true => Ok(format!("job {id} was stopped")),
                false => Err(Trouble::new(format!("job {id} does not run"))),
            }
        }
        .boxed()
    }

    fn rules(&self) -> Later<Vec<Rule>> {
        let here = self.here.clone();
        blocking(move || settings::rules(&here))
    }

    fn revoke(&self, rule: String) -> Later<String> {
        let here = self.here.clone();
        blocking(move || settings::revoke(&rule, &here))
    }

    fn settings(&self) -> Later<Vec<Setting>> {
        let here = self.here.clone();
        blocking(move || settings::settings(&here))
    }

    fn set(&self, key: String, value: String) -> Later<String> {
        let here = self.here.clone();
        blocking(move || settings::set(&key, &value, &here))
    }

    fn providers(&self) -> Later<Vec<Provider>> {
        let here = self.here.clone();
        later(async move { setup::providers(&here).await }.boxed())
    }

    fn key_places(&self) -> Vec<(Keep, String)> {
        setup::key_places(&self.here)
    }

    fn save_key(&self, provider: String, key: String, keep: Keep) -> Later<String> {
        let here = self.here.clone();
        later(async move { setup::save_key(&provider, &key, keep, &here).await }.boxed())
    }

    fn test(&self, model: String) -> Later<String> {
        let here = self.here.clone();
        later(async move { setup::test(&model, &here).await }.boxed())
    }

    fn themes(&self) -> BTreeMap<String, Spec> {
        themes::own(&self.here.env)
    }
}

/// Starts a session for the front end.
async fn open_session(
    which: Which,
    root: PathBuf,
    store: Arc<Sqlite>,
    turn: &Turn,
    global: &Global,
    env: &Environment,
) -> Result<(Opened, Held)> {
    let mut told = Vec::new();
    let meta = match which {
        Which::New => None,
        Which::Newest => match find(&store, None, &root).await {
            Ok(meta) => Some(meta),
            // Nothing to go on with is no reason not to begin.
            Err(failure) if failure.exit == Exit::Usage => {
                told.push(format!("{}; this is a new one", failure.what));
                None
            }
            Err(failure) => return Err(failure),
        },
        Which::Named(id) => Some(find(&store, Some(&id), &root).await?),
        Which::Fork { session, upto } => {
            let id = sessions::fork(&store, session, upto).await?;
            Some(store.load(id).await?.meta)
        }
    };
    let (session, root, own) = match meta {
        None => (Session::New, root, None),
        Some(meta) => {
            let root = match &global.cwd {
                Some(_) => project::root(global.cwd.as_deref(), env)?,
                None => wiring::session_root(&meta.root)?,
            };
            (Session::Existing(meta.id), root, Some(meta.model))
        }
    };
    let mut loaded = load_silently(root.clone(), global, env, turn.layers())?;
    told.append(&mut loaded.warnings);
    if let Some(model) = own.filter(|_| turn.model.is_none()) {
        loaded
            .layers
            .push(Layer::one(Origin::BuiltIn, &["model".into()], model.clone().into()));
        loaded.config.model = Some(model);
    }
    let is_new = matches!(session, Session::New);
    let started = wiring::start(Start {
        config: &loaded.config,
        env,
        root: &root,
        store: Arc::clone(&store),
        which: session,
        approvals: Approvals::Ask,
        previews: Previews::Show,
        output_schema: None,
        layers: &loaded.layers,
        trust: loaded.trust,
        files: &turn.files,
        model: match turn.model {
            Some(_) => ModelChoice::Asked,
            None => ModelChoice::Configured,
        },
        client: wiring::acp::Client::default(),
    })
    .await?;
    let past = match is_new {
        true => None,
        false => Some(store.load(started.id).await?),
    };
    Ok(introduced(started, past, told, &loaded.config, &root, env))
}

/// A session that runs, as the front end knows it.
fn introduced(
    started: Started,
    past: Option<session::Loaded>,
    warnings: Vec<String>,
    config: &Config,
    root: &Path,
    env: &Environment,
) -> (Opened, Held) {
    let Started {
        handle: Handle { commands, events, task },
        id,
        ..
    } = started;
    let models = Models::new(config, env);
    let facts = Facts {
        window: models.find(&started.model).map(|info| info.limits.window).unwrap_or(0),
        model: started.model,
        mode: started.mode,
        permission: level(started.permission).into(),
        sandbox: sandbox(config, started.permission),
        root: root.into(),
        place: crate::places::tidy(root, env),
        title: past.as_ref().and_then(|past| past.meta.title.clone()),
        totals: started.totals,
        resume: resume_command(id),
        unfinished: !started.complete,
    };
    let mut told = started.told;
    told.extend(warnings);
    if let Some(what) = project::too_wide(root, env) {
        told.push(format!(
            "{what} is the project: everything in it may be read and changed"
        ));
    }
    let opened = Opened {
        id,
        commands,
        events,
        items: past.map(|past| past.items).unwrap_or_default(),
        facts,
        told,
    };
    let held = Held {
        task,
        lease: started.lease,
        formats: started.formats,
        depot: started.depot,
        background: started.background,
        id,
        servers: (started.servers, started.code),
    };
    (opened, held)
}

fn coloured(token: index::Token) -> Token {
    match token {
        index::Token::Comment => Token::Comment,
        index::Token::Keyword => Token::Keyword,
        index::Token::String => Token::String,
        index::Token::Number => Token::Number,
        index::Token::Type => Token::Type,
        index::Token::Function => Token::Function,
        index::Token::Constant => Token::Constant,
        index::Token::Property => Token::Property,
        index::Token::Variable => Token::Variable,
        index::Token::Operator => Token::Operator,
        index::Token::Punctuation => Token::Punctuation,
        index::Token::Tag => Token::Tag,
    }
}

pub(super) fn level(permission: Permission) -> &'static str {
    match permission {
        Permission::ReadOnly => "read-only",
        Permission::Workspace => "workspace",
        Permission::Full => "full",
    }
}

/// How commands are confined, in a few words.
fn sandbox(config: &Config, permission: Permission) -> String {
    let writes = match permission {
        Permission::ReadOnly => "writes nothing",
        Permission::Workspace => "writes the project only",
        Permission::Full => return "none".into(),
    };
    let network = match config.sandbox.network {
        Some(true) => "network",
        Some(false) | None => "no network",
    };
    format!("{writes}, {network}")
}

pub(super) async fn text_of(store: &Sqlite, version: Option<Version>) -> Option<String> {
    let id: BlobId = version?.content?;
    let bytes = store.get_blob(id).await.ok()??;
    let text = (bytes.len() <= MOST).then(|| String::from_utf8(bytes.to_vec()).ok());
    text.flatten()
}
