//! Recorded tasks that are run again, to detect changes of a model or of hew: their files, and runs with a baseline.

use crate::evaluation::{RESULTS, failure, runner_settings};
use crate::failure::{Failure, Result};
use crate::project_copy::{copy_project, restore, write};
use eval::canary::{CanaryDirection, CanaryFinding, CanaryQuantity, compare, findings_text, look_after, looks_until};
use eval::{AgentCommand, Attempt, Configuration, EvaluationProgress, ResultsFile, Suite, SuiteOptions, SuiteRun};
use host::environment::ProcessEnv;
use host::paths;
use model::{Part, PartOrigin};
use review::{SessionHistory, prompts};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use store::SqliteStore;

/// The folder of the baseline's results.
const BASELINE: &str = "baseline";
/// Marks a run that has ended.
const FINISHED: &str = "finished";

/// The content of a recorded `task.toml`.
#[derive(Serialize)]
struct RecordedTask<'a> {
    prompt: &'a str,
    check: &'a str,
}

/// The folder with the recorded tasks and the results of their runs.
#[derive(Debug)]
pub struct CanaryFolder {
    folder: PathBuf,
}

impl CanaryFolder {
    /// The user's folder.
    pub fn of_user(env: &ProcessEnv) -> Result<CanaryFolder> {
        Ok(CanaryFolder {
            folder: paths::data_dir(env)?.join("canary"),
        })
    }

    fn tasks(&self) -> PathBuf {
        self.folder.join("tasks")
    }

    /// Records the task of a session under this name, or one like that of the project. Returns the name.
    pub async fn record(
        &self,
        history: &SessionHistory,
        store: &SqliteStore,
        name: Option<&str>,
        check: &str,
    ) -> Result<String> {
        let Some(prompt) = first_prompt(history) else {
            return Err(Failure::usage("the session has no prompt"));
        };
        let tasks = self.tasks();
        let root = history.root().to_owned();
        let name = name.map_or_else(|| free_name(&root, &tasks), str::to_owned);
        let folder = tasks.join(&name);
        if name.contains('/') || folder.exists() {
            return Err(Failure::usage(format!("`{name}` is not a free name"))
                .hint("`hew canary list` lists the recorded tasks"));
        }
        // A recording that was interrupted has no `task.toml` and is not a task.
        let copy = folder.join("project");
        copy_project(&root, &copy)?;
        restore(store, history.items(), 0, &root, &copy).await?;
        let task = RecordedTask { prompt: &prompt, check };
        let text = toml::to_string(&task).map_err(|error| Failure::failed(error.to_string()))?;
        write(&folder.join("task.toml"), text.as_bytes())?;
        Ok(name)
    }

    /// Whether the check of a task succeeds without any work.
    pub async fn is_always_solved(&self, name: &str, env: &ProcessEnv) -> Result<bool> {
        let folder = self.tasks().join(name);
        let suite = Suite::load(&folder, &SuiteOptions::default()).map_err(failure)?;
        let settings = runner_settings(&folder, &folder, &[], false, env)?;
        let verified = eval::verify(&suite.tasks, &settings, 1).await.map_err(failure)?;
        Ok(verified
            .iter()
            .flat_map(|one| &one.problems)
            .any(|problem| problem.contains("without a solution")))
    }

    /// The recorded tasks.
    pub fn suite(&self) -> Result<Suite> {
        let missing =
            || Failure::usage("no task is recorded").hint("record one: hew canary add SESSION --check COMMAND");
        let tasks = self.tasks();
        if !tasks.is_dir() {
            return Err(missing());
        }
        Suite::load(&tasks, &SuiteOptions::default()).map_err(|error| match error {
            eval::Error::NoTasks { .. } => missing(),
            error => failure(error),
        })
    }

