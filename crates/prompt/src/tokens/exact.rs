//! Exact counts by OpenAI's own vocabularies, for people who ask. The tables are unpacked only then.

use super::Family;
use regex::Regex;

/// Words, numbers, signs and blanks, as GPT-4o and its successors tell them apart. What the published pattern says by looking
/// ahead is done in [`Exact::pieces`].
const O200K: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+"
);
/// The same for GPT-4.
const CL100K: &str =
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+";

/// A vocabulary that counts exactly.
#[derive(Debug)]
pub struct Exact {
    /// The bytes of all tokens, by rank.
    bytes: Vec<u8>,
    /// Where each token ends in them.
    ends: Vec<u32>,
    /// Ranks by the hash of their bytes; `EMPTY` where there is none.
    table: Vec<u32>,
    pattern: Regex,
}

const EMPTY: u32 = u32::MAX;
/// Longer pieces are counted in parts, so that a line without end costs no more than its length.
const LONGEST_PIECE: usize = 2_000;

impl Exact {
    /// Unpacks the vocabulary of a family; `None` where it is not public. Takes a moment and a few megabytes.
    pub fn load(family: Family) -> Option<Self> {
        let (packed, pattern): (&[u8], &str) = match family {
            Family::O200k => (include_bytes!("../../data/o200k_base.deflate"), O200K),
            Family::Cl100k => (include_bytes!("../../data/cl100k_base.deflate"), CL100K),
            Family::Claude | Family::Gemini | Family::Other => return None,
        };
        let blob = miniz_oxide::inflate::decompress_to_vec(packed).ok()?;
        let (count, rest) = blob.split_first_chunk::<4>()?;
        let count = u32::from_le_bytes(*count) as usize;
        let (lengths, bytes) = rest.split_at_checked(count)?;
        let mut end = 0;
        let ends: Vec<u32> = lengths
            .iter()
            .map(|length| {
                end += u32::from(*length);
                end
            })
            .collect();
        let mut exact = Exact {
            bytes: bytes.to_vec(),
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

    /// How many tokens a text has.
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

    /// The pieces that are looked up each by itself. A blank before a word goes with the word.
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

    /// How many tokens are left when neighbours have been merged, lowest rank first, as long as there are any to merge.
    fn merged(&self, piece: &[u8]) -> u64 {
        // Each entry is where a part begins and the rank of this part with the next.
        let mut parts: Vec<(usize, u32)> = (0..=piece.len()).map(|start| (start, EMPTY)).collect();
        for place in 0..parts.len().saturating_sub(2) {
            parts[place].1 = self.pair(piece, &parts, place);
        }
        while let Some((place, _)) = parts
            .iter()
            .enumerate()
            .filter(|(_, part)| part.1 != EMPTY)
            .min_by_key(|(_, part)| part.1)
        {
            parts.remove(place + 1);
            parts[place].1 = self.pair(piece, &parts, place);
            if place > 0 {
                parts[place - 1].1 = self.pair(piece, &parts, place - 1);
            }
        }
        parts.len() as u64 - 1
    }

    /// The rank of the part at this place together with the next one.
    fn pair(&self, piece: &[u8], parts: &[(usize, u32)], place: usize) -> u32 {
        let both = parts.get(place).zip(parts.get(place + 2));
        both.and_then(|((start, _), (end, _))| self.rank(&piece[*start..*end]))
            .unwrap_or(EMPTY)
    }

    fn rank(&self, bytes: &[u8]) -> Option<u32> {
        let rank = self.table[self.slot(bytes)];
        (rank != EMPTY).then_some(rank)
    }

    /// Where this token stands in the table, or would stand.
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
        let place = rank as usize;
        let start = match place.checked_sub(1) {
            Some(before) => self.ends[before],
            None => 0,
        };
        &self.bytes[start as usize..self.ends[place] as usize]
    }
}
