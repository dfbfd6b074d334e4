//! Measurements of turns, calls and edits, from which statistics and telemetry are computed.

use crate::{ItemId, SessionId, Time};
use model::CallId;
use std::collections::HashMap;
use std::path::PathBuf;

/// A finished turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnRecord {
    /// Its number in the session, from 1.
    pub number: u32,
    /// What started it.
    pub intent: TurnIntent,
    /// When it started.
    pub at: Time,
    /// Milliseconds until its end.
    pub total: u64,
    /// The mode at its end.
    pub mode: String,
    /// The model at its end, as `provider/id`.
    pub model: String,
    /// The number of requests.
    pub steps: u32,
    /// How it ended, see [`crate::TurnEnd::name`].
    pub ending: String,
}

/// What started a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnIntent {
    /// A prompt of the user.
    Prompt,
    /// The user continued an interrupted turn.
    Continue,
    /// The agent continued without a prompt.
    Autonomous,
    /// A call of the parent session.
    Subtask,
}

impl TurnIntent {
    /// All intents.
    pub const ALL: [TurnIntent; 4] = [
        TurnIntent::Prompt,
        TurnIntent::Continue,
        TurnIntent::Autonomous,
        TurnIntent::Subtask,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            TurnIntent::Prompt => "prompt",
            TurnIntent::Continue => "continue",
            TurnIntent::Autonomous => "autonomous",
            TurnIntent::Subtask => "subtask",
        }
    }
}

/// A finished tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRecord {
    /// The item of its result.
    pub item: ItemId,
    /// The call.
    pub call: CallId,
    /// The tool that ran.
    pub tool: String,
    /// The MCP server that the tool belongs to.
    pub server: Option<String>,
    /// When it started.
    pub at: Time,
    /// Milliseconds that it ran, without the time that the user took to answer.
    pub millis: u64,
    /// Milliseconds that the user took to answer.
    pub waited: u64,
    /// The model, as `provider/id`.
    pub model: String,
    /// The mode.
    pub mode: String,
    /// The number of the turn, from 1.
    pub turn: u32,
    /// How it ended.
    pub end: CallEnd,
    /// Whether the user was asked, and the answer.
    pub approval: ApprovalOutcome,
    /// The bytes of its result.
    pub output: u64,
    /// Its edits.
    pub edits: Vec<EditFact>,
    /// The number of changed files.
    pub files: u64,
    /// The lines that it added and removed.
    pub lines: LineCounts,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnd {
    /// The tool succeeded.
    Done,
    /// The tool failed, or its command did.
    Failed,
    /// The input was not valid JSON, or did not fit the schema.
    InvalidInput,
    /// There is no such tool.
    UnknownTool,
    /// The policy or a hook denied it.
    Denied,
    /// The user denied it.
    Refused,
    /// It was stopped.
    Interrupted,
}

impl CallEnd {
    /// All ends.
    pub const ALL: [CallEnd; 7] = [
        CallEnd::Done,
        CallEnd::Failed,
        CallEnd::InvalidInput,
        CallEnd::UnknownTool,
        CallEnd::Denied,
        CallEnd::Refused,
        CallEnd::Interrupted,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            CallEnd::Done => "done",
            CallEnd::Failed => "failed",
            CallEnd::InvalidInput => "invalid_input",
            CallEnd::UnknownTool => "unknown_tool",
            CallEnd::Denied => "denied",
            CallEnd::Refused => "refused",
            CallEnd::Interrupted => "interrupted",
        }
    }

    /// Whether the model wrote a call that cannot be run.
    pub fn is_invalid(self) -> bool {
        matches!(self, CallEnd::InvalidInput | CallEnd::UnknownTool)
    }
}

/// Whether the user was asked about a call, and the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ApprovalOutcome {
    /// The user was not asked.
    #[default]
    NotAsked,
    /// The user approved it.
    Approved,
    /// The user changed its input.
    Modified,
    /// The user denied it, or did not answer.
    Refused,
}

impl ApprovalOutcome {
    /// All outcomes.
    pub const ALL: [ApprovalOutcome; 4] = [
        ApprovalOutcome::NotAsked,
        ApprovalOutcome::Approved,
        ApprovalOutcome::Modified,
        ApprovalOutcome::Refused,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            ApprovalOutcome::NotAsked => "not_asked",
            ApprovalOutcome::Approved => "approved",
            ApprovalOutcome::Modified => "modified",
            ApprovalOutcome::Refused => "refused",
        }
    }
}

/// An edit of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditFact {
    /// The format in which it was written, such as `json` or `apply-patch`.
    pub format: String,
    /// How the old text was found, such as `exact`; `refused` if the edit was not applied.
    pub method: String,
}

/// Added and removed lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// Lines that only the new text has.
    pub added: u64,
    /// Lines that only the old text had.
    pub removed: u64,
}

