//! Encodings: numbers of variable length, checked little-endian access, and vectors of two bits per component.

use crate::search::embedding::{DIMENSIONS, Embedding};

/// The bytes of a vector's signs, one bit per component.
pub(crate) const SIGN_BYTES: usize = DIMENSIONS / 8;
/// The bytes of a vector's magnitudes, one bit per component.
pub(crate) const MAGNITUDE_BYTES: usize = DIMENSIONS / 8;

/// The quantiser of a normal distribution with two magnitudes: the bound between them and their representatives.
const BOUND: f32 = 0.9816;
const LEVELS: [f32; 2] = [0.4528, 1.510];
/// The standard deviation of the components of a unit vector.
const DEVIATION: f32 = 1.0 / 16.0;

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk())
        .map_or(0, |bytes| u16::from_le_bytes(*bytes))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk())
        .map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk())
        .map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Appends seven bits per byte, lowest first; the highest bit marks continuation.
pub(crate) fn push_varint(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads a number and advances the position; the end of the bytes reads as 0.
pub(crate) fn varint(bytes: &[u8], at: &mut usize) -> u32 {
    let mut number = 0;
    let mut shift = 0;
    while let Some(byte) = bytes.get(*at) {
        *at += 1;
        number |= u32::from(byte & 0x7F).checked_shl(shift).unwrap_or(0);
        if byte & 0x80 == 0 {
            break;
        }
        shift += 7;
    }
    number
}

/// A quantised vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VectorCode {
    pub(crate) signs: [u8; SIGN_BYTES],
    pub(crate) magnitudes: [u8; MAGNITUDE_BYTES],
}

impl VectorCode {
    pub(crate) fn of(vector: &Embedding) -> Self {
        let mut code = Self {
            signs: [0; SIGN_BYTES],
            magnitudes: [0; MAGNITUDE_BYTES],
        };
        for (nth, component) in vector.0.iter().enumerate() {
            code.signs[nth / 8] |= u8::from(*component < 0.0) << (nth % 8);
            code.magnitudes[nth / 8] |= u8::from(component.abs() > BOUND * DEVIATION) << (nth % 8);
        }
        code
    }
}

/// A query prepared for fast products with quantised vectors: the contribution of each four components, for all
/// combinations of their signs and magnitudes.
pub(crate) struct ProductTable {
    fours: Vec<[f32; 256]>,
    signs: [u64; DIMENSIONS / 64],
}

impl ProductTable {
    pub(crate) fn of(query: &Embedding) -> Self {
        let fours = query.0.as_chunks::<4>().0.iter().map(|four| {
            // Sums of the low and the high pair, by the signs and magnitudes of the pair.
            let pair = |first: usize| -> [f32; 16] {
                std::array::from_fn(|code| {
                    let one = |nth: usize| {
                        let size = four[first + nth] * LEVELS[code >> (2 + nth) & 1] * DEVIATION;
                        if code >> nth & 1 == 1 { -size } else { size }
                    };
                    one(0) + one(1)
                })
            };
            let (low, high) = (pair(0), pair(2));
            std::array::from_fn(|code| {
                let (signs, magnitudes) = (code & 15, code >> 4);
                low[signs & 3 | (magnitudes & 3) << 2] + high[signs >> 2 | (magnitudes >> 2) << 2]
            })
        });
        let code = VectorCode::of(query);
        Self {
            fours: fours.collect(),
            signs: std::array::from_fn(|nth| u64_at(&code.signs, 8 * nth)),
        }
    }

    /// The cosine similarity with a quantised vector.
    pub(crate) fn product(&self, signs: &[u8], magnitudes: &[u8]) -> f32 {
        let mut sums = [0.0_f32; 2];
        for ((fours, signs), magnitudes) in self.fours.as_chunks::<2>().0.iter().zip(signs).zip(magnitudes) {
            sums[0] += fours[0][usize::from(signs & 15 | (magnitudes & 15) << 4)];
            sums[1] += fours[1][usize::from(signs >> 4 | magnitudes & 0xF0)];
        }
        sums[0] + sums[1]
    }

    /// The number of components with another sign.
    pub(crate) fn distance(&self, signs: &[u8]) -> u32 {
        let words = signs.as_chunks::<8>().0;
        words
            .iter()
            .zip(&self.signs)
            .map(|(word, sign)| (u64::from_le_bytes(*word) ^ sign).count_ones())
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_encoding() {
        let mut bytes = Vec::new();
        let numbers = [0, 1, 127, 128, 300, 70_000, u32::MAX];
        numbers.iter().for_each(|number| push_varint(&mut bytes, *number));
        let mut at = 0;
        assert_eq!(numbers.map(|_| varint(&bytes, &mut at)), numbers);
        assert_eq!(varint(&bytes, &mut at), 0);
    }

    #[test]
    fn quantised_similarities_are_close() {
        let texts = [
            "parse the cookie header",
            "fn parse_cookie(header: &str) -> Cookie",
            "open a socket and listen",
        ];
        let vectors = texts.map(Embedding::of);
        let table = ProductTable::of(&vectors[0]);
        for vector in &vectors {
            let code = VectorCode::of(vector);
            let product = table.product(&code.signs, &code.magnitudes);
            assert!((product - vectors[0].similarity(vector)).abs() < 0.25, "{product}");
        }
        assert_eq!(table.distance(&VectorCode::of(&vectors[0]).signs), 0);
    }
}
