//! Finds conversations by meaning and words.

use crate::failure::Result;
use crate::output::format::{ago, line, sanitise};
use backends::session_markdown::{self, MarkdownDetail};
use host::sessions::short_id;
use index::search::{IndexStamp, QueryScope, RankingSignals, SearchIndex, SearchQuery, Segment, SegmentBuilder};
use serde::Serialize;
use session::{SessionMeta, Store, Time};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use store::SqliteStore;

/// The newest sessions are searched.
const MAX_SESSIONS: usize = 2_000;
/// Only this much of a conversation is searched.
const MAX_TEXT: usize = 512 * 1024;
/// Lines of a conversation that are shown.
const SHOWN_LINES: usize = 4;
/// The most results.
const MAX_RESULTS: usize = 100;

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
    let all = store.list(project).await?;
    let mut builder = SegmentBuilder::default();
    let mut texts: HashMap<String, (&SessionMeta, String)> = HashMap::new();
    for meta in all.iter().take(MAX_SESSIONS) {
        let loaded = store.load(meta.id).await?;
        let mut text = session_markdown::render(&loaded, &[], MarkdownDetail::Short, &|_| None);
        text.truncate(text.floor_char_boundary(MAX_TEXT));
        // The title is used as the file name.
        let title = meta.title.as_deref().unwrap_or("untitled").replace(['/', '.'], " ");
        let path = format!("{}/{title}.md", meta.id);
        builder.add(&path, IndexStamp::default(), &text);
        texts.insert(path, (meta, text));
    }
    let segment = Segment::open(Arc::new(builder.finish()));
    let index = SearchIndex::new(segment.into_iter().collect());
    let hits = index.search(&SearchQuery {
        text: words,
        scope: QueryScope::default(),
        limit: limit.clamp(1, MAX_RESULTS),
        signals: RankingSignals::All,
    });
    let found = hits.files.iter().filter_map(|hit| {
        let (meta, text) = texts.get(&hit.path)?;
        let chunk = hit.chunks.first()?;
        let lines = text
            .lines()
            .skip(chunk.first.saturating_sub(1))
            .take(chunk.last + 1 - chunk.first);
        Some(SessionMatch {
            id: meta.id.to_string(),
            title: meta.title.clone(),
            project: meta.root.display().to_string(),
            score: hit.score,
            text: lines.collect::<Vec<_>>().join("\n"),
            meta: (*meta).clone(),
        })
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
