//! Notices when the model makes the same call over and over, with the same result.

use model::Block;
use serde_json::Value;
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

/// How many calls back are looked at.
const WINDOW: usize = 24;
/// From this many times on, the model is told.
const WARN: u32 = 3;
/// From this many times on, the turn ends.
const STOP: u32 = 6;

/// The calls of a turn, as far back as matters.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    recent: VecDeque<u64>,
}

/// What to make of a call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Fine,
    /// Tell the model.
    Warn(String),
    /// End the turn.
    Stop(u32),
}

impl Repeats {
    /// Takes note of a call and its result.
    pub(crate) fn note(&mut self, tool: &str, input: &Value, result: &[Block]) -> Verdict {
        let mut hasher = DefaultHasher::new();
        tool.hash(&mut hasher);
        input.to_string().hash(&mut hasher);
        for block in result {
            match block {
                Block::Text { text } => text.hash(&mut hasher),
                Block::Media(media) => media.data.hash(&mut hasher),
            }
        }
        let signature = hasher.finish();
        let times = 1 + self.recent.iter().filter(|earlier| **earlier == signature).count() as u32;
        self.recent.push_back(signature);
        if self.recent.len() > WINDOW {
            self.recent.pop_front();
        }
        match times {
            ..WARN => Verdict::Fine,
            WARN..STOP => Verdict::Warn(format!(
                "This exact call has now been made {times} times with the same result. Do something else; if you are stuck, say so."
            )),
            STOP.. => Verdict::Stop(times),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_same_call_with_the_same_result_is_warned_about_and_then_stopped() {
        let mut repeats = Repeats::default();
        let mut note = |path: &str, text: &str| repeats.note("read", &json!({"path": path}), &[Block::text(text)]);
        assert_eq!(note("a", "x"), Verdict::Fine);
        assert_eq!(note("a", "x"), Verdict::Fine);
        assert_eq!(note("a", "changed"), Verdict::Fine);
        assert_eq!(note("b", "x"), Verdict::Fine);
        for _ in 3..6 {
            assert!(matches!(note("a", "x"), Verdict::Warn(_)));
        }
        assert_eq!(note("a", "x"), Verdict::Stop(6));
    }
}
