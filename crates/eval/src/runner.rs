//! Runs the attempts of an evaluation in parallel and records them.

use crate::command::CommandRunner;
use crate::configuration::Configuration;
use crate::error::Error;
use crate::files::remove_folder;
use crate::results::{Attempt, AttemptKey, AttemptOutcome, ResultsFile};
use crate::task::{Task, TreeLayer};
use futures::stream::{self, StreamExt};
use sandbox::{NetworkAccess, ProcessEnvironment};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The maximum time for cloning a repository.
const CLONE_TIME: Duration = Duration::from_secs(1800);

/// An evaluation: every task, with every configuration, several times.
#[derive(Debug)]
pub struct SuiteRun {
    /// The tasks.
    pub tasks: Vec<Task>,
    /// The configurations.
    pub configurations: Vec<Configuration>,
    /// The number of attempts of each task with each configuration.
    pub repetitions: u32,
    /// The maximum number of attempts at the same time.
    pub jobs: usize,
    /// Whether attempts that ended with an error are made again.
    pub retry_errors: bool,
    /// How attempts run.
    pub settings: RunnerSettings,
}

/// The folders and environments of attempts.
#[derive(Debug, Clone)]
pub struct RunnerSettings {
    /// The environment of agents, with keys of providers.
    pub agent_environment: ProcessEnvironment,
    /// The environment of setups and checks.
    pub check_environment: ProcessEnvironment,
    /// The folder of working copies. It is emptied first.
    pub work: PathBuf,
    /// The data folder of the evaluated hew.
    pub data: PathBuf,
    /// The folder for the output of other agents.
    pub transcripts: PathBuf,
    /// The folder for clones of repositories.
    pub repositories: PathBuf,
    /// Paths that other agents cannot read.
    pub private: Vec<PathBuf>,
    /// Additional folders that other agents may change.
    pub writable: Vec<PathBuf>,
    /// Whether working copies stay.
    pub keep_copies: bool,
}

/// Reported after each attempt.
#[derive(Debug, Clone, Copy)]
pub struct EvaluationProgress<'a> {
    /// The number of finished attempts.
    pub done: usize,
    /// The number of all attempts.
    pub total: usize,
    /// The number of solved attempts.
    pub solved: usize,
    /// The attempt that has just ended.
    pub attempt: Option<&'a Attempt>,
}

impl SuiteRun {
    /// The attempts to make: all tasks and configurations once, then again.
    pub fn keys(&self) -> Vec<AttemptKey> {
        let repetitions = 1..=self.repetitions;
        let pairs = repetitions.flat_map(|repetition| self.tasks.iter().map(move |task| (repetition, task)));
        let keys = pairs.flat_map(|(repetition, task)| {
            self.configurations.iter().map(move |configuration| AttemptKey {
                task: task.id.clone(),
                configuration: configuration.name.clone(),
                repetition,
            })
        });
        keys.collect()
    }

    /// Makes the attempts that have no result yet and returns all results.
    pub async fn run(
        &self,
        results: &mut ResultsFile,
        report: &mut dyn FnMut(&EvaluationProgress<'_>),
    ) -> Result<Vec<Attempt>, Error> {
        for configuration in &self.configurations {
            results.declare(configuration)?;
        }
        let keys = self.keys();
        let is_done = |(_, key): &(usize, &AttemptKey)| match results.get(key) {
            Some(attempt) => !(self.retry_errors && attempt.outcome == AttemptOutcome::Error),
            None => false,
        };
        // The number of an attempt, and with it the path of its folder, does not depend on interruptions.
        let numbered = keys.iter().enumerate();
        let (done, pending): (Vec<_>, Vec<_>) = numbered.partition(is_done);
        let is_solved = |attempt: &Attempt| attempt.outcome == AttemptOutcome::Solved;
        let mut progress = EvaluationProgress {
            done: done.len(),
            total: keys.len(),
            solved: done
                .iter()
                .filter(|(_, key)| results.get(key).is_some_and(is_solved))
                .count(),
            attempt: None,
        };
        report(&progress);
        if !pending.is_empty() {
            self.settings.clean()?;
            self.settings.clone_repositories(&self.tasks).await?;
        }
        let attempts = pending.into_iter().filter_map(|(number, key)| {
            let task = self.tasks.iter().find(|task| task.id == key.task)?;
            let configuration = self
                .configurations
                .iter()
                .find(|known| known.name == key.configuration)?;
            Some(self.settings.attempt(number, task, configuration, key.clone()))
        });
        let mut attempts = stream::iter(attempts).buffer_unordered(self.jobs.max(1));
        while let Some(attempt) = attempts.next().await {
            progress.done += 1;
            progress.solved += usize::from(is_solved(&attempt));
            results.append(attempt.clone())?;
            report(&EvaluationProgress {
                attempt: Some(&attempt),
                ..progress
            });
        }
        Ok(keys.iter().filter_map(|key| results.get(key)).cloned().collect())
    }
}

impl RunnerSettings {
    fn clean(&self) -> Result<(), Error> {
        remove_folder(&self.work)?;
        for folder in [&self.work, &self.data, &self.transcripts] {
            fs::create_dir_all(folder).map_err(Error::file(folder))?;
        }
        Ok(())
    }

    /// Clones the repositories of tasks that are not on this machine.
    async fn clone_repositories(&self, tasks: &[Task]) -> Result<(), Error> {
        let layers = tasks.iter().flat_map(|task| &task.project);
        let repositories: BTreeSet<&String> = layers
            .filter_map(|layer| match layer {
                TreeLayer::Revision { repository, .. } => Some(repository),
                TreeLayer::Folder { .. }
                | TreeLayer::Selected { .. }
                | TreeLayer::Inline(_)
                | TreeLayer::Patch(_)
                | TreeLayer::Command(_) => None,
            })
            .collect();
        let git = CommandRunner {
            environment: self.check_environment.clone(),
            network: NetworkAccess::Granted,
            timeout: CLONE_TIME,
        };
        for repository in repositories {
            let folder = self.local_repository(repository);
            if folder.exists() {
                continue;
            }
            fs::create_dir_all(&self.repositories).map_err(Error::file(&self.repositories))?;
            // A clone that was interrupted has another name.
            let partial = folder.with_extension("partial");
            remove_folder(&partial)?;
            let target = partial.display().to_string();
            let arguments = ["clone", "--quiet", "--bare", repository, &target];
            git.git(&arguments, &self.repositories, &self.repositories).await?;
            fs::rename(&partial, &folder).map_err(Error::file(&folder))?;
        }
        Ok(())
    }

    /// The folder of a repository: its own, or that of its clone.
    pub(crate) fn local_repository(&self, repository: &str) -> PathBuf {
        match Path::new(repository).is_absolute() {
            true => repository.into(),
            false => {
                let name: String = repository
                    .chars()
                    .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' })
                    .collect();
                self.repositories.join(name)
            }
        }
    }
}
