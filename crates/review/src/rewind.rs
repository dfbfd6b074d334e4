//! Rewind: moves a session back to an earlier item, with or without the files.

use crate::contents::store_current;
use crate::{ConflictPolicy, Error, RestorePlan, SessionHistory, VersionContents};
use model::Message;
use session::{Body, Change, FileVersion, Item, ItemId, RestoreKind, Store, Time};
use std::sync::Arc;
use workspace::checkpoint::RestoreStep;

/// Whether a rewind restores the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewindFiles {
    /// Restores them, with this policy for conflicts.
    Restore(ConflictPolicy),
    /// Leaves them unchanged.
    Keep,
}

/// A planned rewind.
pub struct RewindPlan {
    to: ItemId,
    /// The item before the rewind.
    from: ItemId,
    /// The items from the first one to the target.
    target: Vec<Arc<Item>>,
    files: RewindFiles,
    contents: VersionContents,
    /// The steps that restore the files.
    pub restore: RestorePlan,
}

impl RewindPlan {
    /// Plans a rewind to an item on any branch.
    pub async fn new(history: &SessionHistory, to: ItemId, files: RewindFiles) -> Result<Self, Error> {
        let head = history.items.last().map(|item| item.id);
        let from = head.filter(|head| *head != to).ok_or(Error::AlreadyAtItem)?;
        let target = history.path_to(to).await?;
        let policy = match files {
            RewindFiles::Restore(policy) => policy,
            // No file is changed, so there are no conflicts.
            RewindFiles::Keep => ConflictPolicy::Overwrite,
        };
        let (restore, contents) = history.plan(&history.moves_to(&target), policy).await?;
        Ok(RewindPlan {
            to,
            from,
            target,
            files,
            contents,
            restore,
        })
    }

    /// The item before the rewind.
    pub fn from(&self) -> ItemId {
        self.from
    }

    /// Fails if there are conflicts that the policy does not resolve.
    pub fn check(&self) -> Result<(), Error> {
        match self.files {
            RewindFiles::Restore(policy) => self.restore.check(policy),
            RewindFiles::Keep => Ok(()),
        }
    }

    /// Changes the files of a session that is open elsewhere. Its owner moves the session and then appends the returned
    /// item, if any.
    pub fn apply_in_open_session(mut self, history: &SessionHistory) -> Result<(RestorePlan, Option<Body>), Error> {
        match self.files {
            RewindFiles::Restore(_) => {
                history.apply(&mut self.restore, &self.contents)?;
                Ok((self.restore, None))
            }
            RewindFiles::Keep => Ok((RestorePlan::default(), kept_files(history, &self.restore))),
        }
    }

    /// Moves the session and, unless they are kept, the files. Returns the applied steps.
    pub async fn apply(mut self, history: &mut SessionHistory, now: Time) -> Result<RestorePlan, Error> {
        if let RewindFiles::Restore(_) = self.files {
            history.apply(&mut self.restore, &self.contents)?;
        }
        history.store.rewind(history.meta.id, self.to).await?;
        history.items = self.target;
        match self.files {
            RewindFiles::Restore(_) => Ok(self.restore),
            RewindFiles::Keep => {
                if let Some(body) = kept_files(history, &self.restore) {
                    history.append(body, now).await?;
                }
                Ok(RestorePlan::default())
            }
        }
    }
}

/// The item that records how the files differ from the state that the conversation knows.
fn kept_files(history: &SessionHistory, plan: &RestorePlan) -> Option<Body> {
    if plan.steps.is_empty() {
        return None;
    }
    let start =
        "The conversation was rewound to this point without the files. Compared with this point, these files differ";
    let differences = plan.steps.iter().map(|step| RestoreStep {
        path: step.path.clone(),
        from: step.to.clone(),
        to: step.from.clone(),
    });
    let differences = RestorePlan {
        steps: differences.collect(),
        ..RestorePlan::default()
    };
    Some(Body::Restored {
        message: Arc::new(Message::user(differences.model_note(start))),
        kind: RestoreKind::FilesKept,
        items: Vec::new(),
        changes: kept_file_changes(history, differences.changes()),
    })
}

/// The changes to the current versions, which are stored.
fn kept_file_changes(history: &SessionHistory, changes: Vec<Change>) -> Vec<Change> {
    let blob_dir = history.blob_dir();
    let changes = changes.into_iter().map(|change| Change {
        after: change.after.map(|current| FileVersion {
            is_stored: store_current(&blob_dir, &history.root.join(&change.path), &current),
            ..current
        }),
        ..change
    });
    changes.collect()
}
