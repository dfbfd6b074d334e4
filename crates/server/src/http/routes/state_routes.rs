//! Data about a session and its project: files, models, modes, commands, jobs, panels, servers, permissions.

use super::super::api_json::{ApiJson, ApiQuery, ApiResult, ok};
use super::super::backend::{WebError, WebErrorKind};
use super::super::openapi::{ApiRoutes, doc};
use super::super::service::HttpState;
use super::super::types::{
    CommandRow, FileBody, FoundCode, HighlightBody, JobInfo, ModeChoice, ModelRow, OperationReport, PanelInfo,
    PermissionRuleRow, RevokeBody, RulesFileInfo, ServerInfo, SettingInfo, TokenSpan,
};
use super::prompt_commands;
use axum::extract::{Path, State};
use http::Method;
use serde::Deserialize;
use session::Command;
use std::sync::Arc;

/// The maximum number of completions.
const MAX_COMPLETIONS: usize = 50;

pub(super) fn add(api: &mut ApiRoutes) {
    let completions = |summary| {
        doc(summary)
            .query("q", "a part of the name")
            .query("all", "`1` returns all names")
            .returns::<Vec<String>>()
    };
    api.route(
        Method::GET,
        "/api/v1/sessions/{session}/files",
        completions("Paths of the project's files"),
        files,
    );
    api.route(
        Method::GET,
        "/api/v1/sessions/{session}/symbols",
        completions("Names that the project's code defines"),
        symbols,
    );
    api.route(
        Method::GET,
        "/api/v1/sessions/{session}/file",
        doc("The text of a file of the project")
            .query("path", "the path, relative to the project")
            .returns::<FileBody>(),
        file,
    );
    api.route(
        Method::GET,
        "/api/v1/sessions/{session}/models",
        doc("The available models").returns::<Vec<ModelRow>>(),
        models,
    );
    api.route(
        Method::GET,
        "/api/v1/sessions/{session}/modes",
        doc("The modes").returns::<Vec<ModeChoice>>(),
        modes,
    );
    api.route(
        Method::GET,
        "/api/v1/sessions/{session}/commands",
        doc("The slash commands that can be sent as prompts").returns::<Vec<CommandRow>>(),
        commands,
    );
    api.route(
        Method::GET,
        "/api/v1/sessions/{session}/code",
        doc("Find code of the project by meaning and words")
            .query("q", "the words")
            .returns::<Vec<FoundCode>>(),
        search_code,
    );
    api.route(
        Method::GET,
        "/api/v1/sessions/{session}/doctor",
        doc("Check the configuration and the providers").returns::<OperationReport>(),
        doctor,
    );
    api.route(
        Method::GET,
        "/api/v1/sessions/{session}/rules",
        doc("The rules files that new sessions read, and those that can be created").returns::<Vec<RulesFileInfo>>(),
        rules_files,
    );
    api.route(
        Method::GET,
        "/api/v1/sessions/{session}/jobs",
        doc("Background jobs with the end of their output").returns::<Vec<JobInfo>>(),
        jobs,
    );
    api.route(
        Method::POST,
        "/api/v1/sessions/{session}/jobs/{job}/stop",
        doc("Stop a background job").returns::<OperationReport>(),
        stop_job,
    );
    api.route(
        Method::POST,
        "/api/v1/sessions/{session}/background",
        doc("Move the running command to the background").returns::<OperationReport>(),
        background,
    );
    api.route(
        Method::GET,
        "/api/v1/sessions/{session}/panels",
        doc("The panels").returns::<Vec<PanelInfo>>(),
        panels,
    );
    api.route(
        Method::POST,
        "/api/v1/sessions/{session}/panels",
        doc("Open or close a panel")
            .accepts::<PanelInfo>()
            .returns::<OperationReport>(),
        set_panel,
    );
    api.route(
        Method::GET,
        "/api/v1/sessions/{session}/servers",
        doc("MCP and language servers").returns::<Vec<ServerInfo>>(),
        servers,
    );
    api.route(
        Method::GET,
        "/api/v1/sessions/{session}/permissions",
        doc("Permission rules and saved answers").returns::<Vec<PermissionRuleRow>>(),
        permissions,
    );
    api.route(
        Method::POST,
        "/api/v1/sessions/{session}/permissions/revoke",
        doc("Remove a saved answer")
            .accepts::<RevokeBody>()
            .returns::<OperationReport>(),
        revoke,
    );
    api.route(
        Method::GET,
        "/api/v1/sessions/{session}/config",
        doc("The configuration of the session").returns::<Vec<SettingInfo>>(),
        config,
    );
    api.route(
        Method::POST,
        "/api/v1/highlight",
        doc("Highlight source text; null if the language is unknown")
            .accepts::<HighlightBody>()
            .returns::<Option<Vec<TokenSpan>>>(),
        highlight,
    );
}

