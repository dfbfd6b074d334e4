//! Checkpoints: changes made by a command can be reverted.
//!
//! Before a command, [`Checkpointer::before`] takes a snapshot of the project, by metadata alone if possible, and
//! makes sure that the content of every file can be restored: from git if a tracked file is unchanged, otherwise from
//! a copy in the [`BlobDir`]. Afterwards [`PendingCheckpoint::after`] takes another snapshot and returns the
//! difference. [`restore`] reverts paths.
//!
//! What a command is known to delete, move or overwrite ([`EndangeredPaths`]) is always copied. A [`CopyBudget`] bounds
//! the other copies per command. [`PendingCheckpoint::uncovered`] lists what cannot be restored.
//!
//! Not covered are new ignored files, generated folders, hidden paths, and the folders of version control.

mod blob_dir;
mod budget;
mod compare;
mod coverage;
mod endangered;
mod git_index;
mod ignore_rules;
mod journal;
mod restore;
mod scan;
mod stamp;

pub use blob_dir::{BlobDir, BlobLimits, NotStored, PutOutcome, StoredBlob};
pub use budget::CopyBudget;
pub use coverage::{UncoveredPaths, list_paths};
pub use endangered::EndangeredPaths;
pub use journal::{InterruptedCommand, journal_path};
pub use restore::{BlobSource, RestoreError, RestoreOutcome, RestoreStep, current_version, is_protected, restore};

use crate::hidden::HiddenPaths;
use crate::{Workspace, open};
use budget::{CopyCandidate, CopySpending};
use compare::{NodeDifference, compare};
use coverage::uncovered_paths;
use git_index::{GitIndex, GitObjects, is_modified};
use ignore_rules::CheckpointIgnore;
use journal::Journal;
use scan::{
    ContentSource, FileNode, IgnoredBudget, KnownContent, ScanMode, Scanner, Snapshot, SnapshotNode, TooManyNames,
};
use session::{BlobId, Change, FileKind, FileVersion};
use stamp::{FileStamp, Nanos, now};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Checkpoints are disabled for a project with more names than this.
const MAX_NAMES: usize = 300_000;
/// Maximum number of recorded changes per command.
const MAX_CHANGES: usize = 200_000;
/// Maximum number of files named in a warning.
const MAX_NAMED_FILES: usize = 3;
/// The warning that versions are not stored because of the quota.
const QUOTA_WARNING: &str =
    "the quota for checkpoints is used up, so undo cannot restore everything; increase `checkpoints.quota`";
/// Copies that only a redo needs may take this percentage of the quota.
const REDO_PERCENT: u64 = 75;
/// The number of threads that copy files.
const COPY_THREADS: usize = 4;
/// Minimum number of files per thread.
const MIN_SHARE: usize = 64;

/// Takes snapshots of a project before and after commands. Clones share their state; all functions block.
#[derive(Clone)]
pub struct Checkpointer {
    root: Arc<Path>,
    blobs: BlobDir,
    hiding: HiddenPaths,
    budget: CopyBudget,
    journal: Option<Arc<Path>>,
    /// Folders that are not covered.
    excluded: Vec<PathBuf>,
    /// The other folders of the project.
    more: Vec<Checkpointer>,
    /// `None` before the first command.
    state: Arc<Mutex<Option<CheckpointState>>>,
}

/// The snapshot before a command.
pub struct PendingCheckpoint {
    state: Arc<Mutex<Option<CheckpointState>>>,
    snapshot: Option<Snapshot>,
    uncovered: UncoveredPaths,
    /// Those of the other folders of the project, with the folder.
    more: Vec<(Arc<Path>, PendingCheckpoint)>,
}

/// The changes made by a command.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CommandChanges {
    /// The changes, folders before their content.
    pub changes: Vec<Change>,
    /// A warning for the user about changes that cannot be reverted; given once.
    pub note: Option<String>,
}

struct CheckpointState {
    root: PathBuf,
    blobs: BlobDir,
    excluded: Vec<PathBuf>,
    hiding: HiddenPaths,
    budget: CopyBudget,
    /// Files and bytes copied before commands so far.
    copied: (usize, u64),
    repository: Option<GitIndex>,
    rules: CheckpointIgnore,
    /// The newest snapshot.
    newest: Option<Snapshot>,
    /// Why checkpoints are disabled.
    disabled: Option<&'static str>,
    /// Warnings already given.
    warned: BTreeSet<String>,
    /// Warnings not given yet.
    pending_warnings: Vec<String>,
    /// The stored contents that commands of this session have written, with their sizes.
    produced: BTreeMap<BlobId, u64>,
    /// Uncovered paths that were reported.
    reported: BTreeSet<PathBuf>,
    journal: Option<Journal>,
}