    /// Removes recorded tasks.
    pub fn remove(&self, names: &[String]) -> Result<()> {
        for name in names {
            let folder = self.tasks().join(name);
            if name.contains('/') || name.starts_with('.') || !folder.is_dir() {
                return Err(Failure::usage(format!("there is no task `{name}`"))
                    .hint("`hew canary list` lists the recorded tasks"));
            }
            fs::remove_dir_all(&folder).map_err(|error| Failure::file("remove", &folder, &error))?;
        }
        Ok(())
    }

    /// The runs with a model, by default the configured one.
    pub fn runs(&self, model: Option<&str>) -> CanaryRuns {
        let model = model.unwrap_or("default").to_owned();
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
        let name: String = model
            .chars()
            .map(|letter| if is_plain(letter) { letter } else { '_' })
            .collect();
        CanaryRuns {
            folder: self.folder.join("runs").join(name),
            tasks: self.tasks(),
            model,
        }
    }
}

/// The text that the user wrote as the first prompt.
fn first_prompt(history: &SessionHistory) -> Option<String> {
    let message = prompts(history.items()).next()?.message()?;
    let own = message.parts.iter().filter_map(|part| match part {
        Part::Text {
            text,
            origin: PartOrigin::Author,
            ..
        } => Some(text.as_str()),
        Part::Text { .. }
        | Part::Thinking { .. }
        | Part::ToolCall { .. }
        | Part::ToolResult { .. }
        | Part::Media(_) => None,
    });
    let text = own.collect::<Vec<_>>().join("\n\n");
    (!text.trim().is_empty()).then_some(text)
}

/// A name that no task has: that of the project and a number.
fn free_name(project: &Path, tasks: &Path) -> String {
    let base = project.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let free = (1..)
        .map(|n| format!("{base}-{n}"))
        .find(|name| !tasks.join(name).exists());
    free.unwrap_or(base)
}

/// How the recorded tasks are run.
#[derive(Debug)]
pub struct CanaryRunOptions {
    /// The maximum number of attempts of each task; fewer if a change of the success rate is established earlier.
    pub rounds: u32,
    /// Attempts at the same time.
    pub jobs: usize,
    /// Whether the run replaces the baseline.
    pub renews_baseline: bool,
    /// The binary of hew.
    pub program: PathBuf,
    /// Arguments of every run of hew.
    pub arguments: Vec<String>,
}

/// The result of a run.
#[derive(Debug)]
pub enum CanaryOutcome {
    /// It is the baseline, with so many attempts.
    Baseline(usize),
    /// It was compared with the baseline.
    Compared(CanaryReport),
}

/// A comparison of a run with the baseline.
#[derive(Debug, Serialize)]
pub struct CanaryReport {
    model: String,
    baseline_attempts: usize,
    attempts: usize,
    findings: Vec<CanaryFinding>,
}

impl CanaryReport {
    /// A line for each finding.
    pub fn text(&self) -> String {
        format!(
            "{}: {} attempts compared with {} of the baseline\n{}",
            self.model,
            self.attempts,
            self.baseline_attempts,
            findings_text(&self.findings)
        )
    }

    /// Whether tasks are solved less often.
    pub fn is_worse(&self) -> bool {
        self.findings.iter().any(|finding| {
            finding.quantity == CanaryQuantity::Success && finding.change == Some(CanaryDirection::Decreased)
        })
    }
}

/// The runs of a model.
#[derive(Debug)]
pub struct CanaryRuns {
    model: String,
    /// The folder of the runs.
    folder: PathBuf,
    /// The folder of the recorded tasks.
    tasks: PathBuf,
}

