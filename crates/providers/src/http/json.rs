//! Short requests with a JSON answer.

use crate::error_mapping;
use crate::settings::ProviderSettings;
use model::Error;
use reqwest::{RequestBuilder, Response, Url};
use serde_json::Value;
use std::time::Duration;

/// The bounds of a request with a JSON answer.
pub(crate) struct JsonExchange<'a> {
    pub(crate) settings: &'a ProviderSettings,
    pub(crate) max_bytes: usize,
    pub(crate) timeout: Duration,
}

impl JsonExchange<'_> {
    /// The client for an address.
    pub(crate) fn client(&self, url: &Url) -> Result<reqwest::Client, Error> {
        let client = self.settings.transport.client(self.settings, &[url]);
        client.map_err(|error| Error::Connection {
            provider: self.settings.provider.clone(),
            detail: error.to_string(),
        })
    }

    /// Sends a request and parses the answer.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Value, Error> {
        let provider = &self.settings.provider;
        let sent = request.timeout(self.timeout).send().await;
        let response = sent.map_err(|error| self.connection_error(error))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = self.read(response).await?;
        if !status.is_success() {
            return Err(error_mapping::from_response(
                provider,
                status.as_u16(),
                &headers,
                &bytes,
            ));
        }
        serde_json::from_slice(&bytes).map_err(|_| {
            error_mapping::invalid_response(provider, "the response is not JSON", &String::from_utf8_lossy(&bytes))
        })
    }

    async fn read(&self, mut response: Response) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(|error| self.connection_error(error))? {
            if bytes.len() + piece.len() > self.max_bytes {
                let detail = format!("more than {} bytes", self.max_bytes);
                return Err(error_mapping::invalid_response(&self.settings.provider, &detail, ""));
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes)
    }

    fn connection_error(&self, error: reqwest::Error) -> Error {
        let provider = self.settings.provider.clone();
        match error.is_timeout() {
            true => Error::Stalled {
                provider,
                after: self.timeout,
            },
            false => Error::Connection {
                provider,
                detail: super::error_chain(&error.without_url()),
            },
        }
    }
}