impl std::fmt::Debug for Checkpointer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Checkpoints").finish_non_exhaustive()
    }
}

impl Checkpointer {
    /// Checkpoints of the project in this canonical folder. Nothing is read yet.
    pub fn new(root: &Path, blobs: BlobDir) -> Self {
        Checkpointer {
            root: root.into(),
            blobs,
            hiding: HiddenPaths::default(),
            budget: CopyBudget::default(),
            journal: None,
            excluded: Vec::new(),
            more: Vec::new(),
            state: Arc::default(),
        }
    }

    /// Covers the additional folders of the project, too. Their changes have absolute paths, and are not in the journal.
    pub fn with_folders(mut self, folders: &[PathBuf]) -> Self {
        let covered = |folder: &PathBuf| Checkpointer {
            hiding: self.hiding.clone(),
            budget: self.budget,
            excluded: vec![self.root.to_path_buf()],
            ..Checkpointer::new(folder, self.blobs.clone())
        };
        self.more = folders.iter().map(covered).collect();
        self
    }

    /// Writes each snapshot to this file before the command starts, so that its changes can be recorded even if this
    /// process is killed. See [`InterruptedCommand`].
    pub fn with_journal(mut self, path: &Path) -> Self {
        self.journal = Some(path.into());
        self
    }

    /// Excludes the hidden paths of the project.
    pub fn with_hidden_paths(mut self, project: &Workspace) -> Self {
        self.hiding = project.hiding.clone();
        self
    }

    /// Sets the copy budget.
    pub fn with_budget(mut self, budget: CopyBudget) -> Self {
        self.budget = budget;
        self
    }

    /// The project's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Takes a snapshot before a command and copies contents that could be lost. `call` identifies the session and the
    /// call in the journal.
    pub fn before(&self, endangered: &EndangeredPaths, call: (&str, &str)) -> PendingCheckpoint {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = state.get_or_insert_with(|| self.new_state());
        let snapshot = state.before(endangered);
        let uncovered = snapshot.as_ref().map(|snapshot| state.uncovered(snapshot, endangered));
        if let (Some(journal), Some(snapshot)) = (&mut state.journal, &snapshot) {
            journal.record(snapshot, call);
        }
        let mut uncovered = uncovered.unwrap_or_default();
        let before = |folder: &Checkpointer| (Arc::clone(&folder.root), folder.before(endangered, call));
        let more: Vec<_> = self.more.iter().map(before).collect();
        for (folder, pending) in &more {
            uncovered.extend(folder, &pending.uncovered);
        }
        PendingCheckpoint {
            state: Arc::clone(&self.state),
            snapshot,
            uncovered,
            more,
        }
    }

    fn new_state(&self) -> CheckpointState {
        let mut state = CheckpointState::new(&self.root, self.blobs.clone(), self.hiding.clone(), self.budget);
        state.excluded.extend(self.excluded.iter().cloned());
        state.journal = self.journal.as_deref().map(Journal::at);
        state
    }
}

impl PendingCheckpoint {
    /// The paths that cannot be restored if the command changes them.
    pub fn uncovered(&self) -> &UncoveredPaths {
        &self.uncovered
    }

    /// Takes another snapshot and returns the difference.
    pub fn after(self) -> CommandChanges {
        let (mut changes, mut notes) = (Vec::new(), Vec::new());
        if let Some(state) = self.state.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            changes.extend(self.snapshot.iter().flat_map(|snapshot| state.after(snapshot)));
            notes = std::mem::take(&mut state.pending_warnings);
        }
        for (folder, pending) in self.more {
            let found = pending.after();
            notes.extend(found.note);
            changes.extend(found.changes.into_iter().map(|change| Change {
                path: folder.join(change.path),
                ..change
            }));
        }
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        CommandChanges { changes, note }
    }
}

