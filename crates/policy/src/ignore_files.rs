//! Paths that are hidden from every tool, by files in the syntax of `.gitignore`.

use crate::Problem;
use crate::places::Places;
use crate::shell::{Script, Shown};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::path::{Path, PathBuf};

/// The names of the files that hide paths, in the folder of the project.
pub const IGNORE_FILES: [&str; 3] = [".hewignore", ".rooignore", ".aiignore"];

/// The paths that are hidden.
#[derive(Debug, Clone)]
pub struct Ignore {
    patterns: Gitignore,
    /// The files that hide paths are hidden themselves.
    files: Vec<PathBuf>,
}

impl Default for Ignore {
    fn default() -> Self {
        Ignore {
            patterns: Gitignore::empty(),
            files: Vec::new(),
        }
    }
}

impl Ignore {
    /// Reads the texts of ignore files, each with its name. A line that is no pattern is reported and left out.
    pub fn new<'t>(files: impl IntoIterator<Item = (&'t str, &'t str)>) -> (Ignore, Vec<Problem>) {
        let mut builder = GitignoreBuilder::new("");
        let (mut problems, mut names) = (Vec::new(), Vec::new());
        for (name, text) in files {
            if text.trim().is_empty() {
                continue;
            }
            names.push(PathBuf::from(name));
            for line in text.trim_start_matches('\u{feff}').lines() {
                if let Err(error) = builder.add_line(None, line) {
                    problems.push(Problem {
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
                problems.push(Problem {
                    file: names.first().map(|name| name.display().to_string()).unwrap_or_default(),
                    entry: String::new(),
                    message: error.to_string(),
                });
                Gitignore::empty()
            }
        };
        (Ignore { patterns, files: names }, problems)
    }

    /// Whether nothing is hidden.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Whether a path inside the project is hidden. A path that leads outside is not.
    pub fn hides(&self, path: &Path, places: &Places) -> bool {
        if self.files.is_empty() {
            return false;
        }
        let Some(path) = places.relative(path) else {
            return false;
        };
        if path.as_os_str().is_empty() {
            return false;
        }
        self.files.contains(&path) || self.patterns.matched_path_or_any_parents(&path, false).is_ignore()
    }

    /// Like [`Ignore::hides`], for a folder: patterns that end with `/` speak of it too.
    pub fn hides_folder(&self, path: &Path, places: &Places) -> bool {
        let Some(path) = places.relative(path) else {
            return false;
        };
        !path.as_os_str().is_empty() && self.patterns.matched_path_or_any_parents(&path, true).is_ignore()
    }

    /// The first hidden path that a command line would show. This reads the text only; the sandbox is what enforces it.
    pub fn shown_by(&self, script: &Script, cwd: &Path, places: &Places) -> Option<PathBuf> {
        if self.files.is_empty() {
            return None;
        }
        let hides =
            |shown: &Shown| self.hides(&shown.path, places) || (shown.whole && self.hides_folder(&shown.path, places));
        script
            .shown(cwd, places)
            .into_iter()
            .find(hides)
            .map(|shown| shown.path)
    }
}
