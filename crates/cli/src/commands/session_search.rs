//! `hew sessions search`: finds conversations by meaning.

use crate::args::{GlobalArgs, SessionsSearchArgs};
use crate::environment::ProcessEnv;
use crate::failure::Result;
use crate::output::format::{ago, line, now, sanitise};
use crate::{output, project};
use backends::session_markdown::{self, MarkdownDetail};
use host::sessions::short_id;
use index::search::{IndexStamp, QueryScope, RankingSignals, SearchIndex, SearchQuery, Segment, SegmentBuilder};
use serde::Serialize;
use session::{SessionMeta, Store};
use std::collections::HashMap;
use std::sync::Arc;
use store::SqliteStore;

/// The newest sessions are searched.
const MAX_SESSIONS: usize = 2_000;
/// Only this much of a conversation is searched.
const MAX_TEXT: usize = 512 * 1024;
/// Lines of a conversation that are shown.
const SHOWN_LINES: usize = 4;

/// A result in the JSON of `hew sessions search --json`.
#[derive(Serialize)]
struct SessionHitJson<'a> {
    id: String,
    title: Option<&'a str>,
    project: String,
    score: f32,
    text: String,
}

pub(super) async fn search(
    store: &SqliteStore,
    args: &SessionsSearchArgs,
    global: &GlobalArgs,
    env: &ProcessEnv,
) -> Result<()> {
    let root = match args.all {
        true => None,
        false => Some(project::root(global.cwd.as_deref(), env)?),
    };
    let all = store.list(root).await?;
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
    let words = args.words.join(" ");
    let hits = index.search(&SearchQuery {
        text: &words,
        scope: QueryScope::default(),
        limit: args.limit.clamp(1, 100),
        signals: RankingSignals::All,
    });
    let found: Vec<(SessionHitJson<'_>, &SessionMeta)> = hits
        .files
        .iter()
        .filter_map(|hit| {
            let (meta, text) = texts.get(&hit.path)?;
            let chunk = hit.chunks.first()?;
            let lines = text
                .lines()
                .skip(chunk.first.saturating_sub(1))
                .take(chunk.last + 1 - chunk.first);
            let row = SessionHitJson {
                id: meta.id.to_string(),
                title: meta.title.as_deref(),
                project: meta.root.display().to_string(),
                score: hit.score,
                text: lines.collect::<Vec<_>>().join("\n"),
            };
            Some((row, *meta))
        })
        .collect();
    if args.json {
        let rows: Vec<&SessionHitJson<'_>> = found.iter().map(|(row, _)| row).collect();
        return output::print_checked(&output::pretty(&rows)?);
    }
    if found.is_empty() {
        output::print_stderr("no results\n");
        return Ok(());
    }
    let time = now();
    let text: String = found
        .iter()
        .map(|(row, meta)| {
            let title = line(row.title.unwrap_or("(untitled)"), 80);
            let lines = row
                .text
                .lines()
                .filter(|line| !line.trim().is_empty())
                .take(SHOWN_LINES);
            let lines: String = lines.map(|text| format!("    {}\n", line(text, 120))).collect();
            format!("{}  {}  {title}\n{lines}", short_id(meta.id), ago(meta.updated, time))
        })
        .collect();
    output::print_checked(&sanitise(&text))
}