#[derive(Debug, Deserialize)]
struct NameQuery {
    #[serde(default)]
    q: String,
    #[serde(default)]
    all: String,
}

impl NameQuery {
    fn select<'a>(&self, names: &'a [String]) -> Vec<&'a str> {
        match self.all == "1" {
            true => names.iter().map(String::as_str).collect(),
            false => matches(names, &self.q),
        }
    }
}

async fn files(
    State(state): State<Arc<HttpState>>,
    Path(session): Path<String>,
    ApiQuery(query): ApiQuery<NameQuery>,
) -> ApiResult {
    let all = state.open(&session).await?.services.files().await?;
    ok(&query.select(&all))
}

async fn symbols(
    State(state): State<Arc<HttpState>>,
    Path(session): Path<String>,
    ApiQuery(query): ApiQuery<NameQuery>,
) -> ApiResult {
    let all = state.open(&session).await?.services.symbols().await?;
    ok(&query.select(&all))
}

/// The names that contain the characters of a text in order: those with the text as a whole first, then the shortest.
fn matches<'a>(names: &'a [String], text: &str) -> Vec<&'a str> {
    let text = text.to_lowercase();
    let mut found: Vec<(bool, usize, &str)> = Vec::new();
    for name in names {
        let lower = name.to_lowercase();
        let is_whole = lower.contains(&text);
        if is_whole || is_subsequence(&text, &lower) {
            found.push((!is_whole, name.len(), name));
        }
    }
    found.sort_unstable();
    found
        .into_iter()
        .take(MAX_COMPLETIONS)
        .map(|(_, _, name)| name)
        .collect()
}

fn is_subsequence(text: &str, name: &str) -> bool {
    let mut rest = name.chars();
    text.chars().all(|wanted| rest.any(|found| found == wanted))
}

#[derive(Debug, Deserialize)]
struct PathQuery {
    path: String,
}

async fn file(
    State(state): State<Arc<HttpState>>,
    Path(session): Path<String>,
    ApiQuery(query): ApiQuery<PathQuery>,
) -> ApiResult {
    let services = &state.open(&session).await?.services;
    let text = services.read_file(query.path.clone().into()).await?;
    ok(&FileBody { path: query.path, text })
}

async fn models(State(state): State<Arc<HttpState>>, Path(session): Path<String>) -> ApiResult {
    ok(&state.open(&session).await?.services.models().await?)
}

async fn modes(State(state): State<Arc<HttpState>>, Path(session): Path<String>) -> ApiResult {
    ok(&state.open(&session).await?.services.modes().await?)
}

async fn commands(State(state): State<Arc<HttpState>>, Path(session): Path<String>) -> ApiResult {
    let mut all = state.open(&session).await?.services.commands().await?;
    all.retain(|command| !command.built_in || prompt_commands::can_run(&command.name));
    ok(&all)
}

