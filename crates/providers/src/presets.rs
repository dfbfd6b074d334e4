//! The providers that hew knows by name, and the ways in which each differs from plain OpenAI.

mod table;

use crate::settings::Settings;
use model::Wire;
use serde::{Deserialize, Serialize};

/// A provider that needs no more than a key to be used.
#[derive(Debug, Clone, PartialEq)]
pub struct Preset {
    /// Its name in hew's configuration.
    pub name: &'static str,
    /// Its name as it writes it itself.
    pub title: &'static str,
    /// The dialect it speaks, unless a model says otherwise.
    pub wire: Wire,
    /// Where it is; empty where that depends on the account (Azure) or the region (Bedrock, Vertex).
    pub base_url: &'static str,
    /// The environment variables that its own tools read the key from, the first that is set wins.
    pub key_env: &'static [&'static str],
    /// The environment variables that its own tools read the base URL from.
    pub url_env: &'static [&'static str],
    /// Where it runs, and with that whether it works without a key.
    pub place: Place,
    /// Which model ids it takes.
    pub models: Models,
    /// The model for the work itself; empty where only the person can know.
    pub large: &'static str,
    /// The model for titles and summaries.
    pub small: &'static str,
    /// How it differs from plain OpenAI.
    pub quirks: Quirks,
}

/// Where a provider runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Somewhere on the internet; it wants a key.
    Cloud,
    /// On this machine; it works without a key and can be asked for its models (see [`crate::discover`]).
    Local,
}

/// Which model ids a provider takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Models {
    /// Those in the catalogue and in the configuration; anything else is probably a typing mistake.
    Listed,
    /// Any: it serves more than a catalogue can list, or what the person installed.
    Open,
}

/// All presets.
pub fn presets() -> &'static [Preset] {
    table::PRESETS
}

/// The preset of this name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    table::PRESETS.iter().find(|preset| preset.name == name)
}

impl Preset {
    /// The settings that the preset stands for; the key is still missing.
    pub fn settings(&self) -> Settings {
        let mut settings = Settings::new(self.name, self.wire, self.base_url);
        settings.quirks = self.quirks.clone();
        settings
    }
}

/// How a server differs from plain OpenAI. The default is plain OpenAI.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quirks {
    /// How the key travels.
    pub auth: Auth,
    /// The field that holds the longest allowed reply.
    pub max_tokens: MaxTokens,
    /// How usage figures are asked for.
    pub usage: AskUsage,
    /// How the model is told how hard to think.
    pub effort: EffortStyle,
    /// How earlier thinking goes back.
    pub thinking: ThinkingBack,
    /// Whether thinking may stand in the text between `<think>` and `</think>`.
    pub think_tags: bool,
    /// When a sampling temperature may be sent.
    pub temperature: Temperature,
    /// Which models take explicit cache marks.
    pub cache_marks: CacheMarks,
    /// Whether `prompt_cache_key` is understood.
    pub cache_key: bool,
    /// Whether an assistant message must stand between a tool's result and the next user message.
    pub bridge_tools: bool,
    /// Which tool call ids are accepted.
    pub call_ids: CallIds,
    /// Whether PDF documents are taken as file parts.
    pub pdf: bool,
    /// How an answer is held to a JSON schema.
    pub schema: SchemaStyle,
    /// Which forms of `tool_choice` are understood.
    pub tool_choice: ToolChoiceStyle,
    /// Whether the input of tool calls streams only when `tool_stream` asks for it.
    pub tool_stream: bool,
    /// How the paths below the base URL are laid out.
    pub paths: Paths,
    /// Azure's `api-version`; with it the URL names the deployment, without it the newer `/openai/v1` paths are used.
    pub api_version: Option<String>,
}

impl Quirks {
    /// Plain OpenAI.
    pub const PLAIN: Quirks = Quirks {
        auth: Auth::Bearer,
        max_tokens: MaxTokens::MaxCompletionTokens,
        usage: AskUsage::StreamOptions,
        effort: EffortStyle::Openai,
        thinking: ThinkingBack::Never,
        think_tags: false,
        temperature: Temperature::UnlessReasoning,
        cache_marks: CacheMarks::Never,
        cache_key: true,
        bridge_tools: false,
        call_ids: CallIds::Short,
        pdf: true,
        schema: SchemaStyle::JsonSchema,
        tool_choice: ToolChoiceStyle::Openai,
        tool_stream: false,
        paths: Paths::Openai,
        api_version: None,
    };

    /// What most imitations understand: the old names, and nothing that only OpenAI has. The choice for an unknown server.
    pub const IMITATION: Quirks = Quirks {
        max_tokens: MaxTokens::MaxTokens,
        effort: EffortStyle::Never,
        think_tags: true,
        temperature: Temperature::Always,
        cache_key: false,
        call_ids: CallIds::Any,
        pdf: false,
        ..Quirks::PLAIN
    };
}

impl Default for Quirks {
    fn default() -> Self {
        Quirks::PLAIN
    }
}

/// How the key travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Auth {
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

