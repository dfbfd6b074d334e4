//! `hew sessions export`: a session as Markdown or JSON.

use super::diff::change_as_patch;
use crate::args::ExportFormat;
use crate::failure::{Failure, Result};
use crate::output;
use crate::output::events::{JsonItem, JsonTotals, JsonUsage, VERSION};
use crate::output::format::rfc3339;
use crate::output::markdown::{self, MarkdownDetail};
use review::VersionContents;
use serde::Serialize;
use session::{FileVersion, LoadedSession, RequestRecord, SessionMeta};
use std::path::Path;
use store::SqliteStore;

/// A session as JSON. Items have the form that `hew run --json` gives them.
#[derive(Serialize)]
struct SessionExport<'a> {
    v: u32,
    session: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    subtasks: Vec<String>,
    title: Option<&'a str>,
    project: String,
    model: &'a str,
    created: String,
    updated: String,
    totals: JsonTotals,
    items: Vec<JsonItem<'a>>,
    requests: Vec<RequestExport<'a>>,
}

/// A request to the model.
#[derive(Serialize)]
struct RequestExport<'a> {
    id: String,
    item: Option<String>,
    purpose: &'a str,
    model: &'a str,
    attempt: u32,
    at: String,
    first_chunk_ms: Option<u64>,
    total_ms: u64,
    usage: JsonUsage,
    cost_usd: Option<f64>,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
}

pub(super) async fn export(
    store: &SqliteStore,
    loaded: &LoadedSession,
    subtasks: &[SessionMeta],
    records: &[RequestRecord],
    format: ExportFormat,
    file: Option<&Path>,
) -> Result<()> {
    let text = render(store, loaded, subtasks, records, format).await?;
    match file {
        Some(path) => std::fs::write(path, text).map_err(|error| Failure::file("write", path, &error)),
        None => output::print_document(&text),
    }
}

/// A session as a document.
pub(crate) async fn render(
    store: &SqliteStore,
    loaded: &LoadedSession,
    subtasks: &[SessionMeta],
    records: &[RequestRecord],
    format: ExportFormat,
) -> Result<String> {
    match format {
        ExportFormat::Markdown => {
            let changes = loaded.items.iter().flat_map(|item| item.changes());
            let versions: Vec<&FileVersion> = changes.flat_map(|one| one.before.iter().chain(&one.after)).collect();
            let kept = VersionContents::load(store, &versions).await?;
            Ok(markdown::render(loaded, subtasks, MarkdownDetail::Full, &|change| {
                Some(change_as_patch(change, &kept))
            }))
        }
        ExportFormat::Json => output::pretty(&exported(loaded, subtasks, records)),
    }
}

fn exported<'a>(
    loaded: &'a LoadedSession,
    subtasks: &[SessionMeta],
    records: &'a [RequestRecord],
) -> SessionExport<'a> {
    let meta = &loaded.meta;
    SessionExport {
        v: VERSION,
        session: meta.id.to_string(),
        parent: meta.parent.as_ref().map(|parent| parent.session.to_string()),
        subtasks: subtasks.iter().map(|subtask| subtask.id.to_string()).collect(),
        title: meta.title.as_deref(),
        project: meta.root.display().to_string(),
        model: &meta.model,
        created: rfc3339(meta.created),
        updated: rfc3339(meta.updated),
        totals: JsonTotals::of(&meta.totals),
        items: loaded.items.iter().map(|item| JsonItem::of(item)).collect(),
        requests: records.iter().map(RequestExport::of).collect(),
    }
}

impl<'a> RequestExport<'a> {
    fn of(record: &'a RequestRecord) -> Self {
        RequestExport {
            id: record.id.to_string(),
            item: record.item.map(|item| item.to_string()),
            purpose: &record.purpose,
            model: &record.model,
            attempt: record.attempt,
            at: rfc3339(record.at),
            first_chunk_ms: record.first_chunk,
            total_ms: record.total,
            usage: JsonUsage::of(&record.usage),
            cost_usd: record.cost.map(model::Cost::usd),
            outcome: record.outcome.name(),
            detail: record.outcome.detail(),
        }
    }
}