async fn search_code(
    State(state): State<Arc<HttpState>>,
    Path(session): Path<String>,
    ApiQuery(query): ApiQuery<NameQuery>,
) -> ApiResult {
    if query.q.trim().is_empty() {
        return Err(WebError::invalid("the search text is empty"));
    }
    ok(&state.open(&session).await?.services.search_code(query.q).await?)
}

async fn doctor(State(state): State<Arc<HttpState>>, Path(session): Path<String>) -> ApiResult {
    ok(&state.open(&session).await?.services.doctor().await?)
}

async fn rules_files(State(state): State<Arc<HttpState>>, Path(session): Path<String>) -> ApiResult {
    ok(&state.open(&session).await?.services.rules_files().await?)
}

async fn jobs(State(state): State<Arc<HttpState>>, Path(session): Path<String>) -> ApiResult {
    ok(&state.open(&session).await?.services.jobs().await?)
}

async fn stop_job(State(state): State<Arc<HttpState>>, Path((session, job)): Path<(String, String)>) -> ApiResult {
    let job = job
        .parse()
        .map_err(|_| WebError::new(WebErrorKind::NotFound, format!("there is no job `{job}`")))?;
    ok(&state.open(&session).await?.services.stop_job(job).await?)
}

async fn background(State(state): State<Arc<HttpState>>, Path(session): Path<String>) -> ApiResult {
    match state.open(&session).await?.services.move_to_background() {
        true => ok(&OperationReport {
            message: "the command continues in the background".into(),
        }),
        false => Err(WebError::invalid("no command is running")),
    }
}

async fn panels(State(state): State<Arc<HttpState>>, Path(session): Path<String>) -> ApiResult {
    ok(&state.open(&session).await?.services.panels().await?)
}

async fn set_panel(
    State(state): State<Arc<HttpState>>,
    Path(session): Path<String>,
    ApiJson(panel): ApiJson<PanelInfo>,
) -> ApiResult {
    ok(&state.open(&session).await?.services.set_panel(panel).await?)
}

async fn servers(State(state): State<Arc<HttpState>>, Path(session): Path<String>) -> ApiResult {
    ok(&state.open(&session).await?.services.servers().await?)
}

async fn permissions(State(state): State<Arc<HttpState>>, Path(session): Path<String>) -> ApiResult {
    ok(&state.open(&session).await?.services.permissions().await?)
}

async fn revoke(
    State(state): State<Arc<HttpState>>,
    Path(session): Path<String>,
    ApiJson(body): ApiJson<RevokeBody>,
) -> ApiResult {
    let hub = state.open(&session).await?;
    let rules = hub.services.permissions().await?;
    let found = rules
        .iter()
        .find(|row| row.rule == body.rule && row.revocation != "none");
    match found.map(|row| row.revocation.as_str()) {
        Some("session") => {
            hub.send(Command::Revoke { rule: body.rule }).await?;
            ok(&OperationReport::default())
        }
        Some(_) => ok(&hub.services.revoke(body.rule).await?),
        None => Err(WebError::invalid(format!(
            "the rule `{}` cannot be removed here",
            body.rule
        ))),
    }
}

async fn config(State(state): State<Arc<HttpState>>, Path(session): Path<String>) -> ApiResult {
    ok(&state.open(&session).await?.services.settings().await?)
}

async fn highlight(State(state): State<Arc<HttpState>>, ApiJson(body): ApiJson<HighlightBody>) -> ApiResult {
    ok(&state.registry.backend.highlight(body.language, body.text).await?)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn completions_contain_the_characters_in_order() {
        let names = ["src/main.rs", "src/mail/rust.rs", "docs/main.md"].map(str::to_owned);
        assert_eq!(matches(&names, "main"), ["src/main.rs", "docs/main.md"]);
        assert_eq!(matches(&names, "smrs"), ["src/main.rs", "src/mail/rust.rs"]);
        assert_eq!(matches(&names, "").len(), 3);
    }
}
