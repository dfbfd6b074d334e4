//! Finds conversations by meaning and words.

use crate::failure::Result;
use crate::output::format::{ago, line, sanitise};
use backends::SessionSearch;
use host::sessions::short_id;
use serde::Serialize;
use session::{SessionMeta, Time};
use std::path::PathBuf;
use store::SqliteStore;

/// Lines of a conversation that are shown.
const SHOWN_LINES: usize = 4;

/// A conversation that matches.
#[derive(Debug, Serialize)]
pub struct SessionMatch {
    id: String,
    title: Option<String>,
    project: String,
    score: f32,
    /// The lines that match.
    text: String,
    #[serde(skip)]
    meta: SessionMeta,
}

/// The conversations that match best, of one project or of all.
pub async fn search_sessions(
    store: &SqliteStore,
    project: Option<PathBuf>,
    words: &str,
    limit: usize,
) -> Result<Vec<SessionMatch>> {
    let found = SessionSearch::default().search(store, project, words, limit).await?;
    let found = found.into_iter().map(|found| SessionMatch {
        id: found.meta.id.to_string(),
        title: found.meta.title.clone(),
        project: found.meta.root.display().to_string(),
        score: found.score,
        text: found.text,
        meta: found.meta,
    });
    Ok(found.collect())
}

impl SessionMatch {
    /// The title and a few lines.
    pub fn text(&self, now: Time) -> String {
        let title = line(self.title.as_deref().unwrap_or("(untitled)"), 80);
        let lines = self.text.lines().filter(|line| !line.trim().is_empty());
        let lines: String = lines
            .take(SHOWN_LINES)
            .map(|text| format!("    {}\n", line(text, 120)))
            .collect();
        let (id, age) = (short_id(self.meta.id), ago(self.meta.updated, now));
        sanitise(&format!("{id}  {age}  {title}\n{lines}"))
    }
}
