//! Accepts connections, and checks every request before its route runs.

use super::api_json::error_response;
use super::assets;
use super::backend::WebSessions;
use super::connections::{TrackedConnection, UnidentifiedConnections};
use super::devices::{Access, DeviceRegistry, KnownDevice};
use super::guard::{AllowedHosts, LoginLimiter, Refusal, StreamLimiter, add_security_headers};
use super::local;
use super::registry::HubRegistry;
use super::routes;
use super::types::CredentialKind;
use axum::Router;
use axum::body::Body;
use axum::response::Response;
use futures::StreamExt as _;
use http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, HeaderValue, SET_COOKIE};
use http::{HeaderMap, Method, Request, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use session::SessionId;
use std::convert::Infallible;
use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tower_service::Service as _;

/// The maximum number of connections.
const MAX_CONNECTIONS: usize = 2048;
/// How long a client may take for the headers of a request, or for the TLS handshake.
const HEADER_TIMEOUT: Duration = Duration::from_secs(20);
/// The maximum size of the headers of a request.
const MAX_HEADERS: usize = 64 << 10;
/// The media type of event streams.
pub(super) const EVENT_STREAM: &str = "text/event-stream";
/// How long the browser keeps the cookie.
const COOKIE_SECONDS: u64 = 90 * 24 * 3600;
/// How often a connection checks that its device was not revoked; an event stream sends something at least every 15 seconds.
const REVOCATION_CHECK: Duration = Duration::from_secs(1);
/// The header with the value against cross-site requests.
pub(super) const CSRF_HEADER: &str = "x-hew-csrf";
/// Routes of a session that a share link may read, after the id.
const SHARED_ROUTES: &[&str] = &["", "events", "items", "ledger", "export"];

/// How the server is reached.
pub struct HttpSettings {
    /// Accepts connections.
    pub listener: std::net::TcpListener,
    /// Encrypts them.
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// The addresses in links, without a path: `http://127.0.0.1:4440`.
    pub base_url: String,
    /// The allowed values of the header `Host`, in lower case.
    pub hosts: Vec<String>,
    /// Whether read-only links to sessions can be created.
    pub share_links: bool,
    /// Whether a proxy in front of the server names the client in `X-Forwarded-For`.
    pub is_behind_proxy: bool,
}

/// A server.
pub struct HttpServer {
    listener: std::net::TcpListener,
    tls: Option<tokio_rustls::TlsAcceptor>,
    state: Arc<HttpState>,
}

/// The state that the routes share.
pub(super) struct HttpState {
    pub(super) registry: Arc<HubRegistry>,
    pub(super) streams: StreamLimiter,
    /// `None` for connections of processes of the same user.
    pub(super) network: Option<NetworkState>,
}

/// The configuration of a server on the network.
pub(super) struct NetworkState {
    pub(super) devices: Arc<DeviceRegistry>,
    pub(super) base_url: String,
    pub(super) share_links: bool,
    pub(super) logins: LoginLimiter,
    hosts: AllowedHosts,
    cookie: String,
    is_behind_proxy: bool,
}

/// The client of a request.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) device: String,
    pub(super) name: String,
    pub(super) access: Access,
    pub(super) address: Option<IpAddr>,
}

impl HttpServer {
    /// A server for sessions and devices.
    pub fn new(settings: HttpSettings, sessions: Arc<dyn WebSessions>, devices: Arc<DeviceRegistry>) -> Self {
        let address = settings.listener.local_addr().ok();
        let port = address.map_or(0, |address| address.port());
        let is_secure = settings.base_url.starts_with("https://");
        let network = NetworkState {
            devices,
            base_url: settings.base_url,
            share_links: settings.share_links,
            logins: LoginLimiter::default(),
            hosts: AllowedHosts {
                hosts: settings.hosts,
                any_address: address
                    .filter(|address| address.ip().is_unspecified())
                    .map(|address| address.port()),
                scheme: if is_secure { "https" } else { "http" },
            },
            // Cookies are shared by all ports of a host.
            cookie: format!("hew-{port}"),
            is_behind_proxy: settings.is_behind_proxy,
        };
        HttpServer {
            listener: settings.listener,
            tls: settings.tls.map(tokio_rustls::TlsAcceptor::from),
            state: Arc::new(HttpState {
                registry: HubRegistry::new(sessions),
                streams: StreamLimiter::default(),
                network: Some(network),
            }),
        }
    }

