//! The directories that the user trusts. The list is stored outside of projects, so that no project can change it.

use crate::environment::ProcessEnv;
use crate::failure::{Failure, Result};
use crate::{atomic, paths};
pub use context::ProjectTrust;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The stored decisions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrustList {
    /// Trusted directories, with everything below them.
    pub trusted: BTreeSet<PathBuf>,
    /// Directories that the user declined to trust.
    pub declined: BTreeSet<PathBuf>,
    /// The approved programs of each project, see [`project_programs`](crate::project_programs).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub approved: BTreeMap<PathBuf, BTreeSet<String>>,
}

impl TrustList {
    /// Loads the list; it is empty if there is none.
    pub fn load(env: &ProcessEnv) -> Result<Self> {
        let file = file(env)?;
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            // A file instead of the data directory is reported by the database.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(TrustList::default());
            }
            Err(error) => return Err(Failure::file("read", &file, &error)),
        };
        serde_json::from_str(&text).map_err(|error| {
            Failure::failed(format!("{} is damaged: {error}", file.display()))
                .hint("remove the file and trust directories again with `hew trust`")
        })
    }

    /// Whether a directory is trusted. The nearest decision above it applies.
    pub fn get(&self, folder: &Path) -> ProjectTrust {
        for folder in folder.ancestors() {
            if self.declined.contains(folder) {
                return ProjectTrust::Declined;
            }
            if self.trusted.contains(folder) {
                return ProjectTrust::Trusted;
            }
        }
        ProjectTrust::Unknown
    }

    /// Sets whether a directory is trusted, and saves the list.
    pub fn set(&mut self, folder: &Path, trust: ProjectTrust, env: &ProcessEnv) -> Result<()> {
        self.trusted.remove(folder);
        self.declined.remove(folder);
        match trust {
            ProjectTrust::Trusted => drop(self.trusted.insert(folder.into())),
            ProjectTrust::Declined => drop(self.declined.insert(folder.into())),
            ProjectTrust::Unknown => {}
        }
        if trust != ProjectTrust::Trusted {
            self.approved.remove(folder);
        }
        self.save(env)
    }

    /// Saves the list.
    pub(crate) fn save(&self, env: &ProcessEnv) -> Result<()> {
        let file = file(env)?;
        let text = serde_json::to_string_pretty(self).map_err(|error| Failure::failed(error.to_string()))?;
        atomic::write(&file, &format!("{text}\n")).map_err(|error| Failure::file("write", &file, &error))
    }
}

fn file(env: &ProcessEnv) -> Result<PathBuf> {
    Ok(paths::data_dir(env)?.join("trust.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_decision_applies_and_is_saved() {
        let temp = tempfile::tempdir().unwrap();
        let data = temp.path().join("data").display().to_string();
        let env = ProcessEnv::from([("HEW_DATA_DIR", data.as_str())]);
        let mut list = TrustList::load(&env).unwrap();
        assert_eq!(list.get(Path::new("/w/a/b")), ProjectTrust::Unknown);
        list.set(Path::new("/w"), ProjectTrust::Trusted, &env).unwrap();
        list.set(Path::new("/w/a"), ProjectTrust::Declined, &env).unwrap();
        let list = TrustList::load(&env).unwrap();
        assert_eq!(list.get(Path::new("/w/c/d")), ProjectTrust::Trusted);
        assert_eq!(list.get(Path::new("/w/a/b")), ProjectTrust::Declined);
        assert_eq!(list.get(Path::new("/wide")), ProjectTrust::Unknown);
        std::fs::write(file(&env).unwrap(), "{").unwrap();
        assert!(TrustList::load(&env).is_err());
    }
}
