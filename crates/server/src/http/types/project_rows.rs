//! Rows about a session and its project: models, modes, commands, files, jobs, panels, servers and settings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ModelRow {
    /// The name, as provider/id.
    pub name: String,
    /// A description.
    pub description: String,
    /// Why it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
}

/// A mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ModeChoice {
    /// The name.
    pub name: String,
    /// A description.
    pub description: String,
}

/// A slash command, which can be sent as a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CommandRow {
    /// The name without the slash.
    pub name: String,
    /// Other names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// The arguments of a built-in command; empty if there are none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub arguments: String,
    /// Whether hew defines it, not the user, the project or an MCP server.
    pub built_in: bool,
    /// A description.
    pub description: String,
}

/// A background job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct JobInfo {
    /// Its number.
    pub id: u32,
    /// The command.
    pub command: String,
    /// A description of its state.
    pub state: String,
    /// Whether it is running.
    pub running: bool,
    /// The end of its output.
    pub output: String,
}

/// A panel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PanelInfo {
    /// The name.
    pub name: String,
    /// Whether it is open.
    pub open: bool,
}

/// An MCP or language server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ServerInfo {
    /// `MCP` or `LSP`.
    pub kind: String,
    /// The name.
    pub name: String,
    /// A description of its state.
    pub state: String,
    /// Its tools or errors.
    pub details: Vec<String>,
}

/// A permission rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PermissionRuleRow {
    /// `allow`, `ask` or `deny`.
    pub effect: String,
    /// The rule.
    pub rule: String,
    /// Its source.
    pub origin: String,
    /// `none`, `stored` or `session`: whether and how it can be removed.
    pub revocation: String,
}

/// A configuration key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SettingInfo {
    /// The key.
    pub key: String,
    /// The value; empty if it is not set.
    pub value: String,
    /// The source of the value.
    pub origin: String,
    /// Its description.
    pub description: String,
}

/// Code that a search found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FoundCode {
    /// The path of its file.
    pub path: String,
    /// Its lines, such as `10-40`.
    pub lines: String,
    /// The definition that it shows; may be empty.
    pub symbol: String,
    /// Why it was found.
    pub reasons: String,
    /// Its text.
    pub text: String,
}

/// A rules file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RulesFileInfo {
    /// The path; relative to the project, or absolute.
    pub path: String,
    /// The path for display.
    pub name: String,
    /// Where it applies, and whether it is new.
    pub description: String,
}
