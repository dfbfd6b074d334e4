//! Runs one task without a full-screen terminal: `hew run`, `hew resume` and the demo.
//!
//! [`driver`] sends the task to a session and shows its events, [`terminal_answers`] asks questions, [`structured_answer`]
//! checks the answer against a schema, and [`output`] prints text, JSON lines and tables for all commands.

pub mod driver;
pub mod exit;
pub mod line_session;
pub mod manual_call;
pub mod output;
pub mod signals;
pub mod structured_answer;
pub mod terminal_answers;

use host::{config, environment, failure};
