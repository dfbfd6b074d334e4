//! The search of one thread.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};

use super::collector::{FileHits, MatchCollector};
use super::{GrepLine, GrepLineKind, GrepQuery};
use crate::StopSignal;

/// A file with a longer line is skipped, because the line would have to fit in memory.
const MAX_LINE_IN_MEMORY: usize = 32 * 1024 * 1024;

/// A match with more lines is truncated.
const MAX_MATCH_LINES: usize = 50;

/// The search of one thread, reused for all its files.
pub(super) struct FileSearcher<'a> {
    searcher: Searcher,
    matcher: &'a RegexMatcher,
    /// Matching lines that are left out.
    exclude: Option<&'a RegexMatcher>,
    max_line: usize,
    wanted: usize,
    stop: &'a StopSignal,
    kept: &'a Mutex<MatchCollector>,
}

impl<'a> FileSearcher<'a> {
    pub(super) fn new(
        grep: &GrepQuery<'_>,
        (matcher, exclude): (&'a RegexMatcher, Option<&'a RegexMatcher>),
        stop: &'a StopSignal,
        kept: &'a Mutex<MatchCollector>,
    ) -> Self {
        let searcher = SearcherBuilder::new()
            .line_terminator(match grep.multiline {
                true => LineTerminator::byte(b'\n'),
                false => LineTerminator::crlf(),
            })
            .multi_line(grep.multiline)
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
            exclude,
            max_line: grep.max_line,
            wanted,
            stop,
            kept,
        }
    }

    /// Searches a file, given with its search order.
    pub(super) fn file(&mut self, place: (bool, &Path), file: io::Result<File>) {
        let Ok(file) = file else {
            self.with_kept(|kept| kept.unreadable += 1);
            return;
        };
        let keep = self.with_kept(|kept| kept.needs(place));
        let mut sink = MatchSink {
            matcher: self.matcher,
            exclude: self.exclude,
            max_line: self.max_line,
            keep: if keep { self.wanted } else { 0 },
            hits: FileHits::default(),
            seen: 0,
            binary: false,
        };
        let read = self
            .searcher
            .search_reader(self.matcher, StoppableFile { file, stop: self.stop }, &mut sink);
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
                kept.add(place, hits);
            }
            if let Err(error) = read {
                match error.kind() {
                    io::ErrorKind::TimedOut => kept.timed_out = true,
                    _ => kept.unreadable += 1,
                }
            }
        });
    }

    fn with_kept<T>(&self, work: impl FnOnce(&mut MatchCollector) -> T) -> T {
        work(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A file with reads that fail when the search is stopped.
struct StoppableFile<'a> {
    file: File,
    stop: &'a StopSignal,
}

impl Read for StoppableFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.stop.is_due() {
            true => Err(io::Error::from(io::ErrorKind::TimedOut)),
            false => self.file.read(buffer),
        }
    }
}

/// Collects the matches of one file.
struct MatchSink<'a> {
    matcher: &'a RegexMatcher,
    exclude: Option<&'a RegexMatcher>,
    max_line: usize,
    /// The number of matches to collect; the rest is counted.
    keep: usize,
    hits: FileHits,
    seen: usize,
    binary: bool,
}

impl Sink for MatchSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let is_excluded = |exclude: &RegexMatcher| exclude.is_match(found.bytes()).unwrap_or(false);
        if self.exclude.is_some_and(is_excluded) {
            return Ok(true);
        }
        self.seen += 1;
        if self.hits.matches < self.keep {
            self.hits.matches += 1;
            let at = self
                .matcher
                .find(found.bytes())
                .ok()
                .flatten()
                .map_or(0, |found| found.start());
            self.push_match(found.line_number(), found.bytes(), at);
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, near: &SinkContext<'_>) -> io::Result<bool> {
        if self.keep > 0 && self.seen <= self.keep {
            self.push(near.line_number(), near.bytes(), 0, GrepLineKind::Context);
        }
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.binary = true;
        Ok(false)
    }
}

impl MatchSink<'_> {
    /// Collects the lines of a match. A multi-line match counts once.
    fn push_match(&mut self, number: Option<u64>, bytes: &[u8], at: usize) {
        let mut number = number;
        for (nth, line) in bytes
            .trim_ascii_end()
            .split(|byte| *byte == b'\n')
            .take(MAX_MATCH_LINES)
            .enumerate()
        {
            match nth {
                0 => self.push(number, line, at, GrepLineKind::Match),
                _ => self.push(number, line, 0, GrepLineKind::Inside),
            }
            number = number.map(|number| number + 1);
        }
    }

    fn push(&mut self, number: Option<u64>, bytes: &[u8], at: usize, kind: GrepLineKind) {
        let bytes = bytes.trim_ascii_end();
        let text = window(&String::from_utf8_lossy(bytes), at, self.max_line);
        self.hits.lines.push(GrepLine {
            number: number.unwrap_or_default(),
            text,
            kind,
        });
    }
}

/// At most `limit` bytes of a line, starting shortly before the match, with marks for truncation.
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
