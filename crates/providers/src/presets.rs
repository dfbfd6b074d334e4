//! The named providers and their differences from OpenAI's API.

mod key_pages;
mod table;

pub use key_pages::{address_example, key_page};

use crate::settings::ProviderSettings;
use model::Wire;
use serde::{Deserialize, Serialize};

/// A provider that requires only a key.
#[derive(Debug, Clone, PartialEq)]
pub struct Preset {
    /// Its name in the configuration.
    pub name: &'static str,
    /// Its display name.
    pub title: &'static str,
    /// The default wire; a model may override it.
    pub wire: Wire,
    /// The API's address; empty if it depends on the account (Azure) or the region (Bedrock, Vertex).
    pub base_url: &'static str,
    /// The environment variables for the key, as in the vendor's own tools; the first one set wins.
    pub key_env: &'static [&'static str],
    /// The environment variables for the base URL, as in the vendor's own tools.
    pub url_env: &'static [&'static str],
    /// Where it runs, which decides whether it requires a key.
    pub hosting: Hosting,
    /// The accepted model ids.
    pub models: AcceptedModels,
    /// The main model; empty if only the user can know.
    pub large: &'static str,
    /// The model for titles and summaries.
    pub small: &'static str,
    /// Its differences from OpenAI's API.
    pub quirks: Quirks,
}

/// Where a provider runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hosting {
    /// On the internet; it requires a key.
    Cloud,
    /// On this machine; it requires no key and lists its models (see [`crate::discover`]).
    Local,
}

/// The model ids that a provider accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcceptedModels {
    /// Those in the catalogue and the configuration; other ids are probably typos.
    Listed,
    /// Any: the provider serves more models than the catalogue lists, or those that the user installed.
    Any,
}

/// All presets.
pub fn presets() -> &'static [Preset] {
    table::PRESETS
}

/// The preset with this name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    table::PRESETS.iter().find(|preset| preset.name == name)
}

impl Preset {
    /// The settings of the preset, without the key.
    pub fn settings(&self) -> ProviderSettings {
        let mut settings = ProviderSettings::new(self.name, self.wire, self.base_url);
        settings.quirks = self.quirks.clone();
        settings
    }
}

/// A server's differences from OpenAI's API. The default has none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quirks {
    /// How the key is sent.
    pub auth: AuthScheme,
    /// The field for the maximum reply length.
    pub max_tokens: MaxTokensField,
    /// Whether the model's maximum reply is sent with every request: the server has no limit of its own.
    pub limit_output: bool,
    /// How usage figures are requested.
    pub usage: UsageRequest,
    /// The role of the system prompt.
    pub system_role: SystemRole,
    /// How the reasoning effort is sent.
    pub effort: EffortStyle,
    /// How earlier reasoning is sent back.
    pub thinking: ThinkingReplay,
    /// Whether the text may contain reasoning between `<think>` and `</think>`.
    pub think_tags: bool,
    /// When a sampling temperature may be sent.
    pub temperature: TemperatureSupport,
    /// Which models support explicit cache breakpoints.
    pub cache_marks: CacheMarks,
    /// Whether `prompt_cache_key` is supported.
    pub cache_key: bool,
    /// Whether an assistant message is required between a tool result and the next user message.
    pub bridge_tools: bool,
    /// The accepted tool call ids.
    pub call_ids: CallIdFormat,
    /// Whether PDF documents are accepted as file parts.
    pub pdf: bool,
    /// How a JSON schema for the reply is sent.
    pub schema: SchemaStyle,
    /// The supported forms of `tool_choice`.
    pub tool_choice: ToolChoiceStyle,
    /// Whether tool input streams only if `tool_stream` is set.
    pub tool_stream: bool,
    /// The layout of the paths below the base URL.
    pub paths: PathLayout,
    /// Azure's `api-version`; if set, the URL contains the deployment, otherwise the newer `/openai/v1` paths are used.
    pub api_version: Option<String>,
}

