//! The static embedding: a text's vector is the weighted sum of its tokens' vectors.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::search::words::{MAX_WORD, fold, words};

/// The number of components of a vector.
pub const DIMENSIONS: usize = 256;

/// One signed byte per component, row by row, then one little-endian f32 scale per row.
static TABLE: &[u8] = include_bytes!("../../data/embedding/table.i8");
static TOKENS: &str = include_str!("../../data/embedding/vocab.txt");

/// The vocabulary, indexed on first use.
static VOCABULARY: LazyLock<HashMap<&'static str, Token>> = LazyLock::new(|| {
    let tokens = TOKENS.split('\n').take(rows());
    tokens.zip(0..).collect()
});

/// A row of the table.
pub(crate) type Token = u16;

fn rows() -> usize {
    TABLE.len() / (DIMENSIONS + size_of::<f32>())
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
        tokens.sort_unstable();
        let mut sum = [0.0_f32; DIMENSIONS];
        for same in tokens.chunk_by(|a, b| a == b) {
            let Some((row, scale)) = same.first().and_then(|token| row(*token)) else {
                continue;
            };
            let weight = (same.len() as f32).sqrt() * scale;
            for (sum, component) in sum.iter_mut().zip(row) {
                *sum += weight * f32::from(*component as i8);
            }
        }
        let norm = sum.iter().map(|component| component * component).sum::<f32>().sqrt();
        if norm > 0.0 {
            sum.iter_mut().for_each(|component| *component /= norm);
        }
        Self(sum)
    }

    /// The cosine similarity.
    pub fn similarity(&self, other: &Self) -> f32 {
        self.0.iter().zip(&other.0).map(|(a, b)| a * b).sum()
    }

    /// Whether the text had no token.
    pub fn is_zero(&self) -> bool {
        self.0.iter().all(|component| *component == 0.0)
    }
}

fn row(token: Token) -> Option<(&'static [u8], f32)> {
    let start = usize::from(token) * DIMENSIONS;
    let row = TABLE.get(start..start + DIMENSIONS)?;
    let scale = rows() * DIMENSIONS + usize::from(token) * size_of::<f32>();
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
