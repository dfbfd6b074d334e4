//! What may stand in a configuration file. Doc comments become descriptions in the JSON schema for editors.

use super::agents::AgentEntry;
use super::lsp::Lsp;
use super::tui::Tui;
use super::web::Web;
use super::{Approval, Hook, McpEntry, Permissions, Profile, Sandbox, Size, Span, Terminal, bounds};
use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Configuration of hew.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    /// The model that does the work, as `provider/id`.
    #[serde(deserialize_with = "bounds::model_name")]
    pub(crate) model: Option<String>,
    /// The model for titles and other small jobs, as `provider/id`.
    #[serde(deserialize_with = "bounds::model_name")]
    pub(crate) small_model: Option<String>,
    /// The model that writes edits which the main model only describes, as `provider/id`, or `same` for the main model.
    #[serde(deserialize_with = "bounds::model_name")]
    pub(crate) edit_model: Option<String>,
    /// The model that summarises a conversation that has grown too long, as `provider/id`; else the main model.
    #[serde(deserialize_with = "bounds::model_name")]
    pub(crate) summary_model: Option<String>,
    /// Whether a conversation is summarised by itself before the model's window is full.
    pub(crate) compact: Option<bool>,
    /// The most tokens of the model's window that are used.
    #[serde(deserialize_with = "bounds::at_least_a_hundred")]
    #[schemars(range(min = 100))]
    pub(crate) max_context: Option<u32>,
    /// What is shown to the model beside the conversation from the beginning, such as `todo`, `tree` or `file:src/main.rs`.
    pub(crate) panels: Option<Vec<String>>,
    /// The model that makes images, as `provider/id`, or `none`; else that of the main model's provider, where it has one.
    #[serde(deserialize_with = "bounds::model_name")]
    pub(crate) image_model: Option<String>,
    /// The language in which the model speaks with you, such as `German`.
    pub(crate) language: Option<String>,
    /// A short text that stands behind each of your prompts.
    pub(crate) reminder: Option<String>,
    /// Further folders that belong to the project. Only your own configuration and that of a trusted folder may have them.
    pub(crate) roots: Vec<String>,
    /// The way of working: `code`, `architect`, `ask`, `debug`, `orchestrator`, `agent`, `plan`, or a mode of your own.
    pub(crate) mode: Option<String>,
    /// What is allowed without asking.
    pub(crate) permission: Option<Permission>,
    /// How models call tools, where it is not to be what is known about them.
    pub(crate) tool_protocol: Option<ToolProtocol>,
    /// How hard the model is asked to think.
    pub(crate) effort: Option<Effort>,
    /// Sampling temperature from 0 to 2, where the model takes one.
    #[serde(deserialize_with = "bounds::temperature")]
    #[schemars(range(min = 0.0, max = 2.0))]
    pub(crate) temperature: Option<f64>,
    /// The most tokens that one reply may have.
    #[serde(deserialize_with = "bounds::at_least_one")]
    #[schemars(range(min = 1))]
    pub(crate) max_output: Option<u32>,
    /// Whether sessions get a title from the small model.
    pub(crate) title: Option<bool>,
    /// The HTTP proxy for all providers, such as `http://proxy:3128`.
    pub(crate) proxy: Option<String>,
    /// What stops a turn.
    pub(crate) limits: Limits,
    /// What is kept so that changes can be taken back.
    pub(crate) checkpoints: Checkpoints,
    /// Permission rules.
    pub(crate) permissions: Permissions,
    /// What happens without a question where no rule says otherwise.
    pub(crate) approval: Approval,
    /// More files that are asked about before they are changed, in the syntax of `.gitignore`.
    pub(crate) protected: Vec<String>,
    /// Programs that are run around what happens. Only your own and those of trusted projects.
    pub(crate) hooks: Vec<Hook>,
    /// The profile in force: which tools the model is offered.
    pub(crate) profile: Option<String>,
    /// Profiles by name.
    pub(crate) profiles: BTreeMap<String, Profile>,
    /// Which tools the model gets.
    pub(crate) tools: Tools,
    /// How work is handed to subtasks.
    pub(crate) delegation: Delegation,
    /// How far the agent may go on by itself. Only the user's own configuration may have these.
    pub(crate) autonomy: Autonomy,
    /// Other agents to hand work to, by name.
    pub(crate) agents: BTreeMap<String, AgentEntry>,
    /// MCP servers by name.
    pub(crate) mcp: BTreeMap<String, McpEntry>,
    /// How commands are confined.
    pub(crate) sandbox: Sandbox,
    /// How commands are run.
    pub(crate) terminal: Terminal,
    /// How the tools reach the web.
    pub(crate) web: Web,
    /// Language servers.
    pub(crate) lsp: Lsp,
    /// The terminal front end.
    pub(crate) tui: Tui,
    /// Keys of the terminal front end, by action: all keys of each. An empty list leaves an action without keys.
    pub(crate) keys: BTreeMap<String, Vec<String>>,
    /// Providers by name: settings for those hew knows, and descriptions of others.
    pub(crate) providers: BTreeMap<String, ProviderEntry>,
    /// Models by `provider/id`: additions to the catalogue, and options.
    #[serde(deserialize_with = "bounds::by_full_name")]
    pub(crate) models: BTreeMap<String, ModelEntry>,
}

