//! Paths hidden from every tool, by ignore files in `.gitignore` syntax.

use crate::ConfigProblem;
use crate::paths::ProjectPaths;
use crate::pattern_limits::is_bounded_pattern;
use crate::shell::{DisclosedPath, Script};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::path::{Path, PathBuf};

/// The hidden paths.
#[derive(Debug, Clone)]
pub struct IgnoreRules {
    patterns: Gitignore,
    /// The ignore files themselves are hidden too.
    files: Vec<PathBuf>,
}

impl Default for IgnoreRules {
    fn default() -> Self {
        IgnoreRules {
            patterns: Gitignore::empty(),
            files: Vec::new(),
        }
    }
}

impl IgnoreRules {
    /// Parses ignore files, given as name and text. Invalid lines are reported and skipped.
    pub fn new<'t>(files: impl IntoIterator<Item = (&'t str, &'t str)>) -> (IgnoreRules, Vec<ConfigProblem>) {
        let mut builder = GitignoreBuilder::new("");
        let (mut problems, mut names) = (Vec::new(), Vec::new());
        for (name, text) in files {
            if text.trim().is_empty() {
                continue;
            }
            names.push(PathBuf::from(name));
            for line in text.trim_start_matches('\u{feff}').lines() {
                if !is_bounded_pattern(line) {
                    problems.push(ConfigProblem {
                        file: name.to_owned(),
                        entry: line.chars().take(40).collect(),
                        message: "it is too long or too deeply nested".to_owned(),
                    });
                } else if let Err(error) = builder.add_line(None, line) {
                    problems.push(ConfigProblem {
                        file: name.to_owned(),
                        entry: line.to_owned(),
                        message: error.to_string(),
                    });
                }
            }
        }
        let patterns = match builder.build() {
            Ok(patterns) => patterns,
            Err(error) => {
                problems.push(ConfigProblem {
                    file: names.first().map(|name| name.display().to_string()).unwrap_or_default(),
                    entry: String::new(),
                    message: error.to_string(),
                });
                Gitignore::empty()
            }
        };
        (IgnoreRules { patterns, files: names }, problems)
    }

    /// Whether nothing is hidden.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Whether a path inside the project is hidden. Paths outside are not.
    pub fn hides(&self, path: &Path, project: &ProjectPaths) -> bool {
        if self.files.is_empty() {
            return false;
        }
        let Some(path) = project.relative(path) else {
            return false;
        };
        if path.as_os_str().is_empty() {
            return false;
        }
        self.files.contains(&path) || self.patterns.matched_path_or_any_parents(&path, false).is_ignore()
    }

    /// Like [`IgnoreRules::hides`], for a directory: patterns that end with `/` match it too.
    pub fn hides_folder(&self, path: &Path, project: &ProjectPaths) -> bool {
        let Some(path) = project.relative(path) else {
            return false;
        };
        !path.as_os_str().is_empty() && self.patterns.matched_path_or_any_parents(&path, true).is_ignore()
    }

    /// Returns the first hidden path that a command line would disclose. This only inspects the text; the sandbox
    /// enforces it.
    pub fn disclosed_by(&self, script: &Script, cwd: &Path, project: &ProjectPaths) -> Option<PathBuf> {
        if self.files.is_empty() {
            return None;
        }
        let hides = |shown: &DisclosedPath| {
            self.hides(&shown.path, project) || (shown.whole && self.hides_folder(&shown.path, project))
        };
        script
            .disclosed_paths(cwd, project)
            .into_iter()
            .find(hides)
            .map(|shown| shown.path)
    }
}
