//! Makes sense of what providers say when they do not answer.

mod overflow;
mod pause;

pub(crate) use overflow::is_overflow;

use http::HeaderMap;
use model::Error;
use serde_json::Value;
use std::time::{Duration, SystemTime};

/// The longest piece of a provider's own words that is passed on.
const LONGEST_DETAIL: usize = 600;

/// The error that an HTTP answer other than success means.
pub(crate) fn from_answer(provider: &str, status: u16, headers: &HeaderMap, body: &[u8]) -> Error {
    let mut said = Said::read(body);
    if let Some(kind) = headers.get("x-amzn-errortype").and_then(|value| value.to_str().ok()) {
        // The header reads `ThrottlingException:http://internal.amazon.com/...`.
        said.kinds.push(kind.split(':').next().unwrap_or(kind).to_lowercase());
    }
    if (300..400).contains(&status)
        && let Some(to) = headers.get("location").and_then(|value| value.to_str().ok())
    {
        said.detail = format!("it redirects to {to}; the base URL should be the final one");
    }
    said.retry_after = pause::from_headers(headers, SystemTime::now()).or(said.retry_after);
    said.into_error(provider, status)
}

/// The error that an event inside a stream means. `kind` is the vendor's type or code.
pub(crate) fn in_stream(provider: &str, kind: &str, message: &str) -> Error {
    let mut said = Said {
        detail: shorten(message),
        kinds: vec![kind.to_lowercase()],
        retry_after: pause::from_text(message),
    };
    if said.detail.is_empty() {
        said.detail = kind.to_string();
    }
    let status = said.implied_status();
    said.into_error(provider, status)
}

/// The error that an event inside a stream means, where it has the shape of an HTTP error body.
pub(crate) fn in_stream_body(provider: &str, body: &str) -> Error {
    let said = Said::read(body.as_bytes());
    let status = said.implied_status();
    said.into_error(provider, status)
}

/// The stream ended before the reply did.
pub(crate) fn cut(provider: &str) -> Error {
    Error::Cut {
        provider: provider.to_string(),
        detail: "it ended before the reply was complete".to_string(),
    }
}

/// What arrived is not what the wire promises; `excerpt` is the start of it.
pub(crate) fn garbled(provider: &str, what: &str, excerpt: &str) -> Error {
    let excerpt: String = shorten(excerpt).chars().take(160).collect();
    Error::Garbled {
        provider: provider.to_string(),
        detail: if excerpt.is_empty() {
            what.to_string()
        } else {
            format!("{what}: {excerpt}")
        },
    }
}

/// Takes a secret out of an error's words, in case the provider repeated it.
pub(crate) fn redact(error: &mut Error, secret: &str) {
    let (Error::Credentials { detail, .. }
    | Error::ContextOverflow { detail }
    | Error::RateLimited { detail, .. }
    | Error::Overloaded { detail, .. }
    | Error::Refused { detail, .. }
    | Error::Server { detail, .. }
    | Error::NotFound { detail, .. }
    | Error::Connection { detail, .. }
    | Error::Cut { detail, .. }
    | Error::Garbled { detail, .. }
    | Error::BadRequest { detail, .. }) = error
    else {
        return;
    };
    if secret.len() >= 6 && detail.contains(secret) {
        *detail = detail.replace(secret, "***");
    }
}

/// What a provider said.
struct Said {
    detail: String,
    /// Types, codes and status words, in lower case.
    kinds: Vec<String>,
    retry_after: Option<Duration>,
}

impl Said {
    fn read(body: &[u8]) -> Said {
        let text = String::from_utf8_lossy(body);
        let Ok(value) = serde_json::from_str::<Value>(&text) else {
            return Said {
                detail: shorten(&plain(&text)),
                kinds: Vec::new(),
                retry_after: pause::from_text(&text),
            };
        };
        // Gemini wraps the error of a stream in a list.
        let top = match &value {
            Value::Array(items) => items.first().unwrap_or(&Value::Null),
            other => other,
        };
        let mut kinds = Vec::new();
        let mut messages = Vec::new();
        gather(top, 0, &mut kinds, &mut messages);
        messages.dedup();
        let detail = if messages.is_empty() {
            text.to_string()
        } else {
            messages.join(": ")
        };
        let retry_after = pause::from_body(top).or_else(|| pause::from_text(&detail));
        Said {
            detail: shorten(&detail),
            kinds,
            retry_after,
        }
    }

