//! Converts a model's edit text to exact file changes, or to a refusal with reasons.
//!
//! [`plan`] takes edit text in any [`EditFormat`] and a file lookup, and returns an [`EditPlan`] in which every edit
//! has exactly one location, or [`RefusedEdits`]. The crate does not access files: the caller applies the plan.
//!
//! ```
//! use std::path::Path;
//! let lookup = |path: &Path| (path == Path::new("a.rs")).then(|| "let x = 1;\nlet y = 2;\n".to_owned());
//! let text = "<<<<<<< SEARCH\nlet x = 1;\n=======\nlet x = 3;\n>>>>>>> REPLACE\n";
//! let plan = edit::plan(text, edit::EditFormat::Auto, Some(Path::new("a.rs")), &lookup).map_err(|refused| refused.to_string());
//! assert_eq!(plan.map(|plan| plan.files[0].after().map(str::to_owned)), Ok(Some("let x = 3;\nlet y = 2;\n".to_owned())));
//! ```
//!
//! While text streams, an [`EditParser`] reports its edits and an [`EditPreview`] shows their locations and changes.
//! Applied changes stay in an [`ActionLog`] until they are reviewed.

mod action_log;
mod alternative_readings;
mod anchor;
mod document;
mod fold;
mod format;
mod indent;
mod line_history;
mod line_index;
mod locator;
mod matcher;
mod model_formats;
mod notation;
mod parse;
mod parsed_edit;
mod placeholder;
mod plan;
mod preview;
mod refusal;
mod resolve;
mod streaming_diff;
mod text_diff;
mod text_kind;
mod whole_content;

pub use action_log::{ActionLog, FileStatus, HunkAuthors, ReviewDecision, ReviewHunk};
pub use anchor::{AnchorOp, AnchoredEdit, LineAnchor, line_anchor, line_hash};
pub use format::{EditDelta, EditEvent, EditFormat, EditParser, MalformedEdit, detect, parse};
pub use line_history::{LineNumberBasis, SeenVersions};
pub use locator::{EditLocator, LocationGuess};
pub use model_formats::format_for;
pub use parsed_edit::{
    EditChange, EndOfFile, HunkLine, InsertPosition, ParsedEdit, PatchHunk, PathSource, ReplaceScope, ReplaceUnit,
    Replacement,
};
pub use plan::{
    EditPlan, EditReport, FileChange, FileLookup, VersionLookup, plan, plan_edits, plan_edits_seen, plan_seen,
};
pub use preview::{EditPreview, PreviewSource};
pub use refusal::{EditRefusal, FileRegion, RefusalReason, RefusedEdits};
pub use resolve::MatchMethod;
pub use streaming_diff::StreamingDiff;
pub use text_diff::{UnifiedDiff, compare, unified_diff, words};
pub use whole_content::whole_content;
