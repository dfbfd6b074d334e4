//! Checkpoints: changes made by a command can be reverted.
//!
//! Before a command, [`Checkpointer::before`] takes a snapshot of the project, by metadata alone if possible, and
//! makes sure that the content of every file can be restored: from git if a tracked file is unchanged, otherwise from
//! a copy in the [`BlobDir`]. Afterwards [`PendingCheckpoint::after`] takes another snapshot and returns the
//! difference. The second command costs little more than reading each file's metadata twice. [`restore`] reverts
//! paths.
//!
//! A [`CopyBudget`] bounds the copies per command: in a very large folder outside git, the most recently written files
//! are copied first, more before each further command, and the user is warned that undo does not cover the rest yet.
//!
//! Excluded are files that git ignores (unless tracked), `node_modules`, `__pycache__`, folders with a `CACHEDIR.TAG`,
//! hidden paths of the project, and the folders of version control.

mod blob_dir;
mod budget;
mod compare;
mod git_index;
mod ignore_rules;
mod restore;
mod scan;
mod stamp;

pub use blob_dir::{BlobDir, BlobLimits, NotStored, PutOutcome, StoredBlob};
pub use budget::CopyBudget;
pub use restore::{BlobSource, RestoreError, RestoreOutcome, RestoreStep, current_version, is_protected, restore};

use crate::hidden::HiddenPaths;
use crate::{Workspace, open};
use budget::{CopyCandidate, CopySpending};
use compare::{NodeDifference, compare};
use git_index::{GitIndex, GitObjects};
use ignore_rules::CheckpointIgnore;
use scan::{ContentSource, FileNode, KnownContent, ScanMode, Scanner, Snapshot, SnapshotNode, TooManyNames};
use session::{BlobId, Change, FileKind, FileVersion};
use stamp::{FileStamp, Nanos, now};
use std::collections::BTreeSet;
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Checkpoints are disabled for a project with more names than this.
const MAX_NAMES: usize = 300_000;
/// Maximum number of recorded changes per command.
const MAX_CHANGES: usize = 20_000;
/// Maximum number of files named in a warning.
const MAX_NAMED_FILES: usize = 3;

/// Takes snapshots of a project before and after commands. Clones share their state; all functions block.
#[derive(Clone)]
pub struct Checkpointer {
    root: Arc<Path>,
    blobs: BlobDir,
    hiding: HiddenPaths,
    budget: CopyBudget,
    /// `None` before the first command.
    state: Arc<Mutex<Option<CheckpointState>>>,
}

/// The snapshot before a command.
pub struct PendingCheckpoint {
    state: Arc<Mutex<Option<CheckpointState>>>,
    snapshot: Option<Snapshot>,
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
            state: Arc::default(),
        }
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

    /// Takes a snapshot before a command and copies contents that could be lost.
    pub fn before(&self) -> PendingCheckpoint {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || CheckpointState::new(&self.root, self.blobs.clone(), self.hiding.clone(), self.budget);
        let state = state.get_or_insert_with(make);
        let snapshot = state.before();
        PendingCheckpoint {
            state: Arc::clone(&self.state),
            snapshot,
        }
    }
}

impl PendingCheckpoint {
    /// Takes another snapshot and returns the difference.
    pub fn after(self) -> CommandChanges {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(state) = state.as_mut() else {
            return CommandChanges::default();
        };
        let changes = match self.snapshot {
            Some(snapshot) => state.after(&snapshot),
            None => Vec::new(),
        };
        let note = match state.pending_warnings.is_empty() {
            true => None,
            false => Some(std::mem::take(&mut state.pending_warnings).join("; ")),
        };
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
        }
    }

    fn before(&mut self) -> Option<Snapshot> {
        if self.disabled.is_some() {
            return None;
        }
        if let Some(repository) = &mut self.repository {
            repository.refresh();
        }
        let old = self.newest.take();
        let mut snapshot = self.scan(ScanMode::Fresh, old.as_ref())?;
        self.copy_contents(&mut snapshot);
        self.newest = Some(snapshot.clone());
        Some(snapshot)
    }

    fn scan(&mut self, view: ScanMode, old: Option<&Snapshot>) -> Option<Snapshot> {
        let mut scanner = Scanner {
            view,
            repository: self.repository.as_ref(),
            excluded: &self.excluded,
            hiding: &self.hiding,
            names_left: MAX_NAMES,
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
    fn copy_contents(&mut self, snapshot: &mut Snapshot) {
        let (repository, blobs) = (self.repository.as_ref(), &self.blobs);
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
            });
        });
        let needed = candidates.len();
        let budget = self.budget.remaining(self.copied);
        let chosen = budget.choose(candidates);
        let mut spending = CopySpending::new(budget);
        let mut not_stored = Vec::new();
        let (mut place, mut done) = (0, 0);
        snapshot.each_file(&root, &mut |path, leaf| {
            let is_chosen = chosen.contains(&place);
            place += 1;
            let at = now();
            if is_chosen && spending.allows() {
                let (source, why) = match blobs.check_space(leaf.stamp.size) {
                    Ok(()) => store_file(path, leaf, blobs),
                    Err(why) => (ContentSource::Unreadable, Some(why)),
                };
                // Only copies count against the budget.
                if why.is_none() {
                    spending.spend(leaf.stamp.size);
                }
                done += 1;
                not_stored.extend(why.map(|why| (path.to_owned(), why)));
                leaf.known = Some(KnownContent { source, at });
            } else if leaf.known.is_none() {
                let source = ContentSource::NotCopied(None);
                leaf.known = Some(KnownContent { source, at });
            }
        });
        self.copied = spending.added_to(self.copied);
        self.warn_not_stored(not_stored);
        self.warn_uncopied(needed - done, files);
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
        let Some(mut after) = self.scan(ScanMode::Comparable, Some(before)) else {
            return Vec::new();
        };
        let mut not_stored = Vec::new();
        // New versions first, so that files that were only touched are recognised.
        let root = self.root.clone();
        let blobs = self.blobs.clone();
        let mut spending = CopySpending::new(self.budget);
        after.each_file(&root, &mut |path, leaf| {
            if leaf.known.is_none() {
                let at = now();
                let (source, why) = match spending.allows() {
                    true => store_file(path, leaf, &blobs),
                    false => (ContentSource::NotCopied(hash_file(path)), None),
                };
                spending.spend(leaf.stamp.size);
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
                NotStored::Full => self.warn_once(
                    "the quota for checkpoints is used up, so undo cannot restore everything; increase `checkpoints.quota`"
                        .into(),
                ),
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
        matches!(source, Some(ContentSource::NotCopied(_)) | None)
    }
}

/// The files tracked by git, with their sizes and times when staged; `None` without a repository or if there are more
/// than `most`.
pub(crate) fn tracked_files(root: &Path, most: usize) -> Option<Vec<(PathBuf, (u64, Nanos))>> {
    GitIndex::containing(root)?.files(most)
}

/// When a file was last modified.
pub(crate) fn modified(metadata: &Metadata) -> Nanos {
    FileStamp::of(metadata).modified
}
