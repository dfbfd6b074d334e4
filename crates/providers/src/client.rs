//! A model that is reached over HTTP.

use crate::aws::{AwsAuth, Signing, sign};
use crate::error::Error as SettingsError;
use crate::fault;
use crate::google::{Cached, GoogleAuth, fetch};
use crate::http::{Answer, AnswerBody, Pieces, USER_AGENT, at, is_loopback, url};
use crate::kept::Kept;
use crate::presets::{Place, presets};
use crate::reading::Reading;
use crate::settings::{Secret, Settings};
use crate::wire::{self, anthropic};
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{StreamExt as _, stream};
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};
use model::{Chunk, Error, Info, Model, Request, Stream, Wire};
use reqwest::Url;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// How many conversations a model keeps the wire forms of.
const MOST_CONVERSATIONS: usize = 4;
/// The most that is read of an answer that is not a reply.
const LONGEST_REFUSAL: usize = 64 * 1024;
/// The ends of hosts that depend on the region or the account.
const REGIONAL: &[&str] = &[".amazonaws.com", ".googleapis.com", ".azure.com"];
/// How long such an answer may take to arrive.
const REFUSAL_PATIENCE: Duration = Duration::from_secs(10);

/// Makes a model of settings. Nothing is sent yet.
pub fn connect(info: Info, settings: Settings) -> Result<Arc<dyn Model>, SettingsError> {
    Ok(Arc::new(Client(Arc::new(Inner::new(info, settings)?))))
}

struct Client(Arc<Inner>);

impl Model for Client {
    fn info(&self) -> &Info {
        &self.0.info
    }

    fn stream(&self, request: Request) -> BoxFuture<'static, Result<Stream, Error>> {
        let inner = Arc::clone(&self.0);
        Box::pin(async move { inner.send(request).await })
    }
}

struct Inner {
    info: Info,
    settings: Settings,
    url: Url,
    /// Whether it is served by those who count its tokens.
    is_vendors_own: bool,
    headers: HeaderMap,
    kept: Mutex<Vec<(Option<Arc<str>>, Kept)>>,
    token: Cached,
}

impl Inner {
    fn new(info: Info, settings: Settings) -> Result<Self, SettingsError> {
        let base = base_url(&settings)?;
        let text = format!("{}{}", base.trim_end_matches('/'), wire::path(&info, &settings));
        let url = url(&settings, &text)?;
        let headers = headers(&settings, &url)?;
        Ok(Inner {
            info,
            settings,
            is_vendors_own: is_vendors_own(&url),
            url,
            headers,
            kept: Mutex::default(),
            token: Cached::default(),
        })
    }

    async fn send(&self, request: Request) -> Result<Stream, Error> {
        let (body, ahead) = self.render(&request);
        let mut headers = self.headers.clone();
        self.add_betas(&mut headers, &request);
        self.prove(&mut headers, &body).await?;
        let mut post = http::Request::new(Pieces::new(body));
        *post.method_mut() = http::Method::POST;
        *post.headers_mut() = headers;
        let transport = &self.settings.transport;
        let route = transport.route(&self.settings, &self.url);
        let route = route.map_err(|error| self.unreachable(error.to_string()))?;
        let stall = self.settings.stall;
        let answer = match tokio::time::timeout(stall, transport.pool.send(&route, &self.url, post)).await {
            Err(_) => return Err(self.stalled()),
            Ok(Err(detail)) => return Err(self.unreachable(detail)),
            Ok(Ok(answer)) => answer,
        };
        self.read(answer, ahead).await.map_err(|error| self.hide(error))
    }

    /// The body, and what there is to say before the reply.
    fn render(&self, request: &Request) -> (Vec<Bytes>, Vec<Chunk>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut notices = Vec::new();
        match kept.iter().position(|(name, _)| *name == request.affinity) {
            Some(place) => kept[..=place].rotate_right(1),
            None => {
                kept.insert(0, (request.affinity.clone(), Kept::default()));
                kept.truncate(MOST_CONVERSATIONS);
            }
        }
        let body = wire::body(request, &self.info, &self.settings, &mut kept[0].1, &mut notices);
        // Whoever makes a model counts its tokens; what the bytes were matters only elsewhere.
        let sent = (!self.is_vendors_own).then(|| Chunk::Sent(kept[0].1.sent()));
        (
            body,
            sent.into_iter().chain(notices.into_iter().map(Chunk::Notice)).collect(),
        )
    }

