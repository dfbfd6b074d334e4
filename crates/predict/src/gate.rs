//! Decides when a prediction is requested: debouncing by the user's typing rhythm, a cache, and a daily budget.

use std::collections::VecDeque;

use crate::Prediction;

/// The bounds of the delay after a key press, in milliseconds.
const MIN_DELAY: u64 = 40;
const MAX_DELAY: u64 = 300;
/// A longer gap is a pause, not part of the rhythm.
const MAX_GAP: u64 = 1_500;
/// The maximum number of cached predictions.
const CACHE_SIZE: usize = 64;

/// The user's typing speed.
#[derive(Debug, Clone, PartialEq)]
pub struct TypingRhythm {
    last_ms: Option<u64>,
    /// The moving average of the gaps between edits in milliseconds.
    gap: f64,
}

impl Default for TypingRhythm {
    fn default() -> Self {
        TypingRhythm {
            last_ms: None,
            gap: 120.0,
        }
    }
}

impl TypingRhythm {
    /// Records an edit at a time in milliseconds.
    pub fn observe(&mut self, now_ms: u64) {
        if let Some(last) = self.last_ms {
            let gap = now_ms.saturating_sub(last);
            if gap < MAX_GAP {
                self.gap = self.gap * 0.8 + gap as f64 * 0.2;
            }
        }
        self.last_ms = Some(now_ms);
    }

    /// How long to wait after the last edit: somewhat longer than the user's usual gap.
    pub fn delay_ms(&self) -> u64 {
        ((self.gap * 1.3) as u64).clamp(MIN_DELAY, MAX_DELAY)
    }
}

/// The requests that may be sent on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DailyBudget {
    limit: Option<u32>,
    /// The day as a number, and the requests that it had.
    day: u64,
    used: u32,
}

impl DailyBudget {
    /// A budget, of which `used` requests were sent on `day`. Without a limit, every request is allowed.
    pub fn new(limit: Option<u32>, day: u64, used: u32) -> Self {
        DailyBudget { limit, day, used }
    }

    /// The day and the number of its requests, to be stored.
    pub fn usage(&self) -> (u64, u32) {
        (self.day, self.used)
    }

    fn is_spent(&self, day: u64) -> bool {
        self.limit
            .is_some_and(|limit| limit == 0 || day == self.day && self.used >= limit)
    }

    fn take(&mut self, day: u64) -> bool {
        if self.is_spent(day) {
            return false;
        }
        if day != self.day {
            self.day = day;
            self.used = 0;
        }
        self.used = self.used.saturating_add(1);
        true
    }
}

/// What to do about a request of the editor.
#[derive(Debug, Clone, PartialEq)]
pub enum GateDecision {
    /// Answer with this prediction, or with nothing if the model predicted no edit in this context.
    Cached(Option<Prediction>),
    /// Wait for this many milliseconds, then send the request unless a newer one came.
    Send {
        /// The delay.
        delay_ms: u64,
    },
    /// Answer with nothing.
    BudgetSpent,
}

/// The state that decides about requests. At most one is in flight: the caller drops the older one.
#[derive(Debug)]
pub struct RequestGate {
    rhythm: TypingRhythm,
    budget: DailyBudget,
    /// Predictions by the hash of their prompt, oldest first.
    cache: VecDeque<(u64, Option<Prediction>)>,
}

impl RequestGate {
    /// Creates a gate with a budget.
    pub fn new(budget: DailyBudget) -> Self {
        RequestGate {
            rhythm: TypingRhythm::default(),
            budget,
            cache: VecDeque::new(),
        }
    }

    /// Records an edit of the user.
    pub fn observe_edit(&mut self, now_ms: u64) {
        self.rhythm.observe(now_ms);
    }

    /// Decides about a prompt with this hash on a day. A request that the user made explicitly is not delayed.
    pub fn decide(&self, hash: u64, explicit: bool, day: u64) -> GateDecision {
        if let Some((_, cached)) = self.cache.iter().find(|(cached, _)| *cached == hash) {
            return GateDecision::Cached(cached.clone());
        }
        if self.budget.is_spent(day) {
            return GateDecision::BudgetSpent;
        }
        let delay_ms = if explicit { 0 } else { self.rhythm.delay_ms() };
        GateDecision::Send { delay_ms }
    }

    /// Counts a request that is about to be sent on a day; `false` if the budget is spent.
    pub fn start(&mut self, day: u64) -> bool {
        self.budget.take(day)
    }

    /// Stores the result of a request.
    pub fn finish(&mut self, hash: u64, prediction: Option<Prediction>) {
        self.cache.retain(|(cached, _)| *cached != hash);
        self.cache.push_back((hash, prediction));
        if self.cache.len() > CACHE_SIZE {
            self.cache.pop_front();
        }
    }

    /// The day and the number of its requests.
    pub fn usage(&self) -> (u64, u32) {
        self.budget.usage()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_follows_the_typing_rhythm() {
        let delay = |gap: u64| {
            let mut rhythm = TypingRhythm::default();
            (0..50).for_each(|press| rhythm.observe(press * gap));
            rhythm.delay_ms()
        };
        assert_eq!((delay(10), delay(100), delay(1_000)), (MIN_DELAY, 130, MAX_DELAY));
        let mut paused = TypingRhythm::default();
        paused.observe(0);
        paused.observe(60_000);
        assert_eq!(
            paused,
            TypingRhythm {
                last_ms: Some(60_000),
                ..TypingRhythm::default()
            }
        );
    }

    #[test]
    fn a_known_context_is_answered_from_the_cache() {
        let mut gate = RequestGate::new(DailyBudget::new(None, 0, 0));
        assert!(matches!(gate.decide(1, true, 7), GateDecision::Send { delay_ms: 0 }));
        gate.finish(1, None);
        assert_eq!(gate.decide(1, false, 7), GateDecision::Cached(None));
        (2..80).for_each(|hash| gate.finish(hash, None));
        assert!(matches!(gate.decide(1, false, 7), GateDecision::Send { .. }));
    }

    #[test]
    fn a_spent_budget_is_renewed_on_the_next_day() {
        let mut gate = RequestGate::new(DailyBudget::new(Some(2), 7, 1));
        assert!(gate.start(7));
        assert!(!gate.start(7));
        assert_eq!(gate.decide(1, true, 7), GateDecision::BudgetSpent);
        assert!(matches!(gate.decide(1, true, 8), GateDecision::Send { .. }));
        assert!(gate.start(8));
        assert_eq!(gate.usage(), (8, 1));
    }
}
