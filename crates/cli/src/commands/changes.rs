//! `hew changes`: every change that the agent made in a session, to be taken as good or back one by one.

mod beside;
mod decide;
mod folders;
mod form;
mod gather;
mod json;
mod pending;
mod put_back;
mod show;
mod whole;

pub(crate) use json::json_schema;

use super::past::{Kept, with_subtasks};
use super::run::{find, short};
use crate::args::{Changes, Global};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::paint::Paint;
use crate::output::words;
use crate::{output, project, wiring};
use decide::{Left, Outcome, choose, forms, steps};
use gather::gather;
use json::Listing;
use pending::Pending;
use put_back::{Refused, put_back};
use session::{Body, Item, ItemId, Kind, Loaded, Meta, Opened, Reviewed, SessionId, Store, Version};
use show::Reader;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::Sqlite;
use workspace::Workspace;
use workspace::checkpoint::restore;

pub(super) async fn changes(args: &Changes, global: &Global, env: &Environment) -> Result<Exit> {
    let store = wiring::open_store(env)?;
    let here = project::root(global.cwd.as_deref(), env)?;
    let named = args.session.as_deref().filter(|name| *name != "last");
    let meta = find(&store, named, &here).await?;
    let root = match &global.cwd {
        Some(_) => here,
        None => wiring::session_root(&meta.root)?,
    };
    let workspace = Workspace::open(&root).map_err(|error| Failure::usage(error.to_string()))?;
    let scope = Scope::of(&args.file, &workspace, env)?;
    let review = Review {
        store,
        meta,
        workspace,
        scope,
    };
    match args.decides() {
        true => review.decide(args).await?,
        false => review.list(args, env).await?,
    }
    Ok(Exit::Done)
}

/// A session whose changes are looked at.
struct Review {
    store: Arc<Sqlite>,
    meta: Meta,
    workspace: Workspace,
    scope: Scope,
}

impl Review {
    async fn list(&self, args: &Changes, env: &Environment) -> Result<()> {
        let Loaded { items, .. } = self.store.load(self.meta.id).await?;
        let items = with_subtasks(&self.store, self.meta.id, items).await?;
        let Waiting { pending, elsewhere } = self.waiting(&items).await?;
        if args.json {
            return self.print_json(&pending, &[], &[]);
        }
        let name = short(self.meta.id);
        if pending.files.is_empty() {
            let there = elsewhere
                .map(|sum| format!(" there; {sum} elsewhere"))
                .unwrap_or_default();
            output::complain(&format!("nothing waits for review in session {name}{there}\n"));
            return Ok(());
        }
        let stdout = std::io::stdout();
        let reader = match stdout.is_terminal() {
            true => Reader::Terminal,
            false => Reader::Other,
        };
        output::deliver(&show::render(&pending, Paint::of(&stdout, env), reader))?;
        output::complain(&format!(
            "{}; to decide: hew changes {name} --accept ID… --reject ID…, or --accept-all, --reject-all\n",
            show::sum(&pending)
        ));
        Ok(())
    }

    async fn decide(&self, args: &Changes) -> Result<()> {
        // From here to the end nobody else writes to the session.
        let Opened { loaded, lease } = self.store.open(self.meta.id).await?;
        let mut items = with_subtasks(&self.store, self.meta.id, loaded.items).await?;
        let Waiting { mut pending, .. } = self.waiting(&items).await?;
        let verdicts = choose(&pending, args)?;
        let owned = |ids: Vec<&str>| ids.into_iter().map(String::from).collect::<Vec<String>>();
        let (accepted, rejected) = verdicts.ids(&pending);
        let (accepted, rejected) = (owned(accepted), owned(rejected));
        let outcomes = verdicts.outcomes(&mut pending)?;
        // The files first: if the session cannot be written after that, they still tell what was taken back.
        self.put_back(&pending, &outcomes).await?;
        if !outcomes.is_empty() {
            items.push(self.keep(&items, &pending, &outcomes).await?);
        }
        drop(lease);
        let Waiting {
            pending: left,
            elsewhere,
        } = self.waiting(&items).await?;
        if args.json {
            return self.print_json(&left, &accepted, &rejected);
        }
        let rest = match (left.files.is_empty(), elsewhere) {
            (true, None) => "nothing is left to review".into(),
            (true, Some(sum)) => format!("nothing is left to review there; {sum} elsewhere"),
            (false, None) => format!("{} left", show::sum(&left)),
            (false, Some(sum)) => format!("{} left there; {sum} elsewhere", show::sum(&left)),
        };
        output::complain(&format!(
            "accepted {}, rejected {}; {rest}\n",
            accepted.len(),
            rejected.len()
        ));
        Ok(())
    }

