//! Maps vendors' error responses to [`model::Error`].

mod overflow;
mod retry_after;
mod tool_support;

pub(crate) use overflow::is_overflow;

use http::HeaderMap;
use model::Error;
use serde_json::Value;
use std::time::{Duration, SystemTime};

/// The maximum length of a vendor's message.
const MAX_DETAIL: usize = 600;

/// The error for an HTTP response without success status.
pub(crate) fn from_response(provider: &str, status: u16, headers: &HeaderMap, body: &[u8]) -> Error {
    let mut error = VendorError::parse(body);
    if let Some(kind) = headers.get("x-amzn-errortype").and_then(|value| value.to_str().ok()) {
        // The header reads `ThrottlingException:http://internal.amazon.com/...`.
        error.kinds.push(kind.split(':').next().unwrap_or(kind).to_lowercase());
    }
    if (300..400).contains(&status)
        && let Some(to) = headers.get("location").and_then(|value| value.to_str().ok())
    {
        error.detail = format!("it redirects to {to}; set the base URL to that address");
    }
    error.retry_after = retry_after::from_headers(headers, SystemTime::now()).or(error.retry_after);
    error.into_error(provider, status)
}

/// The error for an event within a stream. `kind` is the vendor's type or code.
pub(crate) fn from_stream_event(provider: &str, kind: &str, message: &str) -> Error {
    let mut error = VendorError {
        detail: shorten(message),
        kinds: vec![kind.to_lowercase()],
        retry_after: retry_after::from_text(message),
        window: None,
        field: None,
    };
    if error.detail.is_empty() {
        error.detail = kind.to_string();
    }
    let status = error.implied_status();
    error.into_error(provider, status)
}

/// The error for an event within a stream that has the format of an HTTP error body.
pub(crate) fn from_stream_body(provider: &str, body: &str) -> Error {
    let error = VendorError::parse(body.as_bytes());
    let status = error.implied_status();
    error.into_error(provider, status)
}

/// The stream ended before the reply was complete.
pub(crate) fn stream_cut(provider: &str) -> Error {
    Error::StreamCut {
        provider: provider.to_string(),
        detail: "the reply is incomplete".to_string(),
    }
}

/// The response does not follow the wire's format; `excerpt` is its start.
pub(crate) fn invalid_response(provider: &str, what: &str, excerpt: &str) -> Error {
    let excerpt: String = shorten(excerpt).chars().take(160).collect();
    Error::InvalidResponse {
        provider: provider.to_string(),
        detail: if excerpt.is_empty() {
            what.to_string()
        } else {
            format!("{what}: {excerpt}")
        },
    }
}

/// The vendor's message of an error that is about the request.
pub(crate) fn detail(error: &Error) -> String {
    match error {
        Error::BadRequest { detail, .. } | Error::Server { detail, .. } | Error::NotFound { detail, .. } => {
            detail.clone()
        }
        other => other.to_string(),
    }
}

/// Removes a secret from an error's message, in case the provider repeated it.
pub(crate) fn redact(error: &mut Error, secret: &str) {
    let (Error::Credentials { detail, .. }
    | Error::ContextOverflow { detail, .. }
    | Error::ToolsUnsupported { detail, .. }
    | Error::PartRejected { detail, .. }
    | Error::ReplyTooLong { detail, .. }
    | Error::ContentFiltered { detail, .. }
    | Error::RateLimited { detail, .. }
    | Error::Overloaded { detail, .. }
    | Error::Refused { detail, .. }
    | Error::Server { detail, .. }
    | Error::NotFound { detail, .. }
    | Error::Connection { detail, .. }
    | Error::StreamCut { detail, .. }
    | Error::InvalidResponse { detail, .. }
    | Error::BadRequest { detail, .. }) = error
    else {
        return;
    };
    if secret.len() < 6 {
        return;
    }
    if detail.contains(secret) {
        *detail = detail.replace(secret, "***");
    }
    // A long message may be cut within the secret.
    let end = detail.trim_end_matches('\u{2026}').len();
    let is_cut = |at: &usize| secret.is_char_boundary(*at) && detail[..end].ends_with(&secret[..*at]);
    if let Some(cut) = (6..secret.len()).rev().find(is_cut) {
        detail.replace_range(end - cut..end, "***");
    }
}

