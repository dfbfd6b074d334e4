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
            mode_switches: inside,
            subtasks: inside,
            followup_timeout_ms: None,
            max_requests: None,
            max_cost_micros: None,
        }
    }

    /// The stricter of both in every respect: how a project that is not trusted may change what the person set.
    pub fn tighten(self, other: Approval) -> Self {
        Approval {
            reads: self.reads.min(other.reads),
            reads_outside: self.reads_outside.min(other.reads_outside),
            writes: self.writes.min(other.writes),
            writes_outside: self.writes_outside.min(other.writes_outside),
            writes_protected: self.writes_protected.min(other.writes_protected),
            commands: self.commands.min(other.commands),
            fetches: self.fetches.min(other.fetches),
            mcp: self.mcp.min(other.mcp),
            mode_switches: self.mode_switches.min(other.mode_switches),
            subtasks: self.subtasks.min(other.subtasks),
            followup_timeout_ms: match (self.followup_timeout_ms, other.followup_timeout_ms) {
                (Some(a), Some(b)) => Some(a.max(b)),
                _ => None,
            },
            max_requests: least(self.max_requests, other.max_requests),
            max_cost_micros: least(self.max_cost_micros, other.max_cost_micros),
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
