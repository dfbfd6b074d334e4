//! Permission rules, approval, hooks and profiles in the configuration.

use super::{HumanDuration, bounds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use session::HookKind;
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// Permission rules such as `run(git push)`, `write(docs/**)` or `fetch(*.example.org)`. `deny` takes precedence over
/// `ask`, and `ask` over `allow`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PermissionsConfig {
    /// Actions that need no approval. Ignored in untrusted projects.
    pub allow: Vec<String>,
    /// Actions that always need approval.
    pub ask: Vec<String>,
    /// Forbidden actions.
    pub deny: Vec<String>,
    /// The expected results of these rules alone for some examples such as `run git push --force`; checked when the
    /// rules are loaded.
    pub examples: RuleExamplesConfig,
}

/// Examples by the expected result of the rules.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RuleExamplesConfig {
    /// Must be allowed by a rule.
    pub allow: Vec<String>,
    /// Must need approval: by a rule, or because no rule applies.
    pub ask: Vec<String>,
    /// Must be denied by a rule.
    pub deny: Vec<String>,
}

/// Actions that need no approval if no rule applies. Missing values depend on `permission`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ApprovalConfig {
    /// Reading in the project.
    pub reads: Option<ApprovalChoice>,
    /// Reading elsewhere.
    pub reads_outside: Option<ApprovalChoice>,
    /// Changing files of the project.
    pub writes: Option<ApprovalChoice>,
    /// Changing files elsewhere.
    pub writes_outside: Option<ApprovalChoice>,
    /// Changing files that configure hew, other agents or an editor.
    pub writes_protected: Option<ApprovalChoice>,
    /// Running commands.
    pub commands: Option<ApprovalChoice>,
    /// Fetching from the network.
    pub fetches: Option<ApprovalChoice>,
    /// Calling tools of MCP servers.
    pub mcp: Option<ApprovalChoice>,
    /// Switching to another mode.
    pub mode_switches: Option<ApprovalChoice>,
    /// Starting subtasks.
    pub subtasks: Option<ApprovalChoice>,
    /// After this time, such as `60s`, the first suggested answer of a question is used. Without it, never.
    pub followups: Option<HumanDuration>,
    /// After this number of consecutive requests, hew asks whether to continue.
    pub max_requests: Option<NonZeroU32>,
    /// After this cost in US dollars, hew asks whether to continue.
    #[serde(deserialize_with = "bounds::above_zero")]
    pub max_cost: Option<f64>,
}

/// Whether an action needs approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalChoice {
    /// It does.
    Ask,
    /// It does not.
    Allow,
}

/// A program that runs at an event.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookConfig {
    /// The event.
    pub event: HookKind,
    /// For tools: a pattern of their names, such as `edit_*`. Without it, all tools.
    #[serde(default)]
    pub matcher: Option<String>,
    /// A shell command. It receives JSON on its standard input.
    pub command: String,
    /// Its time limit; 60 seconds by default.
    #[serde(default)]
    pub timeout: Option<HumanDuration>,
    /// Whether it runs in the sandbox, where it may write the project and temporary files; true by default.
    #[serde(default)]
    pub sandbox: Option<bool>,
    /// Whether it has network access in the sandbox.
    #[serde(default)]
    pub network: Option<bool>,
    /// Additional files and directories that it may write in the sandbox.
    #[serde(default)]
    pub write: Vec<String>,
}

/// The tools that the model is offered.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProfileConfig {
    /// Tools that are enabled or disabled by name.
    pub tools: BTreeMap<String, bool>,
    /// Whether other tools are enabled.
    pub other_tools: Option<bool>,
    /// MCP servers by name.
    pub servers: BTreeMap<String, ServerProfileConfig>,
    /// Whether other servers are enabled.
    pub other_servers: Option<bool>,
}

/// The tools of an MCP server that the model is offered.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ServerProfileConfig {
    /// Tools that are enabled or disabled by name.
    pub tools: BTreeMap<String, bool>,
    /// Whether other tools are enabled.
    pub other_tools: Option<bool>,
}

impl From<&PermissionsConfig> for policy::RuleConfig {
    fn from(rules: &PermissionsConfig) -> Self {
        policy::RuleConfig {
            allow: rules.allow.clone(),
            ask: rules.ask.clone(),
            deny: rules.deny.clone(),
            examples: policy::RuleExamples {
                allow: rules.examples.allow.clone(),
                ask: rules.examples.ask.clone(),
                deny: rules.examples.deny.clone(),
            },
        }
    }
}

impl From<ApprovalChoice> for policy::ApprovalMode {
    fn from(choice: ApprovalChoice) -> Self {
        match choice {
            ApprovalChoice::Ask => policy::ApprovalMode::Ask,
            ApprovalChoice::Allow => policy::ApprovalMode::Allow,
        }
    }
}

impl From<&ApprovalConfig> for policy::ApprovalSettings {
    fn from(approval: &ApprovalConfig) -> Self {
        let choice = |choice: Option<ApprovalChoice>| choice.map(Into::into);
        policy::ApprovalSettings {
            reads: choice(approval.reads),
            reads_outside: choice(approval.reads_outside),
            writes: choice(approval.writes),
            writes_outside: choice(approval.writes_outside),
            writes_protected: choice(approval.writes_protected),
            commands: choice(approval.commands),
            fetches: choice(approval.fetches),
            mcp: choice(approval.mcp),
            mode_switches: choice(approval.mode_switches),
            subtasks: choice(approval.subtasks),
            followup_timeout_ms: approval
                .followups
                .map(|time| u64::try_from(time.0.as_millis()).unwrap_or(u64::MAX)),
            max_requests: approval.max_requests.map(NonZeroU32::get),
            max_cost_micros: approval.max_cost.map(|usd| (usd * 1e6).round() as u64),
        }
    }
}

impl ProfileConfig {
    /// Converts it to the profile of this name.
    pub fn to_policy(&self, name: &str) -> policy::ToolProfile {
        let switch = |on: Option<bool>| match on {
            Some(false) => policy::DefaultSwitch::Off,
            Some(true) | None => policy::DefaultSwitch::On,
        };
        let server = |server: &ServerProfileConfig| policy::ServerToolProfile {
            tools: server.tools.clone(),
            other_tools: switch(server.other_tools),
        };
        policy::ToolProfile {
            name: name.into(),
            tools: self.tools.clone(),
            other_tools: switch(self.other_tools),
            servers: self
                .servers
                .iter()
                .map(|(name, profile)| (name.clone(), server(profile)))
                .collect(),
            other_servers: switch(self.other_servers),
            model: None,
        }
    }
}
