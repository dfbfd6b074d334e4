//! The file for keys, for systems without a keyring: beside the configuration, and readable by its owner only.

use crate::environment::Environment;
use crate::failure::{Failure, Result, plain};
use crate::{atomic, places};
use providers::Secret;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The key of a provider. A file that cannot be read has none; whoever changes it is told why.
pub(crate) fn get(provider: &str, env: &Environment) -> Option<Secret> {
    let file = places::keys(env).ok()?;
    match read(&file).ok()?.get(provider)? {
        Value::String(key) => Some(Secret::new(key.trim())),
        _ => None,
    }
}

/// Keeps the key of a provider, in place of an older one; where.
pub(crate) fn set(provider: &str, key: &str, env: &Environment) -> Result<PathBuf> {
    let file = places::keys(env)?;
    let mut keys = read(&file)?;
    keys.insert(provider.into(), Value::String(key.into()));
    write(&file, &keys)?;
    Ok(file)
}

/// Forgets the key of a provider; whether there was one.
pub(crate) fn remove(provider: &str, env: &Environment) -> Result<bool> {
    let file = places::keys(env)?;
    let mut keys = read(&file)?;
    let was_there = keys.remove(provider).is_some();
    if was_there {
        write(&file, &keys)?;
    }
    Ok(was_there)
}

/// What is wrong with the file, if anything.
pub(crate) fn check(env: &Environment) -> Result<()> {
    let file = places::keys(env)?;
    let keys = read(&file)?;
    match keys.iter().find(|(_, value)| !value.is_str()) {
        Some((name, _)) => Err(Failure::usage(format!("{}: {name}: a key is a text", file.display()))),
        None => Ok(()),
    }
}

fn read(file: &Path) -> Result<Table> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Table::new()),
        Err(error) => return Err(Failure::file("read", file, &error)),
    };
    // The parser would quote the line, and with it a key.
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
    fn keys_are_kept_where_only_their_owner_can_read_them() {
        let home = tempfile::tempdir().unwrap();
        let env = Environment::from([("HOME", home.path().to_str().unwrap())]);
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
    fn a_broken_file_is_not_written_over_and_no_key_of_it_is_told() {
        let home = tempfile::tempdir().unwrap();
        let env = Environment::from([("HOME", home.path().to_str().unwrap())]);
        let file = set("anthropic", "one", &env).unwrap();
        std::fs::write(&file, "anthropic = sk-secret\n").unwrap();
        for failure in [set("openai", "two", &env).unwrap_err(), check(&env).unwrap_err()] {
            assert!(
                failure.what.contains("is not TOML") && !failure.what.contains("sk-secret"),
                "{failure:?}"
            );
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "anthropic = sk-secret\n");
    }
}
