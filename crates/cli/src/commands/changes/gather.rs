//! What waits for review, read off a session: the agent's changes in order, a person's in between, and what is on disk now.

use super::form::{self, Form};
use super::pending::{Content, File, Link, Pending};
use super::whole::{self, Traced, Whole};
use crate::failure::Result;
use bytes::Bytes;
use edit::{ActionLog, Status};
use session::{BlobId, Body, Change, Item, Kind, Reviewed, Store};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use workspace::checkpoint::look;
use workspace::{Error, Location, MAX_FILE, Workspace};

/// Something that happened to a file.
#[derive(Debug, Clone, Copy)]
pub(super) enum Happening<'a> {
    /// The agent changed it.
    Changed(&'a Change),
    /// The person looked at it.
    Reviewed(&'a Reviewed),
}

/// What waits for review in a session whose project is this workspace.
pub(super) async fn gather(store: &dyn Store, workspace: &Workspace, items: &[Arc<Item>]) -> Result<Pending> {
    let histories = histories(items);
    let mut pending = Pending {
        known: histories.keys().map(|path| (*path).to_owned()).collect(),
        ..Pending::default()
    };
    for (path, happenings) in histories {
        let happenings = unsettled(&happenings);
        if happenings.is_empty() {
            continue;
        }
        let form = form::follow(happenings, &|| look(workspace.root(), path).ok().flatten());
        let modes = match form {
            Form::Whole { base, current } => {
                let words = (
                    words(store, base.as_ref()).await?,
                    words(store, current.as_ref()).await?,
                );
                pending.files.push(File::of_form(path, Link { base, current, words }));
                continue;
            }
            Form::Settled => continue,
            Form::Lines { modes } => modes,
        };
        let (location, disk) = match on_disk(workspace, path) {
            Ok(found) => found,
            Err(why) => {
                pending.files.push(File::unreadable(path, why));
                continue;
            }
        };
        let (status, content) = match follow(store, &mut pending.log, path, happenings, disk.as_ref()).await? {
            Followed::Text => match (pending.status_of(path), modes) {
                (Some(status), _) => (status, Content::Text),
                (None, Some(_)) => (Status::Modified, Content::Same),
                (None, None) => continue,
            },
            Followed::Whole(whole) => (whole.status(), Content::Whole(whole)),
            Followed::Settled if modes.is_some() => (Status::Modified, Content::Same),
            Followed::Settled => continue,
            Followed::Lost => {
                let why = "an earlier version of it was not kept".into();
                pending.files.push(File::unreadable(path, why));
                continue;
            }
        };
        pending.files.push(File {
            path: path.to_owned(),
            location: Some(location),
            disk,
            status,
            content,
            modes,
            hunks: Vec::new(),
        });
    }
    pending.name();
    Ok(pending)
}

/// What happened to each file, in order.
fn histories(items: &[Arc<Item>]) -> BTreeMap<&Path, Vec<Happening<'_>>> {
    let mut all: BTreeMap<&Path, Vec<Happening<'_>>> = BTreeMap::new();
    for item in items {
        match &item.body {
            Body::Result { changes, .. } | Body::Restored { changes, .. } => {
                // Folders come and go with what is in them.
                for change in changes.iter().filter(|change| !is_of_folders(change)) {
                    let happenings = all.entry(&change.path).or_default();
                    happenings.push(Happening::Changed(change));
                }
            }
            Body::Review { changes } => {
                for reviewed in changes {
                    all.entry(&reviewed.path)
                        .or_default()
                        .push(Happening::Reviewed(reviewed));
                }
            }
            Body::Prompt { .. }
            | Body::Reply { .. }
            | Body::Summary { .. }
            | Body::Notice { .. }
            | Body::Mode { .. }
            | Body::Wake { .. }
            | Body::Todos { .. }
            | Body::Panels { .. } => {}
        }
    }
    all
}

/// Whether nothing but a folder stood there before and after.
fn is_of_folders(change: &Change) -> bool {
    let mut versions = change.before.iter().chain(&change.after);
    versions.all(|version| matches!(version.kind, Kind::Folder { .. }))
}

/// What happened since nothing was left to look at.
fn unsettled<'a, 'b>(happenings: &'a [Happening<'b>]) -> &'a [Happening<'b>] {
    let settled = happenings.iter().rposition(|happening| match happening {
        Happening::Reviewed(reviewed) => reviewed.is_settled(),
        Happening::Changed(_) => false,
    });
    &happenings[settled.map_or(0, |at| at + 1)..]
}

/// Where a file is and what it holds; otherwise why that cannot be said.
fn on_disk(workspace: &Workspace, path: &Path) -> Result<(Location, Option<Bytes>), String> {
    let location = workspace.locate(path).map_err(|error| error.to_string())?;
    // Paths are kept resolved. One that leads elsewhere today must not be written through.
    if location.path() != workspace.root().join(path) {
        return Err(format!(
            "it is now reached through a link, at {}",
            location.path().display()
        ));
    }
    match location.read_bytes(MAX_FILE) {
        Ok(bytes) => Ok((location, Some(bytes.into()))),
        Err(Error::Missing { .. }) => Ok((location, None)),
        Err(error) => Err(error.to_string()),
    }
}

