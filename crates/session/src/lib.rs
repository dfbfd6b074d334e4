//! The conversation types: an [`Item`] is stored in the log, an [`Event`] is sent to front ends, a [`Command`] is sent
//! to the session.
//!
//! Front ends depend on this crate and not on the agent: they hold a sender of [`Command`]s and a stream of
//! [`Event`]s. The [`Store`] persists the items; the model sees a view of them.

mod change;
mod command;
mod event;
mod grant_store;
mod hooks;
mod id;
mod item;
mod ledger;
mod measurement;
mod projection;
mod store;
mod user_text;

pub use change::{Change, ChangeCount, FileKind, FileVersion, describe_restored, net_changes, same_version};
pub use command::{Answer, Command, Delivery, EditorView};
pub use event::{
    Event, ItemDelta, ItemStart, Limit, NoticeLevel, PreviewState, PreviewUpdate, Question, QuestionSubject, TextOp,
    Totals, TurnEnd,
};
pub use grant_store::{GrantStore, GrantStoreError};
pub use hooks::{HookEvent, HookKind, HookOutcome, Hooks, NoHooks};
pub use id::{BlobId, ItemId, QuestionId, QueuedPromptId, RequestId, SessionId, Time};
pub use item::{
    Body, CommandExit, HistoryElision, Item, ReplyEnd, RestoreKind, ReviewedFile, ShownPanel, Todo, TodoStatus,
};
pub use ledger::{
    LedgerSection, MessageRef, PromptCost, PromptDifference, PromptRecord, RequestEnd, RequestFacts, RequestRecord,
};
pub use measurement::{
    ApprovalOutcome, CallEnd, CallRecord, EditFact, LineCounts, SurvivalPoint, SurvivalRecord, TurnIntent, TurnRecord,
    surviving_share,
};
pub use projection::ItemKind;
pub use store::{
    Error, Lease, LoadedSession, NewSession, OpenSession, ParentCall, QueuedPrompt, Receipt, ReplyDraft, SessionMeta,
    Store,
};
pub use user_text::{is_user_text, shell_command, shell_output_part, user_text};
