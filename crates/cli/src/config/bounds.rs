//! What values must be beyond their type: numbers that make sense, addresses, and names of models.

use super::ModelEntry;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;

/// A count of at least one.
pub(super) fn at_least_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    match Option::<u32>::deserialize(deserializer)? {
        Some(0) => Err(D::Error::custom("it must be at least 1")),
        count => Ok(count),
    }
}

/// A count of at least a hundred: whoever says less means percent.
pub(super) fn at_least_a_hundred<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    match Option::<u32>::deserialize(deserializer)? {
        Some(0..100) => Err(D::Error::custom("it must be at least 100, in tokens")),
        count => Ok(count),
    }
}

/// A sum of money that something can be bought for.
pub(super) fn above_zero<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    match Option::<f64>::deserialize(deserializer)? {
        Some(sum) if !(sum.is_finite() && sum > 0.0) => Err(D::Error::custom(format!(
            "it must be a number above 0, but it is {sum}"
        ))),
        sum => Ok(sum),
    }
}

/// A temperature that models take.
pub(super) fn temperature<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    match Option::<f64>::deserialize(deserializer)? {
        Some(number) if !(0.0..=2.0).contains(&number) => Err(D::Error::custom(format!(
            "it must be between 0 and 2, but it is {number}"
        ))),
        number => Ok(number),
    }
}

/// An address that requests can be sent to.
pub(super) fn web_address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let said = Option::<String>::deserialize(deserializer)?;
    match said.as_deref() {
        Some(address) if !is_web_address(address) => Err(D::Error::custom(format!(
            "`{address}` is not an address; write it like https://host/v1 or http://localhost:8080/v1"
        ))),
        Some(_) | None => Ok(said),
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
pub(super) fn by_full_name<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, ModelEntry>, D::Error> {
    let models = BTreeMap::<String, ModelEntry>::deserialize(deserializer)?;
    match models.keys().find(|name| !is_full_name(name)) {
        Some(name) => Err(D::Error::custom(format!(
            "`{name}` does not say which provider serves the model; write [models.\"PROVIDER/{name}\"]"
        ))),
        None => Ok(models),
    }
}

/// The name of a model, with or without its provider.
pub(super) fn model_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let said = Option::<String>::deserialize(deserializer)?;
    match said.as_deref() {
        Some(name) if !(is_full_name(name) || is_part(name) && !name.contains('/')) => Err(D::Error::custom(format!(
            "`{name}` is not the name of a model; write it like provider/id"
        ))),
        Some(_) | None => Ok(said),
    }
}

/// Whether a name has the form `provider/id`; ids may have slashes of their own.
pub(crate) fn is_full_name(name: &str) -> bool {
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
    fn values_that_make_no_sense_are_refused_with_the_reason() {
        for (text, why) in [
            ("limits.steps = 0", "at least 1"),
            ("max_output = 0", "at least 1"),
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
            assert!(error.message().contains(why), "{text}: {}", error.message());
        }
        let fine = "temperature = 0\nmax_output = 1\nlimits = {steps = 1, cost = 0.01}\nmodel = 'x'\nsmall_model = 'a/b/c'\n\
                    providers.x.base_url = 'http://localhost:1/v1'\nmodels.'a/b'.window = 1";
        assert!(toml::from_str::<Config>(fine).is_ok());
    }
}
