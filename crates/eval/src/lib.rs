//! Evaluates agents on suites of tasks.
//!
//! [`Suite::load`] reads a folder of tasks; [`SuiteRun::run`] gives each of them to each [`Configuration`] several times, in
//! copies, and checks the result with files that the agent has not seen. Results are appended to a file, so that an
//! evaluation that was killed continues where it ended. [`Summary`] and [`Comparison`] compute figures with intervals, and
//! [`html::report`] renders them.

mod agent_output;
mod attempt;
pub mod canary;
mod command;
mod comparison;
mod configuration;
mod error;
mod files;
pub mod html;
mod readers;
mod results;
mod runner;
pub mod statistics;
mod suite;
mod summary;
mod table;
mod task;
mod verify;

pub use comparison::{Comparison, TaskChange};
pub use configuration::{AgentCommand, Configuration};
pub use error::Error;
pub use results::{Attempt, AttemptKey, AttemptMetrics, AttemptOutcome, ResultsFile};
pub use runner::{EvaluationProgress, RunnerSettings, SuiteRun};
pub use suite::{SkippedTask, Suite, SuiteOptions};
pub use summary::{ConfigurationSummary, Summary};
pub use table::{comparison_text, summary_text};
pub use task::{Task, TaskLimits, TreeLayer};
pub use verify::{Verification, verify};