/// What following a file's versions has led to.
enum Followed {
    /// The log has it, unless nothing is left to look at.
    Text,
    /// A version is not text.
    Whole(Whole),
    /// Nothing is left to look at.
    Settled,
    /// A version that is needed was not kept.
    Lost,
}

async fn follow(
    store: &dyn Store,
    log: &mut ActionLog,
    path: &Path,
    happenings: &[Happening<'_>],
    disk: Option<&Bytes>,
) -> Result<Followed> {
    match follow_text(store, log, path, happenings, disk).await? {
        Told::All => return Ok(Followed::Text),
        Told::NotText => log.forget(path),
        Told::Lost => {
            log.forget(path);
            return Ok(Followed::Lost);
        }
    }
    Ok(match whole::follow(store, happenings, disk).await? {
        Traced::Waiting(whole) => Followed::Whole(whole),
        Traced::Settled => Followed::Settled,
        Traced::Lost => Followed::Lost,
    })
}

/// How much the log could be told.
enum Told {
    All,
    NotText,
    Lost,
}

/// Tells the log what happened to a file.
async fn follow_text(
    store: &dyn Store,
    log: &mut ActionLog,
    path: &Path,
    happenings: &[Happening<'_>],
    disk: Option<&Bytes>,
) -> Result<Told> {
    let mut versions = Versions { store, last: None };
    for happening in happenings {
        let (first, second) = happening.contents();
        if first == second && matches!(happening, Happening::Changed(_)) {
            continue;
        }
        let (first, second) = match (versions.text(first).await?, versions.text(second).await?) {
            (Version::Text(first), Version::Text(second)) => (first, second),
            (Version::Lost, _) | (_, Version::Lost) => return Ok(Told::Lost),
            (Version::Other, _) | (_, Version::Other) => return Ok(Told::NotText),
        };
        match happening {
            Happening::Changed(_) => log.agent_wrote(path, first.as_deref(), second.as_deref()),
            Happening::Reviewed(_) => log.reviewed(path, first.as_deref(), second.as_deref()),
        }
    }
    let Ok(now) = disk.map(|bytes| text_of(bytes)).transpose() else {
        return Ok(Told::NotText);
    };
    log.person_wrote(path, now);
    Ok(Told::All)
}

/// A version of a file.
enum Version {
    /// Text, or no file.
    Text(Option<Arc<str>>),
    /// Not text.
    Other,
    /// Nobody has it any more.
    Lost,
}

/// Reads versions; what one change left is mostly what the next one found.
struct Versions<'a> {
    store: &'a dyn Store,
    last: Option<(BlobId, Arc<str>)>,
}

impl Versions<'_> {
    async fn text(&mut self, id: Option<&BlobId>) -> Result<Version> {
        let Some(id) = id else {
            return Ok(Version::Text(None));
        };
        if let Some((known, text)) = &self.last
            && known == id
        {
            return Ok(Version::Text(Some(Arc::clone(text))));
        }
        let Some(bytes) = self.store.get_blob(id.clone()).await? else {
            return Ok(Version::Lost);
        };
        let Ok(text) = text_of(&bytes).map(Arc::<str>::from) else {
            return Ok(Version::Other);
        };
        self.last = Some((id.clone(), Arc::clone(&text)));
        Ok(Version::Text(Some(text)))
    }
}

/// What stood at a path where a link did at some time, in words.
async fn words(store: &dyn Store, version: Option<&session::Version>) -> Result<String> {
    let Some(version) = version else {
        return Ok(String::new());
    };
    Ok(match version.kind {
        Kind::File { .. } => "file".into(),
        Kind::Folder { .. } => "folder".into(),
        Kind::Link => match &version.content {
            Some(id) => match store.get_blob(id.clone()).await? {
                Some(target) => format!("link to {}", String::from_utf8_lossy(&target)),
                None => "link".into(),
            },
            None => "link".into(),
        },
    })
}

/// That bytes are not text.
struct NotText;

/// Bytes as text, with nothing lost: what is not UTF-8, or has a NUL in it, is none.
fn text_of(bytes: &[u8]) -> Result<&str, NotText> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        Ok(_) | Err(_) => Err(NotText),
    }
}

impl<'a> Happening<'a> {
    /// The names of the bytes before and after.
    pub(super) fn contents(&self) -> (Option<&'a BlobId>, Option<&'a BlobId>) {
        let (before, after) = match self {
            Happening::Changed(change) => (&change.before, &change.after),
            Happening::Reviewed(reviewed) => (&reviewed.base, &reviewed.current),
        };
        let content = |version: &'a session::Version| version.content.as_ref();
        (before.as_ref().and_then(content), after.as_ref().and_then(content))
    }
}

impl File {
    /// A file of which nothing more can be said than why.
    fn unreadable(path: &Path, why: String) -> Self {
        File {
            path: path.to_owned(),
            location: None,
            disk: None,
            status: Status::Modified,
            content: Content::Unreadable(why),
            modes: None,
            hunks: Vec::new(),
        }
    }

    /// A path at which a link stands, or stood.
    fn of_form(path: &Path, link: Link) -> Self {
        let status = match (&link.base, &link.current) {
            (None, _) => Status::Created,
            (Some(_), None) => Status::Deleted,
            (Some(_), Some(_)) => Status::Modified,
        };
        File {
            path: path.to_owned(),
            location: None,
            disk: None,
            status,
            content: Content::Link(link),
            modes: None,
            hunks: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