    fn is(&self, kinds: &[&str]) -> bool {
        self.kinds.iter().any(|own| kinds.contains(&own.as_str()))
    }

    fn says(&self, words: &[&str]) -> bool {
        let detail = self.detail.to_lowercase();
        words.iter().any(|word| detail.contains(word))
    }

    /// The HTTP status that an error inside a stream would have had.
    fn implied_status(&self) -> u16 {
        let coded = self.kinds.iter().find_map(|kind| kind.parse::<u16>().ok());
        if let Some(status) = coded.filter(|status| (400..600).contains(status)) {
            return status;
        }
        let table: [(&[&str], u16); 8] = [
            (
                &[
                    "invalid_request_error",
                    "invalid_argument",
                    "validationexception",
                    "bad_request",
                ],
                400,
            ),
            (
                &["authentication_error", "unauthenticated", "unrecognizedclientexception"],
                401,
            ),
            (&["billing_error", "insufficient_quota"], 402),
            (&["permission_error", "permission_denied", "accessdeniedexception"], 403),
            (&["not_found_error", "not_found", "resourcenotfoundexception"], 404),
            (&["request_too_large"], 413),
            (
                &[
                    "rate_limit_error",
                    "rate_limit_exceeded",
                    "resource_exhausted",
                    "throttlingexception",
                    "too_many_requests",
                ],
                429,
            ),
            (
                &[
                    "overloaded_error",
                    "unavailable",
                    "serviceunavailableexception",
                    "server_overloaded",
                ],
                503,
            ),
        ];
        let known = table
            .iter()
            .find(|(kinds, _)| self.is(kinds))
            .map(|(_, status)| *status);
        // A failure inside a stream that names no reason is the provider's.
        known.unwrap_or(if self.says(&["overloaded"]) { 503 } else { 200 })
    }

    fn into_error(self, provider: &str, status: u16) -> Error {
        let provider = provider.to_string();
        let retry_after = self.retry_after;
        let verdict = self.verdict(status);
        let detail = if self.detail.is_empty() {
            "no reason given".to_string()
        } else {
            self.detail
        };
        match verdict {
            Verdict::Overflow => Error::ContextOverflow { detail },
            Verdict::Credentials => Error::Credentials { provider, detail },
            Verdict::Refused => Error::Refused {
                provider,
                status,
                detail,
            },
            Verdict::NotFound => Error::NotFound { provider, detail },
            Verdict::RateLimited => Error::RateLimited {
                provider,
                detail,
                retry_after,
            },
            Verdict::Overloaded => Error::Overloaded {
                provider,
                detail,
                retry_after,
            },
            Verdict::Server => Error::Server {
                provider,
                status,
                detail,
                retry_after,
            },
            Verdict::BadRequest => Error::BadRequest {
                provider,
                status,
                detail,
            },
        }
    }

