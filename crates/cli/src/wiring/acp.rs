//! The house of editors that speak the Agent Client Protocol: opens sessions for them and knows what is around them.

use super::tui::{level, text_of};
use super::{Choice as ModelChoice, Start, Started, Which as Session, formats, mcp, modes, shelves};
use crate::args::{Acp, Global};
use crate::commands::load_silently;
use crate::commands::run::make_room;
use crate::config::{Config, Layer, Loaded, Origin};
use crate::environment::Environment;
use crate::failure::{Failure, Result};
use crate::models::Models;
use crate::output::words::line;
use crate::{project, wiring};
use ::mcp::{Definition, Servers, Transport};
use acp::schema::McpServer;
use agent::{Approvals, Handle, Previews};
use futures::future::{BoxFuture, FutureExt as _};
use server::acp::{Choice, Chosen, Contents, House, Kind, Later, Opened, Opening, Trouble, Which};
use session::{Change, Command, Lease, Meta, SessionId, Store as _};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::Sqlite;
use tokio::task::JoinHandle;
use toml::Value;
use workspace::checkpoint::Depot;
use workspace::{Buffers, Workspace};

/// As many models as an editor is offered.
const MOST_MODELS: usize = 100;

/// What an editor brings along to a session.
#[derive(Clone, Default)]
pub(crate) struct Client {
    /// MCP servers of its own.
    pub(crate) mcp: Vec<Definition>,
    buffers: Option<Arc<dyn Buffers>>,
    terminals: Option<Arc<dyn tool::Terminals>>,
}

impl Client {
    /// The project as the editor shows it.
    pub(super) fn shows(&self, workspace: Workspace) -> Workspace {
        match &self.buffers {
            Some(buffers) => workspace.shown_by(Arc::clone(buffers)),
            None => workspace,
        }
    }

    /// Its terminals.
    pub(super) fn terminals(&self) -> Option<Arc<dyn tool::Terminals>> {
        self.terminals.clone()
    }
}

/// The house of editors.
pub(crate) struct Home(Arc<Inner>);

struct Inner {
    env: Environment,
    global: Global,
    args: Acp,
    store: Arc<Sqlite>,
    open: Mutex<HashMap<SessionId, Held>>,
}

/// What is held of a session while it is open.
struct Held {
    task: JoinHandle<()>,
    lease: Lease,
    formats: Option<formats::EditFormats>,
    depot: Depot,
    servers: Option<Servers>,
    /// Language servers end with their session.
    code: Option<lsp::Servers>,
    root: PathBuf,
    config: Config,
}

impl Home {
    /// A house for all editors that this process serves.
    pub(crate) fn new(args: Acp, global: Global, env: Environment) -> Result<Self> {
        let store = wiring::open_store(&env)?;
        Ok(Home(Arc::new(Inner {
            env,
            global,
            args,
            store,
            open: Mutex::default(),
        })))
    }
}

impl Inner {
    fn load(&self, root: &Path, more: &[PathBuf]) -> Result<Loaded> {
        let mut layers = self.args.layers();
        if !more.is_empty() {
            let folders = more.iter().map(|folder| Value::String(folder.display().to_string()));
            let value = Value::Array(folders.collect());
            layers.push(Layer::one(
                Origin::Flag("additionalDirectories"),
                &["roots".into()],
                value,
            ));
        }
        load_silently(root.to_path_buf(), &self.global, &self.env, layers)
    }

    async fn open(&self, opening: Opening) -> Result<Opened, Trouble> {
        let (root, which, own) = match &opening.which {
            Which::New => (project::root(Some(&opening.root), &self.env), Session::New, None),
            Which::Named(name) => {
                let id: SessionId = name.parse().map_err(|_| missing(name))?;
                let meta = self.store.list(None).await.map_err(|error| trouble(error.into()))?;
                let meta = meta
                    .into_iter()
                    .find(|meta| meta.id == id)
                    .ok_or_else(|| missing(name))?;
                (
                    wiring::session_root(&meta.root),
                    Session::Existing(id),
                    Some(meta.model),
                )
            }
        };
        let root = root.map_err(trouble)?;
        let mut loaded = self.load(&root, &opening.more).map_err(trouble)?;
        if let Some(model) = own.filter(|_| self.args.model.is_none()) {
            let layer = Layer::one(Origin::BuiltIn, &["model".into()], model.clone().into());
            loaded.layers.push(layer);
            loaded.config.model = Some(model);
        }
        ready(&loaded.config, &self.env).await?;
        self.start(opening, root, which, loaded).await.map_err(trouble)
    }

