//! Tool profiles enable and disable tools, including those of MCP servers.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which tools are available to the model.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolProfile {
    /// Its name in commands and configuration.
    pub name: String,
    /// Tools by name, enabled or disabled.
    pub tools: BTreeMap<String, bool>,
    /// The default for other tools.
    pub other_tools: DefaultSwitch,
    /// MCP servers by name.
    pub servers: BTreeMap<String, ServerToolProfile>,
    /// The default for other servers.
    pub other_servers: DefaultSwitch,
    /// The preferred model.
    pub model: Option<String>,
}

/// Which tools of an MCP server are available.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerToolProfile {
    /// Tools by name, enabled or disabled.
    pub tools: BTreeMap<String, bool>,
    /// The default for other tools.
    pub other_tools: DefaultSwitch,
}

/// Enabled or disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DefaultSwitch {
    /// Enabled.
    #[default]
    On,
    /// Disabled.
    Off,
}

impl ToolProfile {
    /// Whether a built-in tool is available.
    pub fn offers(&self, tool: &str) -> bool {
        chosen(&self.tools, tool, self.other_tools)
    }

    /// Whether a tool of an MCP server is available.
    pub fn offers_mcp(&self, server: &str, tool: &str) -> bool {
        match self.servers.get(server) {
            Some(server) => chosen(&server.tools, tool, server.other_tools),
            None => self.other_servers == DefaultSwitch::On,
        }
    }

    /// All tools.
    pub fn write() -> Self {
        ToolProfile {
            name: "write".into(),
            ..ToolProfile::default()
        }
    }

    /// Only tools that read, and no MCP servers.
    pub fn ask(reading_tools: &[&str]) -> Self {
        ToolProfile {
            name: "ask".into(),
            tools: reading_tools.iter().map(|tool| ((*tool).to_owned(), true)).collect(),
            other_tools: DefaultSwitch::Off,
            other_servers: DefaultSwitch::Off,
            ..ToolProfile::default()
        }
    }

    /// No tools.
    pub fn minimal() -> Self {
        ToolProfile {
            name: "minimal".into(),
            other_tools: DefaultSwitch::Off,
            other_servers: DefaultSwitch::Off,
            ..ToolProfile::default()
        }
    }
}

fn chosen(tools: &BTreeMap<String, bool>, tool: &str, other: DefaultSwitch) -> bool {
    tools.get(tool).copied().unwrap_or(other == DefaultSwitch::On)
}
