//! Plans and applies the restoring of file versions, and detects conflicts with changes made outside the session.

use crate::contents::store_current;
use crate::{Error, SessionHistory, VersionContents};
use session::{Change, ChangeCount, FileVersion, Item, same_version};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use workspace::checkpoint::{RestoreStep, current_version, is_protected, restore};

/// Number of files named in the note for the model.
pub(crate) const MAX_NAMED_FILES: usize = 20;

/// A change of a path from one version to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VersionMove {
    pub(crate) path: PathBuf,
    pub(crate) from: Option<FileVersion>,
    pub(crate) to: Option<FileVersion>,
}

/// What to do with files that were changed outside the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictPolicy {
    /// Restore nothing.
    Abort,
    /// Skip these files.
    Keep,
    /// Overwrite them.
    Overwrite,
}

/// The steps to restore file versions.
#[derive(Debug, Default)]
pub struct RestorePlan {
    /// The paths to change, with their current versions.
    pub steps: Vec<RestoreStep>,
    /// Paths that cannot be restored without losing changes, or not at all.
    pub conflicts: Vec<RestoreConflict>,
    /// Paths with changes made outside the session that are overwritten.
    pub overwritten: Vec<PathBuf>,
    /// Folders that were not removed because they are not empty. Set when the plan is applied.
    pub nonempty_folders: Vec<PathBuf>,
}

/// A path that cannot be restored without a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreConflict {
    /// The path.
    pub path: PathBuf,
    /// The reason.
    pub reason: ConflictReason,
    /// Counts it as a file or folder.
    count: ChangeCount,
}

/// The reason of a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictReason {
    /// Changed outside the session.
    Changed,
    /// Removed outside the session.
    Removed,
    /// Created outside the session.
    Appeared,
    /// The version to restore was not stored.
    NotStored,
    /// It belongs to version control.
    VersionControl,
}

impl ConflictReason {
    /// A short description.
    pub fn describe(self) -> &'static str {
        match self {
            ConflictReason::Changed => "changed outside the session",
            ConflictReason::Removed => "removed outside the session",
            ConflictReason::Appeared => "created outside the session",
            ConflictReason::NotStored => "an earlier version was not stored",
            ConflictReason::VersionControl => "belongs to version control",
        }
    }
}

/// Moves that revert changes, the newest first.
pub(crate) fn reverted<'a>(changes: impl DoubleEndedIterator<Item = &'a Change>) -> Vec<VersionMove> {
    let moves = changes.rev().map(|change| VersionMove {
        path: change.path.clone(),
        from: change.after.clone(),
        to: change.before.clone(),
    });
    moves.collect()
}

/// Moves that apply changes again, the oldest first.
fn reapplied<'a>(changes: impl Iterator<Item = &'a Change>) -> Vec<VersionMove> {
    let moves = changes.map(|change| VersionMove {
        path: change.path.clone(),
        from: change.before.clone(),
        to: change.after.clone(),
    });
    moves.collect()
}

impl SessionHistory {
    /// The moves from the current item to another one: back to the common ancestor, then forward.
    pub(crate) fn moves_to(&self, target: &[Arc<Item>]) -> Vec<VersionMove> {
        let common = self
            .items
            .iter()
            .zip(target)
            .take_while(|(one, two)| one.id == two.id)
            .count();
        let mut moves = reverted(self.items[common..].iter().flat_map(|item| item.changes()));
        moves.extend(reapplied(target[common..].iter().flat_map(|item| item.changes())));
        moves
    }

    /// Computes the steps from the current state of the files.
    pub(crate) async fn plan(
        &self,
        moves: &[VersionMove],
        policy: ConflictPolicy,
    ) -> Result<(RestorePlan, VersionContents), Error> {
        let versions: Vec<&FileVersion> = moves.iter().flat_map(|step| step.from.iter().chain(&step.to)).collect();
        let contents = VersionContents::load(&self.store, &versions).await?;
        let mut paths: BTreeMap<&Path, Vec<&VersionMove>> = BTreeMap::new();
        for step in moves {
            paths.entry(&step.path).or_default().push(step);
        }
        let mut plan = RestorePlan::default();
        for (path, moves) in paths {
            let current = current_version(&self.root, path).map_err(|source| Error::Read {
                path: path.to_owned(),
                source,
            })?;
            plan.add_path(path, current, &moves, policy, &contents);
        }
        Ok((plan, contents))
    }

