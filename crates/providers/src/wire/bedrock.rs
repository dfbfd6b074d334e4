//! Anthropic Messages on Amazon Bedrock: a different envelope and binary frames instead of server-sent events.

use super::anthropic::{self, Envelope};
use crate::error_mapping;
use crate::event_stream::EventStreamFrame;
use crate::settings::ProviderSettings;
use crate::sse::SseEvent;
use crate::wire_cache::WireCache;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use model::{Error, Info, Request};
use serde::Deserialize;

pub(crate) fn body(
    request: &Request,
    info: &Info,
    settings: &ProviderSettings,
    cache: &mut WireCache,
    notices: &mut Vec<String>,
) -> Vec<Bytes> {
    anthropic::render(request, info, settings, cache, notices, Envelope::Bedrock)
}

pub(crate) fn path(info: &Info, _settings: &ProviderSettings) -> String {
    format!("/model/{}/invoke-with-response-stream", encode(&info.id))
}

/// The event in a frame; `None` for frames without one.
pub(crate) fn event(provider: &str, frame: &EventStreamFrame) -> Result<Option<SseEvent>, Error> {
    #[derive(Deserialize)]
    struct BedrockPayload {
        bytes: String,
    }
    let text = String::from_utf8_lossy(&frame.payload);
    match (frame.message_type.as_str(), frame.kind.as_str()) {
        ("event", "chunk") => {
            let payload = serde_json::from_str::<BedrockPayload>(&text).ok();
            let data = payload.and_then(|payload| STANDARD.decode(payload.bytes).ok());
            match data.and_then(|data| String::from_utf8(data).ok()) {
                Some(data) => Ok(Some(SseEvent { name: None, data })),
                None => Err(error_mapping::invalid_response(
                    provider,
                    "a frame holds no event",
                    &text,
                )),
            }
        }
        ("event", _) => Ok(None),
        (_, kind) => {
            let json = serde_json::from_str::<serde_json::Value>(&text).ok();
            let message = json
                .as_ref()
                .and_then(|json| json.get("message"))
                .and_then(|message| message.as_str());
            Err(error_mapping::from_stream_event(
                provider,
                kind,
                message.unwrap_or(&text),
            ))
        }
    }
}

/// Percent-encodes all characters that AWS requires to be encoded.
pub(crate) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(message_type: &str, kind: &str, payload: &str) -> EventStreamFrame {
        EventStreamFrame {
            message_type: message_type.into(),
            kind: kind.into(),
            payload: payload.as_bytes().to_vec(),
        }
    }

    #[test]
    fn a_chunk_is_unwrapped_and_an_exception_is_the_error_it_names() {
        let chunk = event(
            "bedrock",
            &frame("event", "chunk", "{\"bytes\":\"eyJhIjoxfQ==\",\"p\":\"ab\"}"),
        );
        assert_eq!(chunk.unwrap().map(|event| event.data), Some("{\"a\":1}".to_string()));
        assert_eq!(event("bedrock", &frame("event", "metadata", "{}")).unwrap(), None);
        assert!(matches!(
            event("bedrock", &frame("event", "chunk", "{}")),
            Err(Error::InvalidResponse { .. })
        ));
        let thrown = |kind: &str, text: &str| event("bedrock", &frame("exception", kind, text)).unwrap_err();
        assert!(matches!(
            thrown("throttlingException", "{\"message\":\"Too many tokens, please wait\"}"),
            Error::RateLimited { .. }
        ));
        assert!(matches!(
            thrown(
                "validationException",
                "{\"message\":\"Input is too long for requested model.\"}"
            ),
            Error::ContextOverflow { .. }
        ));
        assert!(matches!(
            thrown("serviceUnavailableException", "{}"),
            Error::Overloaded { .. }
        ));
        assert!(matches!(thrown("internalServerException", "{}"), Error::Server { .. }));
        assert!(matches!(
            thrown("modelStreamErrorException", "{}"),
            Error::Server { .. }
        ));
    }
}
