//! Configuration files of hew, other agents and editors. Changing them always needs approval.

use crate::ConfigProblem;
use crate::paths::ProjectPaths;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::path::Path;

/// Protected by default, in addition to configured patterns.
pub const PROTECTED_PATTERNS: [&str; 27] = [
    ".hew/",
    ".hewignore",
    ".hewrules*",
    ".aiignore",
    ".rooignore",
    ".roomodes",
    ".roorules*",
    ".rooprotected",
    ".roo/",
    ".clinerules*",
    ".cursorrules",
    ".cursor/",
    ".claude/",
    ".zed/",
    ".vscode/",
    ".idea/",
    "*.code-workspace",
    ".mcp.json",
    ".git/",
    ".gitmodules",
    ".envrc",
    "AGENTS.md",
    "AGENT.md",
    "AGENTS.local.md",
    "CLAUDE.md",
    "GEMINI.md",
    ".github/copilot-instructions.md",
];

/// The protected files.
#[derive(Debug, Clone)]
pub struct ProtectedPaths {
    patterns: Gitignore,
}

/// Protects nothing.
impl Default for ProtectedPaths {
    fn default() -> Self {
        ProtectedPaths {
            patterns: Gitignore::empty(),
        }
    }
}

impl ProtectedPaths {
    /// Protects the default files and more, by patterns in `.gitignore` syntax. The defaults cannot be removed.
    pub fn new(more: &[String]) -> (ProtectedPaths, Vec<ConfigProblem>) {
        let mut builder = GitignoreBuilder::new("");
        let mut problems = Vec::new();
        // On case-insensitive file systems `agents.md` is `AGENTS.md`.
        if let Err(error) = builder.case_insensitive(true) {
            problems.push(problem("", &error));
        }
        let more = more
            .iter()
            .map(String::as_str)
            .filter(|pattern| !pattern.starts_with('!'));
        for pattern in PROTECTED_PATTERNS.into_iter().chain(more) {
            if let Err(error) = builder.add_line(None, pattern) {
                problems.push(problem(pattern, &error));
            }
        }
        let patterns = builder.build().unwrap_or_else(|error| {
            problems.push(problem("", &error));
            Gitignore::empty()
        });
        (ProtectedPaths { patterns }, problems)
    }

    /// Whether a file inside the project is protected. Paths outside need approval anyway.
    pub fn covers(&self, path: &Path, project: &ProjectPaths) -> bool {
        let Some(path) = project.relative(path) else {
            return false;
        };
        // A directory is protected if its content is.
        let inside = path.join("_");
        !path.as_os_str().is_empty()
            && (self.patterns.matched_path_or_any_parents(&path, false).is_ignore()
                || self.patterns.matched_path_or_any_parents(&inside, false).is_ignore())
    }
}

fn problem(pattern: &str, error: &ignore::Error) -> ConfigProblem {
    ConfigProblem {
        file: "protected".to_owned(),
        entry: pattern.to_owned(),
        message: error.to_string(),
    }
}
