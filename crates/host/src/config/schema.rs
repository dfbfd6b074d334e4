//! The configuration file.

use super::ProjectAccess::{Allow, AtMost, Extend, Filter, Never, OwnProvider, Tighten};
use super::key::config_table;
use super::untrusted::{allows_more, is_looser, remove_allow_rules, remove_looser_approval};
use super::{
    AgentConfig, ApprovalConfig, ByteSize, HookConfig, HumanDuration, LspConfig, McpServerConfig, ModelConfig,
    PermissionsConfig, PredictConfig, ProfileConfig, ProviderConfig, SandboxConfig, TelemetryConfig, TerminalConfig,
    TuiConfig, WebConfig, bounds,
};
use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// After this number of steps with tool calls in a turn the user is asked whether to continue, unless a limit is
/// configured. If approvals cannot be requested, the turn ends and can be resumed.
pub const DEFAULT_STEPS: u32 = 200;

config_table! {
    /// Configuration of hew.
    pub struct Config {
        /// The model that does the work, as `provider/id`. Without it, that of the first provider with a key, or of a
        /// server on this machine (see `local_models`).
        #[serde(deserialize_with = "bounds::model_name")]
        model: Option<String> [env: Some("HEW_MODEL"), project: OwnProvider],
        /// Whether a model of Ollama, LM Studio, llama.cpp or vLLM on this machine is used if no model is configured and
        /// no provider has a key.
        local_models: bool [env: Some("HEW_LOCAL_MODELS")] = true,
        /// The model for titles and other small requests, as `provider/id`. Without it, the small model of the same
        /// provider.
        #[serde(deserialize_with = "bounds::model_name")]
        small_model: Option<String> [env: Some("HEW_SMALL_MODEL"), project: OwnProvider],
        /// The model that writes edits that the main model only describes: `provider/id`, or `same` for the main
        /// model. Without it, edits cannot be described.
        #[serde(deserialize_with = "bounds::model_name")]
        edit_model: Option<String> [env: Some("HEW_EDIT_MODEL"), project: OwnProvider],
        /// The model that summarizes a long conversation: `provider/id`, or `same` for the main model, which is the
        /// default.
        #[serde(deserialize_with = "bounds::model_name")]
        summary_model: Option<String> [env: Some("HEW_SUMMARY_MODEL"), project: OwnProvider],
        /// Whether a conversation is summarized automatically before the context window is full.
        compact: bool [env: Some("HEW_COMPACT"), project: Allow] = true,
        /// The maximum number of tokens of the context window that are used.
        #[serde(deserialize_with = "bounds::at_least_a_hundred")]
        #[schemars(range(min = 100))]
        max_context: Option<u32> [env: Some("HEW_MAX_CONTEXT"), project: Tighten(is_looser::<u32>)],
        /// Panels that the model sees from the start, such as `todo`, `tree` or `file:src/main.rs`. Without it:
        /// `todo`, `memories`, `scratchpad` and `console`.
        panels: Option<Vec<String>>,
        /// The model that generates images: `provider/id`, or `none`. Without it, that of the main model's provider,
        /// if it has one.
        #[serde(deserialize_with = "bounds::model_name")]
        image_model: Option<String> [env: Some("HEW_IMAGE_MODEL"), project: OwnProvider],
        /// The model that helps to order the results of code search, as `provider/id`: the query and the best candidates
        /// are sent to it. Without it, nothing is sent.
        #[serde(deserialize_with = "bounds::model_name")]
        embedding_model: Option<String> [env: Some("HEW_EMBEDDING_MODEL"), project: Never],
        /// The language in which the model answers, such as `German`. Without it, the language of your prompts.
        language: Option<String> [env: Some("HEW_LANGUAGE"), project: Allow],
        /// Which rules files of a folder are used.
        rules: RulesFiles [env: Some("HEW_RULES"), project: Allow] = RulesFiles::First,
        /// A short text that is appended to each of your prompts.
        reminder: Option<String> [project: Allow],
        /// Additional directories of the project, such as `["../lib", "~/notes"]`. The lists of all layers are
        /// combined.
        roots: Vec<String>,
        /// The mode: `code`, `architect`, `ask`, `debug`, `orchestrator`, `agent`, `plan`, or one of your own. Without it,
        /// `agent` where approvals cannot be requested.
        mode: String [env: Some("HEW_MODE"), project: Tighten(allows_more)] = "code".to_owned(),
        /// The permission level: actions that need no approval.
        permission: PermissionLevel [env: Some("HEW_PERMISSION"), project: Tighten(is_looser::<PermissionLevel>)]
            = PermissionLevel::Workspace,
        /// How models call tools. Without it, by what is known about the model.
        tool_protocol: Option<ToolProtocol> [env: Some("HEW_TOOL_PROTOCOL")],
        /// The reasoning effort of the model.
        effort: Option<EffortName> [env: Some("HEW_EFFORT"), project: Allow],
        /// The sampling temperature from 0 to 2, for models that support it.
        #[serde(deserialize_with = "bounds::temperature")]
        #[schemars(range(min = 0.0, max = 2.0))]
        temperature: Option<f64> [env: Some("HEW_TEMPERATURE"), project: Allow],
        /// The maximum number of tokens of one reply.
        max_output: Option<NonZeroU32> [env: Some("HEW_MAX_OUTPUT"), project: Tighten(is_looser::<u32>)],
        /// Whether the small model writes the titles of sessions.
        title: bool [env: Some("HEW_TITLE"), project: Allow] = true,
        /// The HTTP proxy for all providers, such as `http://proxy:3128`. Without it, `HTTPS_PROXY`, `HTTP_PROXY`,
        /// `ALL_PROXY` and `NO_PROXY` are used.
        proxy: Option<String> [env: Some("HEW_PROXY")],
        /// Limits of a turn.
        limits: LimitsConfig [table: LimitsConfig::KEYS],
        /// Stored versions of files, which make it possible to revert changes.
        checkpoints: CheckpointsConfig [table: CheckpointsConfig::KEYS],
        /// Permission rules.
        permissions: PermissionsConfig [project: Filter(remove_allow_rules)],
        /// Actions that need no approval if no rule applies.
        approval: ApprovalConfig [project: Filter(remove_looser_approval)],
        /// Additional protected files, which need approval before they are changed, in `.gitignore` syntax.
        protected: Vec<String> [project: Extend],
        /// Programs that run at certain events.
        hooks: Vec<HookConfig>,
        /// The active profile, which determines the tools that the model is offered.
        profile: Option<String>,
        /// Profiles by name.
        profiles: BTreeMap<String, ProfileConfig>,
        /// The tools that the model is offered.
        tools: ToolsConfig [table: ToolsConfig::KEYS],
        /// Subtasks.
        delegation: DelegationConfig [table: DelegationConfig::KEYS],
        /// Limits for continuing without a prompt.
        autonomy: AutonomyConfig [table: AutonomyConfig::KEYS],
        /// Other agents for subtasks, by name.
        agents: BTreeMap<String, AgentConfig>,
        /// MCP servers by name.
        mcp: BTreeMap<String, McpServerConfig>,
        /// The sandbox of commands.
        sandbox: SandboxConfig [table: SandboxConfig::KEYS],
        /// How commands run.
        terminal: TerminalConfig [table: TerminalConfig::KEYS],
        /// The web tools.
        web: WebConfig [table: WebConfig::KEYS],
        /// Language servers.
        lsp: LspConfig [table: LspConfig::KEYS],
        /// Edit predictions for editors.
        predict: PredictConfig [table: PredictConfig::KEYS],
        /// The terminal front end.
        tui: TuiConfig [table: TuiConfig::KEYS],
        /// Export of traces and metrics to an OpenTelemetry collector. Off unless you enable it.
        telemetry: TelemetryConfig [table: TelemetryConfig::KEYS],
        /// Whether the bytes of replies are stored with the session, at most 8 MiB of each, so that `hew replay` can decode
        /// them again.
        record: bool [env: Some("HEW_RECORD")] = false,
        /// Key bindings of the terminal front end: all keys of each action. An empty list removes the bindings of an
        /// action.
        keys: BTreeMap<String, Vec<String>>,
        /// Providers by name: settings of known providers, and definitions of others.
        providers: BTreeMap<String, ProviderConfig>,
        /// Models by `provider/id`: additions to the catalogue, and options.
        #[serde(deserialize_with = "bounds::models_by_full_name")]
        models: BTreeMap<String, ModelConfig>,
    }
}

