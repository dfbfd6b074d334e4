//! Defaults for actions that no rule covers, and limits on automatic approval.

use crate::AccessLevel;
use serde::{Deserialize, Serialize};

/// Whether an action needs approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMode {
    /// It needs approval.
    Ask,
    /// It is allowed without approval.
    Allow,
}

/// Which kinds of actions are allowed without approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AutoApproval {
    /// Reading inside the project.
    pub reads: ApprovalMode,
    /// Reading outside the project.
    pub reads_outside: ApprovalMode,
    /// Changing files inside the project.
    pub writes: ApprovalMode,
    /// Changing files outside the project.
    pub writes_outside: ApprovalMode,
    /// Changing configuration files of hew, other agents or editors.
    pub writes_protected: ApprovalMode,
    /// Running commands.
    pub commands: ApprovalMode,
    /// Fetching URLs.
    pub fetches: ApprovalMode,
    /// Calling tools of MCP servers.
    pub mcp: ApprovalMode,
    /// Switching the mode.
    pub mode_switches: ApprovalMode,
    /// Starting subtasks.
    pub subtasks: ApprovalMode,
    /// After this many milliseconds a question with suggested answers takes the first one; never if absent.
    pub followup_timeout_ms: Option<u64>,
    /// After this many requests the user is asked whether to continue.
    pub max_requests: Option<u32>,
    /// After this cost in millionths of a US dollar the user is asked whether to continue.
    pub max_cost_micros: Option<u64>,
}

/// Configured values of [`AutoApproval`]; the level determines the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ApprovalSettings {
    /// Reading inside the project.
    pub reads: Option<ApprovalMode>,
    /// Reading outside the project.
    pub reads_outside: Option<ApprovalMode>,
    /// Changing files inside the project.
    pub writes: Option<ApprovalMode>,
    /// Changing files outside the project.
    pub writes_outside: Option<ApprovalMode>,
    /// Changing configuration files of hew, other agents or editors.
    pub writes_protected: Option<ApprovalMode>,
    /// Running commands.
    pub commands: Option<ApprovalMode>,
    /// Fetching URLs.
    pub fetches: Option<ApprovalMode>,
    /// Calling tools of MCP servers.
    pub mcp: Option<ApprovalMode>,
    /// Switching the mode.
    pub mode_switches: Option<ApprovalMode>,
    /// Starting subtasks.
    pub subtasks: Option<ApprovalMode>,
    /// After this many milliseconds a question with suggested answers takes the first one; never if absent.
    pub followup_timeout_ms: Option<u64>,
    /// After this many requests the user is asked whether to continue.
    pub max_requests: Option<u32>,
    /// After this cost in millionths of a US dollar the user is asked whether to continue.
    pub max_cost_micros: Option<u64>,
}

impl ApprovalSettings {
    /// Resolves the settings for a level.
    pub fn resolve(&self, level: AccessLevel) -> AutoApproval {
        let usual = AutoApproval::of(level);
        AutoApproval {
            reads: self.reads.unwrap_or(usual.reads),
            reads_outside: self.reads_outside.unwrap_or(usual.reads_outside),
            writes: self.writes.unwrap_or(usual.writes),
            writes_outside: self.writes_outside.unwrap_or(usual.writes_outside),
            writes_protected: self.writes_protected.unwrap_or(usual.writes_protected),
            commands: self.commands.unwrap_or(usual.commands),
            fetches: self.fetches.unwrap_or(usual.fetches),
            mcp: self.mcp.unwrap_or(usual.mcp),
            mode_switches: self.mode_switches.unwrap_or(usual.mode_switches),
            subtasks: self.subtasks.unwrap_or(usual.subtasks),
            followup_timeout_ms: self.followup_timeout_ms,
            max_requests: self.max_requests,
            max_cost_micros: self.max_cost_micros,
        }
    }

    /// Overlays other settings: configured values of `other` take precedence.
    pub fn overlaid(self, other: ApprovalSettings) -> ApprovalSettings {
        ApprovalSettings {
            reads: other.reads.or(self.reads),
            reads_outside: other.reads_outside.or(self.reads_outside),
            writes: other.writes.or(self.writes),
            writes_outside: other.writes_outside.or(self.writes_outside),
            writes_protected: other.writes_protected.or(self.writes_protected),
            commands: other.commands.or(self.commands),
            fetches: other.fetches.or(self.fetches),
            mcp: other.mcp.or(self.mcp),
            mode_switches: other.mode_switches.or(self.mode_switches),
            subtasks: other.subtasks.or(self.subtasks),
            followup_timeout_ms: other.followup_timeout_ms.or(self.followup_timeout_ms),
            max_requests: other.max_requests.or(self.max_requests),
            max_cost_micros: other.max_cost_micros.or(self.max_cost_micros),
        }
    }

