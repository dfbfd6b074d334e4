//! An append-only file of byte strings with checksums, for data that can be computed again.
//!
//! Readers map the file. A writer holds a lock file, appends, or replaces the whole file by renaming; it never changes
//! bytes that a reader may have mapped. After a crash, or if bytes are damaged, the log ends before the first invalid
//! segment.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memmap2::{Mmap, MmapOptions};
use rustix::fs::OFlags;

/// The first bytes of a log.
const MAGIC: [u8; 8] = *b"HEWLOG01";
/// Length and checksum precede each segment.
const RECORD_HEADER: usize = 16;
/// A segment is checked in parts of this size, a multiple of the blocks of the checksum.
const CHECKED: usize = 256 * 1024;
/// A FIFO at the path does not block.
const OPEN_FLAGS: i32 = OFlags::NONBLOCK.bits() as i32;

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
        let file = match OpenOptions::new().read(true).custom_flags(OPEN_FLAGS).open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(LoadedLog::default()),
            Err(error) => return Err(error),
        };
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let version = LogVersion::of(&file)?;
        if version.length == 0 {
            return Ok(LoadedLog::default());
        }
        let mut loaded = LoadedLog {
            version,
            ..LoadedLog::default()
        };
        let mut magic = [0; MAGIC.len()];
        if file.read_exact_at(&mut magic, 0).is_err() || magic != MAGIC {
            loaded.is_damaged = true;
            return Ok(loaded);
        }
        // The checksums are computed from a buffer: reading all of the map would make it resident.
        let mut buffer = vec![0; CHECKED];
        let mut ends = Vec::new();
        let mut at = MAGIC.len() as u64;
        while let Some(end) = segment_end(&file, at, version.length, &mut buffer)? {
            ends.push((at as usize + RECORD_HEADER, end as usize));
            at = end.next_multiple_of(8);
        }
        let map = Arc::new(map(&file, 0, version.length)?);
        let segments = ends.into_iter().map(|(start, end)| LogSegment {
            map: Arc::clone(&map),
            start,
            end,
        });
        loaded.segments = segments.collect();
        loaded.valid = at;
        loaded.is_damaged = version.length > at;
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
            .read(true)
            .write(true)
            .mode(0o600)
            .custom_flags(OPEN_FLAGS)
            .open(path)?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(LogWriter {
                path: self.path.clone(),
                lock,
            })),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }

    /// What the process that writes to the log reported last, if there is one.
    pub fn writer_progress(&self) -> Option<(usize, usize)> {
        let path = self.path.with_extension("lock");
        let lock = OpenOptions::new().read(true).custom_flags(OPEN_FLAGS).open(path).ok()?;
        if lock.try_lock_shared().is_ok() {
            return None;
        }
        let mut text = String::new();
        Read::take(lock, 64).read_to_string(&mut text).ok()?;
        let mut numbers = text.split_whitespace().map(|number| number.parse().unwrap_or(0));
        Some((numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)))
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
fn map(file: &File, start: u64, length: u64) -> io::Result<Mmap> {
    // SAFETY: a writer of this log only appends to the file or renames another file to the path, so mapped segments do
    // not change or disappear. Only the user's own programs can write to the private cache folder.
    unsafe { MmapOptions::new().offset(start).len(length as usize).map(file) }
}

/// The end of the valid segment that starts at a position.
fn segment_end(file: &File, at: u64, length: u64, buffer: &mut [u8]) -> io::Result<Option<u64>> {
    let start = at + RECORD_HEADER as u64;
    let mut header = [0_u8; RECORD_HEADER];
    if start > length {
        return Ok(None);
    }
    file.read_exact_at(&mut header, at)?;
    let [size, sum] = [0, 8].map(|at| {
        let bytes = header.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
    });
    let Some(end) = start.checked_add(size).filter(|end| *end <= length) else {
        return Ok(None);
    };
    let mut checksum = Checksum::default();
    let mut at = start;
    while at < end {
        let part = buffer.len().min((end - at) as usize);
        let part = buffer.get_mut(..part).unwrap_or_default();
        file.read_exact_at(part, at)?;
        checksum.add(part);
        at += part.len() as u64;
    }
    Ok((checksum.finish(size) == sum).then_some(end))
}

/// A lock on a log. Dropping it releases the lock.
#[derive(Debug)]
pub struct LogWriter {
    path: PathBuf,
    lock: File,
}

impl LogWriter {
    /// Publishes the progress of the work to other processes.
    pub fn report(&mut self, done: usize, total: usize) -> io::Result<()> {
        self.lock.seek(SeekFrom::Start(0))?;
        self.lock.write_all(format!("{done:10} {total:10}\n").as_bytes())
    }