config_table! {
    /// Limits of a turn.
    pub struct LimitsConfig {
        /// The maximum number of requests to the model. Without it, you are asked whether to continue after 200.
        steps: Option<NonZeroU32> [env: Some("HEW_MAX_STEPS"), project: AtMost(DEFAULT_STEPS)],
        /// The maximum cost in US dollars, more than 0.
        #[serde(deserialize_with = "bounds::above_zero")]
        cost: Option<f64> [env: Some("HEW_MAX_COST"), project: Tighten(is_looser::<f64>)],
        /// The maximum duration, such as `90s`, `10m` or `1h30m`.
        time: Option<HumanDuration> [env: Some("HEW_MAX_TIME"), project: Tighten(is_looser::<HumanDuration>)],
    }
}

config_table! {
    /// The tools that the model is offered, by name or alias (see `hew tools`).
    pub struct ToolsConfig {
        /// Tools that the model is not offered.
        disabled: Vec<String> [project: Extend],
        /// Tools that every request lists, although the model would have to search for them or would not be offered
        /// them.
        enabled: Vec<String>,
        /// How the model writes edits: `json` (old and new text), `apply-patch`, or `anchors` (lines are named by their
        /// number and a hash). By default, the format that suits the model's family.
        #[serde(deserialize_with = "bounds::edit_format")]
        edit_format: Option<String> [project: Allow],
        /// If all MCP servers together have at most this number of tools, every request lists them. Otherwise the
        /// model searches for them.
        mcp_listed: u32 [project: Allow] = 10,
    }
}

