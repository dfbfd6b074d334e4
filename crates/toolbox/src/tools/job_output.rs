//! Shows new output of a background job.

use std::sync::Arc;
use std::time::Duration;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tool::{CallContext, DynTool, Error, Output, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, erase, fold_name};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::arguments;
use crate::support::jobs::{JobRegistry, number, render_update};

const MAX_WAIT: u64 = 600;
/// Default wait of Claude Code's `TaskOutput`.
const TASK_OUTPUT_SECONDS: u64 = 30;

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
        alias = "session_id",
        alias = "task_id",
        alias = "artifact_id",
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
    /// Codex: text to type.
    #[schemars(skip)]
    chars: Option<String>,
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
            (PeerAgent::ClaudeCode, &["BashOutput", "TaskOutput"]),
            (PeerAgent::Codex, &["write_stdin"]),
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

    /// Other agents count milliseconds, and wait unless they are asked not to.
    fn adapt(&self, called: &str, input: &mut Map<String, Value>) {
        for name in ["wait", "max_wait", "wait_seconds"] {
            let Some(given) = input.get(name).filter(|given| given.is_string()) else {
                continue;
            };
            let truth = arguments::truth(given).map(Value::from);
            if let Some(value) = truth.or_else(|| arguments::number(given).map(Value::from)) {
                input.insert(name.into(), value);
            }
        }
        let waits = |input: &Map<String, Value>| input.get("block").and_then(arguments::truth) != Some(false);
        arguments::rename(input, &["yield_time_ms"], "timeout");
        if let Some(limit) = input.get("timeout").and_then(arguments::number) {
            let seconds = if limit >= 1_000.0 || called == "write_stdin" {
                limit / 1_000.0
            } else {
                limit
            };
            let seconds = if waits(input) { seconds.ceil() as u64 } else { 0 };
            input.insert("timeout".into(), seconds.into());
        } else if fold_name(called) == "taskoutput" && waits(input) {
            input.insert("timeout".into(), TASK_OUTPUT_SECONDS.into());
        }
    }

    async fn run(&self, input: Input, _: CallContext) -> Result<Output, Error> {
        if input.chars.is_some() {
            return Err(Error::Failed(
                "stdin is closed; pass input on the command line of `terminal`, and stop a job with `job_kill`".into(),
            ));
        }
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
    #[serde(untagged, expecting = "expected a number of seconds")]
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
