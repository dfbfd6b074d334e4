//! Pairing, devices and share links.

use super::super::api_json::{ApiJson, ApiResult, error_response, json_response, ok};
use super::super::backend::{WebError, WebErrorKind};
use super::super::devices::Access;
use super::super::openapi::{ApiRoutes, doc};
use super::super::qr_rows;
use super::super::service::{Client, HttpState, NetworkState};
use super::super::types::{
    ClientInfo, CredentialKind, DeviceInfo, LinkInfo, OperationReport, PairRequest, PairResult, ShareRequest,
};
use super::PAIR_PATH;
use axum::Extension;
use axum::extract::{Path, State};
use axum::response::Response;
use http::{HeaderMap, Method, StatusCode};
use std::sync::Arc;

/// The longest lifetime of a share link.
const MAX_SHARE_HOURS: u64 = 720;

pub(super) fn add(api: &mut ApiRoutes) {
    let pair_doc = doc("Pair a device with the code of a link; needs no token").accepts::<PairRequest>();
    api.route(Method::POST, PAIR_PATH, pair_doc.returns::<PairResult>(), pair);
    api.route(
        Method::GET,
        "/api/v1/me",
        doc("The device of this request, and the value against cross-site requests").returns::<ClientInfo>(),
        me,
    );
    api.route(
        Method::POST,
        "/api/v1/pairings",
        doc("Create a one-time link that pairs another device").returns::<LinkInfo>(),
        create_pairing,
    );
    api.route(
        Method::GET,
        "/api/v1/devices",
        doc("List the paired devices and share links").returns::<Vec<DeviceInfo>>(),
        devices,
    );
    api.route(
        Method::DELETE,
        "/api/v1/devices/{device}",
        doc("Revoke a device").returns::<OperationReport>(),
        revoke,
    );
    api.route(
        Method::POST,
        "/api/v1/sessions/{session}/shares",
        doc("Create a read-only link to a session, if that is enabled")
            .accepts::<ShareRequest>()
            .returns::<LinkInfo>(),
        share,
    );
}

impl HttpState {
    /// The devices; a connection of the same user has none.
    fn network(&self) -> Result<&NetworkState, WebError> {
        let missing = || WebError::new(WebErrorKind::NotFound, "this connection has no devices");
        self.network.as_ref().ok_or_else(missing)
    }
}

async fn pair(
    State(state): State<Arc<HttpState>>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    ApiJson(request): ApiJson<PairRequest>,
) -> Result<Response, WebError> {
    let network = state.network()?;
    if network.logins.is_limited(client.address) {
        return Err(WebError::new(
            WebErrorKind::TooMany,
            "too many failed attempts; wait a minute",
        ));
    }
    // A paired browser reads a shared session with its own cookie, which a share link must not replace.
    if request.credential == CredentialKind::Cookie
        && let Some(session) = network.devices.shared_session(&request.code)
        && let Some(browser) = network.paired_browser(&headers)
    {
        let result = PairResult {
            device: browser.id,
            token: None,
            session: Some(session),
        };
        let mut response = json_response(StatusCode::OK, &result);
        if let Some(token) = browser.renewed {
            network.set_cookie(response.headers_mut(), &token, NetworkState::cookie_seconds(None));
        }
        return Ok(response);
    }
    let paired = network.devices.pair(&request.code, &request.name, request.credential);
    let Some(device) = paired.map_err(storage_error)? else {
        network.logins.fail(client.address);
        return Ok(error_response(
            StatusCode::UNAUTHORIZED,
            "this code is wrong, used or expired",
            Some("create a new link with `hew serve link`"),
        ));
    };
    let is_cookie = request.credential == CredentialKind::Cookie;
    let result = PairResult {
        device: device.id,
        token: (!is_cookie).then(|| device.token.clone()),
        session: device.session,
    };
    let mut response = json_response(StatusCode::OK, &result);
    if is_cookie {
        let seconds = NetworkState::cookie_seconds(device.expires);
        network.set_cookie(response.headers_mut(), &device.token, seconds);
    }
    Ok(response)
}

async fn me(State(state): State<Arc<HttpState>>, Extension(client): Extension<Client>) -> ApiResult {
    let session = match client.access {
        Access::Full => None,
        Access::Share(session) => Some(session.to_string()),
    };
    ok(&ClientInfo {
        csrf: state
            .network
            .as_ref()
            .map(|network| network.devices.csrf_value(&client.device))
            .unwrap_or_default(),
        device: client.device,
        name: client.name,
        hew: env!("CARGO_PKG_VERSION").into(),
        root: match session {
            None => state.registry.backend.default_root().display().to_string(),
            Some(_) => String::new(),
        },
        read_only: session.is_some(),
        session,
        share_links: state.network.as_ref().is_some_and(|network| network.share_links),
    })
}

async fn create_pairing(State(state): State<Arc<HttpState>>) -> ApiResult {
    let network = state.network()?;
    let (code, expires_ms) = network.devices.create_code().map_err(storage_error)?;
    ok(&link(network, code, expires_ms))
}

async fn share(
    State(state): State<Arc<HttpState>>,
    Path(session): Path<String>,
    ApiJson(request): ApiJson<ShareRequest>,
) -> ApiResult {
    let network = state.network()?;
    if !network.share_links {
        return Err(WebError {
            message: "share links are not enabled".into(),
            hint: Some("start the server with --share".into()),
            kind: WebErrorKind::Forbidden,
        });
    }
    let session = state.find(&session).await?;
    // It must exist.
    state.registry.backend.load(session).await?;
    let hours = request.hours.clamp(1, MAX_SHARE_HOURS);
    let created = network.devices.create_share(session, hours * 3_600_000);
    let (code, expires_ms) = created.map_err(storage_error)?;
    ok(&link(network, code, expires_ms))
}

fn link(network: &NetworkState, code: String, expires_ms: u64) -> LinkInfo {
    let url = format!("{}/pair?code={code}", network.base_url);
    LinkInfo {
        qr: qr_rows(&url),
        url,
        code,
        expires_ms,
    }
}

async fn devices(State(state): State<Arc<HttpState>>) -> ApiResult {
    ok(&state.network()?.devices.list())
}

async fn revoke(State(state): State<Arc<HttpState>>, Path(device): Path<String>) -> ApiResult {
    match state.network()?.devices.revoke(&device).map_err(storage_error)? {
        true => ok(&OperationReport {
            message: format!("revoked {device}"),
        }),
        false => Err(WebError::new(
            WebErrorKind::NotFound,
            format!("there is no device `{device}`"),
        )),
    }
}

fn storage_error(error: std::io::Error) -> WebError {
    WebError::new(WebErrorKind::Failed, format!("the devices cannot be stored: {error}"))
}