    /// What waits, as far as it was asked for.
    async fn waiting(&self, items: &[Arc<Item>]) -> Result<Waiting> {
        let mut pending = gather(self.store.as_ref(), &self.workspace, items).await?;
        self.scope.check(&pending)?;
        let mut elsewhere = Pending::default();
        (pending.files, elsewhere.files) = pending.files.into_iter().partition(|file| self.scope.has(&file.path));
        pending.known.retain(|path| self.scope.has(path));
        Ok(Waiting {
            pending,
            elsewhere: (!elsewhere.files.is_empty()).then(|| show::sum(&elsewhere)),
        })
    }

    /// Makes files, permissions and links what was decided.
    async fn put_back(&self, pending: &Pending, outcomes: &[Outcome]) -> Result<()> {
        let root = self.workspace.root();
        let steps = steps(pending, outcomes);
        let gone = folders::of_removed(&steps);
        let links = outcomes.iter().filter_map(|outcome| match &outcome.left {
            Left::Link(version) => version.as_ref(),
            Left::File { .. } => None,
        });
        let kept = Kept::find(&self.store, &links.collect::<Vec<_>>()).await?;
        // What stands there is looked at after the bytes were written: they may have been written anew.
        let rest = || restore(root, &forms(pending, outcomes, root), &kept).map(|_| ());
        put_back(steps, rest).map_err(refused)?;
        folders::remove_empty(&self.workspace, gone, self.meta.created);
        Ok(())
    }

    /// Keeps what was decided.
    async fn keep(&self, items: &[Arc<Item>], pending: &Pending, outcomes: &[Outcome]) -> Result<Arc<Item>> {
        let item = Arc::new(Item {
            id: ItemId::new(),
            parent: items.last().map(|item| item.id),
            at: words::now(),
            body: self.body(pending, outcomes),
        });
        self.store.append(self.meta.id, Arc::clone(&item)).await?;
        Ok(item)
    }

    /// What the session has to keep of what was decided.
    fn body(&self, pending: &Pending, outcomes: &[Outcome]) -> Body {
        let file = |bytes: &Option<bytes::Bytes>, mode: Option<u32>| {
            bytes.as_ref().map(|bytes| Version {
                kind: Kind::File { mode },
                ..self.store.put_blob(bytes.clone()).into()
            })
        };
        let changes = outcomes.iter().filter_map(|outcome| {
            let path = pending.files.get(outcome.file)?.path.clone();
            let (base, current) = match &outcome.left {
                Left::Link(version) => (version.clone(), version.clone()),
                Left::File { base, current, modes } => (
                    file(base, modes.map(|modes| modes.base)),
                    file(current, modes.map(|modes| modes.current)),
                ),
            };
            Some(Reviewed { path, base, current })
        });
        Body::Review {
            changes: changes.collect(),
        }
    }

    fn print_json(&self, pending: &Pending, accepted: &[String], rejected: &[String]) -> Result<()> {
        let listing = Listing::of(&self.meta, self.workspace.root(), pending, accepted, rejected);
        output::deliver(&output::pretty(&listing)?)
    }
}

/// Looks at the changes of a session that is open elsewhere in this process.
pub(crate) struct Beside(Review);

impl Beside {
    /// The session's changes, in its project.
    pub(crate) async fn open(store: Arc<Sqlite>, session: SessionId) -> Result<Self> {
        let meta = store.load(session).await?.meta;
        let root = wiring::session_root(&meta.root)?;
        let workspace = Workspace::open(&root).map_err(|error| Failure::usage(error.to_string()))?;
        let scope = Scope(Vec::new());
        Ok(Beside(Review {
            store,
            meta,
            workspace,
            scope,
        }))
    }

