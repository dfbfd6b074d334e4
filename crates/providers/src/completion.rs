//! Text completions: a prompt goes in, its continuation comes out. Used for edit predictions.

use crate::client::headers;
use crate::error::Error as SettingsError;
use crate::error_mapping;
use crate::http::{JsonExchange, parse_url};
use crate::settings::ProviderSettings;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use model::{Error, Usage, Wire};
use reqwest::Url;
use serde_json::{Value, json};
use std::time::Duration;

/// The maximum size of a response.
const MAX_RESPONSE: usize = 1024 * 1024;
/// A prediction that takes longer is useless.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A model that continues text.
#[derive(Clone)]
pub struct CompletionModel {
    settings: ProviderSettings,
    model: String,
    dialect: CompletionDialect,
    url: Url,
    headers: HeaderMap,
}

/// The API for completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CompletionDialect {
    /// OpenAI's `/completions` with the whole prompt, as most servers have it.
    Plain,
    /// The text before and after the cursor in separate fields: Mistral's `/fim/completions`, DeepSeek's
    /// `/beta/completions`. The server adds its own markers.
    Suffix,
}

/// A request for a completion.
#[derive(Debug, Clone, PartialEq)]
pub struct CompletionRequest<'a> {
    /// The whole prompt with the model's markers.
    pub prompt: &'a str,
    /// The text before the cursor, without markers.
    pub prefix: &'a str,
    /// The text after the cursor, without markers.
    pub suffix: &'a str,
    /// Sequences that end the completion.
    pub stop: &'a [String],
    /// The maximum number of tokens.
    pub max_tokens: usize,
}

/// A completion.
#[derive(Debug, Clone, PartialEq)]
pub struct CompletionAnswer {
    /// The text.
    pub text: String,
    /// Whether the token limit ended it.
    pub is_truncated: bool,
    /// The token usage, if the server reports it.
    pub usage: Usage,
}

impl CompletionModel {
    /// Creates a model, or `None` if the provider's API has no completions. Sends no request.
    pub fn new(settings: ProviderSettings, model: &str) -> Result<Option<Self>, SettingsError> {
        match settings.wire {
            Wire::OpenaiChat | Wire::OpenaiResponses => {}
            Wire::Gemini
            | Wire::AnthropicMessages
            | Wire::BedrockAnthropic
            | Wire::BedrockConverse
            | Wire::VertexAnthropic => return Ok(None),
        }
        let base = settings.base_url.trim_end_matches('/').to_owned();
        let (dialect, path) = match settings.provider.as_str() {
            "mistral" => (CompletionDialect::Suffix, "/fim/completions"),
            "deepseek" => (CompletionDialect::Suffix, "/beta/completions"),
            _ => (CompletionDialect::Plain, "/completions"),
        };
        let url = parse_url(&settings, &format!("{base}{path}"))?;
        let mut headers = headers(&settings, &url)?;
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.remove(CONTENT_TYPE);
        let model = model.to_owned();
        Ok(Some(CompletionModel {
            settings,
            model,
            dialect,
            url,
            headers,
        }))
    }

    /// Completes a prompt. Dropping the future cancels the request.
    pub async fn complete(&self, request: &CompletionRequest<'_>) -> Result<CompletionAnswer, Error> {
        let exchange = JsonExchange {
            settings: &self.settings,
            max_bytes: MAX_RESPONSE,
            timeout: TIMEOUT,
        };
        let sent = async {
            let client = exchange.client(&self.url)?;
            let post = client.post(self.url.clone()).headers(self.headers.clone());
            exchange.send(post.json(&self.body(request))).await
        };
        let json = sent.await.map_err(|mut error| {
            for secret in self.settings.secrets() {
                error_mapping::redact(&mut error, &secret);
            }
            error
        })?;
        self.read(&json)
    }

    fn body(&self, request: &CompletionRequest<'_>) -> Value {
        let mut body = json!({
            "model": self.model,
            "max_tokens": request.max_tokens,
            "temperature": 0,
            "stream": false,
        });
        match self.dialect {
            CompletionDialect::Plain => body["prompt"] = request.prompt.into(),
            CompletionDialect::Suffix => {
                body["prompt"] = request.prefix.into();
                body["suffix"] = request.suffix.into();
            }
        }
        if self.dialect == CompletionDialect::Plain && !request.stop.is_empty() {
            // OpenAI permits four.
            let most = if self.settings.provider == "openai" {
                4
            } else {
                request.stop.len()
            };
            body["stop"] = request.stop.iter().take(most).cloned().collect();
        }
        if self.dialect == CompletionDialect::Plain && self.settings.provider == "llamacpp" {
            body["cache_prompt"] = true.into();
        }
        body
    }

    fn read(&self, json: &Value) -> Result<CompletionAnswer, Error> {
        let choice = &json["choices"][0];
        // Mistral answers like a conversation.
        let text = choice["text"]
            .as_str()
            .or_else(|| choice["message"]["content"].as_str());
        let Some(text) = text else {
            let shown = json.to_string();
            let provider = &self.settings.provider;
            return Err(error_mapping::invalid_response(
                provider,
                "the response has no completion",
                &shown,
            ));
        };
        let tokens = |name: &str| json["usage"][name].as_u64().unwrap_or(0);
        let cached = json["usage"]["prompt_tokens_details"]["cached_tokens"]
            .as_u64()
            .unwrap_or(0);
        Ok(CompletionAnswer {
            text: text.to_owned(),
            is_truncated: choice["finish_reason"] == "length",
            usage: Usage {
                input: tokens("prompt_tokens").saturating_sub(cached),
                output: tokens("completion_tokens"),
                cache_read: cached,
                ..Usage::default()
            },
        })
    }
}

impl std::fmt::Debug for CompletionModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompletionModel")
            .field("model", &self.model)
            .field("dialect", &self.dialect)
            .finish_non_exhaustive()
    }
}
