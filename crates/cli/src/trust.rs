//! Which folders the person trusts. It is kept outside of them, so that no project can say it of itself.

use crate::environment::Environment;
use crate::failure::{Failure, Result};
use crate::{atomic, places};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Whether the person trusts a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Trust {
    /// They said so, of this folder or of one above it.
    Trusted,
    /// They said no.
    Declined,
    /// They were never asked.
    #[default]
    Unknown,
}

/// What is kept about trust.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct TrustList {
    /// Folders that are trusted, with everything below them.
    pub(crate) trusted: BTreeSet<PathBuf>,
    /// Folders of which the person said that they are not.
    pub(crate) declined: BTreeSet<PathBuf>,
}

impl TrustList {
    /// Reads the list; none where nothing was ever said.
    pub(crate) fn load(env: &Environment) -> Result<Self> {
        let file = file(env)?;
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            // A file in the place of a folder is for the database to complain about.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(TrustList::default());
            }
            Err(error) => return Err(Failure::file("read", &file, &error)),
        };
        serde_json::from_str(&text).map_err(|error| {
            Failure::failed(format!("{} is damaged: {error}", file.display()))
                .hint("remove the file to trust no folder, and trust again with `hew trust`")
        })
    }

    /// Whether a folder is trusted. The nearest folder of which something was said decides.
    pub(crate) fn of(&self, folder: &Path) -> Trust {
        for folder in folder.ancestors() {
            if self.declined.contains(folder) {
                return Trust::Declined;
            }
            if self.trusted.contains(folder) {
                return Trust::Trusted;
            }
        }
        Trust::Unknown
    }

    /// Says whether a folder is trusted, and keeps it.
    pub(crate) fn say(&mut self, folder: &Path, trust: Trust, env: &Environment) -> Result<()> {
        self.trusted.remove(folder);
        self.declined.remove(folder);
        match trust {
            Trust::Trusted => drop(self.trusted.insert(folder.into())),
            Trust::Declined => drop(self.declined.insert(folder.into())),
            Trust::Unknown => {}
        }
        let file = file(env)?;
        let text = serde_json::to_string_pretty(self).map_err(|error| Failure::failed(error.to_string()))?;
        atomic::write(&file, &format!("{text}\n")).map_err(|error| Failure::file("write", &file, &error))
    }
}

fn file(env: &Environment) -> Result<PathBuf> {
    Ok(places::data(env)?.join("trust.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_folder_decides_and_what_was_said_is_kept_outside() {
        let temp = tempfile::tempdir().unwrap();
        let data = temp.path().join("data").display().to_string();
        let env = Environment::from([("HEW_DATA_DIR", data.as_str())]);
        let mut list = TrustList::load(&env).unwrap();
        assert_eq!(list.of(Path::new("/w/a/b")), Trust::Unknown);
        list.say(Path::new("/w"), Trust::Trusted, &env).unwrap();
        list.say(Path::new("/w/a"), Trust::Declined, &env).unwrap();
        let list = TrustList::load(&env).unwrap();
        assert_eq!(list.of(Path::new("/w/c/d")), Trust::Trusted);
        assert_eq!(list.of(Path::new("/w/a/b")), Trust::Declined);
        assert_eq!(list.of(Path::new("/wide")), Trust::Unknown);
        std::fs::write(file(&env).unwrap(), "{").unwrap();
        assert!(TrustList::load(&env).is_err());
    }
}
