//! Ends a command in the background, with all it has started.

use std::time::Duration;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Tool};

use crate::job_output::told;
use crate::jobs::{Jobs, number};

/// Longer than a process has to end by itself, and then to be ended by force.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) struct JobKill(pub(crate) Jobs);

/// Ends a job and all it has started.
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
}

impl Tool for JobKill {
    const NAME: &'static str = "job_kill";
    const ALIASES: &'static [&'static str] = &["kill_shell", "kill_terminal"];
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        format!("job {}", input.id)
    }

    fn actions(&self, _: &Input) -> Vec<Action> {
        // Whoever may start a command may end it.
        Vec::new()
    }

    async fn run(&self, input: Input, _: Context) -> Result<Output, Error> {
        let job = self.0.get(input.id)?;
        job.kill(PATIENCE).await;
        Ok(told(job.look()))
    }
}
