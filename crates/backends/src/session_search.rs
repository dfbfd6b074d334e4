//! Searches all conversations by meaning and words. The texts stay in memory, so that only changed sessions are loaded again.

use crate::failure::{Failure, Result};
use crate::session_markdown;
use index::search::{
    FEATURES, FileHit, IndexStamp, MatchReason, QueryScope, RankingSignals, SearchIndex, SearchQuery, Segment,
    SegmentBuilder,
};
use session::{ItemId, LoadedSession, SessionId, SessionMeta, Store as _, Time};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use store::SqliteStore;

/// The newest sessions are searched.
const MAX_SESSIONS: usize = 2_000;
/// Only this much of a conversation is searched.
const MAX_TEXT: usize = 512 * 1024;
/// The maximum size of all texts together.
const MAX_TEXTS: usize = 64 << 20;
/// The most results.
const MAX_RESULTS: usize = 100;
/// Sessions that share no word with the query must be this similar.
const MIN_SIMILARITY: f32 = 0.3;
/// More index segments are merged into one.
const MAX_SEGMENTS: usize = 16;

/// Searches sessions; the texts and the index are kept between searches.
#[derive(Default)]
pub struct SessionSearch {
    skips_subtasks: bool,
    known: KnownSessions,
}

/// The searchable texts of sessions.
#[derive(Default)]
struct KnownSessions {
    segments: Vec<Segment>,
    index: SearchIndex,
    texts: HashMap<SessionId, Arc<SessionText>>,
}

/// The text of one session.
#[derive(Debug)]
struct SessionText {
    meta: SessionMeta,
    /// Its path in the index; its title is used as the file name.
    path: String,
    text: String,
    /// The text in lower case, for parts of words.
    lower: String,
    /// The byte at which each item begins.
    starts: Vec<(usize, ItemId)>,
}

/// A session that matches.
#[derive(Debug, Clone)]
pub struct FoundSession {
    /// The session.
    pub meta: SessionMeta,
    /// The score of the ranking; 0 if only a part of a word matches.
    pub score: f32,
    /// The lines that match.
    pub text: String,
    /// The line of these that matches best.
    pub line: String,
    /// The item with that line.
    pub item: Option<ItemId>,
}

impl SessionSearch {
    /// A search that does not find subtasks.
    pub fn without_subtasks() -> Self {
        SessionSearch {
            skips_subtasks: true,
            ..SessionSearch::default()
        }
    }

    /// The sessions that match best, of one project or of all.
    pub async fn search(
        &mut self,
        store: &SqliteStore,
        project: Option<PathBuf>,
        words: &str,
        limit: usize,
    ) -> Result<Vec<FoundSession>> {
        let mut all = store.list(project).await?;
        all.retain(|meta| !(self.skips_subtasks && meta.parent.is_some()));
        self.known.update(store, all).await?;
        let words = words.trim().to_owned();
        let known = std::mem::take(&mut self.known);
        let (known, found) = blocking(move || {
            let found = known.find(&words, limit.clamp(1, MAX_RESULTS));
            (known, found)
        })
        .await?;
        self.known = known;
        Ok(found)
    }
}

impl KnownSessions {
    /// Loads the sessions that changed since the last search. An error changes nothing.
    async fn update(&mut self, store: &SqliteStore, all: Vec<SessionMeta>) -> Result<()> {
        let mut kept: HashSet<SessionId> = HashSet::new();
        let mut added: Vec<SessionText> = Vec::new();
        let mut builder = SegmentBuilder::default();
        let mut size = 0;
        for meta in all.into_iter().take(MAX_SESSIONS) {
            if size > MAX_TEXTS {
                break;
            }
            let known = self.texts.get(&meta.id);
            if let Some(known) = known.filter(|known| version(&known.meta) == version(&meta)) {
                size += known.text.len();
                kept.insert(meta.id);
                continue;
            }
            // It may be damaged, or deleted meanwhile.
            let Ok(loaded) = store.load(meta.id).await else {
                continue;
            };
            kept.insert(meta.id);
            if let Some(old) = known {
                builder.remove(&old.path);
            }
            // Sessions run on this thread.
            let (text, with_text) = blocking(move || {
                let text = SessionText::new(&loaded, meta);
                builder.add(&text.path, IndexStamp::default(), &text.text);
                (text, builder)
            })
            .await?;
            builder = with_text;
            size += text.text.len();
            added.push(text);
        }
        for gone in self.texts.values().filter(|text| !kept.contains(&text.meta.id)) {
            builder.remove(&gone.path);
        }
        if builder.files() > 0 {
            let segments = self.segments.clone();
            let indexed = blocking(move || with_segment(segments, builder)).await?;
            (self.segments, self.index) = indexed?;
        }
        self.texts.retain(|id, _| kept.contains(id));
        self.texts
            .extend(added.into_iter().map(|text| (text.meta.id, Arc::new(text))));
        Ok(())
    }

