//! Changes one key of a configuration file and leaves comments and order alone.

use super::{Layer, Origin, check, layer};
use crate::atomic;
use crate::failure::{Failure, Result};
use std::io::ErrorKind;
use std::path::Path;
use toml_edit::{DocumentMut, Item, Table};

/// Sets a key. The file is made where it does not exist, and is left alone where the value does not fit.
pub(crate) fn set(file: &Path, key: &str, text: &str) -> Result<()> {
    let path = layer::key_path(key)?;
    let checked = check::value_for(&path, text, Origin::Flag("hew config set"))?;
    let value = layer::get(&checked.table, &path).cloned();
    let value: toml_edit::Value = match value.map(|value| value.to_string().parse()) {
        Some(Ok(value)) => value,
        Some(Err(_)) | None => return Err(Failure::usage(format!("`{key}` needs a value"))),
    };
    change(file, &path, |table, last| {
        let mut value = value;
        // A comment behind the old value stays.
        if let Some(old) = table.get(last).and_then(Item::as_value) {
            *value.decor_mut() = old.decor().clone();
        }
        table.insert(last, Item::Value(value));
    })
}

/// The texts that a list in a file holds; none where it is not there.
pub(crate) fn list(file: &Path, key: &str) -> Result<Vec<String>> {
    let path = layer::key_path(key)?;
    let layer = Layer::read(file, Origin::User)?;
    let value = layer.as_ref().and_then(|layer| layer::get(&layer.table, &path));
    let items = value.and_then(toml::Value::as_array).into_iter().flatten();
    Ok(items.filter_map(|item| item.as_str().map(String::from)).collect())
}

/// Whether a key was there to be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unset {
    /// It was, and it is gone.
    Removed,
    /// It was not; the file is as it was.
    NotThere,
}

/// Removes a key.
pub(crate) fn remove(file: &Path, key: &str) -> Result<Unset> {
    let path = layer::key_path(key)?;
    check::known_key(&path)?;
    let set = Layer::read(file, Origin::User)?.is_some_and(|layer| layer::get(&layer.table, &path).is_some());
    if !set {
        return Ok(Unset::NotThere);
    }
    change(file, &path, |table, last| {
        table.remove(last);
    })?;
    Ok(Unset::Removed)
}

fn change(file: &Path, path: &[String], edit: impl FnOnce(&mut Table, &str)) -> Result<()> {
    let old = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Failure::file("read", file, &error)),
    };
    // A file with mistakes is not made worse by a program.
    check::parse(&old, file)?;
    let mut document: DocumentMut = old
        .parse()
        .map_err(|error: toml_edit::TomlError| Failure::usage(format!("{}: {}", file.display(), error.message())))?;
    let Some((last, parents)) = path.split_last() else {
        return Err(Failure::usage("a key is needed"));
    };
    let mut table = document.as_table_mut();
    for parent in parents {
        let entry = table.entry(parent).or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        // Inline tables become ordinary ones, so that there is one way to edit them.
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
        Failure::file("write", file, &error).hint("check the folder's permissions, or set HEW_CONFIG to another file")
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
        assert_eq!(remove(&file, "model"), Ok(Unset::Removed));
        assert_eq!(remove(&file, "model"), Ok(Unset::NotThere));
        let wrong = remove(&file, "modle").unwrap_err();
        assert_eq!(wrong.hint.as_deref(), Some("did you mean `model`?"));
        assert_eq!(
            std::fs::read_to_string(&file).unwrap(),
            "\n# mine\n[limits]\nsteps = 6 # few\n\n[models.\"a/b\"]\nwindow = 1000\n"
        );
    }

    #[test]
    fn a_value_that_does_not_fit_changes_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("config.toml");
        assert!(set(&file, "limits.steps", "many").is_err());
        assert!(!file.exists());
        std::fs::write(&file, "nonsense = 1\n").unwrap();
        assert!(set(&file, "model", "a/b").is_err());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "nonsense = 1\n");
    }
}
