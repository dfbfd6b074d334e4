//! Grants: approvals that are remembered.

use crate::paths::ProjectPaths;
use crate::rules::{Match, MatchMode};
use crate::{Action, Rule};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The lifetime of a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantScope {
    /// This call only; never stored.
    Once,
    /// Until the session ends.
    Session,
    /// Always, in this project.
    Project,
    /// Always, everywhere.
    Always,
}

/// A remembered approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// What is granted.
    pub rule: Rule,
    /// Its lifetime.
    pub scope: GrantScope,
    /// The tool that requested it.
    pub tool: String,
    /// For commands, the working directory of the grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
}

/// All active grants.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Grants {
    list: Vec<Grant>,
}

/// Whether a grant was revoked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevokeOutcome {
    /// It was revoked.
    Removed,
    /// There was no such grant.
    NotFound,
}

impl Grant {
    /// A grant for exactly this action; `None` if it cannot be expressed as a rule.
    pub fn exact(tool: &str, action: &Action, scope: GrantScope) -> Option<Grant> {
        let cwd = match action {
            Action::Run { cwd, .. } | Action::Escalate { cwd, .. } => Some(cwd.to_path_buf()),
            Action::Read { .. }
            | Action::Write { .. }
            | Action::Fetch { .. }
            | Action::Mcp { .. }
            | Action::SwitchMode { .. }
            | Action::Subtask { .. } => None,
        };
        Some(Grant {
            rule: Rule::exact(action)?,
            scope,
            tool: tool.to_owned(),
            cwd,
        })
    }
}

impl Grants {
    /// The active grants, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Grant> {
        self.list.iter()
    }

    /// Stores a grant, unless it is for one call only. An identical grant is replaced.
    pub fn add(&mut self, grant: Grant) {
        if grant.scope == GrantScope::Once {
            return;
        }
        self.list
            .retain(|old| old.rule != grant.rule || old.tool != grant.tool || old.cwd != grant.cwd);
        self.list.push(grant);
    }

    /// Revokes every grant with this rule, with immediate effect.
    pub fn revoke(&mut self, rule: &Rule) -> RevokeOutcome {
        let before = self.list.len();
        self.list.retain(|grant| grant.rule != *rule);
        if self.list.len() < before {
            RevokeOutcome::Removed
        } else {
            RevokeOutcome::NotFound
        }
    }

    /// Keeps the grants that match.
    pub fn retain(&mut self, wanted: impl Fn(&Grant) -> bool) {
        self.list.retain(|grant| wanted(grant));
    }

    /// Whether exactly this action of this tool was granted.
    pub(crate) fn covers(&self, tool: &str, action: &Action, project: &ProjectPaths) -> bool {
        self.list.iter().any(|grant| {
            let here = match (action, &grant.cwd) {
                (Action::Run { cwd, .. } | Action::Escalate { cwd, .. }, Some(granted)) => granted == cwd,
                _ => true,
            };
            here && grant.tool == tool && grant.rule.matches(tool, action, project, MatchMode::Narrow) == Match::Yes
        })
    }
}
