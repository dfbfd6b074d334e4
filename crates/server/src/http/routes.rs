//! The routes of the API.

mod completion_routes;
mod device_routes;
mod prompt_commands;
mod prompt_routes;
mod review_routes;
mod session_routes;
mod state_routes;

use super::acp_socket;
use super::api_json::{ApiResult, error_response, ok};
use super::assets;
use super::backend::{WebError, WebErrorKind};
use super::hub::SessionHub;
use super::openapi::{ApiRoutes, doc, document};
use super::service::HttpState;
use axum::Router;
use axum::response::Response;
use http::{Method, StatusCode};
use serde_json::Value;
use session::SessionId;
use std::sync::{Arc, OnceLock};

/// The path that pairs a device; it needs no token.
pub(super) const PAIR_PATH: &str = "/api/v1/pair";

/// All routes with their descriptions.
pub(super) fn all() -> ApiRoutes {
    let mut api = ApiRoutes::new();
    device_routes::add(&mut api);
    session_routes::add(&mut api);
    prompt_routes::add(&mut api);
    review_routes::add(&mut api);
    state_routes::add(&mut api);
    completion_routes::add(&mut api);
    api.route(
        Method::GET,
        "/api/v1/openapi.json",
        doc("This description").returns::<Value>(),
        openapi,
    );
    api.route(
        Method::GET,
        "/acp",
        doc("The Agent Client Protocol over WebSocket, one JSON-RPC message per text message")
            .returns_type("text/plain"),
        acp_socket::acp,
    );
    api
}

/// The router.
pub(super) fn router(state: Arc<HttpState>) -> Router {
    let router = all().router.method_not_allowed_fallback(method_not_allowed);
    router.fallback(assets::asset).with_state(state)
}

async fn method_not_allowed() -> Response {
    let hint = "`GET /api/v1/openapi.json` lists the methods";
    error_response(
        StatusCode::METHOD_NOT_ALLOWED,
        "this address has no such method",
        Some(hint),
    )
}

async fn openapi() -> ApiResult {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    ok(DOCUMENT.get_or_init(document))
}

impl HttpState {
    /// The session with an id or a prefix of it.
    async fn find(&self, name: &str) -> Result<SessionId, WebError> {
        match name.parse() {
            Ok(session) => Ok(session),
            Err(_) => self.registry.backend.find(name.to_owned()).await,
        }
    }

    /// The hub of a session, which is opened if necessary.
    async fn open(&self, name: &str) -> Result<Arc<SessionHub>, WebError> {
        let session = self.find(name).await?;
        self.registry.open(session).await
    }
}

fn parse_item(text: &str) -> Result<session::ItemId, WebError> {
    text.parse()
        .map_err(|_| WebError::new(WebErrorKind::NotFound, format!("there is no item `{text}`")))
}
