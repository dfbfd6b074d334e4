//! Shows what a command in the background has printed since the last look.

use std::time::Duration;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Tool};

use crate::command::shown;
use crate::jobs::{Jobs, News, State, number};

const MAX_WAIT: u64 = 600;

pub(crate) struct JobOutput(pub(crate) Jobs);

/// Shows what a job has printed since the last look, and whether it still runs.
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
    /// Wait so long for its end.
    #[serde(
        alias = "wait",
        alias = "timeout",
        alias = "max_wait",
        deserialize_with = "seconds",
        default
    )]
    wait_seconds: Option<u64>,
}

impl Tool for JobOutput {
    const NAME: &'static str = "job_output";
    const ALIASES: &'static [&'static str] = &[
        "await_terminal",
        "bash_output",
        "console_wait",
        "get_terminal_output",
        "read_command_output",
    ];
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        format!("job {}", input.id)
    }

    fn actions(&self, _: &Input) -> Vec<Action> {
        Vec::new()
    }

    async fn run(&self, input: Input, _: Context) -> Result<Output, Error> {
        let job = self.0.get(input.id)?;
        if let Some(seconds) = input.wait_seconds.filter(|seconds| *seconds > 0) {
            job.wait(Duration::from_secs(seconds.min(MAX_WAIT))).await;
        }
        Ok(told(job.look()))
    }
}

/// What is new about a job, for the model.
pub(crate) fn told(news: News) -> Output {
    let seconds = news.age.as_secs_f64();
    let state = match news.state {
        State::Running => format!("running for {seconds:.0} s"),
        State::Ended(end, _) => format!("{end}, after {seconds:.1} s"),
    };
    let text = shown(news.printed, news.transcript.as_deref());
    let text = match text.is_empty() {
        true => "no new output\n".to_owned(),
        false => text,
    };
    Output::text(format!("{text}[{state}]")).summary(state)
}

/// A number of seconds, or `true` for as long as may be.
fn seconds<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Wait {
        Seconds(u64),
        Fraction(f64),
        Whether(bool),
    }
    Ok(Option::<Wait>::deserialize(deserializer)?.and_then(|wait| match wait {
        Wait::Seconds(seconds) => Some(seconds),
        Wait::Fraction(seconds) => Some(seconds.ceil().clamp(0.0, MAX_WAIT as f64) as u64),
        Wait::Whether(true) => Some(MAX_WAIT),
        Wait::Whether(false) => None,
    }))
}
