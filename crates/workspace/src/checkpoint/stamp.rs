//! What a file's metadata says about whether it is still the same.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::SystemTime;

/// File systems tell time by a clock that moves in ticks of up to ten milliseconds: what is written twice within one tick looks
/// as if it had been written once.
const TICK: i128 = 20_000_000;

/// A moment, in nanoseconds since 1970.
pub(super) type Nanos = i128;

/// What a file's metadata says: two that are equal are of the same bytes, once the clock has ticked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) size: u64,
    /// The twelve permission bits.
    pub(super) mode: u32,
    pub(super) modified: Nanos,
    pub(super) changed: Nanos,
    device: u64,
    inode: u64,
}

impl Stamp {
    pub(super) fn of(about: &Metadata) -> Self {
        let nanos = |seconds: i64, rest: i64| Nanos::from(seconds) * 1_000_000_000 + Nanos::from(rest);
        Stamp {
            size: about.size(),
            mode: about.mode() & 0o7777,
            modified: nanos(about.mtime(), about.mtime_nsec()),
            changed: nanos(about.ctime(), about.ctime_nsec()),
            device: about.dev(),
            inode: about.ino(),
        }
    }

    /// Whether nothing that was written after this moment could have left the same stamp.
    pub(super) fn is_settled(&self, at: Nanos) -> bool {
        self.changed + TICK < at
    }

    /// Whether only its permissions, owner or links can differ: its content was not written to, or somebody hides that.
    pub(super) fn is_same_content(&self, other: &Stamp) -> bool {
        (self.size, self.modified, self.device, self.inode) == (other.size, other.modified, other.device, other.inode)
    }
}

/// The present moment.
pub(super) fn now() -> Nanos {
    match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => since.as_nanos() as Nanos,
        Err(before) => -(before.duration().as_nanos() as Nanos),
    }
}
