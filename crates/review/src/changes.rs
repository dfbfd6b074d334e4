//! The review of a session's changes: lists the pending changes, and accepts or rejects them.

mod binary;
mod decide;
mod folders;
mod metadata;
mod pending;
mod trace;
mod write;

pub use binary::BinaryChange;
pub use decide::ReviewRequest;
pub use metadata::ModeChange;
pub use pending::{
    HunkKind, LinkChange, PendingChanges, PendingContent, PendingCount, PendingFile, PendingHunk, UnreadableReason,
};

use crate::history::with_subtasks;
use crate::{Error, PathScope, VersionContents};
use decide::{ReviewDecisions, ReviewOutcome, ReviewedState, file_writes, metadata_steps, resolve_decisions};
use model::Message;
use session::{Body, FileKind, FileVersion, Item, ItemId, OpenSession, ReviewedFile, SessionMeta, Store, Time};
use std::path::Path;
use std::sync::Arc;
use store::SqliteStore;
use trace::pending_changes;
use workspace::Workspace;
use workspace::checkpoint::restore;
use write::apply_all;

/// The review of a session's changes.
pub struct ChangeReview {
    store: Arc<SqliteStore>,
    session: SessionMeta,
    workspace: Workspace,
    scope: PathScope,
}

/// Pending changes within and outside of a scope.
pub struct ScopedChanges {
    /// Changes within the scope.
    pub pending: PendingChanges,
    /// The number of changes outside of the scope, if there are any.
    pub elsewhere: Option<PendingCount>,
}

/// The result of a review.
pub struct ReviewResult {
    /// Ids of the accepted changes.
    pub accepted: Vec<String>,
    /// Ids of the rejected changes.
    pub rejected: Vec<String>,
    /// The changes that are still pending.
    pub remaining: ScopedChanges,
}

/// Decisions that are applied to the files.
struct AppliedDecisions {
    accepted: Vec<String>,
    rejected: Vec<String>,
    /// The item that records them; `None` if nothing was decided.
    body: Option<Body>,
}

impl ChangeReview {
    /// A review of the changes within a scope. The workspace is the project of the session.
    pub fn new(store: Arc<SqliteStore>, session: SessionMeta, workspace: Workspace, scope: PathScope) -> Self {
        ChangeReview {
            store,
            session,
            workspace,
            scope,
        }
    }

    /// The session.
    pub fn session(&self) -> &SessionMeta {
        &self.session
    }

    /// The root of the project.
    pub fn root(&self) -> &Path {
        self.workspace.root()
    }

    /// The pending changes.
    pub async fn pending(&self) -> Result<ScopedChanges, Error> {
        self.scoped(&self.items().await?).await
    }

    /// Accepts and rejects changes, and records the decisions in the session.
    pub async fn decide(&self, request: &ReviewRequest, now: Time) -> Result<ReviewResult, Error> {
        // The lease keeps other processes from writing to the session.
        let OpenSession { loaded, lease } = self.store.open(self.session.id).await?;
        let mut items = with_subtasks(&self.store, self.session.id, loaded.items).await?;
        // Files first: if writing the session fails, the files still show what was rejected.
        let applied = self.apply(&items, request).await?;
        if let Some(body) = applied.body {
            let item = Arc::new(Item {
                id: ItemId::new(),
                parent: items.last().map(|item| item.id),
                at: now,
                body,
            });
            self.store.append(self.session.id, Arc::clone(&item)).await?;
            items.push(item);
        }
        drop(lease);
        Ok(ReviewResult {
            accepted: applied.accepted,
            rejected: applied.rejected,
            remaining: self.scoped(&items).await?,
        })
    }

    /// Accepts and rejects changes of a session that is open in this process. Returns the item that the owner of the session
    /// must append.
    pub async fn decide_in_open_session(&self, request: &ReviewRequest) -> Result<Option<Body>, Error> {
        Ok(self.apply(&self.items().await?, request).await?.body)
    }

    async fn items(&self) -> Result<Vec<Arc<Item>>, Error> {
        let items = self.store.load(self.session.id).await?.items;
        with_subtasks(&self.store, self.session.id, items).await
    }

    async fn scoped(&self, items: &[Arc<Item>]) -> Result<ScopedChanges, Error> {
        let mut pending = pending_changes(self.store.as_ref(), &self.workspace, items).await?;
        // A path in which the session never changed anything is probably mistyped.
        if let Some(path) = self.scope.without_match(&pending.touched_paths) {
            return Err(Error::UnchangedPath {
                path: path.to_owned(),
                pending: pending.files.into_iter().map(|file| file.path).collect(),
            });
        }
        let mut elsewhere = PendingChanges::default();
        let is_included = |file: &PendingFile| self.scope.contains(&file.path);
        (pending.files, elsewhere.files) = pending.files.into_iter().partition(is_included);
        pending.touched_paths.retain(|path| self.scope.contains(path));
        Ok(ScopedChanges {
            pending,
            elsewhere: (!elsewhere.files.is_empty()).then(|| elsewhere.count()),
        })
    }

    async fn apply(&self, items: &[Arc<Item>], request: &ReviewRequest) -> Result<AppliedDecisions, Error> {
        let ScopedChanges { mut pending, .. } = self.scoped(items).await?;
        let decisions = resolve_decisions(&pending, request)?;
        let (accepted, rejected) = decisions.ids(&pending);
        let outcomes = decisions.outcomes(&mut pending)?;
        self.write(&pending, &outcomes).await?;
        Ok(AppliedDecisions {
            accepted,
            rejected,
            body: (!outcomes.is_empty()).then(|| self.body(&pending, &decisions, &outcomes)),
        })
    }

    /// Writes the decided contents, permissions and links.
    async fn write(&self, pending: &PendingChanges, outcomes: &[ReviewOutcome]) -> Result<(), Error> {
        let root = self.workspace.root();
        let writes = file_writes(pending, outcomes);
        let folders = folders::parents_of_removed(&writes);
        let links = outcomes.iter().filter_map(|outcome| match &outcome.state {
            ReviewedState::Link(version) => version.as_ref(),
            ReviewedState::File { .. } => None,
        });
        let contents = VersionContents::load(&self.store, &links.collect::<Vec<_>>()).await?;
        // The current state is read after the contents are written, because a write may replace the file.
        let set_metadata = || restore(root, &metadata_steps(pending, outcomes, root), &contents).map(|_| ());
        apply_all(writes, set_metadata)?;
        folders::remove_empty(&self.workspace, folders, self.session.created);
        Ok(())
    }

    /// The session item that records the decisions.
    fn body(&self, pending: &PendingChanges, decisions: &ReviewDecisions, outcomes: &[ReviewOutcome]) -> Body {
        let file = |bytes: &Option<bytes::Bytes>, mode: Option<u32>| {
            bytes.as_ref().map(|bytes| FileVersion {
                kind: FileKind::File { mode },
                ..self.store.put_blob(bytes.clone()).into()
            })
        };
        let changes = outcomes.iter().filter_map(|outcome| {
            let path = pending.files.get(outcome.file)?.path.clone();
            let (base, current) = match &outcome.state {
                ReviewedState::Link(version) => (version.clone(), version.clone()),
                ReviewedState::File { base, current, modes } => (
                    file(base, modes.map(|modes| modes.base)),
                    file(current, modes.map(|modes| modes.current)),
                ),
            };
            Some(ReviewedFile { path, base, current })
        });
        Body::Review {
            message: decisions.model_note(pending).map(|note| Arc::new(Message::user(note))),
            changes: changes.collect(),
        }
    }
}
