//! Changes of files: review, undo, redo and rewind.

use super::super::api_json::{ApiJson, ApiResult, ok};
use super::super::backend::{RestoredFiles, WebError, WebErrorKind};
use super::super::hub::SessionHub;
use super::super::openapi::{ApiRoutes, doc};
use super::super::service::HttpState;
use super::super::types::{
    ChangedFileRow, OperationReport, RestoreOperation, RestoreOrder, RestoreReportRow, ReviewBody, RewindBody,
    SessionState, UndoBody,
};
use super::parse_item;
use axum::extract::{Path, State};
use http::Method;
use session::Command;
use std::sync::Arc;

pub(super) fn add(api: &mut ApiRoutes) {
    api.route(
        Method::GET,
        "/api/v1/sessions/{session}/changes",
        doc("The changes that were not reviewed").returns::<Vec<ChangedFileRow>>(),
        changes,
    );
    api.route(
        Method::POST,
        "/api/v1/sessions/{session}/changes",
        doc("Accept and reject hunks; not while a turn is running")
            .accepts::<ReviewBody>()
            .returns::<OperationReport>(),
        review,
    );
    api.route(
        Method::POST,
        "/api/v1/sessions/{session}/undo",
        doc("Undo the file changes of the last turn")
            .accepts::<UndoBody>()
            .returns::<RestoreReportRow>(),
        undo,
    );
    api.route(
        Method::POST,
        "/api/v1/sessions/{session}/redo",
        doc("Redo the file changes that were undone")
            .accepts::<UndoBody>()
            .returns::<RestoreReportRow>(),
        redo,
    );
    api.route(
        Method::POST,
        "/api/v1/sessions/{session}/rewind",
        doc("Rewind to before a prompt: the conversation, the files or both")
            .accepts::<RewindBody>()
            .returns::<RestoreReportRow>(),
        rewind,
    );
}

async fn changes(State(state): State<Arc<HttpState>>, Path(session): Path<String>) -> ApiResult {
    ok(&state.open(&session).await?.services.changes().await?)
}

async fn review(
    State(state): State<Arc<HttpState>>,
    Path(session): Path<String>,
    ApiJson(body): ApiJson<ReviewBody>,
) -> ApiResult {
    let hub = state.open(&session).await?;
    require_idle(&hub)?;
    let (message, log_entry) = hub.services.review(body.accept, body.reject).await?;
    if let Some(body) = log_entry {
        hub.record(body).await?;
    }
    hub.announce("changes");
    ok(&OperationReport { message })
}

async fn undo(
    State(state): State<Arc<HttpState>>,
    Path(session): Path<String>,
    ApiJson(body): ApiJson<UndoBody>,
) -> ApiResult {
    let order = RestoreOrder {
        operation: RestoreOperation::Undo,
        conflicts: body.conflicts,
    };
    restore(&state, &session, order).await
}

async fn redo(
    State(state): State<Arc<HttpState>>,
    Path(session): Path<String>,
    ApiJson(body): ApiJson<UndoBody>,
) -> ApiResult {
    let order = RestoreOrder {
        operation: RestoreOperation::Redo,
        conflicts: body.conflicts,
    };
    restore(&state, &session, order).await
}

async fn rewind(
    State(state): State<Arc<HttpState>>,
    Path(session): Path<String>,
    ApiJson(body): ApiJson<RewindBody>,
) -> ApiResult {
    let order = RestoreOrder {
        operation: RestoreOperation::Rewind {
            prompt: parse_item(&body.prompt)?,
            parts: body.parts,
        },
        conflicts: body.conflicts,
    };
    restore(&state, &session, order).await
}

async fn restore(state: &HttpState, session: &str, order: RestoreOrder) -> ApiResult {
    ok(&restore_files(&*state.open(session).await?, order).await?)
}

pub(super) async fn restore_files(hub: &SessionHub, order: RestoreOrder) -> Result<RestoreReportRow, WebError> {
    require_idle(hub)?;
    match hub.services.restore(order).await? {
        RestoredFiles::Conflicts(report) => Ok(report),
        RestoredFiles::Done {
            message,
            head,
            log_entry,
        } => {
            if let Some(to) = head {
                hub.send(Command::Rewind { to }).await?;
            }
            if let Some(body) = log_entry {
                hub.record(body).await?;
            }
            hub.announce("changes");
            Ok(RestoreReportRow {
                message,
                conflicts: Vec::new(),
                head: head.map(|item| item.to_string()),
            })
        }
    }
}

/// Files are restored between turns only.
fn require_idle(hub: &SessionHub) -> Result<(), WebError> {
    match hub.state_name() {
        SessionState::Working | SessionState::Waiting => Err(WebError::new(
            WebErrorKind::Busy,
            "a turn is running; interrupt it first",
        )),
        SessionState::Idle | SessionState::Stored | SessionState::Elsewhere => Ok(()),
    }
}
