//! A session as a Markdown or JSON document.

use crate::failure::{Failure, Result};
use crate::session_markdown::{self, MarkdownDetail};
use host::text::rfc3339;
use review::VersionContents;
use review::diff::change_diff;
use serde::Serialize;
use server::json_events::{JsonItem, JsonTotals, JsonUsage, VERSION};
use session::{FileVersion, LoadedSession, RequestRecord, SessionMeta};
use store::SqliteStore;

/// The format of an exported session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionFormat {
    /// For reading.
    Markdown,
    /// For programs.
    Json,
}

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

/// A session as a document.
pub async fn render(
    store: &SqliteStore,
    loaded: &LoadedSession,
    subtasks: &[SessionMeta],
    records: &[RequestRecord],
    format: SessionFormat,
) -> Result<String> {
    match format {
        SessionFormat::Markdown => {
            let changes = loaded.items.iter().flat_map(|item| item.changes());
            let versions: Vec<&FileVersion> = changes.flat_map(|one| one.before.iter().chain(&one.after)).collect();
            let kept = VersionContents::load(store, &versions).await?;
            Ok(session_markdown::render(
                loaded,
                subtasks,
                MarkdownDetail::Full,
                &|change| Some(change_diff(change, &kept).to_string()),
            ))
        }
        SessionFormat::Json => pretty(&exported(loaded, subtasks, records)),
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

fn pretty(value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(value);
    let text = text.map_err(|error| Failure::failed(format!("cannot write JSON: {error}")))?;
    Ok(text + "\n")
}