    /// Appends a segment after the valid part of what was loaded.
    pub fn append(&mut self, loaded: &mut LoadedLog, segment: &[u8]) -> io::Result<LogSegment> {
        let only = |mut segments: Vec<LogSegment>| segments.pop().ok_or_else(|| io::ErrorKind::UnexpectedEof.into());
        if loaded.valid == 0 {
            // A file without a valid segment may be mapped by an older release.
            return only(self.replace([segment].into_iter(), loaded)?);
        }
        let mut file = OpenOptions::new().read(true).write(true).open(&self.path)?;
        if file.metadata()?.len() != loaded.valid {
            // The rest is damaged. It is not cut off, because another process may have mapped it when it was valid.
            let kept = loaded.segments.clone();
            let kept = kept.iter().map(AsRef::as_ref).chain([segment]);
            return only(self.replace(kept, loaded)?);
        }
        file.seek(SeekFrom::Start(loaded.valid))?;
        if let Err(error) = write_segment(&mut file, segment) {
            // A full disk: the partial segment is removed, the index keeps its last state.
            drop(file.set_len(loaded.valid));
            return Err(error);
        }
        let start = loaded.valid + RECORD_HEADER as u64;
        loaded.valid += (RECORD_HEADER + segment.len()).next_multiple_of(8) as u64;
        loaded.version = LogVersion::of(&file)?;
        let appended = LogSegment {
            map: Arc::new(map(&file, start, segment.len() as u64)?),
            start: 0,
            end: segment.len(),
        };
        loaded.segments.push(appended.clone());
        Ok(appended)
    }

    /// Replaces the log by these segments, which are returned as parts of the new file.
    pub fn replace<'s>(
        &mut self,
        segments: impl Iterator<Item = &'s [u8]>,
        loaded: &mut LoadedLog,
    ) -> io::Result<Vec<LogSegment>> {
        let new = self.path.with_extension("new");
        let written = (|| {
            let file = OpenOptions::new()
                .create(true)
                .truncate(true)
                .read(true)
                .write(true)
                .mode(0o600)
                .custom_flags(OPEN_FLAGS)
                .open(&new)?;
            let mut file = io::BufWriter::new(file);
            file.write_all(&MAGIC)?;
            let mut valid = MAGIC.len();
            let mut places = Vec::new();
            for segment in segments {
                write_segment(&mut file, segment)?;
                places.push((valid + RECORD_HEADER, valid + RECORD_HEADER + segment.len()));
                valid += (RECORD_HEADER + segment.len()).next_multiple_of(8);
            }
            let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            let map = Arc::new(map(&file, 0, valid as u64)?);
            let version = LogVersion::of(&file)?;
            fs::rename(&new, &self.path)?;
            let segments = places.into_iter().map(|(start, end)| LogSegment {
                map: Arc::clone(&map),
                start,
                end,
            });
            *loaded = LoadedLog {
                segments: segments.collect(),
                version,
                is_damaged: false,
                valid: valid as u64,
            };
            Ok(loaded.segments.clone())
        })();
        if written.is_err() {
            drop(fs::remove_file(&new));
        }
        written
    }
}

fn write_segment(file: &mut impl Write, segment: &[u8]) -> io::Result<()> {
    file.write_all(&(segment.len() as u64).to_le_bytes())?;
    let mut checksum = Checksum::default();
    checksum.add(segment);
    file.write_all(&checksum.finish(segment.len() as u64).to_le_bytes())?;
    file.write_all(segment)?;
    let padding = segment.len().next_multiple_of(8) - segment.len();
    file.write_all(&[0; 8][..padding])
}

/// A fast checksum in four lanes.
struct Checksum {
    lanes: [u64; 4],
    /// The bytes after the last whole block.
    rest: Vec<u8>,
}

impl Default for Checksum {
    fn default() -> Self {
        Self {
            lanes: [1, 2, 3, 4],
            rest: Vec::new(),
        }
    }
}

impl Checksum {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

    /// Adds bytes; all parts but the last must be a multiple of a block.
    fn add(&mut self, bytes: &[u8]) {
        let (blocks, rest) = bytes.as_chunks::<32>();
        for block in blocks {
            for (lane, word) in self.lanes.iter_mut().zip(block.as_chunks::<8>().0) {
                *lane = (*lane ^ u64::from_le_bytes(*word))
                    .wrapping_mul(Self::FACTOR)
                    .rotate_left(29);
            }
        }
        self.rest.extend_from_slice(rest);
    }

    fn finish(self, length: u64) -> u64 {
        let mut sum = length;
        for lane in self.lanes {
            sum = (sum ^ lane).wrapping_mul(Self::FACTOR).rotate_left(31);
        }
        for byte in self.rest {
            sum = (sum ^ u64::from(byte)).wrapping_mul(Self::FACTOR).rotate_left(23);
        }
        sum
    }
}
