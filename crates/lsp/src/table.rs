//! Which server serves which files.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

const KNOWN: &str = include_str!("servers.json");

/// A server: how it is started, and for which files.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// What people call it.
    #[serde(default)]
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// For each ending of a file's name, the language as the protocol names it.
    pub languages: BTreeMap<String, String>,
    /// Files that mark the folder it is started for. Without one, that is the project.
    #[serde(default)]
    pub roots: Vec<String>,
    /// Whether the folder furthest from the file is meant where several are marked.
    #[serde(default)]
    pub outermost: bool,
    /// Whether it is started only below a marked folder.
    #[serde(default)]
    pub required: bool,
    /// Variables it sees beside those that every command sees.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// What it is told when it starts.
    #[serde(default)]
    pub init_options: Value,
    /// What it is told when it asks for its settings, by section.
    #[serde(default)]
    pub settings: Value,
}

impl Spec {
    /// The language of a file, if this server knows it.
    pub(crate) fn language(&self, path: &Path) -> Option<&str> {
        let ending = path.extension()?.to_str()?;
        let exact = self.languages.get(ending);
        exact
            .or_else(|| self.languages.get(&ending.to_ascii_lowercase()))
            .map(String::as_str)
    }
}

/// The servers that are known without being told, the better one first where several serve a language.
pub fn known() -> Vec<Spec> {
    // A test reads the table, so there is always one.
    serde_json::from_str(KNOWN).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_reads_and_names_each_server_once() {
        let specs: Vec<Spec> = serde_json::from_str(KNOWN).unwrap();
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
    fn a_file_has_the_language_of_its_ending() {
        let specs = known();
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
