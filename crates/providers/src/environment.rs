//! The parts of the environment that providers read: variables and small files.
//!
//! Only the binary accesses them directly and passes functions; tests pass fakes.

use std::fmt;
use std::path::{Path, PathBuf};

/// Access to environment variables and credential files.
#[derive(Clone, Copy)]
pub struct ProviderEnvironment<'a> {
    /// The value of an environment variable.
    pub var: &'a dyn Fn(&str) -> Option<String>,
    /// The text of a file, if it exists and is readable.
    pub read: &'a dyn Fn(&Path) -> Option<String>,
}

impl ProviderEnvironment<'_> {
    /// The value of a variable, if it is set and not blank.
    pub(crate) fn var(&self, name: &str) -> Option<String> {
        (self.var)(name).filter(|value| !value.trim().is_empty())
    }

    /// The first of these variables that is set.
    pub(crate) fn first_var(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.var(name))
    }

    pub(crate) fn read_file(&self, path: &Path) -> Option<String> {
        (self.read)(path)
    }

    pub(crate) fn home_dir(&self) -> Option<PathBuf> {
        self.first_var(&["HOME", "USERPROFILE"]).map(PathBuf::from)
    }
}

impl fmt::Debug for ProviderEnvironment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Surroundings")
    }
}
