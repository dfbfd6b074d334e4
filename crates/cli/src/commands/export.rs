//! `hew sessions export`: a session as Markdown or JSON.

use super::diff::one;
use super::past::{Kept, changes};
use crate::args::ExportFormat;
use crate::failure::{Failure, Result};
use crate::output;
use crate::output::events::{Entry, Sum, Tokens, VERSION};
use crate::output::markdown::{self, Detail};
use crate::output::words::{moment, tame};
use serde::Serialize;
use session::{Loaded, Meta, Record, Version};
use std::io::IsTerminal;
use std::path::Path;
use store::Sqlite;

/// A session as JSON. Items have the form that `hew run --json` gives them.
#[derive(Serialize)]
struct Exported<'a> {
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
    totals: Sum,
    items: Vec<Entry<'a>>,
    requests: Vec<Asked<'a>>,
}

/// A request to the model.
#[derive(Serialize)]
struct Asked<'a> {
    id: String,
    item: Option<String>,
    purpose: &'a str,
    model: &'a str,
    attempt: u32,
    at: String,
    first_chunk_ms: Option<u64>,
    total_ms: u64,
    usage: Tokens,
    cost_usd: Option<f64>,
    outcome: &'a str,
}

pub(super) async fn export(
    store: &Sqlite,
    loaded: &Loaded,
    subtasks: &[Meta],
    records: &[Record],
    format: ExportFormat,
    file: Option<&Path>,
) -> Result<()> {
    let text = match format {
        ExportFormat::Markdown => {
            let changes = loaded.items.iter().flat_map(|item| changes(item));
            let versions: Vec<&Version> = changes.flat_map(|one| one.before.iter().chain(&one.after)).collect();
            let kept = Kept::find(store, &versions).await?;
            markdown::render(loaded, subtasks, Detail::Full, &|change| Some(one(change, &kept)))
        }
        ExportFormat::Json => output::pretty(&exported(loaded, subtasks, records))?,
    };
    match file {
        Some(path) => std::fs::write(path, text).map_err(|error| Failure::file("write", path, &error)),
        // What was said and written may hold what would take over a terminal.
        None if std::io::stdout().is_terminal() => output::deliver(&tame(&text)),
        None => output::deliver(&text),
    }
}

fn exported<'a>(loaded: &'a Loaded, subtasks: &[Meta], records: &'a [Record]) -> Exported<'a> {
    let meta = &loaded.meta;
    Exported {
        v: VERSION,
        session: meta.id.to_string(),
        parent: meta.parent.as_ref().map(|parent| parent.session.to_string()),
        subtasks: subtasks.iter().map(|subtask| subtask.id.to_string()).collect(),
        title: meta.title.as_deref(),
        project: meta.root.display().to_string(),
        model: &meta.model,
        created: moment(meta.created),
        updated: moment(meta.updated),
        totals: Sum::of(&meta.totals),
        items: loaded.items.iter().map(|item| Entry::of(item)).collect(),
        requests: records.iter().map(Asked::of).collect(),
    }
}

impl<'a> Asked<'a> {
    fn of(record: &'a Record) -> Self {
        Asked {
            id: record.id.to_string(),
            item: record.item.map(|item| item.to_string()),
            purpose: &record.purpose,
            model: &record.model,
            attempt: record.attempt,
            at: moment(record.at),
            first_chunk_ms: record.first_chunk,
            total_ms: record.total,
            usage: Tokens::of(&record.usage),
            cost_usd: record.cost.map(model::Cost::usd),
            outcome: &record.outcome,
        }
    }
}
