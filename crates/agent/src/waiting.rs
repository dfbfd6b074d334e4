//! Prompts that wait for their turn. They are kept before they are heard, so that no crash loses what was typed meanwhile.

use crate::state::State;
use model::Message;
use session::{Body, Error, ItemId, Level, SessionId, Store, Waiting, WaitingId};
use std::sync::Arc;

/// What the person said and the model has not heard yet.
#[derive(Debug, Clone)]
pub(crate) struct Spoken {
    pub(crate) message: Message,
    /// Its name where it is kept while it waits.
    pub(crate) waiting: Option<WaitingId>,
}

impl Spoken {
    /// Is kept until it is an item: hooks and what it mentions may take a while, and so may the turn that runs. The write is
    /// under way; nobody waits for it.
    pub(crate) fn later(message: Message, session: SessionId, store: &Arc<dyn Store>) -> Self {
        let id = WaitingId::new();
        let waiting = Waiting {
            id,
            message: message.clone(),
        };
        drop(store.wait(session, waiting));
        Spoken {
            message,
            waiting: Some(id),
        }
    }

    /// Is not heard after all.
    pub(crate) fn forget(&self, session: SessionId, store: &Arc<dyn Store>) {
        if let Some(id) = self.waiting {
            drop(store.forget_waiting(session, id));
        }
    }
}

/// What waits in the front end.
#[derive(Debug, Default)]
pub(crate) struct Held(Vec<WaitingId>);

impl Held {
    /// These wait, and no others.
    pub(crate) fn set(&mut self, messages: Vec<Message>, session: SessionId, store: &Arc<dyn Store>) {
        for id in self.0.drain(..) {
            drop(store.forget_waiting(session, id));
        }
        for message in messages {
            let id = WaitingId::new();
            drop(store.wait(session, Waiting { id, message }));
            self.0.push(id);
        }
    }
}

impl From<Waiting> for Spoken {
    fn from(waiting: Waiting) -> Self {
        Spoken {
            message: waiting.message,
            waiting: Some(waiting.id),
        }
    }
}

impl State {
    /// Adds what the person said, which waits no longer.
    pub(crate) async fn append_spoken(&mut self, spoken: Spoken) -> Result<(), Error> {
        let message = Arc::new(spoken.message);
        self.append_heard(ItemId::new(), Body::Prompt { message }, spoken.waiting)
            .await
    }

    /// Tells the person what waited when an earlier process ended.
    pub(crate) async fn tell_waiting(&self, waiting: &[Waiting]) {
        for prompt in waiting {
            let text = format!(
                "this was waiting when hew ended and goes with the next turn: {}",
                prompt.message.text()
            );
            self.notice(Level::Info, text).await;
        }
    }
}
