//! `hew sessions export`: a session as Markdown or JSON.

use crate::args::ExportFormat;
use crate::failure::{Failure, Result};
use crate::output;
use backends::session_export::{SessionFormat, render};
use session::{LoadedSession, RequestRecord, SessionMeta};
use std::path::Path;
use store::SqliteStore;

pub(super) async fn export(
    store: &SqliteStore,
    loaded: &LoadedSession,
    subtasks: &[SessionMeta],
    records: &[RequestRecord],
    format: ExportFormat,
    file: Option<&Path>,
) -> Result<()> {
    let format = match format {
        ExportFormat::Markdown => SessionFormat::Markdown,
        ExportFormat::Json => SessionFormat::Json,
    };
    let text = render(store, loaded, subtasks, records, format).await?;
    match file {
        Some(path) => std::fs::write(path, text).map_err(|error| Failure::file("write", path, &error)),
        None => output::print_document(&text),
    }
}
