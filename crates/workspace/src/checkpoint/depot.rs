//! Contents of files, kept in a folder under the names of their SHA-256.

use ring::digest::{Context, SHA256, digest};
use session::BlobId;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// Files up to this size are read whole, which saves a copy of what is kept already.
const SMALL: u64 = 256 * 1024;
const BUFFER: usize = 128 * 1024;
/// The time since which something was kept is renewed when it is older than this.
const RENEW: Duration = Duration::from_secs(60 * 60);

/// How much may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all contents together.
    pub quota: u64,
    /// Bytes of one content.
    pub max_file: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            quota: 1 << 30,
            max_file: 256 << 20,
        }
    }
}

/// A folder of contents by their names. Several processes may use it at once; clones share what they know of its size.
#[derive(Debug, Clone)]
pub struct Depot {
    folder: Arc<Path>,
    limits: Limits,
    used: Arc<Mutex<Option<u64>>>,
}

/// What came of an attempt to keep a content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Put {
    /// Its name.
    pub id: BlobId,
    /// Whether it is kept.
    pub kept: Result<(), NotKept>,
}

/// Why a content is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotKept {
    /// It is larger than any content may be.
    TooLarge,
    /// All that may be kept is used up.
    Full,
}

/// A content that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Its name.
    pub id: BlobId,
    /// How many bytes it has.
    pub size: u64,
    /// When it was last asked to be kept.
    pub at: SystemTime,
}

impl Depot {
    /// The depot in this folder, which is made when something is first kept.
    pub fn new(folder: &Path, limits: Limits) -> Self {
        Depot {
            folder: folder.into(),
            limits,
            used: Arc::default(),
        }
    }

