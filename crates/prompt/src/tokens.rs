//! Token counting by tokenizer family.
//!
//! Requests are counted by an estimator fitted to the real tokenizers ([`TokenizerFamily::estimate`]): it needs no
//! tables and reads a text once. Exact counts for OpenAI's families are available on demand ([`ExactTokenizer`]): the
//! tables take megabytes and time to unpack, which no request should wait for. Budgets do not need them: the provider
//! has counted everything up to its last reply, only newer content is estimated, and the estimate is corrected by
//! earlier errors ([`EstimateCorrection`]).

mod exact;
mod media;
mod overhead;

pub use exact::ExactTokenizer;
pub use overhead::{message_tokens, tool_tokens};

use model::Info;

/// Models with similar tokenizers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TokenizerFamily {
    /// OpenAI's models since GPT-4o.
    O200k,
    /// GPT-4 and GPT-3.5.
    Cl100k,
    /// Anthropic's models.
    Claude,
    /// Google's models.
    Gemini,
    /// All others.
    #[default]
    Other,
}

/// Prefixes of model ids; the first match applies.
const FAMILIES: &[(&str, TokenizerFamily)] = &[
    ("gpt-4o", TokenizerFamily::O200k),
    ("gpt-4.", TokenizerFamily::O200k),
    ("gpt-4", TokenizerFamily::Cl100k),
    ("gpt-3.5", TokenizerFamily::Cl100k),
    ("gpt-35", TokenizerFamily::Cl100k),
    ("gpt", TokenizerFamily::O200k),
    ("chatgpt", TokenizerFamily::O200k),
    ("codex", TokenizerFamily::O200k),
    ("o1", TokenizerFamily::O200k),
    ("o3", TokenizerFamily::O200k),
    ("o4", TokenizerFamily::O200k),
    ("claude", TokenizerFamily::Claude),
    ("gemini", TokenizerFamily::Gemini),
    ("gemma", TokenizerFamily::Gemini),
];

/// The cost of each feature of a text, in thousandths of a token: words, letters beyond the fifth and beyond the
/// twelfth of a word, groups of three digits, runs of punctuation, further characters in them, line breaks and
/// indentation, letters with diacritics, letters of other alphabets, East Asian characters, other characters.
///
/// Fitted by least squares of the relative error to OpenAI's tokenizers on source code in five languages, prose in
/// eleven, JSON, TOML and manuals.
type FeatureWeights = [u64; 11];

const O200K: FeatureWeights = [980, 74, 1156, 1469, 641, 168, 826, 1350, 270, 779, 609];
const CL100K: FeatureWeights = [974, 85, 1452, 1480, 621, 165, 845, 2346, 449, 1133, 300];

impl TokenizerFamily {
    /// Returns the family of a model.
    pub fn of(info: &Info) -> Self {
        Self::of_id(&info.id)
    }

    /// Returns the family of a model id, with or without a vendor prefix.
    pub fn of_id(id: &str) -> Self {
        let id = id.to_ascii_lowercase();
        let names = std::iter::successors(Some(id.as_str()), |rest| {
            let after = rest.find(['/', '.', ':', '-'])?;
            rest.get(after + 1..)
        });
        for name in names {
            if let Some((_, family)) = FAMILIES.iter().find(|(start, _)| name.starts_with(start)) {
                return *family;
            }
        }
        TokenizerFamily::Other
    }

    /// The name of its tokenizer, if public.
    pub fn tokenizer(self) -> Option<&'static str> {
        match self {
            TokenizerFamily::O200k => Some("o200k_base"),
            TokenizerFamily::Cl100k => Some("cl100k_base"),
            TokenizerFamily::Claude | TokenizerFamily::Gemini | TokenizerFamily::Other => None,
        }
    }

    /// Estimates the tokens of a text.
    pub fn estimate(self, text: &str) -> u64 {
        let features = features(text.as_bytes());
        // Other vendors' tokenizers are not public: their factors come from reported lengths of replies.
        let (weights, percent) = match self {
            TokenizerFamily::O200k => (&O200K, 100),
            TokenizerFamily::Cl100k => (&CL100K, 100),
            TokenizerFamily::Claude => (&O200K, 122),
            TokenizerFamily::Gemini => (&O200K, 105),
            TokenizerFamily::Other => (&CL100K, 105),
        };
        let sum: u64 = features.iter().zip(weights).map(|(count, weight)| count * weight).sum();
        (sum * percent).div_ceil(100_000)
    }

    /// Approximate number of bytes of ordinary text with this many tokens.
    pub fn bytes(self, tokens: u64) -> usize {
        let tenths = match self {
            TokenizerFamily::O200k | TokenizerFamily::Cl100k | TokenizerFamily::Gemini => 38,
            TokenizerFamily::Other => 36,
            TokenizerFamily::Claude => 31,
        };
        usize::try_from(tokens.saturating_mul(tenths) / 10).unwrap_or(usize::MAX)
    }
}

