//! Ends the turn with a result.

use std::sync::Arc;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{CallContext, DynTool, Error, NextStep, Output, PeerAgent, Tool, ToolEffect, ToolFacts, ToolSet, erase};

use crate::registry::{BuiltIn, ToolParts};

pub(crate) struct AttemptCompletionTool;

/// Ends the turn: the task is done, and this is its result.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// What was done and how it was verified; no questions or offers.
    #[serde(default, alias = "summary", alias = "message", alias = "answer")]
    #[schemars(required)]
    result: String,
    /// Roo Code: a command that demonstrates the result.
    #[schemars(skip)]
    command: Option<String>,
}

impl BuiltIn for AttemptCompletionTool {
    fn build(_: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(AttemptCompletionTool))
    }
}

impl Tool for AttemptCompletionTool {
    const NAME: &'static str = "attempt_completion";
    const ALIASES: &'static [&'static str] = &["task_complete", "complete_task", "finish"];
    /// Preceding calls must finish first.
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    const FACTS: ToolFacts = ToolFacts {
        sets: &[ToolSet::AskProfile],
        peers: &[
            (PeerAgent::RooCode, &["attempt_completion"]),
            (PeerAgent::Copilot, &["task_complete"]),
        ],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, _: &Input) -> String {
        String::new()
    }

    fn actions(&self, _: &Input) -> Vec<Action> {
        Vec::new()
    }

    async fn run(&self, input: Input, _: CallContext) -> Result<Output, Error> {
        let result = input.result.trim();
        if result.is_empty() {
            return Err(Error::Failed("the result is empty; describe what was done".into()));
        }
        let text = match input.command.as_deref().map(str::trim) {
            Some(command) if !command.is_empty() => format!("{result}\n\nTo see it: `{command}`"),
            Some(_) | None => result.into(),
        };
        Ok(Output {
            next: NextStep::EndTurn,
            ..Output::text(text)
        })
    }
}
