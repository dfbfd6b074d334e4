//! Records a thought without any effect.

use std::sync::Arc;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{
    Availability, CallContext, DynTool, Error, ModelClass, Output, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind,
    ToolSet, erase,
};

use crate::registry::{BuiltIn, ToolParts};

pub(crate) struct ThinkingTool;

/// Space to think something through in writing; it has no effect.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "content", alias = "thought_body", alias = "thoughts", alias = "text")]
    thought: String,
    #[schemars(skip)]
    #[serde(rename = "task_context")]
    _context: Option<String>,
}

impl BuiltIn for ThinkingTool {
    fn build(_: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(ThinkingTool))
    }
}

impl Tool for ThinkingTool {
    const NAME: &'static str = "thinking";
    const ALIASES: &'static [&'static str] = &["think", "Think", "sequentialthinking"];
    const EFFECT: ToolEffect = ToolEffect::ReadOnly;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Think,
        sets: &[ToolSet::AskProfile],
        exceptions: &[(ModelClass::Reasoning, Availability::Hidden)],
        peers: &[(PeerAgent::Zed, &["thinking"]), (PeerAgent::ContextPilot, &["Think"])],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.thought.clone()
    }

    fn actions(&self, _: &Input) -> Vec<Action> {
        Vec::new()
    }

    async fn run(&self, input: Input, _: CallContext) -> Result<Output, Error> {
        match input.thought.trim() {
            "" => Err(Error::Failed("the thought is empty".into())),
            _ => Ok(Output::text("Noted.")),
        }
    }
}
