//! Counters that end a turn which makes no progress.

use super::calls::{CallResults, FinishedCall};
use model::{Block, Stop, ToolOutcome};
use session::{ReplyEnd, Todo, TurnEnd};
use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use tool::ToolEffect;

/// The maximum number of consecutive empty replies.
const MAX_EMPTY_REPLIES: u32 = 2;
/// The maximum number of consecutive replies that look like a call and are none.
const MAX_CALL_ATTEMPTS: u32 = 2;
/// The maximum number of requests of a turn to name the file of some code.
const MAX_UNNAMED_CODE: u32 = 1;
/// How often a model is asked again after calls that all failed.
const MAX_FAILED_ENDINGS: u32 = 1;
/// The maximum number of consecutive replies with a call that the output limit cut off.
const MAX_CUT_CALLS: u32 = 1;
/// The maximum number of times that stop hooks can continue a turn.
const MAX_HOOK_CONTINUATIONS: u32 = 8;
/// The number of earlier calls to compare with.
const REPEAT_WINDOW: usize = 128;
/// The number of latest calls in which identical ones are counted.
const COUNT_WINDOW: usize = 24;
/// The longest cycle of calls that is detected.
const MAX_PERIOD: usize = REPEAT_WINDOW / MIN_CYCLES;
/// The minimum number of repetitions of a cycle; short cycles need more.
const MIN_CYCLES: usize = 4;
/// The number of identical calls from which on the model is warned.
const WARN_REPEATS: u32 = 3;
/// The number of identical calls at which the turn ends.
const MAX_REPEATS: u32 = 6;

/// Counters that end a turn which makes no progress.
#[derive(Debug, Default)]
pub(crate) struct LoopGuard {
    steps: u32,
    empty_replies: u32,
    call_attempts: u32,
    unnamed_code: u32,
    /// Replies without a call after calls that all failed.
    failed_endings: u32,
    failed_calls: bool,
    has_succeeded: bool,
    cut_calls: u32,
    overflows: u32,
    hook_continuations: u32,
    /// The signatures of recent calls.
    recent: VecDeque<u64>,
    /// The signatures of all calls of the turn.
    seen: HashSet<u64>,
    /// The open todos of the last reminder.
    reminded: Vec<Todo>,
}

/// The result of a step.
pub(crate) struct StepResult {
    pub(crate) end: ReplyEnd,
    pub(crate) content: ReplyContent,
    pub(crate) results: CallResults,
}

/// The content of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyContent {
    Empty,
    Text,
    /// Text that looks like a call and is none.
    CallAttempt,
    /// Code of a small model that names no file.
    UnnamedCode,
    /// Text of a small model after calls that all failed.
    FailedCalls,
    Calls,
    /// Calls, at least one of which is malformed.
    MalformedCalls,
}

/// The assessment of a call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RepeatVerdict {
    Fine,
    /// Warn the model.
    Warn(String),
    /// End the turn; the number of identical calls.
    Stop(u32),
}

impl LoopGuard {
    /// Counts a step and returns its number, from 0.
    pub(crate) fn begin_step(&mut self) -> u32 {
        self.steps += 1;
        self.steps - 1
    }

    /// The number of consecutive requests rejected as too long.
    pub(crate) fn overflows(&self) -> u32 {
        self.overflows
    }

    pub(crate) fn overflowed(&mut self) {
        self.overflows += 1;
    }

    /// The number of continuations by stop hooks so far; `None` if no further one is allowed.
    pub(crate) fn next_hook_continuation(&self) -> Option<u32> {
        (self.hook_continuations < MAX_HOOK_CONTINUATIONS).then_some(self.hook_continuations)
    }

    pub(crate) fn continued_by_hook(&mut self) {
        self.hook_continuations += 1;
    }

    /// A reminder of the open todos; `None` if there are none, or the list has not changed since the last reminder.
    pub(crate) fn todo_reminder(&mut self, todos: &[Todo]) -> Option<String> {
        let open: Vec<Todo> = todos.iter().filter(|todo| todo.status.is_open()).cloned().collect();
        if open.is_empty() || open == self.reminded {
            return None;
        }
        let lines: Vec<String> = open.iter().map(|todo| format!("- {}", todo.text)).collect();
        self.reminded = open;
        Some(format!(
            "These todos are still open. Continue with them, or mark them as completed or cancelled:\n{}",
            lines.join("\n")
        ))
    }

