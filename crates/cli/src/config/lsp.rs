//! Language servers.

use super::bounds;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Language servers. None is started in a folder that is not trusted.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Lsp {
    /// Whether language servers are started at all; they are unless this is false.
    pub(crate) enabled: Option<bool>,
    /// How long problems are awaited after an edit, in milliseconds; 2500 unless set.
    #[serde(deserialize_with = "bounds::at_least_one")]
    #[schemars(range(min = 1))]
    pub(crate) wait_ms: Option<u32>,
    /// A server that holds more memory is ended, in megabytes; 4096 unless set.
    #[serde(deserialize_with = "bounds::at_least_one")]
    #[schemars(range(min = 1))]
    pub(crate) memory_mb: Option<u32>,
    /// Servers by name: settings for those hew knows, and others.
    pub(crate) servers: BTreeMap<String, LspServer>,
}

/// A language server. For one that hew knows, what is said here comes before what it knows.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LspServer {
    /// Whether it is left out.
    pub(crate) disabled: bool,
    /// The program and its arguments.
    pub(crate) command: Vec<String>,
    /// For each ending of a file's name, the language as the protocol names it: `{ rs = "rust" }`.
    pub(crate) languages: BTreeMap<String, String>,
    /// Files that mark the folder it is started for.
    pub(crate) roots: Vec<String>,
    /// Variables it sees beside those that commands see.
    pub(crate) env: BTreeMap<String, String>,
    /// What it is told when it starts.
    pub(crate) init_options: Option<serde_json::Value>,
    /// What it is told when it asks for its settings.
    pub(crate) settings: Option<serde_json::Value>,
}
