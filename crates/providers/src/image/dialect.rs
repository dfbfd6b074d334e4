//! Renders image requests and parses responses for each API.

use super::{GeneratedImage, ImageRequest};
use crate::error_mapping;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use model::{Cost, Error, Media, Usage};
use serde_json::{Value, json};

/// A provider's API for images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ImageDialect {
    /// OpenAI's images API.
    Images,
    /// Gemini: the reply contains the image as a part.
    Gemini,
    /// OpenRouter: chat replies contain images in addition to text.
    Chat,
}

/// The body of a request.
#[derive(Debug)]
pub(super) enum ImageRequestBody {
    Json(Value),
    /// A multipart form with a file.
    Form {
        kind: String,
        bytes: Vec<u8>,
    },
}

impl ImageDialect {
    /// The path below the base URL, and the body.
    pub(super) fn render(self, model: &str, request: &ImageRequest<'_>) -> (String, ImageRequestBody) {
        match (self, request.image) {
            (ImageDialect::Images, None) => (
                "/images/generations".into(),
                ImageRequestBody::Json(generation(model, request)),
            ),
            (ImageDialect::Images, Some(image)) => ("/images/edits".into(), multipart_form(model, request, image)),
            (ImageDialect::Gemini, image) => {
                let mut parts = vec![json!({"text": request.prompt})];
                parts.extend(image.map(
                    |image| json!({"inlineData": {"mimeType": image.mime, "data": STANDARD.encode(&image.data)}}),
                ));
                let body = json!({
                    "contents": [{"role": "user", "parts": parts}],
                    "generationConfig": {"responseModalities": ["TEXT", "IMAGE"]},
                });
                let id = model.strip_prefix("models/").unwrap_or(model);
                (format!("/models/{id}:generateContent"), ImageRequestBody::Json(body))
            }
            (ImageDialect::Chat, image) => {
                let mut content = vec![json!({"type": "text", "text": request.prompt})];
                content.extend(image.map(|image| {
                    let url = format!("data:{};base64,{}", image.mime, STANDARD.encode(&image.data));
                    json!({"type": "image_url", "image_url": {"url": url}})
                }));
                let body = json!({
                    "model": model,
                    "messages": [{"role": "user", "content": content}],
                    "modalities": ["image", "text"],
                    "usage": {"include": true},
                });
                ("/chat/completions".into(), ImageRequestBody::Json(body))
            }
        }
    }

    /// The image in a response.
    pub(super) fn read(self, provider: &str, response: &Value) -> Result<GeneratedImage, Error> {
        let (data, text, usage) = match self {
            ImageDialect::Images => (response["data"][0]["b64_json"].as_str(), None, &response["usage"]),
            ImageDialect::Gemini => {
                let candidate = &response["candidates"][0];
                let parts = || candidate["content"]["parts"].as_array().into_iter().flatten();
                let data = parts().find_map(|part| part["inlineData"]["data"].as_str());
                let blocked = response["promptFeedback"]["blockReason"].as_str();
                let text = parts().find_map(|part| part["text"].as_str());
                let text = text.or(blocked).or(candidate["finishReason"].as_str());
                (data, text, &response["usageMetadata"])
            }
            ImageDialect::Chat => {
                let message = &response["choices"][0]["message"];
                let url = message["images"][0]["image_url"]["url"].as_str();
                let data = url.and_then(|url| url.strip_prefix("data:")?.split_once(";base64,").map(|(_, data)| data));
                (data, message["content"].as_str(), &response["usage"])
            }
        };
        let Some(data) = data else {
            return Err(error_mapping::invalid_response(
                provider,
                "no image",
                text.unwrap_or_default(),
            ));
        };
        let data = STANDARD.decode(data.trim());
        let data = data.map_err(|error| {
            error_mapping::invalid_response(provider, "the image is not base64", &error.to_string())
        })?;
        let mime = mime_type(&data)
            .ok_or_else(|| error_mapping::invalid_response(provider, "the data is not an image", ""))?;
        Ok(GeneratedImage {
            mime,
            data: Bytes::from(data),
            usage: parse_usage(usage),
            cost: usage["cost"].as_f64().map(Cost::from_usd),
        })
    }
}

fn generation(model: &str, request: &ImageRequest<'_>) -> Value {
    let mut body = json!({"model": model, "prompt": request.prompt, "n": 1});
    if let Some(size) = request.size {
        body["size"] = size.into();
    }
    // Older models return a URL by default; newer ones reject this field.
    if model.starts_with("dall-e") {
        body["response_format"] = "b64_json".into();
    }
    body
}

/// The boundary contains the image's length; it does not occur in an image with a valid header.
fn multipart_form(model: &str, request: &ImageRequest<'_>, image: &Media) -> ImageRequestBody {
    let boundary = format!("hew-{:016x}-boundary", image.data.len());
    let mut bytes = Vec::new();
    let size = request.size.map(|size| ("size", size));
    let fields = [("model", model), ("prompt", request.prompt), ("n", "1")];
    for (name, value) in fields.into_iter().chain(size) {
        let field = format!("--{boundary}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
        bytes.extend_from_slice(field.as_bytes());
    }
    let file = format!(
        "--{boundary}\r\ncontent-disposition: form-data; name=\"image\"; filename=\"image.{}\"\r\ncontent-type: {}\r\n\r\n",
        image.mime.rsplit('/').next().unwrap_or("png"),
        image.mime
    );
    bytes.extend_from_slice(file.as_bytes());
    bytes.extend_from_slice(&image.data);
    bytes.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    ImageRequestBody::Form {
        kind: format!("multipart/form-data; boundary={boundary}"),
        bytes,
    }
}

/// The image type, from its first bytes.
fn mime_type(data: &[u8]) -> Option<&'static str> {
    match data {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// The token usage, whichever field names the provider uses.
fn parse_usage(usage: &Value) -> Usage {
    let first = |names: [&str; 3]| names.iter().find_map(|name| usage[*name].as_u64()).unwrap_or(0);
    Usage {
        input: first(["input_tokens", "prompt_tokens", "promptTokenCount"]),
        output: first(["output_tokens", "completion_tokens", "candidatesTokenCount"]),
        ..Usage::default()
    }
}
