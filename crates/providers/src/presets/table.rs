//! The table of presets: names, addresses, environment variables, default models and quirks.

use super::{
    AcceptedModels, AuthScheme, CacheMarks, CallIdFormat, EffortStyle, Hosting, MaxTokensField, PathLayout, Preset,
    Quirks, SchemaStyle, TemperatureSupport, ThinkingReplay, ToolChoiceStyle, UsageRequest,
};
use model::Wire;

/// The presets: vendors' own APIs, then gateways, then local servers.
pub(super) const PRESETS: &[Preset] = &[
    Preset {
        name: "anthropic",
        title: "Anthropic",
        wire: Wire::AnthropicMessages,
        base_url: "https://api.anthropic.com",
        key_env: &["ANTHROPIC_API_KEY"],
        url_env: &["ANTHROPIC_BASE_URL"],
        large: "claude-sonnet-5-5",
        small: "claude-haiku-5-5",
        quirks: Quirks {
            auth: AuthScheme::XApiKey,
            ..Quirks::OPENAI
        },
        ..VENDOR
    },
    Preset {
        name: "openai",
        title: "OpenAI",
        wire: Wire::OpenaiResponses,
        base_url: "https://api.openai.com/v1",
        key_env: &["OPENAI_API_KEY"],
        url_env: &["OPENAI_BASE_URL", "OPENAI_API_BASE"],
        large: "gpt-6.1-sol",
        small: "gpt-6-luna",
        ..VENDOR
    },
    Preset {
        name: "gemini",
        title: "Google Gemini",
        wire: Wire::Gemini,
        base_url: "https://generativelanguage.googleapis.com",
        key_env: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        url_env: &["GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"],
        large: "gemini-4-argon",
        small: "gemini-3.8-flash",
        quirks: Quirks {
            auth: AuthScheme::XGoogApiKey,
            ..Quirks::OPENAI
        },
        ..VENDOR
    },
    Preset {
        name: "github-copilot",
        title: "GitHub Copilot",
        base_url: "https://api.githubcopilot.com",
        url_env: &["GITHUB_COPILOT_BASE_URL"],
        large: "claude-sonnet-5.5",
        small: "claude-haiku-5.5",
        quirks: Quirks::COMPATIBLE,
        ..GATEWAY
    },
    Preset {
        name: "chatgpt",
        title: "ChatGPT",
        wire: Wire::OpenaiResponses,
        base_url: "https://chatgpt.com/backend-api/codex",
        url_env: &["CHATGPT_BASE_URL"],
        large: "gpt-6.1-sol",
        small: "gpt-6-luna",
        ..GATEWAY
    },
    Preset {
        name: "bedrock",
        title: "Amazon Bedrock",
        wire: Wire::BedrockAnthropic,
        key_env: &["AWS_BEARER_TOKEN_BEDROCK"],
        url_env: &["ANTHROPIC_BEDROCK_BASE_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"],
        large: "us.anthropic.claude-sonnet-5-5",
        small: "us.anthropic.claude-haiku-5-5",
        quirks: Quirks {
            auth: AuthScheme::Aws,
            ..Quirks::OPENAI
        },
        ..VENDOR
    },
    Preset {
        name: "vertex",
        title: "Google Vertex AI",
        wire: Wire::VertexAnthropic,
        url_env: &["ANTHROPIC_VERTEX_BASE_URL"],
        large: "claude-sonnet-5-5",
        small: "claude-haiku-5-5",
        models: AcceptedModels::Any,
        quirks: Quirks {
            auth: AuthScheme::Google,
            ..Quirks::OPENAI
        },
        ..VENDOR
    },
    Preset {
        name: "azure",
        title: "Azure OpenAI",
        wire: Wire::OpenaiResponses,
        key_env: &["AZURE_OPENAI_API_KEY", "AZURE_API_KEY"],
        url_env: &["AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_BASE_URL", "AZURE_API_BASE"],
        // On Azure the model id is the deployment name, which depends on the account.
        models: AcceptedModels::Any,
        quirks: Quirks {
            auth: AuthScheme::ApiKey,
            paths: PathLayout::Azure,
            ..Quirks::OPENAI
        },
        ..VENDOR
    },
    Preset {
        name: "deepseek",
        title: "DeepSeek",
        base_url: "https://api.deepseek.com",
        key_env: &["DEEPSEEK_API_KEY"],
        url_env: &["DEEPSEEK_BASE_URL", "DEEPSEEK_API_BASE"],
        large: "deepseek-v4-pro",
        small: "deepseek-flash",
        quirks: Quirks {
            effort: EffortStyle::Deepseek,
            thinking: ThinkingReplay::ReasoningContent,
            schema: SchemaStyle::JsonObject,
            ..Quirks::COMPATIBLE
        },
        ..VENDOR
    },
    Preset {
        name: "xai",
        title: "xAI",
        base_url: "https://api.x.ai/v1",
        key_env: &["XAI_API_KEY"],
        url_env: &["XAI_BASE_URL", "XAI_API_BASE"],
        large: "grok-4.7",
        small: "grok-build-latest",
        quirks: Quirks {
            effort: EffortStyle::Xai,
            ..Quirks::COMPATIBLE
        },
        ..VENDOR
    },
    Preset {
        name: "mistral",
        title: "Mistral",
        base_url: "https://api.mistral.ai/v1",
        key_env: &["MISTRAL_API_KEY"],
        url_env: &["MISTRAL_BASE_URL", "MISTRAL_API_BASE"],
        large: "mistral-large-4",
        small: "mistral-small-latest",
        quirks: Quirks {
            // Mistral always sends usage and rejects `stream_options` as an unknown field.
            usage: UsageRequest::Omitted,
            effort: EffortStyle::OnOff,
            thinking: ThinkingReplay::ContentParts,
            bridge_tools: true,
            call_ids: CallIdFormat::NineAlphanumeric,
            tool_choice: ToolChoiceStyle::Any,
            cache_key: true,
            ..Quirks::COMPATIBLE
        },
        ..VENDOR
    },
    Preset {
        name: "groq",
        title: "Groq",
        base_url: "https://api.groq.com/openai/v1",
        key_env: &["GROQ_API_KEY"],
        url_env: &["GROQ_BASE_URL", "GROQ_API_BASE"],
        large: "openai/gpt-oss-120b",
        small: "openai/gpt-oss-20b",
        quirks: Quirks {
            max_tokens: MaxTokensField::MaxCompletionTokens,
            effort: EffortStyle::GptOss,
            ..Quirks::COMPATIBLE
        },
        ..VENDOR
    },
    Preset {
        name: "cerebras",
        title: "Cerebras",
        base_url: "https://api.cerebras.ai/v1",
        key_env: &["CEREBRAS_API_KEY"],
        url_env: &["CEREBRAS_BASE_URL", "CEREBRAS_API_BASE"],
        large: "gpt-oss-120b",
        small: "gpt-oss-120b",
        quirks: Quirks {
            max_tokens: MaxTokensField::MaxCompletionTokens,
            effort: EffortStyle::GptOss,
            ..Quirks::COMPATIBLE
        },
        ..VENDOR
    },
    Preset {
        name: "zai",
        title: "Z.ai",
        base_url: "https://api.z.ai/api/paas/v4",
        key_env: &["ZAI_API_KEY", "ZHIPUAI_API_KEY", "ZHIPU_API_KEY"],
        url_env: &["ZAI_BASE_URL", "ZAI_API_BASE"],
        large: "glm-5.3",
        small: "glm-5.3-flash",
        quirks: Quirks {
            effort: EffortStyle::Zai,
            thinking: ThinkingReplay::ReasoningContent,
            schema: SchemaStyle::JsonObject,
            tool_choice: ToolChoiceStyle::AutoOnly,
            tool_stream: true,
            ..Quirks::COMPATIBLE
        },
        ..VENDOR
    },
    Preset {
        name: "moonshot",
        title: "Moonshot AI",
        base_url: "https://api.moonshot.ai/v1",
        key_env: &["MOONSHOT_API_KEY", "KIMI_API_KEY"],
        url_env: &["MOONSHOT_BASE_URL", "MOONSHOT_API_BASE", "KIMI_BASE_URL"],
        large: "kimi-k3",
        small: "kimi-k2.6",
        quirks: Quirks {
            effort: EffortStyle::Thinking,
            thinking: ThinkingReplay::ReasoningContent,
            temperature: TemperatureSupport::UnlessReasoning,
            tool_choice: ToolChoiceStyle::Unforced,
            cache_key: true,
            ..Quirks::COMPATIBLE
        },
        ..VENDOR
    },
    Preset {
        name: "openrouter",
        title: "OpenRouter",
        base_url: "https://openrouter.ai/api/v1",
        key_env: &["OPENROUTER_API_KEY"],
        url_env: &["OPENROUTER_BASE_URL", "OPENROUTER_API_BASE"],
        large: "anthropic/claude-sonnet-5.5",
        small: "anthropic/claude-haiku-5.5",
        quirks: Quirks {
            usage: UsageRequest::WithCost,
            effort: EffortStyle::Reasoning,
            thinking: ThinkingReplay::ReasoningDetails,
            cache_marks: CacheMarks::Claude,
            pdf: true,
            ..Quirks::COMPATIBLE
        },
        ..GATEWAY
    },
    Preset {
        name: "vercel",
        title: "Vercel AI Gateway",
        base_url: "https://ai-gateway.vercel.sh/v1",
        key_env: &["AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN"],
        url_env: &["AI_GATEWAY_BASE_URL"],
        large: "anthropic/claude-sonnet-5.5",
        small: "anthropic/claude-haiku-5.5",
        quirks: Quirks {
            effort: EffortStyle::Reasoning,
            thinking: ThinkingReplay::ReasoningDetails,
            cache_marks: CacheMarks::Claude,
            pdf: true,
            ..Quirks::COMPATIBLE
        },
        ..GATEWAY
    },
    Preset {
        name: "huggingface",
        title: "Hugging Face",
        base_url: "https://router.huggingface.co/v1",
        key_env: &["HF_TOKEN", "HUGGINGFACE_API_KEY"],
        url_env: &["HF_BASE_URL", "HUGGINGFACE_API_BASE"],
        large: "openai/gpt-oss-120b",
        small: "openai/gpt-oss-20b",
        quirks: Quirks::COMPATIBLE,
        ..GATEWAY
    },
    Preset {
        name: "together",
        title: "Together AI",
        base_url: "https://api.together.xyz/v1",
        key_env: &["TOGETHER_API_KEY"],
        url_env: &["TOGETHER_BASE_URL", "TOGETHER_API_BASE"],
        large: "zai-org/GLM-5.3",
        small: "zai-org/GLM-5.3-Flash",
        quirks: Quirks {
            effort: EffortStyle::GptOss,
            ..Quirks::COMPATIBLE
        },
        ..GATEWAY
    },
    Preset {
        name: "fireworks",
        title: "Fireworks AI",
        base_url: "https://api.fireworks.ai/inference/v1",
        key_env: &["FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY"],
        url_env: &["FIREWORKS_BASE_URL", "FIREWORKS_API_BASE"],
        large: "accounts/fireworks/models/gpt-oss-120b",
        small: "accounts/fireworks/models/gpt-oss-20b",
        quirks: Quirks {
            effort: EffortStyle::ThreeSteps,
            thinking: ThinkingReplay::ReasoningContent,
            ..Quirks::COMPATIBLE
        },
        ..GATEWAY
    },
    Preset {
        name: "ollama",
        title: "Ollama",
        base_url: "http://localhost:11434/v1",
        key_env: &["OLLAMA_API_KEY"],
        url_env: &["OLLAMA_BASE_URL", "OLLAMA_HOST"],
        quirks: Quirks {
            effort: EffortStyle::ThreeSteps,
            thinking: ThinkingReplay::Reasoning,
            ..LOCAL.quirks
        },
        ..LOCAL
    },
    Preset {
        name: "lmstudio",
        title: "LM Studio",
        base_url: "http://localhost:1234/v1",
        key_env: &["LMSTUDIO_API_KEY", "LM_API_TOKEN"],
        url_env: &["LMSTUDIO_BASE_URL", "LM_STUDIO_API_BASE"],
        ..LOCAL
    },
    Preset {
        name: "llamacpp",
        title: "llama.cpp",
        base_url: "http://localhost:8080/v1",
        key_env: &["LLAMA_API_KEY"],
        url_env: &["LLAMACPP_BASE_URL", "LLAMA_BASE_URL"],
        quirks: Quirks {
            thinking: ThinkingReplay::ReasoningContent,
            ..LOCAL.quirks
        },
        ..LOCAL
    },
    Preset {
        name: "vllm",
        title: "vLLM",
        base_url: "http://localhost:8000/v1",
        key_env: &["VLLM_API_KEY"],
        url_env: &["VLLM_BASE_URL", "HOSTED_VLLM_API_BASE"],
        quirks: Quirks {
            effort: EffortStyle::ThreeSteps,
            thinking: ThinkingReplay::Reasoning,
            ..LOCAL.quirks
        },
        ..LOCAL
    },
];

/// The base of vendors' own APIs.
const VENDOR: Preset = Preset {
    name: "",
    title: "",
    wire: Wire::OpenaiChat,
    base_url: "",
    key_env: &[],
    url_env: &[],
    hosting: Hosting::Cloud,
    models: AcceptedModels::Listed,
    large: "",
    small: "",
    quirks: Quirks::OPENAI,
};

/// The base of gateways, which serve more models than the catalogue lists.
const GATEWAY: Preset = Preset {
    models: AcceptedModels::Any,
    ..VENDOR
};

/// The base of local servers.
const LOCAL: Preset = Preset {
    hosting: Hosting::Local,
    models: AcceptedModels::Any,
    quirks: Quirks {
        limit_output: true,
        ..Quirks::COMPATIBLE
    },
    ..VENDOR
};
