//! Views: overlays that are opened, receive keys, draw themselves and are closed.

use crate::action::KeyResponse;
use crate::backend::{Backend, BackendFuture, OperationResult, UserError};
use crate::input::Input;
use crate::keys::KeyMap;
use crate::state::AppState;
use crate::theme::Theme;
use futures::future::FutureExt as _;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// A view next to the conversation.
pub(crate) trait ModalView: Send {
    /// Where the view is drawn.
    fn placement(&self) -> ViewPlacement;

    /// Handles a key or a paste.
    fn handle(&mut self, input: Input, cx: &ViewContext<'_>) -> KeyResponse;

    /// Draws the view; returns the caret position.
    fn draw(&mut self, area: Rect, buf: &mut Buffer, cx: &ViewContext<'_>) -> Option<Position>;

    /// Handles a session event. Views that only draw [`AppState`] do not need it.
    fn handle_event(&mut self, event: &session::Event, cx: &ViewContext<'_>) {
        let _ = (event, cx);
    }
}

/// Where a view is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ViewPlacement {
    /// On the alternate screen.
    Full,
    /// Above the composer, in at most this number of rows.
    Inline(u16),
}

/// Shared context for drawing and key handling.
pub(crate) struct ViewContext<'a> {
    pub(crate) backend: &'a Arc<dyn Backend>,
    pub(crate) state: &'a AppState,
    pub(crate) theme: &'a Theme,
    pub(crate) keys: &'a KeyMap,
    pub(crate) redraw: &'a RedrawSignal,
}

impl ViewContext<'_> {
    /// Runs an operation in the background; a frame is drawn when it completes.
    pub(crate) fn start<T: Send + 'static>(&self, operation: BackendFuture<T>) -> PendingResult<T> {
        let pending = PendingResult::new();
        let (slot, redraw) = (Arc::clone(&pending.slot), self.redraw.clone());
        tokio::spawn(async move {
            let result = operation.await;
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            redraw.request();
        });
        pending
    }
}

/// Splits an operation of the app so that the view that started it gets the message, and the app the log entry.
pub(crate) fn split_operation(
    operation: BackendFuture<OperationResult>,
    redraw: &RedrawSignal,
) -> (PendingResult<String>, BackendFuture<OperationResult>) {
    let pending = PendingResult::new();
    let (slot, redraw) = (Arc::clone(&pending.slot), redraw.clone());
    let operation = async move {
        let result = operation.await;
        let message = result.as_ref().map(|done| done.message.clone()).map_err(Clone::clone);
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(message);
        redraw.request();
        result.map(|done| OperationResult {
            message: String::new(),
            ..done
        })
    };
    (pending, operation.boxed())
}

/// Requests frames from the event loop.
#[derive(Debug, Clone, Default)]
pub(crate) struct RedrawSignal(Arc<Notify>);

impl RedrawSignal {
    /// Requests a frame.
    pub(crate) fn request(&self) {
        self.0.notify_one();
    }

    /// Waits until a frame is requested.
    pub(crate) async fn requested(&self) {
        self.0.notified().await;
    }
}

/// The result of a background operation, when it is available.
pub(crate) struct PendingResult<T> {
    slot: Arc<Mutex<Option<Result<T, UserError>>>>,
}

impl<T> PendingResult<T> {
    fn new() -> Self {
        PendingResult {
            slot: Arc::new(Mutex::new(None)),
        }
    }

    /// Takes the result once it is available.
    pub(crate) fn take(&self) -> Option<Result<T, UserError>> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
