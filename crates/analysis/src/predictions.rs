//! Predictions compared with the edits of a repository's commits.

use crate::failure::{Failure, Result};
use backends::PredictionModel;
use host::environment::ProcessEnv;
use host::program::run_program;
use predict::answer::{self, AnswerEnd, RejectedAnswer};
use predict::evaluation::{self, PredictionCase, PredictionScore};
use predict::prompt::{self, PromptInput};
use predict::{EditHistory, EditorBuffer, ExcerptLimits, FormatKind};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// Larger files are skipped.
const MAX_FILE: usize = 400_000;
/// The number of commits that are read.
const MAX_COMMITS: usize = 2_000;

/// The edits of a repository's commits that are predicted.
#[derive(Debug, Clone)]
pub struct CommitEdits<'a> {
    /// The repository.
    pub repository: &'a Path,
    /// How many edits are skipped first.
    pub skip: usize,
    /// The maximum number of edits.
    pub limit: usize,
}

/// The sums of all cases.
#[derive(Debug, Default)]
pub struct EvaluationTotals {
    cases: usize,
    exact: usize,
    reverting: usize,
    answered: usize,
    line_f1: f64,
    delta_chrf: f64,
    prompt_tokens: usize,
    times: Vec<Duration>,
    /// The number of requests that failed. Their edits count as not predicted.
    failed: usize,
    /// The last error.
    failure: Option<Failure>,
}

/// Which prompt is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PredictionMethod {
    /// With the edit history.
    Prediction,
    /// A completion at the cursor, without history.
    Baseline,
}

impl PredictionMethod {
    /// The name in the output.
    pub fn name(self) -> &'static str {
        match self {
            PredictionMethod::Prediction => "prediction",
            PredictionMethod::Baseline => "baseline",
        }
    }
}

/// Measures a model with each method; `progress` receives the method, the number of the edit and the number of all edits.
pub async fn evaluate(
    edits: &CommitEdits<'_>,
    model: &PredictionModel,
    methods: &[PredictionMethod],
    env: &ProcessEnv,
    mut progress: impl FnMut(PredictionMethod, usize, usize),
) -> Result<Vec<(PredictionMethod, EvaluationTotals)>> {
    let cases = read_cases(edits, env).await?;
    if cases.is_empty() {
        return Err(Failure::usage(
            "the repository has no commits with several edits of one file",
        ));
    }
    let mut results = Vec::new();
    for method in methods {
        let mut totals = EvaluationTotals::default();
        for (number, case) in cases.iter().enumerate() {
            progress(*method, number + 1, cases.len());
            match measure(case, model, *method).await {
                Ok(measured) => totals.add(measured),
                Err(error) => totals.add_failure(error),
            }
        }
        // Without any answer there is nothing to report.
        if let (Some(error), true) = (totals.failure.take(), totals.failed == totals.cases) {
            return Err(error);
        }
        results.push((*method, totals));
    }
    Ok(results)
}

/// The outcome of one case.
struct Measured {
    score: PredictionScore,
    rejected: Option<RejectedAnswer>,
    prompt_tokens: usize,
    time: Duration,
}

async fn measure(case: &PredictionCase, model: &PredictionModel, method: PredictionMethod) -> Result<Measured> {
    let none = EditHistory::default();
    let history = match method {
        PredictionMethod::Prediction => &case.history,
        PredictionMethod::Baseline => &none,
    };
    let input = PromptInput {
        path: &case.path,
        buffer: &case.buffer,
        cursor: case.cursor,
        blocks: &[],
        history,
        related: &[],
        diagnostics: &[],
        limits: ExcerptLimits::default(),
    };
    let start = Instant::now();
    let Some(mut prompt) = prompt::build(model.format, &input) else {
        return Ok(Measured {
            score: PredictionScore::default(),
            rejected: Some(RejectedAnswer::NoEdit),
            prompt_tokens: 0,
            time: start.elapsed(),
        });
    };
    let is_plain = method == PredictionMethod::Baseline && model.format.kind == FormatKind::Fim;
    if is_plain {
        prompt = prompt::completion_at_cursor(model.format, &input, prompt);
    }
    let answer = model
        .complete(&prompt)
        .await
        .map_err(|error| Failure::failed(error.to_string()))?;
    let time = start.elapsed();
    let prompt_tokens = prompt::estimate_tokens(&prompt.text);
    let parsed = if is_plain {
        Ok(insert(&case.buffer, case.cursor, model, &answer.text, answer.end))
    } else {
        answer::parse(
            model.format,
            &prompt,
            &case.buffer,
            history,
            &case.path,
            (&answer.text, answer.end),
        )
        .map(|prediction| prediction.apply(&case.buffer))
    };
    let (predicted, rejected) = match parsed {
        Ok(predicted) => (predicted, None),
        Err(reason) => (case.buffer.clone(), Some(reason)),
    };
    Ok(Measured {
        score: evaluation::score(case, &predicted),
        rejected,
        prompt_tokens,
        time,
    })
}

