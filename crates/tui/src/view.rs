//! A view stands beside the conversation: it is opened, takes keys, draws itself and is closed again.

use crate::house::{Done, House, Later, Trouble, Which};
use crate::input::Input;
use crate::keys::{Deed, Keys};
use crate::state::State;
use crate::theme::Theme;
use futures::future::FutureExt as _;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use session::{Command, SessionId};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// Something that is looked at beside the conversation.
pub(crate) trait View: Send {
    /// Where it stands.
    fn place(&self) -> Place;

    /// Takes a key or a paste.
    fn handle(&mut self, input: Input, cx: &Cx<'_>) -> Outcome;

    /// Draws itself; the answer is where the caret stands, if there is one.
    fn draw(&mut self, area: Rect, buf: &mut Buffer, cx: &Cx<'_>) -> Option<Position>;

    /// Something happened in the session; most views look at [`State`] when they draw and need not listen.
    fn hear(&mut self, event: &session::Event, cx: &Cx<'_>) {
        let _ = (event, cx);
    }
}

/// Where a view stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// On a screen of its own.
    Full,
    /// Above the composer, with so many rows if there is room.
    Inline(u16),
}

/// What everything that draws or takes keys may look at.
pub(crate) struct Cx<'a> {
    pub(crate) house: &'a Arc<dyn House>,
    pub(crate) state: &'a State,
    pub(crate) theme: &'a Theme,
    pub(crate) keys: &'a Keys,
    pub(crate) wake: &'a Wake,
}

impl Cx<'_> {
    /// Sends somebody for something; a frame is drawn when they are back.
    pub(crate) fn fetch<T: Send + 'static>(&self, later: Later<T>) -> Errand<T> {
        let errand = Errand::under_way();
        let (slot, wake) = (Arc::clone(&errand.slot), self.wake.clone());
        tokio::spawn(async move {
            let found = later.await;
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
            wake.wake();
        });
        errand
    }
}

/// Something that is done for the app, and of which the one who asked for it hears too.
pub(crate) fn shared(later: Later<Done>, wake: &Wake) -> (Errand<String>, Later<Done>) {
    let errand = Errand::under_way();
    let (slot, wake) = (Arc::clone(&errand.slot), wake.clone());
    let later = async move {
        let done = later.await;
        let told = done.as_ref().map(|done| done.told.clone()).map_err(Clone::clone);
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
        wake.wake();
        done.map(|done| Done {
            told: String::new(),
            ..done
        })
    };
    (errand, later.boxed())
}

/// What a view wants after it has taken a key.
pub(crate) enum Outcome {
    /// Nothing more.
    Stay,
    /// To be closed.
    Close,
    /// Something done, and to stay open.
    Do(Wish),
    /// Something done, and to be closed.
    CloseAnd(Wish),
    /// The key was not for it.
    Pass,
}

/// What a view or the composer wants from the app.
pub(crate) enum Wish {
    /// Something of the session.
    Send(Command),
    /// Text put into the composer, in place of what is there.
    Compose(String),
    /// Text put into the composer at the caret.
    Insert(String),
    /// Another session.
    Switch(Which),
    /// Something said to the model.
    Say(String),
    /// Something written to the clipboard.
    Copy(String),
    /// Words for the person.
    Tell(String),
    /// Another title for a session.
    Rename(SessionId, String),
    /// Something that is being done; the person is told and the session keeps it when it is.
    KeepLater(Later<Done>),
    /// The composer's text edited in the person's own editor.
    Editor,
    /// Another look, by its name; it is kept for the next time.
    ThemeNamed(String),
    /// What a key does.
    Act(Deed),
    /// A word that is shown until the next key.
    Flash(String),
    /// Several things, in order.
    All(Vec<Wish>),
    /// To leave, and to watch the demonstration.
    Demo,
    /// To leave.
    Quit,
}

/// Wakes the app so that it draws a frame.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wake(Arc<Notify>);

impl Wake {
    /// Asks for a frame.
    pub(crate) fn wake(&self) {
        self.0.notify_one();
    }

    /// Waits until somebody asks for one.
    pub(crate) async fn woken(&self) {
        self.0.notified().await;
    }
}

/// Something that was sent for.
pub(crate) struct Errand<T> {
    slot: Arc<Mutex<Option<Result<T, Trouble>>>>,
}

impl<T> Errand<T> {
    fn under_way() -> Self {
        Errand {
            slot: Arc::new(Mutex::new(None)),
        }
    }

    /// What was brought, once.
    pub(crate) fn take(&self) -> Option<Result<T, Trouble>> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
