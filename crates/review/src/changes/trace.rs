//! Computes the pending changes of a session from its recorded changes and reviews and the current files.

use super::binary::{BinaryChange, BinaryTrace, trace_binary};
use super::metadata::{MetadataChange, metadata_change};
use super::pending::{LinkChange, PendingChanges, PendingContent, PendingFile, UnreadableReason};
use crate::Error;
use bytes::Bytes;
use edit::{ActionLog, FileStatus};
use session::{BlobId, Body, Change, FileKind, FileVersion, Item, ReviewedFile, Store};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use workspace::checkpoint::current_version;
use workspace::{Location, MAX_FILE, Workspace};

/// A recorded event of a file.
#[derive(Debug, Clone, Copy)]
pub(super) enum FileEvent<'a> {
    /// The agent changed the file.
    Changed(&'a Change),
    /// The user reviewed the file.
    Reviewed(&'a ReviewedFile),
}

/// The pending changes of a session in this workspace.
pub(super) async fn pending_changes(
    store: &dyn Store,
    workspace: &Workspace,
    items: &[Arc<Item>],
) -> Result<PendingChanges, Error> {
    let events_by_file = events_by_path(items);
    let mut pending = PendingChanges {
        touched_paths: events_by_file.keys().map(|path| (*path).to_owned()).collect(),
        ..PendingChanges::default()
    };
    for (path, events) in events_by_file {
        let events = since_settled(&events);
        if events.is_empty() {
            continue;
        }
        let form = metadata_change(events, &|| current_version(workspace.root(), path).ok().flatten());
        let modes = match form {
            MetadataChange::Link { base, current } => {
                let descriptions = (
                    describe_version(store, base.as_ref()).await?,
                    describe_version(store, current.as_ref()).await?,
                );
                pending.files.push(PendingFile::link(
                    path,
                    LinkChange {
                        base,
                        current,
                        descriptions,
                    },
                ));
                continue;
            }
            MetadataChange::Settled => continue,
            MetadataChange::Content { modes } => modes,
        };
        let (location, disk) = match read_current(workspace, path) {
            Ok(found) => found,
            Err(why) => {
                pending.files.push(PendingFile::unreadable(path, why));
                continue;
            }
        };
        let (status, content) = match trace_file(store, &mut pending.log, path, events, disk.as_ref()).await? {
            FileTrace::Text => match (pending.status_of(path), modes) {
                (Some(status), _) => (status, PendingContent::Text),
                (None, Some(_)) => (FileStatus::Modified, PendingContent::ModeOnly),
                (None, None) => continue,
            },
            FileTrace::Binary(whole) => (whole.status(), PendingContent::Binary(whole)),
            FileTrace::Settled if modes.is_some() => (FileStatus::Modified, PendingContent::ModeOnly),
            FileTrace::Settled => continue,
            FileTrace::Missing => {
                let reason = UnreadableReason::MissingVersion;
                pending.files.push(PendingFile::unreadable(path, reason));
                continue;
            }
        };
        pending.files.push(PendingFile {
            path: path.to_owned(),
            location: Some(location),
            disk,
            status,
            content,
            modes,
            hunks: Vec::new(),
        });
    }
    pending.assign_ids();
    Ok(pending)
}

/// The events of each file, in order.
fn events_by_path(items: &[Arc<Item>]) -> BTreeMap<&Path, Vec<FileEvent<'_>>> {
    let mut all: BTreeMap<&Path, Vec<FileEvent<'_>>> = BTreeMap::new();
    for item in items {
        match &item.body {
            Body::Result { changes, .. } | Body::Restored { changes, .. } => {
                // Folders are created and removed with their files.
                for change in changes.iter().filter(|change| !is_of_folders(change)) {
                    let events = all.entry(&change.path).or_default();
                    events.push(FileEvent::Changed(change));
                }
            }
            Body::Review { changes, .. } => {
                for reviewed in changes {
                    all.entry(&reviewed.path)
                        .or_default()
                        .push(FileEvent::Reviewed(reviewed));
                }
            }
            _ => {}
        }
    }
    all
}

/// Whether the path was a folder or nothing, before and after.
fn is_of_folders(change: &Change) -> bool {
    let mut versions = change.before.iter().chain(&change.after);
    versions.all(|version| matches!(version.kind, FileKind::Folder { .. }))
}

/// The events since the last review that settled all changes.
fn since_settled<'a, 'b>(events: &'a [FileEvent<'b>]) -> &'a [FileEvent<'b>] {
    let settled = events.iter().rposition(|event| match event {
        FileEvent::Reviewed(reviewed) => reviewed.is_resolved(),
        FileEvent::Changed(_) => false,
    });
    &events[settled.map_or(0, |at| at + 1)..]
}

/// The location and content of a file, or the reason why it cannot be reviewed.
fn read_current(workspace: &Workspace, path: &Path) -> Result<(Location, Option<Bytes>), UnreadableReason> {
    let location = workspace.locate(path)?;
    // Recorded paths are resolved. Never write through a path that now leads elsewhere.
    if location.path() != workspace.root().join(path) {
        return Err(UnreadableReason::BehindLink(location.path().to_owned()));
    }
    match location.read_bytes(MAX_FILE) {
        Ok(bytes) => Ok((location, Some(bytes.into()))),
        Err(workspace::Error::Missing { .. }) => Ok((location, None)),
        Err(error) => Err(error.into()),
    }
}

/// The result of replaying the events of a file.
enum FileTrace {
    /// All versions are text; the log holds the pending changes.
    Text,
    /// A version is binary.
    Binary(BinaryChange),
    /// Nothing is pending.
    Settled,
    /// A required version was not stored.
    Missing,
}

