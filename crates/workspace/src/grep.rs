//! Searching file contents with a regular expression.

mod kept;
mod kind;
mod search;

use std::fs::File;
use std::sync::{Mutex, PoisonError};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};

use crate::glob::Glob;
use crate::{Ended, Error, Location, Page, Stop, walk};
use kept::Kept;
use search::Search;

/// A search in contents.
#[derive(Debug, Clone)]
pub struct Grep<'a> {
    /// A regular expression.
    pub pattern: &'a str,
    /// Whether case counts.
    pub case: Case,
    /// Only files that match this glob.
    pub include: Option<&'a str>,
    /// Only files of this type, by one of ripgrep's names (`rust`, `py`) or an ending.
    pub kind: Option<&'a str>,
    /// How many lines around each match are wanted.
    pub context: usize,
    /// Which matches are wanted.
    pub page: Page,
    /// At most so many bytes of each line; a longer one is cut around its match.
    pub max_line: usize,
    /// Whether a match may go over the end of a line, and `.` with it.
    pub multiline: bool,
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
    /// It is a further line of the match before it.
    Inside,
    /// It is near a match.
    Context,
}

impl Location {
    /// Searches this file, or the files below this folder. Binary files are skipped.
    pub fn grep(&self, grep: &Grep<'_>, stop: &Stop) -> Result<Matches, Error> {
        let matcher = matcher(grep)?;
        let include = grep.include.map(|pattern| Glob::parse(pattern, self)).transpose()?;
        let types = grep.kind.map(kind::types).transpose()?;
        let kept = Mutex::new(Kept::first(grep.page.offset.saturating_add(grep.page.limit)));
        let (mut ended, mut unreadable) = (Ended::Complete, 0);
        if self.is_dir() {
            let walked = walk::each(self, types, stop, || {
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
        .crlf(!grep.multiline)
        .dot_matches_new_line(grep.multiline)
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
