//! The syntax of permission rules: `run(git log)`, `write(docs/**)`, `fetch(*.example.org)`, `mcp(github/*)`.
//!
//! A rule is `subject` or `subject(pattern)`, where `subject` is one of `read`, `write`, `run`, `escalate`, `fetch`,
//! `mcp`, `mode`, `task` and `tool`. It may be prefixed with the name of a tool: `edit_file: write(*.md)`. A pattern
//! that begins with `=` is literal; grants are stored this way.

use super::command_pattern::CommandPattern;
use super::path_pattern::PathPattern;
use crate::paths::ProjectPaths;
use crate::pattern_limits::is_bounded_pattern;
use crate::shell::SimpleCommand;
use crate::{Action, Error};
use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// One permission rule.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rule {
    text: String,
    tool: Option<NamePattern>,
    what: RuleSubject,
}

#[derive(Debug, Clone)]
enum RuleSubject {
    Any,
    Read(Option<PathPattern>),
    Write(Option<PathPattern>),
    Run(Option<CommandPattern>),
    Escalate(Option<CommandPattern>),
    Fetch(Option<NamePattern>),
    Mcp(Option<(NamePattern, Option<NamePattern>)>),
    Mode(Option<NamePattern>),
    Task(Option<NamePattern>),
}

/// A name, as a glob or literal.
#[derive(Debug, Clone)]
enum NamePattern {
    Exact(String),
    Glob(GlobMatcher),
}

/// Whether a rule applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Match {
    /// It does not apply.
    No,
    /// Unknown before the command runs.
    Maybe,
    /// It applies.
    Yes,
}

/// How strictly a rule is matched: allow rules must match exactly, deny rules must not be evaded by details.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchMode {
    /// For allow rules.
    Narrow,
    /// For ask and deny rules.
    Wide,
}

impl Rule {
    /// Returns the rule for exactly this action.
    pub fn exact(action: &Action) -> Option<Rule> {
        let text = match action {
            Action::Read { path, .. } => format!("read(={})", path.to_str()?),
            Action::Write { path, .. } => format!("write(={})", path.to_str()?),
            Action::Run { command, .. } => format!("run(={})", command.trim()),
            Action::Escalate { command, .. } => format!("escalate(={})", command.trim()),
            Action::Fetch { url } => format!("fetch(={})", host(url)?),
            Action::Mcp { server, tool } => format!("mcp(={server}/{tool})"),
            Action::SwitchMode { to } => format!("mode(={to})"),
            Action::Subtask { mode } => format!("task(={mode})"),
        };
        text.parse().ok()
    }

    /// Whether the rule covers commands.
    pub fn is_about_commands(&self) -> bool {
        matches!(self.what, RuleSubject::Run(_) | RuleSubject::Any)
    }

    /// Whether the rule covers reading files.
    pub fn is_about_reads(&self) -> bool {
        matches!(self.what, RuleSubject::Read(_) | RuleSubject::Any)
    }

    /// Whether the rule covers changing files.
    pub fn is_about_writes(&self) -> bool {
        matches!(self.what, RuleSubject::Write(_) | RuleSubject::Any)
    }

    /// Whether the rule denies every tool to read a path.
    pub(crate) fn forbids_reading(&self, path: &Path, project: &ProjectPaths) -> bool {
        self.forbids_path(path, project, |what| match what {
            RuleSubject::Read(pattern) => Some(pattern.as_ref()),
            _ => None,
        })
    }

    /// Whether the rule denies every tool to change a path.
    pub(crate) fn forbids_writing(&self, path: &Path, project: &ProjectPaths) -> bool {
        self.forbids_path(path, project, |what| match what {
            RuleSubject::Write(pattern) => Some(pattern.as_ref()),
            _ => None,
        })
    }

    fn forbids_path(
        &self,
        path: &Path,
        project: &ProjectPaths,
        pattern: impl Fn(&RuleSubject) -> Option<Option<&PathPattern>>,
    ) -> bool {
        let is_for_every_tool = self
            .tool
            .as_ref()
            .is_none_or(|name| name.matches("*", MatchMode::Narrow));
        let matches = |pattern: Option<&PathPattern>| {
            pattern.is_none_or(|pattern| pattern.matches(path, project, MatchMode::Wide))
        };
        is_for_every_tool && pattern(&self.what).is_some_and(matches)
    }

