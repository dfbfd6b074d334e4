//! Runs a read-only subtask on the small model.

use std::sync::Arc;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{
    CallContext, DynTool, Error, Output, PeerAgent, SubtaskModel, SubtaskRequest, SubtaskWait, Tool, ToolEffect,
    ToolFacts, ToolKind, erase,
};

use crate::registry::{BuiltIn, ToolParts};

pub(crate) struct SearchAgentTool;

/// Runs a cheap read-only subtask to search the project; only its answer, with paths and lines, is returned. For
/// questions that would take many searches.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// The question, with all necessary context.
    #[serde(alias = "query", alias = "task", alias = "question", alias = "objective")]
    prompt: String,
    /// 3-5 words.
    #[serde(alias = "description")]
    title: Option<String>,
    #[schemars(skip)]
    details: Option<String>,
}

impl Input {
    fn label(&self) -> &str {
        let title = self.title.as_deref().unwrap_or(&self.prompt);
        title.trim().lines().next().unwrap_or_default()
    }
}

impl BuiltIn for SearchAgentTool {
    fn build(_: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(SearchAgentTool))
    }
}

impl Tool for SearchAgentTool {
    const NAME: &'static str = "search_agent";
    const ALIASES: &'static [&'static str] = &["search_subagent", "explore", "scout"];
    const EFFECT: ToolEffect = ToolEffect::Delegating;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Search,
        peers: &[
            (PeerAgent::Copilot, &["search_subagent"]),
            (PeerAgent::GeminiCli, &["codebase_investigator"]),
        ],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.label().into()
    }

    /// Each call of the read-only subtask is approved separately.
    fn actions(&self, _: &Input) -> Vec<Action> {
        Vec::new()
    }

    async fn run(&self, input: Input, context: CallContext) -> Result<Output, Error> {
        let prompt = match &input.details {
            Some(details) => format!("{}\n\n{details}", input.prompt),
            None => input.prompt.clone(),
        };
        let report = context
            .delegate(SubtaskRequest {
                title: input.label().chars().take(80).collect(),
                prompt,
                mode: None,
                model: SubtaskModel::Small,
                resume: None,
                wait: SubtaskWait::UntilDone,
            })
            .await?;
        let summary = format!("session {}", report.session);
        Ok(Output::text(report.text).with_summary(summary))
    }
}