    /// Updates the counters after a step; the error is the end of the turn.
    pub(crate) fn observe(&mut self, step: &StepResult) -> Result<(), TurnEnd> {
        let is_cut = step.end == ReplyEnd::Finished(Stop::MaxTokens) && step.content == ReplyContent::MalformedCalls;
        self.overflows = 0;
        self.empty_replies = count_if(step.content == ReplyContent::Empty, self.empty_replies);
        self.call_attempts = count_if(step.content == ReplyContent::CallAttempt, self.call_attempts);
        self.unnamed_code += u32::from(step.content == ReplyContent::UnnamedCode);
        self.failed_endings += u32::from(step.content == ReplyContent::FailedCalls);
        // The model reads about a cut call and may try again once.
        self.cut_calls = count_if(is_cut, self.cut_calls);
        if self.cut_calls > MAX_CUT_CALLS {
            return Err(TurnEnd::MaxTokens);
        }
        if let Some((tool, times)) = &step.results.repeated {
            let (tool, times) = (tool.clone(), *times);
            return Err(TurnEnd::Loop { tool, times });
        }
        if step.results.ends_turn {
            return Err(TurnEnd::Completed);
        }
        match (&step.end, step.content) {
            (ReplyEnd::Finished(Stop::Refusal { detail }), _) => Err(TurnEnd::Refused { detail: detail.clone() }),
            (_, ReplyContent::Calls | ReplyContent::MalformedCalls) => Ok(()),
            (_, ReplyContent::CallAttempt) if self.call_attempts > MAX_CALL_ATTEMPTS => Err(TurnEnd::Failed {
                error: format!(
                    "the model wrote {} tool calls in a row that cannot be understood",
                    self.call_attempts
                ),
                hint: "select a model that is better at calling tools (`hew models`)".into(),
            }),
            (_, ReplyContent::CallAttempt) => Ok(()),
            (_, ReplyContent::UnnamedCode) if self.unnamed_code > MAX_UNNAMED_CODE && self.has_succeeded => {
                Err(TurnEnd::Completed)
            }
            (_, ReplyContent::UnnamedCode) if self.unnamed_code > MAX_UNNAMED_CODE => Err(TurnEnd::Failed {
                error: "the model wrote code without a file name again, so nothing was done".into(),
                hint: "name the file in the prompt, or select another model".into(),
            }),
            (_, ReplyContent::UnnamedCode) => Ok(()),
            (_, ReplyContent::FailedCalls) if self.failed_endings > MAX_FAILED_ENDINGS => Err(TurnEnd::Failed {
                error: "all calls of the model failed, so nothing was done".into(),
                hint: "select a model that is better at calling tools (`hew models`)".into(),
            }),
            (_, ReplyContent::FailedCalls) => Ok(()),
            (ReplyEnd::Finished(Stop::MaxTokens), _) => Err(TurnEnd::MaxTokens),
            (ReplyEnd::Cut { .. }, ReplyContent::Text) => Ok(()),
            (_, ReplyContent::Empty) if self.empty_replies > MAX_EMPTY_REPLIES => Err(TurnEnd::Failed {
                error: format!("the model returned {} empty replies in a row", self.empty_replies),
                hint: "rephrase the prompt, or select another model".into(),
            }),
            (_, ReplyContent::Empty) => Ok(()),
            (
                ReplyEnd::Finished(Stop::End | Stop::ToolUse | Stop::Other { .. }) | ReplyEnd::Interrupted,
                ReplyContent::Text,
            ) => Err(TurnEnd::Completed),
        }
    }

    /// Whether calls were made and all of them failed.
    pub(crate) fn has_only_failed_calls(&self) -> bool {
        self.failed_calls && !self.has_succeeded
    }

