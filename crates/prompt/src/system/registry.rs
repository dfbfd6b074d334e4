//! Which sections a system prompt has, and which family a model belongs to. It is data, read from `registry.json`.

use serde::Deserialize;
use std::collections::BTreeMap;

/// The sections and the families.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Registry {
    pub(super) sections: Vec<Section>,
    families: Vec<Family>,
}

/// A section of the system prompt.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Section {
    /// The name of its template.
    pub(super) name: String,
    /// Where it stands.
    pub(super) block: Block,
    /// Conditions that all must hold; `!` before a name turns it round.
    #[serde(default)]
    pub(super) when: Vec<String>,
    /// What stands between it and the section before it, where that is not a blank line.
    pub(super) glue: Option<String>,
}

/// A part of the prompt that is cached as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Block {
    /// The same in every session with a model and its tools.
    Base,
    /// What the project and the person ask for.
    Instructions,
    /// Where and when.
    Place,
    /// What changes with the mode.
    Mode,
}

impl Block {
    /// From the most stable to the most volatile.
    pub(super) const ALL: [Block; 4] = [Block::Base, Block::Instructions, Block::Place, Block::Mode];
}

/// Models that are told the same.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// Its name.
    pub name: String,
    /// How the ids of its models begin.
    pub prefixes: Vec<String>,
    /// Models of other prefixes that belong to it all the same.
    #[serde(default)]
    pub exact: Vec<String>,
    /// The template in the place of a section's usual one.
    pub variants: BTreeMap<String, String>,
}

/// The family of a model, by its id; none for models that get the usual texts.
pub fn family(model: &str) -> Option<Family> {
    Registry::built_in().family(model).cloned()
}

/// The names of all sections, in order.
pub fn section_names() -> Vec<String> {
    let sections = Registry::built_in().sections.into_iter();
    sections.map(|section| section.name).collect()
}

impl Registry {
    pub(super) fn built_in() -> Self {
        // It is part of the program and read by a test, so that it cannot fail to parse in the field.
        serde_json::from_str(include_str!("../../templates/system/registry.json")).unwrap_or_default()
    }

    pub(super) fn has_section(&self, name: &str) -> bool {
        self.sections.iter().any(|section| section.name == name)
    }

    /// The family of a model: one that names it exactly, else the one with the longest prefix that fits, else none.
    ///
    /// Gateways put words in front of an id (`anthropic/claude-…`, `us.anthropic.claude-…`), so a prefix counts wherever
    /// such a word ends.
    pub(super) fn family(&self, model: &str) -> Option<&Family> {
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
            let longest = |family: &&Family| family.prefixes.iter().filter(fits).map(String::len).max();
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
    fn the_registry_is_read_and_every_name_in_it_exists() {
        let registry: Registry = serde_json::from_str(include_str!("../../templates/system/registry.json")).unwrap();
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
    fn a_family_is_found_by_exact_name_then_by_its_longest_prefix_and_else_there_is_none() {
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
            assert_eq!(family(model).map(|family| family.name).as_deref(), expected, "{model}");
        }
    }
}
