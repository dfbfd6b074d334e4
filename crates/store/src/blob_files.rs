//! File versions that are too many or too large for the database, in a folder next to it.

use crate::error::StoreError;
use bytes::Bytes;
use session::{BlobId, Error};
use std::io::Read;
use std::path::Path;
use workspace::checkpoint::{BlobDir, BlobLimits};

/// The name of the folder.
const FOLDER: &str = "files";

/// Larger blobs are not read into memory; callers stream them from the folder.
const MAX_IN_MEMORY: u64 = 64 * 1024 * 1024;

/// The blob folder of this database. A database in memory has one that is always empty.
pub(crate) fn blob_dir(database: &Path) -> BlobDir {
    let folder = database.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("/nonexistent")).join(FOLDER);
    BlobDir::new(&folder, BlobLimits::default())
}

/// Reads a blob, if it exists and is not too large.
pub(crate) fn read(database: &Path, id: &BlobId) -> Result<Option<Bytes>, StoreError> {
    let failed = |error: std::io::Error| {
        StoreError::Rejected(Error::Unusable {
            path: database.to_path_buf(),
            detail: format!("the file version {id} cannot be read: {error}"),
        })
    };
    let Some(file) = blob_dir(database).open(id).map_err(failed)? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    file.take(MAX_IN_MEMORY + 1).read_to_end(&mut bytes).map_err(failed)?;
    Ok((bytes.len() as u64 <= MAX_IN_MEMORY).then(|| bytes.into()))
}
