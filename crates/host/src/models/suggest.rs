//! Suggests models for an unknown name: the nearest in spelling, or the newest of the same family.

use model::{Catalogue, Info};
use std::cmp::Reverse;

/// The maximum number of suggestions.
const MAX_SUGGESTIONS: usize = 3;
/// The minimum similarity of names.
const MIN_SIMILARITY: f64 = 0.8;

/// Suggests models, the most likely first. Deprecated models are suggested only if there are no others.
pub(super) fn suggest<'a>(catalogue: &'a Catalogue, name: &str) -> Vec<&'a Info> {
    let (provider, id) = match name.split_once('/') {
        Some((provider, id)) => (Some(provider), id),
        None => (None, name),
    };
    let is_known = provider.is_some_and(|provider| catalogue.iter().any(|info| info.provider == provider));
    let of_provider = |info: &&Info| !is_known || provider == Some(info.provider.as_str());
    let wanted = family(id);
    let in_family = |fits: &dyn Fn(&str) -> bool| -> Vec<&'a Info> {
        let all = catalogue.iter().filter(of_provider);
        all.filter(|info| fits(&family(&info.id))).collect()
    };
    let mut related = in_family(&|family| family == wanted);
    if related.is_empty() {
        // `sonnet` means the family.
        related = in_family(&|family| {
            wanted
                .split('-')
                .all(|word| family.split('-').any(|other| other == word))
        });
    }
    if !wanted.is_empty() && !related.is_empty() {
        let mut related = without_deprecated(related);
        let requested = version(id);
        related.sort_by_key(|info| {
            let version = version(&info.id);
            (requested != version, Reverse(version), info.id.len())
        });
        // A name with a date is the same model.
        related.dedup_by(|a, b| a.provider == b.provider && version(&a.id) == version(&b.id));
        related.truncate(MAX_SUGGESTIONS);
        return related;
    }
    let score = |info: &Info| match provider {
        Some(_) => strsim::jaro_winkler(name, &info.name()),
        None => strsim::jaro_winkler(name, &info.id),
    };
    let alike = catalogue
        .iter()
        .filter(of_provider)
        .filter(|info| score(info) > MIN_SIMILARITY);
    let mut alike = without_deprecated(alike.collect());
    alike.sort_by(|a, b| score(b).total_cmp(&score(a)).then_with(|| a.name().cmp(&b.name())));
    alike.truncate(MAX_SUGGESTIONS);
    alike
}

fn without_deprecated(models: Vec<&Info>) -> Vec<&Info> {
    let stays: Vec<&Info> = models
        .iter()
        .copied()
        .filter(|info| info.deprecated_on.is_none())
        .collect();
    if stays.is_empty() { models } else { stays }
}

/// The order of models in a list: deprecated models last, then by provider, the newest version first, and a name with a date
/// after the one without.
pub fn listing_order(info: &Info) -> (bool, &str, Reverse<Vec<u32>>, usize, &str) {
    let id = info.id.as_str();
    (
        info.deprecated_on.is_some(),
        &info.provider,
        Reverse(version(id)),
        id.len(),
        id,
    )
}

/// The words of an id: `claude-sonnet` for `claude-sonnet-4-6`.
fn family(id: &str) -> String {
    let last = id.rsplit('/').next().unwrap_or(id).to_ascii_lowercase();
    let words = last.split(['-', '.', '_', '@', ':']).filter(|word| is_word(word));
    words.collect::<Vec<_>>().join("-")
}

fn is_word(part: &str) -> bool {
    part.chars().next().is_some_and(|first| first.is_alphabetic()) && !is_version(part)
}

/// Whether a part is like `v3`.
fn is_version(part: &str) -> bool {
    part.strip_prefix('v')
        .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit()))
}

/// The numbers of an id before its date.
fn version(id: &str) -> Vec<u32> {
    let numbers = id.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    let before_date = numbers.take_while(|part| part.len() < 4);
    before_date.filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(name: &str) -> Vec<String> {
        suggest(&Catalogue::embedded(), name)
            .iter()
            .map(|info| info.name())
            .collect()
    }

    #[test]
    fn the_newest_of_the_family_is_suggested_for_an_unknown_version() {
        let catalogue = Catalogue::embedded();
        for (wrong, family_name) in [
            ("claude-sonnet-99", "claude-sonnet"),
            ("anthropic/claude-opus-99", "claude-opus"),
        ] {
            let found = suggest(&catalogue, wrong);
            assert!(!found.is_empty(), "{wrong}");
            for info in &found {
                assert_eq!(family(&info.id), family_name, "{wrong}");
                assert_eq!(info.deprecated_on, None, "{wrong}");
            }
            let versions: Vec<Vec<u32>> = found.iter().map(|info| version(&info.id)).collect();
            assert!(versions.is_sorted_by(|a, b| a >= b), "{versions:?}");
        }
    }

    #[test]
    fn the_family_is_suggested_for_a_partial_name_and_the_requested_version_comes_first() {
        let found = names("sonnet");
        assert!(
            !found.is_empty() && found.iter().all(|name| name.contains("sonnet")),
            "{found:?}"
        );
        assert_eq!(names("claude-sonnet-4-6x")[0], "anthropic/claude-sonnet-4-6");
        assert!(names("claude-opus-4-5x")[0].ends_with("claude-opus-4-5"));
    }

    #[test]
    fn the_nearest_name_is_suggested_for_a_misspelling() {
        assert_eq!(names("anthropic/claude-sonet-4-6")[0], "anthropic/claude-sonnet-4-6");
        assert!(names("qqqq").is_empty());
    }

    #[test]
    fn a_list_begins_with_the_newest_models_and_ends_with_deprecated_ones() {
        let catalogue = Catalogue::embedded();
        let mut listed: Vec<&Info> = catalogue.iter().filter(|info| info.provider == "anthropic").collect();
        listed.sort_by(|a, b| listing_order(a).cmp(&listing_order(b)));
        let at = |id: &str| listed.iter().position(|info| info.id == id).unwrap();
        assert!(at("claude-sonnet-5-5") < at("claude-sonnet-5"), "{listed:?}");
        assert!(at("claude-opus-4-7") < at("claude-opus-4-7-20260416"), "{listed:?}");
        let current = listed.iter().position(|info| info.deprecated_on.is_some());
        assert!(
            listed[current.unwrap_or(0)..]
                .iter()
                .all(|info| info.deprecated_on.is_some())
        );
    }

    #[test]
    fn the_family_is_the_words_and_the_version_the_numbers_without_the_date() {
        assert_eq!(family("claude-opus-4-20250514"), "claude-opus");
        assert_eq!(family("deepseek-v3.1"), "deepseek");
        assert_eq!(version("claude-opus-4-1-20250514"), [4, 1]);
        assert_eq!(version("gpt-5.5-2026-04-23"), [5, 5]);
    }
}