    /// The path that a read rule names literally, or the folder that contains all of its matches outside the project.
    pub(crate) fn read_base(&self, project: &ProjectPaths) -> Option<PathBuf> {
        match &self.what {
            RuleSubject::Read(Some(pattern)) => pattern.base_outside(project),
            _ => None,
        }
    }

    /// The path that a write rule names literally.
    pub(crate) fn written_path(&self, project: &ProjectPaths) -> Option<PathBuf> {
        match &self.what {
            RuleSubject::Write(Some(pattern)) => pattern.literal(project),
            _ => None,
        }
    }

    /// Whether the rule applies to the action as a whole. For a command line this holds only for a literal rule or one
    /// for all commands; use [`Rule::matches_command`] for its parts.
    pub fn matches(&self, tool: &str, action: &Action, project: &ProjectPaths, mode: MatchMode) -> Match {
        if !self.is_for(tool) {
            return Match::No;
        }
        let found = match (&self.what, action) {
            // A rule that allows a tool does not allow it to leave the sandbox.
            (RuleSubject::Any, Action::Escalate { .. }) => mode == MatchMode::Wide,
            (RuleSubject::Any, _) => true,
            (RuleSubject::Read(pattern), Action::Read { path, .. })
            | (RuleSubject::Write(pattern), Action::Write { path, .. }) => pattern
                .as_ref()
                .is_none_or(|pattern| pattern.matches(path, project, mode)),
            (RuleSubject::Run(None), Action::Run { .. }) => true,
            (RuleSubject::Escalate(None), Action::Escalate { .. }) => true,
            (RuleSubject::Run(Some(pattern)), Action::Run { command, .. })
            | (RuleSubject::Escalate(Some(pattern)), Action::Escalate { command, .. }) => pattern.is_line(command),
            (RuleSubject::Fetch(pattern), Action::Fetch { url }) => {
                let Some(pattern) = pattern else { return Match::Yes };
                match host(url) {
                    Some(host) => pattern.matches(&host, mode),
                    // A URL without a host cannot be allowed by a rule for hosts.
                    None => {
                        return if mode == MatchMode::Wide {
                            Match::Maybe
                        } else {
                            Match::No
                        };
                    }
                }
            }
            (RuleSubject::Mcp(pattern), Action::Mcp { server, tool }) => {
                pattern.as_ref().is_none_or(|(wanted, name)| {
                    wanted.matches(server, mode) && name.as_ref().is_none_or(|name| name.matches(tool, mode))
                })
            }
            (RuleSubject::Mode(pattern), Action::SwitchMode { to: name })
            | (RuleSubject::Task(pattern), Action::Subtask { mode: name }) => {
                pattern.as_ref().is_none_or(|pattern| pattern.matches(name, mode))
            }
            _ => false,
        };
        if found { Match::Yes } else { Match::No }
    }

    /// Whether the rule applies to one command of a line.
    pub fn matches_command(&self, tool: &str, simple: &SimpleCommand, mode: MatchMode) -> Match {
        if !self.is_for(tool) {
            return Match::No;
        }
        match &self.what {
            RuleSubject::Any | RuleSubject::Run(None) => Match::Yes,
            RuleSubject::Run(Some(pattern)) => pattern.matches(simple, mode),
            _ => Match::No,
        }
    }

    fn is_for(&self, tool: &str) -> bool {
        self.tool
            .as_ref()
            .is_none_or(|name| name.matches(tool, MatchMode::Narrow))
    }
}

