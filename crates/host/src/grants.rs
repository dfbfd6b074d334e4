//! Grants that outlive a session, in a file outside of every project.
//!
//! The file is always replaced as a whole, so that a running session notices changes by the identity of the file.

use crate::environment::ProcessEnv;
use crate::failure::{Failure, Result};
use crate::{atomic, config, paths};
use policy::{Grant, GrantScope, RevokeOutcome, Rule};
use serde::{Deserialize, Serialize};
use session::{GrantStore, GrantStoreError};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// All stored grants.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredGrants {
    /// Grants for all projects.
    pub always: Vec<Grant>,
    /// Grants by project directory.
    pub projects: BTreeMap<PathBuf, Vec<Grant>>,
}

/// The version of the file: inode, modification time and length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct GrantFileVersion(u64, i64, i64, u64);

/// The file of grants, for one project.
pub struct GrantFile {
    file: PathBuf,
    root: PathBuf,
    cached: Mutex<(Option<GrantFileVersion>, Arc<Vec<Grant>>)>,
}

impl GrantFile {
    /// Opens the file for a project.
    pub fn open(root: &Path, env: &ProcessEnv) -> Result<Self> {
        Ok(GrantFile {
            file: paths::data_dir(env)?.join("grants.json"),
            root: root.into(),
            cached: Mutex::default(),
        })
    }

    /// Loads all grants.
    pub fn load(&self) -> Result<StoredGrants> {
        let text = match std::fs::read_to_string(&self.file) {
            Ok(text) => text,
            // A file instead of the data directory is reported by the database.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(StoredGrants::default());
            }
            Err(error) => return Err(Failure::file("read", &self.file, &error)),
        };
        serde_json::from_str(&text).map_err(|error| {
            Failure::failed(format!("{} is damaged: {error}", self.file.display()))
                .hint("remove the file to revoke all grants")
        })
    }

    /// Changes the file under a lock.
    pub fn update<T>(&self, change: impl FnOnce(&mut StoredGrants) -> T) -> Result<T> {
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

    /// Revokes every grant of a rule for this project and for all projects.
    pub fn revoke(&self, rule: &Rule) -> Result<RevokeOutcome> {
        self.update(|kept| {
            let before = kept.clone();
            kept.always.retain(|grant| grant.rule != *rule);
            if let Some(grants) = kept.projects.get_mut(&self.root) {
                grants.retain(|grant| grant.rule != *rule);
            }
            match *kept == before {
                true => RevokeOutcome::NotFound,
                false => RevokeOutcome::Removed,
            }
        })
    }

    /// Revokes all grants for this project and for all projects. Returns their number.
    pub fn revoke_all(&self) -> Result<usize> {
        self.update(|kept| {
            let here = kept.projects.remove(&self.root).unwrap_or_default();
            here.len() + std::mem::take(&mut kept.always).len()
        })
    }

    fn version(&self) -> Option<GrantFileVersion> {
        let meta = std::fs::metadata(&self.file).ok()?;
        Some(GrantFileVersion(
            meta.ino(),
            meta.mtime(),
            meta.mtime_nsec(),
            meta.len(),
        ))
    }
}

impl GrantStore for GrantFile {
    fn current(&self) -> Arc<Vec<Grant>> {
        let mut seen = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let version = self.version();
        if version != seen.0 {
            // A file that cannot be read contains no grants.
            let mut kept = self.load().unwrap_or_default();
            let mut grants = kept.projects.remove(&self.root).unwrap_or_default();
            grants.extend(kept.always);
            *seen = (version, Arc::new(grants));
        }
        Arc::clone(&seen.1)
    }

    fn save(&self, grant: &Grant) -> Result<(), GrantStoreError> {
        let kept = self.update(|kept| {
            let list = match grant.scope {
                GrantScope::Always => &mut kept.always,
                GrantScope::Once | GrantScope::Session | GrantScope::Project => {
                    kept.projects.entry(self.root.clone()).or_default()
                }
            };
            list.retain(|old| old.rule != grant.rule || old.tool != grant.tool || old.cwd != grant.cwd);
            list.push(grant.clone());
        });
        kept.map_err(|failure| GrantStoreError(failure.message))
    }
}

