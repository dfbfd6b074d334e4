//! Commands in the background.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use prompt::panel::{Panel, Sight, Told, Volatility};

use crate::jobs::{self, MAX_COMMAND, State};
use crate::text::one_line;

/// What is shown of the end of a job's output.
const TAIL: usize = 8_000;

/// The commands in the background, and whether they still run.
pub(super) struct Jobs(pub(super) jobs::Jobs);

impl Panel for Jobs {
    fn name(&self) -> &str {
        "console"
    }

    fn volatility(&self) -> Volatility {
        Volatility::Live
    }

    /// A job is begun by a call, and its end is news.
    fn told(&self) -> Told {
        Told::InConversation
    }

    fn snapshot<'a>(&'a self, _: &'a Sight<'a>) -> BoxFuture<'a, Option<String>> {
        let lines: Vec<String> = self.0.list().iter().map(|job| line(job)).collect();
        async move { Some(lines.join("\n")).filter(|text| !text.is_empty()) }.boxed()
    }
}

fn line(job: &jobs::Job) -> String {
    // No times: they would change with every look.
    let state = match job.state() {
        State::Running => "running".to_owned(),
        State::Ended(end, _) => end,
    };
    format!("{}: {} [{state}]", job.id, one_line(&job.command, MAX_COMMAND))
}

/// One command in the background, with the end of what it prints.
pub(super) struct Job {
    name: String,
    job: Arc<jobs::Job>,
}

impl Job {
    pub(super) fn of(jobs: &jobs::Jobs, number: &str) -> Result<Self, String> {
        let id = number
            .parse()
            .map_err(|_| format!("`{number}` is not the number of a job"))?;
        let job = jobs.get(id).map_err(|error| error.to_string())?;
        Ok(Job {
            name: format!("console:{id}"),
            job,
        })
    }
}

impl Panel for Job {
    fn name(&self) -> &str {
        &self.name
    }

    fn volatility(&self) -> Volatility {
        Volatility::Live
    }

    fn snapshot<'a>(&'a self, _: &'a Sight<'a>) -> BoxFuture<'a, Option<String>> {
        let printed = self.job.peek(TAIL);
        let text = format!("{}\n{printed}", line(&self.job));
        async move { Some(text) }.boxed()
    }
}
