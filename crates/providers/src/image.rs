//! Image generation with the providers that support it.

mod dialect;

use crate::client::headers;
use crate::error::Error as SettingsError;
use crate::error_mapping;
use crate::http::{JsonExchange, parse_url};
use crate::settings::ProviderSettings;
use bytes::Bytes;
use dialect::{ImageDialect, ImageRequestBody};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use model::{Cost, Error, Media, ModelPrices, PriceTier, Usage, Wire};
use reqwest::Url;
use std::time::Duration;

/// The maximum size of a response, which contains the image as base64.
const MAX_RESPONSE: usize = 64 * 1024 * 1024;
/// The timeout for an image. No data arrives before it is finished.
const TIMEOUT: Duration = Duration::from_secs(300);

/// An image model of one provider.
#[derive(Clone)]
pub struct ImageModel {
    settings: ProviderSettings,
    model: String,
    dialect: ImageDialect,
    base: Url,
    headers: HeaderMap,
    prices: Option<ModelPrices>,
}

/// The parameters of an image.
#[derive(Debug, Clone)]
pub struct ImageRequest<'a> {
    /// A description of the image, or of the change to the given image.
    pub prompt: &'a str,
    /// The size, such as `1024x1024`, if the model supports one.
    pub size: Option<&'a str>,
    /// An image to edit.
    pub image: Option<&'a Media>,
}

/// A generated image.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneratedImage {
    /// The type detected from the bytes, such as `image/png`.
    pub mime: &'static str,
    /// The image data.
    pub data: Bytes,
    /// The token usage, if the provider reports it.
    pub usage: Usage,
    /// The cost, if the provider reports it.
    pub cost: Option<Cost>,
}

/// The default image model of a known provider.
pub fn default_image_model(provider: &str) -> Option<&'static str> {
    match provider {
        "openai" => Some("gpt-image-1"),
        "gemini" => Some("gemini-2.5-flash-image"),
        "openrouter" => Some("google/gemini-2.5-flash-image"),
        _ => None,
    }
}

/// The vendors' prices of image models, which the catalogue does not list.
fn known_prices(model: &str) -> Option<ModelPrices> {
    let (input, output) = match model.rsplit('/').next().unwrap_or(model) {
        "gpt-image-1" => (5.0, 40.0),
        "gpt-image-1-mini" => (2.0, 8.0),
        "gemini-2.5-flash-image" | "gemini-2.5-flash-image-preview" => (0.3, 30.0),
        _ => return None,
    };
    let base = PriceTier {
        input,
        output,
        cache_read: None,
        cache_write: None,
        cache_write_1h: None,
    };
    Some(ModelPrices { base, long: None })
}

impl ImageModel {
    /// Creates an image model, or `None` if the provider's API has no images. Sends no request.
    pub fn new(settings: ProviderSettings, model: &str) -> Result<Option<Self>, SettingsError> {
        let dialect = match settings.wire {
            Wire::Gemini if settings.google.is_none() => ImageDialect::Gemini,
            Wire::OpenaiChat | Wire::OpenaiResponses if settings.provider == "openrouter" => ImageDialect::Chat,
            Wire::OpenaiChat | Wire::OpenaiResponses => ImageDialect::Images,
            Wire::Gemini
            | Wire::AnthropicMessages
            | Wire::BedrockAnthropic
            | Wire::BedrockConverse
            | Wire::VertexAnthropic => return Ok(None),
        };
        let base = parse_url(&settings, settings.base_url.trim_end_matches('/'))?;
        let mut headers = headers(&settings, &base)?;
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.remove(CONTENT_TYPE);
        Ok(Some(ImageModel {
            settings,
            model: model.to_string(),
            dialect,
            base,
            headers,
            prices: known_prices(model),
        }))
    }

    /// Sets the prices, for providers that report usage and no cost.
    pub fn with_prices(mut self, prices: Option<ModelPrices>) -> Self {
        self.prices = prices.or(self.prices);
        self
    }

    /// The model, as `provider/id`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.settings.provider, self.model)
    }

    /// Generates an image. Dropping the future cancels the request.
    pub async fn generate(&self, painting: &ImageRequest<'_>) -> Result<GeneratedImage, Error> {
        let mut image = self.send(painting).await.map_err(|mut error| {
            for secret in self.settings.secrets() {
                error_mapping::redact(&mut error, &secret);
            }
            error
        })?;
        let price = || self.prices.as_ref().map(|prices| prices.cost(&image.usage));
        image.cost = image.cost.or_else(price);
        Ok(image)
    }

    async fn send(&self, painting: &ImageRequest<'_>) -> Result<GeneratedImage, Error> {
        let provider = &self.settings.provider;
        let (path, body) = self.dialect.render(&self.model, painting);
        let mut to = self.base.clone();
        to.set_path(&self.path(&path));
        let exchange = JsonExchange {
            settings: &self.settings,
            max_bytes: MAX_RESPONSE,
            timeout: TIMEOUT,
        };
        let post = exchange.client(&to)?.post(to).headers(self.headers.clone());
        let post = match body {
            ImageRequestBody::Json(value) => post.json(&value),
            ImageRequestBody::Form { kind, bytes } => post.header(CONTENT_TYPE, kind).body(bytes),
        };
        let json = exchange.send(post).await?;
        self.dialect.read(provider, &json)
    }

    /// The path below the base URL, which may already contain a version.
    fn path(&self, path: &str) -> String {
        let base = self.base.path().trim_end_matches('/');
        let versioned = ["/v1", "/v1beta", "/v1alpha"]
            .iter()
            .any(|version| base.ends_with(version));
        match self.dialect {
            ImageDialect::Gemini if !versioned => format!("{base}/v1beta{path}"),
            ImageDialect::Gemini | ImageDialect::Images | ImageDialect::Chat => format!("{base}{path}"),
        }
    }
}

impl std::fmt::Debug for ImageModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ImageModel")
            .field("model", &self.name())
            .finish_non_exhaustive()
    }
}
