//! The language of permission rules: `run(git log)`, `write(docs/**)`, `fetch(*.example.org)`, `mcp(github/*)`.
//!
//! A rule is `what` or `what(pattern)`, where `what` is one of `read`, `write`, `run`, `escalate`, `fetch`, `mcp`, `mode`,
//! `task` and `tool`. In front may stand the name of a tool and a colon: `edit_file: write(*.md)`. A pattern that begins with `=` is
//! taken literally, which is how remembered grants are written.

mod command;
mod path;

use crate::places::Places;
use crate::shell::Simple;
use crate::{Deed, Error};
use command::CommandPattern;
use globset::{GlobBuilder, GlobMatcher};
use path::PathPattern;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// One permission rule.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rule {
    text: String,
    tool: Option<Name>,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    Anything,
    Read(Option<PathPattern>),
    Write(Option<PathPattern>),
    Run(Option<CommandPattern>),
    Escalate(Option<CommandPattern>),
    Fetch(Option<Name>),
    Mcp(Option<(Name, Option<Name>)>),
    Mode(Option<Name>),
    Task(Option<Name>),
}

/// A name, with wildcards or taken literally.
#[derive(Debug, Clone)]
enum Name {
    Exact(String),
    Glob(GlobMatcher),
}

/// Whether a rule is about something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Match {
    /// It is not.
    No,
    /// It cannot be told before it happens.
    Maybe,
    /// It is.
    Yes,
}

/// How carefully a rule is read: what is allowed must fit exactly, what is denied must not slip through by a detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// For rules that allow.
    Narrow,
    /// For rules that ask or deny.
    Wide,
}

impl Rule {
    /// The rule that a remembered answer stands for: exactly this, and nothing else.
    pub fn exactly(deed: &Deed<'_>) -> Option<Rule> {
        let text = match deed {
            Deed::Read { path, .. } => format!("read(={})", path.to_str()?),
            Deed::Write { path, .. } => format!("write(={})", path.to_str()?),
            Deed::Run { command, .. } => format!("run(={})", command.trim()),
            Deed::Escalate { command, .. } => format!("escalate(={})", command.trim()),
            Deed::Fetch { url } => format!("fetch(={})", host(url)?),
            Deed::Mcp { server, tool } => format!("mcp(={server}/{tool})"),
            Deed::SwitchMode { to } => format!("mode(={to})"),
            Deed::Subtask { mode } => format!("task(={mode})"),
        };
        text.parse().ok()
    }

    /// Whether the rule is about running commands.
    pub fn is_about_commands(&self) -> bool {
        matches!(self.what, What::Run(_) | What::Anything)
    }

    /// Whether the rule is about reading files.
    pub fn is_about_reads(&self) -> bool {
        matches!(self.what, What::Read(_) | What::Anything)
    }

    /// Whether the rule is about changing files.
    pub fn is_about_writes(&self) -> bool {
        matches!(self.what, What::Write(_) | What::Anything)
    }

    /// Whether the rule is about this deed as a whole. For a command line that is only so for a literal rule or one that
    /// means every command; use [`Rule::matches_command`] for its parts.
    pub fn matches(&self, tool: &str, deed: &Deed<'_>, places: &Places, reading: Reading) -> Match {
        if !self.is_for(tool) {
            return Match::No;
        }
        let found = match (&self.what, deed) {
            // Nobody who allows a tool means by it that the tool may leave the sandbox.
            (What::Anything, Deed::Escalate { .. }) => reading == Reading::Wide,
            (What::Anything, _) => true,
            (What::Read(pattern), Deed::Read { path, .. }) | (What::Write(pattern), Deed::Write { path, .. }) => {
                pattern
                    .as_ref()
                    .is_none_or(|pattern| pattern.matches(path, places, reading))
            }
            (What::Run(None), Deed::Run { .. }) => true,
            (What::Escalate(None), Deed::Escalate { .. }) => true,
            (What::Run(Some(pattern)), Deed::Run { command, .. })
            | (What::Escalate(Some(pattern)), Deed::Escalate { command, .. }) => pattern.is_line(command),
            (What::Fetch(pattern), Deed::Fetch { url }) => {
                let Some(pattern) = pattern else { return Match::Yes };
                match host(url) {
                    Some(host) => pattern.matches(&host, reading),
                    // An address without a host is nothing that a rule about hosts could allow.
                    None => {
                        return if reading == Reading::Wide {
                            Match::Maybe
                        } else {
                            Match::No
                        };
                    }
                }
            }
            (What::Mcp(pattern), Deed::Mcp { server, tool }) => pattern.as_ref().is_none_or(|(wanted, name)| {
                wanted.matches(server, reading) && name.as_ref().is_none_or(|name| name.matches(tool, reading))
            }),
            (What::Mode(pattern), Deed::SwitchMode { to: name })
            | (What::Task(pattern), Deed::Subtask { mode: name }) => {
                pattern.as_ref().is_none_or(|pattern| pattern.matches(name, reading))
            }
            _ => false,
        };
        if found { Match::Yes } else { Match::No }
    }

