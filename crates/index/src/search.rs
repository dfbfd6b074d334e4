//! Code search by meaning and by words, over text in memory.
//!
//! [`analyse`] turns a file into chunks with terms, definitions and vectors; [`SegmentBuilder`] packs files into a
//! segment, a byte string that is searched in place; [`SearchIndex`] answers queries over several segments. A later
//! segment replaces the files of earlier ones. Files are ranked by a learned model over the features of [`FEATURES`].

mod chunks;
mod codec;
mod document;
mod embedding;
mod features;
mod file_class;
mod graph;
mod query;
mod ranker;
mod search_index;
mod segment;
mod segment_builder;
mod words;

pub use chunks::ChunkSpan;
pub use document::{FileAnalysis, analyse};
pub use embedding::{DIMENSIONS, Embedding};
pub use features::{FEATURE_COUNT, FEATURES};
pub use file_class::FileClass;
pub use graph::RankedFile;
pub use query::{ChunkHit, FileHit, MatchReason, QueryKind, QueryScope, RankingSignals, SearchHits, SearchQuery};
pub use search_index::{IndexStamp, IndexedFile, SearchIndex};
pub use segment::{Segment, SegmentBytes, SegmentDefect};
pub use segment_builder::SegmentBuilder;
