//! The sections of a system prompt and the model families, read from `registry.json`.

use serde::Deserialize;
use std::collections::BTreeMap;

/// The sections and the model families.
#[derive(Debug, Default, Deserialize)]
pub(super) struct SectionRegistry {
    pub(super) sections: Vec<PromptSection>,
    families: Vec<ModelFamily>,
}

/// A section of the system prompt.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PromptSection {
    /// The name of its template.
    pub(super) name: String,
    /// Its path.
    pub(super) block: SectionBlock,
    /// Conditions that must all hold; `!` negates a condition.
    #[serde(default)]
    pub(super) when: Vec<String>,
    /// Separator before the section, if not a blank line.
    pub(super) glue: Option<String>,
}

/// A part of the prompt that is cached as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SectionBlock {
    /// The same in every session with a model and its tools.
    Base,
    /// Rules of the project and the user.
    Instructions,
    /// Environment.
    Place,
    /// Depends on the mode.
    Mode,
}

impl SectionBlock {
    /// From the most stable to the most volatile.
    pub(super) const ALL: [SectionBlock; 4] = [
        SectionBlock::Base,
        SectionBlock::Instructions,
        SectionBlock::Place,
        SectionBlock::Mode,
    ];
}

/// Models with the same prompt variants.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFamily {
    /// Its name.
    pub name: String,
    /// Prefixes of its model ids.
    pub prefixes: Vec<String>,
    /// Further models, by exact id.
    #[serde(default)]
    pub exact: Vec<String>,
    /// Template per section that replaces the default.
    pub variants: BTreeMap<String, String>,
}

/// Returns the family of a model id; `None` for models with the default texts.
pub fn model_family(model: &str) -> Option<ModelFamily> {
    SectionRegistry::built_in().family(model).cloned()
}

impl SectionRegistry {
    pub(super) fn built_in() -> Self {
        // A test parses the built-in file.
        serde_json::from_str(include_str!("../../templates/system/registry.json")).unwrap_or_default()
    }

    pub(super) fn has_section(&self, name: &str) -> bool {
        self.sections.iter().any(|section| section.name == name)
    }

    /// Returns the family of a model: an exact match, otherwise the longest matching prefix.
    ///
    /// Gateways add prefixes to an id (`anthropic/claude-…`, `us.anthropic.claude-…`), so a prefix may also follow a
    /// separator.
    pub(super) fn family(&self, model: &str) -> Option<&ModelFamily> {
        let id = model.to_ascii_lowercase();
        let last = id.rsplit('/').next().unwrap_or(&id);
        let plain = last.split([':', '@']).next().unwrap_or(last);
        let exact = self
            .families
            .iter()
            .find(|family| family.exact.iter().any(|name| name == plain));
        exact.or_else(|| {
            let starts = id.match_indices(['/', '.']).map(|(place, _)| place + 1);
            let words: Vec<&str> = starts.chain([0]).filter_map(|start| id.get(start..)).collect();
            let fits = |prefix: &&String| words.iter().any(|word| word.starts_with(prefix.as_str()));
            let longest = |family: &&ModelFamily| family.prefixes.iter().filter(fits).map(String::len).max();
            let fitting = self.families.iter().filter(|family| longest(family).is_some());
            fitting.max_by_key(|family| longest(family))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{render, tests};
    use super::*;

    #[test]
    fn the_registry_parses_and_every_name_exists() {
        let registry: SectionRegistry =
            serde_json::from_str(include_str!("../../templates/system/registry.json")).unwrap();
        let conditions = tests::conditions();
        for section in &registry.sections {
            let variants = registry
                .families
                .iter()
                .any(|family| family.variants.contains_key(&section.name));
            assert!(
                render::built_in(&section.name).is_some() || variants,
                "{}",
                section.name
            );
            for condition in &section.when {
                let name = condition.trim_start_matches('!');
                assert!(conditions.contains(&name), "{name}");
            }
        }
        for family in &registry.families {
            for (section, variant) in &family.variants {
                assert!(
                    registry.has_section(section) && render::built_in(variant).is_some(),
                    "{variant}"
                );
            }
        }
    }

    #[test]
    fn a_family_is_found_by_exact_name_then_by_longest_prefix() {
        for (model, expected) in [
            ("claude-sonnet-4-6", Some("claude")),
            ("anthropic/claude-sonnet-4.6", Some("claude")),
            ("us.anthropic.claude-sonnet-4-6-v1:0", Some("claude")),
            ("gpt-5.5", Some("gpt")),
            ("gpt-5-nano", Some("open")),
            ("openai/gpt-5-nano:free", Some("open")),
            ("gpt-oss:120b", Some("open")),
            ("o3", Some("gpt")),
            ("models/gemini-3-pro", Some("gemini")),
            ("Qwen3-Coder:30b", Some("open")),
            ("accounts/x/models/llama-v3p1-8b-instruct", Some("open")),
            ("house-model-1", None),
            ("", None),
        ] {
            assert_eq!(
                model_family(model).map(|family| family.name).as_deref(),
                expected,
                "{model}"
            );
        }
    }
}