    /// Overlays settings from an untrusted source: only stricter values apply.
    pub fn tightened(self, other: ApprovalSettings) -> ApprovalSettings {
        let stricter = |mine: Option<ApprovalMode>, theirs: Option<ApprovalMode>| match theirs {
            Some(ApprovalMode::Ask) => Some(ApprovalMode::Ask),
            Some(ApprovalMode::Allow) | None => mine,
        };
        ApprovalSettings {
            reads: stricter(self.reads, other.reads),
            reads_outside: stricter(self.reads_outside, other.reads_outside),
            writes: stricter(self.writes, other.writes),
            writes_outside: stricter(self.writes_outside, other.writes_outside),
            writes_protected: stricter(self.writes_protected, other.writes_protected),
            commands: stricter(self.commands, other.commands),
            fetches: stricter(self.fetches, other.fetches),
            mcp: stricter(self.mcp, other.mcp),
            mode_switches: stricter(self.mode_switches, other.mode_switches),
            subtasks: stricter(self.subtasks, other.subtasks),
            // A longer timeout leaves more time to object; a project may not remove the timeout.
            followup_timeout_ms: self
                .followup_timeout_ms
                .map(|mine| mine.max(other.followup_timeout_ms.unwrap_or(mine))),
            max_requests: least(self.max_requests, other.max_requests),
            max_cost_micros: least(self.max_cost_micros, other.max_cost_micros),
        }
    }
}

impl From<AutoApproval> for ApprovalSettings {
    fn from(approval: AutoApproval) -> Self {
        ApprovalSettings {
            reads: Some(approval.reads),
            reads_outside: Some(approval.reads_outside),
            writes: Some(approval.writes),
            writes_outside: Some(approval.writes_outside),
            writes_protected: Some(approval.writes_protected),
            commands: Some(approval.commands),
            fetches: Some(approval.fetches),
            mcp: Some(approval.mcp),
            mode_switches: Some(approval.mode_switches),
            subtasks: Some(approval.subtasks),
            followup_timeout_ms: approval.followup_timeout_ms,
            max_requests: approval.max_requests,
            max_cost_micros: approval.max_cost_micros,
        }
    }
}

/// A reached limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalLimit {
    /// Number of requests.
    Requests(u32),
    /// Cost in millionths of a US dollar.
    Cost(u64),
}

impl AutoApproval {
    /// The defaults of a level.
    pub fn of(level: AccessLevel) -> Self {
        let inside = match level {
            AccessLevel::ReadOnly => ApprovalMode::Ask,
            AccessLevel::Workspace | AccessLevel::Full => ApprovalMode::Allow,
        };
        let outside = match level {
            AccessLevel::ReadOnly | AccessLevel::Workspace => ApprovalMode::Ask,
            AccessLevel::Full => ApprovalMode::Allow,
        };
        AutoApproval {
            reads: ApprovalMode::Allow,
            reads_outside: outside,
            writes: inside,
            writes_outside: outside,
            writes_protected: outside,
            commands: inside,
            fetches: outside,
            mcp: outside,
            // Leaving a chosen mode needs approval: another mode may have more permissions.
            mode_switches: outside,
            subtasks: inside,
            followup_timeout_ms: None,
            max_requests: None,
            max_cost_micros: None,
        }
    }

    /// Returns the limit that one more request would exceed, given the spending since the user last chose to continue.
    pub fn limit(&self, requests: u32, cost_micros: u64) -> Option<ApprovalLimit> {
        if let Some(most) = self.max_requests
            && requests >= most
        {
            return Some(ApprovalLimit::Requests(most));
        }
        match self.max_cost_micros {
            Some(most) if cost_micros > most => Some(ApprovalLimit::Cost(most)),
            _ => None,
        }
    }
}

impl Default for AutoApproval {
    fn default() -> Self {
        AutoApproval::of(AccessLevel::default())
    }
}

fn least<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
