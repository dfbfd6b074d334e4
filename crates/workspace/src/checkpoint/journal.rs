//! The journal of a session's commands: the snapshot before the newest command, in a file.
//!
//! It is written before the command starts, so that the changes of the command can be recorded even if hew is killed
//! while it runs. The file begins with a whole snapshot; further commands append only what has changed since. It survives
//! the end of the process, not a power failure.

use super::ignore_rules::CheckpointIgnore;
use super::scan::{ContentSource, DirSnapshot, FileNode, KnownContent, ScanScope, Snapshot, SnapshotNode};
use super::stamp::FileStamp;
use super::{BlobDir, CheckpointState, CommandChanges, CopyBudget};
use crate::hidden::HiddenPaths;
use gix_hash::ObjectId;
use session::BlobId;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The first bytes of a journal.
const HEADER: &[u8] = b"hew checkpoint 1\n";
/// The whole snapshot is written again when the appended part is longer than it by this many bytes.
const MAX_EXCESS: usize = 256 * 1024;

/// The path of a session's journal.
pub fn journal_path(blobs: &BlobDir, session: &str) -> PathBuf {
    let data = blobs.folder().parent().unwrap_or(blobs.folder());
    data.join("running").join(session)
}

/// Writes the journal.
pub(super) struct Journal {
    path: PathBuf,
    /// The file and the snapshot in it.
    written: Option<(File, Snapshot)>,
    /// Bytes of the whole snapshot and of what was appended.
    size: (usize, usize),
}

impl Journal {
    pub(super) fn at(path: &Path) -> Self {
        Journal {
            path: path.to_owned(),
            written: None,
            size: (0, 0),
        }
    }

    /// Records that a command starts. Without a journal, only the recovery after a crash is incomplete.
    pub(super) fn record(&mut self, snapshot: &Snapshot, (session, call): (&str, &str)) {
        let mut command = Vec::new();
        put(&mut command, RecordKind::Command, Path::new(""));
        put_bytes(&mut command, session.as_bytes());
        put_bytes(&mut command, call.as_bytes());
        self.written = match self.written.take() {
            Some((file, old)) if self.size.1 <= self.size.0 + MAX_EXCESS => {
                let mut bytes = Vec::new();
                put_differences(&mut bytes, Some(&old), snapshot);
                bytes.extend(&command);
                self.size.1 += bytes.len();
                append(file, &bytes).ok()
            }
            Some(_) | None => {
                let mut bytes = HEADER.to_vec();
                put_differences(&mut bytes, None, snapshot);
                bytes.extend(&command);
                self.size = (bytes.len(), 0);
                create(&self.path).and_then(|file| append(file, &bytes)).ok()
            }
        }
        .map(|file| (file, snapshot.clone()));
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // The session ends regularly, so there is nothing to recover.
        if self.written.is_some() {
            fs::remove_file(&self.path).ok();
        }
    }
}

fn create(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
}

fn append(mut file: File, bytes: &[u8]) -> io::Result<File> {
    file.write_all(bytes)?;
    Ok(file)
}

/// A command that was running when hew ended.
pub struct InterruptedCommand {
    /// The session of the call.
    pub session: String,
    /// The call.
    pub call: String,
    snapshot: Snapshot,
}

impl InterruptedCommand {
    /// Reads a journal; `None` if there is none or it is incomplete: then no command was started.
    pub fn load(path: &Path) -> Option<Self> {
        let bytes = fs::read(path).ok()?;
        let mut reader = Reader(bytes.strip_prefix(HEADER)?);
        let mut snapshot = Snapshot {
            folders: BTreeMap::new(),
        };
        let mut command = None;
        while let Some((kind, path)) = reader.record() {
            if kind == RecordKind::Command as u8 {
                command = Some((reader.text()?, reader.text()?));
                continue;
            }
            // A command that follows an incomplete record was not started.
            let Some(record) = reader.snapshot_record(kind) else {
                break;
            };
            apply(&mut snapshot, path, record);
        }
        let (session, call) = command?;
        Some(InterruptedCommand {
            session,
            call,
            snapshot,
        })
    }

    /// The changes since the command started.
    pub fn changes(&self, root: &Path, blobs: &BlobDir) -> CommandChanges {
        let mut state = CheckpointState::new(root, blobs.clone(), HiddenPaths::default(), CopyBudget::default());
        let mut snapshot = self.snapshot.clone();
        for folder in snapshot.folders.values_mut() {
            folder.rules = state.rules.clone();
        }
        CommandChanges {
            changes: state.after(&snapshot),
            note: None,
        }
    }
}

/// A record of the journal.
enum SnapshotRecord {
    /// A folder; its entries follow.
    Folder(DirSnapshot),
    RemovedFolder,
    Entry(SnapshotNode),
    RemovedEntry,
}