    /// Records a call and its result.
    ///
    /// A new successful change resets the window, so that alternating edits and checks are not a loop.
    pub(crate) fn observe_call(&mut self, call: &FinishedCall) -> RepeatVerdict {
        self.failed_calls |= call.outcome != ToolOutcome::Ok;
        self.has_succeeded |= call.outcome == ToolOutcome::Ok;
        let signature = signature(call);
        let is_new = self.seen.insert(signature);
        if is_new && call.effect == ToolEffect::Mutating && call.outcome == ToolOutcome::Ok {
            self.recent.clear();
        }
        let latest = self.recent.iter().rev().take(COUNT_WINDOW);
        let times = 1 + latest.filter(|earlier| **earlier == signature).count() as u32;
        self.recent.push_back(signature);
        if self.recent.len() > REPEAT_WINDOW {
            self.recent.pop_front();
        }
        if let Some(cycles) = self.cycles() {
            return RepeatVerdict::Stop(cycles);
        }
        match times {
            ..WARN_REPEATS => RepeatVerdict::Fine,
            WARN_REPEATS..MAX_REPEATS => RepeatVerdict::Warn(format!(
                "This exact call has now been made {times} times with the same result. Try something else; if you are stuck, say so."
            )),
            MAX_REPEATS.. => RepeatVerdict::Stop(times),
        }
    }
}

impl LoopGuard {
    /// The number of times that the latest calls repeat a cycle of any length, if they repeat it too often.
    fn cycles(&self) -> Option<u32> {
        let recent = &self.recent;
        let is_cycle = |period: usize| {
            let cycles = MIN_CYCLES.max(MAX_REPEATS as usize + 1 - period.min(MAX_REPEATS as usize));
            let calls = period * cycles;
            let repeats = |at: usize| recent[at] == recent[at - period];
            let from = recent.len().checked_sub(calls)?;
            (from + period..recent.len()).all(repeats).then_some(cycles as u32)
        };
        (2..=MAX_PERIOD).find_map(is_cycle)
    }
}

fn count_if(condition: bool, count: u32) -> u32 {
    if condition { count + 1 } else { 0 }
}

