//! One short question to a server, and its answer as JSON.

use crate::client::headers;
use crate::fault;
use crate::http::{at, chain, url};
use crate::settings::Settings;
use http::HeaderMap;
use model::Error;
use reqwest::{Client, Url};
use serde_json::Value;

/// The most that is read of an answer.
const LONGEST: usize = 16 * 1024 * 1024;

/// A question to a server.
pub(super) enum Ask<'a> {
    Get,
    Post(&'a Value),
}

/// Asks, and reads the answer as JSON; `None` where the server knows no such address.
pub(super) async fn ask(settings: &Settings, text: &str, what: Ask<'_>) -> Result<Option<Value>, Error> {
    let (client, url) = reach(settings, text)?;
    let headers = headers(settings, &url).map_err(|error| unusable(settings, error))?;
    send(settings, &client, url, headers, what).await
}

/// The connection to an address.
pub(super) fn reach(settings: &Settings, text: &str) -> Result<(Client, Url), Error> {
    let url = url(settings, text).map_err(|error| unusable(settings, error))?;
    let client = settings
        .transport
        .client(settings, &[&url])
        .map_err(|error| unusable(settings, error))?;
    Ok((client, url))
}

/// Sends a question with these headers.
pub(super) async fn send(
    settings: &Settings,
    client: &Client,
    url: Url,
    headers: HeaderMap,
    what: Ask<'_>,
) -> Result<Option<Value>, Error> {
    let address = url.clone();
    let request = match what {
        Ask::Get => client.get(url),
        Ask::Post(body) => client.post(url).body(body.to_string()),
    };
    let broken = |error: reqwest::Error| Error::Connection {
        provider: settings.provider.clone(),
        detail: at(&address, &chain(&error.without_url())),
    };
    let mut answer = request.headers(headers).send().await.map_err(broken)?;
    let (status, headers) = (answer.status(), answer.headers().clone());
    let mut body = Vec::new();
    while let Some(piece) = answer.chunk().await.map_err(broken)? {
        body.extend_from_slice(&piece);
        if body.len() > LONGEST {
            return Err(fault::garbled(&settings.provider, "its list of models never ends", ""));
        }
    }
    if matches!(status.as_u16(), 404 | 405 | 501) {
        return Ok(None);
    }
    if !status.is_success() {
        let mut error = fault::from_answer(&settings.provider, status.as_u16(), &headers, &body);
        if let Some(key) = &settings.key {
            fault::redact(&mut error, key.reveal());
        }
        return Err(error);
    }
    let garbled = |_| {
        fault::garbled(
            &settings.provider,
            "its answer is not JSON",
            &String::from_utf8_lossy(&body),
        )
    };
    serde_json::from_slice(&body).map(Some).map_err(garbled)
}

/// Settings with which nothing can be asked.
pub(super) fn unusable(settings: &Settings, error: crate::Error) -> Error {
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
