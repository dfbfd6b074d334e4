//! Modes: a role with its groups of tools.

mod builtin;
mod custom;

pub use custom::{ModeSet, parse_modes};

use crate::paths::ProjectPaths;
use crate::pattern_limits::is_bounded_pattern;
use crate::{Action, Error};
use fancy_regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A role with its groups of tools.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Mode {
    /// Its name in commands and configuration.
    pub name: String,
    /// The available groups of tools.
    pub groups: Vec<ToolGroup>,
    /// Its display name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The role of the model.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub role: String,
    /// Additional instructions for the model.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub instructions: String,
    /// When to use this mode.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub when_to_use: String,
    /// The preferred model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// File restrictions per group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileRule>,
    /// If present, the only files that may be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<Vec<PathBuf>>,
}

/// Restricts a group of tools to some files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRule {
    /// The group.
    pub group: ToolGroup,
    /// A regular expression, possibly with look-around, matched anywhere in the path relative to the project.
    pub pattern: String,
    /// A description of the expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// A group of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolGroup {
    /// Reads files.
    Read,
    /// Changes files.
    Edit,
    /// Runs commands.
    Command,
    /// Fetches web pages.
    Browser,
    /// Calls tools of MCP servers.
    Mcp,
    /// Switches the mode, or starts subtasks.
    Modes,
}

impl ToolGroup {
    /// The abilities of the group, as in "does not include …".
    pub fn description(self) -> &'static str {
        match self {
            ToolGroup::Read => "reading files",
            ToolGroup::Edit => "changing files",
            ToolGroup::Command => "running commands",
            ToolGroup::Browser => "fetching pages",
            ToolGroup::Mcp => "calling tools of MCP servers",
            ToolGroup::Modes => "changing the mode",
        }
    }
}

/// Why a mode does not permit an action. The messages are for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModeViolation {
    /// The mode does not have the group of the action.
    #[error("the mode `{mode}` does not include {}", .group.description())]
    MissingGroup {
        /// The mode.
        mode: String,
        /// The group.
        group: ToolGroup,
    },
    /// The file is not one of the selected files.
    #[error("the mode `{mode}` may only change the selected files, and {} is not one of them", .path.display())]
    NotSelected {
        /// The mode.
        mode: String,
        /// The file.
        path: PathBuf,
    },
    /// The file does not match the mode's file rule.
    #[error(
        "the mode `{mode}` may only {} files that match `{}`{}, and {} does not",
        if .rule.group == ToolGroup::Edit { "change" } else { "use" },
        .rule.pattern,
        .rule.description.as_ref().map(|words| format!(" ({words})")).unwrap_or_default(),
        .path.display()
    )]
    NotMatching {
        /// The mode.
        mode: String,
        /// The rule.
        rule: FileRule,
        /// The file.
        path: PathBuf,
    },
}

impl Action {
    /// The group of this action.
    pub fn group(&self) -> ToolGroup {
        match self {
            Action::Read { .. } => ToolGroup::Read,
            Action::Write { .. } => ToolGroup::Edit,
            Action::Run { .. } | Action::Escalate { .. } => ToolGroup::Command,
            Action::Fetch { .. } => ToolGroup::Browser,
            Action::Mcp { .. } => ToolGroup::Mcp,
            Action::SwitchMode { .. } | Action::Subtask { .. } => ToolGroup::Modes,
        }
    }
}

impl Mode {
    /// Whether the mode has this group.
    pub fn includes(&self, group: ToolGroup) -> bool {
        self.groups.contains(&group)
    }

    /// Whether the mode delegates work and does none itself.
    pub fn is_orchestrator(&self) -> bool {
        self.name == "orchestrator" || self.groups == [ToolGroup::Modes]
    }

    /// Checks whether the mode permits an action; the error is for the model.
    pub fn permits(&self, action: &Action, project: &ProjectPaths) -> Result<(), ModeViolation> {
        let group = action.group();
        if !self.includes(group) {
            return Err(ModeViolation::MissingGroup {
                mode: self.name.clone(),
                group,
            });
        }
        match action {
            Action::Read { path, .. } | Action::Write { path, .. } => self.permits_file(group, path, project),
            Action::Run { .. }
            | Action::Escalate { .. }
            | Action::Fetch { .. }
            | Action::Mcp { .. }
            | Action::SwitchMode { .. }
            | Action::Subtask { .. } => Ok(()),
        }
    }

    fn permits_file(&self, group: ToolGroup, path: &Path, project: &ProjectPaths) -> Result<(), ModeViolation> {
        let relative = project.relative(path);
        let shown = relative.as_deref().unwrap_or(path);
        if let (ToolGroup::Edit, Some(only)) = (group, &self.only)
            && !only.iter().any(|file| file == path || Some(file) == relative.as_ref())
        {
            return Err(ModeViolation::NotSelected {
                mode: self.name.clone(),
                path: shown.to_owned(),
            });
        }
        let mut rules = self.files.iter().filter(|rule| rule.group == group);
        let Some(rule) = rules.find(|rule| !rule.matches(shown)) else {
            return Ok(());
        };
        Err(ModeViolation::NotMatching {
            mode: self.name.clone(),
            rule: rule.clone(),
            path: shown.to_owned(),
        })
    }
}

impl FileRule {
    /// Validates the expression.
    pub fn check(&self) -> Result<(), Error> {
        compile(&self.pattern).map(drop)
    }

    /// Whether a file matches. An expression that is invalid, or too slow for the path, matches nothing.
    fn matches(&self, path: &Path) -> bool {
        let text = path.to_string_lossy().replace('\\', "/");
        compile(&self.pattern).is_ok_and(|regex| regex.is_match(&text).unwrap_or(false))
    }
}

fn compile(pattern: &str) -> Result<Regex, Error> {
    if !is_bounded_pattern(pattern) {
        return Err(Error::Regex {
            pattern: pattern.chars().take(40).collect(),
            reason: "it is too long or too deeply nested".to_owned(),
        });
    }
    RegexBuilder::new(pattern)
        .delegate_size_limit(1 << 20)
        .backtrack_limit(100_000)
        .build()
        .map_err(|error| Error::Regex {
            pattern: pattern.to_owned(),
            reason: error.to_string().lines().last().unwrap_or_default().trim().to_owned(),
        })
}