impl CheckpointState {
    fn new(root: &Path, blobs: BlobDir, hiding: HiddenPaths, budget: CopyBudget) -> Self {
        let mut apart = vec![blobs.folder().to_owned()];
        // hew's own database changes with every command.
        let data = blobs.folder().parent().filter(|folder| *folder != root);
        apart.extend(data.map(Path::to_owned));
        let repository = GitIndex::containing(root);
        let git = repository.as_ref().map(|git| (git.top(), git.directory()));
        CheckpointState {
            rules: CheckpointIgnore::for_root(root, git),
            root: root.to_owned(),
            blobs,
            excluded: apart,
            hiding,
            budget,
            copied: (0, 0),
            repository,
            newest: None,
            disabled: None,
            warned: BTreeSet::new(),
            pending_warnings: Vec::new(),
            produced: BTreeMap::new(),
            reported: BTreeSet::new(),
            journal: None,
        }
    }

    fn before(&mut self, endangered: &EndangeredPaths) -> Option<Snapshot> {
        if self.disabled.is_some() {
            return None;
        }
        if let Some(repository) = &mut self.repository {
            repository.refresh();
        }
        let old = self.newest.take();
        let mut snapshot = self.scan(ScanMode::Fresh, old.as_ref(), endangered)?;
        self.copy_contents(&mut snapshot, endangered);
        self.newest = Some(snapshot.clone());
        Some(snapshot)
    }

    /// The uncovered paths that the command names, and others that were not reported yet.
    fn uncovered(&mut self, snapshot: &Snapshot, endangered: &EndangeredPaths) -> UncoveredPaths {
        let is_inaccessible =
            |path: &Path| self.hiding.contains(path) || self.excluded.iter().any(|apart| path.starts_with(apart));
        let is_modified = |path: &Path, stamp: &FileStamp| is_modified(self.repository.as_ref(), path, stamp);
        let mut all = uncovered_paths(snapshot, &self.root, endangered, is_inaccessible, is_modified);
        all.others.retain(|path| self.reported.insert(path.clone()));
        all
    }

    fn scan(&mut self, view: ScanMode, old: Option<&Snapshot>, endangered: &EndangeredPaths) -> Option<Snapshot> {
        let mut scanner = Scanner {
            view,
            repository: self.repository.as_ref(),
            excluded: &self.excluded,
            hiding: &self.hiding,
            names_left: MAX_NAMES,
            endangered,
            ignored_left: match endangered.has_ignored() {
                true => IgnoredBudget::DELETION,
                false => IgnoredBudget::ANY_COMMAND,
            },
        };
        match scanner.scan(&self.root, &self.rules, old) {
            Ok(Ok(folder)) => Some(folder),
            Ok(Err(TooManyNames)) => {
                self.disabled = Some("the project has too many files");
                self.warn_once("the project has too many files; undo does not cover changes by commands".into());
                None
            }
            Err(_) => None,
        }
    }

    /// Makes sure that the content of every file can be restored.
    fn copy_contents(&mut self, snapshot: &mut Snapshot, endangered: &EndangeredPaths) {
        let repository = self.repository.as_ref();
        let mut objects = None;
        let root = self.root.clone();
        let mut candidates = Vec::new();
        let mut files = 0;
        snapshot.each_file(&root, &mut |path, leaf| {
            let place = files;
            files += 1;
            if !leaf.needs_copy() {
                return;
            }
            let at = now();
            if let Some(repository) = repository
                && repository.tracks(path)
            {
                let objects = objects.get_or_insert_with(|| repository.objects());
                if let Some(id) = repository.clean(path, &leaf.stamp, objects) {
                    let source = ContentSource::Git(id);
                    leaf.known = Some(KnownContent { source, at });
                    return;
                }
            }
            candidates.push(CopyCandidate {
                place,
                size: leaf.stamp.size,
                modified: leaf.stamp.modified,
                is_endangered: endangered.includes_file(path, || is_modified(repository, path, &leaf.stamp)),
            });
        });
        let needed = candidates.len();
        let chosen = self.budget.remaining(self.copied).choose(candidates);
        let mut jobs = Vec::with_capacity(chosen.len());
        let mut place = 0;
        snapshot.each_file(&root, &mut |path, leaf| {
            if chosen.contains(&place) {
                jobs.push((path.to_owned(), leaf.clone()));
            }
            place += 1;
        });
        let mut copies = copy_files(&jobs, &self.blobs).into_iter();
        let (mut place, mut not_stored) = (0, Vec::new());
        snapshot.each_file(&root, &mut |path, leaf| {
            let is_chosen = chosen.contains(&place);
            place += 1;
            let copy = if is_chosen { copies.next() } else { None };
            match copy {
                Some((mut known, mut why)) => {
                    if why == Some(NotStored::Full) && self.make_space(leaf.stamp.size) {
                        (known, why) = copy_file(path, leaf, &self.blobs);
                    }
                    // Only copies count against the budget.
                    if why.is_none() {
                        self.copied = (self.copied.0 + 1, self.copied.1 + leaf.stamp.size);
                    }
                    not_stored.extend(why.map(|why| (path.to_owned(), why)));
                    leaf.known = Some(known);
                }
                None if leaf.known.is_none() => {
                    let source = ContentSource::NotCopied(None);
                    leaf.known = Some(KnownContent { source, at: now() });
                }
                None => {}
            }
        });
        self.warn_not_stored(not_stored);
        self.warn_uncopied(needed - jobs.len(), files);
    }

