//! Notices when the model makes the same call over and over, with the same result and nothing new in between.

use crate::calls::Finished;
use model::{Block, Outcome};
use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use tool::Effect;

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
    seen: HashSet<u64>,
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
    ///
    /// A change that was not made before is progress: checks that come after it count anew, so that editing and testing in
    /// turn is not taken for a circle.
    pub(crate) fn note(&mut self, call: &Finished) -> Verdict {
        let signature = signature(call);
        let is_new = self.seen.insert(signature);
        if is_new && call.effect == Effect::Changes && call.outcome == Outcome::Ok {
            self.recent.clear();
        }
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

fn signature(call: &Finished) -> u64 {
    let mut hasher = DefaultHasher::new();
    call.tool.hash(&mut hasher);
    call.input.to_string().hash(&mut hasher);
    for block in &call.output.content {
        match block {
            Block::Text { text } => text.hash(&mut hasher),
            Block::Media(media) => media.data.hash(&mut hasher),
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::stopped;
    use serde_json::json;

    fn call(effect: Effect, path: &str, text: &str) -> Finished {
        let call = stopped("c".into(), "tool".into(), String::new(), text);
        Finished {
            input: json!({"path": path}),
            outcome: Outcome::Ok,
            effect,
            ..call
        }
    }

    #[test]
    fn the_same_call_with_the_same_result_is_warned_about_and_then_stopped() {
        let mut repeats = Repeats::default();
        let mut note = |path: &str, text: &str| repeats.note(&call(Effect::Reads, path, text));
        assert_eq!(note("a", "x"), Verdict::Fine);
        assert_eq!(note("a", "x"), Verdict::Fine);
        assert_eq!(note("a", "changed"), Verdict::Fine);
        assert_eq!(note("b", "x"), Verdict::Fine);
        for _ in 3..6 {
            assert!(matches!(note("a", "x"), Verdict::Warn(_)));
        }
        assert_eq!(note("a", "x"), Verdict::Stop(6));
    }

    #[test]
    fn editing_and_checking_in_turn_is_no_circle_but_two_calls_in_turn_are() {
        let mut repeats = Repeats::default();
        for n in 0..20 {
            assert_eq!(
                repeats.note(&call(Effect::Changes, &format!("edit {n}"), "done")),
                Verdict::Fine
            );
            assert_eq!(
                repeats.note(&call(Effect::Changes, "check", "exit code 0")),
                Verdict::Fine
            );
        }
        let verdicts: Vec<Verdict> = (0..12)
            .map(|n| repeats.note(&call(Effect::Changes, ["p", "q"][n % 2], "same")))
            .collect();
        assert!(
            matches!(verdicts.last(), Some(Verdict::Warn(_) | Verdict::Stop(_))),
            "{verdicts:?}"
        );
    }
}
