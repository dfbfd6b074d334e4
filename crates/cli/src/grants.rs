//! Answers that count beyond a session, in a file outside of every project.
//!
//! Whoever changes the file replaces it as a whole, so that a running session sees by its identity that something was granted or
//! taken back.

use crate::environment::Environment;
use crate::failure::{Failure, Result};
use crate::{atomic, places};
use policy::{Grant, Revoked, Rule, Scope};
use serde::{Deserialize, Serialize};
use session::Keeper;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// All answers that are kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Kept {
    /// Those that count everywhere.
    pub(crate) always: Vec<Grant>,
    /// Those that count in a project, by its folder.
    pub(crate) projects: BTreeMap<PathBuf, Vec<Grant>>,
}

/// Which version of the file this is: a new file has another number, a new text another time or length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Version(u64, i64, i64, u64);

/// The file of answers, as one project sees it.
pub(crate) struct GrantFile {
    file: PathBuf,
    root: PathBuf,
    seen: Mutex<(Option<Version>, Arc<Vec<Grant>>)>,
}

impl GrantFile {
    /// The file, for a project.
    pub(crate) fn open(root: &Path, env: &Environment) -> Result<Self> {
        Ok(GrantFile {
            file: places::data(env)?.join("grants.json"),
            root: root.into(),
            seen: Mutex::default(),
        })
    }

    /// Everything that is kept, for all projects.
    pub(crate) fn load(&self) -> Result<Kept> {
        let text = match std::fs::read_to_string(&self.file) {
            Ok(text) => text,
            // A file in the place of a folder is for the database to complain about.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(Kept::default());
            }
            Err(error) => return Err(Failure::file("read", &self.file, &error)),
        };
        serde_json::from_str(&text).map_err(|error| {
            Failure::failed(format!("{} is damaged: {error}", self.file.display()))
                .hint("remove the file to forget all answers")
        })
    }

    /// Changes what is kept; nobody else does meanwhile.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Kept) -> T) -> Result<T> {
        let refuse = |error: &std::io::Error| Failure::file("write", &self.file, error);
        let folder = self.file.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(folder).map_err(|error| refuse(&error))?;
        let lock = File::create(folder.join("grants.lock")).map_err(|error| refuse(&error))?;
        rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).map_err(|error| refuse(&error.into()))?;
        let mut kept = self.load()?;
        let changed = change(&mut kept);
        kept.projects.retain(|_, grants| !grants.is_empty());
        let text = serde_json::to_string_pretty(&kept).map_err(|error| Failure::failed(error.to_string()))?;
        atomic::write(&self.file, &format!("{text}\n")).map_err(|error| refuse(&error))?;
        Ok(changed)
    }

    /// Takes back every answer with this rule, in this project and everywhere.
    pub(crate) fn revoke(&self, rule: &Rule) -> Result<Revoked> {
        self.change(|kept| {
            let before = kept.clone();
            kept.always.retain(|grant| grant.rule != *rule);
            if let Some(grants) = kept.projects.get_mut(&self.root) {
                grants.retain(|grant| grant.rule != *rule);
            }
            match *kept == before {
                true => Revoked::Unknown,
                false => Revoked::Gone,
            }
        })
    }

    /// Takes back everything that was answered for this project, and what counts everywhere; says how much that was.
    pub(crate) fn revoke_all(&self) -> Result<usize> {
        self.change(|kept| {
            let here = kept.projects.remove(&self.root).unwrap_or_default();
            here.len() + std::mem::take(&mut kept.always).len()
        })
    }

    fn version(&self) -> Option<Version> {
        let meta = std::fs::metadata(&self.file).ok()?;
        Some(Version(meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.len()))
    }
}

impl Keeper for GrantFile {
    fn current(&self) -> Arc<Vec<Grant>> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let version = self.version();
        if version != seen.0 {
            // A file that cannot be read grants nothing.
            let mut kept = self.load().unwrap_or_default();
            let mut grants = kept.projects.remove(&self.root).unwrap_or_default();
            grants.extend(kept.always);
            *seen = (version, Arc::new(grants));
        }
        Arc::clone(&seen.1)
    }

    fn keep(&self, grant: &Grant) -> Result<(), String> {
        let kept = self.change(|kept| {
            let list = match grant.scope {
                Scope::Always => &mut kept.always,
                Scope::Once | Scope::Session | Scope::Project => kept.projects.entry(self.root.clone()).or_default(),
            };
            list.retain(|old| old.rule != grant.rule || old.tool != grant.tool || old.cwd != grant.cwd);
            list.push(grant.clone());
        });
        kept.map_err(|failure| failure.what)
    }
}

/// An answer in words, for lists.
pub(crate) fn describe(grant: &Grant) -> String {
    let place = grant.cwd.as_ref().map(|cwd| format!(" in {}", cwd.display()));
    format!("{} (asked by {}{})", grant.rule, grant.tool, place.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::{Deed, Place};

    fn grant(path: &str, scope: Scope) -> Grant {
        let deed = Deed::Read {
            path: Path::new(path),
            place: Place::Outside,
        };
        Grant::of("read_file", &deed, scope).unwrap()
    }

    #[test]
    fn answers_survive_a_restart_and_one_taken_back_elsewhere_is_gone_at_once() {
        let temp = tempfile::tempdir().unwrap();
        let data = temp.path().display().to_string();
        let env = Environment::from([("HEW_DATA_DIR", data.as_str())]);
        let here = GrantFile::open(Path::new("/p"), &env).unwrap();
        assert_eq!(here.current().len(), 0);
        here.keep(&grant("/a", Scope::Project)).unwrap();
        here.keep(&grant("/a", Scope::Project)).unwrap();
        here.keep(&grant("/b", Scope::Always)).unwrap();
        assert_eq!(here.current().len(), 2);
        assert!(Arc::ptr_eq(&here.current(), &here.current()));
        let elsewhere = GrantFile::open(Path::new("/q"), &env).unwrap();
        assert_eq!(elsewhere.current().len(), 1, "only what counts everywhere");
        let again = GrantFile::open(Path::new("/p"), &env).unwrap();
        assert_eq!(again.current().len(), 2);
        assert_eq!(again.revoke(&"read(=/a)".parse().unwrap()), Ok(Revoked::Gone));
        assert_eq!(again.revoke(&"read(=/a)".parse().unwrap()), Ok(Revoked::Unknown));
        assert_eq!(here.current().len(), 1, "seen by the session that runs");
        assert_eq!(again.revoke_all(), Ok(1));
        assert_eq!(here.current().len(), 0);
    }

    #[test]
    fn a_damaged_file_grants_nothing_and_is_not_overwritten() {
        let temp = tempfile::tempdir().unwrap();
        let data = temp.path().display().to_string();
        let env = Environment::from([("HEW_DATA_DIR", data.as_str())]);
        std::fs::write(temp.path().join("grants.json"), "{\"always\": [").unwrap();
        let file = GrantFile::open(Path::new("/p"), &env).unwrap();
        assert_eq!(file.current().len(), 0);
        assert!(
            file.keep(&grant("/a", Scope::Always))
                .unwrap_err()
                .contains("is damaged")
        );
    }
}