impl LineCounts {
    /// Compares two texts as multisets of lines. A moved line counts as neither added nor removed.
    pub fn between(before: &str, after: &str) -> LineCounts {
        let counts = line_balance(before, after, |line| line);
        let sum = |values: &mut dyn Iterator<Item = i64>| values.map(i64::unsigned_abs).sum();
        LineCounts {
            added: sum(&mut counts.values().copied().filter(|count| *count > 0)),
            removed: sum(&mut counts.values().copied().filter(|count| *count < 0)),
        }
    }
}

impl std::ops::AddAssign for LineCounts {
    fn add_assign(&mut self, other: LineCounts) {
        self.added += other.added;
        self.removed += other.removed;
    }
}

/// The part of an edit that remains in a later text, from 0 to 1: added lines that are still there, and removed lines that
/// are still absent. Lines are compared without surrounding whitespace; blank lines do not count unless there are no others.
/// `None` if the edit changed nothing.
pub fn surviving_share(before: &str, after: &str, now: &str) -> Option<f64> {
    let edit = line_balance(before, after, str::trim);
    let since = line_balance(before, now, str::trim);
    let has_text = edit.iter().any(|(line, count)| *count != 0 && !line.is_empty());
    let (mut all, mut kept) = (0_i64, 0_i64);
    for (line, count) in edit.iter().filter(|(line, _)| !has_text || !line.is_empty()) {
        let later = since.get(line).copied().unwrap_or(0);
        all += count.abs();
        kept += match *count > 0 {
            true => later.clamp(0, *count),
            false => -later.clamp(*count, 0),
        };
    }
    (all > 0).then(|| kept as f64 / all as f64)
}

/// For each line, in this form, how many more of it the second text has.
fn line_balance<'a>(before: &'a str, after: &'a str, form: fn(&str) -> &str) -> HashMap<&'a str, i64> {
    let mut counts: HashMap<&str, i64> = HashMap::new();
    for line in after.lines() {
        *counts.entry(form(line)).or_default() += 1;
    }
    for line in before.lines() {
        *counts.entry(form(line)).or_default() -= 1;
    }
    counts
}

/// When the survival of an edit is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SurvivalPoint {
    /// One minute later.
    OneMinute,
    /// Five minutes later.
    FiveMinutes,
    /// Fifteen minutes later.
    FifteenMinutes,
    /// After the change was committed.
    Commit,
}

impl SurvivalPoint {
    /// All points.
    pub const ALL: [SurvivalPoint; 4] = [
        SurvivalPoint::OneMinute,
        SurvivalPoint::FiveMinutes,
        SurvivalPoint::FifteenMinutes,
        SurvivalPoint::Commit,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            SurvivalPoint::OneMinute => "1m",
            SurvivalPoint::FiveMinutes => "5m",
            SurvivalPoint::FifteenMinutes => "15m",
            SurvivalPoint::Commit => "commit",
        }
    }

    /// Milliseconds after the edit; `None` if the time does not decide.
    pub fn delay(self) -> Option<u64> {
        match self {
            SurvivalPoint::OneMinute => Some(60_000),
            SurvivalPoint::FiveMinutes => Some(5 * 60_000),
            SurvivalPoint::FifteenMinutes => Some(15 * 60_000),
            SurvivalPoint::Commit => None,
        }
    }
}

/// How much of an edit of a file remained.
#[derive(Debug, Clone, PartialEq)]
pub struct SurvivalRecord {
    /// The session.
    pub session: SessionId,
    /// The item of the edit.
    pub item: ItemId,
    /// The file, relative to the project if inside it.
    pub path: PathBuf,
    /// The point.
    pub point: SurvivalPoint,
    /// When it was measured, which may be later: measuring requires a running hew.
    pub at: Time,
    /// The share that remained, from 0 to 1.
    pub share: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_and_removed_lines_are_counted() {
        let counts = |before, after| {
            let LineCounts { added, removed } = LineCounts::between(before, after);
            (added, removed)
        };
        assert_eq!(counts("", "a\nb\n"), (2, 0));
        assert_eq!(counts("a\nb\nc\n", "a\nx\nc\n"), (1, 1));
        assert_eq!(counts("a\nb\n", "b\na\n"), (0, 0));
        assert_eq!(counts("a\na\na\n", "a\n"), (0, 2));
    }

    #[test]
    fn survival_is_the_share_of_the_edit_that_remains() {
        let share = |before, after, now| surviving_share(before, after, now);
        assert_eq!(share("", "a\nb\nc\nd\n", "a\nb\nd\n"), Some(0.75));
        assert_eq!(share("old\n", "new\n", "old\n"), Some(0.0), "reverted");
        assert_eq!(share("old\n", "new\n", "new\nmore\n"), Some(1.0), "extended");
        assert_eq!(share("old\n", "new\n", "  new\n"), Some(1.0), "reindented");
        assert_eq!(
            share("old\n", "new\n", ""),
            Some(0.5),
            "the removed line counts as surviving"
        );
        assert_eq!(share("a\n", "", "a\n"), Some(0.0), "a deleted file was restored");
        assert_eq!(share("a\n", "a\n", "b\n"), None);
        assert_eq!(share("a\nb\n", "a\n\nb\n", "a\nb\n"), Some(0.0), "only a blank line");
    }
}
