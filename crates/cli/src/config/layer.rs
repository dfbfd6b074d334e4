//! One source of configuration, and how sources are laid over each other.

use super::check;
use crate::failure::{Failure, Result};
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// One source of configuration.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Layer {
    /// Where it comes from.
    pub(crate) origin: Origin,
    /// What it says.
    pub(crate) table: Table,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Part of hew.
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

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::BuiltIn => f.write_str("built in"),
            Origin::User(path) | Origin::Project(path) => path.display().fmt(f),
            Origin::Variable(name) => write!(f, "${name}"),
            Origin::Flag(name) => f.write_str(name),
        }
    }
}

/// A value in force.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Leaf {
    /// Its key, as TOML writes it.
    pub(crate) key: String,
    /// The value.
    pub(crate) value: Value,
    /// Where it comes from.
    pub(crate) origin: Origin,
}

impl Layer {
    /// What hew does when nobody says anything.
    pub(crate) fn built_in() -> Self {
        let mut table = Table::new();
        table.insert("mode".into(), "code".into());
        table.insert("permission".into(), "workspace".into());
        table.insert("title".into(), true.into());
        Layer {
            origin: Origin::BuiltIn,
            table,
        }
    }

    /// One value.
    pub(crate) fn one(origin: Origin, path: &[String], value: Value) -> Self {
        let mut table = Table::new();
        put(&mut table, path, value);
        Layer { origin, table }
    }

    /// A file that has been checked; `None` where it does not exist.
    pub(crate) fn read(path: &Path, origin: fn(PathBuf) -> Origin) -> Result<Option<Self>> {
        let text = match std::fs::read_to_string(path) {
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
        Ok(Some(Layer {
            origin: origin(path.into()),
            table,
        }))
    }
}

/// All layers as one table, later ones over earlier ones.
pub(crate) fn merge(layers: &[Layer]) -> Table {
    let mut merged = Table::new();
    for layer in layers {
        lay_over(&mut merged, &layer.table);
    }
    merged
}

fn lay_over(under: &mut Table, over: &Table) {
    for (key, value) in over {
        match (under.get_mut(key), value) {
            (Some(Value::Table(old)), Value::Table(new)) => lay_over(old, new),
            (Some(old), new) => *old = new.clone(),
            (None, new) => {
                under.insert(key.clone(), new.clone());
            }
        }
    }
}

/// Every value in force with where it comes from, by key.
pub(crate) fn leaves(layers: &[Layer]) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    collect(&merge(layers), layers, &mut Vec::new(), &mut leaves);
    leaves
}

fn collect(table: &Table, layers: &[Layer], path: &mut Vec<String>, leaves: &mut Vec<Leaf>) {
    for (key, value) in table {
        path.push(key.clone());
        match value {
            Value::Table(inner) if !inner.is_empty() => collect(inner, layers, path, leaves),
            _ => {
                let origin = layers.iter().rev().find(|layer| get(&layer.table, path).is_some());
                leaves.push(Leaf {
                    key: write_path(path),
                    value: value.clone(),
                    origin: origin.map_or(Origin::BuiltIn, |layer| layer.origin.clone()),
                });
            }
        }
        path.pop();
    }
}

/// The value at a path.
pub(crate) fn get<'a>(table: &'a Table, path: &[String]) -> Option<&'a Value> {
    let (last, parents) = path.split_last()?;
    let mut table = table;
    for key in parents {
        table = table.get(key)?.as_table()?;
    }
    table.get(last)
}

/// Puts a value at a path and makes the tables on the way.
pub(crate) fn put(table: &mut Table, path: &[String], value: Value) {
    match path {
        [] => {}
        [last] => {
            table.insert(last.clone(), value);
        }
        [first, rest @ ..] => {
            let inner = table.entry(first.clone()).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

/// Reads a dotted key such as `models."openai/gpt-5".window`.
pub(crate) fn key_path(key: &str) -> Result<Vec<String>> {
    match toml_edit::Key::parse(key) {
        Ok(keys) => Ok(keys.iter().map(|key| key.get().to_string()).collect()),
        Err(_) => Err(Failure::usage(format!("`{key}` is not a key")).hint(
            "write it like `limits.steps`, and quote parts with dots or slashes: models.\"openai/gpt-5\".window",
        )),
    }
}

fn write_path(path: &[String]) -> String {
    path.iter()
        .map(|part| toml_edit::Key::new(part).display_repr().into_owned())
        .collect::<Vec<_>>()
        .join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(origin: Origin, text: &str) -> Layer {
        Layer {
            origin,
            table: text.parse().unwrap(),
        }
    }

    #[test]
    fn later_layers_win_and_each_value_knows_where_it_comes_from() {
        let layers = [
            Layer::built_in(),
            layer(
                Origin::User("/u".into()),
                "model = 'a/b'\n[providers.x.options]\none = 1\ntwo = 2",
            ),
            layer(
                Origin::Project("/p".into()),
                "mode = 'ask'\n[providers.x.options]\ntwo = 3",
            ),
            layer(Origin::Variable("HEW_MODEL"), "model = 'c/d'"),
        ];
        let shown: Vec<String> = leaves(&layers)
            .iter()
            .map(|leaf| format!("{} = {} ({})", leaf.key, leaf.value, leaf.origin))
            .collect();
        assert_eq!(
            shown,
            [
                "mode = \"ask\" (/p)",
                "model = \"c/d\" ($HEW_MODEL)",
                "permission = \"workspace\" (built in)",
                "providers.x.options.one = 1 (/u)",
                "providers.x.options.two = 3 (/p)",
                "title = true (built in)",
            ]
        );
    }

    #[test]
    fn keys_with_slashes_are_quoted_both_ways() {
        let path = key_path("models.\"a/b\".window").unwrap();
        assert_eq!(path, ["models", "a/b", "window"]);
        assert_eq!(write_path(&path), "models.\"a/b\".window");
        assert!(key_path("models.a/b").is_err());
    }
}