    /// Deletes contents that commands of this session have written, the largest first, until an original version of
    /// this size fits. Returns whether it fits.
    fn make_space(&mut self, size: u64) -> bool {
        let mut produced: Vec<(u64, BlobId)> = self.produced.iter().map(|(id, size)| (*size, id.clone())).collect();
        produced.sort();
        self.warn_once(QUOTA_WARNING.into());
        while self.blobs.check_limits(size).is_err() {
            let Some((_, id)) = produced.pop() else { return false };
            self.produced.remove(&id);
            if self.blobs.remove(&id).is_err() {
                return false;
            }
        }
        true
    }

    /// Warns once about files that cannot be restored yet.
    fn warn_uncopied(&mut self, uncopied: usize, files: usize) {
        if uncopied > 0 && self.warned.insert("uncopied".into()) {
            self.pending_warnings.push(format!(
                "undo does not cover {uncopied} of {files} files yet: the folder is large; the newest files are copied first, more before each \
                 command"
            ));
        }
    }

    fn after(&mut self, before: &Snapshot) -> Vec<Change> {
        let Some(mut after) = self.scan(ScanMode::Comparable, Some(before), &EndangeredPaths::default()) else {
            return Vec::new();
        };
        let mut not_stored = Vec::new();
        // New versions first, so that files that were only touched are recognised.
        let root = self.root.clone();
        let limits = self.blobs.limits();
        let blobs = self.blobs.with_limits(BlobLimits {
            quota: limits.quota / 100 * REDO_PERCENT,
            ..limits
        });
        let mut spending = CopySpending::with_time_limit(self.budget);
        let produced = &mut self.produced;
        after.each_file(&root, &mut |path, leaf| {
            if leaf.known.is_none() {
                let at = now();
                let (source, why) = match spending.allows() {
                    true => store_file(path, leaf, &blobs),
                    false => (ContentSource::NotCopied(hash_file(path)), None),
                };
                spending.spend(leaf.stamp.size);
                if let ContentSource::BlobDir(id) = &source {
                    produced.insert(id.clone(), leaf.stamp.size);
                }
                // Without space for a redo, undo still works.
                let why = why.filter(|why| *why != NotStored::Full);
                not_stored.extend(why.map(|why| (path.to_owned(), why)));
                leaf.known = Some(KnownContent { source, at });
            }
        });
        let mut changes = Vec::new();
        let mut history = ChangeBuilder {
            blobs: &self.blobs,
            repository: self.repository.as_ref(),
            objects: None,
            not_stored: &mut not_stored,
        };
        for difference in compare(before, &after) {
            // An original is not deleted, even if a command has written the same content.
            if let Some(SnapshotNode::File(leaf)) = difference.before
                && let Some(ContentSource::BlobDir(id)) = leaf.known.as_ref().map(|known| &known.source)
            {
                self.produced.remove(id);
            }
            if changes.len() >= MAX_CHANGES {
                break;
            }
            changes.extend(history.change(difference, &self.root));
        }
        self.newest = Some(after);
        self.warn_not_stored(not_stored);
        if changes.len() >= MAX_CHANGES {
            self.warn_once(format!("undo covers only the first {MAX_CHANGES} changes of a command"));
        }
        changes
    }

