//! A model's edit text becomes exact changes to files, or a refusal that says why.
//!
//! [`plan`] takes edit text in any of the known [`Format`]s and a way to look up files, and gives back a [`Plan`] in which every
//! edit has found its one place, or [`Refused`]. Nothing here touches a file: carrying out the plan is the caller's part.
//!
//! ```
//! use std::path::Path;
//! let lookup = |path: &Path| (path == Path::new("a.rs")).then(|| "let x = 1;\nlet y = 2;\n".to_owned());
//! let text = "<<<<<<< SEARCH\nlet x = 1;\n=======\nlet x = 3;\n>>>>>>> REPLACE\n";
//! let plan = edit::plan(text, edit::Format::Auto, Some(Path::new("a.rs")), &lookup).map_err(|refused| refused.to_string());
//! assert_eq!(plan.map(|plan| plan.files[0].after().map(str::to_owned)), Ok(Some("let x = 3;\nlet y = 2;\n".to_owned())));
//! ```
//!
//! While text still streams, a [`Parser`] says what has arrived, edit by edit, a [`Preview`] shows where it goes and how the file
//! changes there. What was carried out waits in an [`ActionLog`] until someone has looked at it.

mod action_log;
mod compare;
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

pub use action_log::{ActionLog, Authors, Decided, Restore, ReviewHunk, Status};
pub use compare::{Unified, compare, unified, words};
pub use diff::{CharOp, StreamingDiff, apply_ops};
pub use families::format_for;
pub use format::{Delta, Event, Format, Malformed, Parser, detect, parse};
pub use locator::{Guess, Locator};
pub use plan::{FileChange, Lookup, Plan, Report, plan, plan_edits};
pub use preview::{Glimpse, Preview, Sight, Source};
pub use refusal::{Refusal, Refused, Region, Why};
pub use resolve::How;
pub use script::{Change, Edit, EndOfFile, Hunk, HunkLine, Naming, Place, Replace, Scope, Unit};