/// The features of a text, in the order of [`FeatureWeights`].
fn features(text: &[u8]) -> FeatureWeights {
    let mut found = FeatureWeights::default();
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        at = match byte {
            b'a'..=b'z' | b'A'..=b'Z' | 0xc3..=0xc8 => word(text, at, &mut found),
            b'0'..=b'9' => {
                let end = run(text, at, |byte| byte.is_ascii_digit());
                found[3] += (end - at).div_ceil(3) as u64;
                end
            }
            b' ' | b'\t' | b'\r' | b'\n' => space(text, at, &mut found),
            0..0x80 => {
                let end = run(text, at, is_sign);
                found[4] += 1;
                found[5] += (end - at - 1) as u64;
                end
            }
            0x80.. => other(text, at, &mut found),
        };
    }
    found
}

/// A word ends at the next hump of a camel-case name.
fn word(text: &[u8], start: usize, found: &mut FeatureWeights) -> usize {
    let (mut at, mut letters, mut marked) = (start, 0_u64, 0);
    let mut before = 0_u8;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'A'..=b'Z' if before.is_ascii_lowercase() => break,
            b'a'..=b'z' | b'A'..=b'Z' => at += 1,
            // Two bytes: Latin letters with diacritics.
            0xc3..=0xc8 => {
                at += 2;
                marked += 1;
            }
            _ => break,
        }
        before = byte;
        letters += 1;
    }
    found[0] += 1;
    found[1] += letters.min(12).saturating_sub(5);
    // Very long words are encoded data or rulers, which have long tokens.
    found[2] += letters.min(40).saturating_sub(12) + letters.saturating_sub(40) / 4;
    found[7] += marked;
    at.min(text.len())
}

/// One space belongs to the following word. Line breaks and indentation are tokens.
fn space(text: &[u8], start: usize, found: &mut FeatureWeights) -> usize {
    let end = run(text, start, |byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'));
    let blank = &text[start..end];
    let line_end = blank.iter().rposition(|byte| matches!(byte, b'\r' | b'\n'));
    let indent = blank.len() - line_end.map_or(0, |place| place + 1);
    found[6] += u64::from(line_end.is_some()) + u64::from(indent > 1);
    end
}

/// A non-ASCII character that is not a Latin letter.
fn other(text: &[u8], at: usize, found: &mut FeatureWeights) -> usize {
    let (length, place) = match (text[at], text.get(at + 1)) {
        (0x80..=0xcc, _) => (2, 10),
        (0xcd..=0xdf, _) => (2, 8),
        (0xe0 | 0xe1, _) => (3, 8),
        (0xe2, Some(0x80..=0xb9)) => (3, 10),
        (0xe2..=0xed, _) => (3, 9),
        (0xef, Some(0xa4..=0xac | 0xbc..=0xbf)) => (3, 9),
        (0xee | 0xef, _) => (3, 10),
        (0xf0.., _) => (4, 10),
        // The caller handles ASCII bytes.
        (0..0x80, _) => (1, 10),
    };
    found[place] += 1;
    (at + length).min(text.len())
}

fn is_sign(byte: u8) -> bool {
    byte < 0x80 && !byte.is_ascii_alphanumeric() && !matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn run(text: &[u8], start: usize, is_same: impl Fn(u8) -> bool) -> usize {
    let rest = &text[start..];
    start + rest.iter().position(|byte| !is_same(*byte)).unwrap_or(rest.len())
}

/// Corrects a session's estimates by the provider's reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EstimateCorrection {
    /// Reported tokens per thousand estimated ones.
    thousandths: u64,
}

/// Maximum correction factor: a provider may count content that is unknown here.
const MAX_CORRECTION: u64 = 2;
/// Shorter requests are not representative.
const MIN_SAMPLE_TOKENS: u64 = 200;

impl Default for EstimateCorrection {
    fn default() -> Self {
        EstimateCorrection { thousandths: 1000 }
    }
}

impl EstimateCorrection {
    /// Records the reported tokens of a request and their estimate. The newest report weighs as much as all older ones
    /// together.
    pub fn learn(&mut self, estimated: u64, reported: u64) {
        if estimated < MIN_SAMPLE_TOKENS || reported < MIN_SAMPLE_TOKENS {
            return;
        }
        let seen = (reported.saturating_mul(1000) / estimated).clamp(1000 / MAX_CORRECTION, 1000 * MAX_CORRECTION);
        self.thousandths = (self.thousandths + seen) / 2;
    }

    /// Corrects an estimate.
    pub fn correct(self, estimated: u64) -> u64 {
        (estimated.saturating_mul(self.thousandths)).div_ceil(1000)
    }

    /// Converts real tokens to estimated ones.
    pub fn estimated(self, real: u64) -> u64 {
        real.saturating_mul(1000) / self.thousandths
    }
}

#[cfg(test)]
mod tests;
