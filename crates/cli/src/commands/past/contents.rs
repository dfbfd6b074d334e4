//! The bytes of versions: in the database, or beside it.

use crate::failure::Result;
use bytes::Bytes;
use session::{BlobId, Kind, Store, Version};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use store::Sqlite;
use workspace::checkpoint::{Contents, Depot};

/// The bytes of some versions.
pub(in crate::commands) struct Kept {
    depot: Depot,
    blobs: HashMap<BlobId, Bytes>,
}

impl Kept {
    /// Finds the bytes of these versions. What is large stays where it is until it is read.
    pub(in crate::commands) async fn find(store: &Sqlite, versions: &[&Version]) -> Result<Self> {
        let mut kept = Kept {
            depot: store.files(),
            blobs: HashMap::new(),
        };
        for version in versions {
            if let Some(id) = &version.content
                && !kept.blobs.contains_key(id)
                && !kept.depot.has(id)
                && let Some(bytes) = store.get_blob(id.clone()).await?
            {
                kept.blobs.insert(id.clone(), bytes);
            }
        }
        Ok(kept)
    }

    /// Whether the bytes of a version can be had.
    pub(in crate::commands) fn has(&self, version: &Version) -> bool {
        match &version.content {
            Some(id) => self.blobs.contains_key(id) || self.depot.has(id),
            None => matches!(version.kind, Kind::Folder { .. }),
        }
    }

    /// The bytes of a version, if they can be had and are at most so many.
    pub(in crate::commands) fn bytes(&self, version: &Version, most: u64) -> Option<Vec<u8>> {
        let id = version.content.as_ref()?;
        let mut bytes = Vec::new();
        let open = self.open(id).ok()??;
        open.take(most + 1).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 <= most).then_some(bytes)
    }
}

/// Keeps what stands at a path now, which is this version; says whether that went well.
pub(in crate::commands) fn keep_current(depot: &Depot, place: &Path, version: &Version) -> bool {
    let put = match version.kind {
        Kind::Folder { .. } => return true,
        Kind::Link => fs::read_link(place).and_then(|target| depot.put(target.as_os_str().as_bytes())),
        Kind::File { .. } => File::open(place).and_then(|mut file| {
            let size = file.metadata()?.len();
            depot.put_file(&mut file, size)
        }),
    };
    put.is_ok_and(|put| put.kept.is_ok() && Some(&put.id) == version.content.as_ref())
}

impl Contents for Kept {
    fn open(&self, id: &BlobId) -> io::Result<Option<Box<dyn Read + '_>>> {
        if let Some(bytes) = self.blobs.get(id) {
            return Ok(Some(Box::new(&bytes[..])));
        }
        let file = self.depot.open(id)?;
        Ok(file.map(|file| Box::new(file) as Box<dyn Read>))
    }
}
