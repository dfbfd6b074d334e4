//! What a provider may ask of the machine: environment variables and small files.
//!
//! Only the program itself touches those, so it hands over the means; tests hand over made-up ones.

use std::fmt;
use std::path::{Path, PathBuf};

/// Where credentials may be found.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The value of an environment variable.
    pub var: &'a dyn Fn(&str) -> Option<String>,
    /// The text of a file, where it exists and can be read.
    pub read: &'a dyn Fn(&Path) -> Option<String>,
}

impl Surroundings<'_> {
    /// The value of a variable that is set to something.
    pub(crate) fn var(&self, name: &str) -> Option<String> {
        (self.var)(name).filter(|value| !value.trim().is_empty())
    }

    /// The first of these variables that is set.
    pub(crate) fn first(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.var(name))
    }

    pub(crate) fn read(&self, path: &Path) -> Option<String> {
        (self.read)(path)
    }

    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.first(&["HOME", "USERPROFILE"]).map(PathBuf::from)
    }
}

impl fmt::Debug for Surroundings<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Surroundings")
    }
}
