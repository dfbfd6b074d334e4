//! Whether a provider answers, and accepts the credentials: the cheapest question that it takes.

use super::ask::{Ask, ask, reach, send, unusable};
use crate::aws::{Aws, AwsAuth, Signing, sign};
use crate::client::headers;
use crate::google::{Cached, fetch};
use crate::settings::Settings;
use crate::wire::chat::path_to;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};
use model::{Error, Wire};
use reqwest::Url;
use serde_json::Value;
use std::time::{Duration, Instant, SystemTime};

/// A provider that answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// How many models it listed, where it lists any.
    pub models: Option<usize>,
    /// How long it took.
    pub took: Duration,
}

/// Asks a provider for the cheapest thing that needs its credentials. No model runs and nothing is paid.
pub async fn probe(settings: &Settings, patience: Duration) -> Result<Answer, Error> {
    let begun = Instant::now();
    let said = match tokio::time::timeout(patience, question(settings)).await {
        Ok(said) => said?,
        Err(_) => {
            return Err(Error::Stalled {
                provider: settings.provider.clone(),
                after: patience,
            });
        }
    };
    let lists = ["data", "models", "modelSummaries"];
    let listed = said
        .as_ref()
        .and_then(|said| lists.iter().find_map(|key| said.get(key)).unwrap_or(said).as_array());
    Ok(Answer {
        models: listed.map(Vec::len),
        took: begun.elapsed(),
    })
}

async fn question(settings: &Settings) -> Result<Option<Value>, Error> {
    let base = settings.base_url.trim_end_matches('/');
    match settings.wire {
        Wire::AnthropicMessages => ask(settings, &format!("{base}/v1/models"), Ask::Get).await,
        Wire::OpenaiChat | Wire::OpenaiResponses => {
            ask(settings, &format!("{base}{}", openai_path(settings)), Ask::Get).await
        }
        Wire::Gemini if settings.google.is_none() => {
            let version = if base.contains("/v1") { "" } else { "/v1beta" };
            ask(settings, &format!("{base}{version}/models?pageSize=1000"), Ask::Get).await
        }
        Wire::Gemini | Wire::VertexAnthropic => vertex(settings).await,
        Wire::BedrockAnthropic => bedrock(settings).await,
    }
}

/// The list of models, or what needs a key where the list is public.
fn openai_path(settings: &Settings) -> String {
    let endpoint = match settings.provider.as_str() {
        "openrouter" => "key",
        "vercel" => "credits",
        _ => "models",
    };
    path_to(endpoint, "", settings)
}

/// On Vertex the access token is what may be missing; any answer to it will do.
async fn vertex(settings: &Settings) -> Result<Option<Value>, Error> {
    let Some(google) = &settings.google else {
        return Err(no_credentials(settings, "no Google project and credentials"));
    };
    let base = match settings.base_url.trim_end_matches('/') {
        "" => google.base_url(),
        base => base.to_string(),
    };
    let text = format!("{base}/v1beta1/publishers/google/models?pageSize=1");
    let (client, url) = reach(settings, &text)?;
    let token = fetch(&settings.provider, &google.auth, &Cached::default(), &client).await?;
    let mut headers = headers(settings, &url).map_err(|error| unusable(settings, error))?;
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
    send(settings, &client, url, headers, Ask::Get).await.map(|_| None)
}

/// Bedrock lists its models at another host than the one that runs them.
async fn bedrock(settings: &Settings) -> Result<Option<Value>, Error> {
    let Some(Aws { region, auth, .. }) = &settings.aws else {
        return Err(no_credentials(settings, "no AWS region and credentials"));
    };
    let base = match settings.base_url.trim_end_matches('/') {
        "" => format!("https://bedrock.{region}.amazonaws.com"),
        base => base.to_string(),
    };
    let (client, url) = reach(settings, &format!("{base}/foundation-models"))?;
    let mut headers = headers(settings, &url).map_err(|error| unusable(settings, error))?;
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
            let signing = Signing {
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
    send(settings, &client, url, headers, Ask::Get).await
}

fn insert(settings: &Settings, headers: &mut HeaderMap, name: HeaderName, value: &str) -> Result<(), Error> {
    let refused = |_| no_credentials(settings, "they contain characters that cannot be sent");
    let mut value = HeaderValue::from_str(value).map_err(refused)?;
    value.set_sensitive(true);
    headers.insert(name, value);
    Ok(())
}

fn no_credentials(settings: &Settings, detail: &str) -> Error {
    Error::Credentials {
        provider: settings.provider.clone(),
        detail: detail.to_string(),
    }
}

/// Host and port as the `Host` header says them.
fn host(url: &Url) -> String {
    match (url.host_str().unwrap_or_default(), url.port()) {
        (host, Some(port)) => format!("{host}:{port}"),
        (host, None) => host.to_string(),
    }
}
