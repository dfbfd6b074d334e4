//! Which models get which tools. The configuration overrides the facts that tools declare.
//!
//! The edit tool that a model family uses best is determined by `edit`.

use tool::{Availability, ModelClass, Registry};

use crate::Options;
use crate::registry::TOOLS;

/// Maximum context window of models in [`ModelClass::SmallWindow`], in tokens.
const SMALL_WINDOW: u64 = 16_384;
/// Names of models in [`ModelClass::Small`], as `provider/id` or `id`; `*` matches any text.
const SMALL_MODELS: [&str; 7] = ["*-nano", "*-nano-*", "gemma*", "*:0.5b", "*:1b", "*:1.5b", "*:3b"];

/// Applies the exceptions for the model, then the configuration.
pub(crate) fn apply_profiles(mut tools: Registry, options: &Options<'_>) -> Registry {
    for tool in TOOLS {
        let is_enabled = options.enabled.iter().any(|enabled| enabled == tool.name);
        for (_, availability) in tool
            .facts
            .exceptions
            .iter()
            .filter(|(class, _)| includes(*class, options))
        {
            match (is_enabled, availability) {
                (true, _) => {}
                (false, Availability::Hidden) => drop(tools.remove(tool.name)),
                (false, Availability::Deferred) => {
                    if let Some(tool) = tools.remove(tool.name) {
                        tools.add_deferred(tool);
                    }
                }
            }
        }
    }
    for name in &options.enabled {
        tools.undefer(name);
    }
    for name in &options.disabled {
        tools.remove(name);
    }
    tools
}

/// Whether the model belongs to a class.
fn includes(class: ModelClass, options: &Options<'_>) -> bool {
    match class {
        ModelClass::Reasoning => options.reasoning,
        ModelClass::SmallWindow => options
            .window
            .is_some_and(|window| (1..=SMALL_WINDOW).contains(&window)),
        ModelClass::Small => options.model.is_some_and(|name| {
            let name = name.to_ascii_lowercase();
            let id = name.split_once('/').map_or(name.as_str(), |(_, id)| id);
            let mut patterns = SMALL_MODELS.iter();
            patterns.any(|pattern| matches_pattern(pattern, &name) || matches_pattern(pattern, id))
        }),
    }
}

/// Whether a name matches a pattern in which `*` matches any text.
pub(crate) fn matches_pattern(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => name.strip_prefix(before).is_some_and(|rest| {
            (0..=rest.len()).any(|skipped| rest.get(skipped..).is_some_and(|rest| matches_pattern(after, rest)))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_any_text() {
        for (pattern, name, expected) in [
            ("*-nano", "gpt-5-nano", true),
            ("*-nano", "gpt-5-nano-x", false),
            ("*-nano-*", "gpt-5-nano-x", true),
            ("gemma*", "gemma", true),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "ac", false),
            ("x", "x", true),
        ] {
            assert_eq!(matches_pattern(pattern, name), expected, "{pattern} {name}");
        }
    }
}
