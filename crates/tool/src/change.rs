//! What a tool changed on disk.

use model::CallId;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::mpsc;

/// A path before and after a tool changed what stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The path, relative to the project where it lies inside it.
    pub path: PathBuf,
    /// What stood there before; `None` where nothing did.
    pub before: Option<Version>,
    /// What stands there now; `None` where nothing does.
    pub after: Option<Version>,
}

/// What stood at a path at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// What kind of thing it was.
    pub kind: Kind,
    /// Its bytes; those of the path that a link leads to.
    pub content: Content,
}

/// What kind of thing stood at a path, with the twelve permission bits of its mode where they are known.
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

/// The bytes of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Here they are.
    Bytes(Vec<u8>),
    /// They have been kept already, under the name of their content.
    Kept(Arc<str>),
    /// They could not be kept; only the name of their content is known.
    Lost(Arc<str>),
    /// A folder has none.
    None,
}

impl Version {
    /// A regular file with these bytes.
    pub fn file(bytes: Vec<u8>, mode: Option<u32>) -> Self {
        Version {
            kind: Kind::File { mode },
            content: Content::Bytes(bytes),
        }
    }

    /// A folder.
    pub fn folder(mode: Option<u32>) -> Self {
        Version {
            kind: Kind::Folder { mode },
            content: Content::None,
        }
    }

    /// The bytes, where they are here.
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.content {
            Content::Bytes(bytes) => Some(bytes),
            Content::Kept(_) | Content::Lost(_) | Content::None => None,
        }
    }
}

impl From<Vec<u8>> for Version {
    fn from(bytes: Vec<u8>) -> Self {
        Version::file(bytes, None)
    }
}

/// Where a tool reports what it has changed when it cannot give it back, because it is being stopped.
///
/// The channel has no bound: a `Drop` that reports cannot wait, and a call is stopped once.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    sender: Option<mpsc::UnboundedSender<(CallId, Vec<Change>)>>,
}

impl Changes {
    /// Changes that are reported to this channel.
    pub fn new(sender: mpsc::UnboundedSender<(CallId, Vec<Change>)>) -> Self {
        Changes { sender: Some(sender) }
    }

    /// Changes that nobody wants to know of.
    pub fn none() -> Self {
        Changes::default()
    }

    /// Reports what the call has changed.
    pub fn report(&self, call: &CallId, changes: Vec<Change>) {
        if let Some(sender) = &self.sender {
            // A closed channel means that the session is gone.
            drop(sender.send((call.clone(), changes)));
        }
    }
}
