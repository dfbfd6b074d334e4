//! Checks what a layer says, and explains mistakes with the file, the line and the nearest key.

use super::layer::Layer;
use super::{Config, Origin};
use crate::failure::{Failure, Result};
use serde::de::Error as _;
use serde_json::Value as Json;
use std::path::Path;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};
use tool::{Misread, Step};

/// As many mistakes are told at once.
const MOST: usize = 50;

/// Reads the text of a configuration file.
pub(super) fn parse(text: &str, path: &Path) -> Result<Table> {
    let table = text.parse::<Table>().map_err(|error| {
        let place = place(path, text, error.span().map(|span| span.start));
        describe("", error.message(), &place)
    })?;
    fit(&table).map_err(|error| {
        let place = place(path, text, where_is(&error, text));
        describe(&error.place(), &error.reason, &place)
    })?;
    Ok(table)
}

/// Everything that is wrong in the text of a configuration file: what is misread is left out and the rest looked at again.
pub(super) fn mistakes(text: &str, path: &Path) -> Vec<Failure> {
    let mut table = match text.parse::<Table>() {
        Ok(table) => table,
        Err(_) => return parse(text, path).err().into_iter().collect(),
    };
    let mut found = Vec::new();
    while found.len() < MOST
        && let Err(error) = fit(&table)
    {
        let place = place(path, text, where_is(&error, text));
        let unknown = unknown_name(&error.reason, "unknown field").map(|(name, _)| name);
        found.push(describe(&error.place(), &error.reason, &place));
        let keys = error.steps().map_while(|step| match step {
            Step::Key(name) => Some(name.clone()),
            Step::Item(_) => None,
        });
        if !leave_out(&mut table, keys.collect(), unknown) {
            break;
        }
    }
    found
}

/// Takes out what a misread points at; whether it was there.
fn leave_out(table: &mut Table, mut keys: Vec<String>, unknown: Option<String>) -> bool {
    // The way to an unknown key may end above it.
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

/// Reads a merged table.
pub(super) fn read(table: &Table) -> Result<Config> {
    fit(table).map_err(|error| Failure::usage(format!("configuration: {error}")))
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
        match fit(&layer.table) {
            Ok(_) => return Ok(layer),
            Err(error) => problem = problem.or(Some(error)),
        }
    }
    let (key, message) = match problem {
        Some(error) => (error.place(), error.reason),
        None => (String::new(), String::new()),
    };
    Err(describe(&key, &message, &format!("{origin}: ")))
}

/// Checks a layer that was put together from values of the right type.
pub(super) fn fits(layer: &Layer) -> Result<()> {
    match fit(&layer.table) {
        Ok(_) => Ok(()),
        Err(error) => Err(describe(&error.place(), &error.reason, &format!("{}: ", layer.origin))),
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
    match fit(&layer.table) {
        Err(error) if error.reason.starts_with("unknown field") && !error.reason.contains(DATE) => {
            Err(describe(&error.place(), &error.reason, ""))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// The configuration that a table means.
fn fit(table: &Table) -> std::result::Result<Config, Misread> {
    tool::read(&object(table)?)
}

/// What a date becomes, so that it is taken neither for text nor for a number.
const DATE: &str = "$date";

fn object(table: &Table) -> std::result::Result<Json, Misread> {
    let entries = table.iter().map(|(key, value)| {
        let value = json(value).map_err(|error| error.under(Step::Key(key.clone())))?;
        Ok((key.clone(), value))
    });
    entries.collect::<std::result::Result<_, _>>().map(Json::Object)
}

fn json(value: &Value) -> std::result::Result<Json, Misread> {
    Ok(match value {
        Value::String(text) => Json::String(text.clone()),
        Value::Integer(number) => Json::from(*number),
        Value::Float(number) if !number.is_finite() => {
            return Err(Misread::custom(format_args!("{number} is not a quantity")));
        }
        Value::Float(number) => Json::from(*number),
        Value::Boolean(value) => Json::Bool(*value),
        Value::Datetime(date) => serde_json::json!({ DATE: date.to_string() }),
        Value::Array(items) => {
            let items = items.iter().enumerate();
            let items = items.map(|(at, item)| json(item).map_err(|error| error.under(Step::Item(at))));
            Json::Array(items.collect::<std::result::Result<_, _>>()?)
        }
        Value::Table(table) => object(table)?,
    })
}

/// Where in the text the misread value is: a key that does not belong there, or a value that does not fit its key.
fn where_is(error: &Misread, text: &str) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let mut at = None;
    let mut table = Some(document.get_ref());
    let mut value: Option<&Spanned<DeValue<'_>>> = None;
    for step in error.steps() {
        value = match step {
            Step::Key(name) => {
                let entry = table.and_then(|table| table.iter().find(|(key, _)| key.get_ref() == name.as_str()));
                at = entry.map(|(key, _)| key.span().start).or(at);
                entry.map(|(_, value)| value)
            }
            Step::Item(index) => {
                let item = value.and_then(|value| value.get_ref().get(*index));
                at = item.map(|item| item.span().start).or(at);
                item
            }
        };
        table = value.and_then(|value| value.get_ref().as_table());
    }
    at
}

fn place(path: &Path, text: &str, at: Option<usize>) -> String {
    match at.map(|at| text.get(..at).unwrap_or(text).matches('\n').count() + 1) {
        Some(line) => format!("{}:{line}: ", path.display()),
        None => format!("{}: ", path.display()),
    }
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
    let message = plain(message.lines().next().unwrap_or_default());
    Failure::usage(format!("{place}{subject}{message}")).hint("`hew config schema` describes all keys")
}

/// A complaint of the reader in the words of people: what was written, and what is wanted.
fn plain(message: &str) -> String {
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
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "a boolean" | "bool" => "true or false",
        "a string" | "string" => "a text in quotes",
        "a sequence" | "sequence" => "a list, such as [\"…\"]",
        "a map" | "map" => "a table",
        wanted if wanted.starts_with("struct ") => "a table",
        wanted if wanted.starts_with("enum ") => "one of its choices, in quotes",
        other => other,
    };
    format!("it must be {wanted}, but it is {got}")
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
                "/c.toml:2: max_output: it must be a whole number, not below 0, but it is \"lots\"",
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
    fn all_mistakes_of_a_file_are_found_at_once() {
        let text = "modl = \"a/b\"\nmax_output = \"lots\"\ntemperature = \"hot\"\nroots = 3\n[limits]\nqqq = 1\nsteps = 5\n\
                    [tools]\ndisabled = [\"a\", 7]\ntitle = true\n";
        let found: Vec<String> = mistakes(text, Path::new("/c.toml"))
            .into_iter()
            .map(|failure| failure.what)
            .collect();
        let has = |part: &str| assert!(found.iter().any(|what| what == part), "{part}: {found:#?}");
        has("/c.toml:1: there is no key `modl`");
        has("/c.toml:2: max_output: it must be a whole number, not below 0, but it is \"lots\"");
        has("/c.toml:3: temperature: it must be a number, but it is \"hot\"");
        has("/c.toml:4: roots: it must be a list, such as [\"…\"], but it is 3");
        has("/c.toml:6: there is no key `limits.qqq`");
        has("/c.toml:9: tools.disabled[1]: it must be a text in quotes, but it is 7");
        has("/c.toml:10: there is no key `tools.title`");
        assert_eq!(found.len(), 7, "{found:#?}");
        assert!(mistakes("title = false", Path::new("/c.toml")).is_empty());
        assert_eq!(mistakes("title = ", Path::new("/c.toml")).len(), 1);
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
