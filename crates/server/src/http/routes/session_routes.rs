//! Sessions: list, create, load, follow, copy, export, delete.

use super::super::api_json::{ApiJson, ApiQuery, ApiResult, ok};
use super::super::backend::{WebError, WebErrorKind, WebExportFormat};
use super::super::hub::StreamPosition;
use super::super::openapi::{ApiRoutes, doc};
use super::super::service::{Client, EVENT_STREAM, HttpState};
use super::super::stream::{session_events, session_states};
use super::super::types::{
    FileTextsRow, ForkBody, LedgerRow, NewSessionBody, OperationReport, SearchHit, SessionRefBody, SessionRow,
    SessionState, TitleBody,
};
use super::super::wire::item_value;
use super::prompt_routes::MEDIA_TYPES;
use super::{parse_item, prompt_routes};
use crate::json_events::JsonItem;
use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use model::{Block, Media, Part};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use session::{Delivery, SessionId, SessionMeta};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The default number of listed sessions.
const DEFAULT_LIMIT: usize = 100;
/// The longest title.
const MAX_TITLE: usize = 200;

pub(super) fn add(api: &mut ApiRoutes) {
    api.route(
        Method::GET,
        "/api/v1/sessions",
        doc("List sessions, newest first")
            .query("root", "only sessions of this project")
            .query("limit", "the maximum number; 100 by default")
            .returns::<Vec<SessionRow>>(),
        list,
    );
    api.route(
        Method::POST,
        "/api/v1/sessions",
        doc("Create a session")
            .accepts::<NewSessionBody>()
            .returns::<SessionRefBody>(),
        create,
    );
    api.route(
        Method::GET,
        "/api/v1/search",
        doc("Search the text of all sessions")
            .query("q", "the text")
            .returns::<Vec<SearchHit>>(),
        search,
    );
    api.route(
        Method::GET,
        "/api/v1/events",
        doc("The states of open sessions, as server-sent events").returns_type("text/event-stream"),
        states,
    );
    api.route(
        Method::GET,
        "/api/v1/sessions/{session}",
        doc("Load a session: its items, its state, and the id to continue the events from").returns::<SessionDetail>(),
        load,
    );
    api.route(
        Method::PATCH,
        "/api/v1/sessions/{session}",
        doc("Change the title")
            .accepts::<TitleBody>()
            .returns::<OperationReport>(),
        rename,
    );
    api.route(
        Method::DELETE,
        "/api/v1/sessions/{session}",
        doc("Delete a session; it must not be open in another process").returns::<OperationReport>(),
        delete,
    );
    api.route(
        Method::POST,
        "/api/v1/sessions/{session}/close",
        doc("Close a session, so that another process can open it; a running turn is interrupted")
            .returns::<OperationReport>(),
        close,
    );
    api.route(
        Method::GET,
        "/api/v1/sessions/{session}/events",
        doc("The events of a session as server-sent events, after the header Last-Event-ID or the parameter `after`")
            .query("after", "the id of the last received event")
            .query("states", "`1` also sends the states of all open sessions")
            .returns_type("text/event-stream"),
        events,
    );
    api.route(
        Method::POST,
        "/api/v1/sessions/{session}/fork",
        doc("Copy a session, up to an item")
            .accepts::<ForkBody>()
            .returns::<SessionRefBody>(),
        fork,
    );
    api.route(
        Method::GET,
        "/api/v1/sessions/{session}/export",
        doc("A session as a document")
            .query("format", "`markdown` or `json`")
            .returns_type("text/markdown"),
        export,
    );
    api.route(
        Method::GET,
        "/api/v1/sessions/{session}/ledger",
        doc("The requests of a session: tokens, cost and sections of the prompt").returns::<Vec<LedgerRow>>(),
        ledger,
    );
    api.route(
        Method::GET,
        "/api/v1/sessions/{session}/items/{item}/diff",
        doc("The texts of the files that an item changed, before and after").returns::<Vec<FileTextsRow>>(),
        item_diff,
    );
    api.route(
        Method::GET,
        "/api/v1/sessions/{session}/items/{item}/media/{number}",
        doc("An image or a document of an item; `number` counts its parts of type `media` from 0")
            .returns_type("image/*"),
        item_media,
    );
}

/// A session with its items.
#[derive(Debug, Serialize, JsonSchema)]
struct SessionDetail {
    /// The session.
    session: SessionRow,
    /// Its items.
    #[schemars(with = "Vec<JsonItem<'static>>")]
    items: Vec<Value>,
    /// Unfinished work and settings: the event `live`.
    live: Value,
    /// The event id to continue from.
    cursor: String,
}

#[derive(Debug, Deserialize)]
struct ListQuery {
    root: Option<String>,
    limit: Option<usize>,
}