    fn client(&self) -> Result<reqwest::Client, Error> {
        let token_uri = match self.settings.google.as_ref().map(|google| &google.auth) {
            Some(GoogleAuth::ServiceAccount { token_uri, .. } | GoogleAuth::User { token_uri, .. }) => {
                url(&self.settings, token_uri).ok()
            }
            Some(GoogleAuth::Token(_)) | None => None,
        };
        let urls: Vec<&Url> = [Some(&self.url), token_uri.as_ref()].into_iter().flatten().collect();
        let client = self.settings.transport.client(&self.settings, &urls);
        client.map_err(|error| Error::Connection {
            provider: self.settings.provider.clone(),
            detail: error.to_string(),
        })
    }

    fn add_betas(&self, headers: &mut HeaderMap, request: &Request) {
        match self.settings.wire {
            Wire::AnthropicMessages | Wire::VertexAnthropic => {}
            // Bedrock takes them in the body; the others have none.
            Wire::BedrockAnthropic | Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Gemini => return,
        }
        let name = HeaderName::from_static("anthropic-beta");
        let given = headers
            .get(&name)
            .and_then(|value| value.to_str().ok())
            .map(str::to_string);
        let mut betas: Vec<String> = given.into_iter().collect();
        betas.extend(anthropic::betas(request, &self.info, &self.settings));
        if let Ok(value) = HeaderValue::from_str(&betas.join(","))
            && !betas.is_empty()
        {
            headers.insert(name, value);
        }
    }

    /// Adds what changes with each request: a signature, or a token that expires.
    async fn prove(&self, headers: &mut HeaderMap, body: &[Bytes]) -> Result<(), Error> {
        if let Some(google) = &self.settings.google {
            let token = fetch(&self.settings.provider, &google.auth, &self.token, &self.client()?).await?;
            headers.insert(AUTHORIZATION, self.sendable(&format!("Bearer {}", token.reveal()))?);
        }
        if self.settings.wire != Wire::BedrockAnthropic {
            return Ok(());
        }
        match self.settings.aws.as_ref().map(|aws| (&aws.auth, &aws.region)) {
            Some((AwsAuth::Bearer(token), _)) => {
                headers.insert(AUTHORIZATION, self.sendable(&format!("Bearer {}", token.reveal()))?);
            }
            Some((AwsAuth::Keys(keys), region)) => {
                let signing = Signing {
                    method: "POST",
                    host: &host(&self.url),
                    path: self.url.path(),
                    region,
                    service: "bedrock",
                    at: jiff::Timestamp::try_from(SystemTime::now()).unwrap_or(jiff::Timestamp::UNIX_EPOCH),
                };
                for (name, value) in sign(&signing, keys, body.iter().map(|piece| &**piece)) {
                    headers.insert(HeaderName::from_static(name), self.sendable(&value)?);
                }
            }
            // A key in the settings is a Bedrock API key, and stands in the headers already.
            None => {}
        }
        Ok(())
    }

