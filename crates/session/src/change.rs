//! What stood at a path before and after something changed it.

use crate::BlobId;
use std::path::PathBuf;

/// A path before and after a tool changed what stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The path, relative to the project where it lies inside it.
    pub path: PathBuf,
    /// What stood there before; `None` where nothing did.
    pub before: Option<Version>,
    /// What stood there after; `None` where nothing did.
    pub after: Option<Version>,
}

/// What stood at a path at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// What kind of thing it was, with its permissions.
    pub kind: Kind,
    /// Names the bytes of a file, or those of the path that a link led to; `None` for a folder.
    pub content: Option<BlobId>,
    /// Whether the bytes can be had back, or are only known by their name.
    pub kept: bool,
}

/// What kind of thing stood at a path. Permissions are the twelve bits of a Unix mode; `None` where nobody noted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File {
        /// Its permissions.
        mode: Option<u32>,
    },
    /// A symbolic link.
    Link,
    /// A folder.
    Folder {
        /// Its permissions.
        mode: Option<u32>,
    },
}

impl Change {
    /// The names of the bytes on both sides, where there was a regular file or nothing; `None` for links and folders.
    pub fn contents(&self) -> Option<(Option<&BlobId>, Option<&BlobId>)> {
        let is_plain = |version: &Option<Version>| match version.as_ref().map(|version| version.kind) {
            Some(Kind::File { .. }) | None => true,
            Some(Kind::Link | Kind::Folder { .. }) => false,
        };
        if !is_plain(&self.before) || !is_plain(&self.after) {
            return None;
        }
        Some((content(&self.before), content(&self.after)))
    }
}

impl Version {
    /// A folder.
    pub fn folder(mode: u32) -> Self {
        Version {
            kind: Kind::Folder { mode: Some(mode) },
            content: None,
            kept: true,
        }
    }

    /// Whether both are the same, as far as both are known.
    pub fn is_like(&self, other: &Version) -> bool {
        let modes = |one: Option<u32>, two: Option<u32>| one.is_none() || two.is_none() || one == two;
        let kinds = match (self.kind, other.kind) {
            (Kind::File { mode: one }, Kind::File { mode: two })
            | (Kind::Folder { mode: one }, Kind::Folder { mode: two }) => modes(one, two),
            (Kind::Link, Kind::Link) => true,
            (Kind::File { .. } | Kind::Link | Kind::Folder { .. }, _) => false,
        };
        let contents = match self.kind {
            // Bytes that nobody could name may be any.
            Kind::File { .. } | Kind::Link => self.content.is_some() && self.content == other.content,
            Kind::Folder { .. } => true,
        };
        kinds && contents
    }
}

fn content(version: &Option<Version>) -> Option<&BlobId> {
    version.as_ref().and_then(|version| version.content.as_ref())
}

/// A regular file of which only the bytes are known.
impl From<BlobId> for Version {
    fn from(content: BlobId) -> Self {
        Version {
            kind: Kind::File { mode: None },
            content: Some(content),
            kept: true,
        }
    }
}
