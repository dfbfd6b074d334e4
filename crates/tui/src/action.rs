//! The flow of input. The component with the focus turns a key into a [`KeyResponse`]; an [`AppAction`] in it is applied by the
//! app, which returns [`AppEffect`]s for the event loop. Background effects complete with an [`AsyncResult`] for the app.

use crate::backend::{
    BackendFuture, ConflictChoice, FileRestoreResult, GoalCheck, OperationResult, RestoreRequest, SessionTarget,
    UsableModel,
};
use crate::keys::KeyAction;
use crate::view::ModalView;
use futures::future::FutureExt as _;
use model::{Effort, Message};
use session::{Answer, Command, Delivery, SessionId};
use std::path::PathBuf;

/// How a view, the approval prompt or the composer responds to input.
pub(crate) enum KeyResponse {
    /// The input was not handled.
    Ignored,
    /// The input was handled.
    Handled,
    /// The input was handled and requires an action.
    Action(AppAction),
}

impl KeyResponse {
    /// Closes the view.
    pub(crate) fn close() -> Self {
        KeyResponse::Action(AppAction::CloseView)
    }

    /// Closes the view, then performs an action.
    pub(crate) fn close_and(action: AppAction) -> Self {
        KeyResponse::Action(action.after_closing())
    }
}

/// An action that a component requests from the app.
pub(crate) enum AppAction {
    /// Perform a key action.
    Key(KeyAction),
    /// Close the top view.
    CloseView,
    /// Open a view.
    OpenView(Box<dyn ModalView>),
    /// Restore files.
    Restore(RestoreRequest, ConflictChoice),
    /// Send a command to the session.
    Send(Command),
    /// Submit the composer's text: as the answer to the pending question, or as a prompt.
    Submit {
        /// The text and its attachments.
        message: Message,
        /// Delivery if a turn is running.
        delivery: Delivery,
    },
    /// Send a prompt.
    Prompt(String),
    /// Answer the pending question.
    Answer(Answer),
    /// Edit the call of the pending question in the composer, starting with this text.
    EditCall(String),
    /// Return the last queued prompt to the composer.
    EditQueued,
    /// Replace the composer's text.
    SetInput(String),
    /// Insert text into the composer.
    InsertInput(String),
    /// Clear the composer's text.
    ClearInput,
    /// Open the composer's text in the user's editor.
    OpenEditor,
    /// Open a file in the user's editor.
    EditFile(PathBuf),
    /// Set, show or clear the goal.
    Goal(String),
    /// Use this model if it is usable, with this effort if the user chose one.
    ChooseModel { name: String, effort: Option<Effort> },
    /// Set the reasoning effort.
    SetEffort(Option<Effort>),
    /// Open another session.
    OpenSession(SessionTarget),
    /// Rename a session.
    RenameSession(SessionId, String),
    /// Show and record the result of an operation when it completes.
    AwaitOperation(BackendFuture<OperationResult>),
    /// Use this theme and save the choice.
    SetTheme(String),
    /// Turn Vim keys on or off.
    SetVim(bool),
    /// Copy text to the clipboard.
    Copy(String),
    /// Add a notice to the conversation.
    Notice(String),
    /// Show a message until the next key.
    Flash(String),
    /// Perform several actions in order.
    All(Vec<AppAction>),
    /// Quit, then start the demo.
    Demo,
    /// Quit.
    Quit,
}

impl AppAction {
    /// The same action after closing the top view.
    pub(crate) fn after_closing(self) -> Self {
        AppAction::All(vec![AppAction::CloseView, self])
    }
}

/// Work for the event loop.
pub(crate) enum AppEffect {
    /// Send a command to the session.
    Send(Command),
    /// Open another session.
    OpenSession(SessionTarget),
    /// Wait for a background operation.
    Await(BackendFuture<AsyncResult>),
    /// Open the composer's text in the user's editor.
    OpenEditor,
    /// Open a file in the user's editor.
    EditFile(PathBuf),
    /// Copy text to the clipboard.
    Copy(String),
    /// Redraw everything.
    Redraw,
    /// Suspend the process.
    Suspend,
    /// Quit, then start the demo.
    Demo,
    /// Quit.
    Quit,
}

impl AppEffect {
    /// Waits for an operation and wraps its result.
    pub(crate) fn later<T: Send + 'static>(
        operation: BackendFuture<T>,
        wrap: impl FnOnce(T) -> AsyncResult + Send + 'static,
    ) -> Self {
        AppEffect::Await(operation.map(|result| result.map(wrap)).boxed())
    }
}

/// The result of a background operation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AsyncResult {
    /// An operation to show and record.
    Operation(OperationResult),
    /// A command to send.
    Command(Command),
    /// The goal was checked.
    GoalChecked(GoalCheck),
    /// Files were restored, or have conflicts.
    Restored(RestoreRequest, FileRestoreResult),
    /// The model is usable; switch to it.
    ModelUsable(UsableModel, Option<Effort>),
    /// A session was renamed.
    Renamed {
        /// The session.
        session: SessionId,
        /// The new title.
        title: String,
        /// Confirmation for the user.
        message: String,
    },
}
