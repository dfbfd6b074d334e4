//! A model served over HTTP.

use crate::adaptation::{Rejection, Rendering};
use crate::aws::{AwsAuth, SigV4Request, sign};
use crate::error::Error as SettingsError;
use crate::error_mapping;
use crate::google::{GoogleAuth, TokenCache, fetch_token};
use crate::http::{HttpResponse, RequestBody, ResponseBody, USER_AGENT, is_loopback, parse_url, with_address};
use crate::presets::{Hosting, presets};
use crate::recorded_body::body_digest;
use crate::reply_stream::{ByteStream, ReplyLimits, ReplyStream};
use crate::settings::{ProviderSettings, Secret};
use crate::sign_in::{RequestToken, TokenSource};
use crate::wire::{self, anthropic};
use crate::wire_cache::WireCache;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{StreamExt as _, stream};
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};
use model::{Chunk, Error, Info, Model, Request, Stream, Wire, WireTrace};
use reqwest::Url;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::{Duration, SystemTime};

/// The number of conversations with cached wire forms per model.
const MAX_CONVERSATIONS: usize = 4;
/// The maximum bytes read of an error response.
const MAX_ERROR_BODY: usize = 64 * 1024;
/// Suffixes of vendor hosts that depend on the region or the account.
const VENDOR_DOMAINS: &[&str] = &[".amazonaws.com", ".googleapis.com", ".azure.com"];
/// The timeout for reading an error response.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Creates a model from settings without sending a request.
pub fn connect(info: Info, settings: ProviderSettings) -> Result<Arc<dyn Model>, SettingsError> {
    Ok(Arc::new(HttpModel(Arc::new(HttpModelInner::new(info, settings)?))))
}

struct HttpModel(Arc<HttpModelInner>);

impl Model for HttpModel {
    fn info(&self) -> &Info {
        &self.0.info
    }

    fn stream(&self, request: Request) -> BoxFuture<'static, Result<Stream, Error>> {
        let inner = Arc::clone(&self.0);
        Box::pin(async move { inner.send(request).await })
    }
}

struct HttpModelInner {
    info: Info,
    settings: ProviderSettings,
    url: Url,
    /// Whether the vendor itself serves the model and counts its tokens.
    is_vendors_own: bool,
    headers: HeaderMap,
    caches: Mutex<Vec<(Option<Arc<str>>, WireCache)>>,
    /// What determines the body of a request.
    rendering: Mutex<Arc<Rendering>>,
    token: TokenCache,
    /// The last token of a user who signed in, to redact it.
    bearer: Mutex<Option<Secret>>,
}

impl HttpModelInner {
    fn new(info: Info, settings: ProviderSettings) -> Result<Self, SettingsError> {
        let base = base_url(&settings)?;
        let text = format!("{}{}", base.trim_end_matches('/'), wire::path(&info, &settings));
        let url = parse_url(&settings, &text)?;
        let headers = headers(&settings, &url)?;
        Ok(HttpModelInner {
            rendering: Mutex::new(Arc::new(Rendering::new(info.clone(), settings.clone()))),
            info,
            settings,
            is_vendors_own: is_vendor_host(&url),
            url,
            headers,
            caches: Mutex::default(),
            token: TokenCache::default(),
            bearer: Mutex::default(),
        })
    }

    async fn send(&self, request: Request) -> Result<Stream, Error> {
        let rendering = self.rendering();
        let (body, leading) = self.render(&request, &rendering);
        let sent = body.clone();
        let mut headers = self.headers.clone();
        self.add_betas(&mut headers, &request);
        self.authenticate(&mut headers, &body).await?;
        let trace = request.trace.clone();
        if let Some(limit) = self.settings.record {
            trace.record(limit);
        }
        let response = match &self.settings.token_source {
            None => self.post(&self.url, headers, body, &rendering, &trace).await?,
            Some(source) => {
                self.post_signed_in(source.as_ref(), headers, body, &rendering, &trace)
                    .await?
            }
        };
        let known_limit = Some(self.info.limits.output).filter(|limit| *limit > 0);
        let limits = ReplyLimits::new(request.max_output.map(u64::from).or(known_limit));
        let reply = self.read(response, leading, limits, trace).await;
        reply.map_err(|(error, field)| self.redact_secrets(self.adapt(error, field, &sent)))
    }