    /// Serves until `stop` resolves; then closes all sessions.
    pub async fn run(self, stop: impl Future<Output = ()>) -> std::io::Result<()> {
        self.listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(self.listener)?;
        let router = routes::router(Arc::clone(&self.state));
        let registry = Arc::clone(&self.state.registry);
        let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let unidentified = UnidentifiedConnections::default();
        let accept = async {
            loop {
                // The semaphore is never closed.
                let Ok(permit) = Arc::clone(&connections).acquire_owned().await else {
                    return;
                };
                let Ok((stream, address)) = listener.accept().await else {
                    // Out of file descriptors: others are released soon.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                };
                stream.set_nodelay(true).ok();
                let (state, router, tls) = (Arc::clone(&self.state), router.clone(), self.tls.clone());
                let tracked = Arc::new(unidentified.add());
                drop(tokio::spawn(async move {
                    let _permit = permit;
                    let client = (Arc::clone(&tracked), Some(address.ip()));
                    let serving = async {
                        match tls {
                            None => serve_connection(stream, state, router, client).await,
                            Some(tls) => {
                                if let Ok(Ok(stream)) = tokio::time::timeout(HEADER_TIMEOUT, tls.accept(stream)).await {
                                    serve_connection(stream, state, router, client).await;
                                }
                            }
                        }
                    };
                    tokio::select! {
                        () = serving => {}
                        () = tracked.closing() => {}
                    }
                }));
            }
        };
        tokio::select! {
            () = accept => {}
            () = registry.close_idle_sessions() => {}
            () = stop => {}
        }
        registry.close_all().await;
        Ok(())
    }
}

/// Serves the requests of one connection.
pub(super) async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    state: Arc<HttpState>,
    router: Router,
    (tracked, peer): (Arc<TrackedConnection>, Option<IpAddr>),
) {
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let (state, router, tracked) = (Arc::clone(&state), router.clone(), Arc::clone(&tracked));
        async move { Ok::<_, Infallible>(handle(state, router, request.map(Body::new), &tracked, peer).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(MAX_HEADERS)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection failed");
    }
}

/// Handles one request.
async fn handle(
    state: Arc<HttpState>,
    router: Router,
    request: Request<Body>,
    connection: &TrackedConnection,
    peer: Option<IpAddr>,
) -> Response {
    let mut renewed = None;
    let admitted = admit(&state, &request, peer, &mut renewed);
    if let Ok(Some(_)) = &admitted {
        connection.identify();
    }
    let mut response = match admitted {
        Ok(Some(client)) => route(&state, router, request, client).await,
        // A public page.
        Ok(None) => route_public(&state, router, request, peer).await,
        Err(response) => *response,
    };
    if let (Some(network), Some(token)) = (&state.network, renewed) {
        network.set_cookie(response.headers_mut(), &token, COOKIE_SECONDS);
    }
    add_security_headers(response.headers_mut());
    response
}

/// Checks the host, the origin, the device and the value against cross-site requests. Returns the client, or `None` for a request
/// that needs none.
fn admit(
    state: &HttpState,
    request: &Request<Body>,
    peer: Option<IpAddr>,
    renewed: &mut Option<String>,
) -> Result<Option<Client>, Box<Response>> {
    let refuse = |status, message: &str| Err(Box::new(error_response(status, message, None)));
    let Some(network) = &state.network else {
        return Ok(Some(Client {
            device: "local".into(),
            name: "this computer".into(),
            access: Access::Full,
            address: None,
        }));
    };
    let (method, headers, path) = (request.method(), request.headers(), request.uri().path());
    if headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len())
        .sum::<usize>()
        > MAX_HEADERS
    {
        return refuse(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "the headers are too large");
    }
    match network.hosts.check(method, request.uri(), headers) {
        Ok(()) => {}
        Err(Refusal::Host) => {
            return refuse(
                StatusCode::MISDIRECTED_REQUEST,
                "this server does not answer for this host name; add it with --host",
            );
        }
        Err(Refusal::Origin) => return refuse(StatusCode::FORBIDDEN, "requests of other sites are refused"),
    }
    let address = network.client_address(headers, peer);
    let is_read = method == Method::GET || method == Method::HEAD;
    let is_public = (is_read && assets::is_public(path)) || (method == Method::POST && path == routes::PAIR_PATH);
    if is_public {
        return Ok(None);
    }
    let (token, credential) = match (bearer(headers), cookie(headers, &network.cookie)) {
        (Some(token), _) => (token, CredentialKind::Bearer),
        (None, Some(token)) => (token, CredentialKind::Cookie),
        (None, None) => return Err(Box::new(unauthorized(path, is_read))),
    };
    let Some(device) = network.devices.identify(token, credential) else {
        let is_limited = network.logins.is_limited(address);
        network.logins.fail(address);
        return match is_limited {
            true => refuse(StatusCode::TOO_MANY_REQUESTS, "too many failed attempts; wait a minute"),
            false => Err(Box::new(unauthorized(path, is_read))),
        };
    };
    if credential == CredentialKind::Cookie && !is_read {
        let sent = headers.get(CSRF_HEADER).and_then(|value| value.to_str().ok());
        if sent != Some(network.devices.csrf_value(&device.id).as_str()) {
            return refuse(
                StatusCode::FORBIDDEN,
                "the header X-Hew-CSRF is missing or wrong; GET /api/v1/me returns its value",
            );
        }
    }
    if let Access::Share(session) = device.access
        && !(is_read && is_shared(path, session))
    {
        return refuse(StatusCode::FORBIDDEN, "this link only shows one session");
    }
    *renewed = device.renewed;
    Ok(Some(Client {
        device: device.id,
        name: device.name,
        access: device.access,
        address,
    }))
}