/// A vendor's error, parsed from its body.
struct VendorError {
    detail: String,
    /// Types, codes and statuses in lower case.
    kinds: Vec<String>,
    retry_after: Option<Duration>,
    /// The context window, if it is a field of the body.
    window: Option<u64>,
    /// The field of the request that was rejected.
    field: Option<String>,
}

impl VendorError {
    fn parse(body: &[u8]) -> VendorError {
        let text = String::from_utf8_lossy(body);
        let Ok(value) = serde_json::from_str::<Value>(&text) else {
            return VendorError {
                detail: shorten(&strip_html(&text)),
                kinds: Vec::new(),
                retry_after: retry_after::from_text(&text),
                window: None,
                field: None,
            };
        };
        // Gemini wraps an error within a stream in a list.
        let top = match &value {
            Value::Array(items) => items.first().unwrap_or(&Value::Null),
            other => other,
        };
        let mut kinds = Vec::new();
        let mut messages = Vec::new();
        collect_fields(top, 0, &mut kinds, &mut messages);
        messages.dedup();
        let detail = if messages.is_empty() {
            text.to_string()
        } else {
            messages.join(": ")
        };
        let retry_after = retry_after::from_body(top).or_else(|| retry_after::from_text(&detail));
        VendorError {
            detail: shorten(&detail),
            kinds,
            retry_after,
            window: overflow::window_field(top),
            field: rejected_field(top),
        }
    }

    fn has_kind(&self, kinds: &[&str]) -> bool {
        self.kinds.iter().any(|own| kinds.contains(&own.as_str()))
    }

    fn mentions(&self, words: &[&str]) -> bool {
        let detail = self.detail.to_lowercase();
        words.iter().any(|word| detail.contains(word))
    }

