//! Pending changes. The id of a change stays the same as long as the change itself does.

use super::binary::BinaryChange;
use super::metadata::ModeChange;
use bytes::Bytes;
use edit::{ActionLog, FileStatus, HunkAuthors, ReviewHunk};
use session::FileVersion;
use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use workspace::Location;

/// The pending changes of a session.
#[derive(Default)]
pub struct PendingChanges {
    /// The files, by path.
    pub files: Vec<PendingFile>,
    /// The versions of the text files.
    pub log: ActionLog,
    /// All paths that the session has ever changed.
    pub touched_paths: Vec<PathBuf>,
}

/// A number of changes and files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingCount {
    /// The number of changes.
    pub changes: usize,
    /// The number of files.
    pub files: usize,
}

impl fmt::Display for PendingCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let PendingCount { changes, files } = *self;
        write!(
            f,
            "{changes} change{} in {files} file{}",
            plural(changes),
            plural(files)
        )
    }
}

/// A file with pending changes.
pub struct PendingFile {
    /// The path as recorded in the session.
    pub path: PathBuf,
    /// The resolved path; `None` if it cannot be resolved or read.
    pub location: Option<Location>,
    /// Its current content; `None` if it does not exist.
    pub disk: Option<Bytes>,
    /// Whether the agent created, modified or deleted it.
    pub status: FileStatus,
    /// How it is reviewed.
    pub content: PendingContent,
    /// The change of its permissions, if the file was neither created nor deleted.
    pub modes: Option<ModeChange>,
    /// Its changes, from top to bottom.
    pub hunks: Vec<PendingHunk>,
}

/// How a file is reviewed.
pub enum PendingContent {
    /// Line by line; the log holds its versions.
    Text,
    /// As a whole, because it is binary.
    Binary(BinaryChange),
    /// Only its permissions changed.
    ModeOnly,
    /// As a whole, because the path is or was a symbolic link.
    Link(LinkChange),
    /// Not possible.
    Unreadable(UnreadableReason),
}

/// Why a file cannot be reviewed.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableReason {
    /// It cannot be located or read.
    #[error(transparent)]
    Workspace(#[from] workspace::Error),
    /// Its path now leads elsewhere.
    #[error("it is now behind a symbolic link, at {}", .0.display())]
    BehindLink(PathBuf),
    /// An earlier version was not stored.
    #[error("an earlier version was not stored")]
    MissingVersion,
}

/// A change of a path that is or was a symbolic link.
pub struct LinkChange {
    /// The accepted version; `None` if the path did not exist.
    pub base: Option<FileVersion>,
    /// The current version.
    pub current: Option<FileVersion>,
    /// Descriptions of both.
    pub descriptions: (String, String),
}

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HunkKind {
    /// Lines of a text file.
    Lines,
    /// The whole content of a binary file.
    Binary,
    /// Permissions.
    Mode,
    /// A symbolic link, or what replaced it.
    Link,
}

/// A change to accept or reject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingHunk {
    /// Its place in the list, from 1.
    pub number: usize,
    /// Stays the same as long as its file and its texts are the same.
    pub id: String,
    /// The kind of change.
    pub kind: HunkKind,
    /// The texts: descriptions for permissions and links, empty for a binary file.
    pub text: ReviewHunk,
}

impl PendingHunk {
    /// Added and removed lines.
    pub fn counts(&self) -> (usize, usize) {
        if self.kind != HunkKind::Lines {
            return (0, 0);
        }
        (self.text.after.lines().count(), self.text.before.lines().count())
    }
}

impl PendingFile {
    /// Added and removed lines of all changes.
    pub fn counts(&self) -> (usize, usize) {
        self.hunks
            .iter()
            .map(PendingHunk::counts)
            .fold((0, 0), |sum, counts| (sum.0 + counts.0, sum.1 + counts.1))
    }

    /// Whether rejecting a change would delete or replace a file that was also edited outside the session.
    pub fn is_reject_blocked(&self, hunk: &PendingHunk) -> bool {
        let is_mixed = hunk.text.authors == HunkAuthors::Mixed;
        if hunk.kind == HunkKind::Mode {
            return false;
        }
        match (&self.content, self.status) {
            (PendingContent::Binary(_), _) | (PendingContent::Text, FileStatus::Created) => is_mixed,
            (PendingContent::Text, FileStatus::Modified | FileStatus::Deleted)
            | (PendingContent::Unreadable(_) | PendingContent::ModeOnly | PendingContent::Link(_), _) => false,
        }
    }
}

impl PendingChanges {
    /// The number of changes and files.
    pub fn count(&self) -> PendingCount {
        PendingCount {
            changes: self.files.iter().map(|file| file.hunks.len()).sum(),
            files: self.files.len(),
        }
    }

    /// Whether the agent created, modified or deleted a text file.
    pub fn status_of(&self, path: &Path) -> Option<FileStatus> {
        self.log
            .files()
            .find(|(file, _)| *file == path)
            .map(|(_, status)| status)
    }

    /// Finds a change by id: the indices of its file and hunk.
    pub(crate) fn find(&self, id: &str) -> Option<(usize, usize)> {
        self.files.iter().enumerate().find_map(|(file_at, file)| {
            let hunk_at = file.hunks.iter().position(|hunk| hunk.id == id)?;
            Some((file_at, hunk_at))
        })
    }

    /// The file that a change with this id belongs to, even if the change no longer exists.
    pub(crate) fn file_of(&self, id: &str) -> Option<&Path> {
        let is_name = id.len() == PLACE_DIGITS + TEXT_DIGITS && id.bytes().all(|digit| digit.is_ascii_hexdigit());
        let mut fitting = self
            .touched_paths
            .iter()
            .filter(|path| is_name && id.starts_with(&place(path)));
        fitting.next().map(PathBuf::as_path)
    }

