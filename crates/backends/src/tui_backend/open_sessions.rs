//! The sessions that the front end has open.

use host::SessionResources;
use session::SessionId;

/// The open sessions; one of them is shown.
#[derive(Default)]
pub(super) struct OpenSessions {
    pub(super) active: Option<SessionId>,
    all: Vec<SessionResources>,
}

impl OpenSessions {
    /// The given session, or the one that is shown.
    pub(super) fn selected(&self, only: Option<SessionId>) -> Option<&SessionResources> {
        let wanted = only.or(self.active);
        self.all.iter().find(|session| Some(session.id) == wanted)
    }

    /// The ids of all open sessions.
    pub(super) fn ids(&self) -> Vec<SessionId> {
        self.all.iter().map(|session| session.id).collect()
    }

    /// Adds a session and shows it.
    pub(super) fn add(&mut self, session: SessionResources) {
        self.active = Some(session.id);
        self.all.push(session);
    }

    /// Removes a session.
    pub(super) fn remove(&mut self, id: SessionId) -> Option<SessionResources> {
        let index = self.all.iter().position(|session| session.id == id)?;
        Some(self.all.remove(index))
    }
}
