//! The keys file, for systems without a keyring. Only its owner can read it.

use crate::environment::ProcessEnv;
use crate::failure::{Failure, Result, plain};
use crate::{atomic, paths};
use providers::Secret;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Returns the key of a provider; `None` also if the file cannot be read.
pub fn get(provider: &str, env: &ProcessEnv) -> Option<Secret> {
    let file = paths::keys_file(env).ok()?;
    match read(&file).ok()?.get(provider)? {
        Value::String(key) => Some(Secret::new(key.trim())),
        _ => None,
    }
}

/// All keys in the file.
pub(crate) fn all(env: &ProcessEnv) -> Vec<String> {
    let keys = paths::keys_file(env).and_then(|file| read(&file)).unwrap_or_default();
    keys.into_iter()
        .filter_map(|(_, key)| key.as_str().map(|key| key.trim().to_owned()))
        .collect()
}

/// Stores the key of a provider. Returns the path of the file.
pub fn set(provider: &str, key: &str, env: &ProcessEnv) -> Result<PathBuf> {
    let file = paths::keys_file(env)?;
    let mut keys = read(&file)?;
    keys.insert(provider.into(), Value::String(key.into()));
    write(&file, &keys)?;
    Ok(file)
}

/// Removes the key of a provider. Returns whether there was one.
pub fn remove(provider: &str, env: &ProcessEnv) -> Result<bool> {
    let file = paths::keys_file(env)?;
    let mut keys = read(&file)?;
    let was_there = keys.remove(provider).is_some();
    if was_there {
        write(&file, &keys)?;
    }
    Ok(was_there)
}

/// Checks the file.
pub fn check(env: &ProcessEnv) -> Result<()> {
    let file = paths::keys_file(env)?;
    let keys = read(&file)?;
    match keys.iter().find(|(_, value)| !value.is_str()) {
        Some((name, _)) => Err(Failure::usage(format!(
            "{}: {name}: a key must be a string",
            file.display()
        ))),
        None => Ok(()),
    }
}

fn read(file: &Path) -> Result<Table> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Table::new()),
        Err(error) => return Err(Failure::file("read", file, &error)),
    };
    // The message of the parser would contain the line, and with it a key.
    let table = text.parse::<Table>();
    table.map_err(|_| {
        Failure::usage(format!(
            "{} is not TOML: write it like anthropic = \"…\"",
            file.display()
        ))
    })
}

fn write(file: &Path, keys: &Table) -> Result<()> {
    atomic::write(file, &keys.to_string())
        .map_err(|error| Failure::failed(format!("cannot write {}: {}", file.display(), plain(&error))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn only_the_owner_can_read_stored_keys() {
        let home = tempfile::tempdir().unwrap();
        let env = ProcessEnv::from([("HOME", home.path().to_str().unwrap())]);
        let key = |provider: &str| get(provider, &env).map(|key| key.reveal().to_string());
        assert_eq!(key("anthropic"), None);
        let file = set("anthropic", "one", &env).unwrap();
        assert_eq!(file, home.path().join(".config/hew/keys.toml"));
        set("openai", "two", &env).unwrap();
        set("anthropic", "three", &env).unwrap();
        assert_eq!(
            (key("anthropic"), key("openai")),
            (Some("three".into()), Some("two".into()))
        );
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!((remove("openai", &env), remove("openai", &env)), (Ok(true), Ok(false)));
        assert_eq!(key("openai"), None);
    }

    #[test]
    fn an_invalid_file_is_not_overwritten_and_its_keys_are_not_printed() {
        let home = tempfile::tempdir().unwrap();
        let env = ProcessEnv::from([("HOME", home.path().to_str().unwrap())]);
        let file = set("anthropic", "one", &env).unwrap();
        std::fs::write(&file, "anthropic = sk-secret\n").unwrap();
        for failure in [set("openai", "two", &env).unwrap_err(), check(&env).unwrap_err()] {
            assert!(
                failure.message.contains("is not TOML") && !failure.message.contains("sk-secret"),
                "{failure:?}"
            );
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "anthropic = sk-secret\n");
    }
}
