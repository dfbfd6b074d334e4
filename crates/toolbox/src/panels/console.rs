//! Panels for background jobs.

use super::PanelError;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use prompt::panel::{ChangeChannel, Panel, PanelContext, Volatility};

use crate::support::jobs::{self, JobState, MAX_COMMAND};
use crate::support::text::one_line;

/// Maximum bytes of a job's output shown.
const TAIL: usize = 8_000;

/// The background jobs and their states.
pub(super) struct ConsolePanel(pub(super) jobs::JobRegistry);

impl Panel for ConsolePanel {
    fn name(&self) -> &str {
        "console"
    }

    fn volatility(&self) -> Volatility {
        Volatility::Live
    }

    /// A call starts a job, and a notification reports its end.
    fn change_channel(&self) -> ChangeChannel {
        ChangeChannel::Conversation
    }

    fn snapshot<'a>(&'a self, _: &'a PanelContext<'a>) -> BoxFuture<'a, Option<String>> {
        let lines: Vec<String> = self.0.list().iter().map(|job| line(job)).collect();
        async move { Some(lines.join("\n")).filter(|text| !text.is_empty()) }.boxed()
    }
}

fn line(job: &jobs::ShellJob) -> String {
    // No durations: they would change with every snapshot.
    let state = match job.state() {
        JobState::Running => "running".to_owned(),
        JobState::Ended { status, .. } => status,
    };
    format!("{}: {} [{state}]", job.id, one_line(&job.command, MAX_COMMAND))
}

/// One background job, with the end of its output.
pub(super) struct JobPanel {
    name: String,
    job: Arc<jobs::ShellJob>,
}

impl JobPanel {
    pub(super) fn of(jobs: &jobs::JobRegistry, number: &str) -> Result<Self, PanelError> {
        let id = number.parse().map_err(|_| PanelError::NotAJob(number.into()))?;
        let job = jobs.get(id)?;
        Ok(JobPanel {
            name: format!("console:{id}"),
            job,
        })
    }
}

impl Panel for JobPanel {
    fn name(&self) -> &str {
        &self.name
    }

    fn volatility(&self) -> Volatility {
        Volatility::Live
    }

    fn snapshot<'a>(&'a self, _: &'a PanelContext<'a>) -> BoxFuture<'a, Option<String>> {
        let printed = self.job.peek(TAIL);
        let text = format!("{}\n{printed}", line(&self.job));
        async move { Some(text) }.boxed()
    }
}
