//! Embeddings: texts go in, vectors come out. Used to order the results of code search.

use crate::client::headers;
use crate::error::Error as SettingsError;
use crate::error_mapping;
use crate::http::{JsonExchange, ProviderTransport, parse_url};
use crate::settings::ProviderSettings;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use model::{Error, Wire};
use reqwest::Url;
use serde_json::{Value, json};
use std::time::Duration;

/// The maximum size of a response.
const MAX_RESPONSE: usize = 32 * 1024 * 1024;
/// The maximum number of texts in a request: Gemini allows a hundred.
const BATCH: usize = 64;

/// A model that computes vectors of texts.
#[derive(Clone)]
pub struct EmbeddingModel {
    settings: ProviderSettings,
    model: String,
    dialect: EmbeddingDialect,
    url: Url,
    headers: HeaderMap,
}

/// What a text is for. Some models embed questions and documents differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbeddingPurpose {
    /// A question about documents.
    Query,
    /// A document that is searched.
    Document,
}

/// The API for embeddings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EmbeddingDialect {
    /// OpenAI's `/embeddings`, as most servers have it.
    Openai,
    /// Ollama's `/api/embed`.
    Ollama,
    /// Gemini's `batchEmbedContents`.
    Gemini,
}

impl EmbeddingModel {
    /// Creates a model, or `None` if the provider's API has no embeddings. Sends no request.
    pub fn new(settings: ProviderSettings, model: &str) -> Result<Option<Self>, SettingsError> {
        let base = settings.base_url.trim_end_matches('/').to_owned();
        let model = model.strip_prefix("models/").unwrap_or(model).to_owned();
        let is_versioned = ["/v1", "/v1beta", "/v1alpha"]
            .iter()
            .any(|version| base.ends_with(version));
        let (dialect, url) = match settings.wire {
            Wire::Gemini if settings.google.is_none() => {
                let version = if is_versioned { "" } else { "/v1beta" };
                let url = format!("{base}{version}/models/{model}:batchEmbedContents");
                (EmbeddingDialect::Gemini, url)
            }
            Wire::OpenaiChat | Wire::OpenaiResponses if settings.provider == "ollama" => {
                let root = base.strip_suffix("/v1").unwrap_or(&base);
                (EmbeddingDialect::Ollama, format!("{root}/api/embed"))
            }
            Wire::OpenaiChat | Wire::OpenaiResponses => (EmbeddingDialect::Openai, format!("{base}/embeddings")),
            Wire::Gemini
            | Wire::AnthropicMessages
            | Wire::BedrockAnthropic
            | Wire::BedrockConverse
            | Wire::VertexAnthropic => return Ok(None),
        };
        let url = parse_url(&settings, &url)?;
        let mut headers = headers(&settings, &url)?;
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.remove(CONTENT_TYPE);
        Ok(Some(EmbeddingModel {
            settings,
            model,
            dialect,
            url,
            headers,
        }))
    }

    /// The model, as `provider/id`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.settings.provider, self.model)
    }

    /// The vectors of texts, in their order and of the same length. A request takes no longer than `timeout`.
    pub async fn embed(
        &self,
        texts: &[&str],
        purpose: EmbeddingPurpose,
        timeout: Duration,
    ) -> Result<Vec<Vec<f32>>, Error> {
        let settings = ProviderSettings {
            // Connections belong to the runtime that opened them; callers use one per search.
            transport: ProviderTransport::default(),
            ..self.settings.clone()
        };
        let exchange = JsonExchange {
            settings: &settings,
            max_bytes: MAX_RESPONSE,
            timeout,
        };
        let mut vectors: Vec<Vec<f32>> = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH) {
            let sent = async {
                let client = exchange.client(&self.url)?;
                let post = client.post(self.url.clone()).headers(self.headers.clone());
                exchange.send(post.json(&self.body(batch, purpose))).await
            };
            let json = sent.await.map_err(|mut error| {
                for secret in self.settings.secrets() {
                    error_mapping::redact(&mut error, &secret);
                }
                error
            })?;
            let found = self.read(&json, batch.len());
            vectors.extend(found.ok_or_else(|| self.invalid(&json, "the response has no vector for each text"))?);
        }
        let length = vectors.first().map_or(0, Vec::len);
        match vectors.iter().all(|vector| vector.len() == length && length > 0) {
            true => Ok(vectors),
            false => Err(self.invalid(&Value::Null, "the vectors have different lengths")),
        }
    }

    fn body(&self, texts: &[&str], purpose: EmbeddingPurpose) -> Value {
        match self.dialect {
            EmbeddingDialect::Openai => json!({"model": self.model, "input": texts, "encoding_format": "float"}),
            EmbeddingDialect::Ollama => json!({"model": self.model, "input": texts}),
            EmbeddingDialect::Gemini => {
                let task = match purpose {
                    EmbeddingPurpose::Query => "CODE_RETRIEVAL_QUERY",
                    EmbeddingPurpose::Document => "RETRIEVAL_DOCUMENT",
                };
                let model = format!("models/{}", self.model);
                let requests = texts
                    .iter()
                    .map(|text| json!({"model": model, "content": {"parts": [{"text": text}]}, "taskType": task}));
                json!({"requests": requests.collect::<Vec<_>>()})
            }
        }
    }

    /// The vectors in a response, if there are as many as texts.
    fn read(&self, json: &Value, count: usize) -> Option<Vec<Vec<f32>>> {
        let (list, field) = match self.dialect {
            EmbeddingDialect::Openai => (json["data"].as_array()?, Some("embedding")),
            EmbeddingDialect::Ollama => (json["embeddings"].as_array()?, None),
            EmbeddingDialect::Gemini => (json["embeddings"].as_array()?, Some("values")),
        };
        let mut entries: Vec<&Value> = list.iter().collect();
        // OpenAI numbers them.
        entries.sort_by_key(|entry| entry["index"].as_u64().unwrap_or(0));
        let vector = |entry: &Value| -> Option<Vec<f32>> {
            let numbers = field.map_or(entry, |field| &entry[field]).as_array()?;
            let number = |number: &Value| number.as_f64().map(|number| number as f32);
            numbers.iter().map(number).collect()
        };
        let vectors: Vec<Vec<f32>> = entries.into_iter().map(vector).collect::<Option<_>>()?;
        (vectors.len() == count).then_some(vectors)
    }

    fn invalid(&self, json: &Value, detail: &str) -> Error {
        error_mapping::invalid_response(&self.settings.provider, detail, &json.to_string())
    }
}

impl std::fmt::Debug for EmbeddingModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EmbeddingModel")
            .field("name", &self.name())
            .field("dialect", &self.dialect)
            .finish_non_exhaustive()
    }
}
