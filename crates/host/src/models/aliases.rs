//! Short names of models, as users of other agents write them.

use super::ModelRegistry;
use super::suggest::suggest;
use model::Info;

/// Short names with the provider and the family that they stand for. The newest model of the family is used.
const ALIASES: &[(&str, &str)] = &[
    ("sonnet", "anthropic/claude-sonnet"),
    ("opus", "anthropic/claude-opus"),
    ("haiku", "anthropic/claude-haiku"),
    ("gpt-5", "openai/gpt-5"),
    ("gemini-pro", "gemini/gemini-pro"),
];

/// The short name that is probably meant by a misspelled one.
pub(super) fn nearest_alias(name: &str) -> Option<&'static str> {
    let score = |alias: &str| strsim::damerau_levenshtein(alias, &name.to_lowercase());
    let nearest = ALIASES
        .iter()
        .map(|(alias, _)| *alias)
        .min_by_key(|alias| score(alias))?;
    (score(nearest) <= nearest.len() / 3).then_some(nearest)
}

impl ModelRegistry<'_> {
    /// The short names with the full names of their models.
    pub fn aliases(&self) -> impl Iterator<Item = (&'static str, String)> {
        let found = |(alias, _): &(&'static str, &str)| Some((*alias, self.by_alias(alias)?.name()));
        ALIASES.iter().filter_map(found)
    }

    /// The model that a short name stands for: of the vendor, or of another provider if only that one has a key.
    pub(super) fn by_alias(&self, name: &str) -> Option<Info> {
        let (_, family) = ALIASES.iter().find(|(alias, _)| *alias == name)?;
        let vendor = suggest(&self.catalogue, family).into_iter().next()?;
        let has_key = |info: &&Info| {
            let provider = self.provider(&info.provider);
            provider.is_some_and(|provider| self.immediate_key(&provider).is_some())
        };
        if has_key(&vendor) {
            return Some(vendor.clone());
        }
        let mut same = self.catalogue.iter().filter(|info| info.id.ends_with(&vendor.id));
        Some(same.find(has_key).unwrap_or(vendor).clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::environment::ProcessEnv;

    #[test]
    fn each_alias_names_a_current_model_of_its_family() {
        let (config, env) = (Config::default(), ProcessEnv::new([], None));
        let models = ModelRegistry::new(&config, &env);
        for (alias, family) in ALIASES {
            let found = models.find(alias).unwrap();
            let (provider, family) = family.split_once('/').unwrap();
            assert_eq!(found.provider, provider, "{alias}");
            assert_eq!(found.deprecated_on, None, "{alias}");
            let words = family.split('-').all(|word| found.id.contains(word));
            assert!(words, "{alias}: {}", found.id);
        }
    }
}
