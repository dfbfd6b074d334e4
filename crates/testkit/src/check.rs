//! Validates requests with the rules and messages of the vendors.

use crate::parsed_request::ParsedRequest;
use crate::refusal::Refusal;
use crate::signatures::SignatureRegistry;
use crate::wire::Wire;

mod anthropic;
mod chat;
mod gemini;
mod responses;

/// Checks that the API would accept the request.
pub(crate) fn request(seen: &ParsedRequest, seals: &SignatureRegistry) -> Result<(), Refusal> {
    match seen.wire {
        Wire::Anthropic | Wire::Bedrock | Wire::Vertex => anthropic::check(seen, seals),
        Wire::Chat => chat::check(seen),
        Wire::Responses => responses::check(seen, seals),
        Wire::Gemini => gemini::check(seen, seals),
    }
}

/// Whether the request contains this key in one of the vendor's places.
pub(crate) fn carries(seen: &ParsedRequest, key: &str) -> bool {
    let bearer = || {
        seen.header("authorization")
            .and_then(|value| value.strip_prefix("Bearer "))
            == Some(key)
    };
    match seen.wire {
        Wire::Anthropic => seen.header("x-api-key") == Some(key) || bearer(),
        Wire::Chat | Wire::Responses => bearer() || seen.header("api-key") == Some(key),
        Wire::Gemini => {
            let query = seen.path.split_once('?').map_or("", |(_, query)| query);
            let in_query = query.split('&').any(|pair| pair.strip_prefix("key=") == Some(key));
            seen.header("x-goog-api-key") == Some(key) || in_query || bearer()
        }
        Wire::Vertex => bearer(),
        // A signed request contains the public half of its key in the credential scope.
        Wire::Bedrock => {
            let signed = |value: &str| value.starts_with(&format!("AWS4-HMAC-SHA256 Credential={key}/"));
            bearer() || seen.header("authorization").is_some_and(signed) && seen.header("x-amz-date").is_some()
        }
    }
}

fn refuse<T>(message: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::invalid(message))
}

/// Whether the vendors accept a tool name.
fn is_tool_name(name: &str, longest: usize) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !name.is_empty() && name.len() <= longest && name.bytes().all(allowed)
}