impl Auth {
    /// The header that carries a plain key, and what stands before the key in it.
    pub fn header(self) -> Option<(&'static str, &'static str)> {
        match self {
            Auth::Bearer | Auth::Google => Some(("authorization", "Bearer ")),
            Auth::XApiKey => Some(("x-api-key", "")),
            Auth::ApiKey => Some(("api-key", "")),
            Auth::XGoogApiKey => Some(("x-goog-api-key", "")),
            Auth::Aws => None,
        }
    }
}

/// How the paths below the base URL are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Paths {
    /// `/chat/completions` and `/responses`, below `/v1` where the base URL names no path of its own.
    Openai,
    /// Azure's: below `/openai/v1`, or below the deployment where an API version is set.
    Azure,
}

/// The field that holds the longest allowed reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokens {
    /// `max_completion_tokens`.
    MaxCompletionTokens,
    /// `max_tokens`.
    MaxTokens,
}

/// How usage figures are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AskUsage {
    /// `stream_options: {"include_usage": true}`.
    StreamOptions,
    /// `stream_options`, and `usage: {"include": true}` for the price (OpenRouter).
    WithCost,
    /// Not at all: the server sends them unasked, or rejects the question.
    Unasked,
}

/// How a model is told how hard to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EffortStyle {
    /// `reasoning_effort` with the words that OpenAI's model of that name takes.
    Openai,
    /// `reasoning_effort`: `low`, `medium` or `high`.
    ThreeSteps,
    /// The same, but only for the open GPT models: others that the server has reject it (Groq, Cerebras, Together).
    GptOss,
    /// `reasoning_effort`: `none` or `high` (Mistral).
    OnOff,
    /// `reasoning_effort` on those xAI models that take it.
    Xai,
    /// `reasoning: {"effort": …}` (OpenRouter, Vercel).
    Reasoning,
    /// `thinking: {"type": "enabled" | "disabled"}` (Moonshot).
    Thinking,
    /// `thinking`, which also asks the server to keep earlier thinking, and on later models `reasoning_effort` (Z.ai).
    Zai,
    /// `thinking` and, when it is on, `reasoning_effort`: `low`, `high` or `max` (DeepSeek).
    Deepseek,
    /// The server has no such setting.
    Never,
}

/// How earlier thinking goes back to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThinkingBack {
    /// As `reasoning_content`; tool calls without any get an empty one, because a missing one is an error there.
    ReasoningContent,
    /// As `reasoning`.
    Reasoning,
    /// As `reasoning_details`, exactly as they came, with signatures and encrypted data.
    ReasoningDetails,
    /// As content parts of the type `thinking` (Mistral).
    ContentParts,
    /// Not at all.
    Never,
}

/// When a sampling temperature may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Temperature {
    /// With every model.
    Always,
    /// With models that do not think: those that do reject it.
    UnlessReasoning,
}

/// Which models take explicit cache marks (`cache_control`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheMarks {
    /// None.
    Never,
    /// Anthropic's models, behind a gateway.
    Claude,
}

impl CacheMarks {
    /// Whether the model of this id takes cache marks.
    pub fn apply(self, model: &str) -> bool {
        match self {
            CacheMarks::Never => false,
            CacheMarks::Claude => model.contains("claude"),
        }
    }
}

/// Which tool call ids a server accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallIds {
    /// Whatever was sent before.
    Any,
    /// At most 40 characters (OpenAI).
    Short,
    /// Exactly nine letters or digits (Mistral).
    NineAlphanumeric,
}

/// How an answer is held to a JSON schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SchemaStyle {
    /// `response_format` with `json_schema`.
    JsonSchema,
    /// `response_format` with `json_object`; the schema goes into the system prompt.
    JsonObject,
}

/// Which forms of `tool_choice` a server understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolChoiceStyle {
    /// `auto`, `none`, `required` and a named function.
    Openai,
    /// `any` where OpenAI says `required` (Mistral).
    Any,
    /// Only `auto` and `none`: a forced call is an error (Moonshot while thinking).
    Unforced,
    /// Only `auto`; where no tool may be called, none is offered (Z.ai).
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
            let keyless = preset.place == Place::Local || matches!(preset.quirks.auth, Auth::Aws | Auth::Google);
            assert!(keyless || !preset.key_env.is_empty(), "{}", preset.name);
            assert!(!preset.url_env.is_empty(), "{}", preset.name);
        }
    }

    #[test]
    fn every_default_model_of_a_listed_provider_is_in_the_catalogue_with_tools() {
        let catalogue = Catalogue::embedded();
        for preset in presets().iter().filter(|preset| preset.models == Models::Listed) {
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
    fn quirks_are_read_from_configuration_and_what_is_not_said_is_plain_openai() {
        let quirks: Quirks = serde_json::from_str(r#"{"max_tokens": "max_tokens", "think_tags": true}"#).unwrap();
        let expected = Quirks {
            max_tokens: MaxTokens::MaxTokens,
            think_tags: true,
            ..Quirks::PLAIN
        };
        assert_eq!(quirks, expected);
        assert!(serde_json::from_str::<Quirks>(r#"{"max_token": "max_tokens"}"#).is_err());
    }
}