impl CanaryRuns {
    /// The model.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Runs the tasks, or continues an interrupted run, and compares the results with the baseline.
    pub async fn run(
        &self,
        suite: Suite,
        options: CanaryRunOptions,
        env: &ProcessEnv,
        progress: &mut dyn FnMut(&EvaluationProgress<'_>),
    ) -> Result<CanaryOutcome> {
        let baseline = self.folder.join(BASELINE);
        let is_finished = |run: &Path| run.join(FINISHED).exists();
        if options.renews_baseline && is_finished(&baseline) {
            fs::remove_dir_all(&baseline).map_err(|error| Failure::file("remove", &baseline, &error))?;
        }
        let is_baseline = !is_finished(&baseline);
        let out = match (is_baseline, self.newest()) {
            (true, _) => baseline,
            // A run that was interrupted continues.
            (false, Some(newest)) if !is_finished(&newest) => newest,
            (false, newest) => self.folder.join(free_run_number(newest.as_deref()).to_string()),
        };
        let mut results = ResultsFile::open(&out.join(RESULTS)).map_err(failure)?;
        let total = suite.tasks.len() * options.rounds as usize;
        let mut evaluation = SuiteRun {
            tasks: suite.tasks,
            configurations: vec![self.configuration(options.program, options.arguments)],
            repetitions: 1,
            jobs: options.jobs,
            retry_errors: true,
            settings: runner_settings(&self.tasks, &out, &[], false, env)?,
        };
        let mut findings = Vec::new();
        for round in 1..=options.rounds {
            evaluation.repetitions = round;
            let attempts = evaluation
                .run(&mut results, &mut |step| {
                    progress(&EvaluationProgress { total, ..*step })
                })
                .await
                .map_err(failure)?;
            let look = look_after(round).or_else(|| (round == options.rounds).then(|| looks_until(round)));
            if let (false, Some(look)) = (is_baseline, look) {
                findings = compare(&self.baseline()?, &attempts, look);
                let is_decided =
                    |finding: &CanaryFinding| finding.quantity == CanaryQuantity::Success && finding.change.is_some();
                if findings.iter().any(is_decided) {
                    break;
                }
            }
        }
        write(&out.join(FINISHED), b"")?;
        let attempts = results.attempts().count();
        match is_baseline {
            true => Ok(CanaryOutcome::Baseline(attempts)),
            false => Ok(CanaryOutcome::Compared(self.compared(findings, attempts)?)),
        }
    }

    /// Compares the newest run with the baseline again.
    pub fn report(&self) -> Result<CanaryReport> {
        let Some(newest) = self.newest() else {
            let message = format!("{} has no run to compare with its baseline", self.model);
            return Err(Failure::usage(message).hint("hew canary run"));
        };
        let attempts = ResultsFile::read(&newest.join(RESULTS)).map_err(failure)?;
        let rounds = attempts.iter().map(|attempt| attempt.key.repetition).max().unwrap_or(1);
        let findings = compare(&self.baseline()?, &attempts, looks_until(rounds));
        self.compared(findings, attempts.len())
    }

    fn compared(&self, findings: Vec<CanaryFinding>, attempts: usize) -> Result<CanaryReport> {
        Ok(CanaryReport {
            model: self.model.clone(),
            baseline_attempts: self.baseline()?.len(),
            attempts,
            findings,
        })
    }

    fn configuration(&self, program: PathBuf, arguments: Vec<String>) -> Configuration {
        let mut all = match self.model.as_str() {
            "default" => Vec::new(),
            model => vec!["--model".to_owned(), model.to_owned()],
        };
        all.extend(arguments);
        Configuration {
            name: self.model.clone(),
            agent: AgentCommand::Hew {
                program,
                arguments: all,
            },
        }
    }

    /// The newest run besides the baseline.
    fn newest(&self) -> Option<PathBuf> {
        let entries = fs::read_dir(&self.folder).ok()?;
        let runs = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u64>().ok());
        runs.max().map(|newest| self.folder.join(newest.to_string()))
    }

    fn baseline(&self) -> Result<Vec<Attempt>> {
        ResultsFile::read(&self.folder.join(BASELINE).join(RESULTS)).map_err(failure)
    }
}

/// The start of a run in seconds since 1970, and later than that of the newest one.
fn free_run_number(newest: Option<&Path>) -> u64 {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or(Duration::ZERO)
        .as_secs();
    let newest = newest.and_then(|path| path.file_name()?.to_str()?.parse::<u64>().ok());
    newest.map_or(now, |newest| now.max(newest + 1))
}