    async fn start(&self, opening: Opening, root: PathBuf, which: Session, loaded: Loaded) -> Result<Opened> {
        let is_new = matches!(which, Session::New);
        let started = wiring::start(Start {
            config: &loaded.config,
            env: &self.env,
            root: &root,
            store: Arc::clone(&self.store),
            which,
            approvals: Approvals::Ask,
            previews: Previews::Show,
            output_schema: None,
            layers: &loaded.layers,
            trust: loaded.trust,
            files: &[],
            model: match self.args.model {
                Some(_) => ModelChoice::Asked,
                None => ModelChoice::Configured,
            },
            client: Client {
                mcp: opening.mcp.into_iter().map(definition).collect(),
                buffers: opening.buffers,
                terminals: opening.terminals,
            },
        })
        .await?;
        let items = match is_new {
            true => Vec::new(),
            false => self.store.load(started.id).await?.items,
        };
        let found = modes::find(&root, loaded.trust, &self.env);
        let all_modes = found.modes.iter().map(|mode| Choice {
            name: mode.name.clone(),
            about: line(mode.when_to_use.trim(), 200),
        });
        let modes = Chosen {
            current: started.mode.clone(),
            all: all_modes.collect(),
        };
        let models = self.models(&loaded.config, &started.model);
        let levels = Chosen {
            current: level(started.permission).into(),
            all: LEVELS
                .map(|(name, about)| Choice {
                    name: name.into(),
                    about: about.into(),
                })
                .into(),
        };
        let Started {
            handle: Handle { commands, events, task },
            id,
            lease,
            formats,
            depot,
            servers,
            code,
            mut told,
            ..
        } = started;
        told.extend(loaded.warnings);
        if let Some(what) = project::too_wide(&root, &self.env) {
            told.push(format!(
                "{what} is the project: everything in it may be read and changed"
            ));
        }
        let held = Held {
            task,
            lease,
            formats,
            depot,
            servers,
            code,
            root: root.clone(),
            config: loaded.config,
        };
        self.held().insert(id, held);
        Ok(Opened {
            id,
            root,
            commands,
            events,
            items,
            modes,
            models,
            levels,
            told,
        })
    }

    /// The models that could be used now, the one that is used among them.
    fn models(&self, config: &Config, current: &str) -> Chosen {
        let models = Models::new(config, &self.env);
        let mut names: Vec<String> = models
            .iter()
            .filter(|info| models.settings_at_hand(info).is_ok())
            .map(model::Info::name)
            .collect();
        names.retain(|name| name != current);
        names.truncate(MOST_MODELS);
        names.insert(0, current.to_owned());
        let all = names.into_iter().map(|name| Choice {
            name,
            about: String::new(),
        });
        Chosen {
            current: current.to_owned(),
            all: all.collect(),
        }
    }

    fn commands(&self, session: SessionId) -> Result<Vec<Choice>> {
        let Some((root, servers)) = self.of(session, |held| (held.root.clone(), held.servers.clone())) else {
            return Ok(Vec::new());
        };
        let loaded = self.load(&root, &[])?;
        let found = shelves::commands(&root, &loaded, &self.env)?.into_values();
        let own = found.map(|slash| Choice {
            about: line(&slash.description, 200),
            name: slash.name,
        });
        let prompts = servers.iter().flat_map(Servers::prompts).map(|prompt| Choice {
            name: prompt.command(),
            about: line(
                prompt.description.as_deref().unwrap_or("a prompt of an MCP server"),
                200,
            ),
        });
        Ok(own.chain(prompts).collect())
    }

    fn of<T>(&self, session: SessionId, what: impl FnOnce(&Held) -> T) -> Option<T> {
        self.held().get(&session).map(what)
    }

    fn held(&self) -> MutexGuard<'_, HashMap<SessionId, Held>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl House for Home {
    fn ready(&self) -> Later<()> {
        let home = Arc::clone(&self.0);
        async move {
            let root = project::root(home.global.cwd.as_deref(), &home.env).map_err(trouble)?;
            let loaded = home.load(&root, &[]).map_err(trouble)?;
            ready(&loaded.config, &home.env).await
        }
        .boxed()
    }

    fn open(&self, opening: Opening) -> Later<Opened> {
        let home = Arc::clone(&self.0);
        async move { home.open(opening).await }.boxed()
    }

