//! Profiles switch tools on and off, those of MCP servers too.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which tools the model is offered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Profile {
    /// The name by which people choose it.
    pub name: String,
    /// Tools that are switched on or off by name.
    pub tools: BTreeMap<String, bool>,
    /// What holds for tools that are not named.
    pub other_tools: Switch,
    /// MCP servers by name.
    pub servers: BTreeMap<String, Server>,
    /// What holds for servers that are not named.
    pub other_servers: Switch,
    /// The model that this profile prefers.
    pub model: Option<String>,
}

/// Which tools of an MCP server are offered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Server {
    /// Tools that are switched on or off by name.
    pub tools: BTreeMap<String, bool>,
    /// What holds for tools that are not named.
    pub other_tools: Switch,
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Switch {
    /// On.
    #[default]
    On,
    /// Off.
    Off,
}

impl Profile {
    /// Whether a tool of hew's own is offered.
    pub fn offers(&self, tool: &str) -> bool {
        chosen(&self.tools, tool, self.other_tools)
    }

    /// Whether a tool of an MCP server is offered.
    pub fn offers_mcp(&self, server: &str, tool: &str) -> bool {
        match self.servers.get(server) {
            Some(server) => chosen(&server.tools, tool, server.other_tools),
            None => self.other_servers == Switch::On,
        }
    }

    /// Offers everything.
    pub fn write() -> Self {
        Profile {
            name: "write".into(),
            ..Profile::default()
        }
    }

    /// Offers what looks, and nothing of MCP servers.
    pub fn ask(reading_tools: &[&str]) -> Self {
        Profile {
            name: "ask".into(),
            tools: reading_tools.iter().map(|tool| ((*tool).to_owned(), true)).collect(),
            other_tools: Switch::Off,
            other_servers: Switch::Off,
            ..Profile::default()
        }
    }

    /// Offers nothing.
    pub fn minimal() -> Self {
        Profile {
            name: "minimal".into(),
            other_tools: Switch::Off,
            other_servers: Switch::Off,
            ..Profile::default()
        }
    }
}

fn chosen(tools: &BTreeMap<String, bool>, tool: &str, other: Switch) -> bool {
    tools.get(tool).copied().unwrap_or(other == Switch::On)
}
