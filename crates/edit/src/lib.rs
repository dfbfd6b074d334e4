//! A model's edit text becomes exact changes to files, or a refusal that says why.
//!
//! [`plan`] takes edit text in any of the known [`Format`]s and a way to look up files, and gives back a [`Plan`] in which every
//! edit has found its one place, or [`Refused`]. Nothing here touches a file: carrying out the plan is the caller's part.
//!
//! While text still streams, a [`Parser`] says what has arrived, edit by edit, a [`Preview`] shows where it goes and how the file
//! changes there. What was carried out waits in an [`ActionLog`] until someone has looked at it.

mod action_log;
mod diff;
mod families;
mod fold;
mod format;
mod indent;
mod index;
mod locator;
mod matcher;
mod parse;
mod placeholder;
mod plan;
mod preview;
mod reading;
mod refusal;
mod resolve;
mod script;
mod text;

pub use action_log::{ActionLog, Restore, ReviewHunk, Status};
pub use diff::{CharOp, StreamingDiff, apply_ops};
pub use families::format_for;
pub use format::{Delta, Event, Format, Malformed, Parser, detect, parse};
pub use locator::{Guess, Locator};
pub use plan::{FileChange, Lookup, Plan, Report, plan, plan_edits};
pub use preview::{Glimpse, Preview, Sight, Source};
pub use refusal::{Refusal, Refused, Region, Why};
pub use resolve::How;
pub use script::{Change, Edit, EndOfFile, Hunk, HunkLine, Naming, Place, Replace, Scope, Unit};