config_table! {
    /// Subtasks.
    pub struct DelegationConfig {
        /// The maximum nesting depth of subtasks; 0 disables them.
        depth: u32 = 2,
        /// The maximum number of subtasks of one session that run at the same time.
        parallel: NonZeroU32 = bounds::count(4),
    }
}

config_table! {
    /// Limits for continuing without a prompt when a job or a subtask ends, a watched command fails, a reminder is
    /// due, or to-dos are left. All numbers count from the last prompt.
    pub struct AutonomyConfig {
        /// Whether the agent may continue without a prompt.
        enabled: bool [env: Some("HEW_AUTONOMY")] = false,
        /// The maximum number of output tokens.
        output_tokens: Option<NonZeroU32>,
        /// The maximum cost in US dollars.
        #[serde(deserialize_with = "bounds::above_zero")]
        cost: Option<f64>,
        /// The maximum time since it first continued, such as `30m`.
        time: Option<HumanDuration>,
        /// How many times it may continue.
        messages: NonZeroU32 = bounds::count(20),
        /// How many times in a row a failed turn is retried.
        retries: u32 = 3,
        /// Whether it continues while to-dos are left.
        todos: bool = true,
    }
}

config_table! {
    /// Stored versions of files, which make it possible to revert changes.
    pub struct CheckpointsConfig {
        /// Whether changes by commands are recorded so that `hew undo` can revert them. Edits are always recorded.
        commands: bool = true,
        /// The maximum size of all versions of files, such as `1GiB`.
        quota: ByteSize = ByteSize(1 << 30),
        /// The size of the largest file that is stored, such as `256MiB`.
        max_file: ByteSize = ByteSize(256 << 20),
    }
}

/// The permission level: actions that need no approval. Actions outside of the project need approval; without a terminal they are denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum PermissionLevel {
    /// Read files, but change nothing and run nothing
    ReadOnly,
    /// Change files of the project and run commands in it
    Workspace,
    /// Everything
    Full,
}

impl PermissionLevel {
    /// Its name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            PermissionLevel::ReadOnly => "read-only",
            PermissionLevel::Workspace => "workspace",
            PermissionLevel::Full => "full",
        }
    }
}

/// Which rules files of a folder are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum RulesFiles {
    /// `AGENTS.md` and the first other one
    First,
    /// All of them
    All,
}

/// How models call tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum ToolProtocol {
    /// With the provider's tool calls
    Native,
    /// As XML in their text, for models without tool calls
    Xml,
}

/// The reasoning effort of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum EffortName {
    /// No reasoning, if the model supports that
    None,
    /// As little as possible
    Minimal,
    /// A little
    Low,
    /// The usual amount
    Medium,
    /// A lot
    High,
    /// As much as possible
    Max,
}

/// Returns the JSON schema of a configuration file, for editors.
pub fn json_schema() -> Value {
    let mut schema = schemars::schema_for!(Config).to_value();
    if let Some(object) = schema.as_object_mut() {
        object.insert("title".into(), "Configuration of hew".into());
    }
    schema
}

impl From<PermissionLevel> for policy::AccessLevel {
    fn from(level: PermissionLevel) -> Self {
        match level {
            PermissionLevel::ReadOnly => policy::AccessLevel::ReadOnly,
            PermissionLevel::Workspace => policy::AccessLevel::Workspace,
            PermissionLevel::Full => policy::AccessLevel::Full,
        }
    }
}

impl From<RulesFiles> for context::RulesFileSelection {
    fn from(files: RulesFiles) -> Self {
        match files {
            RulesFiles::First => context::RulesFileSelection::First,
            RulesFiles::All => context::RulesFileSelection::All,
        }
    }
}

impl EffortName {
    /// The name in configuration files and on the command line.
    pub fn name(self) -> String {
        let value = self.to_possible_value();
        value.map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

impl From<model::Effort> for EffortName {
    fn from(effort: model::Effort) -> Self {
        match effort {
            model::Effort::None => EffortName::None,
            model::Effort::Minimal => EffortName::Minimal,
            model::Effort::Low => EffortName::Low,
            model::Effort::Medium => EffortName::Medium,
            model::Effort::High => EffortName::High,
            model::Effort::Max => EffortName::Max,
        }
    }
}

impl From<EffortName> for model::Effort {
    fn from(effort: EffortName) -> Self {
        match effort {
            EffortName::None => model::Effort::None,
            EffortName::Minimal => model::Effort::Minimal,
            EffortName::Low => model::Effort::Low,
            EffortName::Medium => model::Effort::Medium,
            EffortName::High => model::Effort::High,
            EffortName::Max => model::Effort::Max,
        }
    }
}
