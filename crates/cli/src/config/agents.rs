//! Other agents, as a configuration file has them.

use super::Span;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Another agent that speaks the Agent Client Protocol, to hand work to. Only your own configuration and that of a trusted folder
/// may have these.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AgentEntry {
    /// The program to start.
    pub(crate) command: String,
    /// Its arguments.
    pub(crate) args: Vec<String>,
    /// Variables that it sees besides the usual ones; `${env:NAME}` stands for one of yours.
    pub(crate) env: BTreeMap<String, String>,
    /// Whether it reads and writes files through hew, under your rules; it does unless this is false.
    pub(crate) files: Option<bool>,
    /// Whether it is left out.
    pub(crate) disabled: bool,
    /// It is given up when it says nothing for so long; 10 minutes when absent.
    pub(crate) timeout: Option<Span>,
}
