//! Lists background jobs.

use std::sync::Arc;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{CallContext, DynTool, Error, Output, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, erase};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::jobs::{JobRegistry, JobState, MAX_COMMAND};
use crate::support::text::one_line;

pub(crate) struct JobListTool(pub(crate) JobRegistry);

/// Lists background jobs, running and ended.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {}

impl BuiltIn for JobListTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(JobListTool(parts.options.jobs.clone())))
    }
}

impl Tool for JobListTool {
    const NAME: &'static str = "job_list";
    const ALIASES: &'static [&'static str] = &["list_jobs", "list_terminals"];
    const EFFECT: ToolEffect = ToolEffect::ReadOnly;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Read,
        peers: &[(PeerAgent::Copilot, &["terminal_last_command"])],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, _: &Input) -> String {
        String::new()
    }

    fn actions(&self, _: &Input) -> Vec<Action> {
        Vec::new()
    }

    async fn run(&self, _: Input, _: CallContext) -> Result<Output, Error> {
        let lines: Vec<String> = self
            .0
            .list()
            .into_iter()
            .map(|job| {
                let seconds = job.age().as_secs();
                let state = match job.state() {
                    JobState::Running => format!("running for {seconds} s"),
                    JobState::Ended { status, .. } => format!("{status}, after {seconds} s"),
                };
                format!("{}: {} [{state}]", job.id, one_line(&job.command, MAX_COMMAND))
            })
            .collect();
        Ok(match lines.len() {
            0 => Output::text("no jobs").with_summary("no jobs"),
            1 => Output::text(lines.join("\n")).with_summary("1 job"),
            many => Output::text(lines.join("\n")).with_summary(format!("{many} jobs")),
        })
    }
}