/// What stops a turn.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Limits {
    /// Requests to the model.
    #[serde(deserialize_with = "bounds::at_least_one")]
    #[schemars(range(min = 1))]
    pub(crate) steps: Option<u32>,
    /// US dollars, more than 0.
    #[serde(deserialize_with = "bounds::above_zero")]
    pub(crate) cost: Option<f64>,
    /// Time, such as `90s`, `10m` or `1h30m`.
    pub(crate) time: Option<Span>,
}

/// Which tools the model gets, by name or by any name that `hew tools` lists for them.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Tools {
    /// Tools that it does not get.
    pub(crate) disabled: Vec<String>,
    /// Tools that it is told of in every request, although it would have to look for them or would not get them.
    pub(crate) enabled: Vec<String>,
    /// With no more tools of MCP servers than this in all, every request lists them; else it looks for them. 10 when absent.
    pub(crate) mcp_listed: Option<u32>,
}

/// How work is handed to subtasks.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Delegation {
    /// How many levels of subtasks there may be; 0 for none.
    pub(crate) depth: Option<u32>,
    /// How many subtasks of one session work at the same time.
    #[serde(deserialize_with = "bounds::at_least_one")]
    #[schemars(range(min = 1))]
    pub(crate) parallel: Option<u32>,
}

/// How far the agent may go on by itself when something happens beside the conversation: a job or a subtask ends, a watched
/// command fails, a reminder is due, things are left to do. Figures count from the last prompt on.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Autonomy {
    /// Whether it may at all.
    pub(crate) enabled: Option<bool>,
    /// Until it has written so many tokens.
    #[serde(deserialize_with = "bounds::at_least_one")]
    #[schemars(range(min = 1))]
    pub(crate) output_tokens: Option<u32>,
    /// Until it has cost so many US dollars.
    #[serde(deserialize_with = "bounds::above_zero")]
    pub(crate) cost: Option<f64>,
    /// Until so much time has passed since it first went on, such as `30m`.
    pub(crate) time: Option<Span>,
    /// So many times.
    #[serde(deserialize_with = "bounds::at_least_one")]
    #[schemars(range(min = 1))]
    pub(crate) messages: Option<u32>,
    /// So often in a row is a failed turn tried again.
    pub(crate) retries: Option<u32>,
    /// Whether open things of its list make it go on.
    pub(crate) todos: Option<bool>,
}

/// What is kept so that changes can be taken back. Only the user's own configuration may have this.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Checkpoints {
    /// Whether what commands change is noted, so that `hew undo` can take it back. Edits always are.
    pub(crate) commands: Option<bool>,
    /// The most that all versions of files may take, such as `1GiB`.
    pub(crate) quota: Option<Size>,
    /// The largest file that is kept, such as `256MiB`.
    pub(crate) max_file: Option<Size>,
}

/// A provider. Only the user's own configuration may have these.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ProviderEntry {
    /// The dialect that it speaks. Needed for a provider that hew does not know.
    pub(crate) wire: Option<WireName>,
    /// Where its API begins. Needed for a provider that hew does not know.
    #[serde(deserialize_with = "bounds::web_address")]
    pub(crate) base_url: Option<String>,
    /// The key itself. Better: `key_env`, `key_command` or `hew keys set`.
    pub(crate) key: Option<String>,
    /// The environment variable that holds the key.
    pub(crate) key_env: Option<String>,
    /// A program that prints the key, with its arguments, such as `["pass", "show", "anthropic"]`.
    pub(crate) key_command: Option<Vec<String>>,
    /// Further headers of every request.
    pub(crate) headers: BTreeMap<String, String>,
    /// Extra fields of every request's body.
    pub(crate) options: Map<String, Value>,
    /// Where it departs from its dialect; laid over what hew knows about it.
    pub(crate) quirks: Map<String, Value>,
    /// Models that it serves, for `hew models`.
    pub(crate) models: Vec<String>,
    /// How long it may send nothing before the request is given up.
    pub(crate) stall: Option<Span>,
    /// The HTTP proxy for this provider.
    pub(crate) proxy: Option<String>,
    /// The AWS region (Bedrock) or the Google Cloud location (Vertex).
    pub(crate) region: Option<String>,
    /// The AWS profile (Bedrock).
    pub(crate) profile: Option<String>,
    /// The Google Cloud project (Vertex).
    pub(crate) project: Option<String>,
}

