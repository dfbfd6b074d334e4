//! The reasoning parameters for each generation of Claude models.

use super::content;
use model::{Effort, Info, Part, Request, Role, ToolChoice};
use serde_json::{Map, Value, json};

/// The API's minimum reasoning budget.
const MIN_BUDGET: u64 = 1_024;

/// A model's generation, parsed from its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ClaudeVersion {
    pub(super) major: u8,
    pub(super) minor: u8,
}

impl ClaudeVersion {
    /// Parses `claude-opus-4-6`, `claude-3-7-sonnet-20250219`, `us.anthropic.claude-opus-4-6-v1`, `claude-opus-4.6` …
    /// Returns `None` for other models and ids without a version.
    pub(super) fn of(id: &str) -> Option<ClaudeVersion> {
        let (_, name) = id
            .to_ascii_lowercase()
            .split_once("claude")
            .map(|(a, b)| (a.to_string(), b.to_string()))?;
        // The Mythos preview has no version number.
        if name.contains("mythos-preview") {
            return Some(ClaudeVersion { major: 5, minor: 0 });
        }
        let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
        // Eight digits are a date, not a version.
        let number = |word: &str| if word.len() <= 2 { word.parse::<u8>().ok() } else { None };
        let major = words.by_ref().find_map(number)?;
        let minor = words.next().and_then(number).unwrap_or(0);
        Some(ClaudeVersion { major, minor })
    }
}

/// How a generation accepts the reasoning effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ThinkingStyle {
    /// The model decides, guided by an effort level. Since 4.6.
    Adaptive,
    /// A token budget.
    Budget,
}

fn style(info: &Info) -> ThinkingStyle {
    match ClaudeVersion::of(&info.id) {
        Some(version) if version >= (ClaudeVersion { major: 4, minor: 6 }) => ThinkingStyle::Adaptive,
        Some(_) | None => ThinkingStyle::Budget,
    }
}

/// Adds the reasoning fields; returns whether the model will reason.
pub(super) fn apply(head: &mut Map<String, Value>, request: &Request, info: &Info, max_tokens: u64) -> bool {
    let Some(effort) = request.effort.filter(|_| info.features.reasoning) else {
        return false;
    };
    match style(info) {
        ThinkingStyle::Adaptive => {
            head.insert("output_config".into(), json!({ "effort": level(effort) }));
            if effort == Effort::None || is_forced(request) {
                return false;
            }
            // Later models omit the summary unless it is requested.
            head.insert("thinking".into(), json!({"type": "adaptive", "display": "summarized"}));
            true
        }
        ThinkingStyle::Budget => match budget(effort, max_tokens) {
            Some(budget) if !is_forced(request) && !continues_without_thinking(request) => {
                head.insert("thinking".into(), json!({"type": "enabled", "budget_tokens": budget}));
                true
            }
            Some(_) | None => false,
        },
    }
}

/// Betas required for reasoning.
pub(super) fn betas(request: &Request, info: &Info) -> Option<&'static str> {
    let requested = request.effort.is_some_and(|effort| effort != Effort::None) && info.features.reasoning;
    let version = ClaudeVersion::of(&info.id)?;
    let needs_it = version >= (ClaudeVersion { major: 4, minor: 0 }) && style(info) == ThinkingStyle::Budget;
    // Reasoning between tool calls; adaptive reasoning includes it.
    (requested && needs_it).then_some("interleaved-thinking-2025-05-14")
}

/// Anthropic has removed sampling parameters; compatible servers still accept them for models without reasoning.
pub(super) fn takes_temperature(info: &Info, thinks: bool) -> bool {
    !thinks && ClaudeVersion::of(&info.id).is_none()
}

/// Before 4.5, prompt and maximum reply together had to fit into the context window.
pub(super) fn counts_output_as_prompt(info: &Info) -> bool {
    ClaudeVersion::of(&info.id).is_some_and(|version| version < ClaudeVersion { major: 4, minor: 5 })
}

fn level(effort: Effort) -> &'static str {
    match effort {
        Effort::None | Effort::Minimal | Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::Max => "max",
    }
}

fn budget(effort: Effort, max_tokens: u64) -> Option<u64> {
    let wanted = match effort {
        Effort::None => return None,
        Effort::Minimal => MIN_BUDGET,
        Effort::Low => 4_096,
        Effort::Medium => 10_240,
        Effort::High => 24_576,
        Effort::Max => 32_768,
    };
    // The budget counts towards the reply limit and must leave room for the answer.
    let budget = wanted.min(max_tokens / 4 * 3);
    (budget >= MIN_BUDGET).then_some(budget)
}

/// A tool call cannot be forced while reasoning is enabled.
fn is_forced(request: &Request) -> bool {
    match request.tool_choice {
        ToolChoice::Auto | ToolChoice::None => false,
        ToolChoice::Required | ToolChoice::Named(_) => !request.tools.is_empty(),
    }
}

/// With a budget, a turn that waits for tool results must have started with reasoning. It has not if another vendor's
/// model, or the same one without reasoning, started it.
fn continues_without_thinking(request: &Request) -> bool {
    let is_result = |part: &Part| matches!(part, Part::ToolResult { .. });
    let last = request
        .messages
        .iter()
        .rposition(|message| message.role == Role::Assistant);
    let Some(last) = last else {
        return false;
    };
    let answered = request.messages[last..]
        .iter()
        .any(|message| message.parts.iter().any(is_result));
    let turn = request.messages[..=last]
        .iter()
        .rev()
        .take_while(|message| message.role == Role::Assistant);
    answered
        && !turn
            .last()
            .is_some_and(|message| content::begins_with_thinking(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_are_parsed_from_every_spelling() {
        let cases = [
            ("claude-opus-4-6", Some((4, 6))),
            ("claude-haiku-4-5-20251001", Some((4, 5))),
            ("claude-sonnet-4-20250514", Some((4, 0))),
            ("anthropic.claude-3-7-sonnet-20250219-v1:0", Some((3, 7))),
            ("us.anthropic.claude-opus-4-6-v1", Some((4, 6))),
            ("claude-haiku-4-5@20251001", Some((4, 5))),
            ("anthropic/claude-opus-4.7", Some((4, 7))),
            ("claude-fable-5", Some((5, 0))),
            ("claude-sonnet-5-5", Some((5, 5))),
            ("claude-mythos-preview", Some((5, 0))),
            ("glm-4-6", None),
        ];
        for (id, expected) in cases {
            assert_eq!(
                ClaudeVersion::of(id).map(|version| (version.major, version.minor)),
                expected,
                "{id}"
            );
        }
    }
}
