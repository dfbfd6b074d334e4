//! The vocabulary of a conversation: an [`Item`] is kept, an [`Event`] is told, a [`Command`] is asked.
//!
//! Front ends know this crate and nothing of the agent: they hold a sender of [`Command`]s and a stream of [`Event`]s.
//! The [`Store`] keeps the items; what the model sees is a view of them.

mod change;
mod command;
mod event;
mod hooks;
mod id;
mod item;
mod keeper;
mod ledger;
mod note;
mod store;

pub use change::{Change, Kind, Tally, Version, alike, net};
pub use command::{Answer, Command, Delivery, EditorView};
pub use event::{Delta, Ending, Event, Glimpse, ItemKind, Level, Limit, Op, Question, Sight, Subject, Totals};
pub use hooks::{Happening, Hooks, Moment, NoHooks, Reaction};
pub use id::{BlobId, ItemId, QuestionId, RequestId, SessionId, Time, WaitingId};
pub use item::{Body, End, Fold, Item, Restoring, Reviewed, Shown, Status, Todo};
pub use keeper::Keeper;
pub use ledger::{Difference, Paid, Prompt, Record, Said, Section};
pub use note::{is_note, ran, ran_line, spoken};
pub use store::{Draft, Error, Lease, Loaded, Meta, New, Opened, Parent, Receipt, Store, Waiting};
