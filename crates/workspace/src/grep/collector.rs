//! Collects the matches for a page from all threads.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{FileMatches, GrepLine, GrepLineKind, GrepMatches, GrepQuery};
use crate::{Location, SearchEnd};

/// The first matches in path order found so far. Further matches are only counted, so that memory stays bounded.
#[derive(Default)]
pub(super) struct MatchCollector {
    /// The number of matches on this page and before it.
    limit: usize,
    /// By search order.
    files: BTreeMap<(bool, PathBuf), FileHits>,
    stored: usize,
    pub(super) total: usize,
    pub(super) total_files: usize,
    pub(super) unreadable: usize,
    pub(super) timed_out: bool,
}

#[derive(Default)]
pub(super) struct FileHits {
    pub(super) lines: Vec<GrepLine>,
    pub(super) matches: usize,
}

impl MatchCollector {
    /// Collects the first `limit` matches.
    pub(super) fn with_limit(wanted: usize) -> Self {
        Self {
            limit: wanted,
            ..Self::default()
        }
    }

    pub(super) fn needs(&self, (is_other, path): (bool, &Path)) -> bool {
        let is_before = |last: &(bool, PathBuf)| (is_other, path) < (last.0, last.1.as_path());
        self.stored < self.limit || self.files.last_key_value().is_some_and(|(last, _)| is_before(last))
    }

    pub(super) fn add(&mut self, (is_other, path): (bool, &Path), hits: FileHits) {
        self.stored += hits.matches;
        self.files.insert((is_other, path.to_owned()), hits);
        while let Some(last) = self.files.last_entry() {
            if self.stored - last.get().matches < self.limit {
                break;
            }
            self.stored -= last.remove().matches;
        }
    }

    pub(super) fn page(self, at: &Location, grep: &GrepQuery<'_>, ended: SearchEnd, unreadable: usize) -> GrepMatches {
        let mut skip = grep.page.offset;
        let mut room = grep.page.limit;
        let mut files = Vec::new();
        for ((_, path), hits) in self.files {
            if skip >= hits.matches {
                skip -= hits.matches;
                continue;
            }
            let shown = room.min(hits.matches - skip);
            if shown == 0 {
                break;
            }
            let lines = lines_of_matches(hits.lines, skip, shown, grep.context as u64);
            files.push(FileMatches {
                path: at.show(&path).into_owned(),
                lines,
            });
            (skip, room) = (0, room - shown);
        }
        GrepMatches {
            files,
            shown: grep.page.limit - room,
            total: self.total,
            total_files: self.total_files,
            ended,
            unreadable: unreadable + self.unreadable,
        }
    }
}

/// The lines of `count` matches after `skip`.
fn lines_of_matches(mut lines: Vec<GrepLine>, skip: usize, count: usize, context: u64) -> Vec<GrepLine> {
    let numbers: Vec<u64> = lines
        .iter()
        .filter(|line| line.kind == GrepLineKind::Match)
        .skip(skip)
        .take(count)
        .map(|line| line.number)
        .collect();
    let mut wanted = false;
    lines.retain(|line| match line.kind {
        GrepLineKind::Match => {
            wanted = numbers.binary_search(&line.number).is_ok();
            wanted
        }
        GrepLineKind::Inside => wanted,
        GrepLineKind::Context => {
            let next = numbers.partition_point(|number| *number < line.number);
            let near = |index: usize| {
                numbers
                    .get(index)
                    .is_some_and(|number| number.abs_diff(line.number) <= context)
            };
            near(next) || next.checked_sub(1).is_some_and(near)
        }
    });
    lines
}
