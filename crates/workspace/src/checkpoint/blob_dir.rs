//! A folder of blobs named by their SHA-256.

use crate::write::EntryHandle;
use ring::digest::{Context, SHA256, digest};
use rustix::fs::FileType;
use session::BlobId;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// Files up to this size are read whole, to avoid copying blobs that are stored already.
const SMALL: u64 = 256 * 1024;
const BUFFER: usize = 128 * 1024;
/// The timestamp of a blob that is stored again is renewed when it is older than this.
const RENEW_AGE: Duration = Duration::from_secs(60 * 60);

/// Limits for stored blobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobLimits {
    /// Total bytes.
    pub quota: u64,
    /// Bytes per blob.
    pub max_file: u64,
}

impl Default for BlobLimits {
    fn default() -> Self {
        BlobLimits {
            quota: 1 << 30,
            max_file: 256 << 20,
        }
    }
}

/// A folder of blobs. Several processes may use it at the same time; clones share the known size.
#[derive(Debug, Clone)]
pub struct BlobDir {
    folder: Arc<Path>,
    limits: BlobLimits,
    used: Arc<Mutex<Option<u64>>>,
}

/// The result of storing a blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutOutcome {
    /// Its id.
    pub id: BlobId,
    /// Whether it is stored.
    pub stored: Result<(), NotStored>,
}

/// Why a blob is not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotStored {
    /// It exceeds the size limit.
    TooLarge,
    /// The quota is used up.
    Full,
}

/// A stored blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredBlob {
    /// Its id.
    pub id: BlobId,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last stored.
    pub at: SystemTime,
}

impl BlobDir {
    /// The blobs in this folder, which is created with the first blob.
    pub fn new(folder: &Path, limits: BlobLimits) -> Self {
        BlobDir {
            folder: folder.into(),
            limits,
            used: Arc::default(),
        }
    }

