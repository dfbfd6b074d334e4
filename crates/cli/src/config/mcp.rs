//! MCP servers, as a configuration file has them.

use super::{Span, bounds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An MCP server. Only your own configuration and that of a trusted folder may have these.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct McpEntry {
    /// The program to start, for a server on this machine.
    pub(crate) command: Option<String>,
    /// Its arguments.
    pub(crate) args: Vec<String>,
    /// Variables that it sees besides the usual ones.
    pub(crate) env: BTreeMap<String, String>,
    /// The folder in which it is started; the project's if absent.
    pub(crate) cwd: Option<String>,
    /// The address, for a server elsewhere.
    #[serde(deserialize_with = "bounds::web_address")]
    pub(crate) url: Option<String>,
    /// How the address is spoken to: `http` (streamable HTTP, the usual one) or `sse`.
    pub(crate) r#type: Option<McpType>,
    /// Headers of every request.
    pub(crate) headers: BTreeMap<String, String>,
    /// Whether it is left out.
    pub(crate) disabled: Option<bool>,
    /// How long it may take to start, and to answer a call; 60 seconds when absent.
    pub(crate) timeout: Option<Span>,
    /// Tools that are called without a question; `*` for all.
    pub(crate) always_allow: Vec<String>,
    /// Tools that the model does not get.
    pub(crate) disabled_tools: Vec<String>,
    /// The only tools that the model gets.
    pub(crate) enabled_tools: Option<Vec<String>>,
    /// Whether its own word is taken for which of its tools only look: those run side by side.
    pub(crate) trust_hints: Option<bool>,
    /// What happens when it wants the model to answer something.
    pub(crate) sampling: Option<McpSampling>,
    /// How to log in, where it does not say so itself.
    pub(crate) oauth: McpOAuth,
}

/// How an MCP server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum McpType {
    /// A program on this machine, over its standard input and output
    Stdio,
    /// Streamable HTTP
    Http,
    /// HTTP with server-sent events, as it was before
    Sse,
}

/// What happens when an MCP server wants the model to answer something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum McpSampling {
    /// You are asked.
    Ask,
    /// It happens.
    Allow,
    /// It does not.
    Deny,
}

/// How to log in at an MCP server.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct McpOAuth {
    /// What the server knows hew by, where hew does not register itself.
    pub(crate) client_id: Option<String>,
    /// The secret that belongs to it.
    pub(crate) client_secret: Option<String>,
    /// What hew asks to be allowed.
    pub(crate) scopes: Vec<String>,
    /// The port of this machine to which the browser comes back; any free one when absent.
    pub(crate) port: Option<u16>,
}