    /// Applies a plan. First stores versions that are overwritten; fails without a change if one cannot be stored.
    pub(crate) fn apply(&self, plan: &mut RestorePlan, contents: &VersionContents) -> Result<(), Error> {
        let blob_dir = self.blob_dir();
        let overwritten: HashSet<&Path> = plan.overwritten.iter().map(PathBuf::as_path).collect();
        for step in &mut plan.steps {
            let Some(from) = step.from.as_mut() else { continue };
            from.is_stored = contents.has(from) || store_current(&blob_dir, &self.root.join(&step.path), from);
            if !from.is_stored && overwritten.contains(step.path.as_path()) {
                return Err(Error::VersionNotStored(step.path.clone()));
            }
        }
        let outcome = restore(&self.root, &plan.steps, contents).map_err(|error| Error::Restore {
            path: error.path,
            source: error.source,
            not_reverted: error.not_restored,
        })?;
        plan.nonempty_folders = outcome.remaining_folders;
        let kept: HashSet<&Path> = plan.nonempty_folders.iter().map(PathBuf::as_path).collect();
        plan.steps.retain(|step| !kept.contains(step.path.as_path()));
        Ok(())
    }
}

impl RestoreConflict {
    /// Whether no conflict policy resolves it.
    fn is_final(&self) -> bool {
        match self.reason {
            ConflictReason::NotStored | ConflictReason::VersionControl => true,
            ConflictReason::Changed | ConflictReason::Removed | ConflictReason::Appeared => false,
        }
    }
}

impl RestorePlan {
    /// What the plan changes: `6 files removed, 1 file restored`.
    pub fn summary(&self) -> String {
        let steps = self.steps.iter().map(|step| (step.from.as_ref(), step.to.as_ref()));
        let restored = session::describe_restored(steps);
        let is_restored = |path: &Path| self.steps.iter().any(|step| step.path == path);
        let others = self.conflicts.iter().filter(|conflict| !is_restored(&conflict.path));
        let (lost, kept): (Vec<_>, Vec<_>) = others.partition(|conflict| conflict.is_final());
        let part = |conflicts: &[&RestoreConflict], start: &str, end: &str| match conflicts.len() {
            0 => String::new(),
            1 => format!("; {start}1 file{end}"),
            count => format!("; {start}{count} files{end}"),
        };
        let kept = part(&kept, "kept ", " changed outside the session");
        restored + &kept + &part(&lost, "", " cannot be restored")
    }

    /// Adds the step and the conflict of one path.
    fn add_path(
        &mut self,
        path: &Path,
        current: Option<FileVersion>,
        moves: &[&VersionMove],
        policy: ConflictPolicy,
        contents: &VersionContents,
    ) {
        let target = moves.last().and_then(|step| step.to.as_ref());
        if same_version(current.as_ref(), target) {
            return;
        }
        let mut count = ChangeCount::default();
        count.count(moves.first().and_then(|step| step.from.as_ref()), target);
        let path = path.to_owned();
        let conflict = |reason| RestoreConflict {
            path: path.clone(),
            reason,
            count,
        };
        if is_protected(&path) {
            return self.conflicts.push(conflict(ConflictReason::VersionControl));
        }
        let (result, reason) = follow(current.as_ref(), moves, policy);
        let is_missing = result.is_some_and(|version| {
            let content = current.as_ref().and_then(|current| current.content.as_ref());
            let is_on_disk = content.is_some() && content == version.content.as_ref();
            !is_on_disk && !contents.has(version)
        });
        if is_missing {
            return self.conflicts.push(conflict(ConflictReason::NotStored));
        }
        self.conflicts.extend(reason.map(conflict));
        if same_version(current.as_ref(), result) {
            return;
        }
        if reason.is_some() && policy == ConflictPolicy::Overwrite {
            self.overwritten.push(path.clone());
        }
        let to = result.cloned();
        self.steps.push(RestoreStep {
            path,
            from: current,
            to,
        });
    }

