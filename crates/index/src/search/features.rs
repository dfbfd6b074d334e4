//! The features of a file for a query, from which the ranker computes its score.

/// The number of features.
pub const FEATURE_COUNT: usize = FEATURES.len();

/// The features of a file for a query.
pub(crate) type FeatureValues = [f32; FEATURE_COUNT];

macro_rules! features {
    ($($variant:ident $name:literal $kind:ident,)*) => {
        /// A feature. The order is that of the model's weights.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Feature { $($variant,)* }

        /// The names of the features.
        pub const FEATURES: &[&str] = &[$($name,)*];

        /// Whether each feature needs the embedding.
        #[cfg(test)]
        pub(crate) const IS_SEMANTIC: &[bool] = &[$(features!(@$kind),)*];
    };
    (@lexical) => { false };
    (@semantic) => { true };
}

features! {
    QueryWords "query_words" lexical,
    QueryIsSymbol "query_is_symbol" lexical,
    QueryIdentifiers "query_identifiers" lexical,
    QueryIsQuestion "query_is_question" lexical,
    Similarity "similarity" semantic,
    SimilarityRelative "similarity_relative" semantic,
    SimilarityThree "similarity_three" semantic,
    SimilarityThreeRelative "similarity_three_relative" semantic,
    SimilarityRank "similarity_rank" semantic,
    SimilarityMean "similarity_mean" semantic,
    SummarySimilarity "summary_similarity" semantic,
    SummaryRelative "summary_relative" semantic,
    PathSimilarity "path_similarity" semantic,
    PathRelative "path_relative" semantic,
    StemSimilarity "stem_similarity" semantic,
    StemRelative "stem_relative" semantic,
    Bm25 "bm25" lexical,
    Bm25Relative "bm25_relative" lexical,
    Bm25Three "bm25_three" lexical,
    Bm25ThreeRelative "bm25_three_relative" lexical,
    Bm25Rank "bm25_rank" lexical,
    FileBm25 "file_bm25" lexical,
    FileBm25Relative "file_bm25_relative" lexical,
    FileBm25Rank "file_bm25_rank" lexical,
    Coverage "coverage" lexical,
    ChunkCoverage "chunk_coverage" lexical,
    StemCoverage "stem_coverage" lexical,
    StemMatched "stem_matched" lexical,
    StemExact "stem_exact" lexical,
    FolderCoverage "folder_coverage" lexical,
    PathCoverage "path_coverage" lexical,
    NameCoverage "name_coverage" lexical,
    NameBest "name_best" lexical,
    NameBestRelative "name_best_relative" lexical,
    IdentifierDefined "identifier_defined" lexical,
    IdentifierUsed "identifier_used" lexical,
    TypeDefined "type_defined" lexical,
    IdentifierTypeDefined "identifier_type_defined" lexical,
    HeadCoverage "head_coverage" lexical,
    StemReferences "stem_references" lexical,
    TopChunks "top_chunks" lexical,
    TopSimilarChunks "top_similar_chunks" semantic,
    Fused "fused" lexical,
    FusedSemantic "fused_semantic" semantic,
    Fixed "fixed" semantic,
    FixedRelative "fixed_relative" semantic,
    FixedLexical "fixed_lexical" lexical,
    Test "test" lexical,
    Example "example" lexical,
    Generated "generated" lexical,
    Vendored "vendored" lexical,
    Prose "prose" lexical,
    Data "data" lexical,
    Entry "entry" lexical,
    Legacy "legacy" lexical,
    Chunks "chunks" lexical,
    Definitions "definitions" lexical,
    Depth "depth" lexical,
    FilesInIndex "files_in_index" lexical,
    ExtensionShare "extension_share" lexical,
}

/// Sets one feature.
pub(crate) fn set(features: &mut FeatureValues, feature: Feature, value: f32) {
    features[feature as usize] = value;
}
