//! Contents of stored file versions: in the database, or in the blob directory.

use crate::Error;
use bytes::Bytes;
use session::{BlobId, FileKind, FileVersion, Store};
use std::collections::HashMap;
use std::io::{self, Read};
use std::path::Path;
use store::SqliteStore;
use workspace::checkpoint::{BlobDir, BlobSource};

/// Contents of some versions.
pub struct VersionContents {
    blob_dir: BlobDir,
    blobs: HashMap<BlobId, Bytes>,
}

impl VersionContents {
    /// Loads the contents of these versions. Large ones stay on disk until they are read.
    pub async fn load(store: &SqliteStore, versions: &[&FileVersion]) -> Result<Self, Error> {
        let mut contents = VersionContents {
            blob_dir: store.files(),
            blobs: HashMap::new(),
        };
        for version in versions {
            if let Some(id) = &version.content
                && !contents.blobs.contains_key(id)
                && !contents.blob_dir.has(id)
                && let Some(bytes) = store.get_blob(id.clone()).await?
            {
                contents.blobs.insert(id.clone(), bytes);
            }
        }
        Ok(contents)
    }

    /// Whether the content of a version is stored.
    pub(crate) fn has(&self, version: &FileVersion) -> bool {
        match &version.content {
            Some(id) => self.blobs.contains_key(id) || self.blob_dir.has(id),
            None => matches!(version.kind, FileKind::Folder { .. }),
        }
    }

    /// The whole content of a file's version, if it is stored.
    pub fn read(&self, version: &FileVersion) -> Option<Vec<u8>> {
        self.bytes(version, u64::MAX - 1)
    }

    /// The content of a version, if it is stored and not larger than `max` bytes.
    pub(crate) fn bytes(&self, version: &FileVersion, max: u64) -> Option<Vec<u8>> {
        let id = version.content.as_ref()?;
        let mut bytes = Vec::new();
        let open = self.open(id).ok()??;
        open.take(max + 1).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 <= max).then_some(bytes)
    }
}

/// Stores the current content of a path, which is this version. Returns whether it succeeded.
pub(crate) fn store_current(blob_dir: &BlobDir, path: &Path, version: &FileVersion) -> bool {
    let put = match version.kind {
        FileKind::Folder { .. } => return true,
        FileKind::Link | FileKind::File { .. } => blob_dir.put_path(path),
    };
    put.is_ok_and(|put| put.stored.is_ok() && Some(&put.id) == version.content.as_ref())
}

impl BlobSource for VersionContents {
    fn open(&self, id: &BlobId) -> io::Result<Option<Box<dyn Read + '_>>> {
        if let Some(bytes) = self.blobs.get(id) {
            return Ok(Some(Box::new(&bytes[..])));
        }
        let file = self.blob_dir.open(id)?;
        Ok(file.map(|file| Box::new(file) as Box<dyn Read>))
    }

    fn staging(&self) -> Option<&Path> {
        Some(self.blob_dir.folder())
    }
}
