//! `hew run`: works on a task until it is done.

use super::answer::Expected;
use super::drive::{self, Told};
use super::{ask, load_for};
use crate::args::{Global, Run, Turn};
use crate::config::{Layer, Loaded, Origin};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::words::line;
use crate::wiring::{self, Choice, Start, Which};
use crate::{input, output, project};
use agent::{Approvals, Previews};
use session::{Command, Delivery, Meta, SessionId, Store};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::Sqlite;
use workspace::checkpoint::Depot;

/// How many sessions are named in place of one that is not there.
const MOST_NEAR: usize = 3;
/// Ids less alike than this have nothing to do with each other.
const ALIKE: f64 = 0.6;
/// The widest title beside an id.
const TITLE: usize = 40;

pub(super) async fn run(args: Run, global: &Global, env: &Environment) -> Result<Exit> {
    // What can be wrong with the arguments is said before anything is waited for or written.
    let expected = args.turn.output_schema.as_deref().map(Expected::read).transpose()?;
    if args.session.is_some() || args.continue_last {
        let store = wiring::open_store(env)?;
        let root = project::root(global.cwd.as_deref(), env)?;
        let meta = find(&store, args.session.as_deref(), &root).await?;
        let command = prompt(&args.prompt, &args.turn)?.ok_or_else(nothing_said)?;
        return go_on(meta, store, command, args.turn, expected, global, env).await;
    }
    let root = project::root(global.cwd.as_deref(), env)?;
    if !args.turn.json && ask::somebody_is_there() {
        super::trust::ask_first(&root, env)?;
    }
    let loaded = load_for(root.clone(), global, env, args.turn.layers())?;
    let command = prompt(&args.prompt, &args.turn)?.ok_or_else(nothing_said)?;
    let store = wiring::open_store(env)?;
    let work = Work {
        root,
        loaded,
        store,
        which: Which::New,
        command,
        turn: args.turn,
        expected,
    };
    work.go(env).await
}

/// The session that is meant: by its id or the beginning of it, or the newest of the project.
pub(crate) async fn find(store: &Sqlite, id: Option<&str>, root: &Path) -> Result<Meta> {
    match id {
        Some(prefix) => match store.find(prefix).await {
            Ok(id) => {
                let meta = store.list(None).await?.into_iter().find(|meta| meta.id == id);
                meta.ok_or_else(|| session::Error::Unknown(prefix.into()).into())
            }
            Err(error @ session::Error::Unknown(_)) => {
                let near = near(&store.list(None).await?, prefix, root);
                let failure = Failure::from(error);
                Err(match near.is_empty() {
                    true => failure,
                    false => failure.hint(format!("perhaps {}; `hew sessions list` shows all", near.join(" or "))),
                })
            }
            Err(error) => Err(error.into()),
        },
        None => {
            let mut sessions = store.list(Some(root.into())).await?.into_iter();
            // A subtask is gone on with by its parent, or when it is named.
            let newest = sessions.find(|meta| meta.parent.is_none());
            newest.ok_or_else(|| {
                Failure::usage(format!("there is no session in {}", root.display()))
                    .hint("`hew sessions list --all` shows those of other projects")
            })
        }
    }
}

/// The sessions whose ids come nearest to what was said, or else the newest of the project: each with its title.
fn near(sessions: &[Meta], said: &str, root: &Path) -> Vec<String> {
    let likeness = |meta: &Meta| {
        let id = meta.id.to_string();
        let length = said.chars().count();
        strsim::normalized_levenshtein(said, &id.chars().take(length).collect::<String>())
    };
    let mut alike: Vec<&Meta> = sessions.iter().filter(|meta| likeness(meta) > ALIKE).collect();
    // Those equally near stay in their order, which is the newest first.
    alike.sort_by(|a, b| likeness(b).total_cmp(&likeness(a)));
    if alike.is_empty() {
        alike.extend(
            sessions
                .iter()
                .filter(|meta| meta.root == root && meta.parent.is_none()),
        );
    }
    let named = alike.into_iter().take(MOST_NEAR).map(|meta| match &meta.title {
        Some(title) => format!("{} ({})", short(meta.id), line(title, TITLE)),
        None => short(meta.id),
    });
    named.collect()
}

