//! `hew predict`: edit predictions for editors, their counts, and their evaluation.

use super::load;
use crate::args::{GlobalArgs, PredictArgs, PredictCommand, PredictEvalArgs};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::Result;
use crate::output;
use analysis::predictions::{self, CommitEdits, PredictionMethod};
use backends::{EditorBackend, PredictionCounts, PredictionModel};
use serde_json::{Value, json};
use std::io::IsTerminal as _;
use std::sync::Arc;

pub(super) async fn predict(args: PredictArgs, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let (root, loaded) = load(global, env, Vec::new())?;
    if let Some(PredictCommand::Status { json }) = args.command {
        return status(json, env);
    }
    let model = PredictionModel::connect(args.model.as_deref(), args.format.as_deref(), &loaded.config, env).await?;
    if let Some(PredictCommand::Eval(eval_args)) = &args.command {
        return evaluate(eval_args, &model, env).await;
    }
    if std::io::stdin().is_terminal() {
        output::print_stderr(
            "hew predict exchanges JSON-RPC messages with an editor on stdin and stdout; see docs/predict.md\n",
        );
    }
    let backend = EditorBackend::new(model, root, &loaded, env)?;
    server::predict::serve(Arc::new(backend), tokio::io::stdin(), tokio::io::stdout()).await;
    Ok(ExitStatus::Done)
}

fn status(json: bool, env: &ProcessEnv) -> Result<ExitStatus> {
    let counts = PredictionCounts::load(env)?;
    let shown = if json {
        output::pretty(&json!(counts))?
    } else {
        format!(
            "requested {}, shown {}, accepted {}, rejected {}\n",
            counts.requested, counts.shown, counts.accepted, counts.rejected
        )
    };
    output::print_checked(&shown)?;
    Ok(ExitStatus::Done)
}

/// Compares predictions with the edits of commits.
async fn evaluate(args: &PredictEvalArgs, model: &PredictionModel, env: &ProcessEnv) -> Result<ExitStatus> {
    let edits = CommitEdits {
        repository: &args.repository,
        skip: args.skip,
        limit: args.limit,
    };
    let methods: &[PredictionMethod] = match args.baseline {
        true => &[PredictionMethod::Prediction, PredictionMethod::Baseline],
        false => &[PredictionMethod::Prediction],
    };
    let progress = |method: PredictionMethod, number: usize, count: usize| {
        let end = if number == count { "\n" } else { "" };
        output::print_stderr(&format!("\r{}: {number} of {count}{end}", method.name()));
    };
    let results = predictions::evaluate(&edits, model, methods, env, progress).await?;
    let shown = if args.json {
        let all: Vec<Value> = results
            .iter()
            .map(|(method, totals)| totals.json(method.name(), &model.name))
            .collect();
        output::pretty(&all)?
    } else {
        results
            .iter()
            .map(|(method, totals)| totals.line(method.name()))
            .collect()
    };
    output::print_checked(&shown)?;
    Ok(ExitStatus::Done)
}
