//! What the agent is for at the moment, and so which kinds of tools it has.

use crate::places::Places;
use crate::{Deed, Error};
use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A way of working: a role and the kinds of tools that go with it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Mode {
    /// The name by which people choose it.
    pub name: String,
    /// The kinds of tools that it has.
    pub groups: Vec<Group>,
    /// The name that people see.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Who the model is to be.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub role: String,
    /// What the model is told besides.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub instructions: String,
    /// When to choose this mode, for those who choose.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub when_to_use: String,
    /// The model that this mode prefers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Which files a kind of tool is confined to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileRule>,
    /// When present, the only files that may be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<Vec<PathBuf>>,
}

/// Confines a kind of tool to some files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRule {
    /// The kind of tool.
    pub group: Group,
    /// A regular expression that is looked for anywhere in the path relative to the project.
    pub pattern: String,
    /// What the expression means, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// A kind of tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// Looks at files.
    Read,
    /// Changes files.
    Edit,
    /// Runs commands.
    Command,
    /// Loads pages from the network.
    Browser,
    /// Calls tools of MCP servers.
    Mcp,
    /// Goes on in another mode, or hands work to one.
    Modes,
}

impl Group {
    /// What tools of this kind do, in words that follow "does not include".
    pub fn doing(self) -> &'static str {
        match self {
            Group::Read => "reading files",
            Group::Edit => "changing files",
            Group::Command => "running commands",
            Group::Browser => "fetching pages",
            Group::Mcp => "calling tools of MCP servers",
            Group::Modes => "changing the mode",
        }
    }
}

impl Deed<'_> {
    /// The kind of tool that does this.
    pub fn group(&self) -> Group {
        match self {
            Deed::Read { .. } => Group::Read,
            Deed::Write { .. } => Group::Edit,
            Deed::Run { .. } | Deed::Escalate { .. } => Group::Command,
            Deed::Fetch { .. } => Group::Browser,
            Deed::Mcp { .. } => Group::Mcp,
            Deed::SwitchMode { .. } | Deed::Subtask { .. } => Group::Modes,
        }
    }
}

impl Mode {
    /// Whether the mode has this kind of tool.
    pub fn includes(&self, group: Group) -> bool {
        self.groups.contains(&group)
    }

    /// Whether a deed fits the mode; if not, why, in words for the model.
    pub fn permits(&self, deed: &Deed<'_>, places: &Places) -> Result<(), String> {
        let group = deed.group();
        if !self.includes(group) {
            return Err(format!("the mode `{}` does not include {}", self.name, group.doing()));
        }
        match deed {
            Deed::Read { path, .. } | Deed::Write { path, .. } => self.permits_file(group, path, places),
            Deed::Run { .. }
            | Deed::Escalate { .. }
            | Deed::Fetch { .. }
            | Deed::Mcp { .. }
            | Deed::SwitchMode { .. }
            | Deed::Subtask { .. } => Ok(()),
        }
    }

    fn permits_file(&self, group: Group, path: &Path, places: &Places) -> Result<(), String> {
        let relative = places.relative(path);
        let shown = relative.as_deref().unwrap_or(path);
        if let (Group::Edit, Some(only)) = (group, &self.only)
            && !only.iter().any(|file| file == path || Some(file) == relative.as_ref())
        {
            return Err(format!(
                "the mode `{}` may only change the files that were chosen, and {} is none of them",
                self.name,
                shown.display()
            ));
        }
        let mut rules = self.files.iter().filter(|rule| rule.group == group);
        let Some(rule) = rules.find(|rule| !rule.fits(shown)) else {
            return Ok(());
        };
        let what = match group {
            Group::Edit => "change",
            Group::Read | Group::Command | Group::Browser | Group::Mcp | Group::Modes => "use",
        };
        let meaning = rule
            .description
            .as_ref()
            .map(|words| format!(" ({words})"))
            .unwrap_or_default();
        Err(format!(
            "the mode `{}` may only {what} files that match `{}`{meaning}, and {} does not",
            self.name,
            rule.pattern,
            shown.display()
        ))
    }
}

impl FileRule {
    /// Checks that the expression can be used.
    pub fn check(&self) -> Result<(), Error> {
        compile(&self.pattern).map(drop)
    }

    /// Whether a file matches. An expression that cannot be used matches nothing.
    fn fits(&self, path: &Path) -> bool {
        let text = path.to_string_lossy().replace('\\', "/");
        compile(&self.pattern).is_ok_and(|regex| regex.is_match(&text))
    }
}

fn compile(pattern: &str) -> Result<Regex, Error> {
    RegexBuilder::new(pattern)
        .size_limit(1 << 20)
        .build()
        .map_err(|error| Error::Regex {
            pattern: pattern.to_owned(),
            reason: error.to_string().lines().last().unwrap_or_default().trim().to_owned(),
        })
}
