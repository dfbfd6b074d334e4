//! Pictures: the dialects of providers that make them.

mod dialect;

use crate::client::headers;
use crate::error::Error as SettingsError;
use crate::fault;
use crate::http::{chain, url};
use crate::settings::{Secret, Settings};
use bytes::Bytes;
use dialect::{Body, Dialect};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use model::{Cost, Error, Media, Usage, Wire};
use reqwest::{Response, Url};
use std::time::Duration;

/// The most that is read of an answer: pictures travel as base64.
const LONGEST_ANSWER: usize = 64 * 1024 * 1024;
/// How long a picture may take. Nothing arrives before it is finished.
const PATIENCE: Duration = Duration::from_secs(300);

/// Makes pictures through one provider and one of its models.
#[derive(Clone)]
pub struct Painter {
    settings: Settings,
    model: String,
    dialect: Dialect,
    base: Url,
    headers: HeaderMap,
}

/// What is to be made.
#[derive(Debug, Clone)]
pub struct Painting<'a> {
    /// What the picture shows, or what changes about the one that is given.
    pub prompt: &'a str,
    /// Its size, such as `1024x1024`, where the model takes one.
    pub size: Option<&'a str>,
    /// A picture to change.
    pub image: Option<&'a Media>,
}

/// A picture that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// Such as `image/png`, by what the bytes are.
    pub mime: &'static str,
    /// The picture itself.
    pub data: Bytes,
    /// The tokens it took, where the provider says so.
    pub usage: Usage,
    /// Its price, where the provider says so.
    pub cost: Option<Cost>,
}

/// The model that makes pictures at a provider that is known to have one.
pub fn image_model(provider: &str) -> Option<&'static str> {
    match provider {
        "openai" => Some("gpt-image-1"),
        "gemini" => Some("gemini-2.5-flash-image"),
        "openrouter" => Some("google/gemini-2.5-flash-image"),
        _ => None,
    }
}

impl Painter {
    /// A painter, where the provider's dialect has pictures. Nothing is sent yet.
    pub fn new(settings: Settings, model: &str) -> Result<Option<Self>, SettingsError> {
        let dialect = match settings.wire {
            Wire::Gemini if settings.google.is_none() => Dialect::Gemini,
            Wire::OpenaiChat | Wire::OpenaiResponses if settings.provider == "openrouter" => Dialect::Chat,
            Wire::OpenaiChat | Wire::OpenaiResponses => Dialect::Images,
            Wire::Gemini | Wire::AnthropicMessages | Wire::BedrockAnthropic | Wire::VertexAnthropic => return Ok(None),
        };
        let base = url(&settings, settings.base_url.trim_end_matches('/'))?;
        let mut headers = headers(&settings, &base)?;
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.remove(CONTENT_TYPE);
        Ok(Some(Painter {
            settings,
            model: model.to_string(),
            dialect,
            base,
            headers,
        }))
    }

    /// The model, as `provider/id`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.settings.provider, self.model)
    }

    /// Makes a picture. Dropping the future stops it.
    pub async fn paint(&self, painting: &Painting<'_>) -> Result<Picture, Error> {
        self.try_to(painting).await.map_err(|mut error| {
            for secret in self.settings.key.iter().map(Secret::reveal) {
                fault::redact(&mut error, secret);
            }
            error
        })
    }

    async fn try_to(&self, painting: &Painting<'_>) -> Result<Picture, Error> {
        let provider = &self.settings.provider;
        let (path, body) = self.dialect.render(&self.model, painting);
        let mut to = self.base.clone();
        to.set_path(&self.path(&path));
        let client = self.settings.transport.client(&self.settings, &[&to]);
        let client = client.map_err(|error| Error::Connection {
            provider: provider.clone(),
            detail: error.to_string(),
        })?;
        let post = client.post(to).headers(self.headers.clone()).timeout(PATIENCE);
        let post = match body {
            Body::Json(value) => post.json(&value),
            Body::Form { kind, bytes } => post.header(CONTENT_TYPE, kind).body(bytes),
        };
        let answer = post.send().await.map_err(|error| self.unreachable(error))?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        let bytes = self.read(answer).await?;
        if !status.is_success() {
            return Err(fault::from_answer(provider, status.as_u16(), &headers, &bytes));
        }
        let said = serde_json::from_slice(&bytes)
            .map_err(|_| fault::garbled(provider, "an answer that is not JSON", &String::from_utf8_lossy(&bytes)))?;
        self.dialect.read(provider, &said)
    }

    /// The path below the base URL, which may name its version already.
    fn path(&self, path: &str) -> String {
        let base = self.base.path().trim_end_matches('/');
        let versioned = ["/v1", "/v1beta", "/v1alpha"]
            .iter()
            .any(|version| base.ends_with(version));
        match self.dialect {
            Dialect::Gemini if !versioned => format!("{base}/v1beta{path}"),
            Dialect::Gemini | Dialect::Images | Dialect::Chat => format!("{base}{path}"),
        }
    }

    async fn read(&self, mut answer: Response) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        while let Some(piece) = answer.chunk().await.map_err(|error| self.unreachable(error))? {
            if bytes.len() + piece.len() > LONGEST_ANSWER {
                return Err(fault::garbled(
                    &self.settings.provider,
                    &format!("more than {LONGEST_ANSWER} bytes"),
                    "",
                ));
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes)
    }

    fn unreachable(&self, error: reqwest::Error) -> Error {
        let provider = self.settings.provider.clone();
        match error.is_timeout() {
            true => Error::Stalled {
                provider,
                after: PATIENCE,
            },
            false => Error::Connection {
                provider,
                detail: chain(&error.without_url()),
            },
        }
    }
}

impl std::fmt::Debug for Painter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Painter")
            .field("model", &self.name())
            .finish_non_exhaustive()
    }
}
