//! Sign-in in a browser on this machine: the authorization code flow with PKCE (RFC 7636).

use super::SignInError;
use super::request::SignInClient;
use super::tokens::SignInTokens;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

/// The timeout of the sign-in.
const TIMEOUT: Duration = Duration::from_secs(600);
/// The timeout for reading a request of the browser.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum size of a request in bytes.
const MAX_REQUEST: usize = 16 * 1024;

/// A started sign-in in a browser.
pub struct BrowserSignIn {
    client: SignInClient,
    listener: TcpListener,
    /// The address that the user opens.
    pub url: String,
    redirect: String,
    verifier: String,
    state: String,
}

impl BrowserSignIn {
    /// Listens for the browser and creates the address.
    pub async fn start(client: &SignInClient) -> Result<Self, SignInError> {
        let endpoints = &client.endpoints;
        let listen = |error: std::io::Error| {
            let port = endpoints.callback_port;
            SignInError::Callback(match error.kind() {
                std::io::ErrorKind::AddrInUse => format!("port {port} is in use by another program"),
                _ => error.to_string(),
            })
        };
        let listener = TcpListener::bind(("127.0.0.1", endpoints.callback_port))
            .await
            .map_err(listen)?;
        let port = listener.local_addr().map_err(listen)?.port();
        let (verifier, state) = (random()?, random()?);
        let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
        let redirect = format!("http://localhost:{port}{}", endpoints.callback_path);
        let mut url = Url::parse(&endpoints.authorize_url).map_err(|error| SignInError::Invalid(error.to_string()))?;
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &endpoints.client_id)
            .append_pair("redirect_uri", &redirect)
            .append_pair("scope", &endpoints.scopes.join(" "))
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .append_pair("state", &state)
            .extend_pairs(&endpoints.authorize_options);
        Ok(BrowserSignIn {
            client: client.clone(),
            listener,
            url: url.into(),
            redirect,
            verifier,
            state,
        })
    }

    /// Waits for the browser.
    pub async fn finish(self) -> Result<SignInTokens, SignInError> {
        let waiting = tokio::time::timeout(TIMEOUT, self.callback()).await;
        let (code, mut browser) = waiting.map_err(|_| SignInError::Expired)??;
        let tokens = match code {
            Ok(code) => self.client.redeem(&code, &self.verifier, &self.redirect).await,
            Err(error) => Err(error),
        };
        let text = match &tokens {
            Ok(_) => "You are signed in. You can close this window and return to hew.".to_owned(),
            Err(error) => format!("The sign-in failed: {error}."),
        };
        // The page is informational.
        drop(send_page(&mut browser, &text).await);
        tokens
    }

    /// The code or the error of the callback. Requests with another state are refused.
    async fn callback(&self) -> Result<(Result<String, SignInError>, TcpStream), SignInError> {
        loop {
            let accepted = self.listener.accept().await;
            let (mut stream, _) = accepted.map_err(|error| SignInError::Callback(error.to_string()))?;
            let Ok(Some(target)) = tokio::time::timeout(READ_TIMEOUT, read_target(&mut stream)).await else {
                continue;
            };
            let url = Url::parse("http://localhost").and_then(|base| base.join(&target));
            let fields: Vec<(String, String)> = url
                .iter()
                .filter(|url| url.path() == self.client.endpoints.callback_path)
                .flat_map(|url| url.query_pairs().into_owned())
                .collect();
            let field = |name: &str| {
                fields
                    .iter()
                    .find(|(own, _)| own == name)
                    .map(|(_, value)| value.clone())
            };
            if field("state").as_ref() != Some(&self.state) {
                // Browsers also request icons, and other pages may send forged callbacks.
                drop(send_page(&mut stream, "This is not the expected callback.").await);
                continue;
            }
            let code = match (field("code"), field("error").as_deref()) {
                (Some(code), None) => Ok(code),
                (_, Some("access_denied")) => Err(SignInError::Denied),
                (_, Some(other)) => Err(SignInError::NoAccess(
                    field("error_description").unwrap_or_else(|| other.to_owned()),
                )),
                (None, None) => Err(SignInError::Invalid("the callback contains no code".into())),
            };
            return Ok((code, stream));
        }
    }
}

/// The path and query of a GET request.
async fn read_target(stream: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    let mut buffer = [0; 2048];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < MAX_REQUEST {
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(count) => request.extend_from_slice(buffer.get(..count)?),
        }
    }
    let text = String::from_utf8_lossy(&request);
    let target = text.strip_prefix("GET ")?.split(' ').next()?;
    Some(target.to_owned())
}

async fn send_page(stream: &mut TcpStream, text: &str) -> std::io::Result<()> {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let body = format!("<!doctype html><meta charset=utf-8><title>hew</title><p>{text}</p>");
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\n";
    let response = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(response.as_bytes()).await?;
    stream.shutdown().await
}

/// 32 random bytes as text.
fn random() -> Result<String, SignInError> {
    let mut bytes = [0; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| SignInError::Invalid("no random numbers are available".into()))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
