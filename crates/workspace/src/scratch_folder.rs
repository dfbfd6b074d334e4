//! A folder outside the project for outputs that are too long for a result.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use crate::Error;

/// Maximum bytes per file.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;
/// Maximum bytes per folder.
const MAX_TOTAL_BYTES: u64 = 256 * 1024 * 1024;
/// Maximum number of files per folder.
const MAX_FILES: usize = 10_000;
/// Maximum length of the descriptive part of a file name.
const MAX_NAME: usize = 40;

/// A folder for long outputs, created with its first file. Clones share it.
#[derive(Debug, Clone)]
pub struct ScratchFolder {
    shared: Arc<ScratchState>,
}

#[derive(Debug)]
struct ScratchState {
    folder: PathBuf,
    next: AtomicUsize,
    used: AtomicU64,
}

/// A file of the folder that is being written.
#[derive(Debug)]
pub struct ScratchFile {
    shared: Arc<ScratchState>,
    file: File,
    path: PathBuf,
    written: u64,
    dropped: u64,
}

impl ScratchFolder {
    /// A scratch folder at this absolute path.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        let folder: PathBuf = folder.into();
        Self {
            shared: Arc::new(ScratchState {
                // The existing part of the path is resolved now, so that `contains` recognises locations in it.
                folder: canonical_prefix(&folder),
                next: AtomicUsize::new(1),
                used: AtomicU64::new(0),
            }),
        }
    }

    /// Saves a text, truncated to the limits.
    pub fn save(&self, name: &str, text: &str) -> Result<PathBuf, Error> {
        let mut file = self.create(name)?;
        file.write(text.as_bytes())?;
        Ok(file.path)
    }

    /// Creates a file to be written in pieces.
    pub fn create(&self, name: &str) -> Result<ScratchFile, Error> {
        let folder = &self.shared.folder;
        let failed = |error: io::Error| Error::from_io(folder.to_string_lossy(), error);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(failed)?;
        let name = sanitize(name);
        loop {
            let number = self.shared.next.fetch_add(1, Ordering::Relaxed);
            if number > MAX_FILES {
                return Err(failed(io::Error::other("the folder is full")));
            }
            let path = folder.join(format!("{number:03}-{name}.txt"));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => {
                    return Ok(ScratchFile {
                        shared: Arc::clone(&self.shared),
                        file,
                        path,
                        written: 0,
                        dropped: 0,
                    });
                }
                // Left by an earlier run of the same session.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// Whether a canonical path is in the folder.
    pub fn contains(&self, path: &Path) -> bool {
        path != self.shared.folder && path.starts_with(&self.shared.folder)
    }

    /// Removes the folders in `parent` that are older than `age`; failures are ignored.
    pub fn sweep(parent: &Path, age: Duration) {
        let Ok(folders) = fs::read_dir(parent) else { return };
        let now = SystemTime::now();
        for entry in folders.flatten() {
            let old = entry.metadata().and_then(|metadata| metadata.modified());
            let is_old = old.is_ok_and(|at| now.duration_since(at).is_ok_and(|passed| passed > age));
            if is_old && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                // Another process may remove it at the same time.
                drop(fs::remove_dir_all(entry.path()));
            }
        }
    }
}

impl ScratchFile {
    /// Appends bytes. Bytes beyond the limits are dropped and counted in [`ScratchFile::dropped`].
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let all = MAX_TOTAL_BYTES.saturating_sub(self.shared.used.load(Ordering::Relaxed));
        let room = MAX_FILE_BYTES.saturating_sub(self.written).min(all);
        let take = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        self.dropped += (bytes.len() - take) as u64;
        self.file
            .write_all(&bytes[..take])
            .map_err(|error| Error::from_io(self.path.to_string_lossy(), error))?;
        self.written += take as u64;
        self.shared.used.fetch_add(take as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of bytes written.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// The number of bytes dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Deletes the file.
    pub fn discard(self) {
        self.shared.used.fetch_sub(self.written, Ordering::Relaxed);
        // A file that cannot be removed is swept later.
        drop(fs::remove_file(&self.path));
    }
}

/// The path with its existing part in canonical form.
fn canonical_prefix(path: &Path) -> PathBuf {
    for folder in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (folder.canonicalize(), path.strip_prefix(folder)) {
            return real.join(rest);
        }
    }
    path.to_owned()
}

/// Replaces characters that are not safe in a file name.
fn sanitize(name: &str) -> String {
    let letters = name
        .chars()
        .map(|letter| match letter.is_ascii_alphanumeric() || letter == '-' {
            true => letter,
            false => '_',
        });
    letters.take(MAX_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_get_numbered_safe_names() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("spill").join("s1");
        let scratch = ScratchFolder::at(&folder);
        assert!(!folder.exists(), "nothing is made before it is needed");
        let one = scratch.save("../../etc/pass wd", "one").unwrap();
        let two = scratch.clone().save("terminal", "two").unwrap();
        assert!(one.ends_with("s1/001-______etc_pass_wd.txt"), "{one:?}");
        assert!(two.ends_with("s1/002-terminal.txt"), "{two:?}");
        assert_eq!(fs::read_to_string(&two).unwrap(), "two");
        assert!(scratch.contains(&one) && !scratch.contains(&folder) && !scratch.contains(temp.path()));
        // A later run does not overwrite existing files.
        let three = ScratchFolder::at(&folder).save("x", "three").unwrap();
        assert!(three.ends_with("001-x.txt"), "{three:?}");
        assert!(
            ScratchFolder::at(&folder)
                .save("x", "four")
                .unwrap()
                .ends_with("002-x.txt")
        );
        let file = scratch.create("gone").unwrap();
        let path = file.path().to_owned();
        file.discard();
        assert!(!path.exists());
    }

    #[test]
    fn bytes_beyond_the_limit_are_dropped_and_counted() {
        let temp = tempfile::tempdir().unwrap();
        let scratch = ScratchFolder::at(temp.path());
        let mut file = scratch.create("flood").unwrap();
        let chunk = vec![b'x'; 1024 * 1024];
        for _ in 0..70 {
            file.write(&chunk).unwrap();
        }
        assert_eq!((file.written(), file.dropped()), (MAX_FILE_BYTES, 6 * 1024 * 1024));
        assert_eq!(fs::metadata(file.path()).unwrap().len(), MAX_FILE_BYTES);
    }

    #[test]
    fn only_old_folders_are_removed() {
        let temp = tempfile::tempdir().unwrap();
        ScratchFolder::at(temp.path().join("a")).save("x", "y").unwrap();
        fs::write(temp.path().join("file"), "").unwrap();
        ScratchFolder::sweep(temp.path(), Duration::from_secs(3_600));
        assert!(temp.path().join("a").exists());
        let long_ago = SystemTime::now() - Duration::from_secs(7_200);
        File::open(temp.path().join("a"))
            .unwrap()
            .set_modified(long_ago)
            .unwrap();
        ScratchFolder::sweep(temp.path(), Duration::from_secs(3_600));
        assert!(!temp.path().join("a").exists() && temp.path().join("file").exists());
        ScratchFolder::sweep(&temp.path().join("missing"), Duration::ZERO);
    }
}