    /// The HTTP status that corresponds to an error within a stream.
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
            .find(|(kinds, _)| self.has_kind(kinds))
            .map(|(_, status)| *status);
        // An error within a stream without a known kind counts as a server error.
        known.unwrap_or(if self.mentions(&["overloaded"]) { 503 } else { 200 })
    }

    fn into_error(self, provider: &str, status: u16) -> Error {
        let provider = provider.to_string();
        let retry_after = self.retry_after;
        let verdict = self.classify(status);
        let detail = if self.detail.is_empty() {
            "no reason given".to_string()
        } else {
            self.detail
        };
        match verdict {
            ErrorClass::Overflow => {
                let window = self.window.or_else(|| overflow::window_in(&detail));
                Error::ContextOverflow { detail, window }
            }
            ErrorClass::ToolsUnsupported => Error::ToolsUnsupported { provider, detail },
            ErrorClass::ContentFiltered => Error::ContentFiltered { provider, detail },
            ErrorClass::Credentials => Error::Credentials { provider, detail },
            ErrorClass::Refused => Error::Refused {
                provider,
                status,
                detail,
            },
            ErrorClass::NotFound => Error::NotFound { provider, detail },
            ErrorClass::RateLimited => Error::RateLimited {
                provider,
                detail,
                retry_after,
            },
            ErrorClass::Overloaded => Error::Overloaded {
                provider,
                detail,
                retry_after,
            },
            ErrorClass::Server => Error::Server {
                provider,
                status,
                detail,
                retry_after,
            },
            ErrorClass::BadRequest => Error::BadRequest {
                provider,
                status,
                detail,
            },
        }
    }

    fn classify(&self, status: u16) -> ErrorClass {
        if is_overflow(status, &self.kinds, &self.detail) {
            return ErrorClass::Overflow;
        }
        if self.is_out_of_credit(status) {
            return ErrorClass::Refused;
        }
        if self.is_content_filtered(status) {
            return ErrorClass::ContentFiltered;
        }
        if tool_support::is_unsupported(status, &self.detail, self.field.as_deref()) {
            return ErrorClass::ToolsUnsupported;
        }
        match status {
            401 => ErrorClass::Credentials,
            403 if self.has_kind(&[
                "unrecognizedclientexception",
                "invalidsignatureexception",
                "expiredtokenexception",
            ]) =>
            {
                ErrorClass::Credentials
            }
            403 if self.mentions(&[
                "api key",
                "apikey",
                "api_key",
                "security token",
                "signature",
                "credential",
                "unauthenticated",
            ]) =>
            {
                ErrorClass::Credentials
            }
            403 => ErrorClass::Refused,
            400 if self.mentions(&[
                "api key not valid",
                "api key expired",
                "incorrect api key",
                "invalid api key",
            ]) =>
            {
                ErrorClass::Credentials
            }
            404 | 410 => ErrorClass::NotFound,
            400 | 422 if self.is_unknown_model() => ErrorClass::NotFound,
            429 => ErrorClass::RateLimited,
            498 | 503 | 529 => ErrorClass::Overloaded,
            _ if self.has_kind(&["overloaded_error", "server_overloaded", "engine_overloaded_error"]) => {
                ErrorClass::Overloaded
            }
            200 | 408 | 409 | 424 | 425 | 500.. => ErrorClass::Server,
            _ if self.has_kind(&["throttlingexception"]) => ErrorClass::RateLimited,
            _ => ErrorClass::BadRequest,
        }
    }

    fn is_out_of_credit(&self, status: u16) -> bool {
        let has_billing_error = self.has_kind(&[
            "insufficient_quota",
            "billing_error",
            "exceeded_current_quota_error",
            "billing_not_active",
        ]) || self.mentions(&[
            "credit balance is too low",
            "insufficient balance",
            "insufficient credits",
            "insufficient_quota",
        ]);
        status == 402 || (has_billing_error && matches!(status, 200 | 400 | 403 | 429))
    }

    fn is_content_filtered(&self, status: u16) -> bool {
        let is_filtered = self.has_kind(&[
            "content_filter",
            "content_filter_error",
            "content_policy_violation",
            "data_inspection_failed",
            "invalid_prompt",
            "moderation_blocked",
            "responsibleaipolicyviolation",
        ]) || self.mentions(&[
            "content filtering policy",
            "content management policy",
            "content policy violation",
            "violating our usage policy",
        ]);
        is_filtered && matches!(status, 200 | 400 | 403 | 422)
    }

    fn is_unknown_model(&self) -> bool {
        self.has_kind(&["model_not_found", "invalid_model"])
            || self.mentions(&[
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
enum ErrorClass {
    Overflow,
    ToolsUnsupported,
    ContentFiltered,
    Credentials,
    Refused,
    NotFound,
    RateLimited,
    Overloaded,
    Server,
    BadRequest,
}

/// Collects kinds and messages from the different error formats of vendors.
fn collect_fields(value: &Value, depth: u8, kinds: &mut Vec<String>, messages: &mut Vec<String>) {
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
            // At the top level, `type` is only "error".
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
                .for_each(|item| collect_fields(item, depth + 1, kinds, messages)),
            Some(Value::String(text)) => match serde_json::from_str::<Value>(text) {
                // Gateways pass the upstream's response on as text.
                Ok(inner @ Value::Object(_)) => collect_fields(&inner, depth + 1, kinds, messages),
                Ok(_) | Err(_) => messages.push(text.trim().to_string()),
            },
            Some(inner @ Value::Object(_)) => collect_fields(inner, depth + 1, kinds, messages),
            _ => {}
        }
    }
}

/// The field of the request that an error names: OpenAI's `param`, or the path in FastAPI's `loc`.
fn rejected_field(body: &Value) -> Option<String> {
    let param = body.pointer("/error/param").or_else(|| body.get("param"));
    let field = param.or_else(|| body.pointer("/detail/0/loc/1"))?;
    field.as_str().map(str::to_owned)
}

/// The field of the request that the body of an error names.
pub(crate) fn named_field(body: &[u8]) -> Option<String> {
    serde_json::from_slice(body)
        .ok()
        .and_then(|body: Value| rejected_field(&body))
}

/// The title of an HTML page, for proxies that respond with pages.
fn strip_html(text: &str) -> String {
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

/// One line without control characters, of bounded length.
fn shorten(text: &str) -> String {
    let line: String = text
        .trim()
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MAX_DETAIL + 1)
        .collect();
    match line.char_indices().nth(MAX_DETAIL) {
        Some((end, _)) => format!("{}\u{2026}", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests;
