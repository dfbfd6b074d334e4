//! `hew changes`: every change that the agent made in a session, to be taken as good or back one by one.

mod decide;
mod gather;
mod json;
mod pending;
mod put_back;
mod show;
mod whole;

pub(crate) use json::json_schema;

use super::run::{find, short};
use crate::args::{Changes, Global};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::paint::Paint;
use crate::output::words;
use crate::{output, project, wiring};
use decide::{Outcome, choose, steps};
use gather::gather;
use json::Listing;
use pending::Pending;
use put_back::{Refused, put_back};
use session::{BlobId, Body, Item, ItemId, Loaded, Meta, Opened, Reviewed, Store};
use show::Reader;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::Sqlite;
use workspace::Workspace;

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
        let pending = self.pending(&items).await?;
        if args.json {
            return self.print_json(&pending, &[], &[]);
        }
        let name = short(self.meta.id);
        if pending.files.is_empty() {
            output::complain(&format!("nothing waits for review in session {name}\n"));
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
        let mut items = loaded.items;
        let mut pending = self.pending(&items).await?;
        let verdicts = choose(&pending, args)?;
        let owned = |ids: Vec<&str>| ids.into_iter().map(String::from).collect::<Vec<String>>();
        let (accepted, rejected) = verdicts.ids(&pending);
        let (accepted, rejected) = (owned(accepted), owned(rejected));
        let outcomes = verdicts.outcomes(&mut pending)?;
        // The files first: if the session cannot be written after that, they still tell what was taken back.
        put_back(steps(&pending, &outcomes)).map_err(refused)?;
        if !outcomes.is_empty() {
            items.push(self.keep(&items, &pending, &outcomes).await?);
        }
        drop(lease);
        let left = self.pending(&items).await?;
        if args.json {
            return self.print_json(&left, &accepted, &rejected);
        }
        let rest = match left.files.is_empty() {
            true => "nothing is left to review".into(),
            false => format!("{} left", show::sum(&left)),
        };
        output::complain(&format!(
            "accepted {}, rejected {}; {rest}\n",
            accepted.len(),
            rejected.len()
        ));
        Ok(())
    }

    /// What waits, as far as it was asked for.
    async fn pending(&self, items: &[Arc<Item>]) -> Result<Pending> {
        let mut pending = gather(self.store.as_ref(), &self.workspace, items).await?;
        pending.files.retain(|file| self.scope.has(&file.path));
        pending.known.retain(|path| self.scope.has(path));
        Ok(pending)
    }

    /// Keeps what was decided.
    async fn keep(&self, items: &[Arc<Item>], pending: &Pending, outcomes: &[Outcome]) -> Result<Arc<Item>> {
        let blob = |bytes: &Option<bytes::Bytes>| -> Option<BlobId> {
            bytes.as_ref().map(|bytes| self.store.put_blob(bytes.clone()))
        };
        let changes = outcomes.iter().filter_map(|outcome| {
            Some(Reviewed {
                path: pending.files.get(outcome.file)?.path.clone(),
                base: blob(&outcome.base),
                current: blob(&outcome.current),
            })
        });
        let item = Arc::new(Item {
            id: ItemId::new(),
            parent: items.last().map(|item| item.id),
            at: words::now(),
            body: Body::Review {
                changes: changes.collect(),
            },
        });
        self.store.append(self.meta.id, Arc::clone(&item)).await?;
        Ok(item)
    }

    fn print_json(&self, pending: &Pending, accepted: &[String], rejected: &[String]) -> Result<()> {
        let listing = Listing::of(&self.meta, self.workspace.root(), pending, accepted, rejected);
        output::deliver(&output::pretty(&listing)?)
    }
}

/// Why the files could not be written.
fn refused(refused: Refused) -> Failure {
    let Refused { error, left } = refused;
    match left.as_slice() {
        [] => Failure::failed(error.to_string()).hint("nothing was done; `hew changes` lists what waits now"),
        left => Failure::failed(format!(
            "{error}; and these files could not be put back: {}",
            left.join(", ")
        )),
    }
}

/// Files and folders to which the person keeps to; none means all.
struct Scope(Vec<PathBuf>);

impl Scope {
    /// Paths from the folder hew was started in, as people type them, or from the project's, as the list shows them.
    fn of(paths: &[PathBuf], workspace: &Workspace, env: &Environment) -> Result<Self> {
        let mut all = Vec::new();
        for path in paths {
            let typed = env.cwd.iter().map(|cwd| cwd.join(path));
            for path in typed.chain([path.clone()]) {
                let location = workspace
                    .locate(&path)
                    .map_err(|error| Failure::usage(error.to_string()))?;
                all.push(location.relative().to_owned());
            }
        }
        Ok(Scope(all))
    }

    fn has(&self, path: &Path) -> bool {
        self.0.is_empty() || self.0.iter().any(|wanted| path.starts_with(wanted))
    }
}
