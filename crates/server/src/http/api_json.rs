//! Requests and responses of the API: JSON bodies with a size limit and a time limit, and errors.

use super::backend::{WebError, WebErrorKind};
use super::types::{ErrorBody, ErrorDetail};
use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderValue, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// The maximum size of most bodies.
pub(super) const MAX_BODY: usize = 256 << 10;
/// The maximum size of a prompt with attachments.
pub(super) const MAX_PROMPT: usize = 32 << 20;
/// How long a client may take to send a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// A JSON body. Without a body, the default value.
pub(super) struct ApiJson<T, const LIMIT: usize = MAX_BODY>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync, const LIMIT: usize> FromRequest<S> for ApiJson<T, LIMIT> {
    type Rejection = Response;

    async fn from_request(request: Request, _: &S) -> Result<Self, Response> {
        let content_type = request.headers().get(CONTENT_TYPE).cloned();
        let declared = request
            .headers()
            .get(CONTENT_LENGTH)
            .and_then(|value| value.to_str().ok());
        // Nothing is read of a body that announces its size.
        if declared.is_some_and(|size| size.parse::<usize>().is_ok_and(|size| size > LIMIT)) {
            let message = format!("the body is larger than {LIMIT} bytes");
            return Err(error_response(StatusCode::PAYLOAD_TOO_LARGE, &message, None));
        }
        let reading = axum::body::to_bytes(request.into_body(), LIMIT);
        let bytes = match tokio::time::timeout(BODY_TIMEOUT, reading).await {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(_)) => {
                let message = format!("the body is larger than {LIMIT} bytes, or the connection failed");
                return Err(error_response(StatusCode::PAYLOAD_TOO_LARGE, &message, None));
            }
            Err(_) => {
                return Err(error_response(
                    StatusCode::REQUEST_TIMEOUT,
                    "the body did not arrive",
                    None,
                ));
            }
        };
        // Forms of other sites cannot send this type.
        let is_json = content_type
            .as_ref()
            .and_then(|value| value.to_str().ok())
            .is_some_and(|value| {
                value
                    .split(';')
                    .next()
                    .is_some_and(|kind| kind.trim() == "application/json")
            });
        if !bytes.is_empty() && !is_json {
            let message = "the body must be JSON, with the header `Content-Type: application/json`";
            return Err(error_response(StatusCode::UNSUPPORTED_MEDIA_TYPE, message, None));
        }
        let text: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        match serde_json::from_slice(text) {
            Ok(value) => Ok(ApiJson(value)),
            Err(error) => Err(WebError::invalid(format!("invalid body: {error}")).into_response()),
        }
    }
}

/// A query.
pub(super) struct ApiQuery<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for ApiQuery<T> {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, WebError> {
        match Query::try_from_uri(&parts.uri) {
            Ok(Query(value)) => Ok(ApiQuery(value)),
            Err(error) => Err(WebError::invalid(format!("invalid query: {error}"))),
        }
    }
}

impl IntoResponse for WebError {
    fn into_response(self) -> Response {
        let status = match self.kind {
            WebErrorKind::Invalid => StatusCode::BAD_REQUEST,
            WebErrorKind::Forbidden => StatusCode::FORBIDDEN,
            WebErrorKind::NotFound => StatusCode::NOT_FOUND,
            WebErrorKind::Busy => StatusCode::CONFLICT,
            WebErrorKind::TooMany => StatusCode::TOO_MANY_REQUESTS,
            WebErrorKind::Failed => StatusCode::INTERNAL_SERVER_ERROR,
        };
        error_response(status, &self.message, self.hint.as_deref())
    }
}

/// A JSON response.
pub(super) fn json_response(status: StatusCode, value: &impl Serialize) -> Response {
    let text = match serde_json::to_vec(value) {
        Ok(text) => text,
        Err(error) => return error_response(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string(), None),
    };
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// An error as a response.
pub(super) fn error_response(status: StatusCode, message: &str, hint: Option<&str>) -> Response {
    let body = ErrorBody {
        error: ErrorDetail {
            message: message.to_owned(),
            hint: hint.map(str::to_owned),
        },
    };
    let mut response = Response::new(Body::from(serde_json::to_vec(&body).unwrap_or_default()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if status == StatusCode::TOO_MANY_REQUESTS {
        headers.insert(RETRY_AFTER, HeaderValue::from_static("60"));
    }
    response
}

/// The result of a handler.
pub(super) type ApiResult = Result<Response, WebError>;

/// A successful result.
pub(super) fn ok(value: &impl Serialize) -> ApiResult {
    Ok(json_response(StatusCode::OK, value))
}
