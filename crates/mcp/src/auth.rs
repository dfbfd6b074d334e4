//! OAuth login: discovery, registration, PKCE, and the browser callback.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationMetadata, AuthorizationRequest, AuthorizationSession,
    CredentialStore, OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRedirectPolicy,
    OAuthHttpRequest, StoredCredentials,
};
use rmcp::transport::streamable_http_client::{AuthRequiredError, InsufficientScopeError};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

use crate::connect::{error_chain, unreachable};
use crate::definition::{McpDefinition, McpTransport};
use crate::error::{Error, bounded};
use crate::{CacheEntry, McpEnvironment, ServerCache};

/// Timeout of the login in the browser.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(300);
/// Timeout of a request to the authorization server.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum size of a response, in bytes.
const MAX_RESPONSE: usize = 1024 * 1024;
/// Maximum size of a callback request, in bytes.
const MAX_CALLBACK_REQUEST: usize = 16 * 1024;
/// Path of the callback.
const CALLBACK_PATH: &str = "/callback";

/// Logs in to a server. `show` presents the URL that the user opens in a browser on this machine.
pub async fn login(definition: &McpDefinition, env: &McpEnvironment, show: impl FnOnce(&str)) -> Result<(), Error> {
    let failed = |why: String| Error::LoginFailed {
        server: definition.name.clone(),
        why: bounded(why),
    };
    let url = match &definition.transport {
        Ok(McpTransport::Http { url, .. } | McpTransport::Sse { url, .. }) => url,
        Ok(McpTransport::Stdio { .. }) => return Err(failed("a stdio server needs no login".into())),
        Err(error) => return Err(failed(error.to_string())),
    };
    let listener = TcpListener::bind(("127.0.0.1", definition.oauth.port.unwrap_or(0))).await;
    let listener = listener.map_err(|error| failed(format!("cannot listen for the browser callback: {error}")))?;
    let port = listener.local_addr().map_err(|error| failed(error.to_string()))?.port();
    let redirect = format!("http://127.0.0.1:{port}{CALLBACK_PATH}");
    let mut manager = new_manager(definition, url, env).await?;
    let challenge = match env.cache.load(CacheEntry::Challenge, &definition.name) {
        Some(challenge) if !challenge.is_empty() => Some(challenge),
        Some(_) | None => probe(definition, env).await,
    };
    let metadata = match manager.resolve_metadata_from_challenge(challenge.as_deref()).await {
        Ok(found) => found.metadata,
        Err(error) => match legacy_metadata(&error, challenge.as_deref(), url, env).await {
            Some(metadata) => metadata,
            None => return Err(failed(error_chain(&error))),
        },
    };
    manager.set_metadata(metadata.clone());
    let oauth = &definition.oauth;
    let mut request = AuthorizationRequest::new(&redirect)
        .with_client_name("hew")
        .with_scopes(oauth.scopes.clone());
    if let Some(id) = &oauth.client_id {
        request = request.with_preregistered_client(id);
    }
    if let Some(secret) = &oauth.client_secret {
        request = request.with_client_secret(secret);
    }
    if let Some(url) = &oauth.client_metadata_url {
        request = request.with_client_metadata_url(url);
    }
    let session = AuthorizationSession::new(manager, request).await;
    let session = session.map_err(|(_, error)| failed(error_chain(&error)))?;
    show(session.get_authorization_url());
    let callback = tokio::time::timeout(LOGIN_TIMEOUT, wait_for_callback(&listener)).await;
    let callback = callback.map_err(|_| {
        failed(format!(
            "no callback from the browser within {} s",
            LOGIN_TIMEOUT.as_secs()
        ))
    })?;
    let (path, mut browser) = callback.map_err(|error| failed(error.to_string()))?;
    let result = match path.split_once("error=") {
        Some((_, why)) => Err(failed(format!(
            "the server returned {}",
            why.split('&').next().unwrap_or(why)
        ))),
        None => {
            let address = format!("http://127.0.0.1:{port}{path}");
            session
                .handle_callback_url(&address)
                .await
                .map(drop)
                .map_err(|error| failed(error_chain(&error)))
        }
    };
    if result.is_ok() {
        let login = LoginMetadata {
            url: url.clone(),
            metadata,
        };
        let login = serde_json::to_string(&login).unwrap_or_default();
        env.cache.save(CacheEntry::Metadata, &definition.name, &login);
        env.cache.save(CacheEntry::Challenge, &definition.name, "");
    }
    let words = match &result {
        Ok(()) => "You are logged in. You can close this window and return to hew.".to_owned(),
        Err(error) => error.to_string(),
    };
    // The page is informational.
    drop(send_page(&mut browser, &words).await);
    result
}