/// Describes a grant for lists.
pub fn describe(grant: &Grant) -> String {
    format!("{} ({})", grant.rule, describe_origin(grant))
}

/// Describes which tool has the grant, and where.
pub fn describe_origin(grant: &Grant) -> String {
    let place = grant.cwd.as_ref().map(|cwd| format!(" in {}", cwd.display()));
    format!("granted to {}{}", grant.tool, place.unwrap_or_default())
}

/// Revokes a saved answer and the user's equal rules. Returns descriptions of what was removed.
pub fn revoke_rule(rule: &str, root: &Path, env: &ProcessEnv) -> Result<Vec<String>> {
    let parsed: Rule = rule.parse().map_err(|error: policy::Error| {
        Failure::usage(error.to_string()).hint("docs/permissions.md describes the rules")
    })?;
    let mut messages = Vec::new();
    if GrantFile::open(root, env)?.revoke(&parsed)? == RevokeOutcome::Removed {
        messages.push("the saved answer was removed".to_string());
    }
    let file = paths::user_config_file(env)?;
    for word in ["allow", "ask", "deny"] {
        let key = format!("permissions.{word}");
        let rules = config::list(&file, &key)?;
        let rest: Vec<String> = rules
            .iter()
            .filter(|known| **known != parsed.to_string())
            .cloned()
            .collect();
        if rest.len() < rules.len() {
            config::set(&file, &key, &toml::Value::from(rest).to_string())?;
            messages.push(format!("removed from `{word}` in {}", paths::display_path(&file, env)));
        }
    }
    if messages.is_empty() {
        return Err(
            Failure::usage(format!("`{rule}` is neither a saved answer nor one of your rules"))
                .hint("`hew permissions list` shows them"),
        );
    }
    Ok(messages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::{Action, PathArea};

    fn grant(path: &str, scope: GrantScope) -> Grant {
        let action = Action::Read {
            path: path.into(),
            place: PathArea::Outside,
        };
        Grant::exact("read_file", &action, scope).unwrap()
    }

    #[test]
    fn grants_survive_a_restart_and_revocations_apply_immediately() {
        let temp = tempfile::tempdir().unwrap();
        let data = temp.path().display().to_string();
        let env = ProcessEnv::from([("HEW_DATA_DIR", data.as_str())]);
        let here = GrantFile::open(Path::new("/p"), &env).unwrap();
        assert_eq!(here.current().len(), 0);
        here.save(&grant("/a", GrantScope::Project)).unwrap();
        here.save(&grant("/a", GrantScope::Project)).unwrap();
        here.save(&grant("/b", GrantScope::Always)).unwrap();
        assert_eq!(here.current().len(), 2);
        assert!(Arc::ptr_eq(&here.current(), &here.current()));
        let other_project = GrantFile::open(Path::new("/q"), &env).unwrap();
        assert_eq!(other_project.current().len(), 1, "only grants for all projects");
        let again = GrantFile::open(Path::new("/p"), &env).unwrap();
        assert_eq!(again.current().len(), 2);
        assert_eq!(again.revoke(&"read(=/a)".parse().unwrap()), Ok(RevokeOutcome::Removed));
        assert_eq!(again.revoke(&"read(=/a)".parse().unwrap()), Ok(RevokeOutcome::NotFound));
        assert_eq!(here.current().len(), 1, "the running session notices it");
        assert_eq!(again.revoke_all(), Ok(1));
        assert_eq!(here.current().len(), 0);
    }

    #[test]
    fn a_damaged_file_contains_no_grants_and_is_not_overwritten() {
        let temp = tempfile::tempdir().unwrap();
        let data = temp.path().display().to_string();
        let env = ProcessEnv::from([("HEW_DATA_DIR", data.as_str())]);
        std::fs::write(temp.path().join("grants.json"), "{\"always\": [").unwrap();
        let file = GrantFile::open(Path::new("/p"), &env).unwrap();
        assert_eq!(file.current().len(), 0);
        assert!(
            file.save(&grant("/a", GrantScope::Always))
                .unwrap_err()
                .0
                .contains("is damaged")
        );
    }
}
