//! The history of a session: its turns and the changes of each.

use crate::recovery::record_interrupted_command;
use crate::{Error, VersionContents};
use futures::future::BoxFuture;
use model::CallId;
use session::{
    Body, Change, FileVersion, Item, ItemId, LoadedSession, OpenSession, RestoreKind, SessionId, SessionMeta, Store,
    Time,
};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::SqliteStore;
use workspace::checkpoint::{BlobDir, BlobLimits};

/// The prompt of the changes that a rewind of the conversation kept.
pub const FILES_KEPT: &str = "files kept by a rewind";

/// Minimum length of a part of an item id.
const MIN_ID_CHARS: usize = 4;

/// A session with its items and its project.
pub struct SessionHistory {
    pub(crate) store: Arc<SqliteStore>,
    pub(crate) meta: SessionMeta,
    /// The project's folder, canonical.
    pub(crate) root: PathBuf,
    /// From the first item to the head.
    pub(crate) items: Vec<Arc<Item>>,
    /// BlobLimits for storing overwritten file versions.
    limits: BlobLimits,
    /// Held if the session is opened for writing.
    _lease: Option<session::Lease>,
}

/// How a session is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionAccess {
    /// For reading.
    Read,
    /// For writing. No other process can open the session for writing at the same time.
    Write,
}

/// A turn and its changes.
#[derive(Debug, Clone)]
pub(crate) struct RecordedTurn {
    /// Its first item.
    pub(crate) id: ItemId,
    /// The text of its prompt.
    pub(crate) prompt: String,
    /// Its changes, in order.
    pub(crate) changes: Vec<Change>,
}

/// The turns that can be undone and those that can be redone.
#[derive(Debug, Default)]
pub(crate) struct UndoHistory {
    /// Turns that are not undone, the oldest first.
    pub(crate) applied: Vec<RecordedTurn>,
    /// Undone and not redone turns, the newest last.
    pub(crate) undone: Vec<UndoneTurns>,
}

/// Turns that were undone together.
#[derive(Debug)]
pub(crate) struct UndoneTurns {
    /// The item that records the undo.
    pub(crate) id: ItemId,
    /// The changes made by the undo.
    pub(crate) changes: Vec<Change>,
    /// The turns.
    pub(crate) turns: Vec<RecordedTurn>,
}

impl SessionHistory {
    /// Opens a session. `root` is the canonical folder of its project, `limits` apply to stored file versions.
    pub async fn open(
        store: Arc<SqliteStore>,
        session: SessionId,
        root: PathBuf,
        limits: BlobLimits,
        access: SessionAccess,
    ) -> Result<Self, Error> {
        let (loaded, lease) = match access {
            SessionAccess::Read => (store.load(session).await?, None),
            SessionAccess::Write => {
                let OpenSession { loaded, lease } = store.open(session).await?;
                match record_interrupted_command(&store, session, &root, limits).await? {
                    true => (store.load(session).await?, Some(lease)),
                    false => (loaded, Some(lease)),
                }
            }
        };
        let LoadedSession { meta, items, .. } = loaded;
        let items = with_subtasks(&store, meta.id, items).await?;
        Ok(SessionHistory {
            store,
            meta,
            root,
            items,
            limits,
            _lease: lease,
        })
    }

    /// The id of the session.
    pub fn id(&self) -> SessionId {
        self.meta.id
    }

    /// The items from the first one to the head. Results include the changes of their subtasks.
    pub fn items(&self) -> &[Arc<Item>] {
        &self.items
    }

    /// The canonical folder of the project.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The contents of these versions.
    pub async fn contents(&self, versions: &[&FileVersion]) -> Result<VersionContents, Error> {
        VersionContents::load(&self.store, versions).await
    }

    /// The storage for file versions, with its limits.
    pub(crate) fn blob_dir(&self) -> BlobDir {
        self.store.files().with_limits(self.limits)
    }

    /// The items from the first one to this one, on any branch.
    pub(crate) async fn path_to(&self, item: ItemId) -> Result<Vec<Arc<Item>>, Error> {
        let items = self.store.path_to(self.meta.id, item).await?;
        with_subtasks(&self.store, self.meta.id, items).await
    }

    /// Appends an item.
    pub async fn append(&mut self, body: Body, now: Time) -> Result<(), Error> {
        let item = Arc::new(Item {
            id: ItemId::new(),
            parent: self.items.last().map(|item| item.id),
            at: now,
            body,
        });
        self.store.append(self.meta.id, Arc::clone(&item)).await?;
        self.items.push(item);
        Ok(())
    }