/// Whether a share link may read a path.
fn is_shared(path: &str, session: SessionId) -> bool {
    let Some(rest) = path.strip_prefix("/api/v1/") else {
        return assets::is_asset(path);
    };
    let mut parts = rest.splitn(4, '/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some("me"), None, None) => true,
        (Some("sessions"), Some(id), rest) => {
            id.parse() == Ok(session) && SHARED_ROUTES.contains(&rest.unwrap_or_default())
        }
        (_, _, _) => false,
    }
}

/// The response to a request without a valid token: the page that explains pairing, or an error.
fn unauthorized(path: &str, is_read: bool) -> Response {
    if is_read && path == "/" {
        return assets::pairing_page(StatusCode::UNAUTHORIZED);
    }
    let hint = "pair a device with the link that `hew serve` prints, or create a token with `hew serve token`";
    error_response(StatusCode::UNAUTHORIZED, "this request needs a valid token", Some(hint))
}

async fn route(state: &Arc<HttpState>, router: Router, request: Request<Body>, client: Client) -> Response {
    let device = client.device.clone();
    let response = route_to_session(state, router, request, client).await;
    let content_type = response.headers().get(CONTENT_TYPE);
    if content_type.is_none_or(|value| value != EVENT_STREAM) {
        return response;
    }
    // Also a stream that another process sends.
    let state = Arc::clone(state);
    let revoked = Box::pin(async move { state.revoked(&device).await });
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(revoked)))
}

async fn route_to_session(
    state: &HttpState,
    mut router: Router,
    mut request: Request<Body>,
    client: Client,
) -> Response {
    request.extensions_mut().insert(client);
    // Another process may have the session open: it answers.
    if state.network.is_some()
        && let Some(session) = session_of(request.uri().path())
        && state.registry.hub(session).is_none()
        && let Some(socket) = state.registry.backend.holder(session)
    {
        match local::forward(&socket, request).await {
            Ok(response) => return response,
            Err(returned) => request = *returned,
        }
    }
    let Ok(response) = router.call(request).await;
    response
}

