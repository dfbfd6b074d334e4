//! File stamps: metadata that shows whether a file has changed.

use rustix::fs::Stat;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::SystemTime;

/// File system clocks have ticks of up to ten milliseconds: two writes within one tick have the same time.
const TICK: i128 = 20_000_000;

/// A moment, in nanoseconds since 1970.
pub(super) type Nanos = i128;

/// Metadata of a file. Equal stamps mean equal content, once the clock has ticked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStamp {
    pub(super) size: u64,
    /// The twelve permission bits.
    pub(super) mode: u32,
    pub(super) modified: Nanos,
    pub(super) changed: Nanos,
    device: u64,
    inode: u64,
}

#[allow(clippy::unnecessary_cast, reason = "the types differ between systems")]
impl From<&Stat> for FileStamp {
    fn from(stat: &Stat) -> Self {
        let nanos = |seconds: i64, rest: i64| Nanos::from(seconds) * 1_000_000_000 + Nanos::from(rest);
        FileStamp {
            size: stat.st_size as u64,
            mode: stat.st_mode as u32 & 0o7777,
            modified: nanos(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: nanos(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
        }
    }
}

impl FileStamp {
    pub(super) fn of(metadata: &Metadata) -> Self {
        let nanos = |seconds: i64, rest: i64| Nanos::from(seconds) * 1_000_000_000 + Nanos::from(rest);
        FileStamp {
            size: metadata.size(),
            mode: metadata.mode() & 0o7777,
            modified: nanos(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanos(metadata.ctime(), metadata.ctime_nsec()),
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }

    /// The length of an encoded stamp.
    pub(super) const BYTES: usize = 8 + 4 + 16 + 16 + 8 + 8;

    /// Appends the stamp in a form that [`FileStamp::decode`] reads.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.size.to_le_bytes());
        out.extend(self.mode.to_le_bytes());
        out.extend(self.modified.to_le_bytes());
        out.extend(self.changed.to_le_bytes());
        out.extend(self.device.to_le_bytes());
        out.extend(self.inode.to_le_bytes());
    }

    /// Reads an encoded stamp.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (size, bytes) = bytes.split_first_chunk()?;
        let (mode, bytes) = bytes.split_first_chunk()?;
        let (modified, bytes) = bytes.split_first_chunk()?;
        let (changed, bytes) = bytes.split_first_chunk()?;
        let (device, bytes) = bytes.split_first_chunk()?;
        let (inode, _) = bytes.split_first_chunk()?;
        Some(FileStamp {
            size: u64::from_le_bytes(*size),
            mode: u32::from_le_bytes(*mode),
            modified: Nanos::from_le_bytes(*modified),
            changed: Nanos::from_le_bytes(*changed),
            device: u64::from_le_bytes(*device),
            inode: u64::from_le_bytes(*inode),
        })
    }

    /// Whether a write after `at` would have changed the stamp.
    pub(super) fn is_settled(&self, at: Nanos) -> bool {
        self.changed + TICK < at
    }

    /// Whether only permissions, owner or links can differ.
    pub(super) fn is_same_content(&self, other: &FileStamp) -> bool {
        (self.size, self.modified, self.device, self.inode) == (other.size, other.modified, other.device, other.inode)
    }
}

/// The current time.
pub(super) fn now() -> Nanos {
    match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => since.as_nanos() as Nanos,
        Err(before) => -(before.duration().as_nanos() as Nanos),
    }
}