    /// Finds an item by the number of a prompt on this branch, or by part of its id on any branch.
    pub async fn find_item(&self, name: &str) -> Result<ItemId, Error> {
        if let Ok(number) = name.parse::<usize>()
            && name.len() < MIN_ID_CHARS
        {
            let prompt = number.checked_sub(1).and_then(|at| prompts(&self.items).nth(at));
            return prompt.map(|item| item.id).ok_or(Error::UnknownPromptNumber(number));
        }
        let is_id = name.len() >= MIN_ID_CHARS && name.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
        let found = match is_id {
            true => self.store.items_like(self.meta.id, name).await?,
            false => Vec::new(),
        };
        match found.as_slice() {
            [only] => Ok(*only),
            [] => Err(Error::UnknownItem(name.to_owned())),
            several => Err(Error::AmbiguousItem {
                name: name.to_owned(),
                count: several.len(),
            }),
        }
    }
}

/// The user's prompts.
pub fn prompts(items: &[Arc<Item>]) -> impl Iterator<Item = &Arc<Item>> {
    items.iter().filter(|item| matches!(item.body, Body::Prompt { .. }))
}

/// Adds the changes of subtasks to the results of the calls that started them.
pub(crate) fn with_subtasks(
    store: &Arc<SqliteStore>,
    id: SessionId,
    items: Vec<Arc<Item>>,
) -> BoxFuture<'static, Result<Vec<Arc<Item>>, Error>> {
    let store = Arc::clone(store);
    Box::pin(async move {
        let mut handed: HashMap<CallId, Vec<Change>> = HashMap::new();
        for child in store.children(id).await? {
            let Some(parent) = child.parent else { continue };
            let loaded = store.load(child.id).await?;
            let items = with_subtasks(&store, child.id, loaded.items).await?;
            let all = items.iter().flat_map(|item| item.changes()).cloned();
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

/// Computes applied and undone turns from the items.
pub(crate) fn undo_history(items: &[Arc<Item>]) -> UndoHistory {
    let mut history = UndoHistory::default();
    let mut before: Option<&Item> = None;
    for item in items {
        match &item.body {
            // A prompt sent during a turn belongs to that turn.
            Body::Prompt { message } | Body::Notification { message, .. } if !before.is_some_and(is_mid_turn) => {
                history.applied.push(RecordedTurn {
                    id: item.id,
                    prompt: session::user_text(message),
                    changes: Vec::new(),
                });
            }
            Body::Result { changes, .. } if !changes.is_empty() => history.record_changes(item.id, changes),
            Body::Restored {
                kind: how,
                items: of,
                changes,
                ..
            } => history.record_restore(item.id, *how, of, changes),
            _ => {}
        }
        before = Some(item);
    }
    history
}

fn is_mid_turn(before: &Item) -> bool {
    matches!(
        before.body,
        Body::Result { .. } | Body::Todos { .. } | Body::Prompt { .. }
    )
}

impl UndoHistory {
    fn record_changes(&mut self, id: ItemId, changes: &[Change]) {
        // New changes end the chance to redo.
        self.undone.clear();
        if self.applied.is_empty() {
            self.applied.push(RecordedTurn {
                id,
                prompt: String::new(),
                changes: Vec::new(),
            });
        }
        if let Some(turn) = self.applied.last_mut() {
            turn.changes.extend_from_slice(changes);
        }
    }

    fn record_restore(&mut self, id: ItemId, how: RestoreKind, of: &[ItemId], changes: &[Change]) {
        match how {
            RestoreKind::Undo => {
                let (turns, standing) = std::mem::take(&mut self.applied)
                    .into_iter()
                    .partition(|turn| of.contains(&turn.id));
                self.applied = standing;
                self.undone.push(UndoneTurns {
                    id,
                    changes: changes.to_vec(),
                    turns,
                });
            }
            RestoreKind::Redo => {
                let (again, undone) = std::mem::take(&mut self.undone)
                    .into_iter()
                    .partition::<Vec<_>, _>(|undone| of.contains(&undone.id));
                self.undone = undone;
                self.applied.extend(again.into_iter().flat_map(|undone| undone.turns));
                self.applied.sort_by_key(|turn| turn.id);
            }
            RestoreKind::FilesKept => {
                self.undone.clear();
                self.applied.push(RecordedTurn {
                    id,
                    prompt: FILES_KEPT.into(),
                    changes: changes.to_vec(),
                });
            }
        }
    }
}
