//! Measures how much of each edit remains after some time and after the commit.
//!
//! Measuring requires a running hew: while a session is open, once a minute; otherwise when statistics are shown. The time
//! of each measurement is stored with it.

use crate::failure::Result;
use crate::text::now;
use session::{BlobId, Store as _, SurvivalPoint, SurvivalRecord, Time, surviving_share};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use store::{SqliteStore, TrackedEdit};
use telemetry::Telemetry;
use tokio::task::JoinHandle;
use workspace::HeadCommit;

/// The interval of measurements while a session is open.
const INTERVAL: Duration = Duration::from_secs(60);
/// Older edits are not measured any more.
const MAX_AGE: u64 = 7 * 24 * 60 * 60 * 1000;
/// Larger files are not measured.
const MAX_BYTES: u64 = 1 << 20;
/// The maximum number of edits that are measured in one pass.
const MAX_EDITS: usize = 2_000;

/// Measures while a session is open; stops when dropped.
pub(crate) struct SurvivalTask(JoinHandle<()>);

impl Drop for SurvivalTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Starts to measure the edits of all sessions.
pub(crate) fn track(store: &Arc<SqliteStore>, telemetry: Option<Arc<Telemetry>>) -> SurvivalTask {
    // The store must be able to close while this task waits.
    let store = Arc::downgrade(store);
    SurvivalTask(tokio::spawn(async move {
        loop {
            tokio::time::sleep(INTERVAL).await;
            let Some(store) = store.upgrade() else { return };
            // Statistics must not disturb the session; the next measurement includes what failed.
            let measured = measure(&store).await.unwrap_or_default();
            for record in measured {
                if let Some(telemetry) = &telemetry {
                    telemetry.survival(record);
                }
            }
        }
    }))
}

/// Measures the edits that are due, and returns the new measurements.
pub async fn measure(store: &SqliteStore) -> Result<Vec<SurvivalRecord>> {
    let at = now();
    let edits = store.tracked_edits(Time(at.0.saturating_sub(MAX_AGE))).await?;
    let mut commits: HashMap<PathBuf, Option<HeadCommit>> = HashMap::new();
    let mut measured = Vec::new();
    let open = edits
        .into_iter()
        .rev()
        .filter(|edit| edit.measured.len() < SurvivalPoint::ALL.len());
    for edit in open.take(MAX_EDITS) {
        let due: Vec<SurvivalPoint> = SurvivalPoint::ALL
            .into_iter()
            .filter(|point| !edit.measured.contains(point))
            .filter(|point| point.delay().is_none_or(|delay| edit.at.0 + delay <= at.0))
            .collect();
        if due.is_empty() {
            continue;
        }
        let file = edit.root.join(&edit.path);
        let commit = commits
            .entry(edit.root.clone())
            .or_insert_with(|| HeadCommit::of(&edit.root));
        let is_later = |commit: &&HeadCommit| commit.committed * 1000 + 999 >= edit.at.0;
        let committed = commit.as_ref().filter(is_later).map(|commit| commit.read(&file));
        if due == [SurvivalPoint::Commit] && committed.is_none() {
            continue;
        }
        let Some((before, after)) = versions(store, &edit).await? else {
            continue;
        };
        for point in due {
            let text = match point {
                SurvivalPoint::Commit => match &committed {
                    // The commit is of this change only if the file is no longer what it was before.
                    Some(bytes) if bytes.as_deref().unwrap_or_default() != before.as_bytes() => {
                        String::from_utf8(bytes.clone().unwrap_or_default()).ok()
                    }
                    Some(_) | None => None,
                },
                SurvivalPoint::OneMinute | SurvivalPoint::FiveMinutes | SurvivalPoint::FifteenMinutes => current(&file),
            };
            let Some(share) = text.and_then(|text| surviving_share(&before, &after, &text)) else {
                continue;
            };
            let record = SurvivalRecord {
                session: edit.session,
                item: edit.item,
                path: edit.path.clone(),
                point,
                at,
                share,
            };
            drop(store.record_survival(record.clone()));
            measured.push(record);
        }
    }
    Ok(measured)
}

/// The texts before and after an edit, if both are stored.
async fn versions(store: &SqliteStore, edit: &TrackedEdit) -> Result<Option<(String, String)>> {
    let mut texts = Vec::new();
    for id in [&edit.before, &edit.after] {
        let Some(text) = text(store, id.as_ref()).await? else {
            return Ok(None);
        };
        texts.push(text);
    }
    let after = texts.pop().unwrap_or_default();
    Ok(texts.pop().map(|before| (before, after)))
}

async fn text(store: &SqliteStore, id: Option<&BlobId>) -> Result<Option<String>> {
    let Some(id) = id else {
        return Ok(Some(String::new()));
    };
    let bytes = store.get_blob(id.clone()).await?;
    let bytes = bytes.filter(|bytes| bytes.len() as u64 <= MAX_BYTES);
    Ok(bytes.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok()))
}

/// The current text of a file; empty if it was deleted, `None` if it is too large or not text.
fn current(file: &Path) -> Option<String> {
    match std::fs::metadata(file) {
        Ok(metadata) if metadata.is_file() && metadata.len() <= MAX_BYTES => std::fs::read_to_string(file).ok(),
        Ok(_) => None,
        Err(_) => Some(String::new()),
    }
}