/// Goes on with a session that exists, in its own project and with its own model unless others are named.
pub(super) async fn go_on(
    meta: Meta,
    store: Arc<Sqlite>,
    command: Command,
    turn: Turn,
    expected: Option<Expected>,
    global: &Global,
    env: &Environment,
) -> Result<Exit> {
    let root = match &global.cwd {
        Some(_) => project::root(global.cwd.as_deref(), env)?,
        None => wiring::session_root(&meta.root)?,
    };
    let own = Layer::one(Origin::BuiltIn, &["model".into()], meta.model.clone().into());
    let mut loaded = load_for(root.clone(), global, env, turn.layers())?;
    if turn.model.is_none() {
        loaded.config.model = Some(meta.model);
        loaded.layers.push(own);
    }
    let work = Work {
        root,
        loaded,
        store,
        which: Which::Existing(meta.id),
        command,
        turn,
        expected,
    };
    work.go(env).await
}

/// What the person says, as a command.
pub(super) fn prompt(words: &[String], turn: &Turn) -> Result<Option<Command>> {
    Ok(input::message(words, &turn.file)?.map(|message| Command::Prompt {
        message,
        delivery: Delivery::Queue,
    }))
}

fn nothing_said() -> Failure {
    Failure::usage("there is nothing to do").hint("say what to do: hew run \"…\", or pipe it in")
}

/// A session to start and a command to give it.
struct Work {
    root: PathBuf,
    loaded: Loaded,
    store: Arc<Sqlite>,
    which: Which,
    command: Command,
    turn: Turn,
    expected: Option<Expected>,
}

impl Work {
    async fn go(self, env: &Environment) -> Result<Exit> {
        let resumed = match self.which {
            Which::New => false,
            Which::Existing(_) => true,
        };
        if let Some(what) = project::too_wide(&self.root, env) {
            output::complain(&format!(
                "warning: {what} is the project: everything in it may be read and changed; -C names another folder\n"
            ));
        }
        let approvals = match !self.turn.json && ask::somebody_is_there() {
            true => Approvals::Ask,
            false => Approvals::Deny,
        };
        let started = wiring::start(Start {
            config: &self.loaded.config,
            env,
            root: &self.root,
            store: Arc::clone(&self.store),
            which: self.which,
            approvals,
            previews: match self.turn.json {
                true => Previews::Show,
                false => Previews::Skip,
            },
            output_schema: self.expected.as_ref().map(Expected::for_model),
            layers: &self.loaded.layers,
            trust: self.loaded.trust,
            files: &self.turn.files,
            model: match self.turn.model {
                Some(_) => Choice::Asked,
                None => Choice::Configured,
            },
            client: wiring::acp::Client::default(),
        })
        .await?;
        if started.complete && self.command == Command::Continue {
            return Err(Failure::usage("this session has nothing unfinished")
                .hint(format!("say what to do next: {} \"…\"", resume_command(started.id))));
        }
        let told = Told {
            json: self.turn.json,
            quiet: self.turn.quiet,
            resumed,
            root: &self.root,
            prefix: "",
        };
        let depot = started.depot.clone();
        let command = wiring::mcp::slash(started.servers.as_ref(), self.command).await?;
        let exit = drive::drive(started, command, self.expected, &told, env).await;
        make_room(&self.store, &depot).await;
        exit
    }
}

/// Forgets the oldest versions of files when those that are kept have come near their quota.
pub(crate) async fn make_room(store: &Sqlite, depot: &Depot) {
    let most = depot.limits().quota / 4 * 3;
    // Whoever has kept nothing need not look how much there is.
    if !depot.is_known() || depot.used() <= most {
        return;
    }
    if let Err(error) = store.prune(most).await {
        output::complain(&format!("warning: old checkpoints could not be removed: {error}\n"));
    }
}

/// The command that goes on with a session, for people to copy.
pub(crate) fn resume_command(id: SessionId) -> String {
    format!("hew resume {}", short(id))
}

/// The beginning of an id that is enough to find it.
pub(super) fn short(id: SessionId) -> String {
    // Ids begin with the time: thirteen characters tell sessions apart that began within a few milliseconds.
    id.to_string().chars().take(13).collect()
}