    /// The same folder with other limits.
    pub fn with_limits(&self, limits: BlobLimits) -> Self {
        BlobDir { limits, ..self.clone() }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The limits.
    pub fn limits(&self) -> BlobLimits {
        self.limits
    }

    /// Whether a blob is stored.
    pub fn has(&self, id: &BlobId) -> bool {
        self.path_of(id).is_some_and(|path| path.exists())
    }

    /// The size of a blob; `None` if it is not stored.
    pub fn size(&self, id: &BlobId) -> Option<u64> {
        let metadata = fs::metadata(self.path_of(id)?).ok()?;
        Some(metadata.len())
    }

    /// Opens a blob for reading.
    pub fn open(&self, id: &BlobId) -> io::Result<Option<File>> {
        let Some(path) = self.path_of(id) else { return Ok(None) };
        match File::open(path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether a large blob would fit, to avoid reading one that does not.
    pub(super) fn check_space(&self, size: u64) -> Result<(), NotStored> {
        match size <= SMALL {
            true => Ok(()),
            false => self.check_limits(size),
        }
    }

    /// Stores these bytes.
    pub fn put(&self, bytes: &[u8]) -> io::Result<PutOutcome> {
        let id = hex_id(digest(&SHA256, bytes).as_ref());
        let kept = match self.touch(&id) {
            true => Ok(()),
            false => match self.check_limits(bytes.len() as u64) {
                Ok(()) => {
                    let mut file = self.temporary()?;
                    file.write_all(bytes)?;
                    self.persist(file, &id, bytes.len() as u64)?;
                    Ok(())
                }
                Err(why) => Err(why),
            },
        };
        Ok(PutOutcome { id, stored: kept })
    }

    /// Stores the rest of an open file of about this size, without reading a large one into memory.
    pub fn put_file(&self, file: &mut File, size: u64) -> io::Result<PutOutcome> {
        if size <= SMALL {
            let mut bytes = Vec::with_capacity(size as usize + 1);
            file.read_to_end(&mut bytes)?;
            return self.put(&bytes);
        }
        if let Err(why) = self.check_limits(size) {
            let (id, _) = copy(file, &mut io::sink())?;
            return Ok(PutOutcome {
                stored: if self.touch(&id) { Ok(()) } else { Err(why) },
                id,
            });
        }
        let mut temporary = self.temporary()?;
        let is_shared = rustix::fs::ioctl_ficlone(temporary.as_file(), &*file).is_ok();
        let (id, size) = match is_shared {
            // A reflink: hash the copy, because the original may change meanwhile.
            true => copy(&mut temporary.reopen()?, &mut io::sink())?,
            false => copy(file, &mut temporary)?,
        };
        if !self.touch(&id) {
            self.persist(temporary, &id, size)?;
        }
        Ok(PutOutcome { id, stored: Ok(()) })
    }

    /// Stores the content of a file, or the target of a link. No link on the way to it is followed.
    pub fn put_path(&self, path: &Path) -> io::Result<PutOutcome> {
        let handle = EntryHandle::open_parent(path)?;
        let stat = handle.metadata()?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => self.put(handle.link()?.as_bytes()),
            _ => self.put_file(&mut handle.open_file()?, stat.st_size as u64),
        }
    }

    /// Total bytes.
    pub fn used(&self) -> u64 {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        *used.get_or_insert_with(|| self.contents().iter().map(|blob| blob.size).sum())
    }

    /// Whether this process has measured the used size.
    pub fn has_measured(&self) -> bool {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// All stored blobs.
    pub fn contents(&self) -> Vec<StoredBlob> {
        let mut all = Vec::new();
        for folder in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            for entry in fs::read_dir(folder.path()).into_iter().flatten().flatten() {
                let id = format!(
                    "{}{}",
                    folder.file_name().to_string_lossy(),
                    entry.file_name().to_string_lossy()
                );
                let id = BlobId(id.into());
                // Other files are incomplete copies.
                if let (true, Ok(metadata)) = (self.path_of(&id).is_some(), entry.metadata()) {
                    all.push(StoredBlob {
                        id,
                        size: metadata.len(),
                        at: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                    });
                }
            }
        }
        all
    }

    /// Removes a blob, if it exists.
    pub fn remove(&self, id: &BlobId) -> io::Result<()> {
        let Some(path) = self.path_of(id) else { return Ok(()) };
        let size = fs::metadata(&path).map_or(0, |metadata| metadata.len());
        match fs::remove_file(path) {
            Ok(()) => {
                let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
                *used = used.map(|used| used.saturating_sub(size));
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Removes incomplete copies of killed processes.
    pub fn sweep(&self) {
        let now = SystemTime::now();
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            let is_old = modified.is_ok_and(|at| now.duration_since(at).is_ok_and(|age| age > RENEW_AGE));
            if is_file && is_old {
                fs::remove_file(entry.path()).ok();
            }
        }
    }

    /// Whether a blob is stored; renews its timestamp.
    fn touch(&self, id: &BlobId) -> bool {
        let Some(path) = self.path_of(id) else { return false };
        let Ok(metadata) = fs::metadata(&path) else {
            return false;
        };
        let age = metadata.modified().ok().and_then(|at| at.elapsed().ok());
        if age.is_some_and(|age| age > RENEW_AGE) {
            let renewed = File::options().write(true).open(&path);
            // Without renewal it only expires sooner.
            renewed.and_then(|file| file.set_modified(SystemTime::now())).ok();
        }
        true
    }

    pub(super) fn check_limits(&self, size: u64) -> Result<(), NotStored> {
        if size > self.limits.max_file {
            return Err(NotStored::TooLarge);
        }
        match self.used().saturating_add(size) <= self.limits.quota {
            true => Ok(()),
            false => Err(NotStored::Full),
        }
    }

    fn temporary(&self) -> io::Result<tempfile::NamedTempFile> {
        let make = || tempfile::Builder::new().prefix("new-").tempfile_in(&self.folder);
        match make() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
                make()
            }
            made => made,
        }
    }

    fn persist(&self, file: tempfile::NamedTempFile, id: &BlobId, size: u64) -> io::Result<()> {
        let Some(path) = self.path_of(id) else { return Ok(()) };
        let file = match file.persist(&path) {
            Ok(file) => file,
            Err(failed) if failed.error.kind() == io::ErrorKind::NotFound => {
                if let Some(folder) = path.parent() {
                    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
                }
                failed.file.persist(&path).map_err(|failed| failed.error)?
            }
            Err(failed) => return Err(failed.error),
        };
        drop(file);
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        *used = used.map(|used| used.saturating_add(size));
        Ok(())
    }

    /// The path of a blob; `None` if the id is not a SHA-256.
    fn path_of(&self, id: &BlobId) -> Option<PathBuf> {
        let text: &str = &id.0;
        let is_name = text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let (folder, rest) = text.split_at_checked(2).filter(|_| is_name)?;
        Some(self.folder.join(folder).join(rest))
    }
}

/// The id of a stream's content.
pub(super) fn hash_reader(file: &mut impl Read) -> io::Result<BlobId> {
    copy(file, &mut io::sink()).map(|(id, _)| id)
}

/// The id of these bytes.
pub(super) fn hash_bytes(bytes: &[u8]) -> BlobId {
    hex_id(digest(&SHA256, bytes).as_ref())
}

/// Copies a stream and returns its id and size.
fn copy(from: &mut impl Read, to: &mut impl Write) -> io::Result<(BlobId, u64)> {
    let mut context = Context::new(&SHA256);
    let mut buffer = vec![0; BUFFER];
    let mut size = 0;
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok((hex_id(context.finish().as_ref()), size)),
            Ok(count) => {
                context.update(&buffer[..count]);
                to.write_all(&buffer[..count])?;
                size += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn hex_id(digest: &[u8]) -> BlobId {
    let mut name = String::with_capacity(64);
    for byte in digest {
        // Writing to a string cannot fail.
        write!(name, "{byte:02x}").unwrap_or_default();
    }
    BlobId(name.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open;
    use std::io::Seek;

    fn blobs(folder: &Path, quota: u64) -> BlobDir {
        let limits = BlobLimits {
            quota,
            max_file: 1 << 20,
        };
        BlobDir::new(folder, limits)
    }

    #[test]
    fn a_blob_is_stored_once_under_its_hash() {
        let temp = tempfile::tempdir().unwrap();
        let blobs = blobs(&temp.path().join("depot"), 10 << 20);
        let large = vec![7; 600 * 1024];
        let path = temp.path().join("large");
        fs::write(&path, &large).unwrap();
        let mut file = File::open(&path).unwrap();
        let put = blobs.put_file(&mut file, large.len() as u64).unwrap();
        assert_eq!((put.id.clone(), put.stored), (hash_bytes(&large), Ok(())));
        file.rewind().unwrap();
        assert_eq!(blobs.put_file(&mut file, large.len() as u64).unwrap().id, put.id);
        let mut bytes = Vec::new();
        blobs.open(&put.id).unwrap().unwrap().read_to_end(&mut bytes).unwrap();
        assert!(bytes == large);
        assert_eq!(blobs.put(b"small").unwrap().stored, Ok(()));
        assert_eq!((blobs.used(), blobs.contents().len()), (large.len() as u64 + 5, 2));
        blobs.remove(&put.id).unwrap();
        blobs.remove(&put.id).unwrap();
        assert!(!blobs.has(&put.id));
        assert_eq!(blobs.used(), 5);
    }

    #[test]
    fn blobs_beyond_the_limits_are_hashed_but_not_stored() {
        let temp = tempfile::tempdir().unwrap();
        let blobs = blobs(&temp.path().join("depot"), 8);
        assert_eq!(blobs.put(b"12345").unwrap().stored, Ok(()));
        let put = blobs.put(b"67890").unwrap();
        assert_eq!((put.id, put.stored), (hash_bytes(b"67890"), Err(NotStored::Full)));
        assert_eq!(blobs.put(b"12345").unwrap().stored, Ok(()), "it is there already");
        let path = temp.path().join("huge");
        File::create(&path).unwrap().set_len(2 << 20).unwrap();
        let put = blobs.put_file(&mut File::open(&path).unwrap(), 2 << 20).unwrap();
        assert_eq!(put.stored, Err(NotStored::TooLarge));
        assert_eq!(blobs.used(), 5);
    }

    #[test]
    fn a_pipe_or_a_link_is_not_opened() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("file"), "x").unwrap();
        std::os::unix::fs::symlink("file", temp.path().join("link")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            temp.path().join("pipe"),
            rustix::fs::FileType::Fifo,
            0o600.into(),
            0,
        )
        .unwrap();
        let folder = temp.path().canonicalize().unwrap();
        assert!(open::regular_file(&folder.join("file")).is_ok());
        assert!(open::regular_file(&folder.join("link")).is_err());
        assert!(open::regular_file(&folder.join("pipe")).is_err());
    }
}