impl FromStr for Rule {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        let (tool, rest) = match text.split_once(':') {
            Some((tool, rest)) if is_name(tool) => (Some(NamePattern::new(tool.trim())?), rest.trim()),
            _ => (None, text),
        };
        let (what, pattern) = match rest.split_once('(') {
            None => (rest, None),
            Some((what, pattern)) => match pattern.strip_suffix(')') {
                Some(pattern) => (what.trim(), Some(pattern.trim())),
                None => return Err(Error::Malformed { rule: text.into() }),
            },
        };
        let pattern = match pattern {
            Some("") | Some("=") => return Err(Error::Empty { rule: text.into() }),
            Some("*") => None,
            other => other,
        };
        let name = |pattern: Option<&str>| pattern.map(NamePattern::new).transpose();
        let (tool, what) = match what {
            "tool" if tool.is_none() => (name(pattern)?, RuleSubject::Any),
            "*" if pattern.is_none() => (tool, RuleSubject::Any),
            "read" => (tool, RuleSubject::Read(pattern.map(PathPattern::new).transpose()?)),
            "write" => (tool, RuleSubject::Write(pattern.map(PathPattern::new).transpose()?)),
            "run" => (
                tool,
                RuleSubject::Run(pattern.map(|pattern| CommandPattern::new(pattern, text)).transpose()?),
            ),
            "escalate" => (
                tool,
                RuleSubject::Escalate(pattern.map(|pattern| CommandPattern::new(pattern, text)).transpose()?),
            ),
            "fetch" => (
                tool,
                RuleSubject::Fetch(name(pattern.map(str::to_lowercase).as_deref())?),
            ),
            "mcp" => (tool, RuleSubject::Mcp(pattern.map(server_and_tool).transpose()?)),
            "mode" => (tool, RuleSubject::Mode(name(pattern)?)),
            "task" => (tool, RuleSubject::Task(name(pattern)?)),
            _ => return Err(Error::UnknownRule { rule: text.into() }),
        };
        Ok(Rule {
            text: text.into(),
            tool,
            what,
        })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Rule {}

impl TryFrom<String> for Rule {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<Rule> for String {
    fn from(rule: Rule) -> Self {
        rule.text
    }
}

impl NamePattern {
    fn new(pattern: &str) -> Result<Self, Error> {
        match pattern.strip_prefix('=') {
            Some(exact) => Ok(NamePattern::Exact(exact.trim().to_owned())),
            None => Ok(NamePattern::Glob(glob(pattern, MatchMode::Narrow)?)),
        }
    }

    fn matches(&self, name: &str, mode: MatchMode) -> bool {
        let one = |name: &str| match self {
            NamePattern::Exact(exact) => exact == name,
            NamePattern::Glob(glob) => glob.is_match(name),
        };
        one(name) || (mode == MatchMode::Wide && one(&name.to_lowercase()))
    }
}

fn server_and_tool(pattern: &str) -> Result<(NamePattern, Option<NamePattern>), Error> {
    let (literal, pattern) = match pattern.strip_prefix('=') {
        Some(rest) => ("=", rest),
        None => ("", pattern),
    };
    let make = |name: &str| NamePattern::new(&format!("{literal}{}", name.trim()));
    match pattern.split_once('/') {
        Some((server, tool)) => Ok((make(server)?, Some(make(tool)?))),
        None => Ok((make(pattern)?, None)),
    }
}

/// The host of a URL, in lower case.
fn host(url: &str) -> Option<String> {
    let url = url::Url::parse(url)
        .or_else(|_| url::Url::parse(&format!("https://{url}")))
        .ok()?;
    match url.scheme() {
        "http" | "https" => url.host_str().map(|host| host.trim_end_matches('.').to_lowercase()),
        _ => None,
    }
}

fn is_name(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '*'))
}

/// Compiles a glob in which `*` does not match `/`.
pub(super) fn glob(pattern: &str, mode: MatchMode) -> Result<GlobMatcher, Error> {
    if !is_bounded_pattern(pattern) {
        return Err(Error::Glob {
            pattern: pattern.chars().take(40).collect(),
            reason: "it is too long or too deeply nested".to_owned(),
        });
    }
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .case_insensitive(mode == MatchMode::Wide)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| Error::Glob {
            pattern: pattern.to_owned(),
            reason: error.kind().to_string(),
        })
}
