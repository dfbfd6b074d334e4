//! Evaluations of hew and other agents on suites: configurations, settings, and the report on the results.

use crate::failure::{Failure, Result};
use crate::output::format::line;
use eval::{AgentCommand, Attempt, AttemptOutcome, Comparison, Configuration, ResultsFile, RunnerSettings, Summary};
use host::environment::ProcessEnv;
use host::paths;
use sandbox::ProcessEnvironment;
use serde::Serialize;
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// The file with the results, in their folder.
pub const RESULTS: &str = "results.jsonl";
/// The default maximum of attempts at the same time.
const MAX_JOBS: usize = 8;

/// Which models, variants and agents are compared.
#[derive(Debug, Clone)]
pub struct ConfigurationRequest<'a> {
    /// The binary of hew.
    pub program: &'a Path,
    /// Arguments of every run of hew.
    pub arguments: &'a [String],
    /// The model of hew if no models are listed.
    pub default_model: Option<&'a str>,
    /// The models to compare.
    pub models: &'a [String],
    /// Each model is evaluated with the arguments of each variant: `NAME=ARGS`.
    pub variants: &'a [String],
    /// Other agents: `[NAME=]COMMAND`.
    pub agents: &'a [String],
}

/// The configurations: models with variants, then other agents. The configured model if nothing is requested.
pub fn configurations(request: &ConfigurationRequest<'_>) -> Result<Vec<Configuration>> {
    let models: Vec<Option<&str>> = match request.models {
        [] => vec![request.default_model],
        models => models.iter().map(|model| Some(model.as_str())).collect(),
    };
    let mut variants = Vec::new();
    for variant in request.variants {
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
    let only_agents = !request.agents.is_empty()
        && request.models.is_empty()
        && request.variants.is_empty()
        && request.default_model.is_none();
    if !only_agents {
        for model in &models {
            for (variant, arguments) in &variants {
                let name = match (model, variant) {
                    (Some(model), Some(variant)) => format!("{model} {variant}"),
                    (Some(name), None) | (None, Some(name)) => (*name).to_owned(),
                    (None, None) => "hew".into(),
                };
                configurations.push(hew_configuration(request, name, *model, arguments));
            }
        }
    }
    configurations.extend(request.agents.iter().map(|agent| named_agent(agent)));
    let mut seen = std::collections::BTreeSet::new();
    match configurations.iter().find(|one| !seen.insert(one.name.as_str())) {
        Some(twice) => Err(Failure::usage(format!("two configurations are named `{}`", twice.name))
            .hint("name them: --agent NAME=COMMAND, --variant NAME=ARGS")),
        None => Ok(configurations),
    }
}

fn hew_configuration(
    request: &ConfigurationRequest<'_>,
    name: String,
    model: Option<&str>,
    arguments: &[String],
) -> Configuration {
    let model = model.map(|model| ["--model".to_owned(), model.to_owned()]);
    let all = model.into_iter().flatten();
    let all = all
        .chain(request.arguments.iter().cloned())
        .chain(arguments.iter().cloned());
    Configuration {
        name,
        agent: AgentCommand::Hew {
            program: request.program.to_owned(),
            arguments: all.collect(),
        },
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

/// One attempt per processor, with a maximum.
pub fn default_jobs() -> usize {
    std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(MAX_JOBS)
}

/// How attempts run, with results in this folder.
pub fn runner_settings(
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

/// The default folder for the results of a suite.
pub fn results_folder(suite: &Path, env: &ProcessEnv) -> Result<PathBuf> {
    let suite = std::fs::canonicalize(suite).unwrap_or_else(|_| suite.to_owned());
    let name = suite.file_stem().unwrap_or_default();
    Ok(paths::data_dir(env)?.join("eval").join(name))
}

/// Renames results to the first free name.
pub fn set_aside(path: &Path) -> Result<()> {
    let free = (1..)
        .map(|n| path.with_file_name(format!("results-{n}.jsonl")))
        .find(|path| !path.exists());
    match free {
        Some(free) => std::fs::rename(path, &free).map_err(|error| Failure::file("rename", path, &error)),
        None => Ok(()),
    }
}

/// An error of an evaluation for the user.
pub fn failure(error: eval::Error) -> Failure {
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
pub fn reason(attempt: &Attempt) -> String {
    let detail = attempt.detail.as_deref().unwrap_or("no output");
    line(detail.lines().next().unwrap_or_default(), 200)
}

/// The attempts of an evaluation with figures and comparisons.
#[derive(Debug)]
pub struct EvaluationReport {
    names: Vec<String>,
    attempts: Vec<Attempt>,
    summary: Summary,
    comparisons: Vec<Comparison>,
}

impl EvaluationReport {
    /// Adds the results of other folders, named like them, and compares two configurations, or the first with all others.
    pub fn new(
        mut names: Vec<String>,
        mut attempts: Vec<Attempt>,
        against: &[PathBuf],
        compare: &[String],
    ) -> Result<EvaluationReport> {
        for folder in against {
            let label = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            for mut attempt in ResultsFile::read(&folder.join(RESULTS)).map_err(failure)? {
                attempt.key.configuration = format!("{label}:{}", attempt.key.configuration);
                if !names.contains(&attempt.key.configuration) {
                    names.push(attempt.key.configuration.clone());
                }
                attempts.push(attempt);
            }
        }
        Ok(EvaluationReport {
            summary: Summary::new(&names, &attempts),
            comparisons: comparisons(compare, &names, &attempts)?,
            names,
            attempts,
        })
    }

    /// Tables.
    pub fn text(&self) -> String {
        let mut text = eval::summary_text(&self.summary);
        for comparison in &self.comparisons {
            text.push('\n');
            text.push_str(&eval::comparison_text(comparison));
        }
        text
    }

    /// A page.
    pub fn html(&self, title: &str) -> String {
        eval::html::report(title, &self.names, &self.attempts, &self.comparisons)
    }

    /// The figures, with the number of skipped tasks and the files of the results and the page.
    pub fn json<'a>(&'a self, skipped: usize, results: &'a Path, report: &'a Path) -> impl Serialize {
        EvaluationJson {
            summary: &self.summary,
            comparisons: &self.comparisons,
            skipped,
            results,
            report,
        }
    }

    /// The attempts that failed before the model replied.
    pub fn errors(&self) -> impl Iterator<Item = &Attempt> {
        self.attempts.iter().filter(|it| it.outcome == AttemptOutcome::Error)
    }
}

/// The output of `hew eval --json`.
#[derive(Serialize)]
struct EvaluationJson<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    comparisons: &'a [Comparison],
    skipped: usize,
    results: &'a Path,
    report: &'a Path,
}

fn comparisons(compare: &[String], names: &[String], attempts: &[Attempt]) -> Result<Vec<Comparison>> {
    if let [before, after] = compare {
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
