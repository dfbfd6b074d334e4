//! A session and its subtasks as a file that someone else can replay, with masked secrets.

use crate::failure::{Failure, Result};
use crate::redaction::Redactor;
use crate::replay::{ReplayChange, ReplayOutcome, replay};
use session::{RequestFacts, SessionId, SessionMeta, Store as _};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use store::{SqliteStore, TextMask};

/// Writes a session and its subtasks to a file. Recorded streams are left out: a secret may be split between their pieces.
/// Returns the number of requests and how many of them replay.
pub async fn export(store: &SqliteStore, session: SessionId, redactor: &Redactor, to: &Path) -> Result<(usize, usize)> {
    let mut sessions = vec![session];
    let mut at = 0;
    while let Some(parent) = sessions.get(at).copied() {
        sessions.extend(store.children(parent).await?.iter().map(|child| child.id));
        at += 1;
    }
    let original = replay(store, session, None, &ReplayChange::default()).await?;
    let is_identical = |outcome: &ReplayOutcome| *outcome == ReplayOutcome::Identical;
    let identical: HashSet<_> = original
        .requests
        .iter()
        .filter(|request| is_identical(&request.outcome))
        .map(|request| request.record.id)
        .collect();
    let streams = original
        .requests
        .iter()
        .filter_map(|request| request.record.facts.stream.clone());
    let redactor = redactor.clone();
    let mask: TextMask = Arc::new(move |text| redactor.redact_keys(text));
    if to.exists() {
        std::fs::remove_file(to).map_err(|error| Failure::file("replace", to, &error))?;
    }
    store.export(sessions, streams.collect(), to, mask).await?;
    // Masking changes bodies: a request that had the bytes that were sent has those of the masked body.
    let (_folder, copy) = open(to)?;
    let masked = replay(&copy, session, None, &ReplayChange::default()).await?;
    let facts: Vec<_> = masked
        .requests
        .iter()
        .map(|request| {
            let old = &request.record.facts;
            let body = match identical.contains(&request.record.id) {
                true => request.restored.or(old.body),
                false => old.body,
            };
            let facts = RequestFacts {
                body,
                stream: None,
                ..old.clone()
            };
            (request.session, request.record.id, facts)
        })
        .collect();
    store::set_request_facts(to, &facts)?;
    Ok((masked.requests.len(), identical.len()))
}

/// Opens a copy of an exported file, in a folder that exists as long as the first value.
pub fn open(file: &Path) -> Result<(tempfile::TempDir, SqliteStore)> {
    let folder = tempfile::tempdir().map_err(|error| Failure::failed(format!("no temporary folder: {error}")))?;
    store::import(file, folder.path())?;
    let store = SqliteStore::open(folder.path())?;
    Ok((folder, store))
}

/// The session in an exported file.
pub async fn session(store: &SqliteStore) -> Result<SessionMeta> {
    let sessions = store.list(None).await?;
    let ids: HashSet<SessionId> = sessions.iter().map(|meta| meta.id).collect();
    let is_subtask = |meta: &SessionMeta| meta.parent.as_ref().is_some_and(|parent| ids.contains(&parent.session));
    let found = sessions.into_iter().find(|meta| !is_subtask(meta));
    found.ok_or_else(|| Failure::usage("the file contains no session"))
}
