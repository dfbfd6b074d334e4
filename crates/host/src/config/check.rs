//! Checks layers and reports errors with the file, the line and the nearest key.

use super::layer::ConfigLayer;
use super::{Config, ConfigOrigin};
use crate::failure::{Failure, Result};
use serde::de::Error as _;
use serde_json::Value as Json;
use std::path::Path;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};
use tool::{InputDecodeError, PathSegment};

/// The maximum number of reported errors.
const MAX_ERRORS: usize = 50;

/// Parses and checks the text of a configuration file.
pub(super) fn parse(text: &str, path: &Path) -> Result<Table> {
    let table = text.parse::<Table>().map_err(|error| {
        let prefix = location_prefix(path, text, error.span().map(|span| span.start));
        describe("", error.message(), &prefix)
    })?;
    deserialize(&table).map_err(|error| {
        let prefix = location_prefix(path, text, offset_of(&error, text));
        describe(&error.path(), &error.reason, &prefix)
    })?;
    Ok(table)
}

/// Finds all errors in the text of a configuration file: invalid values are removed and the rest is checked again.
pub(super) fn errors(text: &str, path: &Path) -> Vec<Failure> {
    let mut table = match text.parse::<Table>() {
        Ok(table) => table,
        Err(_) => return parse(text, path).err().into_iter().collect(),
    };
    let mut found = Vec::new();
    while found.len() < MAX_ERRORS
        && let Err(error) = deserialize(&table)
    {
        let prefix = location_prefix(path, text, offset_of(&error, text));
        let unknown = unknown_and_known(&error.reason, "unknown field").map(|(name, _)| name);
        found.push(describe(&error.path(), &error.reason, &prefix));
        let keys = error.steps().map_while(|step| match step {
            PathSegment::Key(name) => Some(name.clone()),
            PathSegment::Item(_) => None,
        });
        if !remove_invalid(&mut table, keys.collect(), unknown) {
            break;
        }
    }
    found
}

/// Removes an invalid value. Returns whether it was found.
fn remove_invalid(table: &mut Table, mut keys: Vec<String>, unknown: Option<String>) -> bool {
    // The path of an unknown key may end at its table.
    let below = unknown.filter(|name| keys.last() != Some(name));
    if let Some(name) = below {
        let parent = keys.iter().try_fold(&*table, |table, key| table.get(key)?.as_table());
        if parent.is_some_and(|parent| parent.contains_key(&name)) {
            keys.push(name);
        }
    }
    let Some(last) = keys.pop() else { return false };
    let parent = keys
        .iter()
        .try_fold(table, |table, key| table.get_mut(key)?.as_table_mut());
    parent.is_some_and(|parent| parent.remove(&last).is_some())
}

/// Deserializes a merged table.
pub(super) fn read(table: &Table) -> Result<Config> {
    deserialize(table).map_err(|error| Failure::usage(format!("configuration: {error}")))
}

/// A layer with the value of a key: the text as TOML if that is valid for the key, else as a string.
pub fn value_for(path: &[String], text: &str, origin: ConfigOrigin) -> Result<ConfigLayer> {
    let literal: Option<Value> = format!("v = {text}")
        .parse::<Table>()
        .ok()
        .and_then(|mut table| table.remove("v"));
    let mut problem = None;
    for value in literal.into_iter().chain([Value::String(text.into())]) {
        let layer = ConfigLayer::single(origin.clone(), path, value);
        match deserialize(&layer.table) {
            Ok(_) => return Ok(layer),
            Err(error) => problem = problem.or(Some(error)),
        }
    }
    let (key, message) = match problem {
        Some(error) => (error.path(), error.reason),
        None => (String::new(), String::new()),
    };
    Err(describe(&key, &message, &format!("{origin}: ")))
}

/// Checks a layer.
pub(super) fn check_layer(layer: &ConfigLayer) -> Result<()> {
    match deserialize(&layer.table) {
        Ok(_) => Ok(()),
        Err(error) => Err(describe(&error.path(), &error.reason, &format!("{}: ", layer.origin))),
    }
}

