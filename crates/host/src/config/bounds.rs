//! Constraints on values beyond their type.

use super::ModelConfig;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// A default value of at least 1.
pub(super) const fn count(number: u32) -> NonZeroU32 {
    match NonZeroU32::new(number) {
        Some(number) => number,
        None => NonZeroU32::MIN,
    }
}

/// A number of at least 100: a smaller number is meant as a percentage.
pub(super) fn at_least_a_hundred<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    match Option::<u32>::deserialize(deserializer)? {
        Some(0..100) => Err(D::Error::custom("it must be at least 100, in tokens")),
        count => Ok(count),
    }
}

/// A finite number above 0.
pub(super) fn above_zero<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    match Option::<f64>::deserialize(deserializer)? {
        Some(sum) if !(sum.is_finite() && sum > 0.0) => Err(D::Error::custom(format!(
            "it must be a number above 0, but it is {sum}"
        ))),
        sum => Ok(sum),
    }
}

/// The name of an edit format that has a tool.
pub(super) fn edit_format<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    match Option::<String>::deserialize(deserializer)? {
        Some(name) if !["json", "apply-patch", "anchors"].contains(&name.as_str()) => Err(D::Error::custom(format!(
            "it must be `json`, `apply-patch` or `anchors`, but it is `{name}`"
        ))),
        name => Ok(name),
    }
}

/// A sampling temperature.
pub(super) fn temperature<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    match Option::<f64>::deserialize(deserializer)? {
        Some(number) if !(0.0..=2.0).contains(&number) => Err(D::Error::custom(format!(
            "it must be between 0 and 2, but it is {number}"
        ))),
        number => Ok(number),
    }
}

/// An HTTP URL.
pub(super) fn web_address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    match text.as_deref() {
        Some(address) if !is_web_address(address) => Err(D::Error::custom(format!(
            "`{address}` is not an address; write it like https://host/v1 or http://localhost:8080/v1"
        ))),
        Some(_) | None => Ok(text),
    }
}

fn is_web_address(text: &str) -> bool {
    let text = text.trim();
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        !host.is_empty() && !host.starts_with(':') && !text.contains(char::is_whitespace)
    })
}

/// Models by `provider/id`.
pub(super) fn models_by_full_name<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, ModelConfig>, D::Error> {
    let models = BTreeMap::<String, ModelConfig>::deserialize(deserializer)?;
    match models.keys().find(|name| !is_full_name(name)) {
        Some(name) => Err(D::Error::custom(format!(
            "`{name}` has no provider; write [models.\"PROVIDER/{name}\"]"
        ))),
        None => Ok(models),
    }
}

/// The name of a model, with or without its provider.
pub(super) fn model_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    match text.as_deref() {
        Some(name) if !(is_full_name(name) || is_part(name) && !name.contains('/')) => Err(D::Error::custom(format!(
            "`{name}` is not the name of a model; write it like provider/id"
        ))),
        Some(_) | None => Ok(text),
    }
}

/// Whether a name has the form `provider/id`. Ids may contain slashes.
pub fn is_full_name(name: &str) -> bool {
    name.split_once('/')
        .is_some_and(|(provider, id)| is_part(provider) && is_part(id))
}

fn is_part(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c.is_control())
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    #[test]
    fn invalid_values_are_rejected_with_the_reason() {
        for (text, reason) in [
            ("limits.steps = 0", "nonzero"),
            ("max_output = 0", "nonzero"),
            ("max_context = 85", "at least 100"),
            ("limits.cost = 0", "above 0"),
            ("limits.cost = -1.5", "above 0, but it is -1.5"),
            ("limits.cost = nan", "above 0"),
            ("limits.cost = inf", "above 0"),
            ("temperature = 2.1", "between 0 and 2"),
            ("temperature = nan", "between 0 and 2"),
            (
                "providers.x.base_url = 'localhost:1'",
                "`localhost:1` is not an address",
            ),
            ("providers.x.base_url = 'ftp://x'", "is not an address"),
            ("providers.x.base_url = 'http://'", "is not an address"),
            ("models.x.window = 1", "[models.\"PROVIDER/x\"]"),
            ("model = ''", "write it like provider/id"),
            ("model = 'a b/c'", "write it like provider/id"),
            ("small_model = '/x'", "write it like provider/id"),
        ] {
            let error = toml::from_str::<Config>(text).unwrap_err();
            assert!(error.message().contains(reason), "{text}: {}", error.message());
        }
        let valid = "temperature = 0\nmax_output = 1\nlimits = {steps = 1, cost = 0.01}\nmodel = 'x'\nsmall_model = 'a/b/c'\n\
                     providers.x.base_url = 'http://localhost:1/v1'\nmodels.'a/b'.window = 1";
        assert!(toml::from_str::<Config>(valid).is_ok());
    }
}
