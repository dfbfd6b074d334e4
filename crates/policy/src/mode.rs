//! What the agent is for at the moment, and so which kinds of tools it has.

use serde::{Deserialize, Serialize};

/// A way of working: a role and the kinds of tools that go with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mode {
    /// The name by which people choose it.
    pub name: String,
    /// The kinds of tools that it has.
    pub groups: Vec<Group>,
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
}

impl Mode {
    /// Does everything.
    pub fn code() -> Self {
        Mode {
            name: "code".into(),
            groups: vec![Group::Read, Group::Edit, Group::Command],
        }
    }

    /// Answers questions and changes nothing.
    pub fn ask() -> Self {
        Mode {
            name: "ask".into(),
            groups: vec![Group::Read],
        }
    }
}