async fn trace_file(
    store: &dyn Store,
    log: &mut ActionLog,
    path: &Path,
    events: &[FileEvent<'_>],
    disk: Option<&Bytes>,
) -> Result<FileTrace, Error> {
    match trace_text(store, log, path, events, disk).await? {
        TextTrace::Complete => return Ok(FileTrace::Text),
        TextTrace::NotText => log.forget(path),
        TextTrace::Missing => {
            log.forget(path);
            return Ok(FileTrace::Missing);
        }
    }
    Ok(match trace_binary(store, events, disk).await? {
        BinaryTrace::Pending(whole) => FileTrace::Binary(whole),
        BinaryTrace::Settled => FileTrace::Settled,
        BinaryTrace::Missing => FileTrace::Missing,
    })
}

/// The result of replaying text versions.
enum TextTrace {
    Complete,
    NotText,
    Missing,
}

/// Replays the events of a text file into the log.
async fn trace_text(
    store: &dyn Store,
    log: &mut ActionLog,
    path: &Path,
    events: &[FileEvent<'_>],
    disk: Option<&Bytes>,
) -> Result<TextTrace, Error> {
    let mut versions = TextVersionReader { store, last: None };
    for event in events {
        let (first, second) = event.contents();
        if first == second && matches!(event, FileEvent::Changed(_)) {
            continue;
        }
        let (first, second) = match (versions.text(first).await?, versions.text(second).await?) {
            (TextVersion::Text(first), TextVersion::Text(second)) => (first, second),
            (TextVersion::Missing, _) | (_, TextVersion::Missing) => return Ok(TextTrace::Missing),
            (TextVersion::NotText, _) | (_, TextVersion::NotText) => return Ok(TextTrace::NotText),
        };
        match event {
            FileEvent::Changed(_) => log.record_agent_write(path, first.as_deref(), second.as_deref()),
            FileEvent::Reviewed(_) => log.restore_review(path, first.as_deref(), second.as_deref()),
        }
    }
    let Ok(now) = disk.map(|bytes| as_text(bytes)).transpose() else {
        return Ok(TextTrace::NotText);
    };
    log.record_user_write(path, now);
    Ok(TextTrace::Complete)
}

/// A stored version of a file.
enum TextVersion {
    /// Text, or `None` if the file did not exist.
    Text(Option<Arc<str>>),
    /// Not text.
    NotText,
    /// Not stored.
    Missing,
}

/// Reads versions. Caches the last one: the result of one change is usually the input of the next.
struct TextVersionReader<'a> {
    store: &'a dyn Store,
    last: Option<(BlobId, Arc<str>)>,
}

impl TextVersionReader<'_> {
    async fn text(&mut self, id: Option<&BlobId>) -> Result<TextVersion, Error> {
        let Some(id) = id else {
            return Ok(TextVersion::Text(None));
        };
        if let Some((known, text)) = &self.last
            && known == id
        {
            return Ok(TextVersion::Text(Some(Arc::clone(text))));
        }
        let Some(bytes) = self.store.get_blob(id.clone()).await? else {
            return Ok(TextVersion::Missing);
        };
        let Ok(text) = as_text(&bytes).map(Arc::<str>::from) else {
            return Ok(TextVersion::NotText);
        };
        self.last = Some((id.clone(), Arc::clone(&text)));
        Ok(TextVersion::Text(Some(text)))
    }
}

/// Describes a version of a path that is or was a symbolic link.
async fn describe_version(store: &dyn Store, version: Option<&FileVersion>) -> Result<String, Error> {
    let Some(version) = version else {
        return Ok(String::new());
    };
    Ok(match version.kind {
        FileKind::File { .. } => "file".into(),
        FileKind::Folder { .. } => "folder".into(),
        FileKind::Link => match &version.content {
            Some(id) => match store.get_blob(id.clone()).await? {
                Some(target) => format!("link to {}", String::from_utf8_lossy(&target)),
                None => "link".into(),
            },
            None => "link".into(),
        },
    })
}

/// The content is not text.
struct NotTextError;

/// Decodes text losslessly. Content that is not UTF-8 or contains NUL is not text.
fn as_text(bytes: &[u8]) -> Result<&str, NotTextError> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        Ok(_) | Err(_) => Err(NotTextError),
    }
}

impl<'a> FileEvent<'a> {
    /// The blob ids before and after.
    pub(super) fn contents(&self) -> (Option<&'a BlobId>, Option<&'a BlobId>) {
        let (before, after) = match self {
            FileEvent::Changed(change) => (&change.before, &change.after),
            FileEvent::Reviewed(reviewed) => (&reviewed.base, &reviewed.current),
        };
        let content = |version: &'a FileVersion| version.content.as_ref();
        (before.as_ref().and_then(content), after.as_ref().and_then(content))
    }
}

impl PendingFile {
    /// A file that cannot be reviewed, with the reason.
    fn unreadable(path: &Path, reason: UnreadableReason) -> Self {
        PendingFile {
            path: path.to_owned(),
            location: None,
            disk: None,
            status: FileStatus::Modified,
            content: PendingContent::Unreadable(reason),
            modes: None,
            hunks: Vec::new(),
        }
    }

    /// A path that is or was a symbolic link.
    fn link(path: &Path, link: LinkChange) -> Self {
        let status = match (&link.base, &link.current) {
            (None, _) => FileStatus::Created,
            (Some(_), None) => FileStatus::Deleted,
            (Some(_), Some(_)) => FileStatus::Modified,
        };
        PendingFile {
            path: path.to_owned(),
            location: None,
            disk: None,
            status,
            content: PendingContent::Link(link),
            modes: None,
            hunks: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
