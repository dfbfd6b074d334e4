//! Caches that queries of the same index share.

use std::collections::HashMap;

use crate::search::document::{WordMemory, file_stem, path_prefix};
use crate::search::embedding::CompactEmbedding;
use crate::search::words::Term;

/// More files or names are forgotten.
const MAX_REMEMBERED: usize = 20_000;

/// Facts about files and names that queries met.
#[derive(Debug, Default)]
pub(crate) struct QueryMemory {
    words: WordMemory,
    /// By the hash of the path.
    paths: HashMap<u64, PathVectors>,
    references: HashMap<Term, u32>,
}

/// The vectors of a path.
#[derive(Debug)]
pub(super) struct PathVectors {
    pub(super) path: CompactEmbedding,
    pub(super) stem: CompactEmbedding,
}

impl QueryMemory {
    pub(super) fn path_vectors(&mut self, hash: u64, path: &str) -> &PathVectors {
        let Self { words, paths, .. } = self;
        if paths.len() >= MAX_REMEMBERED {
            paths.clear();
        }
        paths.entry(hash).or_insert_with(|| PathVectors {
            path: words.embed(&path_prefix(path)),
            stem: words.embed(file_stem(path)),
        })
    }

    /// The number of chunks that contain a term.
    pub(super) fn references(&mut self, term: Term, count: impl FnOnce() -> usize) -> usize {
        if self.references.len() >= MAX_REMEMBERED {
            self.references.clear();
        }
        *self.references.entry(term).or_insert_with(|| count() as u32) as usize
    }
}
