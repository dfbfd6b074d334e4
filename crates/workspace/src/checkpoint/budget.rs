//! How much is copied around one command: an ordinary project at once, a very large folder bit by bit.

use super::stamp::Nanos;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// However slow the disk, so many files are copied.
const FEWEST: usize = 500;
/// And no more than that once it has taken so long.
const LONGEST: Duration = Duration::from_millis(700);
/// All that is copied before commands is at most so many times what is copied before one.
const IN_ALL: usize = 5;

/// How much may be copied before a command, and again after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Files.
    pub files: usize,
    /// Bytes; one file may go beyond it.
    pub bytes: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Budget {
            files: 4_000,
            bytes: 128 << 20,
        }
    }
}

/// A file that could be copied.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    /// Which of the files of the picture it is.
    pub(super) place: usize,
    pub(super) size: u64,
    pub(super) modified: Nanos,
}

/// Copying that goes on until the budget is spent.
#[derive(Debug)]
pub(super) struct Spending {
    budget: Budget,
    files: usize,
    bytes: u64,
    since: Instant,
}

impl Spending {
    pub(super) fn new(budget: Budget) -> Self {
        Spending {
            budget,
            files: 0,
            bytes: 0,
            since: Instant::now(),
        }
    }

    /// Whether one more file may be copied.
    pub(super) fn allows(&self) -> bool {
        let is_late = || self.files >= FEWEST && self.since.elapsed() > LONGEST;
        self.files < self.budget.files && self.bytes < self.budget.bytes && !is_late()
    }

    /// The sum of what was spent and what had been before.
    pub(super) fn added_to(&self, before: (usize, u64)) -> (usize, u64) {
        (before.0 + self.files, before.1 + self.bytes)
    }

    pub(super) fn spend(&mut self, size: u64) {
        self.files += 1;
        self.bytes += size;
    }
}

impl Budget {
    /// What may still be copied before a command, when so many files and bytes have been before others.
    pub(super) fn left(self, copied: (usize, u64)) -> Self {
        let (files, bytes) = (self.files * IN_ALL, self.bytes * IN_ALL as u64);
        Budget {
            files: self.files.min(files.saturating_sub(copied.0)),
            bytes: self.bytes.min(bytes.saturating_sub(copied.1)),
        }
    }

    /// The files to copy, by their places: those that were written last, which are worked on.
    pub(super) fn choose(self, mut candidates: Vec<Candidate>) -> BTreeSet<usize> {
        candidates.sort_by_key(|candidate| std::cmp::Reverse(candidate.modified));
        let mut spending = Spending::new(self);
        let mut chosen = BTreeSet::new();
        for candidate in candidates {
            if !spending.allows() {
                break;
            }
            spending.spend(candidate.size);
            chosen.insert(candidate.place);
        }
        chosen
    }
}
