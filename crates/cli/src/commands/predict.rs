//! `hew predict`: edit predictions for editors, their counts, and their evaluation.

mod eval;

use super::load;
use crate::args::{GlobalArgs, PredictArgs, PredictCommand};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::Result;
use crate::output;
use backends::{EditorBackend, PredictionCounts, PredictionModel};
use serde_json::json;
use std::io::IsTerminal as _;
use std::sync::Arc;

pub(super) async fn predict(args: PredictArgs, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let (root, loaded) = load(global, env, Vec::new())?;
    if let Some(PredictCommand::Status { json }) = args.command {
        return status(json, env);
    }
    let model = PredictionModel::connect(args.model.as_deref(), args.format.as_deref(), &loaded.config, env).await?;
    if let Some(PredictCommand::Eval(eval_args)) = &args.command {
        return eval::eval(eval_args, &model, env).await;
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
