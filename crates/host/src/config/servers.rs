//! External agents, MCP servers and language servers in the configuration.

use super::key::config_table;
use super::{HumanDuration, bounds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// Another agent that implements the Agent Client Protocol, for subtasks.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentConfig {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Additional environment variables; `${env:NAME}` is replaced with one of yours.
    pub env: BTreeMap<String, String>,
    /// Whether it reads and writes files through hew, under your rules; true by default.
    pub files: Option<bool>,
    /// Whether it is disabled.
    pub disabled: bool,
    /// It is stopped if it sends nothing for this long; 10 minutes by default.
    pub timeout: Option<HumanDuration>,
}

/// An MCP server.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct McpServerConfig {
    /// The program of a local server.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Additional environment variables.
    pub env: BTreeMap<String, String>,
    /// The working directory; that of the project by default.
    pub cwd: Option<String>,
    /// The URL of a remote server.
    #[serde(deserialize_with = "bounds::web_address")]
    pub url: Option<String>,
    /// The transport of a remote server: `http` (streamable HTTP, the default) or `sse`.
    pub r#type: Option<McpTransportKind>,
    /// Headers of every request.
    pub headers: BTreeMap<String, String>,
    /// Whether it is disabled.
    pub disabled: Option<bool>,
    /// The time limit for starting and for each call; 60 seconds by default.
    pub timeout: Option<HumanDuration>,
    /// Tools that need no approval; `*` for all.
    pub always_allow: Vec<String>,
    /// Tools that the model is not offered.
    pub disabled_tools: Vec<String>,
    /// The only tools that the model is offered.
    pub enabled_tools: Option<Vec<String>>,
    /// Whether the server is trusted to declare which of its tools are read-only; those run in parallel.
    pub trust_hints: Option<bool>,
    /// Whether it may send requests to the model.
    pub sampling: Option<McpSamplingConfig>,
    /// How its questions to you are answered.
    pub elicitation: Option<McpElicitationConfig>,
    /// OAuth settings, if the server does not announce them.
    pub oauth: McpOAuthConfig,
    /// Whether it runs in the sandbox, where it may write the project and temporary files; true by default.
    pub sandbox: Option<bool>,
    /// Whether it has network access in the sandbox.
    pub network: Option<bool>,
    /// Additional files and directories that it may write in the sandbox.
    pub write: Vec<String>,
}

/// The transport of an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum McpTransportKind {
    /// A local program, over its standard input and output
    Stdio,
    /// Streamable HTTP
    Http,
    /// HTTP with server-sent events, the older transport
    Sse,
}

/// Whether an MCP server may send requests to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum McpSamplingConfig {
    /// After approval.
    Ask,
    /// Always.
    Allow,
    /// Never.
    Deny,
}

/// How questions of an MCP server are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum McpElicitationConfig {
    /// You are asked.
    Ask,
    /// With the defaults that the server states; you are asked only for required fields without one.
    Defaults,
    /// They are declined.
    Decline,
}

/// OAuth settings of an MCP server.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct McpOAuthConfig {
    /// The client id, if hew does not register itself.
    pub client_id: Option<String>,
    /// The client secret.
    pub client_secret: Option<String>,
    /// The URL of a client metadata document, which is the client id at servers that support it.
    pub client_metadata_url: Option<String>,
    /// The requested scopes.
    pub scopes: Vec<String>,
    /// The local port of the redirect URL; any free port by default.
    pub port: Option<u16>,
}

config_table! {
    /// Language servers. They start only in trusted projects.
    pub struct LspConfig {
        /// Whether language servers are started.
        enabled: bool = true,
        /// How long diagnostics are awaited after an edit, in milliseconds.
        wait_ms: NonZeroU32 = bounds::count(2_500),
        /// A server that uses more memory is stopped, in megabytes.
        memory_mb: NonZeroU32 = bounds::count(4_096),
        /// Servers by name: settings of known servers, and definitions of others.
        servers: BTreeMap<String, LspServerConfig>,
    }
}

/// A language server. Its values override those of a known server.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LspServerConfig {
    /// Whether it is disabled.
    pub disabled: bool,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The language id of each file extension: `{ rs = "rust" }`.
    pub languages: BTreeMap<String, String>,
    /// Files that mark the root directory of the server.
    pub roots: Vec<String>,
    /// Additional environment variables.
    pub env: BTreeMap<String, String>,
    /// Its initialization options.
    pub init_options: Option<serde_json::Value>,
    /// The settings that it can request.
    pub settings: Option<serde_json::Value>,
    /// Whether it runs in the sandbox, where it may write the project and temporary files; true by default.
    pub sandbox: Option<bool>,
    /// Whether it has network access in the sandbox.
    pub network: Option<bool>,
    /// Additional files and directories that it may write in the sandbox.
    pub write: Vec<String>,
}
