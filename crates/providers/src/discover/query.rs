//! Sends a short HTTP query and parses the response as JSON.

use crate::client::{headers, insert_token};
use crate::error_mapping;
use crate::http::{error_chain, parse_url, with_address};
use crate::settings::ProviderSettings;
use http::HeaderMap;
use model::Error;
use reqwest::{Client, Url};
use serde_json::Value;

/// The maximum bytes read of a response.
const MAX_RESPONSE: usize = 16 * 1024 * 1024;

/// The method of a query.
pub(super) enum QueryMethod<'a> {
    Get,
    Post(&'a Value),
}

/// Sends a query and parses the response as JSON; `None` if the server does not know the address.
pub(super) async fn query(
    settings: &ProviderSettings,
    text: &str,
    method: QueryMethod<'_>,
) -> Result<Option<Value>, Error> {
    let (client, url) = http_client(settings, text)?;
    let mut headers = headers(settings, &url).map_err(|error| settings_error(settings, error))?;
    if let Some(source) = &settings.token_source {
        insert_token(settings, &mut headers, &source.token(None).await?)?;
    }
    send(settings, &client, url, headers, method).await
}

/// The HTTP client and parsed URL for an address.
pub(super) fn http_client(settings: &ProviderSettings, text: &str) -> Result<(Client, Url), Error> {
    let url = parse_url(settings, text).map_err(|error| settings_error(settings, error))?;
    let client = settings
        .transport
        .client(settings, &[&url])
        .map_err(|error| settings_error(settings, error))?;
    Ok((client, url))
}

/// Sends a query with these headers.
pub(super) async fn send(
    settings: &ProviderSettings,
    client: &Client,
    url: Url,
    headers: HeaderMap,
    method: QueryMethod<'_>,
) -> Result<Option<Value>, Error> {
    let address = url.clone();
    let request = match method {
        QueryMethod::Get => client.get(url),
        QueryMethod::Post(body) => client.post(url).body(body.to_string()),
    };
    let connection_error = |error: reqwest::Error| Error::Connection {
        provider: settings.provider.clone(),
        detail: with_address(&address, &error_chain(&error.without_url())),
    };
    let mut response = request.headers(headers).send().await.map_err(connection_error)?;
    let (status, headers) = (response.status(), response.headers().clone());
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(connection_error)? {
        body.extend_from_slice(&piece);
        if body.len() > MAX_RESPONSE {
            return Err(error_mapping::invalid_response(
                &settings.provider,
                "its list of models is too long",
                "",
            ));
        }
    }
    if matches!(status.as_u16(), 404 | 405 | 501) {
        return Ok(None);
    }
    if !status.is_success() {
        let mut error = error_mapping::from_response(&settings.provider, status.as_u16(), &headers, &body);
        for secret in settings.secrets() {
            error_mapping::redact(&mut error, &secret);
        }
        return Err(error);
    }
    let invalid = |_| {
        error_mapping::invalid_response(
            &settings.provider,
            "the response is not JSON",
            &String::from_utf8_lossy(&body),
        )
    };
    serde_json::from_slice(&body).map(Some).map_err(invalid)
}

/// Converts a settings error.
pub(super) fn settings_error(settings: &ProviderSettings, error: crate::Error) -> Error {
    let provider = settings.provider.clone();
    match error {
        crate::Error::NoCredentials { detail, .. } | crate::Error::BadCredentials { detail, .. } => {
            Error::Credentials { provider, detail }
        }
        crate::Error::Address { .. } | crate::Error::Header { .. } | crate::Error::Certificates { .. } => {
            Error::Connection {
                provider,
                detail: error.to_string(),
            }
        }
    }
}