    /// Fails if there are conflicts that the policy does not resolve.
    pub fn check(&self, policy: ConflictPolicy) -> Result<(), Error> {
        let blocking = self.conflicts.iter().filter(|conflict| match policy {
            ConflictPolicy::Abort => true,
            ConflictPolicy::Overwrite => conflict.is_final(),
            ConflictPolicy::Keep => false,
        });
        let blocking: Vec<&RestoreConflict> = blocking.collect();
        if blocking.is_empty() {
            return Ok(());
        }
        let count = blocking.iter().map(|conflict| conflict.count).sum();
        let all = |is: fn(&RestoreConflict) -> bool| blocking.iter().all(|conflict| is(conflict));
        Err(if all(|conflict| conflict.reason == ConflictReason::NotStored) {
            Error::MissingVersions(count)
        } else if all(RestoreConflict::is_final) {
            Error::NotRestorable(count)
        } else {
            Error::Conflicts(count)
        })
    }

    /// Fails if there are only conflicts, so that applying the plan would do nothing.
    pub fn check_not_empty(&self) -> Result<(), Error> {
        if !self.steps.is_empty() || self.conflicts.is_empty() {
            return Ok(());
        }
        let count = self.conflicts.iter().map(|conflict| conflict.count).sum();
        Err(match self.conflicts.iter().all(RestoreConflict::is_final) {
            true => Error::NothingRestorable(count),
            false => Error::OnlyConflicts(count),
        })
    }

    /// The number of files and folders that the plan changes.
    pub fn count(&self) -> ChangeCount {
        let mut count = ChangeCount::default();
        for step in &self.steps {
            count.count(step.from.as_ref(), step.to.as_ref());
        }
        count
    }

    /// The note for the model about an applied plan.
    pub(crate) fn model_note(&self, start: &str) -> String {
        let named = self.steps.iter().take(MAX_NAMED_FILES);
        let mut files: Vec<String> = named
            .map(|step| format!("{} {}", step_verb(step), step.path.display()))
            .collect();
        if self.steps.len() > MAX_NAMED_FILES {
            files.push(format!("and {} more", self.steps.len() - MAX_NAMED_FILES));
        }
        let files = files.join(", ");
        format!("[{start}: {files}. Read a file again before you rely on it.]")
    }

    /// The conflicts without the steps.
    pub fn only_conflicts(&self) -> RestorePlan {
        RestorePlan {
            conflicts: self.conflicts.clone(),
            ..RestorePlan::default()
        }
    }

    /// The steps as changes.
    pub(crate) fn changes(&self) -> Vec<Change> {
        let changes = self.steps.iter().map(|step| Change {
            path: step.path.clone(),
            before: step.from.clone(),
            after: step.to.clone(),
        });
        changes.collect()
    }
}

/// The verb for a step.
pub fn step_verb(step: &RestoreStep) -> &'static str {
    match (&step.from, &step.to) {
        (_, None) => "removed",
        (None, Some(_)) => "brought back",
        (Some(_), Some(_)) => "restored",
    }
}

/// Follows a path through its moves, as far as its current version and the policy allow. Returns the resulting version and the
/// last conflict.
fn follow<'a>(
    current: Option<&'a FileVersion>,
    moves: &[&'a VersionMove],
    policy: ConflictPolicy,
) -> (Option<&'a FileVersion>, Option<ConflictReason>) {
    let (mut version, mut conflict) = (current, None);
    for step in moves {
        let (from, to) = (step.from.as_ref(), step.to.as_ref());
        if same_version(version, from) {
            version = to;
        } else if !same_version(version, to) {
            conflict = Some(match (version, from) {
                (None, Some(_)) => ConflictReason::Removed,
                (Some(_), None) => ConflictReason::Appeared,
                (Some(_), Some(_)) | (None, None) => ConflictReason::Changed,
            });
            match policy {
                ConflictPolicy::Overwrite => version = to,
                ConflictPolicy::Abort | ConflictPolicy::Keep => break,
            }
        }
    }
    (version, conflict)
}
