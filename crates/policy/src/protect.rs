//! Files that steer hew itself, other agents or an editor. Changing them is always asked about.

use crate::Problem;
use crate::places::Places;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::path::Path;

/// What is protected, besides what a configuration adds.
pub const PROTECTED: [&str; 27] = [
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

/// The files that are protected.
#[derive(Debug, Clone)]
pub struct Protected {
    patterns: Gitignore,
}

/// Nothing is protected.
impl Default for Protected {
    fn default() -> Self {
        Protected {
            patterns: Gitignore::empty(),
        }
    }
}

impl Protected {
    /// Protects the usual files and more, by patterns in the syntax of `.gitignore`. What is usual cannot be taken away.
    pub fn new(more: &[String]) -> (Protected, Vec<Problem>) {
        let mut builder = GitignoreBuilder::new("");
        let mut problems = Vec::new();
        // On some disks `agents.md` is `AGENTS.md`.
        if let Err(error) = builder.case_insensitive(true) {
            problems.push(problem("", &error));
        }
        let more = more
            .iter()
            .map(String::as_str)
            .filter(|pattern| !pattern.starts_with('!'));
        for pattern in PROTECTED.into_iter().chain(more) {
            if let Err(error) = builder.add_line(None, pattern) {
                problems.push(problem(pattern, &error));
            }
        }
        let patterns = builder.build().unwrap_or_else(|error| {
            problems.push(problem("", &error));
            Gitignore::empty()
        });
        (Protected { patterns }, problems)
    }

    /// Whether a file inside the project is protected. A path that leads outside is not, as it is asked about anyway.
    pub fn covers(&self, path: &Path, places: &Places) -> bool {
        let Some(path) = places.relative(path) else {
            return false;
        };
        // A folder is protected when what is in it is.
        let inside = path.join("_");
        !path.as_os_str().is_empty()
            && (self.patterns.matched_path_or_any_parents(&path, false).is_ignore()
                || self.patterns.matched_path_or_any_parents(&inside, false).is_ignore())
    }
}

fn problem(pattern: &str, error: &ignore::Error) -> Problem {
    Problem {
        file: "protected".to_owned(),
        entry: pattern.to_owned(),
        message: error.to_string(),
    }
}
