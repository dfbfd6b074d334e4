//! Shares the session of the terminal with other processes of the user.

use super::backend_context::BackendContext;
use super::{TuiBackend, files};
use crate::environment::ProcessEnv;
use crate::failure::{Failure, Result};
use crate::web_backend::{SessionOwner, WebBackend, WebServices, web_session};
use futures::future::{BoxFuture, FutureExt as _};
use host::SessionFlags;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use store::SqliteStore;
use tokio::sync::mpsc;
use tui::OpenedSession;

/// Whether a session is shared with other processes of the user, such as a web server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionSharing {
    On,
    Off,
}

impl TuiBackend {
    /// Creates the back end of a session of the web server.
    pub(crate) fn unshared(root: PathBuf, flags: SessionFlags, env: ProcessEnv, store: Arc<SqliteStore>) -> Self {
        TuiBackend {
            store: Arc::new(Mutex::new(Some(store))),
            sharing: SessionSharing::Off,
            ..TuiBackend::new(root, flags, env)
        }
    }

    /// Reads a file that completion offers: one of the project that is not ignored.
    pub(crate) fn read_project_file(&self, path: PathBuf) -> BoxFuture<'static, Result<String>> {
        let here = self.here.clone();
        let work = tokio::task::spawn_blocking(move || files::project_file(&path, &here));
        async move {
            work.await
                .unwrap_or_else(|error| Err(Failure::failed(error.to_string())))
        }
        .boxed()
    }

    /// Shares the opened session with other processes. It works without them if that is not possible.
    pub(super) fn share(self, mut opened: OpenedSession) -> OpenedSession {
        let (Ok(store), Ok(runtime)) = (self.store(), tokio::runtime::Handle::try_current()) else {
            return opened;
        };
        let BackendContext { env, flags, root, .. } = self.here.clone();
        let sessions = WebBackend::with_store(root, flags, env, store, runtime.clone());
        let (commands, events) = (
            opened.commands.clone(),
            std::mem::replace(&mut opened.events, mpsc::channel(1).1),
        );
        let session = OpenedSession {
            id: opened.id,
            commands,
            events,
            items: opened.items.last().cloned().into_iter().collect(),
            info: opened.info.clone(),
            notices: Vec::new(),
        };
        let backend = TuiBackend {
            only: Some(opened.id),
            ..self
        };
        let services = WebServices::new(backend, opened.id, runtime, SessionOwner::FrontEnd);
        let shared = server::http::share(Arc::new(sessions), web_session(session, services));
        (opened.commands, opened.events) = (shared.commands, shared.events);
        opened
    }
}
