//! Lists of sessions, and the changes and jobs of the open session.

use crate::environment::ProcessEnv;
use crate::failure::Result;
use crate::restore::{restore_in_open_session, rewind_open_session};
use edit::HunkAuthors;
use host::SessionFlags;
use host::sessions::{existing_root, find, resume_command};
use review::changes::{ChangeReview, PendingContent, PendingFile, ReviewRequest};
use review::{ConflictPolicy, PathScope};
use session::{Body, RestoreKind, SessionId, SessionMeta, Store as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::SqliteStore;
use toolbox::{BackgroundJobs, ReadTracker};
use tui::format::duration;
use tui::{
    ConflictChoice, FileRestoreResult, HunkDecision, JobRow, OperationResult, RestoreRequest, ReviewableFile,
    ReviewableHunk,
};
use workspace::Workspace;

/// The sessions of a project, or all, without subtasks.
pub(super) async fn list(store: &SqliteStore, root: Option<PathBuf>) -> Result<Vec<SessionMeta>> {
    let mut all = store.list(root).await?;
    all.retain(|meta| meta.parent.is_none());
    Ok(all)
}

/// A notice about the newest session of the project, if its last turn is unfinished and no other process works on it.
pub async fn unfinished_session(store: &Arc<SqliteStore>, root: &Path, running: &[SessionId]) -> Option<String> {
    let meta = find(store, None, root).await.ok()?;
    if running.contains(&meta.id) {
        return None;
    }
    let loaded = store.load(meta.id).await.ok()?;
    if host::is_complete(&loaded.items) || loaded.items.is_empty() {
        return None;
    }
    let title = meta
        .title
        .map(|title| format!(" \u{201c}{title}\u{201d}"))
        .unwrap_or_default();
    let resume = resume_command(meta.id);
    Some(format!(
        "the last session{title} was not finished; /sessions or `{resume}` continues it"
    ))
}

/// The pending changes of a session.
pub(super) async fn changes(store: Arc<SqliteStore>, session: SessionId) -> Result<Vec<ReviewableFile>> {
    let (review, _) = open_review(store, session).await?;
    let pending = review.pending().await?.pending;
    Ok(pending.files.iter().map(file_changes).collect())
}

/// Accepts and rejects changes. The model is informed, so it knows the new versions of the files.
pub(super) async fn review(
    store: Arc<SqliteStore>,
    session: SessionId,
    verdicts: Vec<(String, HunkDecision)>,
    reads: &ReadTracker,
) -> Result<OperationResult> {
    let (mut accept, mut reject) = (Vec::new(), Vec::new());
    for (id, verdict) in verdicts {
        match verdict {
            HunkDecision::Accept => accept.push(id),
            HunkDecision::Reject => reject.push(id),
        }
    }
    let message = format!("accepted {}, rejected {}", accept.len(), reject.len());
    let (review, workspace) = open_review(store, session).await?;
    let request = ReviewRequest::Selected { accept, reject };
    let log_entry = review.decide_in_open_session(&request).await?;
    if let Some(Body::Review { changes, .. }) = &log_entry {
        reads.remember_current(&workspace, changes.iter().map(|file| file.path.as_path()));
    }
    Ok(OperationResult { message, log_entry })
}

async fn open_review(store: Arc<SqliteStore>, session: SessionId) -> Result<(ChangeReview, Workspace)> {
    let meta = store.load(session).await?.meta;
    let workspace = Workspace::open(&existing_root(&meta.root)?).map_err(review::Error::from)?;
    let review = ChangeReview::new(store, meta, workspace.clone(), PathScope::default());
    Ok((review, workspace))
}

fn file_changes(file: &PendingFile) -> ReviewableFile {
    let why = match &file.content {
        PendingContent::Text | PendingContent::ModeOnly | PendingContent::Link(_) => None,
        PendingContent::Binary(_) => Some("binary file: accept or reject it as a whole".into()),
        PendingContent::Unreadable(reason) => Some(reason.to_string()),
    };
    let hunks = file.hunks.iter().map(|hunk| ReviewableHunk {
        id: hunk.id.clone(),
        line: hunk.text.first_line,
        before: hunk.text.before.clone(),
        after: hunk.text.after.clone(),
        has_user_edits: hunk.text.authors == HunkAuthors::Mixed,
        rejectable: !file.is_reject_blocked(hunk),
    });
    ReviewableFile {
        path: file.path.clone(),
        status: file.status.name().into(),
        no_diff_reason: why,
        hunks: hunks.collect(),
    }
}

/// Undoes or redoes the last turn, or rewinds.
pub(super) async fn restore(
    request: RestoreRequest,
    choice: ConflictChoice,
    session: SessionId,
    flags: &SessionFlags,
    env: &ProcessEnv,
) -> Result<FileRestoreResult> {
    let policy = match choice {
        ConflictChoice::Ask => ConflictPolicy::Abort,
        ConflictChoice::Keep => ConflictPolicy::Keep,
        ConflictChoice::Overwrite => ConflictPolicy::Overwrite,
    };
    match request {
        RestoreRequest::Undo => restore_in_open_session(RestoreKind::Undo, session, policy, flags, env).await,
        RestoreRequest::Redo => restore_in_open_session(RestoreKind::Redo, session, policy, flags, env).await,
        RestoreRequest::Rewind { prompt, scope, .. } => {
            rewind_open_session(session, prompt, scope, policy, flags, env).await
        }
    }
}

/// The background commands.
pub(super) fn jobs(background: &BackgroundJobs) -> Vec<JobRow> {
    let jobs = background.list().into_iter().map(|job| JobRow {
        id: job.id,
        command: job.command,
        running: job.ended.is_none(),
        state: match job.ended {
            None => format!("running {}", duration(job.age)),
            Some(how) if how.contains("signal 15") => "stopped".into(),
            Some(how) => how,
        },
        output: job.printed,
    });
    jobs.collect()
}
