//! The order of results by a provider's embedding model, which the user configured.
//!
//! Only the best candidates of a search are embedded. Their vectors are stored by the hash of their text, so that a later
//! search sends only the query and new text.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use index::search::IndexStamp;
use providers::{EmbeddingModel, EmbeddingPurpose};
use store::{LoadedLog, SegmentLog};

use crate::CodeResult;

/// The number of candidates that are ordered.
pub(crate) const CANDIDATES: usize = 50;
/// Chunks of a candidate that are embedded.
const CHUNKS: usize = 2;
/// Only this much of a chunk is sent.
const MAX_TEXT: usize = 4_000;
/// A slower service does not delay a search further.
const TIMEOUT: Duration = Duration::from_secs(10);
/// What the similarity counts, relative to hew's own score; both range from 0 to 1 among the candidates.
const WEIGHT: f32 = 0.5;
/// A larger file of vectors is emptied.
const MAX_STORED: usize = 64 * 1024 * 1024;
/// The key, the number of components and the scale precede the components of a stored vector.
const VECTOR_HEADER: usize = 16;

/// Why results are not ordered by the model.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EmbeddingError {
    #[error(transparent)]
    Runtime(#[from] std::io::Error),
    #[error(transparent)]
    Request(#[from] model::Error),
    #[error("the request failed")]
    Crashed,
}

/// Orders results by the similarity of a provider's vectors.
#[derive(Debug)]
pub(crate) struct EmbeddingOrder {
    model: EmbeddingModel,
    log: SegmentLog,
    stored: Mutex<StoredVectors>,
}

/// The vectors of the file.
#[derive(Debug, Default)]
struct StoredVectors {
    loaded: LoadedLog,
    vectors: HashMap<u64, StoredVector>,
}

/// A vector with a byte per component.
#[derive(Debug, Clone, PartialEq)]
struct StoredVector {
    scale: f32,
    components: Box<[i8]>,
}

impl EmbeddingOrder {
    /// `log` is the file for vectors.
    pub(crate) fn new(model: EmbeddingModel, log: SegmentLog) -> Self {
        Self {
            model,
            log,
            stored: Mutex::default(),
        }
    }

    /// Sorts results by score and similarity. After an error they keep their order.
    pub(crate) fn sort(&self, query: &str, results: &mut [CodeResult]) -> Result<(), EmbeddingError> {
        let texts: Vec<Vec<String>> = results.iter().map(|result| self.texts(result)).collect();
        let all: Vec<&str> = texts.iter().flatten().map(String::as_str).collect();
        let similarities = self.similarities(query, &all)?;
        let mut similarities = similarities.into_iter();
        let best: Vec<f32> = texts
            .iter()
            .map(|texts| similarities.by_ref().take(texts.len()).fold(f32::MIN, f32::max))
            .collect();
        let scores: Vec<f32> = results.iter().map(|result| result.score).collect();
        for ((result, score), similarity) in results.iter_mut().zip(relative(&scores)).zip(relative(&best)) {
            result.score = score + WEIGHT * similarity;
        }
        results.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.path.cmp(&b.path)));
        Ok(())
    }

    fn texts(&self, result: &CodeResult) -> Vec<String> {
        let text = |chunk: &crate::ResultChunk| {
            let end = chunk.text.floor_char_boundary(MAX_TEXT);
            format!("{}\n{}", result.path, &chunk.text[..end])
        };
        result.chunks.iter().take(CHUNKS).map(text).collect()
    }

    /// The cosine similarity of each text with the query.
    fn similarities(&self, query: &str, texts: &[&str]) -> Result<Vec<f32>, EmbeddingError> {
        let query = self.embed(&[query], EmbeddingPurpose::Query)?.pop().unwrap_or_default();
        let keys: Vec<u64> = texts.iter().map(|text| self.key(text)).collect();
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        self.load(&mut stored);
        // Vectors of another length are those of an earlier model with this name.
        let mut missing: Vec<(u64, &str)> = keys
            .iter()
            .zip(texts)
            .filter(|(key, _)| {
                stored
                    .vectors
                    .get(key)
                    .is_none_or(|known| known.components.len() != query.len())
            })
            .map(|(key, text)| (*key, *text))
            .collect();
        missing.sort_unstable();
        missing.dedup();
        if !missing.is_empty() {
            let wanted: Vec<&str> = missing.iter().map(|(_, text)| *text).collect();
            let vectors = self.embed(&wanted, EmbeddingPurpose::Document)?;
            let new = missing.iter().zip(vectors);
            let new: Vec<(u64, StoredVector)> = new
                .map(|((key, _), vector)| (*key, StoredVector::of(&vector)))
                .collect();
            self.append(&mut stored, &new);
            stored.vectors.extend(new);
        }
        let similarity = |key: &u64| stored.vectors.get(key).map_or(0.0, |vector| vector.similarity(&query));
        Ok(keys.iter().map(similarity).collect())
    }

    fn key(&self, text: &str) -> u64 {
        IndexStamp::hash(format!("{}\n{text}", self.model.name()).as_bytes())
    }

    /// Sends texts on a thread of its own, because the caller may belong to an asynchronous runtime.
    fn embed(&self, texts: &[&str], purpose: EmbeddingPurpose) -> Result<Vec<Vec<f32>>, EmbeddingError> {
        let send = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            Ok(runtime?.block_on(self.model.embed(texts, purpose, TIMEOUT))?)
        };
        let sent = std::thread::scope(|scope| scope.spawn(send).join());
        sent.unwrap_or(Err(EmbeddingError::Crashed))
    }

    /// Loads the file, if another process changed it. Without one, everything is embedded.
    fn load(&self, stored: &mut StoredVectors) {
        if stored.loaded.version == self.log.version() {
            return;
        }
        let Ok(loaded) = self.log.load() else { return };
        stored.vectors.clear();
        for segment in &loaded.segments {
            let mut rest = segment.as_ref();
            while let Some((key, vector, more)) = StoredVector::parse(rest) {
                stored.vectors.insert(key, vector);
                rest = more;
            }
        }
        stored.loaded = loaded;
    }

    /// Appends vectors to the file. If that fails, a later search sends the texts again.
    fn append(&self, stored: &mut StoredVectors, new: &[(u64, StoredVector)]) {
        let mut bytes = Vec::new();
        new.iter().for_each(|(key, vector)| vector.push(*key, &mut bytes));
        let Ok(Some(mut writer)) = self.log.lock() else { return };
        let size: usize = stored
            .loaded
            .segments
            .iter()
            .map(|segment| segment.as_ref().len())
            .sum();
        if stored.loaded.version != self.log.version() {
            return;
        }
        if size + bytes.len() > MAX_STORED {
            drop(writer.replace([bytes.as_slice()].into_iter(), &mut stored.loaded));
        } else {
            drop(writer.append(&mut stored.loaded, &bytes));
        }
    }
}

