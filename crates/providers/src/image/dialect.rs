//! How each kind of provider is asked for a picture, and where in its answer the picture is.

use super::{Painting, Picture};
use crate::fault;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use model::{Cost, Error, Media, Usage};
use serde_json::{Value, json};

/// How a provider makes pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// OpenAI's images API.
    Images,
    /// Gemini, whose reply holds the picture as a part.
    Gemini,
    /// OpenRouter, whose chat replies hold pictures beside the text.
    Chat,
}

/// The body of a request.
#[derive(Debug)]
pub(super) enum Body {
    Json(Value),
    /// A form with a file in it.
    Form {
        kind: String,
        bytes: Vec<u8>,
    },
}

impl Dialect {
    /// The path below the base URL, and the body.
    pub(super) fn render(self, model: &str, painting: &Painting<'_>) -> (String, Body) {
        match (self, painting.image) {
            (Dialect::Images, None) => ("/images/generations".into(), Body::Json(generation(model, painting))),
            (Dialect::Images, Some(image)) => ("/images/edits".into(), form(model, painting, image)),
            (Dialect::Gemini, image) => {
                let mut parts = vec![json!({"text": painting.prompt})];
                parts.extend(image.map(
                    |image| json!({"inlineData": {"mimeType": image.mime, "data": STANDARD.encode(&image.data)}}),
                ));
                let body = json!({
                    "contents": [{"role": "user", "parts": parts}],
                    "generationConfig": {"responseModalities": ["TEXT", "IMAGE"]},
                });
                let id = model.strip_prefix("models/").unwrap_or(model);
                (format!("/models/{id}:generateContent"), Body::Json(body))
            }
            (Dialect::Chat, image) => {
                let mut content = vec![json!({"type": "text", "text": painting.prompt})];
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
                ("/chat/completions".into(), Body::Json(body))
            }
        }
    }

    /// The picture in an answer.
    pub(super) fn read(self, provider: &str, said: &Value) -> Result<Picture, Error> {
        let (data, words, usage) = match self {
            Dialect::Images => (said["data"][0]["b64_json"].as_str(), None, &said["usage"]),
            Dialect::Gemini => {
                let candidate = &said["candidates"][0];
                let parts = || candidate["content"]["parts"].as_array().into_iter().flatten();
                let data = parts().find_map(|part| part["inlineData"]["data"].as_str());
                let blocked = said["promptFeedback"]["blockReason"].as_str();
                let words = parts().find_map(|part| part["text"].as_str());
                let words = words.or(blocked).or(candidate["finishReason"].as_str());
                (data, words, &said["usageMetadata"])
            }
            Dialect::Chat => {
                let message = &said["choices"][0]["message"];
                let url = message["images"][0]["image_url"]["url"].as_str();
                let data = url.and_then(|url| url.strip_prefix("data:")?.split_once(";base64,").map(|(_, data)| data));
                (data, message["content"].as_str(), &said["usage"])
            }
        };
        let Some(data) = data else {
            return Err(fault::garbled(provider, "no picture", words.unwrap_or_default()));
        };
        let data = STANDARD.decode(data.trim());
        let data =
            data.map_err(|error| fault::garbled(provider, "a picture that is not base64", &error.to_string()))?;
        let mime = kind(&data).ok_or_else(|| fault::garbled(provider, "bytes that are no picture", ""))?;
        Ok(Picture {
            mime,
            data: Bytes::from(data),
            usage: tokens(usage),
            cost: usage["cost"].as_f64().map(Cost::from_usd),
        })
    }
}

fn generation(model: &str, painting: &Painting<'_>) -> Value {
    let mut body = json!({"model": model, "prompt": painting.prompt, "n": 1});
    if let Some(size) = painting.size {
        body["size"] = size.into();
    }
    // Older models answer with an address unless they are told not to; newer ones refuse to be told.
    if model.starts_with("dall-e") {
        body["response_format"] = "b64_json".into();
    }
    body
}

/// The boundary is made of the picture's length and stands in no picture that begins as pictures do.
fn form(model: &str, painting: &Painting<'_>, image: &Media) -> Body {
    let boundary = format!("hew-{:016x}-boundary", image.data.len());
    let mut bytes = Vec::new();
    let size = painting.size.map(|size| ("size", size));
    let fields = [("model", model), ("prompt", painting.prompt), ("n", "1")];
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
    Body::Form {
        kind: format!("multipart/form-data; boundary={boundary}"),
        bytes,
    }
}

/// What a picture is, by its first bytes.
fn kind(data: &[u8]) -> Option<&'static str> {
    match data {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Tokens in whichever words the provider uses.
fn tokens(usage: &Value) -> Usage {
    let first = |names: [&str; 3]| names.iter().find_map(|name| usage[*name].as_u64()).unwrap_or(0);
    Usage {
        input: first(["input_tokens", "prompt_tokens", "promptTokenCount"]),
        output: first(["output_tokens", "completion_tokens", "candidatesTokenCount"]),
        ..Usage::default()
    }
}
