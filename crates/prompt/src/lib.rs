//! Transcript, rules and a system prompt become one cache-friendly request.
//!
//! Pure: the same inputs give the same bytes, and nothing else builds a message for a model. [`system`] renders what stays the
//! same for a whole session; [`assemble`] lays out one request from it and the session's items.

mod again;
mod assemble;
pub mod budget;
mod compact;
mod context;
mod counts;
mod edit_request;
mod fold;
mod front;
mod frozen;
mod history;
mod kept;
mod ledger;
mod mention;
mod note;
pub mod panel;
mod protocol;
mod repair;
mod slash;
mod subtask;
mod system;
mod title;
pub mod tokens;
mod view;

pub use again::{laid_out, messages};
pub use assemble::{Assembled, Call, Frame, assemble};
pub use budget::Budget;
pub use compact::{Cut, Keep, Pressure, Unfit, message_bytes, pressure, pressure_in};
pub use context::{Context, Mentioned, context};
pub use edit_request::{EditForm, EditTask, edit_request, edit_retry};
pub use fold::{
    DETACH_CHUNK_MIN_MESSAGES, DETACH_CHUNK_MIN_TOKENS, DETACH_KEEP_MIN_MESSAGES, DETACH_KEEP_MIN_TOKENS, Fixed, fit,
    fold,
};
pub use front::Front;
pub use frozen::Frozen;
pub use kept::Kept;
pub use ledger::{Certainty as Counting, Entry, Foreseen, Ledger, Report, level};
pub use mention::{Certainty, Mention, mentions};
pub use note::{Fact, Known, Told, reminder};
pub use protocol::{Grammar, Protocol, Reader};
pub use slash::{Expanded, Invocation, Kind, Owner, Slash, invocation};
pub use subtask::{Subtask, subtask, wake};
pub use system::{Facts, Family, Overrides, Rendered, Rules, Scene, Template, family, section_names, system};
pub use title::{clean_title, plain_title, title_request};
pub use view::{fold_in_force, folded, folded_so, view};
