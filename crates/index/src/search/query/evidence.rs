//! The evidence of the index for a query: scores of chunks and files, and the features of candidate files.

use std::borrow::Cow;
use std::collections::HashMap;

use super::candidates::{ChunkRanks, reciprocal, top};
use super::memory::QueryMemory;
use super::parsed::{ParsedQuery, TermMarks};
use super::{ChunkHit, FileHit, MatchReason, QueryScope};
use crate::SymbolKind;
use crate::search::codec::{FAR, ProductTable};
use crate::search::document::{file_stem, name_terms};
use crate::search::embedding::CompactEmbedding;
use crate::search::features::{FEATURE_COUNT, Feature, FeatureValues, set};
use crate::search::file_class::FileClass;
use crate::search::search_index::{IndexPart, SearchIndex};
use crate::search::segment::{ChunkRecord, FileRecord};
use crate::search::words::Term;

const K1: f32 = 1.5;
const B: f32 = 0.75;
/// Chunks per signal that make their files candidates.
const TOP_CHUNKS: usize = 200;
/// In a larger index, vectors are compared by their signs first.
const MAX_COMPARED: usize = 4_000;
/// Chunks of one file whose similarity is computed.
const MAX_FILE_CHUNKS: usize = 400;

/// Scores of all chunks and files for a query.
pub(super) struct Evidence<'i> {
    index: &'i SearchIndex,
    query: &'i ParsedQuery,
    marks: TermMarks,
    products: Option<&'i ProductTable>,
    /// The rarity of each term of the query among chunks.
    rarity: Vec<f32>,
    bm25: Vec<f32>,
    /// The terms of the query in each chunk, as bits.
    found: Vec<u32>,
    file_bm25: Vec<f32>,
    /// The chunks and files with a term of the query.
    found_chunks: Vec<usize>,
    found_files: Vec<usize>,
    bm25_ranks: ChunkRanks,
    similarity_ranks: ChunkRanks,
    bm25_order: Vec<(usize, f32)>,
    similarity_order: Vec<(usize, f32)>,
}

/// A candidate file with its features.
pub(super) struct FileEvidence {
    part: usize,
    pub(super) path: String,
    record: FileRecord,
    pub(super) features: FeatureValues,
    /// Its chunks by relevance.
    chunks: Vec<usize>,
    /// Whether each of its chunks defines an identifier of the query.
    defined: Vec<bool>,
}

impl<'i> Evidence<'i> {
    pub(super) fn collect(
        index: &'i SearchIndex,
        query: &'i ParsedQuery,
        products: Option<&'i ProductTable>,
        scope: &QueryScope<'_>,
    ) -> Self {
        let mut evidence = Self {
            index,
            query,
            marks: query.marks(),
            products,
            rarity: Vec::new(),
            bm25: vec![0.0; index.chunk_total],
            found: vec![0; index.chunk_total],
            file_bm25: vec![0.0; index.file_total],
            found_chunks: Vec::new(),
            found_files: Vec::new(),
            bm25_ranks: ChunkRanks::default(),
            similarity_ranks: ChunkRanks::default(),
            bm25_order: Vec::new(),
            similarity_order: Vec::new(),
        };
        let allowed = evidence.allowed(scope);
        evidence.count_words(&allowed);
        let found = evidence
            .found_chunks
            .iter()
            .map(|chunk| (*chunk, evidence.bm25[*chunk]));
        evidence.bm25_order = top(found, TOP_CHUNKS, |chunk| index.chunk_key(chunk));
        evidence.bm25_ranks = ChunkRanks::of(&evidence.bm25_order);
        evidence.similarity_order = evidence.most_similar(&allowed);
        evidence.similarity_ranks = ChunkRanks::of(&evidence.similarity_order);
        evidence
    }

