//! How commands are confined, and how long they are waited for.

use super::{Span, bounds};
use schemars::JsonSchema;
use serde::Deserialize;

/// How commands are confined. Only the user's own configuration may have these.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Sandbox {
    /// Whether commands have the network.
    pub(crate) network: Option<bool>,
    /// Further files and folders that commands may write, such as `~/.gradle`.
    pub(crate) write: Vec<String>,
    /// Files and folders that commands may not read, such as `~/.ssh`; relative ones lie in the project.
    pub(crate) hide: Vec<String>,
    /// Environment variables that commands do not see, besides those that look like keys; `*` stands for any letters.
    pub(crate) secrets: Vec<String>,
    /// Environment variables that commands see although they look like keys; `*` stands for any letters.
    pub(crate) keep: Vec<String>,
    /// The most processes that the user may have while a command starts more.
    #[serde(deserialize_with = "bounds::at_least_one")]
    #[schemars(range(min = 1))]
    pub(crate) max_processes: Option<u32>,
    /// The most memory of each process, in megabytes.
    #[serde(deserialize_with = "bounds::at_least_one")]
    #[schemars(range(min = 1))]
    pub(crate) max_memory: Option<u32>,
    /// The longest file that may be written, in megabytes.
    #[serde(deserialize_with = "bounds::at_least_one")]
    #[schemars(range(min = 1))]
    pub(crate) max_file: Option<u32>,
}

/// How commands are run.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Terminal {
    /// How long a command is waited for before it goes on in the background, such as `60s`.
    pub(crate) foreground: Option<Span>,
}