    fn warn_not_stored(&mut self, not_stored: Vec<(PathBuf, NotStored)>) {
        let mut large = Vec::new();
        for (path, why) in not_stored {
            match why {
                NotStored::TooLarge => large.push(path),
                NotStored::Full => self.warn_once(QUOTA_WARNING.into()),
            }
        }
        large.retain(|path| !self.warned.contains(&*path.to_string_lossy()));
        if large.is_empty() {
            return;
        }
        self.warned
            .extend(large.iter().map(|path| path.to_string_lossy().into_owned()));
        let shown = large.iter().take(MAX_NAMED_FILES).map(|path| {
            let path = path.strip_prefix(&self.root).unwrap_or(path);
            path.display().to_string()
        });
        let mut text = format!("too large for undo: {}", shown.collect::<Vec<_>>().join(", "));
        if large.len() > MAX_NAMED_FILES {
            text.push_str(&format!(" and {} more", large.len() - MAX_NAMED_FILES));
        }
        self.pending_warnings.push(text);
    }

    fn warn_once(&mut self, text: String) {
        if self.warned.insert(text.clone()) {
            self.pending_warnings.push(text);
        }
    }
}

/// Copies files in several threads. The results are in the order of the files.
fn copy_files(files: &[(PathBuf, FileNode)], blobs: &BlobDir) -> Vec<(KnownContent, Option<NotStored>)> {
    let copy = |files: &[(PathBuf, FileNode)]| -> Vec<_> {
        files.iter().map(|(path, leaf)| copy_file(path, leaf, blobs)).collect()
    };
    let share = files.len().div_ceil(COPY_THREADS).max(MIN_SHARE);
    std::thread::scope(|scope| {
        let threads: Vec<_> = files
            .chunks(share)
            .map(|files| (files.len(), scope.spawn(move || copy(files))))
            .collect();
        let unread = |_| {
            let source = ContentSource::Unreadable;
            (KnownContent { source, at: now() }, None)
        };
        let copies = threads
            .into_iter()
            .flat_map(|(count, thread)| thread.join().unwrap_or_else(|_| (0..count).map(unread).collect()));
        copies.collect()
    })
}

/// Copies a file, unless it exceeds the limits.
fn copy_file(path: &Path, leaf: &FileNode, blobs: &BlobDir) -> (KnownContent, Option<NotStored>) {
    let at = now();
    let (source, why) = match blobs.check_space(leaf.stamp.size) {
        Ok(()) => store_file(path, leaf, blobs),
        Err(why) => (ContentSource::Unreadable, Some(why)),
    };
    (KnownContent { source, at }, why)
}

/// Stores the current content of a file.
fn store_file(path: &Path, leaf: &FileNode, blobs: &BlobDir) -> (ContentSource, Option<NotStored>) {
    for _ in 0..2 {
        match put_unchanged(path, leaf.stamp.size, blobs) {
            Ok(Some(put)) => {
                return match put.stored {
                    Ok(()) => (ContentSource::BlobDir(put.id), None),
                    Err(why) => (ContentSource::HashOnly(put.id), Some(why)),
                };
            }
            // The file was written to meanwhile.
            Ok(None) => {}
            Err(_) => return (ContentSource::Unreadable, None),
        }
    }
    (ContentSource::Unreadable, None)
}

/// The hash of a file's current content, if it can be read.
fn hash_file(path: &Path) -> Option<BlobId> {
    blob_dir::hash_reader(&mut open::regular_file(path).ok()?).ok()
}

fn put_unchanged(path: &Path, size: u64, blobs: &BlobDir) -> io::Result<Option<PutOutcome>> {
    let mut file = open::regular_file(path)?;
    let before = FileStamp::of(&file.metadata()?);
    let put = blobs.put_file(&mut file, size.max(before.size))?;
    let after = FileStamp::of(&file.metadata()?);
    Ok((before == after).then_some(put))
}

/// Turns differences into changes with stored contents.
struct ChangeBuilder<'a> {
    blobs: &'a BlobDir,
    repository: Option<&'a GitIndex>,
    objects: Option<GitObjects>,
    not_stored: &'a mut Vec<(PathBuf, NotStored)>,
}

