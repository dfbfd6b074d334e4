//! An append-only file of byte strings with checksums, for data that can be computed again.
//!
//! Readers map the file. A writer holds a lock file, appends, or replaces the whole file by renaming; it never changes
//! bytes that a reader may have mapped. After a crash, or if bytes are damaged, the log ends before the first invalid
//! segment.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memmap2::Mmap;

/// The first bytes of a log.
const MAGIC: [u8; 8] = *b"HEWLOG01";
/// Length and checksum precede each segment.
const RECORD_HEADER: usize = 16;

/// A log at a path; the file need not exist.
#[derive(Debug, Clone)]
pub struct SegmentLog {
    path: PathBuf,
}

/// The identity of a log's content: it changes with every append and replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogVersion {
    inode: u64,
    length: u64,
}

/// The content of a log.
#[derive(Debug, Default)]
pub struct LoadedLog {
    /// The segments, oldest first.
    pub segments: Vec<LogSegment>,
    /// The version that was read.
    pub version: LogVersion,
    /// Whether bytes after the last valid segment were ignored.
    pub is_damaged: bool,
    /// The length of the valid part.
    valid: u64,
}

/// The bytes of a segment in a mapped file. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LogSegment {
    map: Arc<Mmap>,
    start: usize,
    end: usize,
}

impl AsRef<[u8]> for LogSegment {
    fn as_ref(&self) -> &[u8] {
        self.map.get(self.start..self.end).unwrap_or_default()
    }
}

impl SegmentLog {
    /// The log at this path.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the log. A missing file is an empty log; so is one of another format.
    pub fn load(&self) -> io::Result<LoadedLog> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(LoadedLog::default()),
            Err(error) => return Err(error),
        };
        let version = LogVersion::of(&file)?;
        if version.length == 0 || !file.metadata()?.is_file() {
            return Ok(LoadedLog::default());
        }
        let map = Arc::new(map(&file)?);
        let mut loaded = LoadedLog {
            version,
            ..LoadedLog::default()
        };
        let bytes: &[u8] = &map;
        if bytes.first_chunk() != Some(&MAGIC) {
            loaded.is_damaged = true;
            return Ok(loaded);
        }
        let mut at = MAGIC.len();
        while let Some(end) = segment_end(bytes, at) {
            loaded.segments.push(LogSegment {
                map: Arc::clone(&map),
                start: at + RECORD_HEADER,
                end,
            });
            at = end.next_multiple_of(8);
        }
        loaded.valid = at as u64;
        loaded.is_damaged = bytes.len() > at;
        Ok(loaded)
    }

    /// The current version, without reading the content.
    pub fn version(&self) -> LogVersion {
        let metadata = fs::metadata(&self.path);
        metadata.map_or(LogVersion::default(), |metadata| LogVersion {
            inode: metadata.ino(),
            length: metadata.len(),
        })
    }

    /// Locks the log for writing. `None` if another process or thread holds the lock.
    pub fn lock(&self) -> io::Result<Option<LogWriter>> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let path = self.path.with_extension("lock");
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(path)?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(LogWriter {
                path: self.path.clone(),
                _lock: lock,
            })),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }

    /// Deletes the log.
    pub fn clear(&self) -> io::Result<()> {
        for path in [self.path.clone(), self.path.with_extension("new")] {
            match fs::remove_file(path) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// If the log does not exist, copies another log of the folder with this prefix.
    pub fn copy_sibling(&self, prefix: &str) -> io::Result<()> {
        let Some(folder) = self.path.parent().filter(|_| !self.path.exists()) else {
            return Ok(());
        };
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with(prefix) && path.extension() == self.path.extension() {
                let new = self.path.with_extension("new");
                fs::copy(&path, &new)?;
                return fs::rename(&new, &self.path);
            }
        }
        Ok(())
    }
}

impl LogVersion {
    fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(Self {
            inode: metadata.ino(),
            length: metadata.len(),
        })
    }
}

