//! The static embedding: a text's vector is the weighted sum of its tokens' vectors.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::search::words::{MAX_WORD, fold, words};

/// The number of components of a vector.
pub const DIMENSIONS: usize = 256;

/// Five bits per component, the first in the lowest bits, row by row; then one little-endian f32 scale per row.
static TABLE: &[u8] = include_bytes!("../../data/embedding/table.i5");
static TOKENS: &str = include_str!("../../data/embedding/vocab.txt");

/// The vocabulary, indexed on first use.
static VOCABULARY: LazyLock<HashMap<&'static str, Token>> = LazyLock::new(|| {
    let tokens = TOKENS.split('\n').take(rows());
    tokens.zip(0..).collect()
});

/// A row of the table.
pub(crate) type Token = u16;

const ROW_BYTES: usize = DIMENSIONS * 5 / 8;

fn rows() -> usize {
    TABLE.len() / (ROW_BYTES + size_of::<f32>())
}

/// Adds a packed row times a weight to a vector, eight components at a time.
fn add_row(sum: &mut [f32; DIMENSIONS], row: &[u8], weight: f32) {
    for (sums, &[a, b, c, d, e]) in sum.as_chunks_mut::<8>().0.iter_mut().zip(row.as_chunks::<5>().0) {
        let bits = u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]);
        for (at, sum) in sums.iter_mut().enumerate() {
            *sum += weight * ((bits >> (5 * at) & 31) as i32 as f32 - 15.5);
        }
    }
}

/// A unit vector, or zero for a text without tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding(pub [f32; DIMENSIONS]);

impl Embedding {
    /// The vector of a text.
    pub fn of(text: &str) -> Self {
        let mut tokens = Vec::new();
        for word in words(&fold(text)) {
            push_tokens(&word.text.to_ascii_lowercase(), &mut tokens);
        }
        Self::of_tokens(&mut tokens)
    }

    /// The vector of tokens, which are sorted.
    pub(crate) fn of_tokens(tokens: &mut [Token]) -> Self {
        let mut sum = [0.0_f32; DIMENSIONS];
        for (row, weight) in weighted_rows(tokens) {
            add_row(&mut sum, row, weight);
        }
        let norm = sum.iter().map(|component| component * component).sum::<f32>().sqrt();
        if norm > 0.0 {
            sum.iter_mut().for_each(|component| *component /= norm);
        }
        Self(sum)
    }

    /// The cosine similarity.
    #[cfg(test)]
    pub(crate) fn similarity(&self, other: &Self) -> f32 {
        self.0.iter().zip(&other.0).map(|(a, b)| a * b).sum()
    }

    /// Whether the text had no token.
    pub fn is_zero(&self) -> bool {
        self.0.iter().all(|component| *component == 0.0)
    }
}

/// A unit vector with components of eight bits, for vectors that are kept in memory.
#[derive(Debug, Clone)]
pub(crate) struct CompactEmbedding(Box<[i8; DIMENSIONS]>);

impl CompactEmbedding {
    /// Components of unit vectors in 256 dimensions are small; larger ones are cut off.
    const SCALE: f32 = 254.0;

    pub(crate) fn of(vector: &Embedding) -> Self {
        Self(Box::new(
            vector.0.map(|component| (component * Self::SCALE).round() as i8),
        ))
    }

    /// The cosine similarity.
    pub(crate) fn similarity(&self, other: &Self) -> f32 {
        let products = self.0.iter().zip(&*other.0);
        let sum: i32 = products.map(|(a, b)| i32::from(i16::from(*a) * i16::from(*b))).sum();
        sum as f32 / (Self::SCALE * Self::SCALE)
    }
}

/// The rows of distinct tokens with their weights.
fn weighted_rows(tokens: &mut [Token]) -> impl Iterator<Item = (&'static [u8], f32)> {
    tokens.sort_unstable();
    tokens.chunk_by(|a, b| a == b).filter_map(|same| {
        let token = *same.first()?;
        let (row, scale) = row(token)?;
        Some((row, (same.len() as f32).sqrt() * scale))
    })
}

fn row(token: Token) -> Option<(&'static [u8], f32)> {
    let start = usize::from(token) * ROW_BYTES;
    let row = TABLE.get(start..start + ROW_BYTES)?;
    let scale = rows() * ROW_BYTES + usize::from(token) * size_of::<f32>();
    let scale = TABLE.get(scale..)?.first_chunk()?;
    Some((row, f32::from_le_bytes(*scale)))
}

/// Appends the tokens of a lower-case word: the longest prefix in the vocabulary, then the longest continuations.
pub(crate) fn push_tokens(word: &str, tokens: &mut Vec<Token>) {
    if word.len() > MAX_WORD {
        return;
    }
    if let Some(token) = VOCABULARY.get(word) {
        tokens.push(*token);
        return;
    }
    let mut piece = String::with_capacity(word.len() + 2);
    let mut at = 0;
    while at < word.len() {
        let longest = (at + 1..=word.len()).rev().find_map(|end| {
            piece.clear();
            if at > 0 {
                piece.push_str("##");
            }
            piece.push_str(word.get(at..end)?);
            Some((end, *VOCABULARY.get(piece.as_str())?))
        });
        match longest {
            Some((end, token)) => {
                tokens.push(token);
                at = end;
            }
            None => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn the_published_test_vectors_are_reproduced() {
        let cases: Value = serde_json::from_str(include_str!("../../tests/embedding/test_vectors.json")).unwrap();
        for case in cases["cases"].as_array().unwrap() {
            let text = case["text"].as_str().unwrap();
            let mut tokens = Vec::new();
            for word in words(&fold(text)) {
                push_tokens(&word.text.to_ascii_lowercase(), &mut tokens);
            }
            let ids: Vec<u64> = tokens.iter().map(|token| u64::from(*token)).collect();
            let expected: Vec<u64> = case["ids"]
                .as_array()
                .unwrap()
                .iter()
                .map(|id| id.as_u64().unwrap())
                .collect();
            assert_eq!(ids, expected, "{text}");
            let vector = Embedding::of(text);
            for (component, expected) in vector.0.iter().zip(case["first8"].as_array().unwrap()) {
                assert!(
                    (f64::from(*component) - expected.as_f64().unwrap()).abs() < 2e-5,
                    "{text}"
                );
            }
        }
    }
}
