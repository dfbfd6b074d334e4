//! What happens without a question where no rule says otherwise, and how much of it.

use crate::Level;
use serde::{Deserialize, Serialize};

/// Whether something needs a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Auto {
    /// It does.
    Ask,
    /// It does not.
    Allow,
}

/// What happens without a question, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Approval {
    /// Reading inside the project.
    pub reads: Auto,
    /// Reading elsewhere.
    pub reads_outside: Auto,
    /// Changing files inside the project.
    pub writes: Auto,
    /// Changing files elsewhere.
    pub writes_outside: Auto,
    /// Changing files that steer hew itself or an editor.
    pub writes_protected: Auto,
    /// Running commands.
    pub commands: Auto,
    /// Loading something from the network.
    pub fetches: Auto,
    /// Calling tools of MCP servers.
    pub mcp: Auto,
    /// Going on in another mode.
    pub mode_switches: Auto,
    /// Handing work to a conversation of its own.
    pub subtasks: Auto,
    /// After so many milliseconds a question with suggested answers takes the first one; never when absent.
    pub followup_timeout_ms: Option<u64>,
    /// After so many requests in a row a person is asked whether to go on.
    pub max_requests: Option<u32>,
    /// After so much money, in US dollars, a person is asked whether to go on. In millionths.
    pub max_cost_micros: Option<u64>,
}

/// What a configuration says about [`Approval`]; what it leaves open is up to the level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Reading inside the project.
    pub reads: Option<Auto>,
    /// Reading elsewhere.
    pub reads_outside: Option<Auto>,
    /// Changing files inside the project.
    pub writes: Option<Auto>,
    /// Changing files elsewhere.
    pub writes_outside: Option<Auto>,
    /// Changing files that steer hew itself or an editor.
    pub writes_protected: Option<Auto>,
    /// Running commands.
    pub commands: Option<Auto>,
    /// Loading something from the network.
    pub fetches: Option<Auto>,
    /// Calling tools of MCP servers.
    pub mcp: Option<Auto>,
    /// Going on in another mode.
    pub mode_switches: Option<Auto>,
    /// Handing work to a conversation of its own.
    pub subtasks: Option<Auto>,
    /// After so many milliseconds a question with suggested answers takes the first one; never when absent.
    pub followup_timeout_ms: Option<u64>,
    /// After so many requests in a row a person is asked whether to go on.
    pub max_requests: Option<u32>,
    /// After so many millionths of a US dollar a person is asked whether to go on.
    pub max_cost_micros: Option<u64>,
}

impl Settings {
    /// What happens unasked at a level, given these settings.
    pub fn over(&self, level: Level) -> Approval {
        let usual = Approval::of(level);
        Approval {
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

    /// Lays other settings over these: those that say something count.
    pub fn overlaid(self, other: Settings) -> Settings {
        Settings {
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

    /// Lays the settings of somebody who is not trusted over these: only what is stricter counts.
    pub fn tightened(self, other: Settings) -> Settings {
        let stricter = |mine: Option<Auto>, theirs: Option<Auto>| match theirs {
            Some(Auto::Ask) => Some(Auto::Ask),
            Some(Auto::Allow) | None => mine,
        };
        Settings {
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
            // A longer wait leaves more time to object; no answer at all is not for a project to choose.
            followup_timeout_ms: self
                .followup_timeout_ms
                .map(|mine| mine.max(other.followup_timeout_ms.unwrap_or(mine))),
            max_requests: least(self.max_requests, other.max_requests),
            max_cost_micros: least(self.max_cost_micros, other.max_cost_micros),
        }
    }
}

impl From<Approval> for Settings {
    fn from(approval: Approval) -> Self {
        Settings {
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

/// A limit that has been reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Of requests.
    Requests(u32),
    /// Of cost, in millionths of a US dollar.
    Cost(u64),
}

impl Approval {
    /// What a level lets happen.
    pub fn of(level: Level) -> Self {
        let inside = match level {
            Level::ReadOnly => Auto::Ask,
            Level::Workspace | Level::Full => Auto::Allow,
        };
        let outside = match level {
            Level::ReadOnly | Level::Workspace => Auto::Ask,
            Level::Full => Auto::Allow,
        };
        Approval {
            reads: Auto::Allow,
            reads_outside: outside,
            writes: inside,
            writes_outside: outside,
            writes_protected: outside,
            commands: inside,
            fetches: outside,
            mcp: outside,
            // A mode that was chosen is not left unasked: another one may do more.
            mode_switches: outside,
            subtasks: inside,
            followup_timeout_ms: None,
            max_requests: None,
            max_cost_micros: None,
        }
    }

    /// The limit that one more request would pass, given what has been spent since a person last said to go on.
    pub fn limit(&self, requests: u32, cost_micros: u64) -> Option<Limit> {
        if let Some(most) = self.max_requests
            && requests >= most
        {
            return Some(Limit::Requests(most));
        }
        match self.max_cost_micros {
            Some(most) if cost_micros > most => Some(Limit::Cost(most)),
            _ => None,
        }
    }
}

impl Default for Approval {
    fn default() -> Self {
        Approval::of(Level::default())
    }
}

fn least<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