    fn sendable(&self, value: &str) -> Result<HeaderValue, Error> {
        let mut value = HeaderValue::from_str(value).map_err(|_| Error::Credentials {
            provider: self.settings.provider.clone(),
            detail: "they contain characters that cannot be sent".to_string(),
        })?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// Tells replies from everything else that a server may answer.
    async fn read(&self, answer: Answer, ahead: Vec<Chunk>) -> Result<Stream, Error> {
        let provider = &self.settings.provider;
        let Answer { head, body } = answer;
        if !head.status.is_success() {
            let body = start_of(body).await;
            if head.status.as_u16() == 401 {
                self.token.clear();
            }
            return Err(fault::from_answer(provider, head.status.as_u16(), &head.headers, &body));
        }
        let kind = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or("");
        let kind = kind.trim().to_ascii_lowercase();
        match kind.as_str() {
            "" | "text/event-stream" | "application/vnd.amazon.eventstream" | "application/octet-stream" => {}
            // Some imitations send events under another name; a look at the first bytes tells.
            _ => return self.read_doubtful(body, &kind, ahead).await,
        }
        Ok(self.reading(Box::pin(body), ahead))
    }

    async fn read_doubtful(&self, mut rest: AnswerBody, kind: &str, ahead: Vec<Chunk>) -> Result<Stream, Error> {
        let provider = &self.settings.provider;
        let first = match tokio::time::timeout(self.settings.stall, rest.next()).await {
            Ok(first) => first.transpose().map_err(|detail| self.unreachable(detail))?,
            Err(_) => return Err(self.stalled()),
        };
        let first = first.unwrap_or_default();
        if [&b"data:"[..], b"event:", b":", b"id:", b"retry:"]
            .iter()
            .any(|start| first.starts_with(start))
        {
            let bytes = stream::iter([Ok(first)]).chain(rest);
            return Ok(self.reading(Box::pin(bytes), ahead));
        }
        let body = [first, start_of(rest).await].concat();
        let text = String::from_utf8_lossy(&body);
        // A whole reply has no `error`, and its `message`, where it has one, is an object.
        let said = serde_json::from_str::<serde_json::Value>(&text).unwrap_or_default();
        let is_error = said.get("error").is_some_and(|error| !error.is_null())
            || said.get("message").is_some_and(serde_json::Value::is_string);
        if is_error {
            return Err(fault::in_stream_body(provider, &text));
        }
        Err(fault::garbled(
            provider,
            &format!("{kind} instead of a stream of events"),
            &text,
        ))
    }

    fn reading(&self, bytes: crate::reading::ByteStream, ahead: Vec<Chunk>) -> Stream {
        let settings = &self.settings;
        let reading = Reading::new(settings.wire, &settings.provider, bytes, settings.stall)
            .heeding(&settings.quirks)
            .after(ahead)
            .hiding(self.secrets());
        Box::pin(reading)
    }

    fn unreachable(&self, detail: String) -> Error {
        self.hide(Error::Connection {
            provider: self.settings.provider.clone(),
            detail: at(&self.url, &detail),
        })
    }

    fn stalled(&self) -> Error {
        Error::Stalled {
            provider: self.settings.provider.clone(),
            after: self.settings.stall,
        }
    }

    fn hide(&self, mut error: Error) -> Error {
        for secret in self.secrets() {
            fault::redact(&mut error, &secret);
        }
        error
    }

    /// Everything that a provider might repeat and nobody should read.
    fn secrets(&self) -> Vec<String> {
        let settings = &self.settings;
        let mut secrets: Vec<&str> = settings.key.iter().map(Secret::reveal).collect();
        let telling = |name: &str| {
            ["auth", "key", "token", "secret"]
                .iter()
                .any(|word| name.to_lowercase().contains(word))
        };
        secrets.extend(
            settings
                .headers
                .iter()
                .filter(|(name, _)| telling(name))
                .map(|(_, value)| value.as_str()),
        );
        match settings.aws.as_ref().map(|aws| &aws.auth) {
            Some(AwsAuth::Bearer(token)) => secrets.push(token.reveal()),
            Some(AwsAuth::Keys(keys)) => secrets.extend(keys.session.iter().map(Secret::reveal)),
            None => {}
        }
        if let Some(GoogleAuth::Token(token)) = settings.google.as_ref().map(|google| &google.auth) {
            secrets.push(token.reveal());
        }
        secrets.into_iter().map(str::to_string).collect()
    }
}

/// The start of an answer that is not a reply, as far as it arrives in time.
async fn start_of(mut answer: AnswerBody) -> Bytes {
    let mut body = Vec::new();
    let whole = async {
        while body.len() < LONGEST_REFUSAL {
            match answer.next().await {
                Some(Ok(piece)) => body.extend_from_slice(&piece),
                None | Some(Err(_)) => break,
            }
        }
    };
    // What came before the time ran out is better than nothing.
    if tokio::time::timeout(REFUSAL_PATIENCE, whole).await.is_err() {
        body.extend_from_slice(b" \xE2\x80\xA6");
    }
    body.truncate(LONGEST_REFUSAL);
    Bytes::from(body)
}

fn base_url(settings: &Settings) -> Result<String, SettingsError> {
    let missing = |detail: &str| SettingsError::NoCredentials {
        provider: settings.provider.clone(),
        detail: detail.to_string(),
    };
    if !settings.base_url.is_empty() {
        return Ok(settings.base_url.clone());
    }
    match (settings.wire, &settings.aws, &settings.google) {
        (Wire::BedrockAnthropic, Some(aws), _) => Ok(format!("https://bedrock-runtime.{}.amazonaws.com", aws.region)),
        (Wire::BedrockAnthropic, None, _) => Err(missing("no AWS region and credentials")),
        (Wire::VertexAnthropic | Wire::Gemini, _, Some(google)) => Ok(google.base_url()),
        (Wire::VertexAnthropic, _, None) => Err(missing("no Google project and credentials")),
        _ => Err(SettingsError::Address {
            provider: settings.provider.clone(),
            url: String::new(),
            detail: "no base URL is set".to_string(),
        }),
    }
}

/// Whether somebody serves models there who counts their tokens.
fn is_vendors_own(url: &Url) -> bool {
    let of = |base: &str| Url::parse(base).ok()?.host_str().map(str::to_owned);
    let Some(host) = url.host_str() else { return false };
    let mut clouds = presets().iter().filter(|preset| preset.place == Place::Cloud);
    REGIONAL.iter().any(|end| host.ends_with(end)) || clouds.any(|preset| of(preset.base_url).as_deref() == Some(host))
}

/// The headers that are the same for every request.
pub(crate) fn headers(settings: &Settings, url: &Url) -> Result<HeaderMap, SettingsError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let accept = match settings.wire {
        Wire::BedrockAnthropic => "application/vnd.amazon.eventstream",
        Wire::AnthropicMessages | Wire::VertexAnthropic | Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Gemini => {
            "text/event-stream"
        }
    };
    headers.insert(http::header::ACCEPT, HeaderValue::from_static(accept));
    headers.insert(http::header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
    if settings.wire == Wire::AnthropicMessages {
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    }
    let mut insert = |name: &str, value: &str| {
        let refuse = |_| SettingsError::Header {
            provider: settings.provider.clone(),
            name: name.to_string(),
        };
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| refuse(error.to_string()))?;
        let mut value = HeaderValue::from_str(value).map_err(|error| refuse(error.to_string()))?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(())
    };
    if let Some(key) = &settings.key {
        // A key that says how it travels travels so.
        match (key.reveal().strip_prefix("Bearer "), settings.quirks.auth.header()) {
            (Some(token), _) => insert("authorization", &format!("Bearer {}", token.trim()))?,
            (None, Some((name, prefix))) => insert(name, &format!("{prefix}{}", key.reveal().trim()))?,
            (None, None) => insert("authorization", &format!("Bearer {}", key.reveal().trim()))?,
        }
    }
    for (name, value) in &settings.headers {
        insert(name, value)?;
    }
    let proven =
        settings.aws.is_some() || settings.google.is_some() || settings.key.is_some() || !settings.headers.is_empty();
    if !proven && url.scheme() == "https" && !is_loopback(url) {
        return Err(SettingsError::NoCredentials {
            provider: settings.provider.clone(),
            detail: "no key is set".to_string(),
        });
    }
    Ok(headers)
}

/// Host and port as the `Host` header says them.
fn host(url: &Url) -> String {
    match (url.host_str().unwrap_or(""), url.port()) {
        (host, Some(port)) => format!("{host}:{port}"),
        (host, None) => host.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendors_are_known_by_their_addresses_and_servers_in_front_of_them_are_not_taken_for_them() {
        for (address, expected) in [
            ("https://api.anthropic.com/v1/messages", true),
            ("https://api.openai.com/v1/responses", true),
            ("https://generativelanguage.googleapis.com/v1beta/models/m", true),
            ("https://bedrock-runtime.eu-west-1.amazonaws.com/model/m", true),
            ("https://mine.openai.azure.com/openai/v1/responses", true),
            ("http://127.0.0.1:4000/v1/messages", false),
            ("http://localhost:11434/v1/chat/completions", false),
            ("https://proxy.example.com/api.openai.com/v1/responses", false),
        ] {
            assert_eq!(is_vendors_own(&Url::parse(address).unwrap()), expected, "{address}");
        }
    }
}
