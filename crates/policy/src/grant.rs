//! Answers that are remembered: exactly what was granted, for how long, and open to see.

use crate::places::Places;
use crate::rule::{Match, Reading};
use crate::{Deed, Rule};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// For how long an answer counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// For this one call; it is never stored.
    Once,
    /// Until the session ends.
    Session,
    /// Always, in this project.
    Project,
    /// Always, everywhere.
    Always,
}

/// One remembered answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// What is granted.
    pub rule: Rule,
    /// For how long.
    pub scope: Scope,
    /// The tool that asked.
    pub tool: String,
    /// For commands, the folder in which it was granted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
}

/// All remembered answers that are in force.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Grants {
    list: Vec<Grant>,
}

/// Whether something was there to take back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revoked {
    /// It was, and is no more.
    Gone,
    /// It was not.
    Unknown,
}

impl Grant {
    /// Exactly this deed; nothing when it cannot be written down.
    pub fn of(tool: &str, deed: &Deed<'_>, scope: Scope) -> Option<Grant> {
        let cwd = match deed {
            Deed::Run { cwd, .. } | Deed::Escalate { cwd, .. } => Some(cwd.to_path_buf()),
            Deed::Read { .. }
            | Deed::Write { .. }
            | Deed::Fetch { .. }
            | Deed::Mcp { .. }
            | Deed::SwitchMode { .. }
            | Deed::Subtask { .. } => None,
        };
        Some(Grant {
            rule: Rule::exactly(deed)?,
            scope,
            tool: tool.to_owned(),
            cwd,
        })
    }
}

impl Grants {
    /// The answers that are in force, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Grant> {
        self.list.iter()
    }

    /// Remembers an answer, unless it was for one call only. The same answer again replaces the one before.
    pub fn remember(&mut self, grant: Grant) {
        if grant.scope == Scope::Once {
            return;
        }
        self.list
            .retain(|old| old.rule != grant.rule || old.tool != grant.tool || old.cwd != grant.cwd);
        self.list.push(grant);
    }

    /// Takes back every answer with this rule; it is gone at once.
    pub fn revoke(&mut self, rule: &Rule) -> Revoked {
        let before = self.list.len();
        self.list.retain(|grant| grant.rule != *rule);
        if self.list.len() < before {
            Revoked::Gone
        } else {
            Revoked::Unknown
        }
    }

    /// Keeps only some of the answers.
    pub fn retain(&mut self, wanted: impl Fn(&Grant) -> bool) {
        self.list.retain(|grant| wanted(grant));
    }

    /// Ends the answers that counted for the session only.
    pub fn end_session(&mut self) {
        self.list.retain(|grant| grant.scope != Scope::Session);
    }

    /// Whether exactly this deed of this tool was granted.
    pub(crate) fn cover(&self, tool: &str, deed: &Deed<'_>, places: &Places) -> bool {
        self.list.iter().any(|grant| {
            let here = match (deed, &grant.cwd) {
                (Deed::Run { cwd, .. } | Deed::Escalate { cwd, .. }, Some(granted)) => granted == cwd,
                _ => true,
            };
            here && grant.tool == tool && grant.rule.matches(tool, deed, places, Reading::Narrow) == Match::Yes
        })
    }
}