    fn close(&self, session: SessionId) -> BoxFuture<'static, ()> {
        let home = Arc::clone(&self.0);
        async move {
            let held = home.held().remove(&session);
            let Some(Held {
                task,
                lease,
                formats,
                depot,
                code,
                ..
            }) = held
            else {
                return;
            };
            // What a session that broke down has left is in its log.
            drop(task.await);
            drop((lease, code));
            // The work is done all the same.
            drop(formats.map(|formats| formats.save()));
            make_room(&home.store, &depot).await;
        }
        .boxed()
    }

    fn list(&self, root: Option<PathBuf>) -> Later<Vec<Meta>> {
        let home = Arc::clone(&self.0);
        async move {
            let root = root.map(|root| root.canonicalize().unwrap_or(root));
            let mut all = home.store.list(root).await.map_err(|error| trouble(error.into()))?;
            // Whoever only opened a window has no session to come back to.
            all.retain(|meta| meta.parent.is_none() && meta.items > 0);
            Ok(all)
        }
        .boxed()
    }

    fn delete(&self, session: SessionId) -> Later<()> {
        let home = Arc::clone(&self.0);
        async move {
            let deleted = home.store.delete(session).await;
            deleted.map_err(|error| match error {
                session::Error::Unknown(name) => missing(&name),
                error => trouble(error.into()),
            })
        }
        .boxed()
    }

    fn contents(&self, changes: Vec<Change>) -> Later<Vec<Contents>> {
        let home = Arc::clone(&self.0);
        async move {
            let mut contents = Vec::new();
            for Change { path, before, after } in changes {
                contents.push(Contents {
                    path,
                    before: text_of(&home.store, before).await,
                    after: text_of(&home.store, after).await,
                });
            }
            Ok(contents)
        }
        .boxed()
    }

    fn text(&self, path: PathBuf) -> Later<String> {
        async move {
            let folder = path.parent().unwrap_or(&path);
            let location = Workspace::open(folder).and_then(|workspace| workspace.locate(&path));
            let text = location.and_then(|location| location.read_text());
            text.map(|text| text.content)
                .map_err(|error| trouble(Failure::failed(error.to_string())))
        }
        .boxed()
    }

    fn commands(&self, session: SessionId) -> Later<Vec<Choice>> {
        let home = Arc::clone(&self.0);
        async move { home.commands(session).map_err(trouble) }.boxed()
    }

    fn meant(&self, session: SessionId, command: Command) -> Later<Command> {
        let servers = self.0.of(session, |held| held.servers.clone()).flatten();
        async move { mcp::slash(servers.as_ref(), command).await.map_err(trouble) }.boxed()
    }

    fn window(&self, session: SessionId, model: &str) -> u64 {
        let found = self.0.of(session, |held| {
            let models = Models::new(&held.config, &self.0.env);
            models.find(model).map(|info| info.limits.window).unwrap_or_default()
        });
        found.unwrap_or_default()
    }
}

const LEVELS: [(&str, &str); 3] = [
    ("read-only", "Look, but change nothing and run nothing"),
    (
        "workspace",
        "Change files of the project, and run commands in the sandbox",
    ),
    ("full", "Everything, without a question and without a sandbox"),
];

/// Whether a model can be talked to.
async fn ready(config: &Config, env: &Environment) -> Result<(), Trouble> {
    let models = Models::new(config, env);
    let login = |failure| Trouble {
        kind: Kind::Login,
        ..trouble(failure)
    };
    let name = match &config.model {
        Some(name) => name.clone(),
        None => models.default_name().await.map_err(login)?,
    };
    let info = models.find(&name).map_err(trouble)?;
    models.settings(&info).await.map(drop).map_err(login)
}

/// A server that an editor brings along.
fn definition(server: McpServer) -> Definition {
    let pairs = |all: Vec<(String, String)>| all.into_iter().collect();
    let (name, transport) = match server {
        McpServer::Stdio(stdio) => (
            stdio.name,
            Ok(Transport::Stdio {
                command: stdio.command.display().to_string(),
                args: stdio.args,
                env: pairs(stdio.env.into_iter().map(|it| (it.name, it.value)).collect()),
                cwd: None,
            }),
        ),
        McpServer::Http(http) => (
            http.name,
            Ok(Transport::Http {
                url: http.url,
                headers: pairs(http.headers.into_iter().map(|it| (it.name, it.value)).collect()),
            }),
        ),
        McpServer::Sse(sse) => (
            sse.name,
            Ok(Transport::Sse {
                url: sse.url,
                headers: pairs(sse.headers.into_iter().map(|it| (it.name, it.value)).collect()),
            }),
        ),
        _ => (
            "unknown".into(),
            Err("the editor names a transport that hew does not know".into()),
        ),
    };
    let none = Transport::Http {
        url: String::new(),
        headers: std::collections::BTreeMap::new(),
    };
    Definition {
        transport,
        origin: "the editor".into(),
        ..Definition::new(name, none)
    }
}

fn trouble(failure: Failure) -> Trouble {
    Trouble {
        what: failure.what,
        hint: failure.hint,
        kind: Kind::Other,
    }
}

fn missing(name: &str) -> Trouble {
    let error = session::Error::Unknown(name.into());
    Trouble {
        what: error.to_string(),
        hint: Some(error.hint().into()),
        kind: Kind::Missing,
    }
}
