//! Predicts the next edit in an editor: what to send to a model, and what its answer changes.
//!
//! The crate is pure. A caller keeps an [`EditorBuffer`] per open file, records edits in an [`EditHistory`], builds a
//! prompt with [`prompt::build`], sends it to a model and turns the answer into a [`Prediction`] with
//! [`answer::parse`]. [`RequestGate`] decides when to send a request.

pub mod answer;
mod buffer;
mod cursor_text;
pub mod evaluation;
mod excerpt;
mod format;
mod gate;
mod history;
mod identifiers;
mod prediction;
pub mod prompt;

pub use buffer::{BufferEdit, BufferPosition, EditorBuffer};
pub use cursor_text::CursorText;
pub use excerpt::{CursorExcerpt, ExcerptLimits};
pub use format::{FormatKind, PromptFormat, format_for, formats};
pub use gate::{DailyBudget, GateDecision, RequestGate, TypingRhythm};
pub use history::{EditHistory, EditSource, HistoryEntry};
pub use identifiers::near_cursor as identifiers_near_cursor;
pub use prediction::{Interpolation, Prediction, PredictionEdit};
