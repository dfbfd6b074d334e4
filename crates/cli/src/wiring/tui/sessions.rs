//! Sessions around the one that is open: lists, copies, and what the open one changed.

use crate::args::Global;
use crate::commands::changes::Beside;
use crate::commands::undo;
use crate::environment::Environment;
use crate::failure::{Failure, Result};
use crate::output::words::{now, took};
use session::{ItemId, Meta, New, Restoring, SessionId, Store as _};
use std::path::PathBuf;
use std::sync::Arc;
use store::Sqlite;
use toolbox::Background;
use tui::{Done, FileChanges, Job, Verdict};

/// The sessions of a project, or all; without subtasks.
pub(super) async fn list(store: &Sqlite, root: Option<PathBuf>) -> Result<Vec<Meta>> {
    let mut all = store.list(root).await?;
    all.retain(|meta| meta.parent.is_none());
    Ok(all)
}

/// Begins a session with the items of another one, all or up to one of them.
pub(crate) async fn fork(store: &Arc<Sqlite>, session: SessionId, upto: Option<ItemId>) -> Result<SessionId> {
    let loaded = store.load(session).await?;
    let end = match upto {
        None => loaded.items.len(),
        Some(upto) => match loaded.items.iter().position(|item| item.id == upto) {
            Some(place) => place + 1,
            None => return Err(Failure::failed("the session has no such item any more")),
        },
    };
    let id = SessionId::new();
    let lease = store
        .create(New {
            id,
            root: loaded.meta.root.clone(),
            model: loaded.meta.model.clone(),
            at: now(),
            parent: None,
        })
        .await?;
    for item in loaded.items.into_iter().take(end) {
        store.append(id, item).await?;
    }
    if !loaded.roots.is_empty() {
        store.set_roots(id, loaded.roots).await?;
    }
    if let Some(title) = loaded.meta.title {
        store.title(id, format!("{title} (copy)")).await?;
    }
    drop(lease);
    Ok(id)
}

/// What the session changed and nobody has looked at.
pub(super) async fn changes(store: Arc<Sqlite>, session: SessionId) -> Result<Vec<FileChanges>> {
    Beside::open(store, session).await?.waiting().await
}

/// Accepts changes or takes them back.
pub(super) async fn review(store: Arc<Sqlite>, session: SessionId, verdicts: Vec<(String, Verdict)>) -> Result<Done> {
    let (mut accept, mut reject) = (Vec::new(), Vec::new());
    for (id, verdict) in verdicts {
        match verdict {
            Verdict::Accept => accept.push(id),
            Verdict::Reject => reject.push(id),
        }
    }
    let (told, keep) = Beside::open(store, session).await?.decide(accept, reject).await?;
    Ok(Done { told, keep })
}

/// Undoes the last turn, or redoes it.
pub(super) async fn restore(how: Restoring, session: SessionId, global: &Global, env: &Environment) -> Result<Done> {
    let (told, body) = undo::beside(how, session, global, env).await?;
    Ok(Done { told, keep: Some(body) })
}

/// Commands in the background.
pub(super) fn jobs(background: &Background) -> Vec<Job> {
    let jobs = background.list().into_iter().map(|job| Job {
        id: job.id,
        command: job.command,
        running: job.ended.is_none(),
        state: match job.ended {
            None => format!("running {}", took(job.age)),
            Some(how) => how,
        },
        printed: job.printed,
    });
    jobs.collect()
}
