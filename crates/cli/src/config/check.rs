//! Checks what a layer says, and explains mistakes with the file, the line and the nearest key.

use super::layer::Layer;
use super::{Config, Origin};
use crate::failure::{Failure, Result};
use serde::Deserialize;
use std::path::Path;
use toml::{Table, Value};

/// Reads the text of a configuration file.
pub(super) fn parse(text: &str, path: &Path) -> Result<Table> {
    let failure = |error: toml::de::Error, key: &str| explain(&error, key, text, path);
    let deserializer = toml::Deserializer::parse(text).map_err(|error| failure(error, ""))?;
    serde_path_to_error::deserialize::<_, Config>(deserializer).map_err(|error| {
        let key = error.path().to_string();
        failure(error.into_inner(), &key)
    })?;
    text.parse::<Table>().map_err(|error| failure(error, ""))
}

/// Reads a merged table.
pub(super) fn read(table: &Table) -> Result<Config> {
    Config::deserialize(table.clone()).map_err(|error| Failure::usage(format!("configuration: {}", error.message())))
}

/// The value that this text means for this key: TOML where that fits, else plain text.
pub(crate) fn value_for(path: &[String], text: &str, origin: Origin) -> Result<Layer> {
    let literal: Option<Value> = format!("v = {text}")
        .parse::<Table>()
        .ok()
        .and_then(|mut table| table.remove("v"));
    let mut problem = None;
    for value in literal.into_iter().chain([Value::String(text.into())]) {
        let layer = Layer::one(origin.clone(), path, value);
        match serde_path_to_error::deserialize::<_, Config>(layer.table.clone()) {
            Ok(_) => return Ok(layer),
            Err(error) => problem = problem.or(Some(error)),
        }
    }
    let (key, message) = match problem {
        Some(error) => (error.path().to_string(), error.into_inner().message().to_string()),
        None => (String::new(), String::new()),
    };
    Err(describe(&key, &message, &format!("{origin}: ")))
}

/// Checks a layer that was put together from values of the right type.
pub(super) fn fits(layer: &Layer) -> Result<()> {
    match serde_path_to_error::deserialize::<_, Config>(layer.table.clone()) {
        Ok(_) => Ok(()),
        Err(error) => {
            let key = error.path().to_string();
            Err(describe(
                &key,
                error.into_inner().message(),
                &format!("{}: ", layer.origin),
            ))
        }
    }
}

/// Checks that there is such a key, whether it is set or not.
pub(crate) fn known_key(path: &[String]) -> Result<()> {
    // No key takes a date, so that each that exists complains about the date, and each other about itself.
    let probe = toml::value::Datetime {
        date: Some(toml::value::Date {
            year: 1970,
            month: 1,
            day: 1,
        }),
        time: None,
        offset: None,
    };
    let layer = Layer::one(Origin::BuiltIn, path, Value::Datetime(probe));
    match serde_path_to_error::deserialize::<_, Config>(layer.table) {
        Ok(_) => Ok(()),
        Err(error) => {
            let key = error.path().to_string();
            match error.into_inner().message() {
                message if message.starts_with("unknown field") => Err(describe(&key, message, "")),
                _ => Ok(()),
            }
        }
    }
}

fn explain(error: &toml::de::Error, key: &str, text: &str, path: &Path) -> Failure {
    let line = error
        .span()
        .map(|span| text.get(..span.start).unwrap_or(text).matches('\n').count() + 1);
    let place = match line {
        Some(line) => format!("{}:{line}: ", path.display()),
        None => format!("{}: ", path.display()),
    };
    describe(key, error.message(), &place)
}

/// A mistake in words. Unknown keys get the nearest known one as a hint.
fn describe(key: &str, message: &str, place: &str) -> Failure {
    if let Some((unknown, known)) = unknown_name(message, "unknown field") {
        let full = match key {
            "" | "." => unknown.clone(),
            _ if key.ends_with(unknown.as_str()) => key.to_string(),
            _ => format!("{key}.{unknown}"),
        };
        return Failure::usage(format!("{place}there is no key `{full}`")).hint(suggest(&unknown, &known, "keys"));
    }
    let subject = match key {
        "" | "." => String::new(),
        _ => format!("{key}: "),
    };
    if let Some((unknown, known)) = unknown_name(message, "unknown variant") {
        return Failure::usage(format!("{place}{subject}`{unknown}` is not a choice"))
            .hint(suggest(&unknown, &known, "choices"));
    }
    let message = message.lines().next().unwrap_or_default();
    Failure::usage(format!("{place}{subject}{message}")).hint("`hew config schema` describes all keys")
}