    /// Whether the rule is about one of the commands in a line.
    pub fn matches_command(&self, tool: &str, simple: &Simple, reading: Reading) -> Match {
        if !self.is_for(tool) {
            return Match::No;
        }
        match &self.what {
            What::Anything | What::Run(None) => Match::Yes,
            What::Run(Some(pattern)) => pattern.matches(simple, reading),
            _ => Match::No,
        }
    }

    fn is_for(&self, tool: &str) -> bool {
        self.tool
            .as_ref()
            .is_none_or(|name| name.matches(tool, Reading::Narrow))
    }
}

impl FromStr for Rule {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        let (tool, rest) = match text.split_once(':') {
            Some((tool, rest)) if is_name(tool) => (Some(Name::new(tool.trim())?), rest.trim()),
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
        let name = |pattern: Option<&str>| pattern.map(Name::new).transpose();
        let (tool, what) = match what {
            "tool" if tool.is_none() => (name(pattern)?, What::Anything),
            "*" if pattern.is_none() => (tool, What::Anything),
            "read" => (tool, What::Read(pattern.map(PathPattern::new).transpose()?)),
            "write" => (tool, What::Write(pattern.map(PathPattern::new).transpose()?)),
            "run" => (
                tool,
                What::Run(pattern.map(|pattern| CommandPattern::new(pattern, text)).transpose()?),
            ),
            "escalate" => (
                tool,
                What::Escalate(pattern.map(|pattern| CommandPattern::new(pattern, text)).transpose()?),
            ),
            "fetch" => (tool, What::Fetch(name(pattern.map(str::to_lowercase).as_deref())?)),
            "mcp" => (tool, What::Mcp(pattern.map(server_and_tool).transpose()?)),
            "mode" => (tool, What::Mode(name(pattern)?)),
            "task" => (tool, What::Task(name(pattern)?)),
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

impl Name {
    fn new(pattern: &str) -> Result<Self, Error> {
        match pattern.strip_prefix('=') {
            Some(exact) => Ok(Name::Exact(exact.trim().to_owned())),
            None => Ok(Name::Glob(glob(pattern, Reading::Narrow)?)),
        }
    }

    fn matches(&self, name: &str, reading: Reading) -> bool {
        let one = |name: &str| match self {
            Name::Exact(exact) => exact == name,
            Name::Glob(glob) => glob.is_match(name),
        };
        one(name) || (reading == Reading::Wide && one(&name.to_lowercase()))
    }
}

fn server_and_tool(pattern: &str) -> Result<(Name, Option<Name>), Error> {
    let (literal, pattern) = match pattern.strip_prefix('=') {
        Some(rest) => ("=", rest),
        None => ("", pattern),
    };
    let make = |name: &str| Name::new(&format!("{literal}{}", name.trim()));
    match pattern.split_once('/') {
        Some((server, tool)) => Ok((make(server)?, Some(make(tool)?))),
        None => Ok((make(pattern)?, None)),
    }
}

/// The host of an address, in lower case.
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

/// A pattern in which `*` stops at `/`.
fn glob(pattern: &str, reading: Reading) -> Result<GlobMatcher, Error> {
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .case_insensitive(reading == Reading::Wide)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| Error::Glob {
            pattern: pattern.to_owned(),
            reason: error.kind().to_string(),
        })
}