/// Checks that a key exists, whether it is set or not.
pub fn check_key(path: &[String]) -> Result<()> {
    // No key accepts a date: an existing key is reported as a type error, another one as an unknown key.
    let probe = toml::value::Datetime {
        date: Some(toml::value::Date {
            year: 1970,
            month: 1,
            day: 1,
        }),
        time: None,
        offset: None,
    };
    let layer = ConfigLayer::single(ConfigOrigin::BuiltIn, path, Value::Datetime(probe));
    match deserialize(&layer.table) {
        Err(error) if error.reason.starts_with("unknown field") && !error.reason.contains(DATE) => {
            Err(describe(&error.path(), &error.reason, ""))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

fn deserialize(table: &Table) -> std::result::Result<Config, InputDecodeError> {
    tool::decode(&object(table)?)
}

/// The JSON key of a date, so that it is neither a string nor a number.
const DATE: &str = "$date";

fn object(table: &Table) -> std::result::Result<Json, InputDecodeError> {
    let entries = table.iter().map(|(key, value)| {
        let value = json(value).map_err(|error| error.with_parent(PathSegment::Key(key.clone())))?;
        Ok((key.clone(), value))
    });
    entries.collect::<std::result::Result<_, _>>().map(Json::Object)
}

fn json(value: &Value) -> std::result::Result<Json, InputDecodeError> {
    Ok(match value {
        Value::String(text) => Json::String(text.clone()),
        Value::Integer(number) => Json::from(*number),
        Value::Float(number) if !number.is_finite() => {
            return Err(InputDecodeError::custom(format_args!("{number} is not a quantity")));
        }
        Value::Float(number) => Json::from(*number),
        Value::Boolean(value) => Json::Bool(*value),
        Value::Datetime(date) => serde_json::json!({ DATE: date.to_string() }),
        Value::Array(items) => {
            let items = items.iter().enumerate();
            let items = items.map(|(at, item)| json(item).map_err(|error| error.with_parent(PathSegment::Item(at))));
            Json::Array(items.collect::<std::result::Result<_, _>>()?)
        }
        Value::Table(table) => object(table)?,
    })
}

/// The offset of the invalid key or value in the text.
fn offset_of(error: &InputDecodeError, text: &str) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let mut at = None;
    let mut table = Some(document.get_ref());
    let mut value: Option<&Spanned<DeValue<'_>>> = None;
    for step in error.steps() {
        value = match step {
            PathSegment::Key(name) => {
                let entry = table.and_then(|table| table.iter().find(|(key, _)| key.get_ref() == name.as_str()));
                at = entry.map(|(key, _)| key.span().start).or(at);
                entry.map(|(_, value)| value)
            }
            PathSegment::Item(index) => {
                let item = value.and_then(|value| value.get_ref().get(*index));
                at = item.map(|item| item.span().start).or(at);
                item
            }
        };
        table = value.and_then(|value| value.get_ref().as_table());
    }
    at
}

fn location_prefix(path: &Path, text: &str, at: Option<usize>) -> String {
    match at.map(|at| text.get(..at).unwrap_or(text).matches('\n').count() + 1) {
        Some(line) => format!("{}:{line}: ", path.display()),
        None => format!("{}: ", path.display()),
    }
}

/// Describes an error, with the nearest known key as a hint for an unknown one.
fn describe(key: &str, message: &str, prefix: &str) -> Failure {
    if let Some((unknown, known)) = unknown_and_known(message, "unknown field") {
        let full = match key {
            "" | "." => unknown.clone(),
            _ if key.ends_with(unknown.as_str()) => key.to_string(),
            _ => format!("{key}.{unknown}"),
        };
        return Failure::usage(format!("{prefix}there is no key `{full}`")).hint(suggest(&unknown, &known, "keys"));
    }
    let subject = match key {
        "" | "." => String::new(),
        _ => format!("{key}: "),
    };
    if let Some((unknown, known)) = unknown_and_known(message, "unknown variant") {
        return Failure::usage(format!("{prefix}{subject}`{unknown}` is not a choice"))
            .hint(suggest(&unknown, &known, "choices"));
    }
    let message = plain_message(message.lines().next().unwrap_or_default());
    Failure::usage(format!("{prefix}{subject}{message}")).hint("`hew config schema` describes all keys")
}

/// Rewrites a message of serde: the actual and the expected value.
fn plain_message(message: &str) -> String {
    let Some((got, wanted)) = message
        .strip_prefix("invalid type: ")
        .or(message.strip_prefix("invalid value: "))
        .and_then(|rest| rest.split_once(", expected "))
    else {
        return message.to_owned();
    };
    let got = match got.split_once(' ').unwrap_or((got, "")) {
        ("string", text) => text.to_owned(),
        ("integer" | "boolean", value) => value.trim_matches('`').to_owned(),
        ("floating", value) => value.trim_start_matches("point ").trim_matches('`').to_owned(),
        ("sequence", _) => "a list".into(),
        ("map", _) => "a table".into(),
        (_, _) => got.to_owned(),
    };
    let wanted = match wanted {
        "f64" | "f32" => "a number",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, not below 0",
        "a nonzero u32" => "a whole number, at least 1",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "a boolean" | "bool" => "true or false",
        "a string" | "string" => "a string in quotes",
        "a sequence" | "sequence" | "a list" => "a list, such as [\"…\"]",
        "a map" | "map" => "a table",
        wanted if wanted.starts_with("struct ") => "a table",
        wanted if wanted.starts_with("enum ") => "one of its choices, in quotes",
        other => other,
    };
    format!("it must be {wanted}, but it is {got}")
}

/// The unknown name and the known ones in a message of serde.
fn unknown_and_known(message: &str, kind: &str) -> Option<(String, Vec<String>)> {
    let rest = message.strip_prefix(kind)?;
    let mut names = rest.split('`').skip(1).step_by(2).map(str::to_string);
    Some((names.next()?, names.collect()))
}

fn suggest(wrong: &str, known: &[String], what: &str) -> String {
    // Of two equally near names, the one of the same length is preferred: letters are swapped more often than lost.
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
        (failure.message, failure.hint.unwrap())
    }

    #[test]
    fn an_error_is_reported_with_its_line_and_the_nearest_key() {
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
                "/c.toml:2: max_output: it must be a whole number, at least 1, but it is \"lots\"",
                "`hew config schema` describes all keys",
            ),
            (
                "permission = \"ful\"",
                "/c.toml:1: permission: `ful` is not a choice",
                "did you mean `full`?",
            ),
            (
                "[limits]\ntime = \"soon\"",
                "/c.toml:2: limits.time: `soon` is not a duration; write it like 90s, 10m or 1h30m",
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
    fn all_errors_of_a_file_are_found() {
        let text = "modl = \"a/b\"\nmax_output = \"lots\"\ntemperature = \"hot\"\nroots = 3\n[limits]\nqqq = 1\nsteps = 5\n\
                    [tools]\ndisabled = [\"a\", 7]\ntitle = true\n";
        let found: Vec<String> = errors(text, Path::new("/c.toml"))
            .into_iter()
            .map(|failure| failure.message)
            .collect();
        let has = |part: &str| assert!(found.iter().any(|what| what == part), "{part}: {found:#?}");
        has("/c.toml:1: there is no key `modl`");
        has("/c.toml:2: max_output: it must be a whole number, at least 1, but it is \"lots\"");
        has("/c.toml:3: temperature: it must be a number, but it is \"hot\"");
        has("/c.toml:4: roots: it must be a list, such as [\"…\"], but it is 3");
        has("/c.toml:6: there is no key `limits.qqq`");
        has("/c.toml:9: tools.disabled[1]: it must be a string in quotes, but it is 7");
        has("/c.toml:10: there is no key `tools.title`");
        assert_eq!(found.len(), 7, "{found:#?}");
        assert!(errors("title = false", Path::new("/c.toml")).is_empty());
        assert_eq!(errors("title = ", Path::new("/c.toml")).len(), 1);
    }

    #[test]
    fn text_is_converted_to_the_type_of_the_key() {
        let value = |key: &str, text: &str| {
            let path = super::super::parse_key_path(key).unwrap();
            value_for(&path, text, ConfigOrigin::Flag("--set")).map(|layer| layer.table.to_string().trim().to_string())
        };
        assert_eq!(value("model", "openai/gpt-5.5").unwrap(), "model = \"openai/gpt-5.5\"");
        assert_eq!(value("title", "false").unwrap(), "title = false");
        assert_eq!(value("limits.steps", "7").unwrap(), "[limits]\nsteps = 7");
        assert_eq!(value("limits.time", "5m").unwrap(), "[limits]\ntime = \"5m\"");
        assert_eq!(value("limits.cost", "1").unwrap(), "[limits]\ncost = 1");
        let wrong = value("limits.stps", "7").unwrap_err();
        assert_eq!(wrong.message, "--set: there is no key `limits.stps`");
        assert_eq!(wrong.hint.as_deref(), Some("did you mean `steps`?"));
    }
}
