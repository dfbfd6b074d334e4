//! Which models a wrong name may mean: the nearest in spelling or, where only the version is wrong, the newest of the family.

use model::{Catalogue, Info};
use std::cmp::Reverse;

/// How many names are suggested.
const MOST: usize = 3;
/// Names that are less alike than this have nothing to do with each other.
const ALIKE: f64 = 0.8;

/// The models that may be meant, the likeliest first. One that is about to go is named only if there is no other.
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
        // `sonnet` is a family for whoever speaks of it.
        related = in_family(&|family| {
            wanted
                .split('-')
                .all(|word| family.split('-').any(|other| other == word))
        });
    }
    if !wanted.is_empty() && !related.is_empty() {
        let mut related = lasting(related);
        let said = version(id);
        related.sort_by_key(|info| {
            let version = version(&info.id);
            (said != version, Reverse(version), info.id.len())
        });
        // The same model under its name with a date is not another one.
        related.dedup_by(|a, b| a.provider == b.provider && version(&a.id) == version(&b.id));
        related.truncate(MOST);
        return related;
    }
    let score = |info: &Info| match provider {
        Some(_) => strsim::jaro_winkler(name, &info.name()),
        None => strsim::jaro_winkler(name, &info.id),
    };
    let alike = catalogue.iter().filter(of_provider).filter(|info| score(info) > ALIKE);
    let mut alike = lasting(alike.collect());
    alike.sort_by(|a, b| score(b).total_cmp(&score(a)).then_with(|| a.name().cmp(&b.name())));
    alike.truncate(MOST);
    alike
}

fn lasting(models: Vec<&Info>) -> Vec<&Info> {
    let stays: Vec<&Info> = models
        .iter()
        .copied()
        .filter(|info| info.deprecated_on.is_none())
        .collect();
    if stays.is_empty() { models } else { stays }
}

/// The words of an id: `claude-sonnet-4-6` is a `claude-sonnet`.
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

/// The numbers of an id up to its date.
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
    fn a_wrong_version_gets_the_newest_of_the_family() {
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
    fn a_part_of_a_name_gets_its_family_and_the_version_that_was_said_comes_first() {
        let found = names("sonnet");
        assert!(
            !found.is_empty() && found.iter().all(|name| name.contains("sonnet")),
            "{found:?}"
        );
        assert_eq!(names("claude-sonnet-4-6x")[0], "anthropic/claude-sonnet-4-6");
        assert!(names("claude-opus-4-5x")[0].ends_with("claude-opus-4-5"));
    }

    #[test]
    fn a_wrong_spelling_gets_the_nearest_name() {
        assert_eq!(names("anthropic/claude-sonet-4-6")[0], "anthropic/claude-sonnet-4-6");
        assert!(names("qqqq").is_empty());
    }

    #[test]
    fn words_make_a_family_and_numbers_without_dates_a_version() {
        assert_eq!(family("claude-opus-4-20250514"), "claude-opus");
        assert_eq!(family("deepseek-v3.1"), "deepseek");
        assert_eq!(version("claude-opus-4-1-20250514"), [4, 1]);
        assert_eq!(version("gpt-5.5-2026-04-23"), [5, 5]);
    }
}
