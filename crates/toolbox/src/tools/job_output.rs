//! Shows new output of a background job.

use std::sync::Arc;
use std::time::Duration;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{CallContext, DynTool, Error, Output, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, erase};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::jobs::{JobRegistry, number, render_update};

const MAX_WAIT: u64 = 600;

pub(crate) struct JobOutputTool(pub(crate) JobRegistry);

/// Shows the output of a job since the last call, and whether it is running.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(
        deserialize_with = "number",
        alias = "job_id",
        alias = "shell_id",
        alias = "bash_id",
        alias = "terminal_id",
        alias = "job"
    )]
    id: u32,
    /// Wait this long for it to end.
    #[serde(
        alias = "wait",
        alias = "timeout",
        alias = "max_wait",
        deserialize_with = "seconds",
        default
    )]
    wait_seconds: Option<u64>,
}

impl BuiltIn for JobOutputTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(JobOutputTool(parts.options.jobs.clone())))
    }
}

impl Tool for JobOutputTool {
    const NAME: &'static str = "job_output";
    const ALIASES: &'static [&'static str] = &[
        "await_terminal",
        "bash_output",
        "console_wait",
        "get_terminal_output",
        "read_command_output",
    ];
    const EFFECT: ToolEffect = ToolEffect::ReadOnly;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Read,
        peers: &[
            (PeerAgent::RooCode, &["read_command_output"]),
            (PeerAgent::Crush, &["job_output"]),
            (
                PeerAgent::Copilot,
                &["await_terminal", "get_task_output", "get_terminal_output"],
            ),
            (PeerAgent::ContextPilot, &["console_wait"]),
        ],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        format!("job {}", input.id)
    }

    fn actions(&self, _: &Input) -> Vec<Action> {
        Vec::new()
    }

    async fn run(&self, input: Input, _: CallContext) -> Result<Output, Error> {
        let job = self.0.get(input.id)?;
        if let Some(seconds) = input.wait_seconds.filter(|seconds| *seconds > 0) {
            job.wait(Duration::from_secs(seconds.min(MAX_WAIT))).await;
        }
        Ok(render_update(job.take_update()))
    }
}

/// A number of seconds, or `true` for the maximum.
fn seconds<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum WaitArgument {
        Seconds(u64),
        Fraction(f64),
        Whether(bool),
    }
    Ok(
        Option::<WaitArgument>::deserialize(deserializer)?.and_then(|wait| match wait {
            WaitArgument::Seconds(seconds) => Some(seconds),
            WaitArgument::Fraction(seconds) => Some(seconds.ceil().clamp(0.0, MAX_WAIT as f64) as u64),
            WaitArgument::Whether(true) => Some(MAX_WAIT),
            WaitArgument::Whether(false) => None,
        }),
    )
}