    fn verdict(&self, status: u16) -> Verdict {
        if is_overflow(status, &self.kinds, &self.detail) {
            return Verdict::Overflow;
        }
        if self.out_of_money(status) {
            return Verdict::Refused;
        }
        match status {
            401 => Verdict::Credentials,
            403 if self.is(&[
                "unrecognizedclientexception",
                "invalidsignatureexception",
                "expiredtokenexception",
            ]) =>
            {
                Verdict::Credentials
            }
            403 if self.says(&[
                "api key",
                "apikey",
                "api_key",
                "security token",
                "signature",
                "credential",
                "unauthenticated",
            ]) =>
            {
                Verdict::Credentials
            }
            403 => Verdict::Refused,
            400 if self.says(&[
                "api key not valid",
                "api key expired",
                "incorrect api key",
                "invalid api key",
            ]) =>
            {
                Verdict::Credentials
            }
            404 | 410 => Verdict::NotFound,
            400 | 422 if self.unknown_model() => Verdict::NotFound,
            429 => Verdict::RateLimited,
            498 | 503 | 529 => Verdict::Overloaded,
            _ if self.is(&["overloaded_error", "server_overloaded", "engine_overloaded_error"]) => Verdict::Overloaded,
            200 | 408 | 409 | 424 | 425 | 500.. => Verdict::Server,
            _ if self.is(&["throttlingexception"]) => Verdict::RateLimited,
            _ => Verdict::BadRequest,
        }
    }

    fn out_of_money(&self, status: u16) -> bool {
        let said = self.is(&[
            "insufficient_quota",
            "billing_error",
            "exceeded_current_quota_error",
            "billing_not_active",
        ]) || self.says(&[
            "credit balance is too low",
            "insufficient balance",
            "insufficient credits",
            "insufficient_quota",
        ]);
        status == 402 || (said && matches!(status, 200 | 400 | 403 | 429))
    }

    fn unknown_model(&self) -> bool {
        self.is(&["model_not_found", "invalid_model"])
            || self.says(&[
                "is not a valid model id",
                "model identifier is invalid",
                "model does not exist",
                "unknown model",
                "model not found",
                "invalid model:",
            ])
    }
}

#[derive(Debug, Clone, Copy)]
enum Verdict {
    Overflow,
    Credentials,
    Refused,
    NotFound,
    RateLimited,
    Overloaded,
    Server,
    BadRequest,
}

/// Finds the words in the many shapes that vendors give their errors.
fn gather(value: &Value, depth: u8, kinds: &mut Vec<String>, messages: &mut Vec<String>) {
    let Value::Object(map) = value else {
        if let Value::String(text) = value {
            messages.push(text.clone());
        }
        return;
    };
    if depth > 4 {
        return;
    }
    for key in ["type", "code", "status", "__type", "reason"] {
        match map.get(key) {
            // At the top, `type` is only the word "error".
            Some(Value::String(kind)) if kind != "error" => kinds.push(kind.to_lowercase()),
            Some(Value::Number(code)) => kinds.push(code.to_string()),
            _ => {}
        }
    }
    for key in [
        "error", "message", "Message", "msg", "detail", "details", "errors", "raw", "metadata",
    ] {
        match map.get(key) {
            Some(Value::Array(items)) => items
                .iter()
                .take(4)
                .for_each(|item| gather(item, depth + 1, kinds, messages)),
            Some(Value::String(text)) => match serde_json::from_str::<Value>(text) {
                // Gateways pass on the upstream's answer as text.
                Ok(inner @ Value::Object(_)) => gather(&inner, depth + 1, kinds, messages),
                Ok(_) | Err(_) => messages.push(text.trim().to_string()),
            },
            Some(inner @ Value::Object(_)) => gather(inner, depth + 1, kinds, messages),
            _ => {}
        }
    }
}

/// Text without HTML tags, for proxies that answer with pages.
fn plain(text: &str) -> String {
    if !text.trim_start().starts_with('<') {
        return text.to_string();
    }
    let lower = text.to_lowercase();
    let title = lower.find("<title>").and_then(|start| {
        let start = start + "<title>".len();
        let end = lower.get(start..)?.find('<')?;
        text.get(start..start + end)
    });
    match title {
        Some(title) => format!("a web page titled \u{201c}{}\u{201d}", title.trim()),
        None => "a web page".to_string(),
    }
}

/// One line, without control characters, of bounded length.
fn shorten(text: &str) -> String {
    let line: String = text
        .trim()
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(LONGEST_DETAIL + 1)
        .collect();
    match line.char_indices().nth(LONGEST_DETAIL) {
        Some((end, _)) => format!("{}\u{2026}", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests;