    /// The same depot with other limits.
    pub fn limited(&self, limits: Limits) -> Self {
        Depot { limits, ..self.clone() }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// How much may be kept in it.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Whether this content is kept.
    pub fn has(&self, id: &BlobId) -> bool {
        self.place(id).is_some_and(|place| place.exists())
    }

    /// Opens a content to read it.
    pub fn open(&self, id: &BlobId) -> io::Result<Option<File>> {
        let Some(place) = self.place(id) else { return Ok(None) };
        match File::open(place) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether a large content would be kept if it is not there yet. One that would not is not worth reading.
    pub(super) fn would_keep(&self, size: u64) -> Result<(), NotKept> {
        match size <= SMALL {
            true => Ok(()),
            false => self.room(size),
        }
    }

    /// Keeps these bytes.
    pub fn put(&self, bytes: &[u8]) -> io::Result<Put> {
        let id = name(digest(&SHA256, bytes).as_ref());
        let kept = match self.is_kept(&id) {
            true => Ok(()),
            false => match self.room(bytes.len() as u64) {
                Ok(()) => {
                    let mut file = self.temporary()?;
                    file.write_all(bytes)?;
                    self.settle(file, &id, bytes.len() as u64)?;
                    Ok(())
                }
                Err(why) => Err(why),
            },
        };
        Ok(Put { id, kept })
    }

    /// Keeps the rest of an open file of about this size, without ever holding a large one in memory.
    pub fn put_file(&self, file: &mut File, size: u64) -> io::Result<Put> {
        if size <= SMALL {
            let mut bytes = Vec::with_capacity(size as usize + 1);
            file.read_to_end(&mut bytes)?;
            return self.put(&bytes);
        }
        if let Err(why) = self.room(size) {
            let (id, _) = copy(file, &mut io::sink())?;
            return Ok(Put {
                kept: if self.is_kept(&id) { Ok(()) } else { Err(why) },
                id,
            });
        }
        let mut temporary = self.temporary()?;
        let is_shared = rustix::fs::ioctl_ficlone(temporary.as_file(), &*file).is_ok();
        let (id, size) = match is_shared {
            // The copy shares the disk blocks of the original; what is named must be the copy, which nobody else writes to.
            true => copy(&mut temporary.reopen()?, &mut io::sink())?,
            false => copy(file, &mut temporary)?,
        };
        if !self.is_kept(&id) {
            self.settle(temporary, &id, size)?;
        }
        Ok(Put { id, kept: Ok(()) })
    }

    /// Bytes of all contents together.
    pub fn used(&self) -> u64 {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        *used.get_or_insert_with(|| self.contents().iter().map(|held| held.size).sum())
    }

    /// Whether this process has kept anything, or looked how much is kept.
    pub fn is_known(&self) -> bool {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Everything that is kept.
    pub fn contents(&self) -> Vec<Held> {
        let mut all = Vec::new();
        for folder in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            for entry in fs::read_dir(folder.path()).into_iter().flatten().flatten() {
                let id = format!(
                    "{}{}",
                    folder.file_name().to_string_lossy(),
                    entry.file_name().to_string_lossy()
                );
                let id = BlobId(id.into());
                // What is not a content is half a copy that was never finished.
                if let (true, Ok(about)) = (self.place(&id).is_some(), entry.metadata()) {
                    all.push(Held {
                        id,
                        size: about.len(),
                        at: about.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                    });
                }
            }
        }
        all
    }

    /// Forgets a content; what is not there is forgotten already.
    pub fn remove(&self, id: &BlobId) -> io::Result<()> {
        let Some(place) = self.place(id) else { return Ok(()) };
        let size = fs::metadata(&place).map_or(0, |about| about.len());
        match fs::remove_file(place) {
            Ok(()) => {
                let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
                *used = used.map(|used| used.saturating_sub(size));
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Removes copies that were never finished, because hew was killed.
    pub fn sweep(&self) {
        let now = SystemTime::now();
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            let modified = entry.metadata().and_then(|about| about.modified());
            let is_old = modified.is_ok_and(|at| now.duration_since(at).is_ok_and(|age| age > RENEW));
            if is_file && is_old {
                fs::remove_file(entry.path()).ok();
            }
        }
    }

    /// Whether a content is kept; if so, it counts as asked for now.
    fn is_kept(&self, id: &BlobId) -> bool {
        let Some(place) = self.place(id) else { return false };
        let Ok(about) = fs::metadata(&place) else { return false };
        let age = about.modified().ok().and_then(|at| at.elapsed().ok());
        if age.is_some_and(|age| age > RENEW) {
            let renewed = File::options().write(true).open(&place);
            // One that cannot be renewed only grows old sooner.
            renewed.and_then(|file| file.set_modified(SystemTime::now())).ok();
        }
        true
    }

    fn room(&self, size: u64) -> Result<(), NotKept> {
        if size > self.limits.max_file {
            return Err(NotKept::TooLarge);
        }
        match self.used().saturating_add(size) <= self.limits.quota {
            true => Ok(()),
            false => Err(NotKept::Full),
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

    fn settle(&self, file: tempfile::NamedTempFile, id: &BlobId, size: u64) -> io::Result<()> {
        let Some(place) = self.place(id) else { return Ok(()) };
        let file = match file.persist(&place) {
            Ok(file) => file,
            Err(failed) if failed.error.kind() == io::ErrorKind::NotFound => {
                if let Some(folder) = place.parent() {
                    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
                }
                failed.file.persist(&place).map_err(|failed| failed.error)?
            }
            Err(failed) => return Err(failed.error),
        };
        drop(file);
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        *used = used.map(|used| used.saturating_add(size));
        Ok(())
    }

    /// Where a content is; `None` where the name is not one of ours.
    fn place(&self, id: &BlobId) -> Option<PathBuf> {
        let text: &str = &id.0;
        let is_name = text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let (folder, rest) = text.split_at_checked(2).filter(|_| is_name)?;
        Some(self.folder.join(folder).join(rest))
    }
}

/// The name of what an open file holds, read piece by piece.
pub(super) fn name_of(file: &mut impl Read) -> io::Result<BlobId> {
    copy(file, &mut io::sink()).map(|(id, _)| id)
}

/// The name of these bytes.
pub(super) fn name_of_bytes(bytes: &[u8]) -> BlobId {
    name(digest(&SHA256, bytes).as_ref())
}

/// Opens a regular file without following a link or waiting for a pipe.
pub(super) fn open_file(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = File::options()
        .read(true)
        .custom_flags(flags.bits() as i32)
        .open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Copies everything and names it.
fn copy(from: &mut impl Read, to: &mut impl Write) -> io::Result<(BlobId, u64)> {
    let mut context = Context::new(&SHA256);
    let mut buffer = vec![0; BUFFER];
    let mut size = 0;
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok((name(context.finish().as_ref()), size)),
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

fn name(digest: &[u8]) -> BlobId {
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
    use std::io::Seek;

    fn depot(folder: &Path, quota: u64) -> Depot {
        let limits = Limits {
            quota,
            max_file: 1 << 20,
        };
        Depot::new(folder, limits)
    }

    #[test]
    fn what_is_kept_is_kept_once_under_the_name_of_its_bytes() {
        let temp = tempfile::tempdir().unwrap();
        let depot = depot(&temp.path().join("depot"), 10 << 20);
        let large = vec![7; 600 * 1024];
        let path = temp.path().join("large");
        fs::write(&path, &large).unwrap();
        let mut file = File::open(&path).unwrap();
        let put = depot.put_file(&mut file, large.len() as u64).unwrap();
        assert_eq!((put.id.clone(), put.kept), (name_of_bytes(&large), Ok(())));
        file.rewind().unwrap();
        assert_eq!(depot.put_file(&mut file, large.len() as u64).unwrap().id, put.id);
        let mut bytes = Vec::new();
        depot.open(&put.id).unwrap().unwrap().read_to_end(&mut bytes).unwrap();
        assert!(bytes == large);
        assert_eq!(depot.put(b"small").unwrap().kept, Ok(()));
        assert_eq!((depot.used(), depot.contents().len()), (large.len() as u64 + 5, 2));
        depot.remove(&put.id).unwrap();
        depot.remove(&put.id).unwrap();
        assert!(!depot.has(&put.id));
        assert_eq!(depot.used(), 5);
    }

    #[test]
    fn what_is_too_much_is_named_but_not_kept() {
        let temp = tempfile::tempdir().unwrap();
        let depot = depot(&temp.path().join("depot"), 8);
        assert_eq!(depot.put(b"12345").unwrap().kept, Ok(()));
        let put = depot.put(b"67890").unwrap();
        assert_eq!((put.id, put.kept), (name_of_bytes(b"67890"), Err(NotKept::Full)));
        assert_eq!(depot.put(b"12345").unwrap().kept, Ok(()), "it is there already");
        let path = temp.path().join("huge");
        File::create(&path).unwrap().set_len(2 << 20).unwrap();
        let put = depot.put_file(&mut File::open(&path).unwrap(), 2 << 20).unwrap();
        assert_eq!(put.kept, Err(NotKept::TooLarge));
        assert_eq!(depot.used(), 5);
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
        assert!(open_file(&temp.path().join("file")).is_ok());
        assert!(open_file(&temp.path().join("link")).is_err());
        assert!(open_file(&temp.path().join("pipe")).is_err());
    }
}
