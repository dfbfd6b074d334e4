//! One attempt: prepares a copy of the project, runs the agent, and checks the result.

use crate::agent_output::AgentOutput;
use crate::command::{CommandRunner, describe, last, quoted, succeeded};
use crate::configuration::{AgentCommand, Configuration};
use crate::error::Error;
use crate::files::{FolderCopy, copy_inside, remove_folder, write_inside};
use crate::results::{Attempt, AttemptKey, AttemptOutcome};
use crate::runner::RunnerSettings;
use crate::task::{Task, TextReplacement, TreeLayer};
use sandbox::{
    CaptureCap, Confinement, ConfinementLevel, NetworkAccess, ProcessExit, ProcessRequest, ProcessStatus, Program,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The kept output of an agent.
const TRANSCRIPT: CaptureCap = CaptureCap {
    head: 256 * 1024,
    tail: 256 * 1024,
};
/// The time after its own limit in which hew must end.
const GRACE: Duration = Duration::from_secs(20);
/// The maximum length of a failure in the results.
const MAX_DETAIL: usize = 1_500;

/// The folder of an attempt.
pub(crate) struct AttemptFolder {
    root: PathBuf,
    pub(crate) project: PathBuf,
}

impl AttemptFolder {
    /// Creates an empty folder; what was there is removed.
    pub(crate) fn create(work: &Path, number: usize, task: &Task) -> Result<Self, Error> {
        let root = work.join(number.to_string());
        remove_folder(&root)?;
        let name = task.id.rsplit('/').find(|part| !part.is_empty()).unwrap_or("project");
        let project = root.join(name);
        fs::create_dir_all(&project).map_err(Error::file(&project))?;
        Ok(Self { root, project })
    }

    pub(crate) fn remove(&self) -> Result<(), Error> {
        remove_folder(&self.root)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}

impl RunnerSettings {
    /// Runs setup and check commands of a task.
    pub(crate) fn commands(&self, task: &Task) -> CommandRunner {
        CommandRunner {
            environment: self.check_environment.clone(),
            network: match task.network {
                true => NetworkAccess::Granted,
                false => NetworkAccess::Denied,
            },
            timeout: task.limits.check_time(),
        }
    }

    /// Makes an attempt. Every failure is part of its result.
    pub(crate) async fn attempt(
        &self,
        number: usize,
        task: &Task,
        configuration: &Configuration,
        key: AttemptKey,
    ) -> Attempt {
        let mut attempt = Attempt {
            key,
            outcome: AttemptOutcome::Error,
            detail: None,
            session: None,
            metrics: Default::default(),
            ended: 0,
        };
        if let Err(error) = self.try_attempt(number, task, configuration, &mut attempt).await {
            attempt.detail = Some(error.to_string());
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        attempt.ended = now.map_or(0, |now| now.as_secs());
        attempt
    }

    async fn try_attempt(
        &self,
        number: usize,
        task: &Task,
        configuration: &Configuration,
        attempt: &mut Attempt,
    ) -> Result<(), Error> {
        let folder = AttemptFolder::create(&self.work, number, task)?;
        self.prepare(task, &folder.project).await?;
        let (exit, output) = self.run_agent(task, &configuration.agent, &folder).await?;
        attempt.metrics = output.metrics;
        attempt.metrics.duration_ms = u64::try_from(exit.duration.as_millis()).unwrap_or(u64::MAX);
        attempt.session.clone_from(&output.session);
        if let AgentCommand::Shell(_) = configuration.agent {
            self.write_transcript(&attempt.key, &exit)?;
        }
        let check = self.check(task, &folder.project, &output.answer).await;
        let (outcome, detail) = match check {
            Ok(exit) if exit.status == ProcessStatus::Exited(0) => (AttemptOutcome::Solved, None),
            Ok(check) => {
                let failure = agent_failure(&exit, &output, &folder);
                let outcome = match failure.is_some()
                    && exit.status != ProcessStatus::TimedOut
                    && output.metrics.output_tokens == 0
                {
                    true => AttemptOutcome::Error,
                    false => AttemptOutcome::Unsolved,
                };
                let text = describe(&check, MAX_DETAIL);
                (
                    outcome,
                    Some(failure.map_or(text.clone(), |failure| format!("{failure}\n{text}"))),
                )
            }
            // The agent may have made the project unusable for the check.
            Err(error) => (AttemptOutcome::Unsolved, Some(error.to_string())),
        };
        (attempt.outcome, attempt.detail) = (outcome, detail);
        match self.keep_copies {
            true => Ok(()),
            false => folder.remove(),
        }
    }

    /// Creates the project and runs its setup.
    pub(crate) async fn prepare(&self, task: &Task, project: &Path) -> Result<(), Error> {
        let commands = self.commands(task);
        self.apply(&task.project, project, &commands).await?;
        if let Some(setup) = &task.setup {
            succeeded(&commands.shell(setup, project).await?, "the setup")?;
        }
        Ok(())
    }

    /// Adds the hidden files and runs the check.
    pub(crate) async fn check(&self, task: &Task, project: &Path, answer: &str) -> Result<ProcessExit, Error> {
        let mut commands = self.commands(task);
        self.apply(&task.hidden, project, &commands).await?;
        let file = project.with_extension("answer");
        fs::write(&file, answer).map_err(Error::file(&file))?;
        commands.environment = commands.environment.with("HEW_EVAL_ANSWER", file);
        commands.shell(&task.check, project).await
    }

    /// Applies layers to a folder.
    pub(crate) async fn apply(&self, layers: &[TreeLayer], to: &Path, commands: &CommandRunner) -> Result<(), Error> {
        for layer in layers {
            match layer {
                TreeLayer::Folder {
                    path,
                    exclude,
                    at,
                    replace,
                } => {
                    let project = to.display().to_string();
                    let filled = |replacement: &TextReplacement| TextReplacement {
                        old: replacement.old.clone(),
                        new: replacement.new.replace("{project}", &project),
                    };
                    let replace: Vec<TextReplacement> = replace.iter().map(filled).collect();
                    let copy = FolderCopy {
                        from: path,
                        to: &to.join(at),
                        exclude,
                        replace: &replace,
                    };
                    copy.run()?;
                }
                TreeLayer::Selected { from, paths } => {
                    for path in paths {
                        copy_inside(&from.join(path), to, path)?;
                    }
                }
                TreeLayer::Inline(files) => {
                    for (path, text) in files {
                        write_inside(to, path, text.as_bytes())?;
                    }
                }
                TreeLayer::Revision { repository, revision } => {
                    let repository = self.local_repository(repository);
                    let line = format!(
                        "set -e -o pipefail; git -C {} archive --format=tar {} | tar -x; git init -q .; git add -A -f; \
                         git -c user.name=hew -c user.email=hew@localhost -c commit.gpgsign=false commit -q -m {}",
                        quoted(&repository.display().to_string()),
                        quoted(revision),
                        quoted(revision)
                    );
                    succeeded(&commands.shell(&line, to).await?, "extracting the revision")?;
                }
                TreeLayer::Patch(patch) => {
                    let name = ".hew-eval.patch";
                    write_inside(to, name, patch.as_bytes())?;
                    let line = format!("git apply --whitespace=nowarn {name} && rm {name}");
                    succeeded(&commands.shell(&line, to).await?, "applying the patch")?;
                }
                TreeLayer::Command(line) => succeeded(&commands.shell(line, to).await?, "the command")?,
            }
        }
        Ok(())
    }

    async fn run_agent(
        &self,
        task: &Task,
        agent: &AgentCommand,
        folder: &AttemptFolder,
    ) -> Result<(ProcessExit, AgentOutput), Error> {
        let prompt = folder.file("prompt.txt");
        fs::write(&prompt, &task.prompt).map_err(Error::file(&prompt))?;
        let limit = Duration::from_secs(task.limits.seconds);
        let environment = self
            .agent_environment
            .clone()
            .with("HEW_EVAL_STDERR", folder.file("stderr.txt"));
        let (confinement, environment, timeout) = match agent {
            // hew confines its commands itself.
            AgentCommand::Hew { .. } => (
                Confinement::new(ConfinementLevel::Off, []),
                environment.with("HEW_DATA_DIR", self.data.clone()),
                limit + GRACE,
            ),
            AgentCommand::Shell(_) => {
                let roots = self.writable.iter().cloned().chain([folder.root.clone()]);
                let mut confinement = Confinement::new(ConfinementLevel::Workspace, roots);
                confinement.network = NetworkAccess::Granted;
                confinement.hidden.clone_from(&self.private);
                (confinement, environment, limit)
            }
        };
        let request = ProcessRequest {
            program: Program::Exec {
                program: "sh".into(),
                args: agent.shell_arguments(task, &folder.project, &prompt),
            },
            cwd: folder.project.clone(),
            environment,
            timeout: Some(timeout),
            grace: ProcessRequest::GRACE,
            output: TRANSCRIPT,
            terminal: None,
        };
        let mut process = confinement.spawn(&request)?;
        let mut output = AgentOutput::default();
        while let Some(chunk) = process.next().await {
            output.push(&chunk);
        }
        Ok((process.exit().await, output.finish()))
    }

    fn write_transcript(&self, key: &AttemptKey, exit: &ProcessExit) -> Result<(), Error> {
        let name = format!("{}-{}-{}.txt", key.configuration, key.task, key.repetition).replace('/', "_");
        let text = format!("{}{}", exit.output.head, exit.output.tail);
        write_inside(&self.transcripts, &name, text.as_bytes())
    }
}

/// Why an agent failed, if it did.
fn agent_failure(exit: &ProcessExit, output: &AgentOutput, folder: &AttemptFolder) -> Option<String> {
    let stderr = || {
        let text = fs::read(folder.file("stderr.txt")).unwrap_or_default();
        last(String::from_utf8_lossy(&text).trim(), 400).to_owned()
    };
    match (&output.failure, exit.status) {
        (Some(failure), _) => Some(format!("agent: {failure}")),
        (None, ProcessStatus::Exited(0)) => None,
        (None, ProcessStatus::Exited(code)) => Some(format!("agent: exit code {code}: {}", stderr())),
        (None, ProcessStatus::Signalled(signal)) => Some(format!("agent: signal {signal}: {}", stderr())),
        (None, ProcessStatus::TimedOut) => Some("agent: timed out".into()),
        (None, ProcessStatus::Unknown) => Some("agent: unknown status".into()),
    }
}
