//! `hew eval`: runs agents on a suite of tasks and compares them.

use crate::args::{EvalArgs, GlobalArgs};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::output;
use crate::output::format::{line, plural, sanitise};
use clap::ValueEnum;
use eval::{
    AgentCommand, Attempt, AttemptOutcome, Comparison, Configuration, EvaluationProgress, ResultsFile, RunnerSettings,
    Suite, SuiteOptions, SuiteRun, Summary,
};
use host::paths;
use sandbox::ProcessEnvironment;
use serde::Serialize;
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// The file with the results, in their folder.
const RESULTS: &str = "results.jsonl";
/// The default maximum of attempts at the same time.
const MAX_JOBS: usize = 8;
/// The width of the progress bar.
const BAR: usize = 30;

/// The output of `hew eval --json`.
#[derive(Serialize)]
struct EvalReport<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    comparisons: &'a [Comparison],
    skipped: usize,
    results: &'a Path,
    report: &'a Path,
}

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
    let out = results_folder(&args, env)?;
    let settings = runner_settings(&args.suite, &out, &args.writable, args.keep, env)?;
    suite.skip_unavailable(&settings.check_environment);
    if args.list {
        list(&suite);
        return Ok(ExitStatus::Done);
    }
    for skipped in &suite.skipped {
        output::print_stderr(&format!("skipped {}: {}\n", skipped.id, skipped.reason));
    }
    let jobs = args.jobs.unwrap_or_else(default_jobs);
    if args.verify {
        return verify(&suite, &settings, jobs).await;
    }
    let configurations = configurations(&args, global)?;
    let path = out.join(RESULTS);
    if args.new && path.exists() {
        set_aside(&path)?;
    }
    let mut results = ResultsFile::open(&path).map_err(failure)?;
    let evaluation = SuiteRun {
        tasks: suite.tasks,
        configurations,
        repetitions: args.repetitions,
        jobs,
        retry_errors: args.retry_errors,
        settings,
    };
    let mut progress = ProgressBar::new();
    let attempts = evaluation
        .run(&mut results, &mut |step| progress.show(step))
        .await
        .map_err(failure)?;
    progress.finish();
    let names = evaluation.configurations.iter().map(|one| one.name.clone()).collect();
    report(&args, &out, names, attempts, suite.skipped.len())
}

