//! Keeps a thought, and does nothing else.

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Tool};

pub(crate) struct Thinking;

/// Room to think something through in writing; nothing happens.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "content", alias = "thought_body", alias = "thoughts", alias = "text")]
    thought: String,
    #[schemars(skip)]
    #[serde(rename = "task_context")]
    _context: Option<String>,
}

impl Tool for Thinking {
    const NAME: &'static str = "thinking";
    const ALIASES: &'static [&'static str] = &["think", "Think", "sequentialthinking"];
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.thought.clone()
    }

    fn actions(&self, _: &Input) -> Vec<Action> {
        Vec::new()
    }

    async fn run(&self, input: Input, _: Context) -> Result<Output, Error> {
        match input.thought.trim() {
            "" => Err(Error::Failed("there is no thought to keep".into())),
            _ => Ok(Output::text("Noted.")),
        }
    }
}
