//! Searching file contents with a regular expression.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};

use crate::glob::Glob;
use crate::{Ended, Error, Location, Page, Stop, walk};

/// A file with a longer line is skipped: it is data, and its line would have to be held in memory.
const MAX_LINE_IN_MEMORY: usize = 32 * 1024 * 1024;

/// A search in contents.
#[derive(Debug, Clone)]
pub struct Grep<'a> {
    /// A regular expression, matched within single lines.
    pub pattern: &'a str,
    /// Whether case counts.
    pub case: Case,
    /// Only files that match this glob.
    pub include: Option<&'a str>,
    /// How many lines around each match are wanted.
    pub context: usize,
    /// Which matches are wanted.
    pub page: Page,
    /// At most so many bytes of each line; a longer one is cut around its match.
    pub max_line: usize,
}

/// Whether upper and lower case differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// They do.
    Sensitive,
    /// They do not.
    Insensitive,
}

/// What a search in contents found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matches {
    /// One page of matches, by path and line.
    pub files: Vec<FileMatches>,
    /// How many matches the page holds.
    pub shown: usize,
    /// How many lines match in all.
    pub total: usize,
    /// In how many files.
    pub total_files: usize,
    /// Whether everything was seen.
    pub ended: Ended,
    /// How many files or folders could not be read.
    pub unreadable: usize,
}

/// The matches in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMatches {
    /// The file, as [`Location::shown`] writes it.
    pub path: String,
    /// Matching lines and their surroundings, in order.
    pub lines: Vec<Line>,
}

/// A line of a file in which something matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its number, from 1.
    pub number: u64,
    /// Its text, perhaps cut, bytes that are not UTF-8 replaced.
    pub text: String,
    /// Why it is here.
    pub kind: LineKind,
}

/// Why a line is part of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// It matches.
    Match,
    /// It is near a match.
    Context,
}

impl Location {
    /// Searches this file, or the files below this folder. Binary files are skipped.
    pub fn grep(&self, grep: &Grep<'_>, stop: &Stop) -> Result<Matches, Error> {
        let matcher = matcher(grep)?;
        let include = grep.include.map(|pattern| Glob::parse(pattern, self)).transpose()?;
        let kept = Mutex::new(Kept {
            wanted: grep.page.offset.saturating_add(grep.page.limit),
            ..Kept::default()
        });
        let (mut ended, mut unreadable) = (Ended::Complete, 0);
        if self.is_dir() {
            let walked = walk::each(self, stop, || {
                let mut search = Search::new(grep, &matcher, stop, &kept);
                let include = include.as_ref();
                move |entry: ignore::DirEntry| {
                    let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
                    if is_file && include.is_none_or(|glob| glob.matches(entry.path(), self.path())) {
                        search.file(entry.path(), File::open(entry.path()));
                    }
                }
            })?;
            (ended, unreadable) = (walked.ended, walked.unreadable);
        } else {
            Search::new(grep, &matcher, stop, &kept).file(self.path(), Ok(self.open()?));
        }
        if stop.cancelled() {
            return Err(Error::Cancelled);
        }
        let kept = kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        if kept.timed_out {
            ended = Ended::TimedOut;
        }
        Ok(kept.page(self, grep, ended, unreadable))
    }
}

fn matcher(grep: &Grep<'_>) -> Result<RegexMatcher, Error> {
    RegexMatcherBuilder::new()
        .case_insensitive(grep.case == Case::Insensitive)
        .multi_line(true)
        .crlf(true)
        .build(grep.pattern)
        .map_err(|error| {
            let text = error.to_string();
            let reason = text
                .lines()
                .last()
                .unwrap_or_default()
                .trim_start_matches("error: ")
                .to_owned();
            Error::Regex {
                pattern: grep.pattern.to_owned(),
                reason,
            }
        })
}

/// The first matches in path order that any thread has seen so far, and no more, so that a pattern which matches
/// everywhere costs no memory; the rest is only counted.
#[derive(Default)]
struct Kept {
    /// As many matches as the page and everything before it need.
    wanted: usize,
    files: BTreeMap<PathBuf, Hits>,
    held: usize,
    total: usize,
    total_files: usize,
    unreadable: usize,
    timed_out: bool,
}

#[derive(Default)]
struct Hits {
    lines: Vec<Line>,
    matches: usize,
}

impl Kept {
    fn needs(&self, path: &Path) -> bool {
        self.held < self.wanted
            || self
                .files
                .last_key_value()
                .is_some_and(|(last, _)| path < last.as_path())
    }

