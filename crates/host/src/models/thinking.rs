//! Models that think by default.

use model::{Effort, Info, Wire};

/// Families of models whose replies improve with thinking and whose API does not think unless it is requested, with the
/// effort to request. They decide themselves how much a step needs, so that simple steps cost little.
const THINKING: &[(&str, Effort)] = &[
    ("claude-opus", Effort::Medium),
    ("claude-sonnet", Effort::Medium),
    ("claude-fable", Effort::Medium),
];

/// The first generation that decides how much to think.
const ADAPTIVE_SINCE: (u32, u32) = (4, 6);

/// The effort to request from a model if the user chooses none; `None` leaves it to the provider.
pub fn default_effort(info: &Info) -> Option<Effort> {
    let has_messages_api = match info.wire {
        Wire::AnthropicMessages | Wire::BedrockAnthropic | Wire::VertexAnthropic => true,
        // These think by default.
        Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Gemini | Wire::BedrockConverse => false,
    };
    if !info.features.reasoning || !has_messages_api {
        return None;
    }
    let (family, effort) = THINKING.iter().find(|(family, _)| info.id.contains(family))?;
    let (_, version) = info.id.split_once(family)?;
    let mut numbers = version
        .split(|c: char| !c.is_ascii_digit())
        .filter(|part| !part.is_empty());
    let mut number = || numbers.next().filter(|part| part.len() <= 2)?.parse::<u32>().ok();
    let (major, minor) = (number()?, number().unwrap_or(0));
    ((major, minor) >= ADAPTIVE_SINCE).then_some(*effort)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Catalogue;

    #[test]
    fn current_large_claude_models_think_and_others_follow_their_provider() {
        let catalogue = Catalogue::embedded();
        let effort = |provider: &str, id: &str| default_effort(catalogue.get(provider, id).unwrap());
        assert_eq!(effort("anthropic", "claude-sonnet-5-5"), Some(Effort::Medium));
        assert_eq!(effort("anthropic", "claude-sonnet-4-5"), None);
        assert_eq!(effort("anthropic", "claude-haiku-5-5"), None);
        assert_eq!(effort("openai", "gpt-6.1-sol"), None);
    }
}
