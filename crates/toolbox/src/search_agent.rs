//! Sends a helper that only looks, on the small model, to find something out.

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Task, Tool, Waiting, Worker};

pub(crate) struct SearchAgent;

/// Sends a cheap read-only helper to search the project; only its answer, with paths and lines, comes back. For questions that
/// would take many searches.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// What to find out, with all it must know.
    #[serde(alias = "query", alias = "task", alias = "question")]
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

impl Tool for SearchAgent {
    const NAME: &'static str = "search_agent";
    const ALIASES: &'static [&'static str] = &["search_subagent", "explore", "scout"];
    const EFFECT: Effect = Effect::Delegates;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.label().into()
    }

    /// It only looks, and each look is decided about by itself.
    fn actions(&self, _: &Input) -> Vec<Action> {
        Vec::new()
    }

    async fn run(&self, input: Input, context: Context) -> Result<Output, Error> {
        let prompt = match &input.details {
            Some(details) => format!("{}\n\n{details}", input.prompt),
            None => input.prompt.clone(),
        };
        let report = context
            .delegate(Task {
                title: input.label().chars().take(80).collect(),
                prompt,
                mode: None,
                worker: Worker::Scout,
                resume: None,
                waiting: Waiting::UntilDone,
            })
            .await?;
        let summary = format!("session {}", report.session);
        Ok(Output::text(report.text).summary(summary))
    }
}
