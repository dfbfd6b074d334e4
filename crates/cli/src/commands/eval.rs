//! `hew eval`: runs agents on a suite of tasks and compares them.

use crate::args::{EvalArgs, GlobalArgs};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::output;
use crate::output::format::{plural, sanitise};
use analysis::evaluation::{self, ConfigurationRequest, EvaluationReport, RESULTS, failure, reason, runner_settings};
use clap::ValueEnum;
use eval::{Attempt, AttemptOutcome, EvaluationProgress, ResultsFile, RunnerSettings, Suite, SuiteOptions, SuiteRun};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// The width of the progress bar.
const BAR: usize = 30;

pub(super) async fn eval(mut args: EvalArgs, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    if let Some(folder) = &global.cwd {
        let paths = [&mut args.out, &mut args.html, &mut args.checkouts]
            .into_iter()
            .flatten();
        let lists = args
            .against
            .iter_mut()
            .chain(&mut args.writable)
            .chain([&mut args.suite]);
        paths.chain(lists).for_each(|path| *path = folder.join(&path));
    }
    let options = SuiteOptions {
        filters: args.tasks.clone(),
        checkouts: args.checkouts.clone(),
    };
    let mut suite = Suite::load(&args.suite, &options).map_err(failure)?;
    let out = match &args.out {
        Some(out) => out.clone(),
        None => evaluation::results_folder(&args.suite, env)?,
    };
    let settings = runner_settings(&args.suite, &out, &args.writable, args.keep, env)?;
    suite.skip_unavailable(&settings.check_environment);
    if args.list {
        list(&suite);
        return Ok(ExitStatus::Done);
    }
    for skipped in &suite.skipped {
        output::print_stderr(&format!("skipped {}: {}\n", skipped.id, skipped.reason));
    }
    let jobs = args.jobs.unwrap_or_else(evaluation::default_jobs);
    if args.verify {
        return verify(&suite, &settings, jobs).await;
    }
    let configurations = evaluation::configurations(&ConfigurationRequest {
        program: &hew_program()?,
        arguments: &shared_arguments(global),
        default_model: global.turn.model.as_deref(),
        models: &args.models,
        variants: &args.variants,
        agents: &args.agents,
    })?;
    let path = out.join(RESULTS);
    if args.new && path.exists() {
        evaluation::set_aside(&path)?;
    }
    let mut results = ResultsFile::open(&path).map_err(failure)?;
    let run = SuiteRun {
        tasks: suite.tasks,
        configurations,
        repetitions: args.repetitions,
        jobs,
        retry_errors: args.retry_errors,
        settings,
    };
    let mut progress = ProgressBar::new();
    let attempts = run
        .run(&mut results, &mut |step| progress.show(step))
        .await
        .map_err(failure)?;
    progress.finish();
    let names = run.configurations.iter().map(|one| one.name.clone()).collect();
    report(&args, &out, names, attempts, suite.skipped.len())
}

/// Prints the results and writes the report.
fn report(
    args: &EvalArgs,
    out: &Path,
    names: Vec<String>,
    attempts: Vec<Attempt>,
    skipped: usize,
) -> Result<ExitStatus> {
    let report = EvaluationReport::new(names, attempts, &args.against, &args.compare)?;
    let page = args.html.clone().unwrap_or_else(|| out.join("report.html"));
    let html = report.html(&format!("hew eval {}", args.suite.display()));
    std::fs::write(&page, html).map_err(|error| Failure::file("write", &page, &error))?;
    if args.json {
        output::print_checked(&output::pretty(&report.json(skipped, &out.join(RESULTS), &page))?)?;
        return Ok(ExitStatus::Done);
    }
    output::print(&report.text());
    let mut errors = report.errors();
    if let Some(first) = errors.next() {
        output::print_stderr(&format!(
            "{} failed before the model replied, for example: {}\n`--retry-errors` repeats them\n",
            plural(errors.count() as u64 + 1, "attempt"),
            reason(first)
        ));
    }
    output::print_stderr(&format!(
        "report: {}\nsessions: HEW_DATA_DIR={} hew sessions show ID\n",
        page.display(),
        out.join("data").display()
    ));
    Ok(ExitStatus::Done)
}