#[allow(unsafe_code, reason = "mapping a file is unsafe because others could truncate it")]
fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: a writer of this log only appends after the valid part or renames another file to the path, so mapped
    // segments do not change or disappear. Only the user's own programs can write to the private cache folder.
    unsafe { Mmap::map(file) }
}

/// The end of the valid segment that starts at a position.
fn segment_end(bytes: &[u8], at: usize) -> Option<usize> {
    let number = |at: usize| {
        bytes
            .get(at..)
            .and_then(|rest| rest.first_chunk())
            .map(|bytes| u64::from_le_bytes(*bytes))
    };
    let length = usize::try_from(number(at)?).ok()?;
    let start = at + RECORD_HEADER;
    let end = start.checked_add(length)?;
    let content = bytes.get(start..end)?;
    (number(at + 8)? == checksum(content)).then_some(end)
}

/// A lock on a log. Dropping it releases the lock.
#[derive(Debug)]
pub struct LogWriter {
    path: PathBuf,
    _lock: File,
}

impl LogWriter {
    /// Appends a segment after the valid part of what was loaded; a damaged rest is removed first.
    pub fn append(&mut self, loaded: &mut LoadedLog, segment: &[u8]) -> io::Result<()> {
        if loaded.valid == 0 {
            // A file without a valid segment may be mapped by an older release.
            return self.replace([segment].into_iter(), loaded);
        }
        let mut file = OpenOptions::new().write(true).open(&self.path)?;
        if file.metadata()?.len() != loaded.valid {
            file.set_len(loaded.valid)?;
        }
        use std::io::Seek;
        file.seek(io::SeekFrom::Start(loaded.valid))?;
        if let Err(error) = write_segment(&mut file, segment) {
            // A full disk: the partial segment is removed, the index keeps its last state.
            drop(file.set_len(loaded.valid));
            return Err(error);
        }
        loaded.valid += (RECORD_HEADER + segment.len()).next_multiple_of(8) as u64;
        loaded.version = LogVersion::of(&file)?;
        Ok(())
    }

    /// Replaces the log by these segments.
    pub fn replace<'s>(&mut self, segments: impl Iterator<Item = &'s [u8]>, loaded: &mut LoadedLog) -> io::Result<()> {
        let new = self.path.with_extension("new");
        let written = (|| {
            let file = OpenOptions::new()
                .create(true)
                .truncate(true)
                .write(true)
                .mode(0o600)
                .open(&new)?;
            let mut file = io::BufWriter::new(file);
            file.write_all(&MAGIC)?;
            let mut valid = MAGIC.len() as u64;
            for segment in segments {
                write_segment(&mut file, segment)?;
                valid += (RECORD_HEADER + segment.len()).next_multiple_of(8) as u64;
            }
            let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            loaded.valid = valid;
            loaded.version = LogVersion::of(&file)?;
            fs::rename(&new, &self.path)
        })();
        if written.is_err() {
            drop(fs::remove_file(&new));
        }
        written
    }
}

fn write_segment(file: &mut impl Write, segment: &[u8]) -> io::Result<()> {
    file.write_all(&(segment.len() as u64).to_le_bytes())?;
    file.write_all(&checksum(segment).to_le_bytes())?;
    file.write_all(segment)?;
    let padding = segment.len().next_multiple_of(8) - segment.len();
    file.write_all(&[0; 8][..padding])
}

/// A fast checksum in four lanes.
fn checksum(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut lanes = [1_u64, 2, 3, 4];
    let (blocks, rest) = bytes.as_chunks::<32>();
    for block in blocks {
        for (lane, word) in lanes.iter_mut().zip(block.as_chunks::<8>().0) {
            *lane = (*lane ^ u64::from_le_bytes(*word)).wrapping_mul(FACTOR).rotate_left(29);
        }
    }
    let mut sum = bytes.len() as u64;
    for lane in lanes {
        sum = (sum ^ lane).wrapping_mul(FACTOR).rotate_left(31);
    }
    for byte in rest {
        sum = (sum ^ u64::from(*byte)).wrapping_mul(FACTOR).rotate_left(23);
    }
    sum
}