impl Quirks {
    /// OpenAI's own API.
    pub const OPENAI: Quirks = Quirks {
        auth: AuthScheme::Bearer,
        max_tokens: MaxTokensField::MaxCompletionTokens,
        limit_output: false,
        usage: UsageRequest::StreamOptions,
        system_role: SystemRole::System,
        effort: EffortStyle::Openai,
        thinking: ThinkingReplay::Never,
        think_tags: false,
        temperature: TemperatureSupport::UnlessReasoning,
        cache_marks: CacheMarks::Never,
        cache_key: true,
        bridge_tools: false,
        call_ids: CallIdFormat::Short,
        pdf: true,
        schema: SchemaStyle::JsonSchema,
        tool_choice: ToolChoiceStyle::Openai,
        tool_stream: false,
        paths: PathLayout::Openai,
        api_version: None,
    };

    /// The common subset of compatible servers: the old field names and no OpenAI-only fields. The default for unknown
    /// servers.
    pub const COMPATIBLE: Quirks = Quirks {
        max_tokens: MaxTokensField::MaxTokens,
        effort: EffortStyle::Never,
        think_tags: true,
        temperature: TemperatureSupport::Always,
        cache_key: false,
        call_ids: CallIdFormat::Any,
        pdf: false,
        ..Quirks::OPENAI
    };
}

impl Default for Quirks {
    fn default() -> Self {
        Quirks::OPENAI
    }
}

/// How the key is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuthScheme {
    /// `Authorization: Bearer KEY`.
    Bearer,
    /// `x-api-key: KEY` (Anthropic).
    XApiKey,
    /// `api-key: KEY` (Azure).
    ApiKey,
    /// `x-goog-api-key: KEY` (Gemini).
    XGoogApiKey,
    /// The request is signed with AWS credentials.
    Aws,
    /// A short-lived Google access token.
    Google,
}

impl AuthScheme {
    /// The header for a plain key, and the prefix of its value.
    pub fn header(self) -> Option<(&'static str, &'static str)> {
        match self {
            AuthScheme::Bearer | AuthScheme::Google => Some(("authorization", "Bearer ")),
            AuthScheme::XApiKey => Some(("x-api-key", "")),
            AuthScheme::ApiKey => Some(("api-key", "")),
            AuthScheme::XGoogApiKey => Some(("x-goog-api-key", "")),
            AuthScheme::Aws => None,
        }
    }
}

/// The layout of the paths below the base URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathLayout {
    /// `/chat/completions` and `/responses`, below `/v1` if the base URL has no path.
    Openai,
    /// Azure: below `/openai/v1`, or below the deployment if an API version is set.
    Azure,
}

/// The field for the maximum reply length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// `max_completion_tokens`.
    MaxCompletionTokens,
    /// `max_tokens`.
    MaxTokens,
}

/// The role of the system prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SystemRole {
    /// `system`.
    System,
    /// `user`, followed by a short reply: the model's template has no system messages.
    User,
}

/// How usage figures are requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UsageRequest {
    /// `stream_options: {"include_usage": true}`.
    StreamOptions,
    /// `stream_options`, and `usage: {"include": true}` for the price (OpenRouter).
    WithCost,
    /// Not requested: the server sends them anyway, or rejects the field.
    #[serde(rename = "unasked")]
    Omitted,
}

/// How the reasoning effort is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EffortStyle {
    /// `reasoning_effort` with the values that OpenAI's model of that name accepts.
    Openai,
    /// `reasoning_effort`: `low`, `medium` or `high`.
    ThreeSteps,
    /// The same, but only for the open GPT models: other models of these servers reject it (Groq, Cerebras, Together).
    GptOss,
    /// `reasoning_effort`: `none` or `high` (Mistral).
    OnOff,
    /// `reasoning_effort` on the xAI models that accept it.
    Xai,
    /// `reasoning: {"effort": …}` (OpenRouter, Vercel).
    Reasoning,
    /// `thinking: {"type": "enabled" | "disabled"}` (Moonshot).
    Thinking,
    /// `thinking`, which also makes the server keep earlier reasoning, and `reasoning_effort` on later models (Z.ai).
    Zai,
    /// `thinking` and, if enabled, `reasoning_effort`: `low`, `high` or `max` (DeepSeek).
    Deepseek,
    /// The server has no such setting.
    Never,
}

