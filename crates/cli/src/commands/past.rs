//! Going back: a session's turns, and what its files were at each point.

mod contents;
mod plan;
mod told;

pub(super) use contents::{Kept, keep_current};
pub(super) use plan::{Clash, Move, Plan, backward};
pub(super) use told::{print, sentence, sum};

use super::run::find;
use crate::args::{Global, Going};
use crate::environment::Environment;
use crate::failure::{Failure, Result};
use crate::output::words;
use crate::{project, wiring};
use futures::future::BoxFuture;
use model::CallId;
use session::{Body, Change, Item, ItemId, Loaded, Meta, Opened, Restoring, SessionId, Store};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use store::Sqlite;
use workspace::checkpoint::Limits;

/// A session and the project whose files it changed.
pub(super) struct Past {
    pub(super) store: Arc<Sqlite>,
    pub(super) meta: Meta,
    /// The project's folder, canonical.
    pub(super) root: PathBuf,
    /// From the first item to the head.
    pub(super) items: Vec<Arc<Item>>,
    /// How much may be kept of what going back replaces.
    limits: Limits,
    /// The right to write to it, where something will be written.
    _lease: Option<session::Lease>,
}

/// Whether something will be written to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// What a person asked for and what it changed.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    /// Its first item.
    pub(super) id: ItemId,
    /// What was said.
    pub(super) said: String,
    /// What it changed, in order.
    pub(super) changes: Vec<Change>,
}

/// Turns that can be taken back, and takings-back that can be taken back themselves.
#[derive(Debug, Default)]
pub(super) struct History {
    /// The turns whose changes stand, the oldest first.
    pub(super) standing: Vec<Turn>,
    /// What was undone and not redone, the newest last.
    pub(super) undone: Vec<Undone>,
}

/// Turns that were taken back together.
#[derive(Debug)]
pub(super) struct Undone {
    /// The item that says so.
    pub(super) id: ItemId,
    /// What taking them back changed.
    pub(super) changes: Vec<Change>,
    /// The turns.
    pub(super) turns: Vec<Turn>,
}

impl Past {
    /// Opens a session by its name, or the newest of this project.
    pub(super) async fn open(
        session: Option<&str>,
        access: Access,
        global: &Global,
        env: &Environment,
    ) -> Result<Self> {
        let store = wiring::open_store(env)?;
        let here = project::root(global.cwd.as_deref(), env)?;
        let named = session.filter(|name| *name != "last");
        let meta = find(&store, named, &here).await?;
        let root = match &global.cwd {
            Some(_) => here,
            None => wiring::session_root(&meta.root)?,
        };
        let root = root
            .canonicalize()
            .map_err(|error| Failure::file("open", &root, &error))?;
        let config = super::load_for(root.clone(), global, env, Vec::new())?.config;
        let limits = wiring::room(&config.checkpoints);
        let (loaded, lease) = match access {
            Access::Read => (store.load(meta.id).await?, None),
            Access::Write => {
                let Opened { loaded, lease } = store.open(meta.id).await?;
                (loaded, Some(lease))
            }
        };
        let Loaded { meta, items, .. } = loaded;
        let items = with_subtasks(&store, meta.id, items).await?;
        Ok(Past {
            store,
            meta,
            root,
            items,
            limits,
            _lease: lease,
        })
    }

    /// From the first item to this one, on whatever branch.
    pub(super) async fn path_to(&self, item: ItemId) -> Result<Vec<Arc<Item>>> {
        let items = self.store.path_to(self.meta.id, item).await?;
        with_subtasks(&self.store, self.meta.id, items).await
    }

    /// Adds an item.
    pub(super) async fn append(&mut self, body: Body) -> Result<()> {
        let item = Arc::new(Item {
            id: ItemId::new(),
            parent: self.items.last().map(|item| item.id),
            at: words::now(),
            body,
        });
        self.store.append(self.meta.id, Arc::clone(&item)).await?;
        self.items.push(item);
        Ok(())
    }

    /// The item that a person means: the number of a prompt on this branch, or a part of an id on any.
    pub(super) async fn item(&self, name: &str) -> Result<ItemId> {
        let session = super::run::short(self.meta.id);
        let hint = format!("`hew rewind {session}` lists the prompts");
        if let Ok(number) = name.parse::<usize>()
            && name.len() < 4
        {
            let prompt = number.checked_sub(1).and_then(|at| prompts(&self.items).nth(at));
            return prompt
                .map(|item| item.id)
                .ok_or_else(|| Failure::usage(format!("this session has no prompt {number}")).hint(hint));
        }
        let is_part = name.len() >= 4 && name.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
        let found = match is_part {
            true => self.store.items_like(self.meta.id, name).await?,
            false => Vec::new(),
        };
        match found.as_slice() {
            [only] => Ok(*only),
            [] => Err(Failure::usage(format!("this session has no item `{name}`")).hint(hint)),
            several => {
                Err(Failure::usage(format!("`{name}` fits {} items", several.len())).hint("write more of its id"))
            }
        }
    }
}

