//! The values for the reasoning effort on each server.

use model::Effort;

/// The value for OpenAI's model with this id; `None` if the model accepts none.
pub(crate) fn openai_effort(id: &str, effort: Effort) -> Option<&'static str> {
    let id = id.rsplit('/').next().unwrap_or(id);
    if id.contains("chat") {
        return None;
    }
    let Some(version) = gpt_version(id) else {
        return Some(three_steps(effort));
    };
    let codex = id.contains("codex");
    if id.contains("-pro") {
        return Some(match effort {
            _ if version < (5, 2) => "high",
            Effort::None | Effort::Minimal | Effort::Low | Effort::Medium => "medium",
            Effort::High => "high",
            Effort::Max => "xhigh",
        });
    }
    Some(match effort {
        Effort::None | Effort::Minimal if codex => "low",
        Effort::None | Effort::Minimal if version >= (5, 1) => "none",
        Effort::None | Effort::Minimal => "minimal",
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::Max if version >= (5, 2) || id.contains("codex-max") => "xhigh",
        Effort::Max => "high",
    })
}

/// The version of a GPT model with reasoning: 5 and later.
fn gpt_version(id: &str) -> Option<(u32, u32)> {
    let rest = id.strip_prefix("gpt-")?;
    let number = rest.split('-').next()?;
    let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
    let version = (major.parse().ok()?, minor.parse().ok()?);
    (version >= (5, 0)).then_some(version)
}

/// The three values that nearly all servers accept.
pub(super) fn three_steps(effort: Effort) -> &'static str {
    match effort {
        Effort::None | Effort::Minimal | Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High | Effort::Max => "high",
    }
}

/// The value for xAI's model with this id; most older models reject any.
pub(super) fn xai(id: &str, effort: Effort) -> Option<&'static str> {
    if id.contains("grok-3-mini") {
        return Some(if effort <= Effort::Low { "low" } else { "high" });
    }
    let version = id.strip_prefix("grok-").and_then(|rest| rest.split('-').next());
    let (major, minor) = version.and_then(|version| version.split_once('.'))?;
    let (major, minor): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    // 4.20 is older than 4.3 and selects the effort by model name.
    let takes = major > 4 || (major == 4 && (3..20).contains(&minor));
    let word = if effort == Effort::None && (major, minor) == (4, 3) {
        "none"
    } else {
        three_steps(effort)
    };
    takes.then_some(word)
}

/// The value for a gateway, which maps it to the model.
pub(super) fn gateway(effort: Effort) -> &'static str {
    match effort {
        Effort::None => "none",
        Effort::Minimal => "minimal",
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::Max => "xhigh",
    }
}

/// The value for Z.ai's model with this id; models before GLM-5.2 accept none.
pub(super) fn zai(id: &str, effort: Effort) -> Option<&'static str> {
    let version = id.strip_prefix("glm-").and_then(|rest| rest.split('-').next());
    let (major, minor) = version.and_then(|version| version.split_once('.'))?;
    let version: (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    (version >= (5, 2)).then(|| deepseek(effort))
}

/// The value for DeepSeek if reasoning is enabled.
pub(super) fn deepseek(effort: Effort) -> &'static str {
    match effort {
        Effort::None | Effort::Minimal | Effort::Low => "low",
        Effort::Medium | Effort::High => "high",
        Effort::Max => "max",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_model_gets_only_effort_values_that_it_accepts() {
        let cases = [
            ("o4-mini", Effort::None, Some("low")),
            ("o3", Effort::Max, Some("high")),
            ("gpt-5", Effort::None, Some("minimal")),
            ("gpt-5-codex", Effort::Minimal, Some("low")),
            ("gpt-5-pro", Effort::Low, Some("high")),
            ("gpt-5.1", Effort::Minimal, Some("none")),
            ("gpt-5.1", Effort::Max, Some("high")),
            ("gpt-5.1-codex-max", Effort::Max, Some("xhigh")),
            ("gpt-5.4-pro", Effort::Low, Some("medium")),
            ("gpt-6.1-sol", Effort::Max, Some("xhigh")),
            ("openai/gpt-5.2", Effort::Max, Some("xhigh")),
            ("gpt-5.2-chat-latest", Effort::High, None),
            ("my-deployment", Effort::Max, Some("high")),
            ("gpt-oss-120b", Effort::None, Some("low")),
        ];
        for (id, effort, expected) in cases {
            assert_eq!(openai_effort(id, effort), expected, "{id} {effort:?}");
        }
        assert_eq!(
            [zai("glm-5.3-flash", Effort::Max), zai("glm-4.7", Effort::Max)],
            [Some("max"), None]
        );
        let cases = [
            ("grok-3-mini", Effort::Medium, Some("high")),
            ("grok-4-fast", Effort::High, None),
            ("grok-code-fast-1", Effort::High, None),
            ("grok-4.20-reasoning", Effort::High, None),
            ("grok-4.3", Effort::None, Some("none")),
            ("grok-4.5", Effort::None, Some("low")),
            ("grok-4.7", Effort::Medium, Some("medium")),
        ];
        for (id, effort, expected) in cases {
            assert_eq!(xai(id, effort), expected, "{id} {effort:?}");
        }
    }
}