    /// Sessions that contain the words as they are precede those that the index ranks.
    fn find(&self, words: &str, limit: usize) -> Vec<FoundSession> {
        let by_path: HashMap<&str, &Arc<SessionText>> =
            self.texts.values().map(|text| (text.path.as_str(), text)).collect();
        let hits = self.index.search(&SearchQuery {
            text: words,
            scope: QueryScope::default(),
            limit,
            signals: RankingSignals::All,
        });
        let words = words.to_lowercase();
        let mut ranked: Vec<FoundSession> = hits
            .files
            .iter()
            .filter(|hit| is_relevant(hit))
            .filter_map(|hit| {
                let (chunk, text) = (hit.chunks.first()?, by_path.get(hit.path.as_str())?);
                Some(text.lines(chunk.first, chunk.last, hit.score, &words))
            })
            .collect();
        let is_ranked: HashSet<SessionId> = ranked.iter().map(|found| found.meta.id).collect();
        let mut others: Vec<&Arc<SessionText>> = self
            .texts
            .values()
            .filter(|text| !is_ranked.contains(&text.meta.id) && text.contains(&words))
            .collect();
        others.sort_by_key(|text| std::cmp::Reverse(text.meta.updated));
        ranked.extend(others.into_iter().map(|text| text.around(&words)));
        ranked.sort_by_key(|found| !self.texts.get(&found.meta.id).is_some_and(|text| text.contains(&words)));
        ranked.truncate(limit);
        ranked
    }
}

/// Runs work that takes long on another thread.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Failure::failed(error.to_string()))
}

/// The segments with a new one, and their index.
fn with_segment(mut segments: Vec<Segment>, mut builder: SegmentBuilder) -> Result<(Vec<Segment>, SearchIndex)> {
    let segment = Segment::open(Arc::new(builder.finish()));
    segments.push(segment.map_err(|error| Failure::failed(error.to_string()))?);
    let index = SearchIndex::new(segments.clone());
    Ok(match index.compacted(MAX_SEGMENTS, usize::MAX, usize::MAX) {
        Some(merged) => (merged.clone(), SearchIndex::new(merged)),
        None => (segments, index),
    })
}

impl SessionText {
    fn new(loaded: &LoadedSession, meta: SessionMeta) -> Self {
        let (mut text, starts) = session_markdown::render_conversation(loaded);
        text.truncate(text.floor_char_boundary(MAX_TEXT));
        let title = meta.title.as_deref().unwrap_or("untitled").replace(['/', '.'], " ");
        SessionText {
            path: format!("{}/{title}.md", meta.id),
            lower: format!("{}\n{}", title.to_lowercase(), text.to_lowercase()),
            meta,
            text,
            starts,
        }
    }

    fn contains(&self, words: &str) -> bool {
        self.lower.contains(words)
    }

    /// A result with these lines, counted from 1.
    fn lines(&self, first: usize, last: usize, score: f32, words: &str) -> FoundSession {
        let start: usize = self.text.split_inclusive('\n').take(first - 1).map(str::len).sum();
        let rest = self.text.get(start..).unwrap_or_default();
        let length: usize = rest.split_inclusive('\n').take(last + 1 - first).map(str::len).sum();
        self.found(start..start + length, score, words)
    }

    /// A result with the line that contains a part of a word.
    fn around(&self, words: &str) -> FoundSession {
        let mut start = 0;
        let mut lines = self.text.split_inclusive('\n').map(|line| {
            start += line.len();
            (line, start - line.len()..start)
        });
        let range = lines.find(|(line, _)| line.to_lowercase().contains(words));
        self.found(range.map_or(0..0, |(_, range)| range), 0.0, words)
    }

    /// A result with a part of the text.
    fn found(&self, range: Range<usize>, score: f32, words: &str) -> FoundSession {
        let text = self.text.get(range.clone()).unwrap_or_default();
        let (mut best, mut best_count, mut at) = (("", range.start), 0, range.start);
        for line in text.split_inclusive('\n') {
            let lower = line.to_lowercase();
            let is_whole = usize::from(lower.contains(words));
            let count = 1000 * is_whole + words.split_whitespace().filter(|word| lower.contains(word)).count();
            if count > best_count {
                (best, best_count) = ((line.trim(), at), count);
            }
            at += line.len();
        }
        let item = self
            .starts
            .partition_point(|(start, _)| *start <= best.1)
            .checked_sub(1);
        FoundSession {
            meta: self.meta.clone(),
            score,
            text: text.trim_end_matches('\n').to_owned(),
            line: best.0.to_owned(),
            item: item.and_then(|at| self.starts.get(at)).map(|(_, item)| *item),
        }
    }
}

/// Whether a hit has words of the query, or a similar meaning: the index also returns the least dissimilar files.
fn is_relevant(hit: &FileHit) -> bool {
    let similarity = FEATURES.iter().position(|name| *name == "similarity");
    let similarity = similarity.and_then(|at| hit.features.get(at));
    hit.reasons.iter().any(|reason| *reason != MatchReason::Meaning)
        || similarity.is_some_and(|similarity| *similarity >= MIN_SIMILARITY)
}

/// What changes with a session.
fn version(meta: &SessionMeta) -> (Time, u64, Option<&str>) {
    (meta.updated, meta.items, meta.title.as_deref())
}