/// What the person said, on this branch.
pub(super) fn prompts(items: &[Arc<Item>]) -> impl Iterator<Item = &Arc<Item>> {
    items.iter().filter(|item| matches!(item.body, Body::Prompt { .. }))
}

/// What an item changed on disk, as far as the session knows.
pub(super) fn changes(item: &Item) -> &[Change] {
    match &item.body {
        Body::Result { changes, .. } | Body::Restored { changes, .. } => changes,
        Body::Prompt { .. }
        | Body::Reply { .. }
        | Body::Summary { .. }
        | Body::Notice { .. }
        | Body::Wake { .. }
        | Body::Todos { .. }
        | Body::Panels { .. }
        | Body::Mode { .. }
        | Body::Review { .. } => &[],
    }
}

/// The items, with what subtasks changed as if the calls that handed the work over had changed it.
pub(super) fn with_subtasks(
    store: &Arc<Sqlite>,
    id: SessionId,
    items: Vec<Arc<Item>>,
) -> BoxFuture<'static, Result<Vec<Arc<Item>>>> {
    let store = Arc::clone(store);
    Box::pin(async move {
        let mut handed: HashMap<CallId, Vec<Change>> = HashMap::new();
        for child in store.children(id).await? {
            let Some(parent) = child.parent else { continue };
            let loaded = store.load(child.id).await?;
            let items = with_subtasks(&store, child.id, loaded.items).await?;
            let all = items.iter().flat_map(|item| changes(item)).cloned();
            handed.entry(parent.call).or_default().extend(all);
        }
        if handed.is_empty() {
            return Ok(items);
        }
        let add = |item: Arc<Item>| match &item.body {
            Body::Result { call, .. } if handed.contains_key(call) => {
                let mut item = Item::clone(&item);
                if let Body::Result { call, changes, .. } = &mut item.body {
                    changes.splice(0..0, handed.get(call).into_iter().flatten().cloned());
                }
                Arc::new(item)
            }
            _ => item,
        };
        Ok(items.into_iter().map(add).collect())
    })
}

/// What stands and what was undone, read off the items.
pub(super) fn history(items: &[Arc<Item>]) -> History {
    let mut history = History::default();
    let mut before: Option<&Item> = None;
    for item in items {
        match &item.body {
            // What is said while tools work belongs to their turn.
            Body::Prompt { message } | Body::Wake { message, .. } if !before.is_some_and(is_under_way) => {
                history.standing.push(Turn {
                    id: item.id,
                    said: session::spoken(message),
                    changes: Vec::new(),
                });
            }
            Body::Result { changes, .. } if !changes.is_empty() => history.changed(item.id, changes),
            Body::Restored { how, of, changes, .. } => history.restored(item.id, *how, of, changes),
            Body::Prompt { .. }
            | Body::Result { .. }
            | Body::Reply { .. }
            | Body::Summary { .. }
            | Body::Notice { .. }
            | Body::Wake { .. }
            | Body::Todos { .. }
            | Body::Panels { .. }
            | Body::Mode { .. }
            | Body::Review { .. } => {}
        }
        before = Some(item);
    }
    history
}

fn is_under_way(before: &Item) -> bool {
    matches!(
        before.body,
        Body::Result { .. } | Body::Todos { .. } | Body::Prompt { .. }
    )
}

impl History {
    fn changed(&mut self, id: ItemId, changes: &[Change]) {
        // Whoever goes on working has taken another way.
        self.undone.clear();
        if self.standing.is_empty() {
            self.standing.push(Turn {
                id,
                said: String::new(),
                changes: Vec::new(),
            });
        }
        if let Some(turn) = self.standing.last_mut() {
            turn.changes.extend_from_slice(changes);
        }
    }

    fn restored(&mut self, id: ItemId, how: Restoring, of: &[ItemId], changes: &[Change]) {
        match how {
            Restoring::Undo => {
                let (turns, standing) = std::mem::take(&mut self.standing)
                    .into_iter()
                    .partition(|turn| of.contains(&turn.id));
                self.standing = standing;
                self.undone.push(Undone {
                    id,
                    changes: changes.to_vec(),
                    turns,
                });
            }
            Restoring::Redo => {
                let (again, undone) = std::mem::take(&mut self.undone)
                    .into_iter()
                    .partition::<Vec<_>, _>(|undone| of.contains(&undone.id));
                self.undone = undone;
                self.standing.extend(again.into_iter().flat_map(|undone| undone.turns));
                self.standing.sort_by_key(|turn| turn.id);
            }
            Restoring::Left => {
                self.undone.clear();
                self.standing.push(Turn {
                    id,
                    said: "what was left when the conversation went back".into(),
                    changes: changes.to_vec(),
                });
            }
        }
    }
}

/// What to do about files that others have changed since.
pub(super) fn clash(going: &Going) -> Clash {
    match (going.force, going.keep) {
        (true, _) => Clash::Overwrite,
        (false, true) => Clash::Keep,
        (false, false) => Clash::Refuse,
    }
}
