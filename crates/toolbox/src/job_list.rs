//! Lists the commands in the background.

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Tool};

use crate::jobs::{Jobs, MAX_COMMAND, State};
use crate::text::one_line;

pub(crate) struct JobList(pub(crate) Jobs);

/// Lists the jobs: commands that run in the background, and those that have ended.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {}

impl Tool for JobList {
    const NAME: &'static str = "job_list";
    const ALIASES: &'static [&'static str] = &["list_jobs", "list_terminals"];
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;

    fn title(&self, _: &Input) -> String {
        String::new()
    }

    fn actions(&self, _: &Input) -> Vec<Action> {
        Vec::new()
    }

    async fn run(&self, _: Input, _: Context) -> Result<Output, Error> {
        let lines: Vec<String> = self
            .0
            .list()
            .into_iter()
            .map(|job| {
                let seconds = job.age().as_secs();
                let state = match job.state() {
                    State::Running => format!("running for {seconds} s"),
                    State::Ended(end, _) => format!("{end}, after {seconds} s"),
                };
                format!("{}: {} [{state}]", job.id, one_line(&job.command, MAX_COMMAND))
            })
            .collect();
        Ok(match lines.len() {
            0 => Output::text("no jobs").summary("no jobs"),
            1 => Output::text(lines.join("\n")).summary("1 job"),
            many => Output::text(lines.join("\n")).summary(format!("{many} jobs")),
        })
    }
}