    /// What waits.
    pub(crate) async fn waiting(&self) -> Result<Vec<tui::FileChanges>> {
        let items = self.0.store.load(self.0.meta.id).await?.items;
        let items = with_subtasks(&self.0.store, self.0.meta.id, items).await?;
        let Waiting { pending, .. } = self.0.waiting(&items).await?;
        Ok(pending.files.iter().map(beside::shown).collect())
    }

    /// Decides about changes, by their ids: what was done, in words, and what whoever holds the session has to keep of it.
    pub(crate) async fn decide(&self, accept: Vec<String>, reject: Vec<String>) -> Result<(String, Option<Body>)> {
        let items = self.0.store.load(self.0.meta.id).await?.items;
        let items = with_subtasks(&self.0.store, self.0.meta.id, items).await?;
        let Waiting { mut pending, .. } = self.0.waiting(&items).await?;
        let args = Changes {
            accept,
            reject,
            ..Changes::default()
        };
        let verdicts = choose(&pending, &args)?;
        let outcomes = verdicts.outcomes(&mut pending)?;
        self.0.put_back(&pending, &outcomes).await?;
        let told = format!("accepted {}, taken back {}", args.accept.len(), args.reject.len());
        let body = (!outcomes.is_empty()).then(|| self.0.body(&pending, &outcomes));
        Ok((told, body))
    }
}

/// What waits for review.
struct Waiting {
    /// What was asked for.
    pending: Pending,
    /// How much waits besides, in words.
    elsewhere: Option<String>,
}

/// Why the files could not be written.
fn refused(refused: Refused) -> Failure {
    let Refused { error, left } = refused;
    match left.as_slice() {
        [] => Failure::failed(error).hint("nothing was done; `hew changes` lists what waits now"),
        left => Failure::failed(format!(
            "{error}; and these files could not be put back: {}",
            left.join(", ")
        )),
    }
}

/// Files and folders to which the person keeps to; none means all.
struct Scope(Vec<Wanted>);

/// A file or a folder that the person names.
struct Wanted {
    /// As it was typed.
    typed: PathBuf,
    /// What it may mean.
    means: Vec<PathBuf>,
}

impl Wanted {
    fn has(&self, path: &Path) -> bool {
        self.means.iter().any(|wanted| path.starts_with(wanted))
    }
}

impl Scope {
    /// Paths from the folder hew was started in, as people type them, or from the project's, as the list shows them.
    fn of(paths: &[PathBuf], workspace: &Workspace, env: &Environment) -> Result<Self> {
        let mut all = Vec::new();
        for path in paths {
            let typed = env.cwd.iter().map(|cwd| cwd.join(path));
            let mut means = Vec::new();
            for path in typed.chain([path.clone()]) {
                let location = workspace
                    .locate(&path)
                    .map_err(|error| Failure::usage(error.to_string()))?;
                means.push(location.relative().to_owned());
            }
            all.push(Wanted {
                typed: path.clone(),
                means,
            });
        }
        Ok(Scope(all))
    }

    fn has(&self, path: &Path) -> bool {
        self.0.is_empty() || self.0.iter().any(|wanted| wanted.has(path))
    }

    /// Refuses a path in which the session never changed anything: it is mistyped.
    fn check(&self, pending: &Pending) -> Result<()> {
        let is_strange = |wanted: &&Wanted| !pending.known.iter().any(|path| wanted.has(path));
        let Some(wanted) = self.0.iter().find(is_strange) else {
            return Ok(());
        };
        let files: Vec<String> = pending
            .files
            .iter()
            .map(|file| file.path.display().to_string())
            .collect();
        let more = files.len().saturating_sub(NAMED);
        let mut names = files.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        if more > 0 {
            names.push_str(&format!(" and {more} more"));
        }
        let hint = match files.is_empty() {
            true => "nothing waits for review in this session".into(),
            false => format!("changes wait in {names}"),
        };
        Err(Failure::usage(format!("nothing was changed in {}", wanted.typed.display())).hint(hint))
    }
}

/// How many files a hint names.
const NAMED: usize = 8;
