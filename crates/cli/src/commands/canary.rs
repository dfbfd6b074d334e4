//! `hew canary`: reruns recorded tasks and detects changes of a model or of hew.

use super::eval::{ProgressBar, hew_program, shared_arguments};
use super::history::open_history;
use super::load;
use crate::args::{CanaryAddArgs, CanaryCommand, CanaryRunArgs, GlobalArgs};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::Result;
use crate::output;
use analysis::canary::{CanaryFolder, CanaryOutcome, CanaryReport, CanaryRunOptions, CanaryRuns};
use host::sessions::open_store;
use review::SessionAccess;

pub(super) async fn canary(command: CanaryCommand, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let folder = CanaryFolder::of_user(env)?;
    match command {
        CanaryCommand::Add(args) => add(&args, &folder, global, env).await,
        CanaryCommand::List => {
            for task in folder.suite()?.tasks {
                let prompt = task.prompt.lines().next().unwrap_or_default();
                output::print(&format!("{}  {prompt}  ({})\n", task.id, task.check));
            }
            Ok(ExitStatus::Done)
        }
        CanaryCommand::Remove { names } => {
            folder.remove(&names)?;
            Ok(ExitStatus::Done)
        }
        CanaryCommand::Run(args) => loop {
            let exit = run(&args, &folder, global, env).await?;
            match args.every {
                Some(interval) => tokio::time::sleep(interval.0).await,
                None => return Ok(exit),
            }
        },
        CanaryCommand::Report { json } => print(&runs(&folder, global, env)?.report()?, json),
    }
}

/// Records the task of a session.
async fn add(args: &CanaryAddArgs, folder: &CanaryFolder, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let history = open_history(args.session.as_deref(), SessionAccess::Read, global, env).await?;
    let store = open_store(env)?;
    let name = folder
        .record(&history, &store, args.name.as_deref(), &args.check)
        .await?;
    output::print(&format!("recorded {name}\n"));
    if folder.is_always_solved(&name, env).await? {
        output::print_stderr(
            "warning: the check succeeds on the project before the session, so the task is always solved\n",
        );
    }
    Ok(ExitStatus::Done)
}

/// The runs of the configured model.
fn runs(folder: &CanaryFolder, global: &GlobalArgs, env: &ProcessEnv) -> Result<CanaryRuns> {
    let (_, loaded) = load(global, env, Vec::new())?;
    Ok(folder.runs(loaded.config.model.as_deref()))
}

async fn run(args: &CanaryRunArgs, folder: &CanaryFolder, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let suite = folder.suite()?;
    let runs = runs(folder, global, env)?;
    let options = CanaryRunOptions {
        rounds: args.rounds,
        jobs: args.jobs,
        renews_baseline: args.baseline,
        program: hew_program()?,
        arguments: shared_arguments(global),
    };
    let mut progress = ProgressBar::new();
    let outcome = runs.run(suite, options, env, &mut |step| progress.show(step)).await?;
    progress.finish();
    match outcome {
        CanaryOutcome::Baseline(count) => {
            output::print(&format!(
                "recorded the baseline of {}: {count} attempts\n",
                runs.model()
            ));
            Ok(ExitStatus::Done)
        }
        CanaryOutcome::Compared(report) => print(&report, args.json),
    }
}

/// Prints findings. A lower success rate is a failure, so that scripts notice it.
fn print(report: &CanaryReport, json: bool) -> Result<ExitStatus> {
    match json {
        true => output::print_checked(&output::pretty(report)?)?,
        false => output::print(&report.text()),
    }
    Ok(match report.is_worse() {
        true => ExitStatus::Failed,
        false => ExitStatus::Done,
    })
}