async fn list(State(state): State<Arc<HttpState>>, ApiQuery(query): ApiQuery<ListQuery>) -> ApiResult {
    let root: Option<PathBuf> = query.root.map(Into::into);
    let mut all = state.registry.backend.list(root.clone()).await?;
    let states = state.registry.states();
    let states: HashMap<_, _> = states.into_iter().map(|(id, state, _)| (id, state)).collect();
    // A session without a prompt is open, but not in the list of the store.
    for id in states
        .keys()
        .filter(|id| !all.iter().any(|meta| meta.id == **id))
        .collect::<Vec<_>>()
    {
        // It may be closed meanwhile.
        if let Ok(loaded) = state.registry.backend.load(*id).await
            && loaded.meta.parent.is_none()
            && root.as_ref().is_none_or(|root| *root == loaded.meta.root)
        {
            all.push(loaded.meta);
        }
    }
    all.sort_by_key(|meta| std::cmp::Reverse(meta.updated));
    let rows = all.into_iter().take(query.limit.unwrap_or(DEFAULT_LIMIT)).map(|meta| {
        let shown = match states.get(&meta.id) {
            Some(open) => *open,
            None if state.registry.backend.holder(meta.id).is_some() => SessionState::Elsewhere,
            None => SessionState::Stored,
        };
        row(meta, shown)
    });
    ok(&rows.collect::<Vec<_>>())
}

fn row(meta: SessionMeta, state: SessionState) -> SessionRow {
    SessionRow {
        id: meta.id.to_string(),
        title: meta.title,
        root: meta.root.display().to_string(),
        model: meta.model,
        created_ms: meta.created.0,
        updated_ms: meta.updated.0,
        items: meta.items,
        cost_usd: meta.totals.cost.usd(),
        state,
    }
}

async fn create(State(state): State<Arc<HttpState>>, ApiJson(body): ApiJson<NewSessionBody>) -> ApiResult {
    let hub = state.registry.create(body.root).await?;
    if let Some(settings) = body.settings {
        prompt_routes::change_settings(&hub, settings).await?;
    }
    if let Some(prompt) = body.prompt {
        prompt_routes::send_prompt(&hub, model::Message::user(prompt), Delivery::Queue).await?;
    }
    ok(&SessionRefBody { id: hub.id.to_string() })
}

#[derive(Debug, Deserialize)]
struct SessionSearchQuery {
    q: String,
}

async fn search(State(state): State<Arc<HttpState>>, ApiQuery(query): ApiQuery<SessionSearchQuery>) -> ApiResult {
    if query.q.trim().is_empty() {
        return Err(WebError::invalid("the search text is empty"));
    }
    ok(&state.registry.backend.search(query.q).await?)
}

async fn load(State(state): State<Arc<HttpState>>, Path(session): Path<String>) -> ApiResult {
    let session = state.find(&session).await?;
    let snapshot = state.registry.snapshot(session).await?;
    let shown = state.registry.hub(session).map(|hub| hub.state_name());
    ok(&SessionDetail {
        session: row(snapshot.loaded.meta, shown.unwrap_or_default()),
        items: snapshot.items.iter().map(|item| item_value(item)).collect(),
        live: snapshot.live,
        cursor: snapshot.position.to_string(),
    })
}

async fn rename(
    State(state): State<Arc<HttpState>>,
    Path(session): Path<String>,
    ApiJson(body): ApiJson<TitleBody>,
) -> ApiResult {
    let session = state.find(&session).await?;
    set_title(&state, session, &body.title).await?;
    ok(&OperationReport::default())
}

pub(super) async fn set_title(state: &HttpState, session: SessionId, title: &str) -> Result<(), WebError> {
    let title: String = title.trim().chars().take(MAX_TITLE).collect();
    if title.is_empty() {
        return Err(WebError::invalid("the title is empty"));
    }
    state.registry.backend.rename(session, title.clone()).await?;
    if let Some(hub) = state.registry.hub(session) {
        hub.set_title(title);
    }
    Ok(())
}

async fn delete(State(state): State<Arc<HttpState>>, Path(session): Path<String>) -> ApiResult {
    require_own(&state)?;
    let session = state.find(&session).await?;
    state.registry.close(session).await;
    state.registry.backend.delete(session).await?;
    ok(&OperationReport::default())
}

/// A session of another process is closed there.
fn require_own(state: &HttpState) -> Result<(), WebError> {
    match state.network {
        Some(_) => Ok(()),
        None => Err(WebError {
            message: "the session is open in another hew process".into(),
            hint: Some("close it there first".into()),
            kind: WebErrorKind::Busy,
        }),
    }
}

async fn close(State(state): State<Arc<HttpState>>, Path(session): Path<String>) -> ApiResult {
    require_own(&state)?;
    let session = state.find(&session).await?;
    state.registry.close(session).await;
    ok(&OperationReport::default())
}

#[derive(Debug, Deserialize)]
struct EventsQuery {
    after: Option<String>,
    states: Option<String>,
}

