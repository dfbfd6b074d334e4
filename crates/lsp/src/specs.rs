//! Specifications of language servers.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

const BUILTIN_SERVERS: &str = include_str!("servers.json");

/// How a server is started, and for which files.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LanguageServerSpec {
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Language ids of the protocol by file extension.
    pub languages: BTreeMap<String, String>,
    /// Files that mark its root directory. Without a match, that is the project.
    #[serde(default)]
    pub roots: Vec<String>,
    /// Whether the outermost of several marked directories is used.
    #[serde(default)]
    pub outermost: bool,
    /// Whether it starts only below a marked directory.
    #[serde(default)]
    pub required: bool,
    /// Additional environment variables.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Initialization options.
    #[serde(default)]
    pub init_options: Value,
    /// Settings by section, for configuration requests.
    #[serde(default)]
    pub settings: Value,
    /// What its process may do in addition to the profile of language servers.
    #[serde(skip)]
    pub access: sandbox::ProcessAccess,
}

impl LanguageServerSpec {
    /// The language id of a file, if supported.
    pub(crate) fn language(&self, path: &Path) -> Option<&str> {
        let ending = path.extension()?.to_str()?;
        let exact = self.languages.get(ending);
        exact
            .or_else(|| self.languages.get(&ending.to_ascii_lowercase()))
            .map(String::as_str)
    }
}

/// The built-in servers, in order of preference.
pub fn builtin_servers() -> Vec<LanguageServerSpec> {
    // A test parses the table.
    serde_json::from_str(BUILTIN_SERVERS).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_parses_and_names_each_server_once() {
        let specs: Vec<LanguageServerSpec> = serde_json::from_str(BUILTIN_SERVERS).unwrap();
        let mut names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!((names.len(), specs.len() >= 30), (specs.len(), true));
        assert!(
            specs
                .iter()
                .all(|spec| !spec.command.is_empty() && !spec.languages.is_empty())
        );
    }

    #[test]
    fn a_file_has_the_language_of_its_extension() {
        let specs = builtin_servers();
        let first = |path: &str| {
            let spec = specs.iter().find(|spec| spec.language(Path::new(path)).is_some())?;
            Some((spec.name.as_str(), spec.language(Path::new(path))?))
        };
        assert_eq!(first("src/main.rs"), Some(("rust-analyzer", "rust")));
        assert_eq!(first("a/B.TSX"), Some(("deno", "typescriptreact")));
        assert_eq!(first("x.hpp"), Some(("clangd", "cpp")));
        assert_eq!(first("Makefile"), None);
    }
}
