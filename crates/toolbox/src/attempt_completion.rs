//! Ends the turn with a result.

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Next, Output, Tool};

pub(crate) struct AttemptCompletion;

/// Ends the turn: the task is done, and this is its result.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// What was done and how it was checked; no question, no offer.
    #[serde(alias = "summary", alias = "message", alias = "answer")]
    result: String,
    /// Roo's agents may name a command that shows the result; the person can run it.
    #[schemars(skip)]
    command: Option<String>,
}

impl Tool for AttemptCompletion {
    const NAME: &'static str = "attempt_completion";
    const ALIASES: &'static [&'static str] = &["task_complete", "complete_task", "finish"];
    /// All calls before it have to be done.
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;

    fn title(&self, _: &Input) -> String {
        String::new()
    }

    fn actions(&self, _: &Input) -> Vec<Action> {
        Vec::new()
    }

    async fn run(&self, input: Input, _: Context) -> Result<Output, Error> {
        let result = input.result.trim();
        if result.is_empty() {
            return Err(Error::Failed("the result is empty; say what was done".into()));
        }
        let text = match input.command.as_deref().map(str::trim) {
            Some(command) if !command.is_empty() => format!("{result}\n\nTo see it: `{command}`"),
            Some(_) | None => result.into(),
        };
        Ok(Output {
            next: Next::EndTurn,
            ..Output::text(text)
        })
    }
}
