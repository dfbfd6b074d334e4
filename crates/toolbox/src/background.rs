//! The jobs of a session as a person sees them: looking takes nothing away from what the model will see.

use std::time::Duration;

use crate::jobs::{JobsView, State};

/// How long a job is waited for after it was told to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// As many bytes of what a job printed are shown.
const SHOWN: usize = 20_000;

/// The commands in the background of one session, which it does not keep alive.
#[derive(Debug, Clone, Default)]
pub struct Background(JobsView);

/// A command in the background.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackgroundJob {
    /// Its number.
    pub id: u32,
    /// The command.
    pub command: String,
    /// How it ended, in a few words; `None` while it runs.
    pub ended: Option<String>,
    /// How long it has run.
    pub age: Duration,
    /// What it has printed since the model last looked, or the end of that.
    pub printed: String,
}

impl From<JobsView> for Background {
    fn from(jobs: JobsView) -> Self {
        Background(jobs)
    }
}

impl Background {
    /// All that are known, in the order in which they were started.
    pub fn list(&self) -> Vec<BackgroundJob> {
        let Some(jobs) = self.0.jobs() else { return Vec::new() };
        let jobs = jobs.list().into_iter().map(|job| BackgroundJob {
            id: job.id,
            command: job.command.clone(),
            ended: match job.state() {
                State::Running => None,
                State::Ended(how, _) => Some(how),
            },
            age: job.age(),
            printed: job.peek(SHOWN),
        });
        jobs.collect()
    }

    /// Tells a job to end, and waits a little until it has; whether there was such a job that ran.
    pub async fn stop(&self, id: u32) -> bool {
        match self.0.jobs().map(|jobs| jobs.get(id)) {
            Some(Ok(job)) if job.is_running() => {
                job.kill(PATIENCE).await;
                true
            }
            Some(Ok(_) | Err(_)) | None => false,
        }
    }
}