impl ChangeBuilder<'_> {
    fn change(&mut self, difference: NodeDifference<'_>, root: &Path) -> Option<Change> {
        let NodeDifference { path, before, after } = difference;
        let (old, new) = match (before, after) {
            // Only the permissions changed, and one of the versions was not read: the content is the same.
            (Some(SnapshotNode::File(old)), Some(SnapshotNode::File(new)))
                if old.stamp.is_same_content(&new.stamp) && (old.is_unread() || new.is_unread()) =>
            {
                let read = if old.is_unread() { new } else { old };
                let version = self.file(read, &root.join(&path));
                let with = |leaf: &FileNode| FileVersion {
                    kind: FileKind::File {
                        mode: Some(leaf.stamp.mode),
                    },
                    ..version.clone()
                };
                (Some(with(old)), Some(with(new)))
            }
            (before, after) => (self.version(before, root, &path), self.version(after, root, &path)),
        };
        (old != new).then_some(Change {
            path,
            before: old,
            after: new,
        })
    }

    fn version(&mut self, node: Option<&SnapshotNode>, root: &Path, path: &Path) -> Option<FileVersion> {
        match node? {
            SnapshotNode::File(leaf) => Some(self.file(leaf, &root.join(path))),
            SnapshotNode::Link(target) => {
                let bytes = target.as_os_str().as_bytes();
                let put = self.blobs.put(bytes);
                let kept = put.as_ref().is_ok_and(|put| put.stored.is_ok());
                Some(FileVersion {
                    kind: FileKind::Link,
                    content: Some(blob_dir::hash_bytes(bytes)),
                    is_stored: kept,
                })
            }
            SnapshotNode::Folder(stamp) => Some(FileVersion::folder(stamp.mode)),
            SnapshotNode::Ignored | SnapshotNode::Other => None,
        }
    }

    fn file(&mut self, leaf: &FileNode, path: &Path) -> FileVersion {
        let kind = FileKind::File {
            mode: Some(leaf.stamp.mode),
        };
        let named = |content, kept| FileVersion {
            kind,
            content: Some(content),
            is_stored: kept,
        };
        let nothing = FileVersion {
            kind,
            content: None,
            is_stored: false,
        };
        match leaf.known.as_ref().map(|known| &known.source) {
            // Another process may have pruned the blob meanwhile.
            Some(ContentSource::BlobDir(id)) => named(id.clone(), self.blobs.has(id)),
            Some(ContentSource::HashOnly(id) | ContentSource::NotCopied(Some(id))) => named(id.clone(), false),
            Some(ContentSource::Unreadable | ContentSource::NotCopied(None)) | None => nothing,
            Some(ContentSource::Git(id)) => {
                let repository = self.repository;
                let objects = self
                    .objects
                    .get_or_insert_with(|| repository.map_or(GitObjects::none(), GitIndex::objects));
                let bytes = objects.read(id).filter(|bytes| bytes.len() as u64 == leaf.stamp.size);
                match bytes.map(|bytes| self.blobs.put(&bytes)) {
                    Some(Ok(put)) => {
                        self.not_stored
                            .extend(put.stored.err().map(|why| (path.to_owned(), why)));
                        named(put.id, put.stored.is_ok())
                    }
                    Some(Err(_)) | None => nothing,
                }
            }
        }
    }
}

impl FileNode {
    fn is_unread(&self) -> bool {
        let source = self.known.as_ref().map(|known| &known.source);
        matches!(
            source,
            Some(ContentSource::Unreadable | ContentSource::NotCopied(None)) | None
        )
    }

    /// Whether the content is not stored yet.
    fn needs_copy(&self) -> bool {
        let source = self.known.as_ref().map(|known| &known.source);
        matches!(
            source,
            Some(ContentSource::NotCopied(_) | ContentSource::HashOnly(_)) | None
        )
    }
}

/// A file tracked by git, as it was staged.
pub(crate) struct StagedFile {
    pub(crate) path: PathBuf,
    /// Its size in bytes; 0 if git is not sure of it.
    pub(crate) size: u64,
    /// When it was last modified.
    pub(crate) modified: Nanos,
    /// The object id of its content.
    pub(crate) blob: String,
}

/// The files tracked by git; `None` without a repository or if there are more than `most`.
pub(crate) fn tracked_files(root: &Path, most: usize) -> Option<Vec<StagedFile>> {
    GitIndex::containing(root)?.files(most)
}

/// The top folder and the index file of the repository that contains a folder.
pub(crate) fn git_index_file(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    git_index::index_file(folder)
}

/// When a file was last modified.
pub(crate) fn modified(metadata: &Metadata) -> Nanos {
    FileStamp::of(metadata).modified
}