    fn add(&mut self, path: &Path, hits: Hits) {
        self.held += hits.matches;
        self.files.insert(path.to_owned(), hits);
        while let Some(last) = self.files.last_entry() {
            if self.held - last.get().matches < self.wanted {
                break;
            }
            self.held -= last.remove().matches;
        }
    }

    fn page(self, at: &Location, grep: &Grep<'_>, ended: Ended, unreadable: usize) -> Matches {
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
    lines.retain(|line| match line.kind {
        LineKind::Match => numbers.binary_search(&line.number).is_ok(),
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

/// One thread's search, used for file after file.
struct Search<'a> {
    searcher: Searcher,
    matcher: &'a RegexMatcher,
    max_line: usize,
    wanted: usize,
    stop: &'a Stop,
    kept: &'a Mutex<Kept>,
}

impl<'a> Search<'a> {
    fn new(grep: &Grep<'_>, matcher: &'a RegexMatcher, stop: &'a Stop, kept: &'a Mutex<Kept>) -> Self {
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .before_context(grep.context)
            .after_context(grep.context)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MAX_LINE_IN_MEMORY))
            .build();
        let wanted = grep.page.offset.saturating_add(grep.page.limit);
        Self {
            searcher,
            matcher,
            max_line: grep.max_line,
            wanted,
            stop,
            kept,
        }
    }

    fn file(&mut self, path: &Path, file: io::Result<File>) {
        let Ok(file) = file else {
            self.with_kept(|kept| kept.unreadable += 1);
            return;
        };
        let keep = self.with_kept(|kept| kept.needs(path));
        let mut sink = Collect {
            matcher: self.matcher,
            max_line: self.max_line,
            keep: if keep { self.wanted } else { 0 },
            hits: Hits::default(),
            seen: 0,
            binary: false,
        };
        let read = self
            .searcher
            .search_reader(self.matcher, Stoppable { file, stop: self.stop }, &mut sink);
        if sink.binary {
            return;
        }
        let (seen, hits) = (sink.seen, sink.hits);
        if seen == 0 && read.is_ok() {
            return;
        }
        self.with_kept(|kept| {
            kept.total += seen;
            kept.total_files += usize::from(seen > 0);
            if hits.matches > 0 {
                kept.add(path, hits);
            }
            if let Err(error) = read {
                match error.kind() {
                    io::ErrorKind::TimedOut => kept.timed_out = true,
                    _ => kept.unreadable += 1,
                }
            }
        });
    }

    fn with_kept<T>(&self, work: impl FnOnce(&mut Kept) -> T) -> T {
        work(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A file whose reading ends when the search does.
struct Stoppable<'a> {
    file: File,
    stop: &'a Stop,
}

impl Read for Stoppable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.stop.due() {
            true => Err(io::Error::from(io::ErrorKind::TimedOut)),
            false => self.file.read(buffer),
        }
    }
}

/// What one file yields.
struct Collect<'a> {
    matcher: &'a RegexMatcher,
    max_line: usize,
    /// So many matches are kept, the rest counted.
    keep: usize,
    hits: Hits,
    seen: usize,
    binary: bool,
}

impl Sink for Collect<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.seen += 1;
        if self.hits.matches < self.keep {
            self.hits.matches += 1;
            let at = self
                .matcher
                .find(found.bytes())
                .ok()
                .flatten()
                .map_or(0, |found| found.start());
            self.push(found.line_number(), found.bytes(), at, LineKind::Match);
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, near: &SinkContext<'_>) -> io::Result<bool> {
        if self.keep > 0 && self.seen <= self.keep {
            self.push(near.line_number(), near.bytes(), 0, LineKind::Context);
        }
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.binary = true;
        Ok(false)
    }
}

impl Collect<'_> {
    fn push(&mut self, number: Option<u64>, bytes: &[u8], at: usize, kind: LineKind) {
        let bytes = bytes.trim_ascii_end();
        let text = window(&String::from_utf8_lossy(bytes), at, self.max_line);
        self.hits.lines.push(Line {
            number: number.unwrap_or_default(),
            text,
            kind,
        });
    }
}

/// At most `limit` bytes of a line, from a little before the match on, marked where something was cut.
fn window(line: &str, at: usize, limit: usize) -> String {
    if line.len() <= limit {
        return line.to_owned();
    }
    let start = match at > limit / 2 {
        true => line.floor_char_boundary(at.saturating_sub(limit / 4)),
        false => 0,
    };
    let end = line.floor_char_boundary(start.saturating_add(limit));
    let mark = |cut: bool| if cut { "…" } else { "" };
    format!(
        "{}{}{}",
        mark(start > 0),
        &line[start..end.max(start)],
        mark(end < line.len())
    )
}