async fn events(
    State(state): State<Arc<HttpState>>,
    Extension(client): Extension<Client>,
    Path(session): Path<String>,
    ApiQuery(query): ApiQuery<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    let session = state.find(&session).await?;
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let position: Option<StreamPosition> = match last.or(query.after.as_deref()).filter(|id| !id.is_empty()) {
        Some(id) => Some(id.parse()?),
        None => None,
    };
    // It must exist.
    let known = state.registry.backend.load(session).await;
    if state.registry.hub(session).is_none() {
        known?;
    }
    let permit = permit(&state, &client)?;
    let registry = Arc::clone(&state.registry);
    let is_shared = client.access != super::super::devices::Access::Full;
    let with_states = query.states.as_deref() == Some("1") && !is_shared;
    let events = session_events(registry, session, position, with_states, permit);
    Ok(event_stream(Body::from_stream(events)))
}

async fn states(
    State(state): State<Arc<HttpState>>,
    Extension(client): Extension<Client>,
) -> Result<Response, WebError> {
    let permit = permit(&state, &client)?;
    let states = session_states(Arc::clone(&state.registry), permit);
    Ok(event_stream(Body::from_stream(states)))
}

fn permit(state: &HttpState, client: &Client) -> Result<impl Send + 'static + use<>, WebError> {
    let permit = state.streams.permit(&client.device);
    permit.ok_or_else(|| WebError::new(WebErrorKind::TooMany, "too many event streams are open"))
}

fn event_stream(body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    // Some proxies buffer responses otherwise.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

async fn fork(
    State(state): State<Arc<HttpState>>,
    Path(session): Path<String>,
    ApiJson(body): ApiJson<ForkBody>,
) -> ApiResult {
    let session = state.find(&session).await?;
    let upto = body.upto.as_deref().map(parse_item).transpose()?;
    let id = state.registry.backend.fork(session, upto).await?;
    ok(&SessionRefBody { id: id.to_string() })
}

#[derive(Debug, Deserialize)]
struct ExportQuery {
    format: Option<String>,
}

async fn export(
    State(state): State<Arc<HttpState>>,
    Path(session): Path<String>,
    ApiQuery(query): ApiQuery<ExportQuery>,
) -> Result<Response, WebError> {
    let session = state.find(&session).await?;
    let (format, media_type, name) = match query.format.as_deref() {
        None | Some("markdown") => (WebExportFormat::Markdown, "text/markdown; charset=utf-8", "md"),
        Some("json") => (WebExportFormat::Json, "application/json", "json"),
        Some(other) => return Err(WebError::invalid(format!("there is no format `{other}`"))),
    };
    let text = state.registry.backend.export(session, format).await?;
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    // Never shown as a page of this server.
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"hew-{session}.{name}\"")) {
        headers.insert(CONTENT_DISPOSITION, value);
    }
    Ok(response)
}

async fn ledger(State(state): State<Arc<HttpState>>, Path(session): Path<String>) -> ApiResult {
    let session = state.find(&session).await?;
    let records = state.registry.backend.records(session).await?;
    ok(&records.iter().map(LedgerRow::of).collect::<Vec<_>>())
}

async fn item_media(
    State(state): State<Arc<HttpState>>,
    Path((session, item, number)): Path<(String, String, String)>,
) -> Result<Response, WebError> {
    let missing = || WebError::new(WebErrorKind::NotFound, "there is no such image or document");
    let (session, item) = (state.find(&session).await?, parse_item(&item)?);
    let number: usize = number.parse().map_err(|_| missing())?;
    let loaded = state.registry.backend.load(session).await?;
    let found = loaded
        .items
        .iter()
        .find(|stored| stored.id == item)
        .ok_or_else(missing)?;
    let parts = found
        .message()
        .map(|message| message.parts.as_slice())
        .unwrap_or_default();
    // A browser must not interpret anything else, such as SVG.
    let shown = parts.iter().flat_map(media_of).nth(number);
    let media = shown.filter(|media| MEDIA_TYPES.contains(&media.mime.as_str()));
    let media = media.ok_or_else(missing)?;
    let mut response = Response::new(Body::from(media.data.clone()));
    if let Ok(value) = HeaderValue::from_str(&media.mime) {
        response.headers_mut().insert(CONTENT_TYPE, value);
    }
    Ok(response)
}

/// The images and documents of a part.
fn media_of(part: &Part) -> Vec<&Media> {
    match part {
        Part::Media(media) => vec![media],
        Part::ToolResult { content, .. } => {
            let blocks = content.iter();
            blocks
                .filter_map(|block| match block {
                    Block::Media(media) => Some(media),
                    Block::Text { .. } => None,
                })
                .collect()
        }
        Part::Text { .. } | Part::Thinking { .. } | Part::ToolCall { .. } => Vec::new(),
    }
}

async fn item_diff(State(state): State<Arc<HttpState>>, Path((session, item)): Path<(String, String)>) -> ApiResult {
    let (session, item) = (state.find(&session).await?, parse_item(&item)?);
    let loaded = state.registry.backend.load(session).await?;
    let found = loaded.items.iter().find(|stored| stored.id == item);
    let found = found.ok_or_else(|| WebError::new(WebErrorKind::NotFound, format!("there is no item `{item}`")))?;
    ok(&state.registry.backend.texts(found.changes().to_vec()).await?)
}