impl HttpState {
    /// Returns when a device was revoked or has expired.
    pub(super) async fn revoked(&self, device: &str) {
        let Some(network) = &self.network else {
            return std::future::pending().await;
        };
        while network.devices.is_known(device) {
            tokio::time::sleep(REVOCATION_CHECK).await;
        }
    }
}

async fn route_public(
    state: &HttpState,
    mut router: Router,
    mut request: Request<Body>,
    peer: Option<IpAddr>,
) -> Response {
    let network = state.network.as_ref();
    let address = network.map_or(peer, |network| network.client_address(request.headers(), peer));
    request.extensions_mut().insert(Client {
        device: String::new(),
        name: String::new(),
        access: Access::Full,
        address,
    });
    let Ok(response) = router.call(request).await;
    response
}

/// The session of an API path.
fn session_of(path: &str) -> Option<SessionId> {
    let rest = path.strip_prefix("/api/v1/sessions/")?;
    rest.split('/').next()?.parse().ok()
}

impl NetworkState {
    /// Sets the cookie of a device.
    pub(super) fn set_cookie(&self, headers: &mut HeaderMap, token: &str, seconds: u64) {
        let secure = if self.hosts.scheme == "https" { "; Secure" } else { "" };
        let name = &self.cookie;
        let cookie = format!("{name}={token}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}");
        if let Ok(value) = HeaderValue::from_str(&cookie) {
            headers.append(SET_COOKIE, value);
        }
    }

    /// The paired browser of a request without a share link's restrictions.
    pub(super) fn paired_browser(&self, headers: &HeaderMap) -> Option<KnownDevice> {
        let device = self
            .devices
            .identify(cookie(headers, &self.cookie)?, CredentialKind::Cookie)?;
        (device.access == Access::Full).then_some(device)
    }

    /// How long a cookie lasts, in seconds.
    pub(super) fn cookie_seconds(expires_ms: Option<u64>) -> u64 {
        expires_ms.map_or(COOKIE_SECONDS, |expires| expires.saturating_sub(super::now_ms()) / 1000)
    }

    fn client_address(&self, headers: &HeaderMap, peer: Option<IpAddr>) -> Option<IpAddr> {
        if !self.is_behind_proxy {
            return peer;
        }
        // The proxy appends the address that it sees.
        let forwarded = headers.get("x-forwarded-for").and_then(|value| value.to_str().ok());
        let last = forwarded.and_then(|all| all.rsplit(',').next()?.trim().parse().ok());
        last.or(peer)
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    pairs.find_map(|(found, value)| (found == name).then_some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_link_reads_its_session_only() {
        let (session, other) = (SessionId::new(), SessionId::new());
        for path in ["", "/events", "/items/x/diff", "/ledger", "/export"] {
            assert!(
                is_shared(&format!("/api/v1/sessions/{session}{path}"), session),
                "{path}"
            );
            assert!(
                !is_shared(&format!("/api/v1/sessions/{other}{path}"), session),
                "{path}"
            );
        }
        for path in ["/file", "/files", "/changes", "/settings", "/jobs"] {
            assert!(
                !is_shared(&format!("/api/v1/sessions/{session}{path}"), session),
                "{path}"
            );
        }
        for path in [
            "/api/v1/sessions",
            "/api/v1/devices",
            "/api/v1/search",
            "/api/v1/events",
        ] {
            assert!(!is_shared(path, session), "{path}");
        }
        assert!(is_shared("/api/v1/me", session) && is_shared("/app.js", session));
        assert!(!is_shared("/acp", session) && !is_shared("/api/v2/x", session));
    }

    #[test]
    fn tokens_are_found_in_headers() {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, "bearer  abc".parse().unwrap());
        headers.insert(COOKIE, "a=1; hew-4440=def; hew-1=2".parse().unwrap());
        assert_eq!(bearer(&headers), Some("abc"));
        assert_eq!(
            (cookie(&headers, "hew-4440"), cookie(&headers, "hew-2")),
            (Some("def"), None)
        );
    }
}
