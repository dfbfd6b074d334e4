//! Encodings: numbers of variable length, checked little-endian access, and vectors of two bits per component.

use crate::search::embedding::{DIMENSIONS, Embedding};

/// The bytes of a vector's signs, one bit per component.
pub(crate) const SIGN_BYTES: usize = DIMENSIONS / 8;
/// The bytes of a vector's magnitudes, one bit per component.
pub(crate) const MAGNITUDE_BYTES: usize = DIMENSIONS / 8;

/// The distance of a vector that is not searched.
pub(crate) const FAR: u8 = u8::MAX;

/// The quantiser of a normal distribution with two magnitudes: the bound between them and their representatives.
const BOUND: f32 = 0.9816;
const LEVELS: [f32; 2] = [0.4528, 1.510];
/// The contribution of four components is 4 * 1.51 / 16 at most.
const PRODUCT_SCALE: f32 = 65_536.0;
/// The standard deviation of the components of a unit vector.
const DEVIATION: f32 = 1.0 / 16.0;

#[inline(always)]
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    match bytes.get(at..).and_then(<[u8]>::first_chunk) {
        Some(bytes) => u16::from_le_bytes(*bytes),
        None => 0,
    }
}

#[inline(always)]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    match bytes.get(at..).and_then(<[u8]>::first_chunk) {
        Some(bytes) => u32::from_le_bytes(*bytes),
        None => 0,
    }
}

#[inline(always)]
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..).and_then(<[u8]>::first_chunk) {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => 0,
    }
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
#[inline]
pub(crate) fn varint(bytes: &[u8], at: &mut usize) -> u32 {
    // Most numbers take one byte.
    if let Some(byte) = bytes.get(*at).filter(|byte| **byte < 0x80) {
        *at += 1;
        return u32::from(*byte);
    }
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

/// The zero bytes that must follow bits, so that [`BitReader`] can read eight bytes at once.
pub(crate) const BIT_PADDING: usize = 8;
/// Larger exponents do not fit into a read of 57 bits.
const MAX_EXPONENT: u32 = 28;

/// Appends numbers from 1 to 2^28 as Elias gamma codes: small numbers take few bits.
pub(crate) struct BitWriter<'a> {
    bytes: &'a mut Vec<u8>,
    pending: u64,
    pending_bits: u32,
}

impl<'a> BitWriter<'a> {
    pub(crate) fn new(bytes: &'a mut Vec<u8>) -> Self {
        Self {
            bytes,
            pending: 0,
            pending_bits: 0,
        }
    }

    pub(crate) fn push(&mut self, number: u32) {
        let exponent = number.max(1).ilog2();
        let fraction = u64::from(number.max(1)) - (1 << exponent);
        // Zeros, a one, and the bits after the highest one, from low to high.
        self.pending |= (1 | fraction << 1) << exponent << self.pending_bits;
        self.pending_bits += 2 * exponent + 1;
        while self.pending_bits >= 8 {
            self.bytes.push(self.pending as u8);
            self.pending >>= 8;
            self.pending_bits -= 8;
        }
    }

    /// Completes the last byte.
    pub(crate) fn finish(self) {
        if self.pending_bits > 0 {
            self.bytes.push(self.pending as u8);
        }
    }
}

/// Reads the numbers of a [`BitWriter`].
pub(crate) struct BitReader<'a> {
    bytes: &'a [u8],
    /// The position in bits.
    at: usize,
}

impl<'a> BitReader<'a> {
    /// Starts at a byte.
    pub(crate) fn new(bytes: &'a [u8], start: usize) -> Self {
        Self { bytes, at: 8 * start }
    }

    /// The next number; damaged bytes read as 1.
    #[inline]
    pub(crate) fn number(&mut self) -> u32 {
        let bits = u64_at(self.bytes, self.at >> 3) >> (self.at & 7);
        let exponent = bits.trailing_zeros();
        if exponent > MAX_EXPONENT {
            return 1;
        }
        self.at += 2 * exponent as usize + 1;
        let fraction = (bits >> exponent >> 1) as u32 & ((1 << exponent) - 1);
        1 << exponent | fraction
    }
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
/// combinations of their signs and magnitudes. Sixteen bits, so that the table fits into the processor's first cache.
pub(crate) struct ProductTable {
    fours: Vec<[i16; 256]>,
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
                let sum = low[signs & 3 | (magnitudes & 3) << 2] + high[signs >> 2 | (magnitudes >> 2) << 2];
                (sum * PRODUCT_SCALE) as i16
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
        let mut sums = [0_i32; 2];
        for ((fours, signs), magnitudes) in self.fours.as_chunks::<2>().0.iter().zip(signs).zip(magnitudes) {
            sums[0] += i32::from(fours[0][usize::from(signs & 15 | (magnitudes & 15) << 4)]);
            sums[1] += i32::from(fours[1][usize::from(signs >> 4 | magnitudes & 0xF0)]);
        }
        (sums[0] + sums[1]) as f32 / PRODUCT_SCALE
    }

    /// Appends the number of components with another sign for each of these vectors, which are signs only.
    pub(crate) fn push_distances(&self, vectors: &[u8], distances: &mut Vec<u8>) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("popcnt") {
            #[allow(unsafe_code, reason = "an instruction that older processors do not have")]
            // SAFETY: the processor has the feature.
            return unsafe { self.push_distances_popcnt(vectors, distances) };
        }
        self.push_distances_portable(vectors, distances);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "popcnt")]
    fn push_distances_popcnt(&self, vectors: &[u8], distances: &mut Vec<u8>) {
        self.push_distances_portable(vectors, distances);
    }

    /// A plain loop, because a closure would not be compiled for the instructions of its caller.
    #[inline(always)]
    fn push_distances_portable(&self, vectors: &[u8], distances: &mut Vec<u8>) {
        let vectors = vectors.as_chunks::<SIGN_BYTES>().0;
        distances.reserve(vectors.len());
        for signs in vectors {
            let mut distance = 0;
            for nth in 0..DIMENSIONS / 64 {
                distance += (u64_at(signs, 8 * nth) ^ self.signs[nth]).count_ones();
            }
            distances.push(distance.min(u32::from(FAR) - 1) as u8);
        }
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
    fn numbers_survive_encoding_as_bits() {
        let numbers: Vec<u32> = (1..300).chain([1 << 24, 70_000, (1 << 24) + 1, 1, 2]).collect();
        let mut bytes = vec![7];
        let mut bits = BitWriter::new(&mut bytes);
        numbers.iter().for_each(|number| bits.push(*number));
        bits.finish();
        bytes.extend([0; BIT_PADDING]);
        let mut bits = BitReader::new(&bytes, 1);
        assert!(numbers.iter().all(|number| bits.number() == *number));
        assert_eq!(BitReader::new(&[0; 20], 0).number(), 1);
        assert_eq!(BitReader::new(&[], 3).number(), 1);
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
        let signs = vectors.map(|vector| VectorCode::of(&vector).signs).concat();
        let (mut fast, mut portable) = (Vec::new(), Vec::new());
        table.push_distances(&signs, &mut fast);
        table.push_distances_portable(&signs, &mut portable);
        assert_eq!(fast, portable);
        assert_eq!(fast[0], 0);
        assert!(0 < fast[1] && fast[1] < fast[2]);
    }
}
