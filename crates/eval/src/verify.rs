//! Verifies tasks: the check must fail on the project and succeed with the reference solution.

use crate::attempt::AttemptFolder;
use crate::command::describe;
use crate::error::Error;
use crate::runner::RunnerSettings;
use crate::task::Task;
use futures::stream::{self, StreamExt};
use sandbox::ProcessStatus;
use std::fs;

/// The maximum length of quoted output.
const MAX_OUTPUT: usize = 1_000;

/// The result of verifying a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    /// The task.
    pub task: String,
    /// Its problems.
    pub problems: Vec<String>,
}

/// Verifies tasks in parallel, in the order of their ids.
pub async fn verify(tasks: &[Task], settings: &RunnerSettings, jobs: usize) -> Result<Vec<Verification>, Error> {
    fs::create_dir_all(&settings.work).map_err(Error::file(&settings.work))?;
    let checks = tasks.iter().enumerate().map(|(number, task)| async move {
        let problems = match verify_task(number, task, settings).await {
            Ok(problems) => problems,
            Err(error) => vec![error.to_string()],
        };
        Verification {
            task: task.id.clone(),
            problems,
        }
    });
    Ok(stream::iter(checks).buffered(jobs.max(1)).collect().await)
}

async fn verify_task(number: usize, task: &Task, settings: &RunnerSettings) -> Result<Vec<String>, Error> {
    let mut problems = Vec::new();
    let folder = AttemptFolder::create(&settings.work, number, task)?;
    settings.prepare(task, &folder.project).await?;
    let before = settings.check(task, &folder.project, "").await?;
    match before.status {
        ProcessStatus::Exited(0) => problems.push("the check succeeds without a solution".into()),
        ProcessStatus::Exited(_) => {}
        ProcessStatus::Signalled(_) | ProcessStatus::TimedOut | ProcessStatus::Unknown => {
            problems.push(format!(
                "the check does not end by itself: {}",
                describe(&before, MAX_OUTPUT)
            ));
        }
    }
    if task.solution.is_empty() && task.answer.is_none() {
        problems.push("there is no reference solution".into());
    } else {
        let folder = AttemptFolder::create(&settings.work, number, task)?;
        settings.prepare(task, &folder.project).await?;
        settings
            .apply(&task.solution, &folder.project, &settings.commands(task))
            .await?;
        let after = settings
            .check(task, &folder.project, task.answer.as_deref().unwrap_or_default())
            .await?;
        if after.status != ProcessStatus::Exited(0) {
            problems.push(format!(
                "the check fails with the solution: {}",
                describe(&after, MAX_OUTPUT)
            ));
        }
    }
    folder.remove()?;
    Ok(problems)
}