/// The buffer with an answer inserted as it is.
fn insert(buffer: &EditorBuffer, cursor: usize, model: &PredictionModel, text: &str, end: AnswerEnd) -> EditorBuffer {
    let at = model
        .format
        .end
        .iter()
        .filter_map(|marker| text.find(marker.as_str()))
        .min();
    let text = &text[..at.unwrap_or(text.len())];
    let text = match (end, text.rfind('\n')) {
        (AnswerEnd::Limit, Some(last)) => &text[..last],
        (AnswerEnd::Limit | AnswerEnd::Complete, _) => text,
    };
    let mut predicted = buffer.clone();
    predicted.replace_span(cursor..cursor, text);
    predicted
}

impl EvaluationTotals {
    fn add(&mut self, measured: Measured) {
        self.cases += 1;
        self.exact += usize::from(measured.score.exact);
        self.line_f1 += measured.score.line_f1;
        self.delta_chrf += measured.score.delta_chrf;
        self.reverting += usize::from(measured.rejected == Some(RejectedAnswer::Reverts));
        self.answered += usize::from(measured.rejected.is_none());
        self.prompt_tokens += measured.prompt_tokens;
        self.times.push(measured.time);
    }

    fn add_failure(&mut self, error: Failure) {
        self.cases += 1;
        self.failed += 1;
        self.failure = Some(error);
    }

    fn median_ms(&self) -> u128 {
        let mut times = self.times.clone();
        times.sort();
        times.get(times.len() / 2).map_or(0, Duration::as_millis)
    }

    fn share(&self, sum: f64) -> f64 {
        sum / self.cases.max(1) as f64
    }

    /// One line.
    pub fn line(&self, name: &str) -> String {
        let failed = match self.failed {
            0 => String::new(),
            1 => ", 1 request failed".into(),
            count => format!(", {count} requests failed"),
        };
        format!(
            "{name}: {} edits, exact {:.1} %, line F1 {:.3}, deltaChrF {:.3}, answered {:.1} %, reverting {:.1} %, \
             {} prompt tokens on average, median {} ms{failed}\n",
            self.cases,
            self.share(self.exact as f64) * 100.0,
            self.share(self.line_f1),
            self.share(self.delta_chrf),
            self.share(self.answered as f64) * 100.0,
            self.share(self.reverting as f64) * 100.0,
            self.prompt_tokens / self.cases.max(1),
            self.median_ms()
        )
    }

    /// The averages.
    pub fn json(&self, name: &str, model: &str) -> Value {
        json!({
            "method": name,
            "model": model,
            "edits": self.cases,
            "exact": self.share(self.exact as f64),
            "line_f1": self.share(self.line_f1),
            "delta_chrf": self.share(self.delta_chrf),
            "answered": self.share(self.answered as f64),
            "reverting": self.share(self.reverting as f64),
            "failed": self.failed,
            "prompt_tokens": self.prompt_tokens,
            "median_ms": self.median_ms() as u64,
        })
    }
}

/// The cases of the newest commits, oldest edits of each commit first.
async fn read_cases(edits: &CommitEdits<'_>, env: &ProcessEnv) -> Result<Vec<PredictionCase>> {
    let repository = edits.repository;
    let count = format!("-n{MAX_COMMITS}");
    let log = git(repository, &["log", "--no-merges", "--format=%H", &count], env).await?;
    let mut cases = Vec::new();
    for commit in log.lines() {
        let changed = git(
            repository,
            &[
                "diff-tree",
                "--no-commit-id",
                "--name-only",
                "--diff-filter=M",
                "-r",
                commit,
            ],
            env,
        )
        .await?;
        for path in changed
            .lines()
            .filter(|path| index::Language::of_path(Path::new(path)).is_some())
        {
            let (old, new) = (format!("{commit}~1:{path}"), format!("{commit}:{path}"));
            let (Ok(old), Ok(new)) = (
                git(repository, &["show", &old], env).await,
                git(repository, &["show", &new], env).await,
            ) else {
                continue;
            };
            if old.len().max(new.len()) <= MAX_FILE {
                cases.extend(evaluation::cases(path, &old, &new));
            }
        }
        if cases.len() >= edits.skip + edits.limit {
            break;
        }
    }
    Ok(cases.into_iter().skip(edits.skip).take(edits.limit).collect())
}

async fn git(repository: &Path, args: &[&str], env: &ProcessEnv) -> Result<String> {
    let folder = repository.display().to_string();
    let safe = [
        "-C",
        &folder,
        "-c",
        "core.fsmonitor=false",
        "-c",
        "safe.bareRepository=explicit",
    ];
    let all: Vec<String> = safe.iter().chain(args).map(|arg| (*arg).to_owned()).collect();
    run_program("git", &all, env, &[])
        .await
        .map_err(|error| Failure::failed(format!("git {}: {error}", args.join(" "))))
}
