//! Changes single keys of a configuration file and keeps comments and order.

use super::{ConfigLayer, ConfigOrigin, check, layer};
use crate::atomic;
use crate::failure::{Failure, Result};
use std::io::ErrorKind;
use std::path::Path;
use toml_edit::{DocumentMut, Item, Table};

/// Sets a key. Creates the file if it does not exist; does not change it if the value is invalid.
pub fn set(file: &Path, key: &str, text: &str) -> Result<()> {
    let path = layer::parse_key_path(key)?;
    let checked = check::value_for(&path, text, ConfigOrigin::Flag("hew config set"))?;
    let value = layer::get(&checked.table, &path).cloned();
    let value: toml_edit::Value = match value.map(|value| value.to_string().parse()) {
        Some(Ok(value)) => value,
        Some(Err(_)) | None => return Err(Failure::usage(format!("`{key}` needs a value"))),
    };
    edit_file(file, &path, |table, last| {
        let mut value = value;
        // A comment after the old value stays.
        if let Some(old) = table.get(last).and_then(Item::as_value) {
            *value.decor_mut() = old.decor().clone();
        }
        table.insert(last, Item::Value(value));
    })
}

/// The strings of a list in a file; empty if it is not set.
pub fn list(file: &Path, key: &str) -> Result<Vec<String>> {
    let path = layer::parse_key_path(key)?;
    let layer = ConfigLayer::read(file, ConfigOrigin::User)?;
    let value = layer.as_ref().and_then(|layer| layer::get(&layer.table, &path));
    let items = value.and_then(toml::Value::as_array).into_iter().flatten();
    Ok(items.filter_map(|item| item.as_str().map(String::from)).collect())
}

/// The result of removing a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRemoval {
    /// It was removed.
    Removed,
    /// It was not set; the file is unchanged.
    NotSet,
}

/// Removes a key.
pub fn remove(file: &Path, key: &str) -> Result<KeyRemoval> {
    let path = layer::parse_key_path(key)?;
    check::check_key(&path)?;
    let set =
        ConfigLayer::read(file, ConfigOrigin::User)?.is_some_and(|layer| layer::get(&layer.table, &path).is_some());
    if !set {
        return Ok(KeyRemoval::NotSet);
    }
    edit_file(file, &path, |table, last| {
        table.remove(last);
    })?;
    Ok(KeyRemoval::Removed)
}

fn edit_file(file: &Path, path: &[String], edit: impl FnOnce(&mut Table, &str)) -> Result<()> {
    let old = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Failure::file("read", file, &error)),
    };
    // A file with errors is not changed.
    check::parse(&old, file)?;
    let mut document: DocumentMut = old
        .parse()
        .map_err(|error: toml_edit::TomlError| Failure::usage(format!("{}: {}", file.display(), error.message())))?;
    let Some((last, parents)) = path.split_last() else {
        return Err(Failure::usage("missing key"));
    };
    let mut table = document.as_table_mut();
    for parent in parents {
        let entry = table.entry(parent).or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        // Inline tables become ordinary ones.
        if let Some(inline) = entry.as_inline_table() {
            *entry = Item::Table(inline.clone().into_table());
        }
        table = entry
            .as_table_mut()
            .ok_or_else(|| Failure::usage(format!("`{parent}` is not a table in {}", file.display())))?;
    }
    edit(table, last);
    let new = document.to_string();
    check::parse(&new, file)?;
    atomic::write(file, &new).map_err(|error| {
        Failure::file("write", file, &error)
            .hint("check the permissions of the directory, or set HEW_CONFIG to another file")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_set_in_place_and_comments_stay() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("hew/config.toml");
        set(&file, "model", "openai/gpt-5.5").unwrap();
        set(&file, "limits.steps", "5").unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text, "model = \"openai/gpt-5.5\"\n\n[limits]\nsteps = 5\n");
        let commented = text
            .replace("[limits]", "# mine\n[limits]")
            .replace("steps = 5", "steps = 5 # few");
        std::fs::write(&file, commented).unwrap();
        set(&file, "limits.steps", "6").unwrap();
        set(&file, "models.\"a/b\".window", "1000").unwrap();
        assert_eq!(remove(&file, "model"), Ok(KeyRemoval::Removed));
        assert_eq!(remove(&file, "model"), Ok(KeyRemoval::NotSet));
        let wrong = remove(&file, "modle").unwrap_err();
        assert_eq!(wrong.hint.as_deref(), Some("did you mean `model`?"));
        assert_eq!(
            std::fs::read_to_string(&file).unwrap(),
            "\n# mine\n[limits]\nsteps = 6 # few\n\n[models.\"a/b\"]\nwindow = 1000\n"
        );
    }

    #[test]
    fn an_invalid_value_changes_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("config.toml");
        assert!(set(&file, "limits.steps", "many").is_err());
        assert!(!file.exists());
        std::fs::write(&file, "nonsense = 1\n").unwrap();
        assert!(set(&file, "model", "a/b").is_err());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "nonsense = 1\n");
    }
}
