//! The matches that a page needs, gathered from all threads.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{FileMatches, Grep, Line, LineKind, Matches};
use crate::{Ended, Location};

/// The first matches in path order that any thread has seen so far, and no more, so that a pattern which matches
/// everywhere costs no memory; the rest is only counted.
#[derive(Default)]
pub(super) struct Kept {
    /// As many matches as the page and everything before it need.
    wanted: usize,
    files: BTreeMap<PathBuf, Hits>,
    held: usize,
    pub(super) total: usize,
    pub(super) total_files: usize,
    pub(super) unreadable: usize,
    pub(super) timed_out: bool,
}

#[derive(Default)]
pub(super) struct Hits {
    pub(super) lines: Vec<Line>,
    pub(super) matches: usize,
}

impl Kept {
    /// Keeps the first so many matches.
    pub(super) fn first(wanted: usize) -> Self {
        Self {
            wanted,
            ..Self::default()
        }
    }

    pub(super) fn needs(&self, path: &Path) -> bool {
        self.held < self.wanted
            || self
                .files
                .last_key_value()
                .is_some_and(|(last, _)| path < last.as_path())
    }

    pub(super) fn add(&mut self, path: &Path, hits: Hits) {
        self.held += hits.matches;
        self.files.insert(path.to_owned(), hits);
        while let Some(last) = self.files.last_entry() {
            if self.held - last.get().matches < self.wanted {
                break;
            }
            self.held -= last.remove().matches;
        }
    }

    pub(super) fn page(self, at: &Location, grep: &Grep<'_>, ended: Ended, unreadable: usize) -> Matches {
        let mut skip = grep.page.offset;
        let mut room = grep.page.limit;
        let mut files = Vec::new();
        for (path, hits) in self.files {
            if skip >= hits.matches {
                skip -= hits.matches;
                continue;
            }
            let shown = room.min(hits.matches - skip);
            if shown == 0 {
                break;
            }
            let lines = cut(hits.lines, skip, shown, grep.context as u64);
            files.push(FileMatches {
                path: at.show(&path).into_owned(),
                lines,
            });
            (skip, room) = (0, room - shown);
        }
        Matches {
            files,
            shown: grep.page.limit - room,
            total: self.total,
            total_files: self.total_files,
            ended,
            unreadable: unreadable + self.unreadable,
        }
    }
}

/// The lines that belong to the matches from `skip` on, `count` of them.
fn cut(mut lines: Vec<Line>, skip: usize, count: usize, context: u64) -> Vec<Line> {
    let numbers: Vec<u64> = lines
        .iter()
        .filter(|line| line.kind == LineKind::Match)
        .skip(skip)
        .take(count)
        .map(|line| line.number)
        .collect();
    let mut wanted = false;
    lines.retain(|line| match line.kind {
        LineKind::Match => {
            wanted = numbers.binary_search(&line.number).is_ok();
            wanted
        }
        LineKind::Inside => wanted,
        LineKind::Context => {
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