fn list(suite: &Suite) {
    let mut text = String::new();
    for task in &suite.tasks {
        let facts: Vec<&str> = [&task.language, &task.kind]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect();
        text.push_str(&format!("{}  {}\n", task.id, facts.join(", ")));
    }
    for skipped in &suite.skipped {
        text.push_str(&format!("{}  skipped: {}\n", skipped.id, skipped.reason));
    }
    output::print(&text);
}

async fn verify(suite: &Suite, settings: &RunnerSettings, jobs: usize) -> Result<ExitStatus> {
    let verified = eval::verify(&suite.tasks, settings, jobs).await.map_err(failure)?;
    let mut failed = 0;
    for one in &verified {
        failed += usize::from(!one.problems.is_empty());
        for problem in &one.problems {
            output::print(&format!("{}: {}\n", one.task, sanitise(problem)));
        }
    }
    let (count, skipped) = (verified.len(), suite.skipped.len());
    output::print(&format!(
        "{} of {count} tasks are valid, {skipped} skipped\n",
        count - failed
    ));
    Ok(match failed {
        0 => ExitStatus::Done,
        _ => ExitStatus::Failed,
    })
}

/// The options of every command that `hew run` gets, too.
pub(super) fn shared_arguments(global: &GlobalArgs) -> Vec<String> {
    let turn = &global.turn;
    let name = |value: Option<clap::builder::PossibleValue>| value.map(|value| value.get_name().to_owned());
    let options = [
        ("--mode", turn.mode.clone()),
        (
            "--permission",
            turn.permission.and_then(|level| name(level.to_possible_value())),
        ),
        (
            "--effort",
            turn.effort.and_then(|effort| name(effort.to_possible_value())),
        ),
    ];
    let set = global.set.iter().map(|pair| ("--set", Some(pair.clone())));
    let given = options
        .into_iter()
        .chain(set)
        .filter_map(|(flag, value)| Some([flag.to_owned(), value?]));
    given.flatten().collect()
}

/// The path of this binary.
pub(super) fn hew_program() -> Result<PathBuf> {
    std::env::current_exe().map_err(|error| Failure::failed(format!("cannot find the binary of hew: {error}")))
}

/// The progress on stderr: a bar on a terminal, otherwise a line for each attempt.
pub(super) struct ProgressBar {
    is_terminal: bool,
}

impl ProgressBar {
    pub(super) fn new() -> Self {
        Self {
            is_terminal: std::io::stderr().is_terminal(),
        }
    }

    pub(super) fn show(&mut self, progress: &EvaluationProgress<'_>) {
        let EvaluationProgress {
            done,
            total,
            solved,
            attempt,
        } = progress;
        if self.is_terminal {
            let full = BAR * done / total.max(&1);
            let bar = format!("{}{}", "█".repeat(full), "░".repeat(BAR - full));
            output::print_stderr(&format!("\r\u{1b}[2K{bar} {done}/{total}, {solved} solved"));
        } else if let Some(attempt) = attempt {
            let outcome = match attempt.outcome {
                AttemptOutcome::Solved => "solved".to_owned(),
                AttemptOutcome::Unsolved => "unsolved".to_owned(),
                AttemptOutcome::Error => format!("error: {}", reason(attempt)),
            };
            let eval::AttemptKey {
                task,
                configuration,
                repetition,
            } = &attempt.key;
            output::print_stderr(&format!(
                "{done}/{total} {task} {configuration} #{repetition}: {outcome}\n"
            ));
        }
    }

    pub(super) fn finish(&self) {
        if self.is_terminal {
            output::print_stderr("\r\u{1b}[2K");
        }
    }
}
