//! The speed and chunk size of a streamed reply.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The speed and chunk size of a streamed reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pace {
    /// Bytes in a delta, at least one character.
    pub delta_bytes: usize,
    /// Milliseconds before each delta.
    pub delay_ms: u64,
    /// Milliseconds before the reply starts.
    pub first_ms: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            delta_bytes: 24,
            delay_ms: 0,
            first_ms: 0,
        }
    }
}

impl Pace {
    /// Deltas of this many bytes, without delay.
    pub fn with_delta_bytes(delta_bytes: usize) -> Self {
        Self {
            delta_bytes,
            ..Self::default()
        }
    }

    /// Deltas with a delay that a user can observe.
    pub fn with_delay(delta_bytes: usize, delay: Duration) -> Self {
        Self {
            delta_bytes,
            delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            ..Self::default()
        }
    }

    /// Splits text into deltas at character boundaries.
    pub(crate) fn split<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let mut pieces = Vec::with_capacity(text.len() / self.delta_bytes.max(1) + 1);
        let mut rest = text;
        while !rest.is_empty() {
            let mut end = self.delta_bytes.clamp(1, rest.len());
            while !rest.is_char_boundary(end) {
                end += 1;
            }
            let (piece, tail) = rest.split_at(end);
            pieces.push(piece);
            rest = tail;
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deltas_split_between_characters_and_lose_nothing() {
        for size in [0, 1, 2, 3, 5, 100] {
            let text = "Ünïcödé → 名前 and 🦀.";
            assert_eq!(Pace::with_delta_bytes(size).split(text).concat(), text);
        }
        assert_eq!(Pace::with_delta_bytes(4).split("abcdefgh"), ["abcd", "efgh"]);
    }
}