impl StoredVector {
    fn of(vector: &[f32]) -> Self {
        let norm = vector.iter().map(|component| component * component).sum::<f32>().sqrt();
        let most = vector.iter().fold(0.0_f32, |most, component| most.max(component.abs()));
        let most = if most > 0.0 { most } else { 1.0 };
        let components = vector.iter().map(|component| (component / most * 127.0).round() as i8);
        Self {
            scale: most / 127.0 / norm.max(f32::MIN_POSITIVE),
            components: components.collect(),
        }
    }

    /// The cosine of the angle with a vector of any length.
    fn similarity(&self, query: &[f32]) -> f32 {
        let norm = query.iter().map(|component| component * component).sum::<f32>().sqrt();
        let pairs = self.components.iter().zip(query);
        let product: f32 = pairs.map(|(own, other)| f32::from(*own) * other).sum();
        product * self.scale / norm.max(f32::MIN_POSITIVE)
    }

    fn push(&self, key: u64, bytes: &mut Vec<u8>) {
        bytes.extend(key.to_le_bytes());
        bytes.extend((self.components.len() as u32).to_le_bytes());
        bytes.extend(self.scale.to_le_bytes());
        bytes.extend(self.components.iter().map(|component| *component as u8));
    }

    /// The first vector of some bytes, and the rest.
    fn parse(bytes: &[u8]) -> Option<(u64, Self, &[u8])> {
        let (header, rest) = bytes.split_at_checked(VECTOR_HEADER)?;
        let key = u64::from_le_bytes(*header.first_chunk()?);
        let length = u32::from_le_bytes(*header.get(8..)?.first_chunk()?);
        let scale = f32::from_le_bytes(*header.get(12..)?.first_chunk()?);
        let (components, rest) = rest.split_at_checked(length as usize)?;
        let components = components.iter().map(|component| *component as i8).collect();
        Some((key, Self { scale, components }, rest))
    }
}

/// Values from 0 for the least to 1 for the greatest.
fn relative(values: &[f32]) -> Vec<f32> {
    let least = values.iter().copied().fold(f32::INFINITY, f32::min);
    let most = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let range = (most - least).max(f32::MIN_POSITIVE);
    values.iter().map(|value| (value - least) / range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_vectors_keep_their_similarity() {
        let vectors = [[3.0, -4.0, 0.5], [0.0, 2.0, 0.1], [0.0; 3]].map(|vector| StoredVector::of(&vector));
        let mut bytes = Vec::new();
        for (key, vector) in (7..).zip(&vectors) {
            vector.push(key, &mut bytes);
        }
        bytes.push(1);
        let mut rest = bytes.as_slice();
        for (key, vector) in (7..).zip(&vectors) {
            let (found, read, more) = StoredVector::parse(rest).unwrap();
            assert_eq!((found, &read), (key, vector));
            rest = more;
        }
        assert_eq!(StoredVector::parse(rest), None);
        assert!((vectors[0].similarity(&[6.0, -8.0, 1.0]) - 1.0).abs() < 0.01);
        assert!((vectors[0].similarity(&[0.0, 1.0, 0.0]) + 0.795).abs() < 0.01);
        assert_eq!(vectors[2].similarity(&[1.0, 1.0, 1.0]), 0.0);
        assert_eq!(relative(&[2.0, 4.0, 3.0]), [0.0, 1.0, 0.5]);
        assert_eq!(relative(&[2.0]), [0.0]);
    }
}