fn signature(call: &FinishedCall) -> u64 {
    let mut hasher = DefaultHasher::new();
    // The name as called, too: a model may try several names of a tool.
    (&call.called, &call.tool).hash(&mut hasher);
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
    use super::super::calls::stopped_call;
    use super::*;
    use serde_json::json;

    fn call(effect: ToolEffect, path: &str, text: &str) -> FinishedCall {
        let call = stopped_call("c".into(), "tool".into(), String::new(), text);
        FinishedCall {
            input: json!({"path": path}),
            outcome: ToolOutcome::Ok,
            effect,
            ..call
        }
    }

    fn step(end: ReplyEnd, content: ReplyContent) -> StepResult {
        StepResult {
            end,
            content,
            results: CallResults::default(),
        }
    }

    #[test]
    fn identical_calls_are_warned_about_and_then_stopped() {
        let mut guard = LoopGuard::default();
        let mut observe = |path: &str, text: &str| guard.observe_call(&call(ToolEffect::ReadOnly, path, text));
        assert_eq!(observe("a", "x"), RepeatVerdict::Fine);
        assert_eq!(observe("a", "x"), RepeatVerdict::Fine);
        assert_eq!(observe("a", "changed"), RepeatVerdict::Fine);
        assert_eq!(observe("b", "x"), RepeatVerdict::Fine);
        for _ in 3..6 {
            assert!(matches!(observe("a", "x"), RepeatVerdict::Warn(_)));
        }
        assert_eq!(observe("a", "x"), RepeatVerdict::Stop(6));
    }

    #[test]
    fn alternating_edits_and_checks_are_no_loop_but_two_alternating_calls_are() {
        let mut guard = LoopGuard::default();
        for n in 0..20 {
            let edit = call(ToolEffect::Mutating, &format!("edit {n}"), "done");
            assert_eq!(guard.observe_call(&edit), RepeatVerdict::Fine);
            let check = call(ToolEffect::Mutating, "check", "exit code 0");
            assert_eq!(guard.observe_call(&check), RepeatVerdict::Fine);
        }
        let verdicts: Vec<RepeatVerdict> = (0..12)
            .map(|n| guard.observe_call(&call(ToolEffect::Mutating, ["p", "q"][n % 2], "same")))
            .collect();
        assert!(
            matches!(verdicts.last(), Some(RepeatVerdict::Warn(_) | RepeatVerdict::Stop(_))),
            "{verdicts:?}"
        );
    }

    #[test]
    fn a_cycle_of_any_length_is_stopped() {
        for period in 2..=MAX_PERIOD {
            let mut guard = LoopGuard::default();
            let stopped = (0..1_000).find(|n| {
                let step = call(ToolEffect::Mutating, &(n % period).to_string(), "same");
                matches!(guard.observe_call(&step), RepeatVerdict::Stop(_))
            });
            let calls = stopped.map(|n| n + 1);
            assert!(calls.is_some_and(|calls| calls <= period * 6), "{period}: {calls:?}");
        }
        // Calls without a cycle, each of which occurs several times.
        let mut guard = LoopGuard::default();
        for n in 0..200_usize {
            let step = call(ToolEffect::ReadOnly, &(n * n / 7 % 53).to_string(), "same");
            let verdict = guard.observe_call(&step);
            assert!(!matches!(verdict, RepeatVerdict::Stop(_)), "{n}");
        }
    }

    #[test]
    fn replies_that_only_look_like_calls_end_the_turn_as_a_failure() {
        let mut guard = LoopGuard::default();
        let attempt = step(ReplyEnd::Finished(Stop::End), ReplyContent::CallAttempt);
        assert_eq!(guard.observe(&attempt), Ok(()));
        assert_eq!(guard.observe(&attempt), Ok(()));
        assert!(matches!(guard.observe(&attempt), Err(TurnEnd::Failed { .. })));
    }

    #[test]
    fn empty_replies_end_the_turn_only_in_a_row() {
        let mut guard = LoopGuard::default();
        let empty = step(ReplyEnd::Finished(Stop::End), ReplyContent::Empty);
        let calls = step(ReplyEnd::Finished(Stop::ToolUse), ReplyContent::Calls);
        assert_eq!(guard.observe(&empty), Ok(()));
        assert_eq!(guard.observe(&empty), Ok(()));
        assert_eq!(guard.observe(&calls), Ok(()));
        assert_eq!(guard.observe(&empty), Ok(()));
        assert_eq!(guard.observe(&empty), Ok(()));
        assert!(matches!(guard.observe(&empty), Err(TurnEnd::Failed { .. })));
    }

    #[test]
    fn a_second_call_cut_by_the_output_limit_ends_the_turn() {
        let mut guard = LoopGuard::default();
        let cut = step(ReplyEnd::Finished(Stop::MaxTokens), ReplyContent::MalformedCalls);
        assert_eq!(guard.observe(&cut), Ok(()));
        assert_eq!(guard.observe(&cut), Err(TurnEnd::MaxTokens));
    }

    #[test]
    fn a_reply_ends_the_turn_as_its_stop_reason_and_content_say() {
        let refusal = Stop::Refusal { detail: None };
        let cut = || ReplyEnd::Cut { error: "e".into() };
        let cases = [
            (
                ReplyEnd::Finished(Stop::End),
                ReplyContent::Text,
                Err(TurnEnd::Completed),
            ),
            (ReplyEnd::Finished(Stop::End), ReplyContent::Calls, Ok(())),
            (
                ReplyEnd::Finished(Stop::MaxTokens),
                ReplyContent::Text,
                Err(TurnEnd::MaxTokens),
            ),
            (
                ReplyEnd::Finished(refusal),
                ReplyContent::Text,
                Err(TurnEnd::Refused { detail: None }),
            ),
            (cut(), ReplyContent::Text, Ok(())),
            (cut(), ReplyContent::Calls, Ok(())),
        ];
        for (end, content, expected) in cases {
            assert_eq!(
                LoopGuard::default().observe(&step(end.clone(), content)),
                expected,
                "{end:?}"
            );
        }
    }

    #[test]
    fn a_tool_or_a_loop_ends_the_turn_and_a_reply_resets_the_overflows() {
        let mut guard = LoopGuard::default();
        guard.overflowed();
        let mut ended = step(ReplyEnd::Finished(Stop::ToolUse), ReplyContent::Calls);
        ended.results.ends_turn = true;
        assert_eq!(guard.observe(&ended), Err(TurnEnd::Completed));
        assert_eq!(guard.overflows(), 0);
        ended.results.repeated = Some(("grep".into(), 6));
        let tool = "grep".into();
        assert_eq!(guard.observe(&ended), Err(TurnEnd::Loop { tool, times: 6 }));
    }

    #[test]
    fn stop_hooks_continue_a_turn_a_limited_number_of_times() {
        let mut guard = LoopGuard::default();
        for n in 0..MAX_HOOK_CONTINUATIONS {
            assert_eq!(guard.next_hook_continuation(), Some(n));
            guard.continued_by_hook();
        }
        assert_eq!(guard.next_hook_continuation(), None);
    }
}