    /// Which files are current and in the scope, per segment; `None` if all are.
    fn allowed(&self, scope: &QueryScope<'_>) -> Vec<Option<Cow<'i, [bool]>>> {
        let is_root = |path: &&str| path.is_empty();
        let is_everywhere = scope.paths.is_empty() || scope.paths.iter().any(is_root);
        let is_everything = is_everywhere && scope.extensions.is_empty() && scope.kind.is_none();
        let inside = |file: &str| {
            let is_below = |folder: &&str| {
                let rest = file.strip_prefix(folder.trim_end_matches('/'));
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            let in_folder = is_everywhere || scope.paths.iter().any(is_below);
            let extension = file
                .rsplit('/')
                .next()
                .and_then(|name| name.rsplit_once('.'))
                .map_or("", |(_, extension)| extension);
            in_folder && (scope.extensions.is_empty() || scope.extensions.contains(&extension))
        };
        let index = self.index;
        index
            .parts
            .iter()
            .map(|part| {
                if is_everything {
                    return part.live().map(Cow::Borrowed);
                }
                let is_allowed = |nth: usize| {
                    let file = part.segment.file(nth);
                    scope.kind.is_none_or(|kind| kind.contains(file.class)) && inside(part.segment.path(&file))
                };
                let files = 0..part.segment.files;
                Some(files.map(|nth| part.is_live(nth) && is_allowed(nth)).collect())
            })
            .collect()
    }

    /// BM25 of all chunks and files.
    fn count_words(&mut self, allowed: &[Option<Cow<'_, [bool]>>]) {
        let chunk_count = self.index.live_chunks.max(1) as f32;
        let file_count = self.index.live_files.max(1) as f32;
        let words = self.index.live_words.max(1) as f32;
        let (chunk_mean, file_mean) = (words / chunk_count, words / file_count);
        let mut postings: Vec<(usize, u16, u8)> = Vec::new();
        let mut runs: Vec<(usize, u32, f32)> = Vec::new();
        for (nth, term) in self.query.terms.iter().enumerate() {
            postings.clear();
            runs.clear();
            let (mut chunks_with, mut files_with) = (0_usize, 0_usize);
            for (part, allowed) in self.index.parts.iter().zip(allowed) {
                let mut last_file = usize::MAX;
                let (table, files) = (part.segment.chunk_table(), part.segment.file_table());
                part.segment.postings(term.term, |chunk, count| {
                    let Some(record) = table.get(chunk).map(ChunkRecord::of) else {
                        return;
                    };
                    let file = record.file as usize;
                    if part.has_stale() && !part.is_live(file) {
                        return;
                    }
                    chunks_with += 1;
                    files_with += usize::from(file != last_file);
                    let is_allowed = allowed
                        .as_ref()
                        .is_none_or(|allowed| allowed.get(file).copied().unwrap_or(false));
                    if is_allowed {
                        postings.push((part.first_chunk + chunk, record.length, count));
                        match runs.last_mut() {
                            Some(run) if file == last_file => run.2 += f32::from(count),
                            Some(_) | None => {
                                let words = files.get(file).map_or(0, |file| FileRecord::of(file).words);
                                runs.push((part.first_file + file, words, f32::from(count)));
                            }
                        }
                    }
                    last_file = file;
                });
            }
            let rarity = rarity(chunks_with, chunk_count);
            self.rarity.push(rarity);
            for (chunk, length, count) in &postings {
                let count = f32::from(*count);
                let norm = K1 * (1.0 - B + B * f32::from(*length) / chunk_mean);
                if self.found[*chunk] == 0 {
                    self.found_chunks.push(*chunk);
                }
                self.bm25[*chunk] += rarity * count * (K1 + 1.0) / (count + norm);
                self.found[*chunk] |= 1 << (nth & 31);
            }
            let file_rarity = self::rarity(files_with, file_count);
            for (file, words, count) in &runs {
                let norm = K1 * (1.0 - B + B * *words as f32 / file_mean);
                if self.file_bm25[*file] == 0.0 {
                    self.found_files.push(*file);
                }
                self.file_bm25[*file] += file_rarity * count * (K1 + 1.0) / (count + norm);
            }
        }
    }

    /// The most similar chunks: among all in a small index, otherwise among those with the most similar signs.
    fn most_similar(&self, allowed: &[Option<Cow<'_, [bool]>>]) -> Vec<(usize, f32)> {
        let Some(products) = self.products else {
            return Vec::new();
        };
        let mut distances = Vec::with_capacity(self.index.chunk_total);
        for (part, allowed) in self.index.parts.iter().zip(allowed) {
            products.push_distances(part.segment.all_signs(), &mut distances);
            let own = distances.get_mut(part.first_chunk..).unwrap_or_default();
            let allowed = allowed.iter().flat_map(|allowed| allowed.iter());
            for (_, file) in allowed.zip(part.segment.file_table()).filter(|(allowed, _)| !**allowed) {
                let FileRecord {
                    first_chunk,
                    chunk_count,
                    ..
                } = FileRecord::of(file);
                let chunks = own.iter_mut().skip(first_chunk as usize).take(chunk_count as usize);
                chunks.for_each(|distance| *distance = FAR);
            }
        }
        // Replaced chunks do not count, so that an updated index answers like a new one.
        let bound = match self.index.live_chunks > MAX_COMPARED {
            true => distance_bound(&distances),
            false => FAR - 1,
        };
        let mut parts = self.index.parts.iter().peekable();
        let near = distances.iter().enumerate().filter(|(_, distance)| **distance <= bound);
        let similarities = near.filter_map(|(chunk, _)| {
            while parts
                .peek()
                .is_some_and(|part| part.first_chunk + part.segment.chunks <= chunk)
            {
                parts.next();
            }
            let part = parts.peek()?;
            Some((chunk, self.similarity_of(part, chunk - part.first_chunk)))
        });
        top(similarities, TOP_CHUNKS, |chunk| self.index.chunk_key(chunk))
    }

    /// The most promising files, as segment and file.
    pub(super) fn candidates(&self, most: usize) -> Vec<(usize, usize)> {
        let mut scores: HashMap<(usize, usize), f32> = HashMap::new();
        for order in [&self.bm25_order, &self.similarity_order] {
            let mut rank = 0;
            let mut last = HashMap::new();
            for (chunk, _) in order {
                let (nth, part) = self.index.part_of_chunk(*chunk);
                let file = (nth, part.segment.chunk(chunk - part.first_chunk).file as usize);
                last.entry(file).or_insert_with(|| {
                    rank += 1;
                    *scores.entry(file).or_default() += reciprocal(rank);
                });
            }
        }
        let found = self.found_files.iter().map(|file| (*file, self.file_bm25[*file]));
        let files = top(found, most, |file| {
            let (nth, file) = self.index.part_of_file(file);
            self.index.parts[nth].segment.file(file).path_hash
        });
        for (rank, (file, _)) in files.into_iter().enumerate() {
            let file = self.index.part_of_file(file);
            *scores.entry(file).or_default() += reciprocal(rank as u32 + 1);
        }
        let mut files: Vec<((usize, usize), f32)> = scores.into_iter().collect();
        let key = |(nth, file): (usize, usize)| self.index.parts[nth].segment.file(file).path_hash;
        files.sort_by(|(one, a), (other, b)| b.total_cmp(a).then_with(|| key(*one).cmp(&key(*other))));
        files.truncate(most);
        files.into_iter().map(|(file, _)| file).collect()
    }

    /// The features of a file that do not depend on other candidates.
    pub(super) fn file(
        &self,
        (nth, file): (usize, usize),
        query: Option<&CompactEmbedding>,
        memory: &mut QueryMemory,
    ) -> FileEvidence {
        let part = &self.index.parts[nth];
        let record = part.segment.file(file);
        let path = part.segment.path(&record).to_owned();
        let mut features = [0.0; FEATURE_COUNT];
        let mut put = |feature: Feature, value: f32| set(&mut features, feature, value);
        let total: f32 = self.rarity.iter().sum::<f32>().max(f32::EPSILON);
        put(Feature::QueryWords, self.query.words as f32);
        put(Feature::QueryIsSymbol, f32::from(u8::from(self.query.is_symbol)));
        put(
            Feature::QueryIdentifiers,
            self.query.terms.iter().filter(|term| term.is_identifier).count() as f32,
        );
        put(Feature::QueryIsQuestion, f32::from(u8::from(self.query.is_question)));
        let local = record.first_chunk as usize
            ..(record.first_chunk as usize + record.chunk_count as usize).min(part.segment.chunks);
        let similarities: Vec<f32> = local
            .clone()
            .take(MAX_FILE_CHUNKS)
            .map(|chunk| self.similarity_of(part, chunk))
            .collect();
        let mut best = similarities.clone();
        best.sort_unstable_by(|a, b| b.total_cmp(a));
        put(Feature::Similarity, best.first().copied().unwrap_or(0.0));
        put(Feature::SimilarityThree, best_three(&best));
        put(
            Feature::SimilarityMean,
            best.iter().sum::<f32>() / best.len().max(1) as f32,
        );
        let bm25 = |chunk: usize| self.bm25[part.first_chunk + chunk];
        let mut scores: Vec<f32> = local.clone().map(bm25).collect();
        scores.sort_unstable_by(|a, b| b.total_cmp(a));
        put(Feature::Bm25, scores.first().copied().unwrap_or(0.0));
        put(Feature::Bm25Three, best_three(&scores));
        put(Feature::FileBm25, self.file_bm25[part.first_file + file]);
        let weight = |bits: u32| -> f32 {
            let present = self
                .rarity
                .iter()
                .enumerate()
                .filter(|(nth, _)| bits & 1 << (nth & 31) != 0);
            present.map(|(_, rarity)| rarity).sum::<f32>() / total
        };
        let found = |chunk: usize| self.found[part.first_chunk + chunk];
        let all = local.clone().map(found).fold(0, |all, bits| all | bits);
        put(Feature::Coverage, weight(all));
        put(
            Feature::ChunkCoverage,
            local.clone().map(|chunk| weight(found(chunk))).fold(0.0, f32::max),
        );
        let (stem, folders) = part.segment.path_terms(&record);
        let bits = |terms: &[Term]| {
            let present = self
                .query
                .terms
                .iter()
                .enumerate()
                .filter(|(_, known)| terms.contains(&known.term));
            present.fold(0_u32, |bits, (nth, _)| bits | 1 << (nth & 31))
        };
        let (in_stem, in_folders) = (bits(&stem), bits(&folders));
        let matched = |terms: &[Term]| {
            terms
                .iter()
                .filter(|term| self.query.terms.iter().any(|known| known.term == **term))
                .count()
        };
        put(Feature::StemCoverage, weight(in_stem));
        put(Feature::StemMatched, matched(&stem) as f32 / stem.len().max(1) as f32);
        let (name, check, _) = name_terms(file_stem(&path));
        let exact = self
            .query
            .terms
            .iter()
            .any(|term| term.term == name && term.check == check);
        put(Feature::StemExact, f32::from(u8::from(exact)));
        put(Feature::FolderCoverage, weight(in_folders));
        put(Feature::PathCoverage, weight(in_stem | in_folders));
        let names = self.names(part, local.clone());
        put(Feature::NameCoverage, weight(names.bits));
        put(Feature::NameBest, names.best / total);
        put(Feature::IdentifierDefined, weight(names.identifiers));
        put(Feature::TypeDefined, weight(names.types));
        put(Feature::IdentifierTypeDefined, weight(names.identifier_types));
        put(
            Feature::HeadCoverage,
            local.clone().next().map_or(0.0, |chunk| weight(found(chunk))),
        );
        let references = memory.references(name, || self.references(name));
        put(Feature::StemReferences, (1.0 + references as f32).ln());
        put(Feature::Definitions, (1.0 + names.count as f32).ln());
        let identifiers = self
            .query
            .terms
            .iter()
            .enumerate()
            .filter(|(_, term)| term.is_identifier);
        let identifiers = identifiers.fold(0_u32, |bits, (nth, _)| bits | 1 << (nth & 31));
        put(Feature::IdentifierUsed, weight(all & identifiers));
        let places = part.first_chunk + local.start..part.first_chunk + local.end;
        let among = |ranks: &ChunkRanks| {
            let near = ranks.within(&places).iter().filter(|(_, rank)| *rank <= 20);
            near.count() as f32
        };
        put(Feature::TopChunks, among(&self.bm25_ranks));
        put(Feature::TopSimilarChunks, among(&self.similarity_ranks));
        if let Some(query) = query {
            let (signs, magnitudes) = part.segment.summary(file);
            put(
                Feature::SummarySimilarity,
                self.products
                    .map_or(0.0, |products| products.product(signs, magnitudes)),
            );
            let vectors = memory.path_vectors(record.path_hash, &path);
            put(Feature::PathSimilarity, vectors.path.similarity(query));
            put(Feature::StemSimilarity, vectors.stem.similarity(query));
        }
        for (feature, class) in [
            (Feature::Test, FileClass::TEST),
            (Feature::Example, FileClass::EXAMPLE),
            (Feature::Generated, FileClass::GENERATED),
            (Feature::Vendored, FileClass::VENDORED),
            (Feature::Prose, FileClass::PROSE),
            (Feature::Data, FileClass::DATA),
            (Feature::Entry, FileClass::ENTRY),
            (Feature::Legacy, FileClass::LEGACY),
        ] {
            put(feature, f32::from(u8::from(record.class.is(class))));
        }
        put(Feature::Chunks, (1.0 + record.chunk_count as f32).ln());
        put(Feature::Depth, path.matches('/').count() as f32);
        put(Feature::FilesInIndex, (1.0 + self.index.live_files as f32).ln());
        let chunks = self.order_chunks(part, local, &names.defined, [&similarities, &best, &scores]);
        FileEvidence {
            part: nth,
            path,
            record,
            features,
            chunks,
            defined: names.defined,
        }
    }

    /// The chunks of a file by relevance: words and meaning relative to the best chunk of the file.
    fn order_chunks(
        &self,
        part: &IndexPart,
        local: std::ops::Range<usize>,
        defined: &[bool],
        [similarities, best, scores]: [&[f32]; 3],
    ) -> Vec<usize> {
        let most = |sorted: &[f32]| sorted.first().copied().unwrap_or(0.0).max(f32::EPSILON);
        let (top_similarity, top_score) = (most(best), most(scores));
        let mut chunks: Vec<(f32, usize)> = local
            .clone()
            .map(|chunk| {
                let nth = chunk - local.start;
                let similarity = similarities.get(nth).copied().unwrap_or(0.0);
                let defined = f32::from(u8::from(defined.get(nth).copied().unwrap_or(false)));
                let score = self.bm25[part.first_chunk + chunk] / top_score + similarity / top_similarity + defined;
                (score, chunk)
            })
            .collect();
        chunks.sort_unstable_by(|(a, one), (b, other)| b.total_cmp(a).then_with(|| one.cmp(other)));
        chunks.into_iter().map(|(_, chunk)| chunk).collect()
    }

    fn similarity_of(&self, part: &IndexPart, chunk: usize) -> f32 {
        let Some(products) = self.products else { return 0.0 };
        match part.segment.chunk(chunk).length {
            0 => 0.0,
            _ => products
                .product(part.segment.signs(chunk), part.segment.magnitudes(chunk))
                .max(0.001),
        }
    }

    /// The number of chunks that contain a term.
    fn references(&self, term: Term) -> usize {
        let mut count = 0;
        for part in &self.index.parts {
            match part.has_stale() {
                false => count += part.segment.posting_count(term),
                true => part.segment.postings(term, |chunk, _| {
                    count += usize::from(part.is_live(part.segment.chunk(chunk).file as usize));
                }),
            }
        }
        count
    }

    /// How the definitions of a file match the query.
    fn names(&self, part: &IndexPart, chunks: std::ops::Range<usize>) -> NameMatches {
        let mut matches = NameMatches::default();
        let terms = &self.query.terms;
        for chunk in chunks {
            let mut defined = false;
            part.segment.names(&part.segment.chunk(chunk), |name, parts| {
                matches.count += 1;
                let (mut bits, mut matched, mut count) = (0_u32, 0_usize, 0_usize);
                for part in parts {
                    count += 1;
                    if !self.marks.contains(part) {
                        continue;
                    }
                    if let Some(nth) = terms.iter().position(|term| term.term as u16 == part) {
                        bits |= 1 << (nth & 31);
                        matched += 1;
                    }
                }
                // Types come first among the kinds; an implementation defines no name.
                let is_type = name.kind <= SymbolKind::Type as u8 && name.kind != SymbolKind::Impl as u8;
                let named = if self.marks.contains(name.name as u16) {
                    &terms[..]
                } else {
                    &[]
                };
                for (nth, term) in named.iter().enumerate().filter(|(_, term)| term.names(name)) {
                    let bit = 1 << (nth & 31);
                    bits |= bit;
                    defined |= term.is_identifier;
                    matches.identifiers |= if term.is_identifier { bit } else { 0 };
                    matches.types |= if is_type { bit } else { 0 };
                    matches.identifier_types |= if is_type && term.is_identifier { bit } else { 0 };
                }
                if bits == 0 {
                    return;
                }
                matches.bits |= bits;
                let rarity: f32 = self
                    .rarity
                    .iter()
                    .enumerate()
                    .filter(|(nth, _)| bits & 1 << (nth & 31) != 0)
                    .map(|(_, rarity)| rarity)
                    .sum();
                matches.best = matches.best.max(rarity * matched as f32 / count.max(1) as f32);
            });
            matches.defined.push(defined);
        }
        matches
    }

    /// The result for a file.
    pub(super) fn hit(&self, score: f32, file: FileEvidence, more: usize) -> FileHit {
        let segment = &self.index.parts[file.part].segment;
        let chunks = file.chunks.iter().take(1 + more).map(|chunk| {
            let record = segment.chunk(*chunk);
            let first = record.first as usize;
            ChunkHit {
                first,
                last: first + usize::from(record.lines),
                label: segment.label(&record).to_owned(),
            }
        });
        let value = |feature: Feature| file.features[feature as usize];
        let mut reasons = Vec::new();
        let mut add = |reason: MatchReason, applies: bool| {
            if applies {
                reasons.push(reason);
            }
        };
        add(MatchReason::Defines, value(Feature::IdentifierDefined) > 0.0);
        add(MatchReason::FileName, value(Feature::StemMatched) >= 0.5);
        add(MatchReason::SymbolName, value(Feature::NameBest) >= 0.3);
        add(
            MatchReason::Words,
            value(Feature::ChunkCoverage) >= 0.5 || value(Feature::Bm25Relative) >= 0.7,
        );
        add(MatchReason::Meaning, value(Feature::SimilarityThreeRelative) >= 0.85);
        let stamp = self.index.stamp_of(&file.record);
        FileHit {
            stamp,
            class: file.record.class,
            score,
            chunks: chunks.collect(),
            reasons,
            features: file.features.to_vec(),
            path: file.path,
        }
    }

    /// The best fused score of a file's chunks, with and without vectors.
    fn fused(&self, file: &FileEvidence) -> (f32, f32) {
        let part = &self.index.parts[file.part];
        let weight = if self.query.is_symbol { 0.3 } else { 0.5 };
        let first = part.first_chunk + file.record.first_chunk as usize;
        let places = first..first + file.chunks.len();
        let mut best = (0.0_f32, 0.0_f32);
        // Chunks without a rank score 0.
        let ranked = [&self.bm25_ranks, &self.similarity_ranks].map(|ranks| ranks.within(&places));
        for (place, _) in ranked.into_iter().flatten() {
            let lexical = reciprocal(self.bm25_ranks.of_chunk(*place));
            let semantic = reciprocal(self.similarity_ranks.of_chunk(*place));
            let boost = match file.defined.get(place - first) {
                Some(true) => 3.0,
                Some(false) | None => 1.0,
            };
            best.0 = best.0.max(boost * lexical);
            best.1 = best.1.max(boost * ((1.0 - weight) * lexical + weight * semantic));
        }
        best
    }
}

/// Computes the features that compare a file with the other candidates.
pub(super) fn complete(files: &mut [(f32, FileEvidence)], evidence: &Evidence<'_>) {
    for (_, file) in files.iter_mut() {
        let (lexical, semantic) = evidence.fused(file);
        let value = |feature: Feature| file.features[feature as usize];
        let penalty = [
            (Feature::Test, 0.3),
            (Feature::Example, 0.3),
            (Feature::Legacy, 0.3),
            (Feature::Entry, 0.5),
        ];
        let penalty: f32 = penalty
            .iter()
            .map(|(feature, factor)| if value(*feature) > 0.0 { *factor } else { 1.0 })
            .product();
        let boost =
            (1.0 + value(Feature::StemMatched)) * (1.0 + 0.2 * (value(Feature::TopChunks) - 1.0).clamp(0.0, 3.0));
        set(&mut file.features, Feature::Fused, lexical);
        set(&mut file.features, Feature::FusedSemantic, semantic);
        set(
            &mut file.features,
            Feature::FixedLexical,
            60.0 * lexical * boost * penalty,
        );
        set(&mut file.features, Feature::Fixed, 60.0 * semantic * boost * penalty);
    }
    for (from, to) in [
        (Feature::Similarity, Feature::SimilarityRelative),
        (Feature::SimilarityThree, Feature::SimilarityThreeRelative),
        (Feature::SummarySimilarity, Feature::SummaryRelative),
        (Feature::PathSimilarity, Feature::PathRelative),
        (Feature::StemSimilarity, Feature::StemRelative),
        (Feature::Bm25, Feature::Bm25Relative),
        (Feature::Bm25Three, Feature::Bm25ThreeRelative),
        (Feature::FileBm25, Feature::FileBm25Relative),
        (Feature::NameBest, Feature::NameBestRelative),
        (Feature::Fixed, Feature::FixedRelative),
    ] {
        let most = files
            .iter()
            .map(|(_, file)| file.features[from as usize])
            .fold(0.0, f32::max);
        if most > 0.0 {
            files
                .iter_mut()
                .for_each(|(_, file)| file.features[to as usize] = file.features[from as usize] / most);
        }
    }
    for (from, to) in [
        (Feature::SimilarityThree, Feature::SimilarityRank),
        (Feature::Bm25, Feature::Bm25Rank),
        (Feature::FileBm25, Feature::FileBm25Rank),
    ] {
        let mut order: Vec<usize> = (0..files.len()).collect();
        order.sort_by(|a, b| {
            let value = |nth: &usize| files[*nth].1.features[from as usize];
            value(b)
                .total_cmp(&value(a))
                .then_with(|| files[*a].1.path.cmp(&files[*b].1.path))
        });
        for (rank, nth) in order.into_iter().enumerate() {
            files[nth].1.features[to as usize] = (1.0 + rank as f32).ln();
        }
    }
    let extension = |path: &str| {
        path.rsplit('/')
            .next()
            .and_then(|name| name.rsplit_once('.'))
            .map_or("", |(_, end)| end)
            .to_owned()
    };
    let mut counts: HashMap<String, usize> = HashMap::new();
    for (_, file) in files.iter() {
        *counts.entry(extension(&file.path)).or_default() += 1;
    }
    let total = files.len().max(1) as f32;
    for (_, file) in files.iter_mut() {
        let same = counts.get(&extension(&file.path)).copied().unwrap_or(0);
        set(&mut file.features, Feature::ExtensionShare, same as f32 / total);
    }
}

#[derive(Default)]
struct NameMatches {
    /// Terms of the query that are words of a name.
    bits: u32,
    /// Identifiers of the query that are defined.
    identifiers: u32,
    /// Terms of the query that are the name of a type.
    types: u32,
    /// Identifiers of the query that are the name of a type.
    identifier_types: u32,
    /// The rarity of the matched words of the best name, times its matched share.
    best: f32,
    count: usize,
    /// Whether each chunk defines an identifier of the query.
    defined: Vec<bool>,
}

/// The distance within which about twice the wanted number of chunks lie.
fn distance_bound(distances: &[u8]) -> u8 {
    let mut histogram = [0_usize; 256];
    for distance in distances {
        histogram[usize::from(*distance)] += 1;
    }
    let mut seen = 0;
    let near = (0..FAR).find(|distance| {
        seen += histogram[usize::from(*distance)];
        seen >= 2 * TOP_CHUNKS
    });
    near.unwrap_or(FAR - 1)
}

fn best_three(sorted: &[f32]) -> f32 {
    sorted.iter().take(3).sum::<f32>() / 3.0
}

fn rarity(with: usize, total: f32) -> f32 {
    let with = with as f32;
    (1.0 + (total - with + 0.5).max(0.0) / (with + 0.5)).ln()
}