fn apply(snapshot: &mut Snapshot, path: PathBuf, record: SnapshotRecord) {
    match record {
        SnapshotRecord::Folder(mut folder) => {
            if let Some(old) = snapshot.folders.remove(&path) {
                folder.entries = old.entries;
            }
            snapshot.folders.insert(path, folder);
        }
        SnapshotRecord::RemovedFolder => {
            snapshot.folders.remove(&path);
        }
        SnapshotRecord::Entry(node) => {
            if let Some((folder, name)) = snapshot.parent_of(&path) {
                folder.entries.insert(name.to_owned(), node);
            }
        }
        SnapshotRecord::RemovedEntry => {
            if let Some((folder, name)) = snapshot.parent_of(&path) {
                folder.entries.remove(name);
            }
        }
    }
}

impl Snapshot {
    /// The folder of an entry, and its name.
    fn parent_of<'a>(&mut self, path: &'a Path) -> Option<(&mut DirSnapshot, &'a OsStr)> {
        Some((self.folders.get_mut(path.parent()?)?, path.file_name()?))
    }
}

/// The kind of a record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RecordKind {
    Command,
    Folder,
    RemovedFolder,
    File,
    Link,
    FolderEntry,
    Ignored,
    RemovedEntry,
}

/// Writes what differs from an older snapshot.
fn put_differences(out: &mut Vec<u8>, old: Option<&Snapshot>, new: &Snapshot) {
    let none = BTreeMap::new();
    let before = old.map_or(&none, |old| &old.folders);
    for path in before.keys().filter(|path| !new.folders.contains_key(*path)) {
        put(out, RecordKind::RemovedFolder, path);
    }
    let no_entries = BTreeMap::new();
    for (path, folder) in &new.folders {
        let old = before.get(path);
        if old.is_none_or(|old| old.scope != folder.scope) {
            put(out, RecordKind::Folder, path);
            folder.stamp.encode(out);
            out.push(u8::from(folder.scope == ScanScope::Ignored));
        }
        let before = old.map_or(&no_entries, |old| &old.entries);
        for name in before.keys().filter(|name| !folder.entries.contains_key(*name)) {
            put(out, RecordKind::RemovedEntry, &path.join(name));
        }
        for (name, node) in &folder.entries {
            if !before.get(name).is_some_and(|old| is_same_node(old, node)) {
                put_node(out, &path.join(name), node);
            }
        }
    }
}

fn is_same_node(old: &SnapshotNode, new: &SnapshotNode) -> bool {
    match (old, new) {
        (SnapshotNode::File(old), SnapshotNode::File(new)) => is_same(old, new),
        (SnapshotNode::Link(old), SnapshotNode::Link(new)) => old == new,
        (SnapshotNode::Folder(old), SnapshotNode::Folder(new)) => old.mode == new.mode,
        (SnapshotNode::Ignored, SnapshotNode::Ignored) => true,
        (_, _) => false,
    }
}

fn is_same(one: &FileNode, two: &FileNode) -> bool {
    let source = |leaf: &FileNode| leaf.known.as_ref().map(|known| (known.source.clone(), known.at));
    one.stamp == two.stamp && source(one) == source(two)
}

fn put_node(out: &mut Vec<u8>, path: &Path, node: &SnapshotNode) {
    match node {
        SnapshotNode::File(leaf) => {
            put(out, RecordKind::File, path);
            leaf.stamp.encode(out);
            put_content(out, leaf.known.as_ref());
        }
        SnapshotNode::Link(target) => {
            put(out, RecordKind::Link, path);
            put_bytes(out, target.as_os_str().as_bytes());
        }
        SnapshotNode::Folder(stamp) => {
            put(out, RecordKind::FolderEntry, path);
            stamp.encode(out);
        }
        SnapshotNode::Ignored => put(out, RecordKind::Ignored, path),
        SnapshotNode::Other => {}
    }
}

fn put_content(out: &mut Vec<u8>, known: Option<&KnownContent>) {
    let (tag, id): (u8, &[u8]) = match known.map(|known| &known.source) {
        None => (0, b""),
        Some(ContentSource::BlobDir(id)) => (1, id.0.as_bytes()),
        Some(ContentSource::Git(id)) => (2, id.as_bytes()),
        Some(ContentSource::HashOnly(id)) => (3, id.0.as_bytes()),
        Some(ContentSource::NotCopied(Some(id))) => (4, id.0.as_bytes()),
        Some(ContentSource::NotCopied(None)) => (5, b""),
        Some(ContentSource::Unreadable) => (6, b""),
    };
    out.push(tag);
    put_bytes(out, id);
    out.extend(known.map_or(0, |known| known.at).to_le_bytes());
}

