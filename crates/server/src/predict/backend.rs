//! The interface of predictions to the program: a model, the project's rules, related code, the time.

use std::ops::Range;
use std::path::{Path, PathBuf};

use futures::future::BoxFuture;
use predict::answer::AnswerEnd;
use predict::prompt::PredictionPrompt;
use predict::{DailyBudget, PromptFormat};

/// Why a model gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PredictionError(pub String);

/// A model's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PredictionAnswer {
    /// Its text.
    pub text: String,
    /// How it ended.
    pub end: AnswerEnd,
}

/// The outcome of a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PredictionEvent {
    /// A request was sent to the model.
    Requested,
    /// The editor showed it.
    Shown,
    /// The user accepted it.
    Accepted,
    /// The user rejected it.
    Rejected,
}

/// A definition in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedDefinition {
    /// Its name.
    pub name: String,
    /// Its lines, counted from 0.
    pub lines: Range<usize>,
}

/// The interface that predictions use.
pub trait PredictionBackend: Send + Sync + 'static {
    /// The prompt format of the model.
    fn format(&self) -> &'static PromptFormat;
    /// Asks the model. Dropping the future cancels the request.
    fn complete(&self, prompt: PredictionPrompt) -> BoxFuture<'static, Result<PredictionAnswer, PredictionError>>;
    /// Whether a file may be sent to the model: it is not ignored, protected or hidden.
    fn allows(&self, path: &Path) -> bool;
    /// The path of a file relative to its project, for display.
    fn display_path(&self, path: &Path) -> String;
    /// The definitions in a text. Must return within a few milliseconds.
    fn definitions(&self, path: &Path, text: &str) -> Vec<NamedDefinition>;
    /// The folders of the editor's workspace.
    fn set_folders(&self, folders: &[PathBuf]);
    /// The budget of requests.
    fn budget(&self) -> DailyBudget;
    /// The time in milliseconds, and the day as a number.
    fn now(&self) -> (u64, u64);
    /// Records what happened, with the day's requests so far.
    fn record(&self, event: PredictionEvent, usage: (u64, u32));
}