/// A model. What is not said comes from the catalogue, or else from a modest guess.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ModelEntry {
    /// The dialect that it speaks, where it is not its provider's.
    pub(crate) wire: Option<WireName>,
    /// Tokens of prompt and reply together.
    pub(crate) window: Option<u64>,
    /// Tokens of the longest reply.
    pub(crate) output: Option<u64>,
    /// Whether it calls tools.
    pub(crate) tools: Option<bool>,
    /// Whether it calls several tools at once.
    pub(crate) parallel_tools: Option<bool>,
    /// Whether it takes images.
    pub(crate) images: Option<bool>,
    /// Whether it takes PDF documents.
    pub(crate) pdf: Option<bool>,
    /// Whether it thinks before it answers.
    pub(crate) reasoning: Option<bool>,
    /// Whether its provider caches prompts.
    pub(crate) caching: Option<bool>,
    /// What it costs.
    pub(crate) prices: Option<Prices>,
    /// Extra fields of every request's body.
    pub(crate) options: Map<String, Value>,
}

/// US dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Prices {
    /// Prompt.
    pub(crate) input: f64,
    /// Reply.
    pub(crate) output: f64,
    /// Prompt read from the cache.
    pub(crate) cache_read: Option<f64>,
    /// Prompt written to the cache.
    pub(crate) cache_write: Option<f64>,
}

/// What is allowed without asking. What lies outside the project is asked on a terminal and denied elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Permission {
    /// Look, but change nothing and run nothing
    ReadOnly,
    /// Change files inside the project and run commands there
    Workspace,
    /// Everything
    Full,
}

/// How models call tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ToolProtocol {
    /// By the provider's own means
    Native,
    /// As XML in their text, for models that know no other way
    Xml,
}

/// How hard the model is asked to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Effort {
    /// Not at all, where the model allows that
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

/// A dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum WireName {
    /// Anthropic Messages.
    AnthropicMessages,
    /// OpenAI Chat Completions, and everything that imitates it.
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Gemini.
    Gemini,
    /// Anthropic on AWS Bedrock.
    BedrockAnthropic,
    /// Anthropic on Google Vertex AI.
    VertexAnthropic,
}

/// The JSON schema of a configuration file, for editors.
pub(crate) fn json_schema() -> Value {
    let mut schema = schemars::schema_for!(Config).to_value();
    if let Some(object) = schema.as_object_mut() {
        object.insert("title".into(), "Configuration of hew".into());
    }
    schema
}

impl From<Permission> for policy::Level {
    fn from(permission: Permission) -> Self {
        match permission {
            Permission::ReadOnly => policy::Level::ReadOnly,
            Permission::Workspace => policy::Level::Workspace,
            Permission::Full => policy::Level::Full,
        }
    }
}

impl From<Effort> for model::Effort {
    fn from(effort: Effort) -> Self {
        match effort {
            Effort::None => model::Effort::None,
            Effort::Minimal => model::Effort::Minimal,
            Effort::Low => model::Effort::Low,
            Effort::Medium => model::Effort::Medium,
            Effort::High => model::Effort::High,
            Effort::Max => model::Effort::Max,
        }
    }
}

impl From<WireName> for model::Wire {
    fn from(wire: WireName) -> Self {
        match wire {
            WireName::AnthropicMessages => model::Wire::AnthropicMessages,
            WireName::OpenaiChat => model::Wire::OpenaiChat,
            WireName::OpenaiResponses => model::Wire::OpenaiResponses,
            WireName::Gemini => model::Wire::Gemini,
            WireName::BedrockAnthropic => model::Wire::BedrockAnthropic,
            WireName::VertexAnthropic => model::Wire::VertexAnthropic,
        }
    }
}
