//! A folder beside the project for texts that are too long to be shown whole.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use crate::Error;

/// The longest single text.
const MOST_OF_ONE: u64 = 64 * 1024 * 1024;
/// All texts of one folder together.
const MOST_OF_ALL: u64 = 256 * 1024 * 1024;
/// As many files as one folder may hold.
const MOST_FILES: usize = 10_000;
/// The longest part of a file's name that says what it holds.
const MOST_OF_NAME: usize = 40;

/// A folder for long texts, made when the first one comes. Clones share it.
#[derive(Debug, Clone)]
pub struct Scratch {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    folder: PathBuf,
    next: AtomicUsize,
    used: AtomicU64,
}

/// A text that is being written to the folder.
#[derive(Debug)]
pub struct Sheet {
    shared: Arc<Shared>,
    file: File,
    path: PathBuf,
    written: u64,
    lost: u64,
}

impl Scratch {
    /// A scratch folder at this absolute path.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        let folder: PathBuf = folder.into();
        Self {
            shared: Arc::new(Shared {
                // What exists of the path is resolved now, so that a location in it is known for one later.
                folder: resolved(&folder),
                next: AtomicUsize::new(1),
                used: AtomicU64::new(0),
            }),
        }
    }

    /// Keeps a whole text; what does not fit is cut off at its end.
    pub fn keep(&self, name: &str, text: &str) -> Result<PathBuf, Error> {
        let mut sheet = self.begin(name)?;
        sheet.write(text.as_bytes())?;
        Ok(sheet.path)
    }

    /// Begins a text that comes in pieces.
    pub fn begin(&self, name: &str) -> Result<Sheet, Error> {
        let folder = &self.shared.folder;
        let failed = |error: io::Error| Error::from_io(folder.to_string_lossy(), error);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(failed)?;
        let name = safe(name);
        loop {
            let number = self.shared.next.fetch_add(1, Ordering::Relaxed);
            if number > MOST_FILES {
                return Err(failed(io::Error::other("the folder is full")));
            }
            let path = folder.join(format!("{number:03}-{name}.txt"));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => {
                    return Ok(Sheet {
                        shared: Arc::clone(&self.shared),
                        file,
                        path,
                        written: 0,
                        lost: 0,
                    });
                }
                // An earlier run of the same session has left it.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// Whether a canonical path lies in the folder.
    pub fn holds(&self, path: &Path) -> bool {
        path != self.shared.folder && path.starts_with(&self.shared.folder)
    }

    /// Removes the folders in `parent` in which nothing has changed for so long. What cannot be removed stays.
    pub fn sweep(parent: &Path, age: Duration) {
        let Ok(folders) = fs::read_dir(parent) else { return };
        let now = SystemTime::now();
        for entry in folders.flatten() {
            let old = entry.metadata().and_then(|metadata| metadata.modified());
            let is_old = old.is_ok_and(|at| now.duration_since(at).is_ok_and(|passed| passed > age));
            if is_old && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                // Another run may be doing the same.
                drop(fs::remove_dir_all(entry.path()));
            }
        }
    }
}

impl Sheet {
    /// Adds to the text. Beyond the bounds of the folder nothing more is written; [`Sheet::lost`] says how much.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let all = MOST_OF_ALL.saturating_sub(self.shared.used.load(Ordering::Relaxed));
        let room = MOST_OF_ONE.saturating_sub(self.written).min(all);
        let take = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        self.lost += (bytes.len() - take) as u64;
        self.file
            .write_all(&bytes[..take])
            .map_err(|error| Error::from_io(self.path.to_string_lossy(), error))?;
        self.written += take as u64;
        self.shared.used.fetch_add(take as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many bytes it holds.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// How many bytes did not fit.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Takes the text away again, because nobody needs it.
    pub fn discard(self) {
        self.shared.used.fetch_sub(self.written, Ordering::Relaxed);
        // A text that cannot be removed is swept away later.
        drop(fs::remove_file(&self.path));
    }
}

/// The path with its existing part in canonical form.
fn resolved(path: &Path) -> PathBuf {
    for folder in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (folder.canonicalize(), path.strip_prefix(folder)) {
            return real.join(rest);
        }
    }
    path.to_owned()
}

/// A name without anything that a path could trip over.
fn safe(name: &str) -> String {
    let letters = name
        .chars()
        .map(|letter| match letter.is_ascii_alphanumeric() || letter == '-' {
            true => letter,
            false => '_',
        });
    letters.take(MOST_OF_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_kept_side_by_side_under_safe_names() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("spill").join("s1");
        let scratch = Scratch::at(&folder);
        assert!(!folder.exists(), "nothing is made before it is needed");
        let one = scratch.keep("../../etc/pass wd", "one").unwrap();
        let two = scratch.clone().keep("terminal", "two").unwrap();
        assert!(one.ends_with("s1/001-______etc_pass_wd.txt"), "{one:?}");
        assert!(two.ends_with("s1/002-terminal.txt"), "{two:?}");
        assert_eq!(fs::read_to_string(&two).unwrap(), "two");
        assert!(scratch.holds(&one) && !scratch.holds(&folder) && !scratch.holds(temp.path()));
        // A later run goes on beside what is there.
        let three = Scratch::at(&folder).keep("x", "three").unwrap();
        assert!(three.ends_with("001-x.txt"), "{three:?}");
        assert!(Scratch::at(&folder).keep("x", "four").unwrap().ends_with("002-x.txt"));
        let sheet = scratch.begin("gone").unwrap();
        let path = sheet.path().to_owned();
        sheet.discard();
        assert!(!path.exists());
    }

    #[test]
    fn a_flood_is_cut_off_and_counted() {
        let temp = tempfile::tempdir().unwrap();
        let scratch = Scratch::at(temp.path());
        let mut sheet = scratch.begin("flood").unwrap();
        let chunk = vec![b'x'; 1024 * 1024];
        for _ in 0..70 {
            sheet.write(&chunk).unwrap();
        }
        assert_eq!((sheet.written(), sheet.lost()), (MOST_OF_ONE, 6 * 1024 * 1024));
        assert_eq!(fs::metadata(sheet.path()).unwrap().len(), MOST_OF_ONE);
    }

    #[test]
    fn only_old_folders_are_swept_away() {
        let temp = tempfile::tempdir().unwrap();
        Scratch::at(temp.path().join("a")).keep("x", "y").unwrap();
        fs::write(temp.path().join("file"), "").unwrap();
        Scratch::sweep(temp.path(), Duration::from_secs(3_600));
        assert!(temp.path().join("a").exists());
        let long_ago = SystemTime::now() - Duration::from_secs(7_200);
        File::open(temp.path().join("a"))
            .unwrap()
            .set_modified(long_ago)
            .unwrap();
        Scratch::sweep(temp.path(), Duration::from_secs(3_600));
        assert!(!temp.path().join("a").exists() && temp.path().join("file").exists());
        Scratch::sweep(&temp.path().join("missing"), Duration::ZERO);
    }
}
