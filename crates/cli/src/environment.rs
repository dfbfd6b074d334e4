//! The environment as it was when hew started, so that everything that depends on it says so.

use providers::Secret;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Environment variables and the folder hew was started in. Variables that are empty count as unset.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    variables: BTreeMap<String, String>,
    /// Keys that the person gave for now, by provider.
    given: Arc<Mutex<BTreeMap<String, Secret>>>,
    /// The folder hew was started in; `None` where it no longer exists.
    pub(crate) cwd: Option<PathBuf>,
}

impl Environment {
    /// The environment of this process.
    pub(crate) fn of_process() -> Self {
        // Names and values that are not Unicode cannot be any that hew knows.
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(_, value)| !value.is_empty())
            .collect();
        Environment {
            variables,
            given: Arc::default(),
            cwd: std::env::current_dir().ok(),
        }
    }

    /// The same, with one variable set.
    pub(crate) fn with(mut self, name: &str, value: &std::path::Path) -> Self {
        self.variables.insert(name.into(), value.display().to_string());
        self
    }

    /// The value of a variable.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// The first of these variables that is set, with its name.
    pub(crate) fn first<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Option<(&'a str, &str)> {
        names
            .into_iter()
            .find_map(|name| self.get(name).map(|value| (name, value)))
    }

    /// Uses this key of a provider from now on, in this process only.
    pub(crate) fn give(&self, provider: &str, key: &str) {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        given.insert(provider.into(), Secret::new(key));
    }

    /// The key of a provider that was given for now.
    pub(crate) fn given(&self, provider: &str) -> Option<Secret> {
        let given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        given.get(provider).cloned()
    }

    /// All variables, by name.
    pub(crate) fn all(&self) -> &BTreeMap<String, String> {
        &self.variables
    }

    /// Whether the person wants output without colours and movement.
    pub(crate) fn plain(&self) -> bool {
        self.get("NO_COLOR").is_some() || self.get("TERM").is_none_or(|term| term == "dumb")
    }
}

#[cfg(test)]
impl<const N: usize> From<[(&str, &str); N]> for Environment {
    fn from(variables: [(&str, &str); N]) -> Self {
        Environment {
            variables: variables.map(|(name, value)| (name.into(), value.into())).into(),
            given: Arc::default(),
            cwd: None,
        }
    }
}
