//! Logs in at servers with OAuth: discovery, registration, PKCE, and the browser that comes back to this machine.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession, CredentialStore, OAuthHttpClient,
    OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRedirectPolicy, OAuthHttpRequest, StoredCredentials,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::connect::{chain, unreachable};
use crate::definition::{Definition, Transport};
use crate::error::{Error, bounded};
use crate::{Shelf, Surroundings};

/// How long a person may take in the browser.
const PATIENCE: Duration = Duration::from_secs(300);
/// How long one question to the server of the login may take.
const SLOW: Duration = Duration::from_secs(30);
/// The longest answer of such a server, in bytes.
const MOST: usize = 1024 * 1024;
/// The longest request of a browser that comes back, in bytes.
const MOST_REQUEST: usize = 16 * 1024;
/// Where the browser comes back to.
const PATH: &str = "/callback";

/// Logs in at a server. The address is shown to the person, who goes there with a browser on this machine.
pub async fn login(definition: &Definition, around: &Surroundings, show: impl FnOnce(&str)) -> Result<(), Error> {
    let failed = |why: String| Error::LoginFailed {
        server: definition.name.clone(),
        why: bounded(why),
    };
    let url = match &definition.transport {
        Ok(Transport::Http { url, .. } | Transport::Sse { url, .. }) => url,
        Ok(Transport::Stdio { .. }) => return Err(failed("it is a program of this machine and needs none".into())),
        Err(why) => return Err(failed(why.clone())),
    };
    let listener = TcpListener::bind(("127.0.0.1", definition.oauth.port.unwrap_or(0))).await;
    let listener = listener.map_err(|error| failed(format!("cannot wait for the browser: {error}")))?;
    let port = listener.local_addr().map_err(|error| failed(error.to_string()))?.port();
    let back = format!("http://127.0.0.1:{port}{PATH}");
    let mut manager = new(definition, url, around).await?;
    let found = manager
        .resolve_metadata()
        .await
        .map_err(|error| failed(chain(&error)))?;
    manager.set_metadata(found.metadata);
    let oauth = &definition.oauth;
    let mut request = AuthorizationRequest::new(&back)
        .with_client_name("hew")
        .with_scopes(oauth.scopes.clone());
    if let Some(id) = &oauth.client_id {
        request = request.with_preregistered_client(id);
    }
    if let Some(secret) = &oauth.client_secret {
        request = request.with_client_secret(secret);
    }
    let session = AuthorizationSession::new(manager, request).await;
    let session = session.map_err(|(_, error)| failed(chain(&error)))?;
    show(session.get_authorization_url());
    let came = tokio::time::timeout(PATIENCE, wait_for(&listener)).await;
    let came = came.map_err(|_| failed(format!("nobody came back within {} s", PATIENCE.as_secs())))?;
    let (path, mut browser) = came.map_err(|error| failed(error.to_string()))?;
    let result = match path.split_once("error=") {
        Some((_, why)) => Err(failed(format!("it said {}", why.split('&').next().unwrap_or(why)))),
        None => {
            let address = format!("http://127.0.0.1:{port}{path}");
            session
                .handle_callback_url(&address)
                .await
                .map(drop)
                .map_err(|error| failed(chain(&error)))
        }
    };
    let words = match &result {
        Ok(()) => "You are logged in. You can close this window and go back to hew.".to_owned(),
        Err(error) => error.to_string(),
    };
    // Whether the browser shows it changes nothing.
    drop(answer(&mut browser, &words).await);
    result
}

/// What knows the login at a server that was made before.
pub(crate) async fn known(
    definition: &Definition,
    url: &str,
    around: &Surroundings,
) -> Result<AuthorizationManager, Error> {
    let mut manager = new(definition, url, around).await?;
    match manager.initialize_from_store().await {
        Ok(_) => Ok(manager),
        Err(AuthError::AuthorizationRequired) => Err(Error::Login {
            server: definition.name.clone(),
        }),
        Err(error) => Err(unreachable(definition, chain(&error))),
    }
}

async fn new(definition: &Definition, url: &str, around: &Surroundings) -> Result<AuthorizationManager, Error> {
    let client = |policy: reqwest::redirect::Policy| {
        let builder = (around.web)(url).map_err(|why| unreachable(definition, why))?;
        let built = builder.redirect(policy).timeout(SLOW).build();
        built.map_err(|error| unreachable(definition, chain(&error)))
    };
    let http = Http {
        following: client(reqwest::redirect::Policy::limited(5))?,
        stopping: client(reqwest::redirect::Policy::none())?,
    };
    let manager = AuthorizationManager::new_with_oauth_http_client(url, Arc::new(http)).await;
    let mut manager = manager.map_err(|error| unreachable(definition, chain(&error)))?;
    manager.set_credential_store(Kept {
        shelf: Arc::clone(&around.shelf),
        server: definition.name.clone(),
    });
    Ok(manager)
}

/// Waits until the browser comes back, and returns where to.
async fn wait_for(listener: &TcpListener) -> std::io::Result<(String, TcpStream)> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        let mut request = Vec::new();
        let mut buffer = [0; 2048];
        while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < MOST_REQUEST {
            match stream.read(&mut buffer).await {
                Ok(0) | Err(_) => break,
                Ok(count) => request.extend_from_slice(&buffer[..count]),
            }
        }
        let text = String::from_utf8_lossy(&request);
        let path = text.strip_prefix("GET ").and_then(|rest| rest.split(' ').next());
        match path.filter(|path| path.starts_with(&format!("{PATH}?"))) {
            Some(path) => return Ok((path.to_owned(), stream)),
            // Browsers also ask for icons.
            None => drop(answer(&mut stream, "This is not what hew waits for.").await),
        }
    }
}

async fn answer(stream: &mut TcpStream, words: &str) -> std::io::Result<()> {
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    let body = format!("<!doctype html><meta charset=utf-8><title>hew</title><p>{words}</p>");
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\n";
    let text = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown().await
}

/// The web, as logging in needs it.
struct Http {
    following: reqwest::Client,
    stopping: reqwest::Client,
}

impl OAuthHttpClient for Http {
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
                if body.len() > MOST {
                    return Err("the answer is too long".into());
                }
            }
            builder
                .body(body)
                .map_err(|error| Box::new(error) as OAuthHttpClientError)
        })
    }
}

/// The login at one server, on the shelf.
struct Kept {
    shelf: Arc<dyn Shelf>,
    server: String,
}

/// What `async_trait` makes of the methods of the trait.
type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, AuthError>> + Send + 'a>>;

impl CredentialStore for Kept {
    fn load<'a, 'b>(&'a self) -> Answer<'b, Option<StoredCredentials>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let text = self.shelf.login(&self.server).await;
            Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
        })
    }

    fn save<'a, 'b>(&'a self, credentials: StoredCredentials) -> Answer<'b, ()>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let text = serde_json::to_string(&credentials).map_err(|error| store(&error))?;
            let kept = self.shelf.keep_login(&self.server, Some(text)).await;
            kept.map_err(AuthError::CredentialStoreError)
        })
    }

    fn clear<'a, 'b>(&'a self) -> Answer<'b, ()>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let forgotten = self.shelf.keep_login(&self.server, None).await;
            forgotten.map_err(AuthError::CredentialStoreError)
        })
    }
}

fn store(error: &serde_json::Error) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}
