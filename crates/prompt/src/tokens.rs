//! How many tokens a text has, by the family of the model that reads it.
//!
//! Requests are counted by an estimator that was fitted to the real tokenizers ([`Family::estimate`]): it needs no tables and
//! reads a text once. Exact counts, for OpenAI's families, are for people who ask ([`Exact`]): the tables take megabytes and
//! a moment to unpack, which no request should wait for. Where a budget decides it does not need them: the provider has
//! counted everything up to its last reply, only what came since is estimated, and that is corrected by how far earlier
//! estimates were off ([`Rate`]).

mod exact;
mod measure;
mod media;

pub use exact::Exact;
pub use measure::{message_tokens, tool_tokens};

use model::Info;

/// Models whose tokenizers count alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Family {
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

/// Beginnings of model ids, the first that fits counts.
const FAMILIES: &[(&str, Family)] = &[
    ("gpt-4o", Family::O200k),
    ("gpt-4.", Family::O200k),
    ("gpt-4", Family::Cl100k),
    ("gpt-3.5", Family::Cl100k),
    ("gpt-35", Family::Cl100k),
    ("gpt", Family::O200k),
    ("chatgpt", Family::O200k),
    ("codex", Family::O200k),
    ("o1", Family::O200k),
    ("o3", Family::O200k),
    ("o4", Family::O200k),
    ("claude", Family::Claude),
    ("gemini", Family::Gemini),
    ("gemma", Family::Gemini),
];

/// What each feature of a text costs, in thousandths of a token: words, letters beyond the fifth and beyond the twelfth of a
/// word, groups of three digits, runs of punctuation, further signs in them, breaks and indentations, letters with marks,
/// letters of other alphabets, characters of East Asian scripts, other signs.
///
/// Fitted by least squares of the relative error to OpenAI's tokenizers on source code in five languages, prose in eleven,
/// JSON, TOML and manuals.
type Weights = [u64; 11];

const O200K: Weights = [980, 74, 1156, 1469, 641, 168, 826, 1350, 270, 779, 609];
const CL100K: Weights = [974, 85, 1452, 1480, 621, 165, 845, 2346, 449, 1133, 300];

impl Family {
    /// The family of a model.
    pub fn of(info: &Info) -> Self {
        Self::of_id(&info.id)
    }

    /// The family of a model by its id, with or without its vendor before it.
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
        Family::Other
    }

    /// What its tokenizer is called, where it is public.
    pub fn tokenizer(self) -> Option<&'static str> {
        match self {
            Family::O200k => Some("o200k_base"),
            Family::Cl100k => Some("cl100k_base"),
            Family::Claude | Family::Gemini | Family::Other => None,
        }
    }

    /// About how many tokens a text has.
    pub fn estimate(self, text: &str) -> u64 {
        let features = features(text.as_bytes());
        // The other vendors' tokenizers are not public: their factors come from replies whose length they reported.
        let (weights, percent) = match self {
            Family::O200k => (&O200K, 100),
            Family::Cl100k => (&CL100K, 100),
            Family::Claude => (&O200K, 122),
            Family::Gemini => (&O200K, 105),
            Family::Other => (&CL100K, 105),
        };
        let sum: u64 = features.iter().zip(weights).map(|(count, weight)| count * weight).sum();
        (sum * percent).div_ceil(100_000)
    }

    /// About how many bytes of usual text make so many tokens.
    pub fn bytes(self, tokens: u64) -> usize {
        let tenths = match self {
            Family::O200k | Family::Cl100k | Family::Gemini => 38,
            Family::Other => 36,
            Family::Claude => 31,
        };
        usize::try_from(tokens.saturating_mul(tenths) / 10).unwrap_or(usize::MAX)
    }
}

/// The features of a text, in the order of [`Weights`].
fn features(text: &[u8]) -> Weights {
    let mut found = Weights::default();
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

/// A word ends where the next hump of a name in camel case begins.
fn word(text: &[u8], start: usize, found: &mut Weights) -> usize {
    let (mut at, mut letters, mut marked) = (start, 0_u64, 0);
    let mut before = 0_u8;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'A'..=b'Z' if before.is_ascii_lowercase() => break,
            b'a'..=b'z' | b'A'..=b'Z' => at += 1,
            // Two bytes: Latin letters with marks.
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
    // Words without end are encoded data or rulers, whose tokens are long.
    found[2] += letters.min(40).saturating_sub(12) + letters.saturating_sub(40) / 4;
    found[7] += marked;
    at.min(text.len())
}

/// One space goes with the word after it. Line breaks and indentations are tokens.
fn space(text: &[u8], start: usize, found: &mut Weights) -> usize {
    let end = run(text, start, |byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'));
    let blank = &text[start..end];
    let line_end = blank.iter().rposition(|byte| matches!(byte, b'\r' | b'\n'));
    let indent = blank.len() - line_end.map_or(0, |place| place + 1);
    found[6] += u64::from(line_end.is_some()) + u64::from(indent > 1);
    end
}

/// A character beyond ASCII that is no Latin letter.
fn other(text: &[u8], at: usize, found: &mut Weights) -> usize {
    let (length, place) = match (text[at], text.get(at + 1)) {
        (0x80..=0xcc, _) => (2, 10),
        (0xcd..=0xdf, _) => (2, 8),
        (0xe0 | 0xe1, _) => (3, 8),
        (0xe2, Some(0x80..=0xb9)) => (3, 10),
        (0xe2..=0xed, _) => (3, 9),
        (0xef, Some(0xa4..=0xac | 0xbc..=0xbf)) => (3, 9),
        (0xee | 0xef, _) => (3, 10),
        (0xf0.., _) => (4, 10),
        // Bytes below were seen to by the caller.
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

/// How far a session's estimates are off, by what its provider reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Reported tokens for each thousand that were estimated.
    thousandths: u64,
}

/// An estimate is never taken to be off by more than this factor: a provider may count what nobody here knows of.
const FURTHEST: u64 = 2;
/// Requests shorter than this say little.
const TELLING: u64 = 200;

impl Default for Rate {
    fn default() -> Self {
        Rate { thousandths: 1000 }
    }
}

impl Rate {
    /// Takes note of what a provider reported for a request that was estimated at so many tokens. Newer reports count as much
    /// as all older ones together.
    pub fn learn(&mut self, estimated: u64, reported: u64) {
        if estimated < TELLING || reported < TELLING {
            return;
        }
        let seen = (reported.saturating_mul(1000) / estimated).clamp(1000 / FURTHEST, 1000 * FURTHEST);
        self.thousandths = (self.thousandths + seen) / 2;
    }

    /// An estimate, corrected.
    pub fn correct(self, estimated: u64) -> u64 {
        (estimated.saturating_mul(self.thousandths)).div_ceil(1000)
    }

    /// As many estimated tokens as make so many real ones.
    pub fn estimated(self, real: u64) -> u64 {
        real.saturating_mul(1000) / self.thousandths
    }
}

#[cfg(test)]
mod tests;
