//! Finds, copies and cleans up stored sessions.

use crate::environment::ProcessEnv;
use crate::failure::{Failure, Result};
use crate::text::{line, now};
use crate::{SessionFlags, paths, project};
use review::{SessionAccess, SessionHistory};
use session::{ItemId, LoadedSession, NewSession, SessionId, SessionMeta, Store as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::SqliteStore;
use workspace::checkpoint::BlobDir;

/// The maximum number of sessions that are suggested for an unknown id.
const MAX_SUGGESTIONS: usize = 3;
/// The minimum similarity of a suggested id.
const MIN_SIMILARITY: f64 = 0.6;
/// The maximum width of a suggested title.
const TITLE_WIDTH: usize = 40;

/// Opens the session database.
pub fn open_store(env: &ProcessEnv) -> Result<Arc<SqliteStore>> {
    Ok(Arc::new(SqliteStore::open(&paths::data_dir(env)?)?))
}

/// Finds a session by its id or a prefix of it. Without an id, returns the newest session of the project.
pub async fn find(store: &SqliteStore, id: Option<&str>, root: &Path) -> Result<SessionMeta> {
    let Some(prefix) = id else {
        let mut sessions = store.list(Some(root.into())).await?.into_iter();
        // A subtask is resumed by its parent or by its id.
        let newest = sessions.find(|meta| meta.parent.is_none());
        return newest.ok_or_else(|| {
            Failure::usage(format!("there is no session in {}", root.display()))
                .hint("`hew sessions list --all` shows those of other projects")
        });
    };
    match store.find(prefix).await {
        Ok(id) => {
            let meta = store.list(None).await?.into_iter().find(|meta| meta.id == id);
            meta.ok_or_else(|| session::Error::Unknown(prefix.into()).into())
        }
        Err(error @ session::Error::Unknown(_)) => {
            let near = suggestions(&store.list(None).await?, prefix, root);
            let failure = Failure::from(error);
            Err(match near.is_empty() {
                true => failure,
                false => failure.hint(format!("perhaps {}; `hew sessions list` shows all", near.join(" or "))),
            })
        }
        Err(error) => Err(error.into()),
    }
}

/// Opens the history of a session, by default the newest of this project. Returns the warnings of its configuration, too.
pub async fn open_history(
    session: Option<&str>,
    access: SessionAccess,
    flags: &SessionFlags,
    env: &ProcessEnv,
) -> Result<(SessionHistory, Vec<String>)> {
    let store = open_store(env)?;
    let here = project::root(flags.directory.as_deref(), env)?;
    let meta = find(&store, session.filter(|name| *name != "last"), &here).await?;
    let root = match flags.directory {
        Some(_) => here,
        None => existing_root(&meta.root)?,
    };
    let root = root
        .canonicalize()
        .map_err(|error| Failure::file("open", &root, &error))?;
    let loaded = flags.load_config(&root, env)?;
    let limits = crate::checkpoint_limits(&loaded.config.checkpoints);
    let history = SessionHistory::open(store, meta.id, root, limits, access).await?;
    Ok((history, loaded.warnings))
}

/// The sessions with the most similar ids, or else the newest of the project, with their titles.
fn suggestions(sessions: &[SessionMeta], prefix: &str, root: &Path) -> Vec<String> {
    let similarity = |meta: &SessionMeta| {
        let id = meta.id.to_string();
        let length = prefix.chars().count();
        strsim::normalized_levenshtein(prefix, &id.chars().take(length).collect::<String>())
    };
    let mut similar: Vec<&SessionMeta> = sessions
        .iter()
        .filter(|meta| similarity(meta) > MIN_SIMILARITY)
        .collect();
    // The sort is stable: of equally similar sessions, the newest comes first.
    similar.sort_by(|a, b| similarity(b).total_cmp(&similarity(a)));
    if similar.is_empty() {
        let own = sessions
            .iter()
            .filter(|meta| meta.root == root && meta.parent.is_none());
        similar.extend(own);
    }
    let named = similar.into_iter().take(MAX_SUGGESTIONS).map(|meta| match &meta.title {
        Some(title) => format!("{} ({})", short_id(meta.id), line(title, TITLE_WIDTH)),
        None => short_id(meta.id),
    });
    named.collect()
}

/// The prefix of an id that identifies it. Ids begin with the time: thirteen characters distinguish sessions that
/// started within a few milliseconds.
pub fn short_id(id: SessionId) -> String {
    id.to_string().chars().take(13).collect()
}

/// The command that resumes a session.
pub fn resume_command(id: SessionId) -> String {
    format!("hew resume {}", short_id(id))
}

/// Creates a session with the items of another one, all or up to one of them.
pub async fn fork(store: &SqliteStore, session: SessionId, upto: Option<ItemId>) -> Result<SessionId> {
    let loaded = store.load(session).await?;
    let end = match upto {
        None => loaded.items.len(),
        Some(upto) => match loaded.items.iter().position(|item| item.id == upto) {
            Some(index) => index + 1,
            None => return Err(Failure::failed("the session no longer has this item")),
        },
    };
    let title = loaded.meta.title.clone();
    let root = loaded.meta.root.clone();
    copy_items(store, loaded, end, &root, title.map(|title| format!("{title} (copy)"))).await
}

/// Creates a session in another project with the first `count` items of a session.
pub async fn copy_items(
    store: &SqliteStore,
    loaded: LoadedSession,
    count: usize,
    root: &Path,
    title: Option<String>,
) -> Result<SessionId> {
    let id = SessionId::new();
    let lease = store
        .create(NewSession {
            id,
            root: root.into(),
            model: loaded.meta.model,
            at: now(),
            parent: None,
        })
        .await?;
    for item in loaded.items.into_iter().take(count) {
        store.append(id, item).await?;
    }
    if !loaded.roots.is_empty() {
        store.set_roots(id, loaded.roots).await?;
    }
    if let Some(title) = title {
        store.set_title(id, title).await?;
    }
    drop(lease);
    Ok(id)
}

/// The project directory of a stored session.
pub fn existing_root(root: &Path) -> Result<PathBuf> {
    if root.is_dir() {
        return Ok(root.into());
    }
    Err(Failure::usage(format!(
        "the project of this session, {}, does not exist",
        root.display()
    ))
    .hint("name its new directory with -C"))
}

/// Removes the oldest versions of files if all versions together are close to their quota.
pub async fn prune_checkpoints(store: &SqliteStore, blobs: &BlobDir) -> Result<()> {
    let most = blobs.limits().quota / 4 * 3;
    // If this process stored nothing, the size is not computed.
    if !blobs.has_measured() || blobs.used() <= most {
        return Ok(());
    }
    let pruned = store.prune(most).await;
    pruned
        .map(drop)
        .map_err(|error| Failure::failed(format!("old checkpoints could not be removed: {error}")))
}
