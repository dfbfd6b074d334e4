//! Limits for the copies per command.

use super::stamp::Nanos;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Minimum number of files copied after a command, even on a slow disk.
const MIN_FILES: usize = 500;
/// After this time, no more than the minimum is copied after a command.
const MAX_TIME: Duration = Duration::from_millis(700);
/// The total of copies before commands is at most this many times the budget of one.
const TOTAL_FACTOR: usize = 5;

/// Maximum copies before a command, and again after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyBudget {
    /// Files.
    pub files: usize,
    /// Bytes; the last file may exceed them.
    pub bytes: u64,
}

impl Default for CopyBudget {
    fn default() -> Self {
        CopyBudget {
            files: 25_000,
            bytes: 256 << 20,
        }
    }
}

/// A file that could be copied.
#[derive(Debug, Clone, Copy)]
pub(super) struct CopyCandidate {
    /// The index of the file in the snapshot.
    pub(super) place: usize,
    pub(super) size: u64,
    pub(super) modified: Nanos,
    /// Whether the command is known to change it. Then it is copied without limits.
    pub(super) is_endangered: bool,
}

/// Tracks copies against the budget.
#[derive(Debug)]
pub(super) struct CopySpending {
    budget: CopyBudget,
    files: usize,
    bytes: u64,
    /// `None` if there is no time limit.
    since: Option<Instant>,
}

impl CopySpending {
    /// Without a time limit.
    fn new(budget: CopyBudget) -> Self {
        CopySpending {
            budget,
            files: 0,
            bytes: 0,
            since: None,
        }
    }

    /// With a time limit: for copies that only a redo needs.
    pub(super) fn with_time_limit(budget: CopyBudget) -> Self {
        CopySpending {
            since: Some(Instant::now()),
            ..CopySpending::new(budget)
        }
    }

    /// Whether one more file may be copied.
    pub(super) fn allows(&self) -> bool {
        let is_late = || self.files >= MIN_FILES && self.since.is_some_and(|since| since.elapsed() > MAX_TIME);
        self.files < self.budget.files && self.bytes < self.budget.bytes && !is_late()
    }

    pub(super) fn spend(&mut self, size: u64) {
        self.files += 1;
        self.bytes += size;
    }
}

impl CopyBudget {
    /// The remaining budget after earlier copies.
    pub(super) fn remaining(self, copied: (usize, u64)) -> Self {
        let (files, bytes) = (self.files * TOTAL_FACTOR, self.bytes * TOTAL_FACTOR as u64);
        CopyBudget {
            files: self.files.min(files.saturating_sub(copied.0)),
            bytes: self.bytes.min(bytes.saturating_sub(copied.1)),
        }
    }

    /// The indices of the files to copy: all endangered ones, then the most recently modified ones.
    pub(super) fn choose(self, mut candidates: Vec<CopyCandidate>) -> BTreeSet<usize> {
        candidates.sort_by_key(|candidate| (!candidate.is_endangered, std::cmp::Reverse(candidate.modified)));
        let mut spending = CopySpending::new(self);
        let mut chosen = BTreeSet::new();
        for candidate in candidates {
            if candidate.is_endangered {
                chosen.insert(candidate.place);
                continue;
            }
            if !spending.allows() {
                break;
            }
            spending.spend(candidate.size);
            chosen.insert(candidate.place);
        }
        chosen
    }
}
