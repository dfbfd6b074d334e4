//! A task: a project, a prompt, and a check that the agent does not see.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// A task.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// Unique in its suite.
    pub id: String,
    /// The prompt for the agent.
    pub prompt: String,
    /// The programming language.
    pub language: Option<String>,
    /// The kind of work, such as `bug`.
    pub kind: Option<String>,
    /// What the project consists of, applied to an empty folder in order.
    pub project: Vec<TreeLayer>,
    /// A command that prepares the project before the agent starts.
    pub setup: Option<String>,
    /// Applied after the agent has finished, before the check.
    pub hidden: Vec<TreeLayer>,
    /// The command that succeeds if the task is solved.
    pub check: String,
    /// The reference solution.
    pub solution: Vec<TreeLayer>,
    /// The reference answer of a question.
    pub answer: Option<String>,
    /// Limits of an attempt.
    pub limits: TaskLimits,
    /// Programs that the task needs.
    pub needs: Vec<String>,
    /// Whether the setup and the check may access the network.
    pub network: bool,
}

/// A change of a folder.
#[derive(Debug, Clone, PartialEq)]
pub enum TreeLayer {
    /// A copy of a folder.
    Folder {
        /// The folder.
        path: PathBuf,
        /// Paths in it that are not copied, relative to it.
        exclude: Vec<PathBuf>,
        /// Where it is placed, relative to the project.
        at: PathBuf,
        /// Replacements in text files.
        replace: Vec<TextReplacement>,
    },
    /// Some files of a folder.
    Selected {
        /// The folder.
        from: PathBuf,
        /// The files, relative to it.
        paths: Vec<PathBuf>,
    },
    /// Files by path.
    Inline(BTreeMap<String, String>),
    /// A revision of a git repository.
    Revision {
        /// A folder or an address.
        repository: String,
        /// A commit, branch or tag.
        revision: String,
    },
    /// A patch for `git apply`.
    Patch(String),
    /// A command in the project.
    Command(String),
}

/// A replacement in text files; `{project}` in the new text is the folder of the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextReplacement {
    /// The old text.
    pub old: String,
    /// The new text.
    pub new: String,
}

/// Limits of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TaskLimits {
    /// The time of the agent, in seconds.
    pub seconds: u64,
    /// The number of requests to the model; only hew respects it.
    pub steps: u32,
    /// The price in US dollars; only hew respects it.
    pub cost: Option<f64>,
    /// The time of the setup and of the check, in seconds.
    pub check_seconds: u64,
}

impl Default for TaskLimits {
    fn default() -> Self {
        Self {
            seconds: 600,
            steps: 50,
            cost: None,
            check_seconds: 120,
        }
    }
}

impl TaskLimits {
    pub(crate) fn check_time(&self) -> Duration {
        Duration::from_secs(self.check_seconds)
    }
}

impl TreeLayer {
    /// A copy of a whole folder.
    pub(crate) fn folder(path: PathBuf) -> Self {
        Self::Folder {
            path,
            exclude: Vec::new(),
            at: PathBuf::new(),
            replace: Vec::new(),
        }
    }
}
