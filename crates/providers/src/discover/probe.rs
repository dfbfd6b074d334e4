//! Checks whether a provider responds and accepts the credentials, with its cheapest request.

use super::query::{QueryMethod, http_client, query, send, settings_error};
use crate::aws::{AwsAuth, AwsSettings, SigV4Request, sign};
use crate::client::headers;
use crate::google::{TokenCache, fetch_token};
use crate::settings::ProviderSettings;
use crate::wire::chat::path_to;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};
use model::{Error, Wire};
use reqwest::Url;
use serde_json::Value;
use std::time::{Duration, Instant, SystemTime};

/// A provider that responded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeResult {
    /// The number of models, if the provider lists them.
    pub models: Option<usize>,
    /// The response time.
    pub took: Duration,
}

/// Sends the cheapest request that requires credentials. No model runs and no cost arises.
pub async fn probe(settings: &ProviderSettings, timeout: Duration) -> Result<ProbeResult, Error> {
    let started = Instant::now();
    let response = match tokio::time::timeout(timeout, send_probe(settings)).await {
        Ok(response) => response?,
        Err(_) => {
            return Err(Error::Stalled {
                provider: settings.provider.clone(),
                after: timeout,
            });
        }
    };
    let lists = ["data", "models", "modelSummaries"];
    let listed = response.as_ref().and_then(|response| {
        lists
            .iter()
            .find_map(|key| response.get(key))
            .unwrap_or(response)
            .as_array()
    });
    Ok(ProbeResult {
        models: listed.map(Vec::len),
        took: started.elapsed(),
    })
}

async fn send_probe(settings: &ProviderSettings) -> Result<Option<Value>, Error> {
    let base = settings.base_url.trim_end_matches('/');
    match settings.wire {
        Wire::AnthropicMessages => query(settings, &format!("{base}/v1/models"), QueryMethod::Get).await,
        Wire::OpenaiChat | Wire::OpenaiResponses => {
            query(settings, &format!("{base}{}", openai_path(settings)), QueryMethod::Get).await
        }
        Wire::Gemini if settings.google.is_none() => {
            let version = if base.contains("/v1") { "" } else { "/v1beta" };
            query(
                settings,
                &format!("{base}{version}/models?pageSize=1000"),
                QueryMethod::Get,
            )
            .await
        }
        Wire::Gemini | Wire::VertexAnthropic => vertex(settings).await,
        Wire::BedrockAnthropic | Wire::BedrockConverse => bedrock(settings).await,
    }
}

/// The list of models, or an endpoint that requires a key if the list is public.
fn openai_path(settings: &ProviderSettings) -> String {
    let endpoint = match settings.provider.as_str() {
        "openrouter" => "key",
        "vercel" => "credits",
        _ => "models",
    };
    path_to(endpoint, "", settings)
}

/// On Vertex the access token is the credential; any response to it suffices.
async fn vertex(settings: &ProviderSettings) -> Result<Option<Value>, Error> {
    let Some(google) = &settings.google else {
        return Err(no_credentials(settings, "no Google project and credentials"));
    };
    let base = match settings.base_url.trim_end_matches('/') {
        "" => google.base_url(),
        base => base.to_string(),
    };
    let text = format!("{base}/v1beta1/publishers/google/models?pageSize=1");
    let (client, url) = http_client(settings, &text)?;
    let token = fetch_token(&settings.provider, &google.auth, &TokenCache::default(), &client).await?;
    let mut headers = headers(settings, &url).map_err(|error| settings_error(settings, error))?;
    insert(
        settings,
        &mut headers,
        AUTHORIZATION,
        &format!("Bearer {}", token.reveal()),
    )?;
    insert(
        settings,
        &mut headers,
        HeaderName::from_static("x-goog-user-project"),
        &google.project,
    )?;
    send(settings, &client, url, headers, QueryMethod::Get)
        .await
        .map(|_| None)
}

/// Bedrock lists its models on a different host from the one that runs them.
async fn bedrock(settings: &ProviderSettings) -> Result<Option<Value>, Error> {
    let Some(AwsSettings { region, auth, .. }) = &settings.aws else {
        return Err(no_credentials(settings, "no AWS region and credentials"));
    };
    let base = match settings.base_url.trim_end_matches('/') {
        "" => format!("https://bedrock.{region}.amazonaws.com"),
        base => base.to_string(),
    };
    let (client, url) = http_client(settings, &format!("{base}/foundation-models"))?;
    let mut headers = headers(settings, &url).map_err(|error| settings_error(settings, error))?;
    match auth {
        AwsAuth::Bearer(token) => {
            insert(
                settings,
                &mut headers,
                AUTHORIZATION,
                &format!("Bearer {}", token.reveal()),
            )?;
        }
        AwsAuth::Keys(keys) => {
            let signing = SigV4Request {
                method: "GET",
                host: &host(&url),
                path: url.path(),
                region,
                service: "bedrock",
                at: jiff::Timestamp::try_from(SystemTime::now()).unwrap_or(jiff::Timestamp::UNIX_EPOCH),
            };
            for (name, value) in sign(&signing, keys, [&b""[..]]) {
                insert(settings, &mut headers, HeaderName::from_static(name), &value)?;
            }
        }
    }
    send(settings, &client, url, headers, QueryMethod::Get).await
}

fn insert(settings: &ProviderSettings, headers: &mut HeaderMap, name: HeaderName, value: &str) -> Result<(), Error> {
    let refused = |_| no_credentials(settings, "they contain characters that HTTP does not allow");
    let mut value = HeaderValue::from_str(value).map_err(refused)?;
    value.set_sensitive(true);
    headers.insert(name, value);
    Ok(())
}

fn no_credentials(settings: &ProviderSettings, detail: &str) -> Error {
    Error::Credentials {
        provider: settings.provider.clone(),
        detail: detail.to_string(),
    }
}

/// Host and port, as in the `Host` header.
fn host(url: &Url) -> String {
    match (url.host_str().unwrap_or_default(), url.port()) {
        (host, Some(port)) => format!("{host}:{port}"),
        (host, None) => host.to_string(),
    }
}
