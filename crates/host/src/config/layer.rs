//! One source of configuration, and how sources are merged.

use super::{Config, check, key};
use crate::failure::{Failure, Result};
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// One source of configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigLayer {
    /// Its source.
    pub origin: ConfigOrigin,
    /// Its values.
    pub table: Table,
}

/// The source of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigOrigin {
    /// The default values.
    BuiltIn,
    /// The user's configuration file.
    User(PathBuf),
    /// The project's configuration file.
    Project(PathBuf),
    /// An environment variable.
    Variable(&'static str),
    /// A command line flag.
    Flag(&'static str),
}

impl fmt::Display for ConfigOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigOrigin::BuiltIn => f.write_str("built in"),
            ConfigOrigin::User(path) | ConfigOrigin::Project(path) => path.display().fmt(f),
            ConfigOrigin::Variable(name) => write!(f, "${name}"),
            ConfigOrigin::Flag(name) => f.write_str(name),
        }
    }
}

/// An effective value.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigValue {
    /// Its key, as TOML writes it.
    pub key: String,
    /// The value.
    pub value: Value,
    /// Its source.
    pub origin: ConfigOrigin,
}

/// Larger configuration files are cut off.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Reads a configuration file, which must be a regular file.
pub(crate) fn read_text(path: &Path) -> std::io::Result<String> {
    let bytes = workspace::read_regular_file(path, MAX_BYTES)?;
    String::from_utf8(bytes).map_err(|error| std::io::Error::new(ErrorKind::InvalidData, error))
}

impl ConfigLayer {
    /// The default values.
    pub fn built_in() -> Self {
        ConfigLayer {
            origin: ConfigOrigin::BuiltIn,
            table: key::defaults(Config::KEYS),
        }
    }

    /// A layer with one value.
    pub fn single(origin: ConfigOrigin, path: &[String], value: Value) -> Self {
        let mut table = Table::new();
        insert(&mut table, path, value);
        ConfigLayer { origin, table }
    }

    /// Reads and checks a file. Returns `None` if it does not exist.
    pub fn read(path: &Path, origin: fn(PathBuf) -> ConfigOrigin) -> Result<Option<Self>> {
        let text = match read_text(path) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                return Err(
                    Failure::usage(format!("the configuration {} is not UTF-8 text", path.display()))
                        .hint("save the file as UTF-8"),
                );
            }
            Err(error) => {
                return Err(Failure::file("read the configuration", path, &error)
                    .hint("check the file's permissions, or set HEW_CONFIG to another file"));
            }
        };
        let table = check::parse(&text, path)?;
        Ok(Some(ConfigLayer {
            origin: origin(path.into()),
            table,
        }))
    }
}

/// Merges layers into one table; later ones take precedence.
pub(super) fn merge(layers: &[ConfigLayer]) -> Table {
    let mut merged = Table::new();
    for layer in layers {
        merge_into(&mut merged, &layer.table);
    }
    merged
}

fn merge_into(under: &mut Table, over: &Table) {
    for (key, value) in over {
        match (under.get_mut(key), value) {
            (Some(Value::Table(old)), Value::Table(new)) => merge_into(old, new),
            (Some(old), new) => *old = new.clone(),
            (None, new) => {
                under.insert(key.clone(), new.clone());
            }
        }
    }
}

/// The effective values with their origins, sorted by key.
pub(super) fn effective_values(layers: &[ConfigLayer]) -> Vec<ConfigValue> {
    let mut leaves = Vec::new();
    collect_values(&merge(layers), layers, &mut Vec::new(), &mut leaves);
    leaves
}

fn collect_values(table: &Table, layers: &[ConfigLayer], path: &mut Vec<String>, leaves: &mut Vec<ConfigValue>) {
    for (key, value) in table {
        path.push(key.clone());
        match value {
            Value::Table(inner) if !inner.is_empty() => collect_values(inner, layers, path, leaves),
            _ => {
                let origin = layers.iter().rev().find(|layer| get(&layer.table, path).is_some());
                leaves.push(ConfigValue {
                    key: format_key_path(path),
                    value: value.clone(),
                    origin: origin.map_or(ConfigOrigin::BuiltIn, |layer| layer.origin.clone()),
                });
            }
        }
        path.pop();
    }
}

/// Returns the value at a path.
pub(super) fn get<'a>(table: &'a Table, path: &[String]) -> Option<&'a Value> {
    let (last, parents) = path.split_last()?;
    let mut table = table;
    for key in parents {
        table = table.get(key)?.as_table()?;
    }
    table.get(last)
}

/// Inserts a value at a path and creates the tables on the way.
pub fn insert(table: &mut Table, path: &[String], value: Value) {
    match path {
        [] => {}
        [last] => {
            table.insert(last.clone(), value);
        }
        [first, rest @ ..] => {
            let inner = table.entry(first.clone()).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(inner) = inner {
                insert(inner, rest, value);
            }
        }
    }
}

/// Parses a dotted key such as `models."openai/gpt-5".window`.
pub fn parse_key_path(key: &str) -> Result<Vec<String>> {
    match toml_edit::Key::parse(key) {
        Ok(keys) => Ok(keys.iter().map(|key| key.get().to_string()).collect()),
        Err(_) => Err(Failure::usage(format!("`{key}` is not a key")).hint(
            "write it like `limits.steps`, and quote parts with dots or slashes: models.\"openai/gpt-5\".window",
        )),
    }
}

fn format_key_path(path: &[String]) -> String {
    path.iter()
        .map(|part| toml_edit::Key::new(part).display_repr().into_owned())
        .collect::<Vec<_>>()
        .join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(origin: ConfigOrigin, text: &str) -> ConfigLayer {
        ConfigLayer {
            origin,
            table: text.parse().unwrap(),
        }
    }

    #[test]
    fn later_layers_take_precedence_and_values_have_their_origin() {
        let layers = [
            layer(ConfigOrigin::BuiltIn, "mode = 'code'\npermission = 'workspace'"),
            layer(
                ConfigOrigin::User("/u".into()),
                "model = 'a/b'\n[providers.x.options]\none = 1\ntwo = 2",
            ),
            layer(
                ConfigOrigin::Project("/p".into()),
                "mode = 'ask'\n[providers.x.options]\ntwo = 3",
            ),
            layer(ConfigOrigin::Variable("HEW_MODEL"), "model = 'c/d'"),
        ];
        let values: Vec<String> = effective_values(&layers)
            .iter()
            .map(|value| format!("{} = {} ({})", value.key, value.value, value.origin))
            .collect();
        assert_eq!(
            values,
            [
                "mode = \"ask\" (/p)",
                "model = \"c/d\" ($HEW_MODEL)",
                "permission = \"workspace\" (built in)",
                "providers.x.options.one = 1 (/u)",
                "providers.x.options.two = 3 (/p)",
            ]
        );
    }

    #[test]
    fn keys_with_slashes_are_quoted_both_ways() {
        let path = parse_key_path("models.\"a/b\".window").unwrap();
        assert_eq!(path, ["models", "a/b", "window"]);
        assert_eq!(format_key_path(&path), "models.\"a/b\".window");
        assert!(parse_key_path("models.a/b").is_err());
    }
}