/// Prints the results and writes the report.
fn report(
    args: &EvalArgs,
    out: &Path,
    mut names: Vec<String>,
    mut attempts: Vec<Attempt>,
    skipped: usize,
) -> Result<ExitStatus> {
    for folder in &args.against {
        let label = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for mut attempt in ResultsFile::read(&folder.join(RESULTS)).map_err(failure)? {
            attempt.key.configuration = format!("{label}:{}", attempt.key.configuration);
            if !names.contains(&attempt.key.configuration) {
                names.push(attempt.key.configuration.clone());
            }
            attempts.push(attempt);
        }
    }
    let summary = Summary::new(&names, &attempts);
    let comparisons = compared(args, &names, &attempts)?;
    let title = format!("hew eval {}", args.suite.display());
    let page = args.html.clone().unwrap_or_else(|| out.join("report.html"));
    let html = eval::html::report(&title, &names, &attempts, &comparisons);
    std::fs::write(&page, html).map_err(|error| Failure::file("write", &page, &error))?;
    if args.json {
        let report = EvalReport {
            summary: &summary,
            comparisons: &comparisons,
            skipped,
            results: &out.join(RESULTS),
            report: &page,
        };
        output::print_checked(&output::pretty(&report)?)?;
        return Ok(ExitStatus::Done);
    }
    let mut text = eval::summary_text(&summary);
    for comparison in &comparisons {
        text.push('\n');
        text.push_str(&eval::comparison_text(comparison));
    }
    output::print(&text);
    let mut errors = attempts.iter().filter(|it| it.outcome == AttemptOutcome::Error);
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

fn compared(args: &EvalArgs, names: &[String], attempts: &[Attempt]) -> Result<Vec<Comparison>> {
    if let [before, after] = &args.compare[..] {
        for name in [before, after] {
            if !names.contains(name) {
                return Err(Failure::usage(format!("there is no configuration `{name}`"))
                    .hint(format!("the configurations are {}", names.join(", "))));
            }
        }
        return Ok(Comparison::new(before, after, attempts).into_iter().collect());
    }
    let Some((first, others)) = names.split_first() else {
        return Ok(Vec::new());
    };
    Ok(others
        .iter()
        .filter_map(|other| Comparison::new(first, other, attempts))
        .collect())
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

/// The configurations: models with variants, then other agents. The configured model if nothing is requested.
fn configurations(args: &EvalArgs, global: &GlobalArgs) -> Result<Vec<Configuration>> {
    let program = hew_program()?;
    let models: Vec<Option<&String>> = match args.models.is_empty() {
        true => vec![global.turn.model.as_ref()],
        false => args.models.iter().map(Some).collect(),
    };
    let mut variants = Vec::new();
    for variant in &args.variants {
        let Some((name, arguments)) = variant.split_once('=') else {
            return Err(Failure::usage(format!(
                "--variant takes NAME=ARGS, but got `{variant}`"
            )));
        };
        variants.push((Some(name), arguments.split_whitespace().map(String::from).collect()));
    }
    if variants.is_empty() {
        variants.push((None, Vec::new()));
    }
    let mut configurations = Vec::new();
    let only_agents =
        !args.agents.is_empty() && args.models.is_empty() && args.variants.is_empty() && global.turn.model.is_none();
    if !only_agents {
        let common = shared_arguments(global);
        for model in &models {
            for (variant, arguments) in &variants {
                let name = match (model, variant) {
                    (Some(model), Some(variant)) => format!("{model} {variant}"),
                    (Some(name), None) => (*name).clone(),
                    (None, Some(name)) => (*name).to_owned(),
                    (None, None) => "hew".into(),
                };
                let model = model.map(|model| ["--model".to_owned(), model.clone()]);
                let arguments: Vec<String> = model
                    .into_iter()
                    .flatten()
                    .chain(common.clone())
                    .chain(arguments.clone())
                    .collect();
                let agent = AgentCommand::Hew {
                    program: program.clone(),
                    arguments,
                };
                configurations.push(Configuration { name, agent });
            }
        }
    }
    configurations.extend(args.agents.iter().map(|agent| named_agent(agent)));
    let mut seen = std::collections::BTreeSet::new();
    match configurations.iter().find(|one| !seen.insert(one.name.as_str())) {
        Some(twice) => Err(Failure::usage(format!("two configurations are named `{}`", twice.name))
            .hint("name them: --agent NAME=COMMAND, --variant NAME=ARGS")),
        None => Ok(configurations),
    }
}

/// `NAME=COMMAND`, or a command that is named like its program.
fn named_agent(text: &str) -> Configuration {
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .chars()
                .all(|letter| letter.is_alphanumeric() || "-_.".contains(letter))
    };
    // `VARIABLE=value command` is a command.
    let is_variable = |name: &str| {
        name.chars()
            .all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_')
    };
    let (name, command) = match text.split_once('=') {
        Some((name, command)) if is_name(name) && !is_variable(name) => (name, command),
        Some(_) | None => {
            let program = text.split_whitespace().next().unwrap_or(text);
            (program.rsplit('/').next().unwrap_or(program), text)
        }
    };
    Configuration {
        name: name.into(),
        agent: AgentCommand::Shell(command.into()),
    }
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

pub(super) fn default_jobs() -> usize {
    std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(MAX_JOBS)
}

/// How attempts run, with results in this folder.
pub(super) fn runner_settings(
    suite: &Path,
    out: &Path,
    writable: &[PathBuf],
    keep_copies: bool,
    env: &ProcessEnv,
) -> Result<RunnerSettings> {
    let absolute = |path: &Path| std::path::absolute(path).map_err(|error| Failure::file("find", path, &error));
    let variables = || {
        env.all()
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)))
    };
    let out = absolute(out)?;
    let none: [&str; 0] = [];
    Ok(RunnerSettings {
        agent_environment: ProcessEnvironment::scrubbed(variables(), &none, &["*"]),
        check_environment: ProcessEnvironment::scrubbed(variables(), &none, &none),
        // Short, the same after a restart, and outside of every repository.
        work: std::env::temp_dir().join(format!("hew-eval-{:08x}", short_hash(&out))),
        data: out.join("data"),
        transcripts: out.join("transcripts"),
        repositories: paths::cache_dir(env)?.join("repositories"),
        private: vec![absolute(suite)?, out],
        writable: writable.iter().map(|path| absolute(path)).collect::<Result<_>>()?,
        keep_copies,
    })
}

fn short_hash(path: &Path) -> u32 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish() as u32
}

fn results_folder(args: &EvalArgs, env: &ProcessEnv) -> Result<PathBuf> {
    if let Some(out) = &args.out {
        return Ok(out.clone());
    }
    let suite = std::fs::canonicalize(&args.suite).unwrap_or_else(|_| args.suite.clone());
    let name = suite.file_stem().unwrap_or_default();
    Ok(paths::data_dir(env)?.join("eval").join(name))
}

/// Renames results to the first free name.
fn set_aside(path: &Path) -> Result<()> {
    let free = (1..)
        .map(|n| path.with_file_name(format!("results-{n}.jsonl")))
        .find(|path| !path.exists());
    match free {
        Some(free) => std::fs::rename(path, &free).map_err(|error| Failure::file("rename", path, &error)),
        None => Ok(()),
    }
}

pub(super) fn failure(error: eval::Error) -> Failure {
    let failure = match &error {
        eval::Error::NoTasks { .. }
        | eval::Error::NoMatch { .. }
        | eval::Error::InvalidTask { .. }
        | eval::Error::OtherSettings { .. } => Failure::usage(error.to_string()),
        eval::Error::File { .. }
        | eval::Error::InvalidResults { .. }
        | eval::Error::InUse { .. }
        | eval::Error::Preparation { .. }
        | eval::Error::Process(_) => Failure::failed(error.to_string()),
    };
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// The first line of what an attempt reported.
fn reason(attempt: &Attempt) -> String {
    let detail = attempt.detail.as_deref().unwrap_or("no output");
    line(detail.lines().next().unwrap_or_default(), 200)
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