/// How earlier reasoning is sent back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThinkingReplay {
    /// As `reasoning_content`; tool calls without reasoning get an empty one, because the server requires the field.
    ReasoningContent,
    /// As `reasoning`.
    Reasoning,
    /// As `reasoning_details`, unchanged, with signatures and encrypted data.
    ReasoningDetails,
    /// As content parts of type `thinking` (Mistral).
    ContentParts,
    /// Never.
    Never,
}

/// When a sampling temperature may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TemperatureSupport {
    /// With every model.
    Always,
    /// Only with models without reasoning: the others reject it.
    UnlessReasoning,
}

/// Which models support explicit cache breakpoints (`cache_control`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheMarks {
    /// None.
    Never,
    /// Anthropic's models, behind a gateway.
    Claude,
}

impl CacheMarks {
    /// Whether the model with this id supports cache breakpoints.
    pub fn applies_to(self, model: &str) -> bool {
        match self {
            CacheMarks::Never => false,
            CacheMarks::Claude => model.contains("claude"),
        }
    }
}

/// The tool call ids that a server accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallIdFormat {
    /// Any id.
    Any,
    /// At most 40 characters (OpenAI).
    Short,
    /// Exactly nine letters or digits (Mistral).
    NineAlphanumeric,
}

/// How a JSON schema for the reply is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SchemaStyle {
    /// `response_format` with `json_schema`.
    JsonSchema,
    /// `response_format` with `json_object`; the schema goes into the system prompt.
    JsonObject,
}

/// The forms of `tool_choice` that a server supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolChoiceStyle {
    /// `auto`, `none`, `required` and a named function.
    Openai,
    /// `any` instead of OpenAI's `required` (Mistral).
    Any,
    /// Only `auto` and `none`: a forced call is an error (Moonshot while thinking).
    Unforced,
    /// Only `auto`; to forbid tool calls, no tools are sent (Z.ai).
    AutoOnly,
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Catalogue;

    #[test]
    fn every_preset_has_its_own_name_an_address_and_a_way_to_find_its_key() {
        let mut names: Vec<&str> = presets().iter().map(|preset| preset.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), presets().len());
        for preset in presets() {
            let placed = matches!(preset.name, "azure" | "bedrock" | "vertex");
            assert_eq!(preset.base_url.is_empty(), placed, "{}", preset.name);
            assert!(!preset.base_url.ends_with('/'), "{}", preset.name);
            let keyless = preset.hosting == Hosting::Local
                || matches!(preset.quirks.auth, AuthScheme::Aws | AuthScheme::Google)
                || crate::sign_in::sign_in_endpoints(preset.name, &serde_json::Map::new()).is_some();
            assert!(keyless || !preset.key_env.is_empty(), "{}", preset.name);
            assert!(!preset.url_env.is_empty(), "{}", preset.name);
        }
    }

    #[test]
    fn every_default_model_of_a_listed_provider_is_in_the_catalogue_with_tools() {
        let catalogue = Catalogue::embedded();
        for preset in presets()
            .iter()
            .filter(|preset| preset.models == AcceptedModels::Listed)
        {
            for id in [preset.large, preset.small] {
                let info = catalogue.get(preset.name, id);
                assert!(info.is_some_and(|info| info.features.tools), "{}/{id}", preset.name);
            }
        }
        for provider in [
            "anthropic",
            "openai",
            "gemini",
            "bedrock",
            "groq",
            "deepseek",
            "xai",
            "mistral",
            "cerebras",
            "zai",
            "moonshot",
        ] {
            assert!(preset(provider).is_some(), "{provider}");
        }
    }

    #[test]
    fn quirks_are_deserialised_with_openai_as_the_default() {
        let quirks: Quirks = serde_json::from_str(r#"{"max_tokens": "max_tokens", "think_tags": true}"#).unwrap();
        let expected = Quirks {
            max_tokens: MaxTokensField::MaxTokens,
            think_tags: true,
            ..Quirks::OPENAI
        };
        assert_eq!(quirks, expected);
        assert!(serde_json::from_str::<Quirks>(r#"{"max_token": "max_tokens"}"#).is_err());
    }
}
