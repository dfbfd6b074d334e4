//! How hard the model is asked to think, in the words that its generation understands.

use super::content;
use model::{Effort, Info, Part, Request, Role, ToolChoice};
use serde_json::{Map, Value, json};

/// The smallest thinking budget that the API takes.
const LEAST_BUDGET: u64 = 1_024;

/// A model's generation, as its id tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version {
    pub(super) major: u8,
    pub(super) minor: u8,
}

impl Version {
    /// Reads `claude-opus-4-6`, `claude-3-7-sonnet-20250219`, `us.anthropic.claude-opus-4-6-v1`, `claude-opus-4.6` …
    /// `None` for models that are not Claude or do not say.
    pub(super) fn of(id: &str) -> Option<Version> {
        let (_, name) = id
            .to_ascii_lowercase()
            .split_once("claude")
            .map(|(a, b)| (a.to_string(), b.to_string()))?;
        // Mythos was shown before it had a number.
        if name.contains("mythos-preview") {
            return Some(Version { major: 5, minor: 0 });
        }
        let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
        // Dates have eight digits and are no versions.
        let number = |word: &str| if word.len() <= 2 { word.parse::<u8>().ok() } else { None };
        let major = words.by_ref().find_map(number)?;
        let minor = words.next().and_then(number).unwrap_or(0);
        Some(Version { major, minor })
    }
}

/// How a generation is told to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// The model decides; an effort level guides it. Since 4.6.
    Adaptive,
    /// A budget of tokens.
    Budget,
}

fn style(info: &Info) -> Style {
    match Version::of(&info.id) {
        Some(version) if version >= (Version { major: 4, minor: 6 }) => Style::Adaptive,
        Some(_) | None => Style::Budget,
    }
}

/// Adds the thinking fields; says whether the model will think.
pub(super) fn apply(head: &mut Map<String, Value>, request: &Request, info: &Info, max_tokens: u64) -> bool {
    let Some(effort) = request.effort.filter(|_| info.features.reasoning) else {
        return false;
    };
    match style(info) {
        Style::Adaptive => {
            head.insert("output_config".into(), json!({ "effort": level(effort) }));
            if effort == Effort::None || is_forced(request) {
                return false;
            }
            // Later models leave the summary out unless it is asked for.
            head.insert("thinking".into(), json!({"type": "adaptive", "display": "summarized"}));
            true
        }
        Style::Budget => match budget(effort, max_tokens) {
            Some(budget) if !is_forced(request) && !continues_without_thinking(request) => {
                head.insert("thinking".into(), json!({"type": "enabled", "budget_tokens": budget}));
                true
            }
            Some(_) | None => false,
        },
    }
}

/// Betas that thinking needs.
pub(super) fn betas(request: &Request, info: &Info) -> Option<&'static str> {
    let asked = request.effort.is_some_and(|effort| effort != Effort::None) && info.features.reasoning;
    let version = Version::of(&info.id)?;
    let needs_it = version >= (Version { major: 4, minor: 0 }) && style(info) == Style::Budget;
    // Thinking between tool calls; adaptive thinking does so by itself.
    (asked && needs_it).then_some("interleaved-thinking-2025-05-14")
}

/// Anthropic has given up sampling parameters; imitations of the wire still take them from models that do not think.
pub(super) fn takes_temperature(info: &Info, thinks: bool) -> bool {
    !thinks && Version::of(&info.id).is_none()
}

/// Before 4.5, prompt and longest reply together had to fit the window, or the request was refused.
pub(super) fn counts_output_as_prompt(info: &Info) -> bool {
    Version::of(&info.id).is_some_and(|version| version < Version { major: 4, minor: 5 })
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
        Effort::Minimal => LEAST_BUDGET,
        Effort::Low => 4_096,
        Effort::Medium => 10_240,
        Effort::High => 24_576,
        Effort::Max => 32_768,
    };
    // The budget is part of the reply's limit, and an answer must still fit.
    let budget = wanted.min(max_tokens / 4 * 3);
    (budget >= LEAST_BUDGET).then_some(budget)
}

/// A call cannot be forced on a model that thinks.
fn is_forced(request: &Request) -> bool {
    match request.tool_choice {
        ToolChoice::Auto | ToolChoice::None => false,
        ToolChoice::Required | ToolChoice::Named(_) => !request.tools.is_empty(),
    }
}

/// With a budget, a turn that waits for tool results must have begun with thinking. It has not where another vendor's
/// model, or the same one without thinking, began it.
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
    fn generations_are_read_from_every_spelling() {
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
                Version::of(id).map(|version| (version.major, version.minor)),
                expected,
                "{id}"
            );
        }
    }
}