    fn rendering(&self) -> Arc<Rendering> {
        Arc::clone(&self.rendering.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes later requests if the server rejected an optional part of this one. `field` is the part that it names.
    fn adapt(&self, error: Error, field: Option<String>, body: &[Bytes]) -> Error {
        let Some(rejection) = Rejection::of(&error, field) else {
            return error;
        };
        let (provider, detail) = (self.settings.provider.clone(), error_mapping::detail(&error));
        let mut rendering = self.rendering.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((adapted, change)) = rendering.without(&body.concat(), &rejection) else {
            return match rendering.rejects_tool_roles(&rejection) {
                true => Error::ToolsUnsupported { provider, detail },
                false => error,
            };
        };
        *rendering = Arc::new(adapted);
        self.caches.lock().unwrap_or_else(PoisonError::into_inner).clear();
        Error::PartRejected {
            provider,
            change,
            detail,
        }
    }

    async fn post(
        &self,
        url: &Url,
        headers: HeaderMap,
        body: Vec<Bytes>,
        rendering: &Rendering,
        trace: &WireTrace,
    ) -> Result<HttpResponse, Error> {
        let mut post = http::Request::new(RequestBody::new(body.clone()));
        *post.method_mut() = http::Method::POST;
        *post.headers_mut() = headers;
        let transport = &self.settings.transport;
        let route = transport.route(&self.settings, url);
        let route = route.map_err(|error| self.connection_error(error))?;
        let sending = async {
            let mut sending = std::pin::pin!(transport.pool.send(&route, url, post));
            let first = futures::poll!(&mut sending);
            // While the request is under way: it must not wait for this.
            trace.set_body(
                body_digest(body.iter().map(|piece| &**piece)),
                Arc::clone(&rendering.json),
            );
            match first {
                Poll::Ready(response) => response,
                Poll::Pending => sending.await,
            }
        };
        match tokio::time::timeout(self.settings.stall_timeout, sending).await {
            Err(_) => Err(self.stalled()),
            Ok(Err(error)) => Err(self.connection_error(error)),
            Ok(Ok(response)) => Ok(response),
        }
    }

    /// Sends a request with the user's token. A rejected token is refreshed once: no reply has begun, so nothing is
    /// repeated.
    async fn post_signed_in(
        &self,
        source: &dyn TokenSource,
        headers: HeaderMap,
        body: Vec<Bytes>,
        rendering: &Rendering,
        trace: &WireTrace,
    ) -> Result<HttpResponse, Error> {
        let mut rejected = None;
        loop {
            let token = source.token(rejected.clone()).await?;
            *self.bearer.lock().unwrap_or_else(PoisonError::into_inner) = Some(token.bearer.clone());
            let mut headers = headers.clone();
            insert_token(&self.settings, &mut headers, &token)?;
            let assigned = token.base_url.as_ref().map(|base| {
                let text = format!(
                    "{}{}",
                    base.trim_end_matches('/'),
                    wire::path(&self.info, &self.settings)
                );
                parse_url(&self.settings, &text).map_err(|error| self.connection_error(error))
            });
            let assigned = assigned.transpose()?;
            let response = self
                .post(
                    assigned.as_ref().unwrap_or(&self.url),
                    headers,
                    body.clone(),
                    rendering,
                    trace,
                )
                .await?;
            if response.head.status.as_u16() != 401 || rejected.is_some() {
                return Ok(response);
            }
            rejected = Some(token.bearer);
        }
    }

    /// The body, and the chunks to emit before the reply.
    fn render(&self, request: &Request, rendering: &Rendering) -> (Vec<Bytes>, Vec<Chunk>) {
        let mut caches = self.caches.lock().unwrap_or_else(PoisonError::into_inner);
        let mut notices = Vec::new();
        match caches.iter().position(|(name, _)| *name == request.affinity) {
            Some(place) => caches[..=place].rotate_right(1),
            None => {
                caches.insert(0, (request.affinity.clone(), WireCache::default()));
                caches.truncate(MAX_CONVERSATIONS);
            }
        }
        let Rendering { info, settings, .. } = rendering;
        let body = wire::body(request, info, settings, &mut caches[0].1, &mut notices);
        // Vendors count tokens themselves; the prompt size matters only for other servers.
        let sent = (!self.is_vendors_own).then(|| Chunk::PromptSize(caches[0].1.prompt_size()));
        (
            body,
            sent.into_iter().chain(notices.into_iter().map(Chunk::Notice)).collect(),
        )
    }

    fn client(&self) -> Result<reqwest::Client, Error> {
        let token_uri = match self.settings.google.as_ref().map(|google| &google.auth) {
            Some(GoogleAuth::ServiceAccount { token_uri, .. } | GoogleAuth::User { token_uri, .. }) => {
                parse_url(&self.settings, token_uri).ok()
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
            // Bedrock takes betas in the body; the others have none.
            Wire::BedrockAnthropic
            | Wire::BedrockConverse
            | Wire::OpenaiChat
            | Wire::OpenaiResponses
            | Wire::Gemini => return,
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

    /// Adds per-request credentials: a signature, or a token that expires.
    async fn authenticate(&self, headers: &mut HeaderMap, body: &[Bytes]) -> Result<(), Error> {
        if let Some(google) = &self.settings.google {
            let token = fetch_token(&self.settings.provider, &google.auth, &self.token, &self.client()?).await?;
            headers.insert(AUTHORIZATION, self.header_value(&format!("Bearer {}", token.reveal()))?);
        }
        if !matches!(self.settings.wire, Wire::BedrockAnthropic | Wire::BedrockConverse) {
            return Ok(());
        }
        match self.settings.aws.as_ref().map(|aws| (&aws.auth, &aws.region)) {
            Some((AwsAuth::Bearer(token), _)) => {
                headers.insert(AUTHORIZATION, self.header_value(&format!("Bearer {}", token.reveal()))?);
            }
            Some((AwsAuth::Keys(keys), region)) => {
                let signing = SigV4Request {
                    method: "POST",
                    host: &host(&self.url),
                    path: self.url.path(),
                    region,
                    service: "bedrock",
                    at: jiff::Timestamp::try_from(SystemTime::now()).unwrap_or(jiff::Timestamp::UNIX_EPOCH),
                };
                for (name, value) in sign(&signing, keys, body.iter().map(|piece| &**piece)) {
                    headers.insert(HeaderName::from_static(name), self.header_value(&value)?);
                }
            }
            // A key in the settings is a Bedrock API key, which the headers already contain.
            None => {}
        }
        Ok(())
    }

    fn header_value(&self, value: &str) -> Result<HeaderValue, Error> {
        let mut value = HeaderValue::from_str(value).map_err(|_| Error::Credentials {
            provider: self.settings.provider.clone(),
            detail: "they contain characters that HTTP does not allow".to_string(),
        })?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// Distinguishes replies from other responses. An error has the field of the request that it names.
    async fn read(
        &self,
        response: HttpResponse,
        leading: Vec<Chunk>,
        limits: ReplyLimits,
        trace: WireTrace,
    ) -> Result<Stream, (Error, Option<String>)> {
        let provider = &self.settings.provider;
        let HttpResponse { head, body } = response;
        let kind = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        trace.set_response(head.status.as_u16(), kind.unwrap_or_default());
        if !head.status.is_success() {
            let body = read_prefix(body).await;
            trace.receive(&body);
            if head.status.as_u16() == 401 {
                self.token.clear();
            }
            let error = error_mapping::from_response(provider, head.status.as_u16(), &head.headers, &body);
            return Err((error, error_mapping::named_field(&body)));
        }
        let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or("");
        let kind = kind.trim().to_ascii_lowercase();
        match kind.as_str() {
            "" | "text/event-stream" | "application/vnd.amazon.eventstream" | "application/octet-stream" => {}
            // Some compatible servers send events with another content type; the first bytes decide.
            _ => return self.read_untyped(body, &kind, leading, limits, trace).await,
        }
        Ok(self.reply_stream(Box::pin(body), leading, limits, trace))
    }

    async fn read_untyped(
        &self,
        mut rest: ResponseBody,
        kind: &str,
        leading: Vec<Chunk>,
        limits: ReplyLimits,
        trace: WireTrace,
    ) -> Result<Stream, (Error, Option<String>)> {
        let provider = &self.settings.provider;
        let first = match tokio::time::timeout(self.settings.stall_timeout, rest.next()).await {
            Ok(first) => first
                .transpose()
                .map_err(|error| (self.connection_error(error), None))?,
            Err(_) => return Err((self.stalled(), None)),
        };
        let first = first.unwrap_or_default();
        if [&b"data:"[..], b"event:", b":", b"id:", b"retry:"]
            .iter()
            .any(|start| first.starts_with(start))
        {
            let bytes = stream::iter([Ok(first)]).chain(rest);
            return Ok(self.reply_stream(Box::pin(bytes), leading, limits, trace));
        }
        let body = [first, read_prefix(rest).await].concat();
        trace.receive(&body);
        let text = String::from_utf8_lossy(&body);
        // A complete reply has no `error`, and its `message`, if any, is an object.
        let json = serde_json::from_str::<serde_json::Value>(&text).unwrap_or_default();
        let is_error = json.get("error").is_some_and(|error| !error.is_null())
            || json.get("message").is_some_and(serde_json::Value::is_string);
        if is_error {
            let error = error_mapping::from_stream_body(provider, &text);
            return Err((error, error_mapping::named_field(&body)));
        }
        let what = format!("{kind} instead of an event stream");
        Err((error_mapping::invalid_response(provider, &what, &text), None))
    }

    fn reply_stream(&self, bytes: ByteStream, leading: Vec<Chunk>, limits: ReplyLimits, trace: WireTrace) -> Stream {
        let settings = &self.settings;
        let bytes: ByteStream = match settings.record {
            Some(_) => Box::pin(bytes.inspect(move |piece| {
                if let Ok(piece) = piece {
                    trace.receive(piece);
                }
            })),
            None => bytes,
        };
        let reading = ReplyStream::new(settings.wire, &settings.provider, bytes, settings.stall_timeout)
            .with_quirks(&settings.quirks)
            .with_leading_chunks(leading)
            .with_limits(limits)
            .with_secrets(self.secrets());
        Box::pin(reading)
    }

    fn connection_error(&self, error: impl std::fmt::Display) -> Error {
        self.redact_secrets(Error::Connection {
            provider: self.settings.provider.clone(),
            detail: with_address(&self.url, &error.to_string()),
        })
    }

    fn stalled(&self) -> Error {
        Error::Stalled {
            provider: self.settings.provider.clone(),
            after: self.settings.stall_timeout,
        }
    }

    fn redact_secrets(&self, mut error: Error) -> Error {
        for secret in self.secrets() {
            error_mapping::redact(&mut error, &secret);
        }
        error
    }

    /// Secrets that a provider may repeat in a message.
    fn secrets(&self) -> Vec<String> {
        let bearer = self.bearer.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let bearer = bearer.map(|token| token.reveal().to_owned());
        self.settings.secrets().into_iter().chain(bearer).collect()
    }
}

/// The start of a response that is not a reply, as far as it arrives within the timeout.
async fn read_prefix(mut response: ResponseBody) -> Bytes {
    let mut body = Vec::new();
    let whole = async {
        while body.len() < MAX_ERROR_BODY {
            match response.next().await {
                Some(Ok(piece)) => body.extend_from_slice(&piece),
                None | Some(Err(_)) => break,
            }
        }
    };
    // A partial body still helps to explain the error.
    if tokio::time::timeout(ERROR_BODY_TIMEOUT, whole).await.is_err() {
        body.extend_from_slice(b" \xE2\x80\xA6");
    }
    body.truncate(MAX_ERROR_BODY);
    Bytes::from(body)
}

fn base_url(settings: &ProviderSettings) -> Result<String, SettingsError> {
    let missing = |detail: &str| SettingsError::NoCredentials {
        provider: settings.provider.clone(),
        detail: detail.to_string(),
    };
    if !settings.base_url.is_empty() {
        return Ok(settings.base_url.clone());
    }
    match (settings.wire, &settings.aws, &settings.google) {
        (Wire::BedrockAnthropic | Wire::BedrockConverse, Some(aws), _) => {
            Ok(format!("https://bedrock-runtime.{}.amazonaws.com", aws.region))
        }
        (Wire::BedrockAnthropic | Wire::BedrockConverse, None, _) => Err(missing("no AWS region and credentials")),
        (Wire::VertexAnthropic | Wire::Gemini, _, Some(google)) => Ok(google.base_url()),
        (Wire::VertexAnthropic, _, None) => Err(missing("no Google project and credentials")),
        _ => Err(SettingsError::Address {
            provider: settings.provider.clone(),
            url: String::new(),
            detail: "no base URL is set".to_string(),
        }),
    }
}

/// Whether the host belongs to a vendor that counts tokens itself.
fn is_vendor_host(url: &Url) -> bool {
    let of = |base: &str| Url::parse(base).ok()?.host_str().map(str::to_owned);
    let Some(host) = url.host_str() else { return false };
    let mut clouds = presets().iter().filter(|preset| preset.hosting == Hosting::Cloud);
    VENDOR_DOMAINS.iter().any(|end| host.ends_with(end))
        || clouds.any(|preset| of(preset.base_url).as_deref() == Some(host))
}

/// The headers that are the same for every request.
pub(crate) fn headers(settings: &ProviderSettings, url: &Url) -> Result<HeaderMap, SettingsError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let accept = match settings.wire {
        Wire::BedrockAnthropic | Wire::BedrockConverse => "application/vnd.amazon.eventstream",
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
        // A key with an explicit header keeps it.
        match (key.reveal().strip_prefix("Bearer "), settings.quirks.auth.header()) {
            (Some(token), _) => insert("authorization", &format!("Bearer {}", token.trim()))?,
            (None, Some((name, prefix))) => insert(name, &format!("{prefix}{}", key.reveal().trim()))?,
            (None, None) => insert("authorization", &format!("Bearer {}", key.reveal().trim()))?,
        }
    }
    for (name, value) in &settings.headers {
        insert(name, value)?;
    }
    let proven = settings.aws.is_some()
        || settings.google.is_some()
        || settings.key.is_some()
        || settings.token_source.is_some()
        || !settings.headers.is_empty();
    if !proven && url.scheme() == "https" && !is_loopback(url) {
        return Err(SettingsError::NoCredentials {
            provider: settings.provider.clone(),
            detail: "no key is set".to_string(),
        });
    }
    Ok(headers)
}

/// Adds the token of a user who signed in. Configured headers take precedence.
pub(crate) fn insert_token(
    settings: &ProviderSettings,
    headers: &mut HeaderMap,
    token: &RequestToken,
) -> Result<(), Error> {
    let refused = || Error::Credentials {
        provider: settings.provider.clone(),
        detail: "the token contains characters that HTTP does not allow".to_string(),
    };
    let bearer = format!("Bearer {}", token.bearer.reveal());
    let fields = token
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in fields.chain([("authorization", bearer.as_str())]) {
        if settings.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name)) {
            continue;
        }
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refused())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| refused())?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(())
}

/// Host and port, as in the `Host` header.
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
    fn vendor_hosts_are_recognised_and_proxies_are_not() {
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
            assert_eq!(is_vendor_host(&Url::parse(address).unwrap()), expected, "{address}");
        }
    }
}
