//! The background jobs of a session for the user: reading output does not consume it for the model.

use std::time::Duration;

use crate::support::jobs::{JobRegistryView, JobState};

/// How long to wait for a stopped job to exit.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The background jobs of a session, without keeping them alive.
#[derive(Debug, Clone, Default)]
pub struct BackgroundJobs(JobRegistryView);

/// A background job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSummary {
    /// The number.
    pub id: u32,
    /// The command.
    pub command: String,
    /// The exit status as text; `None` while it runs.
    pub ended: Option<String>,
    /// How long it has run.
    pub age: Duration,
    /// The end of its output.
    pub printed: String,
}

impl From<JobRegistryView> for BackgroundJobs {
    fn from(jobs: JobRegistryView) -> Self {
        BackgroundJobs(jobs)
    }
}

impl BackgroundJobs {
    /// All jobs, in the order of their start.
    pub fn list(&self) -> Vec<JobSummary> {
        let Some(jobs) = self.0.jobs() else { return Vec::new() };
        let jobs = jobs.list().into_iter().map(|job| JobSummary {
            id: job.id,
            command: job.command.clone(),
            ended: match job.state() {
                JobState::Running => None,
                JobState::Ended { status, .. } => Some(status),
            },
            age: job.age(),
            printed: job.recent_output(),
        });
        jobs.collect()
    }

    /// The number of running jobs.
    pub fn running(&self) -> usize {
        let jobs = self.0.jobs().map(|jobs| jobs.list()).unwrap_or_default();
        jobs.iter().filter(|job| job.is_running()).count()
    }

    /// Moves the command that a call waits for to the background. Returns whether there was one.
    pub fn detach(&self) -> bool {
        self.0.jobs().is_some_and(|jobs| jobs.detach())
    }

    /// Stops a job and waits briefly until it has exited. Returns whether it was running.
    pub async fn stop(&self, id: u32) -> bool {
        match self.0.jobs().map(|jobs| jobs.get(id)) {
            Some(Ok(job)) if job.is_running() => {
                job.kill(TIMEOUT).await;
                true
            }
            Some(Ok(_) | Err(_)) | None => false,
        }
    }
}