fn put(out: &mut Vec<u8>, kind: RecordKind, path: &Path) {
    out.push(kind as u8);
    put_bytes(out, path.as_os_str().as_bytes());
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend((bytes.len() as u32).to_le_bytes());
    out.extend(bytes);
}

/// Reads records. Every function returns `None` at an incomplete one.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn record(&mut self) -> Option<(u8, PathBuf)> {
        let kind = self.byte()?;
        Some((kind, PathBuf::from(OsStr::from_bytes(self.bytes()?))))
    }

    fn snapshot_record(&mut self, kind: u8) -> Option<SnapshotRecord> {
        let is = |record: RecordKind| kind == record as u8;
        if is(RecordKind::Folder) {
            let stamp = self.stamp()?;
            let scope = match self.byte()? {
                0 => ScanScope::Project,
                _ => ScanScope::Ignored,
            };
            return Some(SnapshotRecord::Folder(DirSnapshot {
                stamp,
                entries: BTreeMap::new(),
                rules: CheckpointIgnore::empty(),
                read: 0,
                scope,
            }));
        }
        if is(RecordKind::RemovedFolder) {
            return Some(SnapshotRecord::RemovedFolder);
        }
        if is(RecordKind::RemovedEntry) {
            return Some(SnapshotRecord::RemovedEntry);
        }
        let node = if is(RecordKind::File) {
            let stamp = self.stamp()?;
            let known = self.content()?;
            SnapshotNode::File(FileNode { stamp, known })
        } else if is(RecordKind::Link) {
            SnapshotNode::Link(OsStr::from_bytes(self.bytes()?).into())
        } else if is(RecordKind::FolderEntry) {
            SnapshotNode::Folder(self.stamp()?)
        } else if is(RecordKind::Ignored) {
            SnapshotNode::Ignored
        } else {
            return None;
        };
        Some(SnapshotRecord::Entry(node))
    }

    fn stamp(&mut self) -> Option<FileStamp> {
        FileStamp::decode(self.take(FileStamp::BYTES)?)
    }

    fn content(&mut self) -> Option<Option<KnownContent>> {
        let tag = self.byte()?;
        let id = self.bytes()?;
        let at = i128::from_le_bytes(self.take(16)?.try_into().ok()?);
        let blob = || Some(BlobId(std::str::from_utf8(id).ok()?.into()));
        let source = match tag {
            0 => return Some(None),
            1 => ContentSource::BlobDir(blob()?),
            2 => ContentSource::Git(ObjectId::try_from(id).ok()?),
            3 => ContentSource::HashOnly(blob()?),
            4 => ContentSource::NotCopied(Some(blob()?)),
            5 => ContentSource::NotCopied(None),
            6 => ContentSource::Unreadable,
            _ => return None,
        };
        Some(Some(KnownContent { source, at }))
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = u32::from_le_bytes(self.take(4)?.try_into().ok()?);
        self.take(length as usize)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::{BlobLimits, Checkpointer, EndangeredPaths};

    #[test]
    fn a_journal_restores_the_snapshot_before_the_newest_command_wherever_it_ends() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap().join("project");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/one"), "1").unwrap();
        fs::write(root.join("two"), "2").unwrap();
        std::os::unix::fs::symlink("two", root.join("link")).unwrap();
        let blobs = BlobDir::new(&temp.path().join("data/files"), BlobLimits::default());
        let path = journal_path(&blobs, "s");
        let checkpoints = Checkpointer::new(&root, blobs.clone()).with_journal(&path);
        let none = EndangeredPaths::default();
        let changed = |path: &Path| {
            let command = InterruptedCommand::load(path)?;
            let changes = command
                .changes(&root, &blobs)
                .changes
                .into_iter()
                .map(|change| change.path);
            Some((command.call, changes.collect::<Vec<_>>()))
        };
        let files = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();

        let first = checkpoints.before(&none, ("s", "call 1"));
        fs::write(root.join("two"), "two").unwrap();
        fs::remove_file(root.join("link")).unwrap();
        fs::write(root.join("a/b/new"), "n").unwrap();
        assert_eq!(
            changed(&path),
            Some(("call 1".into(), files(&["a/b/new", "link", "two"])))
        );
        first.after();

        checkpoints.before(&none, ("s", "call 2"));
        fs::remove_dir_all(root.join("a")).unwrap();
        let expected = ("call 2".to_owned(), files(&["a", "a/b", "a/b/new", "a/one"]));
        assert_eq!(changed(&path), Some(expected));

        // A process that is killed while it writes the journal has not started the command.
        let whole = fs::read(&path).unwrap();
        for end in 0..whole.len() {
            fs::write(&path, &whole[..end]).unwrap();
            let call = InterruptedCommand::load(&path).map(|command| command.call);
            assert!(call.is_none() || call == Some("call 1".into()), "{end}: {call:?}");
        }
    }
}