/// The metadata of the authorization server of a login.
#[derive(Serialize, Deserialize)]
struct LoginMetadata {
    /// The URL of the MCP server.
    url: String,
    metadata: AuthorizationMetadata,
}

/// The metadata of a server that follows the specification of 2025-03-26: at the root of its own origin, possibly with an
/// issuer below it.
async fn legacy_metadata(
    error: &AuthError,
    challenge: Option<&str>,
    url: &str,
    env: &McpEnvironment,
) -> Option<AuthorizationMetadata> {
    let AuthError::AuthorizationServerMismatch { received_issuer, .. } = error else {
        return None;
    };
    let url = Url::parse(url).ok()?;
    let is_own = Url::parse(received_issuer).is_ok_and(|issuer| issuer.origin() == url.origin());
    if !is_own || challenge.is_some_and(|challenge| challenge.contains("resource_metadata")) {
        return None;
    }
    let place = url.join("/.well-known/oauth-authorization-server").ok()?;
    let client = (env.http_client)(url.as_str())
        .ok()?
        .timeout(REQUEST_TIMEOUT)
        .build()
        .ok()?;
    let response = client.get(place).send().await.ok()?.error_for_status().ok()?;
    let metadata: AuthorizationMetadata = serde_json::from_slice(&response.bytes().await.ok()?).ok()?;
    (metadata.issuer.as_ref() == Some(received_issuer)).then_some(metadata)
}

/// The `WWW-Authenticate` header with which a server answers a request without a token: it names the location of the
/// metadata and the scopes.
async fn probe(definition: &McpDefinition, env: &McpEnvironment) -> Option<String> {
    let (Ok(McpTransport::Http { url, headers }) | Ok(McpTransport::Sse { url, headers })) = &definition.transport
    else {
        return None;
    };
    let client = (env.http_client)(url).ok()?.timeout(REQUEST_TIMEOUT).build().ok()?;
    let mut request = client
        .post(url)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .body(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let response = request.send().await.ok()?;
    let challenges = response.headers().get_all("www-authenticate");
    let mut challenges = challenges.iter().filter_map(|value| value.to_str().ok());
    challenges.next().map(str::to_owned)
}

/// The `WWW-Authenticate` header of the response that caused an error.
pub(crate) fn challenge(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(missing) = error.downcast_ref::<AuthRequiredError>() {
            return Some(missing.www_authenticate_header.clone());
        }
        if let Some(missing) = error.downcast_ref::<InsufficientScopeError>() {
            return Some(missing.www_authenticate_header.clone());
        }
        cause = error.source();
    }
    None
}

/// Returns a manager with the stored credentials of a server.
pub(crate) async fn authorized_manager(
    definition: &McpDefinition,
    url: &str,
    env: &McpEnvironment,
) -> Result<AuthorizationManager, Error> {
    let mut manager = new_manager(definition, url, env).await?;
    let login = env.cache.load(CacheEntry::Metadata, &definition.name);
    let login = login.and_then(|text| serde_json::from_str::<LoginMetadata>(&text).ok());
    if let Some(login) = login.filter(|login| login.url == url) {
        manager.set_metadata(login.metadata);
    }
    match manager.initialize_from_store().await {
        Ok(_) => Ok(manager),
        Err(AuthError::AuthorizationRequired) => Err(Error::Login {
            server: definition.name.clone(),
        }),
        Err(error) => Err(unreachable(definition, error_chain(&error))),
    }
}

