//! Kills a background job.

use std::sync::Arc;
use std::time::Duration;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{CallContext, DynTool, Error, Output, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, erase};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::jobs::{JobRegistry, number, render_update};

/// Longer than the grace period before a process is killed.
const TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) struct JobKillTool(pub(crate) JobRegistry);

/// Kills a job and all processes that it started.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(
        deserialize_with = "number",
        alias = "job_id",
        alias = "shell_id",
        alias = "bash_id",
        alias = "terminal_id",
        alias = "session_id",
        alias = "task_id",
        alias = "job"
    )]
    id: u32,
}

impl BuiltIn for JobKillTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(JobKillTool(parts.options.jobs.clone())))
    }
}

impl Tool for JobKillTool {
    const NAME: &'static str = "job_kill";
    const ALIASES: &'static [&'static str] = &["kill_shell", "kill_terminal"];
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Execute,
        peers: &[
            (PeerAgent::Crush, &["job_kill"]),
            (PeerAgent::Copilot, &["kill_terminal"]),
            (PeerAgent::ClaudeCode, &["KillBash", "KillShell", "TaskStop"]),
        ],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        format!("job {}", input.id)
    }

    fn actions(&self, _: &Input) -> Vec<Action> {
        // A caller that may start commands may stop them.
        Vec::new()
    }

    async fn run(&self, input: Input, _: CallContext) -> Result<Output, Error> {
        let job = self.0.get(input.id)?;
        job.kill(TIMEOUT).await;
        Ok(render_update(job.take_update()))
    }
}
