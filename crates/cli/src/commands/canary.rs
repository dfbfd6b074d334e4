//! `hew canary`: reruns recorded tasks and detects changes of a model or of hew.

use super::eval::{ProgressBar, failure, hew_program, runner_settings, shared_arguments};
use super::history::open_history;
use super::load;
use super::project_copy::{copy_project, restore, write};
use crate::args::{CanaryAddArgs, CanaryCommand, CanaryRunArgs, GlobalArgs};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::output;
use eval::canary::{CanaryDirection, CanaryFinding, CanaryQuantity, compare, findings_text, look_after, looks_until};
use eval::{AgentCommand, Attempt, Configuration, EvaluationProgress, ResultsFile, Suite, SuiteOptions, SuiteRun};
use host::paths;
use host::sessions::open_store;
use model::{Part, PartOrigin};
use review::{SessionAccess, SessionHistory, prompts};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The name of the file with the results of a run.
const RESULTS: &str = "results.jsonl";
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

/// The output of `--json`.
#[derive(Serialize)]
struct CanaryReport<'a> {
    model: &'a str,
    baseline_attempts: usize,
    attempts: usize,
    findings: &'a [CanaryFinding],
}

pub(super) async fn canary(command: CanaryCommand, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let folder = paths::data_dir(env)?.join("canary");
    match command {
        CanaryCommand::Add(args) => add(&args, &folder.join("tasks"), global, env).await,
        CanaryCommand::List => {
            for task in load_tasks(&folder)?.tasks {
                let prompt = task.prompt.lines().next().unwrap_or_default();
                output::print(&format!("{}  {prompt}  ({})\n", task.id, task.check));
            }
            Ok(ExitStatus::Done)
        }
        CanaryCommand::Remove { names } => remove(&folder.join("tasks"), &names),
        CanaryCommand::Run(args) => loop {
            let exit = run(&args, &folder, global, env).await?;
            match args.every {
                Some(interval) => tokio::time::sleep(interval.0).await,
                None => return Ok(exit),
            }
        },
        CanaryCommand::Report { json } => report(&folder, json, global, env),
    }
}

/// Records the task of a session.
async fn add(args: &CanaryAddArgs, tasks: &Path, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let history = open_history(args.session.as_deref(), SessionAccess::Read, global, env).await?;
    let Some(prompt) = first_prompt(&history) else {
        return Err(Failure::usage("the session has no prompt"));
    };
    let root = history.root().to_owned();
    let base = root.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name = args.name.clone().unwrap_or_else(|| {
        let free = (1..)
            .map(|n| format!("{base}-{n}"))
            .find(|name| !tasks.join(name).exists());
        free.unwrap_or(base)
    });
    let folder = tasks.join(&name);
    if name.contains('/') || folder.exists() {
        return Err(
            Failure::usage(format!("`{name}` is not a free name")).hint("`hew canary list` lists the recorded tasks")
        );
    }
    // A recording that was interrupted has no `task.toml` and is not a task.
    let copy = folder.join("project");
    copy_project(&root, &copy)?;
    let store = open_store(env)?;
    restore(&store, history.items(), 0, &root, &copy).await?;
    let task = RecordedTask {
        prompt: &prompt,
        check: &args.check,
    };
    let text = toml::to_string(&task).map_err(|error| Failure::failed(error.to_string()))?;
    write(&folder.join("task.toml"), text.as_bytes())?;
    output::print(&format!("recorded {name}\n"));
    check_fails_before(&folder, env).await?;
    Ok(ExitStatus::Done)
}