async fn new_manager(
    definition: &McpDefinition,
    url: &str,
    env: &McpEnvironment,
) -> Result<AuthorizationManager, Error> {
    let client = |policy: reqwest::redirect::Policy| {
        let builder = (env.http_client)(url).map_err(|why| unreachable(definition, why))?;
        let built = builder.redirect(policy).timeout(REQUEST_TIMEOUT).build();
        built.map_err(|error| unreachable(definition, error_chain(&error)))
    };
    let http = OAuthHttp {
        following: client(reqwest::redirect::Policy::limited(5))?,
        stopping: client(reqwest::redirect::Policy::none())?,
    };
    let manager = AuthorizationManager::new_with_oauth_http_client(url, Arc::new(http)).await;
    let mut manager = manager.map_err(|error| unreachable(definition, error_chain(&error)))?;
    manager.set_credential_store(CachedCredentials {
        cache: Arc::clone(&env.cache),
        server: definition.name.clone(),
    });
    Ok(manager)
}

/// Waits for the browser callback and returns its path.
async fn wait_for_callback(listener: &TcpListener) -> std::io::Result<(String, TcpStream)> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        let mut request = Vec::new();
        let mut buffer = [0; 2048];
        while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < MAX_CALLBACK_REQUEST {
            match stream.read(&mut buffer).await {
                Ok(0) | Err(_) => break,
                Ok(count) => request.extend_from_slice(&buffer[..count]),
            }
        }
        let text = String::from_utf8_lossy(&request);
        let path = text.strip_prefix("GET ").and_then(|rest| rest.split(' ').next());
        match path.filter(|path| path.starts_with(&format!("{CALLBACK_PATH}?"))) {
            Some(path) => return Ok((path.to_owned(), stream)),
            // Browsers also request icons.
            None => drop(send_page(&mut stream, "Not the expected callback.").await),
        }
    }
}

async fn send_page(stream: &mut TcpStream, words: &str) -> std::io::Result<()> {
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    let body = format!("<!doctype html><meta charset=utf-8><title>hew</title><p>{words}</p>");
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\n";
    let text = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown().await
}

/// HTTP clients for the login.
struct OAuthHttp {
    following: reqwest::Client,
    stopping: reqwest::Client,
}

impl OAuthHttpClient for OAuthHttp {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let client = match request.redirect_policy {
                OAuthHttpRedirectPolicy::Stop => &self.stopping,
                _ => &self.following,
            };
            let failed = |error: reqwest::Error| Box::new(error) as OAuthHttpClientError;
            let request = reqwest::Request::try_from(request.request).map_err(failed)?;
            let response = client.execute(request).await.map_err(failed)?;
            let mut builder = http::Response::builder().status(response.status());
            for (name, value) in response.headers() {
                builder = builder.header(name, value);
            }
            let mut body = Vec::new();
            let mut stream = response.bytes_stream();
            while let Some(piece) = stream.next().await {
                body.extend_from_slice(&piece.map_err(failed)?);
                if body.len() > MAX_RESPONSE {
                    return Err("the response is too long".into());
                }
            }
            builder
                .body(body)
                .map_err(|error| Box::new(error) as OAuthHttpClientError)
        })
    }
}

/// The stored credentials of one server.
struct CachedCredentials {
    cache: Arc<dyn ServerCache>,
    server: String,
}

/// The return type that `async_trait` generates.
type CredentialFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, AuthError>> + Send + 'a>>;

impl CredentialStore for CachedCredentials {
    fn load<'a, 'b>(&'a self) -> CredentialFuture<'b, Option<StoredCredentials>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let text = self.cache.login(&self.server).await;
            Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
        })
    }

    fn save<'a, 'b>(&'a self, credentials: StoredCredentials) -> CredentialFuture<'b, ()>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let text = serde_json::to_string(&credentials).map_err(store_error)?;
            let saved = self.cache.save_login(&self.server, Some(text)).await;
            saved.map_err(store_error)
        })
    }

    fn clear<'a, 'b>(&'a self) -> CredentialFuture<'b, ()>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let removed = self.cache.save_login(&self.server, None).await;
            removed.map_err(store_error)
        })
    }
}

fn store_error(error: impl ToString) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}
