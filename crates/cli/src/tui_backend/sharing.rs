//! Shares the session of the terminal with other processes of the user.

use super::TuiBackend;
use super::backend_context::BackendContext;
use crate::web_backend::{SessionOwner, WebBackend, WebServices, web_session};
use std::sync::Arc;
use tokio::sync::mpsc;
use tui::OpenedSession;

/// Whether a session is shared with other processes of the user, such as a web server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionSharing {
    On,
    Off,
}

impl TuiBackend {
    /// Shares the opened session with other processes. It works without them if that is not possible.
    pub(super) fn share(self, mut opened: OpenedSession) -> OpenedSession {
        let (Ok(store), Ok(runtime)) = (self.store(), tokio::runtime::Handle::try_current()) else {
            return opened;
        };
        let BackendContext { env, global, root } = self.here.clone();
        let sessions = WebBackend::with_store(root, global, env, store, runtime.clone());
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
        let services = WebServices::new(self, runtime, SessionOwner::FrontEnd);
        let shared = server::http::share(Arc::new(sessions), web_session(session, services));
        (opened.commands, opened.events) = (shared.commands, shared.events);
        opened
    }
}
