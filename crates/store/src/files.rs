//! Contents of files that are too many or too large for the database: a depot beside it.

use crate::fault::Fault;
use bytes::Bytes;
use session::{BlobId, Error};
use std::io::Read;
use std::path::Path;
use workspace::checkpoint::{Depot, Limits};

/// The depot within the folder of the database.
const FOLDER: &str = "files";

/// A larger content is not read whole into memory; whoever wants it reads it from the depot piece by piece.
const MOST: u64 = 64 * 1024 * 1024;

/// The depot beside this database. A database in memory has one that never holds anything.
pub(crate) fn beside(database: &Path) -> Depot {
    let folder = database.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("/nonexistent")).join(FOLDER);
    Depot::new(&folder, Limits::default())
}

/// Reads a content whole, if it is there and not too large for that.
pub(crate) fn read(database: &Path, id: &BlobId) -> Result<Option<Bytes>, Fault> {
    let failed = |error: std::io::Error| {
        Fault::Refused(Error::Unusable {
            path: database.to_path_buf(),
            detail: format!("the file version {id} cannot be read: {error}"),
        })
    };
    let Some(file) = beside(database).open(id).map_err(failed)? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    file.take(MOST + 1).read_to_end(&mut bytes).map_err(failed)?;
    Ok((bytes.len() as u64 <= MOST).then(|| bytes.into()))
}
