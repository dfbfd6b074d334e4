//! The environment variables and working directory of the process, as a value.

use providers::Secret;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Environment variables and the working directory. Empty variables count as unset.
#[derive(Debug, Clone, Default)]
pub struct ProcessEnv {
    variables: BTreeMap<String, String>,
    /// Keys for this process only, by provider.
    session_keys: Arc<Mutex<BTreeMap<String, Secret>>>,
    /// The working directory; `None` if it no longer exists.
    pub cwd: Option<PathBuf>,
}

impl ProcessEnv {
    /// An environment with these variables and working directory.
    pub fn new(variables: impl IntoIterator<Item = (String, String)>, cwd: Option<PathBuf>) -> Self {
        ProcessEnv {
            variables: variables.into_iter().filter(|(_, value)| !value.is_empty()).collect(),
            session_keys: Arc::default(),
            cwd,
        }
    }

    /// Sets a variable to a path.
    pub fn with(mut self, name: &str, value: &Path) -> Self {
        self.variables.insert(name.into(), value.display().to_string());
        self
    }

    /// Returns the value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// Returns the first of these variables that is set, with its name.
    pub fn first<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Option<(&'a str, &str)> {
        names
            .into_iter()
            .find_map(|name| self.get(name).map(|value| (name, value)))
    }

    /// Sets the key of a provider for this process only.
    pub fn set_session_key(&self, provider: &str, key: &str) {
        let mut given = self.session_keys.lock().unwrap_or_else(PoisonError::into_inner);
        given.insert(provider.into(), Secret::new(key));
    }

    /// Returns the key of a provider that was set for this process.
    pub fn session_key(&self, provider: &str) -> Option<Secret> {
        let given = self.session_keys.lock().unwrap_or_else(PoisonError::into_inner);
        given.get(provider).cloned()
    }

    /// All variables, by name.
    pub fn all(&self) -> &BTreeMap<String, String> {
        &self.variables
    }

    /// Whether output shall be without colours and animation.
    pub fn plain_output(&self) -> bool {
        self.get("NO_COLOR").is_some() || self.get("TERM").is_none_or(|term| term == "dumb")
    }
}

impl<const N: usize> From<[(&str, &str); N]> for ProcessEnv {
    fn from(variables: [(&str, &str); N]) -> Self {
        ProcessEnv::new(variables.map(|(name, value)| (name.into(), value.into())), None)
    }
}