/// The wrong name and the right ones, from the only form in which serde tells them.
fn unknown_name(message: &str, kind: &str) -> Option<(String, Vec<String>)> {
    let rest = message.strip_prefix(kind)?;
    let mut names = rest.split('`').skip(1).step_by(2).map(str::to_string);
    Some((names.next()?, names.collect()))
}

fn suggest(wrong: &str, known: &[String], what: &str) -> String {
    // Of two that are equally near, the one of the same length is meant: letters are swapped more often than lost.
    let nearest = known
        .iter()
        .map(|name| (strsim::normalized_damerau_levenshtein(wrong, name), name))
        .filter(|(score, _)| *score > 0.5)
        .max_by(|(a, one), (b, two)| {
            let off = |name: &str| name.len().abs_diff(wrong.len());
            a.total_cmp(b).then(off(two).cmp(&off(one)))
        });
    match nearest {
        Some((_, name)) => format!("did you mean `{name}`?"),
        None => format!("the {what} are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(text: &str) -> (String, String) {
        let failure = parse(text, Path::new("/c.toml")).unwrap_err();
        (failure.what, failure.hint.unwrap())
    }

    #[test]
    fn a_mistake_is_named_with_its_line_and_the_nearest_key() {
        let cases = [
            (
                "mode = \"code\"\nmodl = \"a/b\"",
                "/c.toml:2: there is no key `modl`",
                "did you mean `model`?",
            ),
            (
                "[providers.mine]\nwire = \"openai-chat\"\nbase_ulr = \"http://x\"",
                "/c.toml:3: there is no key `providers.mine.base_ulr`",
                "did you mean `base_url`?",
            ),
            (
                "[limits]\nqqq = 1",
                "/c.toml:2: there is no key `limits.qqq`",
                "the keys are steps, cost, time",
            ),
            (
                "\nmax_output = \"lots\"",
                "/c.toml:2: max_output: invalid type: string \"lots\", expected u32",
                "`hew config schema` describes all keys",
            ),
            (
                "permission = \"ful\"",
                "/c.toml:1: permission: `ful` is not a choice",
                "did you mean `full`?",
            ),
            (
                "[limits]\ntime = \"soon\"",
                "/c.toml:2: limits.time: `soon` is not a length of time; write it like 90s, 10m or 1h30m",
                "`hew config schema` describes all keys",
            ),
        ];
        for (text, what, hint) in cases {
            assert_eq!(failure(text), (what.to_string(), hint.to_string()), "{text}");
        }
        assert!(
            failure("model = \n").0.starts_with("/c.toml:1: "),
            "{:?}",
            failure("model = \n")
        );
    }

    #[test]
    fn a_plain_word_becomes_the_type_that_the_key_wants() {
        let value = |key: &str, text: &str| {
            let path = super::super::key_path(key).unwrap();
            value_for(&path, text, Origin::Flag("--set")).map(|layer| layer.table.to_string().trim().to_string())
        };
        assert_eq!(value("model", "openai/gpt-5.5").unwrap(), "model = \"openai/gpt-5.5\"");
        assert_eq!(value("title", "false").unwrap(), "title = false");
        assert_eq!(value("limits.steps", "7").unwrap(), "[limits]\nsteps = 7");
        assert_eq!(value("limits.time", "5m").unwrap(), "[limits]\ntime = \"5m\"");
        assert_eq!(value("limits.cost", "1").unwrap(), "[limits]\ncost = 1");
        let wrong = value("limits.stps", "7").unwrap_err();
        assert_eq!(wrong.what, "--set: there is no key `limits.stps`");
        assert_eq!(wrong.hint.as_deref(), Some("did you mean `steps`?"));
    }
}
