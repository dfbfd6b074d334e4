//! Searches file contents with a regular expression.

mod collector;
mod file_types;
mod search;

use std::sync::{Mutex, PoisonError};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};

use crate::glob::FileGlob;
use crate::{Error, IgnoredFiles, Location, ResultPage, SearchEnd, StopSignal, walk};
use collector::MatchCollector;
use search::FileSearcher;

/// A search in file contents.
#[derive(Debug, Clone)]
pub struct GrepQuery<'a> {
    /// A regular expression.
    pub pattern: &'a str,
    /// Matching lines that this regular expression matches as well are left out.
    pub exclude: Option<&'a str>,
    /// Case sensitivity.
    pub case: CaseSensitivity,
    /// Only files that match this glob.
    pub include: Option<&'a str>,
    /// Only files of this type: a type name of ripgrep (`rust`, `py`) or an extension.
    pub kind: Option<&'a str>,
    /// Whether ignored files are searched.
    pub ignored: IgnoredFiles,
    /// The number of context lines around each match.
    pub context: usize,
    /// The requested page.
    pub page: ResultPage,
    /// Maximum bytes per line; a longer line is truncated around its match.
    pub max_line: usize,
    /// Whether matches may span lines, and `.` matches line endings.
    pub multiline: bool,
}

/// Case sensitivity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseSensitivity {
    /// Upper and lower case differ.
    Sensitive,
    /// Upper and lower case are equal.
    Insensitive,
}

/// The result of a search in file contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrepMatches {
    /// One page of matches, by searched folder, path and line.
    pub files: Vec<FileMatches>,
    /// The number of matches on the page.
    pub shown: usize,
    /// The total number of matching lines.
    pub total: usize,
    /// The total number of files with matches.
    pub total_files: usize,
    /// Whether the search is complete.
    pub ended: SearchEnd,
    /// The number of unreadable files and folders.
    pub unreadable: usize,
}

/// The matches in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMatches {
    /// The file, as [`Location::shown`] writes it.
    pub path: String,
    /// Matching lines and context lines, in order.
    pub lines: Vec<GrepLine>,
}

/// A matching line or a context line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrepLine {
    /// Its number, from 1.
    pub number: u64,
    /// Its text, possibly truncated; invalid UTF-8 is replaced.
    pub text: String,
    /// Its role in the result.
    pub kind: GrepLineKind,
}

/// The role of a line in a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrepLineKind {
    /// It matches.
    Match,
    /// It continues a multi-line match.
    Inside,
    /// It is a context line.
    Context,
}

impl Location {
    /// Searches this file, or the files below this folder; for the project folder, also below its additional folders.
    /// Binary files are skipped.
    pub fn grep(&self, grep: &GrepQuery<'_>, stop: &StopSignal) -> Result<GrepMatches, Error> {
        let matchers = (
            matcher(grep, grep.pattern)?,
            grep.exclude.map(|pattern| matcher(grep, pattern)).transpose()?,
        );
        let matchers = (&matchers.0, matchers.1.as_ref());
        let include = grep
            .include
            .map(|pattern| FileGlob::parse(pattern, CaseSensitivity::Sensitive, self))
            .transpose()?;
        let types = grep.kind.map(file_types::types).transpose()?;
        let kept = Mutex::new(MatchCollector::with_limit(
            grep.page.offset.saturating_add(grep.page.limit),
        ));
        let (mut ended, mut unreadable) = (SearchEnd::Complete, 0);
        if self.is_dir() {
            let walked = walk::visit_entries(self, (types, grep.ignored), stop, || {
                let mut search = FileSearcher::new(grep, matchers, stop, &kept);
                let include = include.as_ref();
                move |entry: walk::WalkEntry<'_>| {
                    let is_included = |glob: &FileGlob| glob.matches(&entry.path, self.searched_folder_of(&entry.path));
                    if entry.is_file() && include.is_none_or(is_included) {
                        search.file(self.search_order(&entry.path), entry.open());
                    }
                }
            })?;
            (ended, unreadable) = (walked.ended, walked.unreadable);
        } else {
            FileSearcher::new(grep, matchers, stop, &kept).file(self.search_order(self.path()), Ok(self.open()?));
        }
        if stop.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let kept = kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        if kept.timed_out {
            ended = SearchEnd::TimedOut;
        }
        Ok(kept.page(self, grep, ended, unreadable))
    }
}

fn matcher(grep: &GrepQuery<'_>, pattern: &str) -> Result<RegexMatcher, Error> {
    RegexMatcherBuilder::new()
        .case_insensitive(grep.case == CaseSensitivity::Insensitive)
        .multi_line(true)
        .crlf(!grep.multiline)
        .dot_matches_new_line(grep.multiline)
        .build(pattern)
        .map_err(|error| {
            let text = error.to_string();
            let reason = text
                .lines()
                .last()
                .unwrap_or_default()
                .trim_start_matches("error: ")
                .to_owned();
            Error::Regex {
                pattern: pattern.to_owned(),
                reason,
            }
        })
}
