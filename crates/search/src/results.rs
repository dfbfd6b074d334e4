//! Answers queries with the current text of the files.

use std::path::Path;
use std::time::Duration;

use index::search::{FileHit, IndexStamp, MatchReason, QueryScope, RankingSignals, SearchQuery};
use workspace::StopSignal;

use crate::embedding_order::CANDIDATES;
use crate::file_filter::{MAX_FILE, text_of};
use crate::{CodeIndex, Error};

/// Time limit for files that changed after they were indexed.
const UPDATE_TIME: Duration = Duration::from_secs(2);
/// How often a query is repeated because files changed.
const MAX_REPEATS: usize = 3;

/// A question about the project.
#[derive(Debug, Clone)]
pub struct CodeQuery<'q> {
    /// Words, a sentence or a symbol.
    pub text: &'q str,
    /// The searched files.
    pub scope: QueryScope<'q>,
    /// The maximum number of files.
    pub limit: usize,
    /// The signals to use.
    pub signals: RankingSignals,
}

/// A file that answers a query.
#[derive(Debug, Clone, PartialEq)]
pub struct CodeResult {
    /// Its path, relative to the project.
    pub path: String,
    /// The score; higher is better.
    pub score: f32,
    /// Its best chunks, best first. There is at least one.
    pub chunks: Vec<ResultChunk>,
    /// Why it was found.
    pub reasons: Vec<MatchReason>,
    /// The values of the ranker's features.
    pub features: Vec<f32>,
}

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultChunk {
    /// The first line, from 1.
    pub first: usize,
    /// The last line.
    pub last: usize,
    /// The definition that it shows, such as `method Parser::next`; may be empty.
    pub label: String,
    /// Its text.
    pub text: String,
}

impl CodeIndex {
    /// Answers a query from the index as it is. Files that changed since are analysed again first; files that cannot be
    /// read any more are left out.
    pub fn search(&self, query: &CodeQuery<'_>) -> Result<Vec<CodeResult>, Error> {
        let Some(embedding) = self.embedding().filter(|_| query.signals == RankingSignals::All) else {
            return self.search_locally(query);
        };
        let mut results = self.search_locally(&CodeQuery {
            limit: query.limit.max(CANDIDATES),
            ..query.clone()
        })?;
        let sorted = match results.is_empty() {
            true => Ok(()),
            false => embedding.sort(query.text, &mut results),
        };
        self.state().embedding_error = sorted.err().map(|error| error.to_string());
        results.truncate(query.limit);
        Ok(results)
    }

    fn search_locally(&self, query: &CodeQuery<'_>) -> Result<Vec<CodeResult>, Error> {
        for _ in 0..MAX_REPEATS {
            let hits = self.find(query);
            let mut results = Vec::new();
            let mut changed = Vec::new();
            for hit in hits {
                match self.read(&hit) {
                    Some(result) => results.push(result),
                    None => changed.push(hit.path),
                }
            }
            if changed.is_empty() {
                return Ok(results);
            }
            self.refresh_files(&changed, &StopSignal::after(UPDATE_TIME))?;
        }
        Ok(self.find(query).iter().filter_map(|hit| self.read(hit)).collect())
    }

    fn find(&self, query: &CodeQuery<'_>) -> Vec<FileHit> {
        let index = self.current();
        let found = index.search(&SearchQuery {
            text: query.text,
            scope: query.scope,
            limit: query.limit,
            signals: query.signals,
        });
        found.files
    }

    /// The current text of a hit. `None` if the file is not as it was when it was indexed.
    fn read(&self, hit: &FileHit) -> Option<CodeResult> {
        let location = self.workspace().locate(Path::new(&hit.path)).ok()?;
        if self.workspace().is_hidden(location.path()) {
            return None;
        }
        let bytes = location.read_bytes(MAX_FILE).ok()?;
        if IndexStamp::hash(&bytes) != hit.stamp.content {
            return None;
        }
        let text = text_of(bytes)?;
        let starts: Vec<usize> = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(at, _)| at + 1))
            .collect();
        let chunks = hit.chunks.iter().map(|chunk| {
            let start = starts.get(chunk.first.saturating_sub(1)).copied().unwrap_or(text.len());
            let end = starts.get(chunk.last).copied().unwrap_or(text.len());
            ResultChunk {
                first: chunk.first,
                last: chunk.last,
                label: chunk.label.clone(),
                text: text.get(start..end).unwrap_or_default().to_owned(),
            }
        });
        Some(CodeResult {
            path: hit.path.clone(),
            score: hit.score,
            chunks: chunks.collect(),
            reasons: hit.reasons.clone(),
            features: hit.features.clone(),
        })
    }
}
