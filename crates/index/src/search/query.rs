//! Answers a query: candidates by words and by meaning, features of their files, and the learned order.

mod candidates;
mod evidence;
mod memory;
mod parsed;

use crate::search::codec::ProductTable;
use crate::search::embedding::{CompactEmbedding, Embedding};
use crate::search::features::{FEATURE_COUNT, FeatureValues};
use crate::search::file_class::FileClass;
use crate::search::ranker::Ranker;
use crate::search::search_index::{IndexStamp, SearchIndex};
use evidence::{Evidence, FileEvidence};
pub(crate) use memory::QueryMemory;
use parsed::ParsedQuery;

/// The number of files that are ranked.
const MAX_RANKED: usize = 100;
/// The number of further chunks of a file that are returned.
const MAX_MORE: usize = 3;

/// A question about the project.
#[derive(Debug, Clone)]
pub struct SearchQuery<'q> {
    /// Words, a sentence or a symbol.
    pub text: &'q str,
    /// The searched files.
    pub scope: QueryScope<'q>,
    /// The maximum number of files.
    pub limit: usize,
    /// The signals to use.
    pub signals: RankingSignals,
}

/// A restriction of a search.
#[derive(Debug, Clone, Copy, Default)]
pub struct QueryScope<'q> {
    /// Only these files and files below these folders; empty for all.
    pub paths: &'q [&'q str],
    /// Only files with one of these extensions; empty for all.
    pub extensions: &'q [&'q str],
    /// Only files of this kind.
    pub kind: Option<QueryKind>,
    /// Files that rank higher, because the session uses them.
    pub preferred: &'q [&'q str],
}

/// A kind of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryKind {
    /// Source code without tests.
    Code,
    /// Tests and examples.
    Tests,
    /// Documentation.
    Docs,
}

impl QueryKind {
    pub(crate) fn contains(self, class: FileClass) -> bool {
        let is_test = class.is(FileClass::TEST) || class.is(FileClass::EXAMPLE);
        match self {
            Self::Code => !is_test && !class.is(FileClass::PROSE) && !class.is(FileClass::DATA),
            Self::Tests => is_test,
            Self::Docs => class.is(FileClass::PROSE),
        }
    }
}

/// The signals that determine the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankingSignals {
    /// Words and meaning.
    All,
    /// Words only: no embedding.
    Lexical,
    /// A fixed formula, for comparison.
    Fixed,
    /// BM25 of the best chunk only, for comparison.
    Bm25,
    /// The similarity of the best chunk only, for comparison.
    Embedding,
}

/// The answer to a query.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SearchHits {
    /// The files, best first.
    pub files: Vec<FileHit>,
}

/// A file that answers a query.
#[derive(Debug, Clone, PartialEq)]
pub struct FileHit {
    /// Its path, relative to the project.
    pub path: String,
    /// Its state when it was indexed.
    pub stamp: IndexStamp,
    /// Its purpose.
    pub class: FileClass,
    /// The score; higher is better.
    pub score: f32,
    /// Its best chunks, best first.
    pub chunks: Vec<ChunkHit>,
    /// Why it was found.
    pub reasons: Vec<MatchReason>,
    /// The values of [`crate::search::FEATURES`].
    pub features: Vec<f32>,
}

/// A chunk of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkHit {
    /// The first line, from 1.
    pub first: usize,
    /// The last line.
    pub last: usize,
    /// The definition that it shows, such as `method Parser::next`; may be empty.
    pub label: String,
}

/// Why a file was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchReason {
    /// It defines a symbol of the query.
    Defines,
    /// Its name matches.
    FileName,
    /// A definition's name matches.
    SymbolName,
    /// It contains the words.
    Words,
    /// Its meaning is similar.
    Meaning,
}

impl MatchReason {
    /// The words for a result.
    pub fn name(self) -> &'static str {
        match self {
            Self::Defines => "defines it",
            Self::FileName => "file name",
            Self::SymbolName => "symbol name",
            Self::Words => "words",
            Self::Meaning => "meaning",
        }
    }
}

impl SearchIndex {
    /// The files that answer a query, best first.
    pub fn search(&self, query: &SearchQuery<'_>) -> SearchHits {
        let parsed = ParsedQuery::parse(query.text);
        let uses_vectors = !matches!(query.signals, RankingSignals::Lexical | RankingSignals::Bm25);
        let vector = uses_vectors
            .then(|| Embedding::of(query.text))
            .filter(|vector| !vector.is_zero());
        let products = vector.as_ref().map(ProductTable::of);
        let evidence = Evidence::collect(self, &parsed, products.as_ref(), &query.scope);
        let candidates = evidence.candidates(MAX_RANKED.max(query.limit));
        // A query at the same time has a memory of its own.
        let (mut shared, mut own) = (self.query_memory.try_lock(), QueryMemory::default());
        let memory = shared.as_deref_mut().unwrap_or(&mut own);
        let compact = vector.as_ref().map(CompactEmbedding::of);
        let mut ranked: Vec<(f32, FileEvidence)> = candidates
            .into_iter()
            .map(|file| (0.0, evidence.file(file, compact.as_ref(), memory)))
            .collect();
        drop(shared);
        evidence::complete(&mut ranked, &evidence);
        let ranker = Ranker::of(query.signals);
        let features: Vec<&FeatureValues> = ranked.iter().map(|(_, file)| &file.features).collect();
        let scores = ranker.scores(&features);
        for ((slot, file), score) in ranked.iter_mut().zip(scores) {
            let is_preferred = query.scope.preferred.contains(&file.path.as_str());
            *slot = score + if is_preferred { ranker.preference() } else { 0.0 };
        }
        ranked.sort_by(|(a, one), (b, other)| b.total_cmp(a).then_with(|| one.path.cmp(&other.path)));
        ranked.truncate(query.limit);
        SearchHits {
            files: ranked
                .into_iter()
                .map(|(score, file)| evidence.hit(score, file, MAX_MORE))
                .collect(),
        }
    }
}

const _: () = assert!(FEATURE_COUNT < 256, "a tree stores a feature in a byte");
