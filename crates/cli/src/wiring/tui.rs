//! The house of the terminal front end: opens sessions and knows what is around them.

use super::{Choice as ModelChoice, Start, Started, Which as Session};
use crate::args::{Global, Turn};
use crate::commands::load_silently;
use crate::commands::run::{find, make_room, resume_command};
use crate::config::{Config, Layer, Origin, Permission};
use crate::environment::Environment;
use crate::failure::{Failure, Result};
use crate::models::Models;
use crate::{project, wiring};
use agent::{Approvals, Handle, Previews};
use futures::future::{BoxFuture, FutureExt as _};
use session::{BlobId, Change, Lease, SessionId, Store as _, Version};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use store::Sqlite;
use tokio::task::JoinHandle;
use tui::{Contents, Facts, House, Later, Opened, Token, Trouble, Which};
use workspace::Workspace;
use workspace::checkpoint::Depot;

/// Files and versions of files larger than this are not shown.
const MOST: usize = 2 << 20;

/// The house of the terminal front end.
pub(crate) struct Home {
    env: Environment,
    global: Global,
    turn: Turn,
    root: PathBuf,
    /// The session that is open.
    open: Arc<Mutex<Option<Held>>>,
    store: Arc<Mutex<Option<Arc<Sqlite>>>>,
}

/// What is held of a session while it is open.
struct Held {
    task: JoinHandle<()>,
    lease: Lease,
    formats: Option<wiring::formats::EditFormats>,
    depot: Depot,
    id: SessionId,
}

impl Home {
    /// A house for this project.
    pub(crate) fn new(root: PathBuf, turn: Turn, global: Global, env: Environment) -> Self {
        Home {
            env,
            global,
            turn,
            root,
            open: Arc::default(),
            store: Arc::default(),
        }
    }

    /// The database, opened when it is first needed.
    fn store(&self) -> Result<Arc<Sqlite>> {
        store_of(&self.store, &self.env)
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
        let (env, global, turn) = (self.env.clone(), self.global.clone(), self.turn.clone());
        let (root, open, slot) = (self.root.clone(), Arc::clone(&self.open), Arc::clone(&self.store));
        async move {
            let store = store_of(&slot, &env).map_err(trouble)?;
            let (opened, held) = open_session(which, root, store, &turn, &global, &env)
                .await
                .map_err(trouble)?;
            *open.lock().unwrap_or_else(PoisonError::into_inner) = Some(held);
            Ok(opened)
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
        let _ = (language, text);
        None
    }

    fn text(&self, path: PathBuf) -> Later<String> {
        let root = self.root.clone();
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
        let root = self.root.clone();
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
    let (session, root, own) = match which {
        Which::New => (Session::New, root, None),
        Which::Newest | Which::Named(_) => {
            let id = match &which {
                Which::Named(id) => Some(id.as_str()),
                Which::New | Which::Newest | Which::Fork { .. } => None,
            };
            let meta = find(&store, id, &root).await?;
            let root = match &global.cwd {
                Some(_) => project::root(global.cwd.as_deref(), env)?,
                None => wiring::session_root(&meta.root)?,
            };
            (Session::Existing(meta.id), root, Some(meta.model))
        }
        Which::Fork { .. } => return Err(Failure::usage("sessions cannot be copied yet")),
    };
    let mut loaded = load_silently(root.clone(), global, env, turn.layers())?;
    let warnings = std::mem::take(&mut loaded.warnings);
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
    })
    .await?;
    let past = match is_new {
        true => None,
        false => Some(store.load(started.id).await?),
    };
    Ok(introduced(started, past, warnings, &loaded.config, &root, env))
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
        id,
    };
    (opened, held)
}

fn level(permission: Permission) -> &'static str {
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

async fn text_of(store: &Sqlite, version: Option<Version>) -> Option<String> {
    let id: BlobId = version?.content?;
    let bytes = store.get_blob(id).await.ok()??;
    let text = (bytes.len() <= MOST).then(|| String::from_utf8(bytes.to_vec()).ok());
    text.flatten()
}

fn trouble(failure: Failure) -> Trouble {
    Trouble {
        what: failure.what,
        hint: failure.hint,
    }
}

/// Trouble from the database.
#[allow(dead_code)]
fn lost(error: session::Error) -> Trouble {
    trouble(error.into())
}
