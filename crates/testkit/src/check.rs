//! Checks requests the way the vendors do, with their messages.

use crate::refusal::Refusal;
use crate::seal::Seals;
use crate::seen::Seen;
use crate::wire::Wire;

mod anthropic;
mod chat;
mod gemini;
mod responses;

/// Whether the API would take the request.
pub(crate) fn request(seen: &Seen, seals: &Seals) -> Result<(), Refusal> {
    match seen.wire {
        Wire::Anthropic | Wire::Bedrock | Wire::Vertex => anthropic::check(seen, seals),
        Wire::Chat => chat::check(seen),
        Wire::Responses => responses::check(seen, seals),
        Wire::Gemini => gemini::check(seen, seals),
    }
}

/// Whether the request carries this key in one of the places the vendor knows.
pub(crate) fn carries(seen: &Seen, key: &str) -> bool {
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
        // A signed request names the public half of its key in the credential scope.
        Wire::Bedrock => {
            let signed = |value: &str| value.starts_with(&format!("AWS4-HMAC-SHA256 Credential={key}/"));
            bearer() || seen.header("authorization").is_some_and(signed) && seen.header("x-amz-date").is_some()
        }
    }
}

fn refuse<T>(message: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::invalid(message))
}

/// Whether a name is one that the vendors let tools have.
fn is_tool_name(name: &str, longest: usize) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !name.is_empty() && name.len() <= longest && name.bytes().all(allowed)
}
