//! Exact counts with OpenAI's vocabularies. The tables are unpacked on demand.

use super::TokenizerFamily;
use lzma_rust2::LzmaReader;
use regex::Regex;
use std::io::Read as _;
use std::ops::Range;

/// Splits words, numbers, punctuation and whitespace like GPT-4o and its successors. The look-ahead of the published
/// pattern is implemented in [`ExactTokenizer::pieces`].
const O200K: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+"
);
/// The same for GPT-4.
const CL100K: &str =
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+";

/// A vocabulary for exact counting.
#[derive(Debug)]
pub struct ExactTokenizer {
    /// The bytes of all tokens, by rank.
    bytes: Vec<u8>,
    /// The end of each token in `bytes`.
    ends: Vec<u32>,
    /// Hash table of ranks; `EMPTY` marks a free slot.
    table: Vec<u32>,
    pattern: Regex,
}

const EMPTY: u32 = u32::MAX;
/// Longer pieces are counted in parts, which bounds the cost of very long lines.
const LONGEST_PIECE: usize = 2_000;

impl ExactTokenizer {
    /// Unpacks the vocabulary of a family; `None` if it is not public. Takes some time and a few megabytes.
    pub fn load(family: TokenizerFamily) -> Option<Self> {
        let pattern = match family {
            TokenizerFamily::O200k => O200K,
            TokenizerFamily::Cl100k => CL100K,
            TokenizerFamily::Claude | TokenizerFamily::Gemini | TokenizerFamily::Other => return None,
        };
        let (bytes, ends) = unpack(family)?;
        let count = ends.len();
        let mut exact = ExactTokenizer {
            bytes,
            ends,
            table: vec![EMPTY; (count * 2).next_power_of_two()],
            pattern: Regex::new(pattern).ok()?,
        };
        for rank in 0..count as u32 {
            let slot = exact.slot(exact.token(rank));
            exact.table[slot] = rank;
        }
        Some(exact)
    }

    /// Counts the tokens of a text.
    pub fn count(&self, text: &str) -> u64 {
        let mut total = 0;
        self.pieces(text, |piece| {
            total += match self.rank(piece) {
                Some(_) => 1,
                None => piece.chunks(LONGEST_PIECE).map(|part| self.merged(part)).sum(),
            };
        });
        total
    }

    /// Splits a text into pieces that are looked up separately. A space before a word belongs to the word.
    fn pieces(&self, text: &str, mut each: impl FnMut(&[u8])) {
        let mut at = 0;
        while let Some(found) = self.pattern.find_at(text, at) {
            let mut end = found.end();
            let piece = found.as_str();
            let is_blank = piece.chars().all(char::is_whitespace) && !piece.ends_with(['\r', '\n']);
            if is_blank
                && end < text.len()
                && let Some((last, _)) = piece.char_indices().next_back().filter(|(last, _)| *last > 0)
            {
                end = found.start() + last;
            }
            each(&text.as_bytes()[found.start()..end]);
            at = end;
        }
    }

    /// Number of tokens after merging neighbours, lowest rank first, until nothing can be merged.
    fn merged(&self, piece: &[u8]) -> u64 {
        // Each entry is the start of a part and the rank of this part merged with the next.
        let mut parts: Vec<(usize, u32)> = (0..=piece.len()).map(|start| (start, EMPTY)).collect();
        for index in 0..parts.len().saturating_sub(2) {
            parts[index].1 = self.pair(piece, &parts, index);
        }
        while let Some((index, _)) = parts
            .iter()
            .enumerate()
            .filter(|(_, part)| part.1 != EMPTY)
            .min_by_key(|(_, part)| part.1)
        {
            parts.remove(index + 1);
            parts[index].1 = self.pair(piece, &parts, index);
            if index > 0 {
                parts[index - 1].1 = self.pair(piece, &parts, index - 1);
            }
        }
        parts.len() as u64 - 1
    }

    /// The rank of this part merged with the next one.
    fn pair(&self, piece: &[u8], parts: &[(usize, u32)], index: usize) -> u32 {
        let both = parts.get(index).zip(parts.get(index + 2));
        both.and_then(|((start, _), (end, _))| self.rank(&piece[*start..*end]))
            .unwrap_or(EMPTY)
    }

    fn rank(&self, bytes: &[u8]) -> Option<u32> {
        let rank = self.table[self.slot(bytes)];
        (rank != EMPTY).then_some(rank)
    }

    /// The slot of a token, or the free slot for it.
    fn slot(&self, bytes: &[u8]) -> usize {
        let mask = self.table.len() - 1;
        // FNV-1a.
        let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let mut slot = (hash ^ (hash >> 29)) as usize & mask;
        while self.table[slot] != EMPTY && self.token(self.table[slot]) != bytes {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn token(&self, rank: u32) -> &[u8] {
        &self.bytes[span(&self.ends, rank as usize)]
    }
}

/// The byte range of a token.
fn span(ends: &[u32], rank: usize) -> Range<usize> {
    let start = match rank.checked_sub(1) {
        Some(before) => ends[before],
        None => 0,
    };
    start as usize..ends[rank] as usize
}

/// The bytes of all tokens of a family, and their ends. `data/README.md` describes the format.
fn unpack(family: TokenizerFamily) -> Option<(Vec<u8>, Vec<u32>)> {
    let packed = include_bytes!("../../data/vocabularies.lzma");
    let mut blob = Vec::new();
    let mut reader = LzmaReader::new_mem_limit(&packed[..], u32::MAX, None).ok()?;
    reader.read_to_end(&mut blob).ok()?;
    let (first, rest) = blob.split_first_chunk::<4>()?;
    let (second, planes) = rest.split_first_chunk::<4>()?;
    let first = u32::from_le_bytes(*first) as usize;
    let all = first + u32::from_le_bytes(*second) as usize;
    // The second vocabulary is built from the first, but not the other way round.
    let count = if family == TokenizerFamily::O200k { first } else { all };
    let plane = |plane_index: usize, token: usize| planes.get(plane_index * all + token).map(|byte| usize::from(*byte));
    let number = |plane_index: usize, token: usize| {
        Some(plane(plane_index, token)? << 16 | plane(plane_index + 1, token)? << 8 | plane(plane_index + 2, token)?)
    };
    let (mut bytes, mut ends) = (Vec::with_capacity(8 * count), Vec::with_capacity(count));
    for token in 0..count {
        for part in [Some(number(0, token)?), number(3, token)?.checked_sub(1)] {
            match part {
                None => {}
                Some(byte @ 0..256) => bytes.push(byte as u8),
                Some(part) if part - 256 < token => bytes.extend_from_within(span(&ends, part - 256)),
                Some(_) => return None,
            }
        }
        ends.push(u32::try_from(bytes.len()).ok()?);
    }
    if family == TokenizerFamily::Cl100k {
        let before = ends.get(first - 1).copied()?;
        bytes.drain(..before as usize);
        ends.drain(..first);
        ends.iter_mut().for_each(|end| *end -= before);
    }
    Some((bytes, ends))
}