    /// Computes the hunks of all files and assigns ids and numbers.
    pub fn assign_ids(&mut self) {
        let mut number = 0;
        for file in &mut self.files {
            let (mut hunks, state) = match &file.content {
                PendingContent::Text => (self.log.hunks(&file.path), digest(&self.log.texts(&file.path))),
                PendingContent::Binary(whole) => (vec![binary_hunk(whole)], digest(&(&whole.base, &whole.current))),
                PendingContent::Link(link) => (vec![described_hunk(&link.descriptions)], digest(&link.descriptions)),
                PendingContent::ModeOnly | PendingContent::Unreadable(_) => (Vec::new(), 0),
            };
            let part = match &file.content {
                PendingContent::Binary(_) => HunkKind::Binary,
                PendingContent::Link(_) => HunkKind::Link,
                PendingContent::Text | PendingContent::ModeOnly | PendingContent::Unreadable(_) => HunkKind::Lines,
            };
            let mut parts = vec![part; hunks.len()];
            if let Some(modes) = file.modes {
                hunks.push(described_hunk(&modes.describe()));
                parts.push(HunkKind::Mode);
            }
            let kind = file.status as u8;
            let names = hunks.iter().zip(&parts).map(|(hunk, part)| match part {
                HunkKind::Binary | HunkKind::Link => name(&file.path, state),
                HunkKind::Mode => name(&file.path, digest(&file.modes)),
                HunkKind::Lines => name(&file.path, digest(&(kind, &hunk.before, &hunk.after))),
            });
            let names: Vec<String> = names.collect();
            let names = disambiguate(names, &file.path, state);
            file.hunks = hunks
                .into_iter()
                .zip(names)
                .zip(parts)
                .map(|((text, id), kind)| {
                    number += 1;
                    PendingHunk { number, id, kind, text }
                })
                .collect();
        }
    }
}

fn binary_hunk(whole: &BinaryChange) -> ReviewHunk {
    ReviewHunk {
        first_line: 1,
        first_line_before: 1,
        before: String::new(),
        after: String::new(),
        authors: whole.authors,
    }
}

/// A change shown as a description.
fn described_hunk((before, after): &(String, String)) -> ReviewHunk {
    let line = |text: &str| match text {
        "" => String::new(),
        text => format!(
            "{text}
"
        ),
    };
    ReviewHunk {
        first_line: 1,
        first_line_before: 1,
        before: line(before),
        after: line(after),
        authors: HunkAuthors::Agent,
    }
}

/// Gives identical changes of one file ids that are valid only as long as the whole file is the same: after one of them is
/// decided, its id must not match another one.
fn disambiguate(names: Vec<String>, path: &Path, state: u64) -> Vec<String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for name in &names {
        *counts.entry(name.clone()).or_default() += 1;
    }
    let is_shared = |name: &String| counts.get(name).is_some_and(|count| *count > 1);
    names
        .into_iter()
        .enumerate()
        .map(|(at, own)| match is_shared(&own) {
            true => name(path, digest(&(own, state, at))),
            false => own,
        })
        .collect()
}

const PLACE_DIGITS: usize = 3;
const TEXT_DIGITS: usize = 7;

/// The id of a change: some digits for the file, so that an outdated id can be explained, the rest for the texts.
fn name(path: &Path, text: u64) -> String {
    format!("{}{:07x}", place(path), text & 0x0fff_ffff)
}

fn place(path: &Path) -> String {
    format!("{:03x}", digest(path) & 0xfff)
}

/// Ids are compared within minutes on one machine, so a fast hash that may differ between releases is sufficient.
fn digest(of: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(before: &str, after: &str) -> PendingChanges {
        let path = Path::new("a.txt");
        let mut pending = PendingChanges {
            touched_paths: vec![path.into()],
            ..PendingChanges::default()
        };
        pending.log.record_agent_write(path, Some(before), Some(after));
        pending.files.push(PendingFile {
            path: path.into(),
            location: None,
            disk: None,
            status: FileStatus::Modified,
            content: PendingContent::Text,
            modes: None,
            hunks: Vec::new(),
        });
        pending.assign_ids();
        pending
    }

    fn ids(pending: &PendingChanges) -> Vec<String> {
        pending.files[0].hunks.iter().map(|hunk| hunk.id.clone()).collect()
    }

    #[test]
    fn an_id_is_stable_while_other_changes_of_the_file_differ() {
        let both = ids(&pending("1\n2\n3\n4\n5\n", "1\nB\n3\nD\n5\n"));
        assert_eq!(ids(&pending("1\n2\n3\n4\n5\n", "0\n1\n2\n3\nD\n5\n"))[1], both[1]);
        assert_ne!(ids(&pending("1\n2\n3\n4\n5\n", "1\n2\n3\nD!\n5\n"))[0], both[1]);
    }

    #[test]
    fn identical_changes_never_reuse_each_others_ids() {
        let both = ids(&pending("a\nx\nb\nx\n", "a\ny\nb\ny\n"));
        assert_ne!(both[0], both[1]);
        let left = ids(&pending("a\ny\nb\nx\n", "a\ny\nb\ny\n"));
        assert!(!both.contains(&left[0]));
    }

    #[test]
    fn an_outdated_id_leads_to_its_file() {
        let pending = pending("a\n", "b\n");
        let id = &pending.files[0].hunks[0].id;
        let stale = format!("{}0000000", &id[..3]);
        assert_eq!(pending.find(&stale), None);
        assert_eq!(pending.file_of(&stale), Some(Path::new("a.txt")));
        assert_eq!(pending.file_of("nothing"), None);
        assert_eq!(pending.find(id), Some((0, 0)));
    }
}