/// Warns if the check of a new task succeeds without any work.
async fn check_fails_before(folder: &Path, env: &ProcessEnv) -> Result<()> {
    let suite = Suite::load(folder, &SuiteOptions::default()).map_err(failure)?;
    let settings = runner_settings(folder, folder, &[], false, env)?;
    let verified = eval::verify(&suite.tasks, &settings, 1).await.map_err(failure)?;
    let succeeds = verified
        .iter()
        .flat_map(|one| &one.problems)
        .any(|problem| problem.contains("without a solution"));
    if succeeds {
        output::print_stderr(
            "warning: the check succeeds on the project before the session, so the task is always solved\n",
        );
    }
    Ok(())
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

fn load_tasks(folder: &Path) -> Result<Suite> {
    let tasks = folder.join("tasks");
    let missing = || Failure::usage("no task is recorded").hint("record one: hew canary add SESSION --check COMMAND");
    if !tasks.is_dir() {
        return Err(missing());
    }
    Suite::load(&tasks, &SuiteOptions::default()).map_err(|error| match error {
        eval::Error::NoTasks { .. } => missing(),
        error => failure(error),
    })
}

fn remove(tasks: &Path, names: &[String]) -> Result<ExitStatus> {
    for name in names {
        let folder = tasks.join(name);
        if name.contains('/') || name.starts_with('.') || !folder.is_dir() {
            return Err(
                Failure::usage(format!("there is no task `{name}`")).hint("`hew canary list` lists the recorded tasks")
            );
        }
        fs::remove_dir_all(&folder).map_err(|error| Failure::file("remove", &folder, &error))?;
    }
    Ok(ExitStatus::Done)
}

/// The runs of a model.
struct CanaryRuns {
    model: String,
    folder: PathBuf,
}

impl CanaryRuns {
    fn open(folder: &Path, global: &GlobalArgs, env: &ProcessEnv) -> Result<Self> {
        let (_, loaded) = load(global, env, Vec::new())?;
        let model = loaded.config.model.clone().unwrap_or_else(|| "default".into());
        let name: String = model
            .chars()
            .map(|letter| {
                if letter.is_ascii_alphanumeric() || "-._".contains(letter) {
                    letter
                } else {
                    '_'
                }
            })
            .collect();
        Ok(Self {
            model,
            folder: folder.join("runs").join(name),
        })
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

async fn run(args: &CanaryRunArgs, folder: &Path, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let suite = load_tasks(folder)?;
    let runs = CanaryRuns::open(folder, global, env)?;
    let baseline = runs.folder.join(BASELINE);
    let is_finished = |run: &Path| run.join(FINISHED).exists();
    if args.baseline && is_finished(&baseline) {
        fs::remove_dir_all(&baseline).map_err(|error| Failure::file("remove", &baseline, &error))?;
    }
    let is_baseline = !is_finished(&baseline);
    let out = match (is_baseline, runs.newest()) {
        (true, _) => baseline,
        // A run that was interrupted continues.
        (false, Some(newest)) if !is_finished(&newest) => newest,
        (false, newest) => runs.folder.join(free_run_number(newest.as_deref()).to_string()),
    };
    let mut arguments = vec!["--model".to_owned(), runs.model.clone()];
    if runs.model == "default" {
        arguments.clear();
    }
    arguments.extend(shared_arguments(global));
    let configuration = Configuration {
        name: runs.model.clone(),
        agent: AgentCommand::Hew {
            program: hew_program()?,
            arguments,
        },
    };
    let mut evaluation = SuiteRun {
        tasks: suite.tasks,
        configurations: vec![configuration],
        repetitions: 1,
        jobs: args.jobs,
        retry_errors: true,
        settings: runner_settings(&folder.join("tasks"), &out, &[], false, env)?,
    };
    let mut results = ResultsFile::open(&out.join(RESULTS)).map_err(failure)?;
    let mut progress = ProgressBar::new();
    let total = evaluation.tasks.len() * args.rounds as usize;
    let mut findings = Vec::new();
    for round in 1..=args.rounds {
        evaluation.repetitions = round;
        let attempts = evaluation
            .run(&mut results, &mut |step| {
                progress.show(&EvaluationProgress { total, ..*step });
            })
            .await
            .map_err(failure)?;
        let look = look_after(round).or_else(|| (round == args.rounds).then(|| looks_until(round)));
        if let (false, Some(look)) = (is_baseline, look) {
            findings = compare(&runs.baseline()?, &attempts, look);
            let is_decided =
                |finding: &CanaryFinding| finding.quantity == CanaryQuantity::Success && finding.change.is_some();
            if findings.iter().any(is_decided) {
                break;
            }
        }
    }
    progress.finish();
    write(&out.join(FINISHED), b"")?;
    if is_baseline {
        let count = results.attempts().count();
        output::print(&format!("recorded the baseline of {}: {count} attempts\n", runs.model));
        return Ok(ExitStatus::Done);
    }
    print(&runs, &findings, results.attempts().count(), args.json)
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

fn report(folder: &Path, json: bool, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let runs = CanaryRuns::open(folder, global, env)?;
    let Some(newest) = runs.newest() else {
        let message = format!("{} has no run to compare with its baseline", runs.model);
        return Err(Failure::usage(message).hint("hew canary run"));
    };
    let attempts = ResultsFile::read(&newest.join(RESULTS)).map_err(failure)?;
    let rounds = attempts.iter().map(|attempt| attempt.key.repetition).max().unwrap_or(1);
    let findings = compare(&runs.baseline()?, &attempts, looks_until(rounds));
    print(&runs, &findings, attempts.len(), json)
}

/// Prints findings. A lower success rate is a failure, so that scripts notice it.
fn print(runs: &CanaryRuns, findings: &[CanaryFinding], attempts: usize, json: bool) -> Result<ExitStatus> {
    let baseline_attempts = runs.baseline()?.len();
    match json {
        true => {
            let report = CanaryReport {
                model: &runs.model,
                baseline_attempts,
                attempts,
                findings,
            };
            output::print_checked(&output::pretty(&report)?)?;
        }
        false => {
            let head = format!(
                "{}: {attempts} attempts compared with {baseline_attempts} of the baseline\n",
                runs.model
            );
            output::print(&(head + &findings_text(findings)));
        }
    }
    let is_drop = |finding: &CanaryFinding| {
        finding.quantity == CanaryQuantity::Success && finding.change == Some(CanaryDirection::Decreased)
    };
    Ok(match findings.iter().any(is_drop) {
        true => ExitStatus::Failed,
        false => ExitStatus::Done,
    })
}
