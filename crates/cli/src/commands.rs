//! What each command does.

mod acp;
mod agents;
mod answer;
mod apply;
mod ask;
pub(crate) mod changes;
mod compact;
mod config;
mod cost;
mod demo;
mod diff;
mod doctor;
mod drive;
mod export;
mod help;
mod keys;
mod ledger;
mod lsp;
mod mcp;
mod models;
mod modes;
mod open;
mod past;
pub(crate) mod permissions;
mod prompt;
mod prompts;
mod resume;
mod rewind;
pub(crate) mod run;
mod sessions;
mod signals;
mod slash;
mod tools;
mod trust;
pub(crate) mod undo;

use crate::args::{Command, Global, Hew};
use crate::config::{Layer, Loaded, Origin, key_path, value_for};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::json::Json;
use crate::{log, output, project};
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;

/// Runs a command and tells the person what went wrong.
pub(crate) fn dispatch(hew: Hew) -> Exit {
    let env = Environment::of_process();
    let json = match &hew.command {
        None => false,
        Some(command) => wants_json(command),
    };
    match carry_out(hew, &env) {
        Ok(exit) => exit,
        Err(failure) => {
            if json {
                Json::stdout().error(&failure);
            }
            failure.print();
            failure.exit
        }
    }
}

/// Whether a command tells what goes wrong as JSON.
fn wants_json(command: &Command) -> bool {
    match command {
        Command::Run(run) => run.turn.json,
        Command::Resume(resume) => resume.turn.json,
        Command::Changes(changes) => changes.json,
        Command::Undo(undo) => undo.going.json,
        Command::Redo(redo) => redo.going.json,
        Command::Diff(diff) => diff.json,
        Command::Rewind(rewind) => rewind.going.json,
        _ => false,
    }
}

fn carry_out(hew: Hew, env: &Environment) -> Result<Exit> {
    let global = &hew.global;
    log::begin(global.log.as_deref(), env)?;
    let Some(command) = hew.command else {
        return block_on(open::open(hew.open, global, env));
    };
    match command {
        Command::Run(args) => block_on(run::run(*args, global, env)),
        Command::Resume(args) => block_on(resume::resume(*args, global, env)),
        Command::Fork { session } => block_on(resume::fork(session.as_deref(), global, env)),
        Command::Sessions { list, command } => block_on(sessions::sessions(&list, command.as_ref(), global, env)),
        Command::Compact(args) => block_on(compact::compact(args, global, env)),
        Command::Apply(args) => apply::apply(&args),
        Command::Changes(args) => block_on(changes::changes(&args, global, env)),
        Command::Undo(args) => block_on(undo::undo(&args, global, env)),
        Command::Redo(args) => block_on(undo::redo(&args, global, env)),
        Command::Diff(args) => block_on(diff::diff(&args, global, env)),
        Command::Rewind(args) => block_on(rewind::rewind(&args, global, env)),
        Command::Models(args) => block_on(models::models(&args, global, env)),
        Command::Tools(args) => block_on(tools::tools(&args, global, env)),
        Command::Prompt { command } => block_on(prompt::prompt(&command, global, env)),
        Command::Cost(args) => block_on(cost::cost(&args, global, env)),
        Command::Config { command } => block_on(config::config(command.as_ref(), global, env)),
        Command::Permissions { command } => permissions::permissions(command.as_ref(), global, env),
        Command::Trust(args) => trust::trust(&args, global, env),
        Command::Modes(args) => modes::modes(&args, global, env),
        Command::Lsp(args) => block_on(lsp::lsp(&args, global, env)),
        Command::Commands(args) => slash::commands(&args, global, env),
        Command::Prompts { list, command } => prompts::prompts(&list, command, global, env),
        Command::Acp(args) => acp::acp(args, global, env),
        Command::Agents { command } => block_on(agents::agents(&command, global, env)),
        Command::Mcp { command } => block_on(mcp::mcp(command, global, env)),
        Command::Keys { command } => block_on(keys::keys(&command, global, env)),
        Command::Doctor(args) => block_on(doctor::doctor(&args, global, env)),
        Command::Demo(args) => block_on(demo::demo(&args, env)),
        Command::Schema { of } => help::schema(of),
        Command::Completions { shell } => help::completions(shell),
        Command::Man { out } => help::man(out.as_deref()),
    }
}

/// Runs a future to its end, on this thread: hew waits more than it computes.
fn block_on<'a>(work: impl Future<Output = Result<Exit>> + 'a) -> Result<Exit> {
    // What waits is built once, not once for each command.
    let work: Pin<Box<dyn Future<Output = Result<Exit>> + 'a>> = Box::pin(work);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    let exit = runtime.block_on(work);
    // A tool that is still reading a huge file must not keep the person waiting.
    runtime.shutdown_background();
    exit
}

/// The project's folder and its configuration.
fn load(global: &Global, env: &Environment, flags: Vec<Layer>) -> Result<(PathBuf, Loaded)> {
    let root = project::root(global.cwd.as_deref(), env)?;
    let loaded = load_for(root.clone(), global, env, flags)?;
    Ok((root, loaded))
}

fn load_for(root: PathBuf, global: &Global, env: &Environment, flags: Vec<Layer>) -> Result<Loaded> {
    let loaded = load_silently(root, global, env, flags)?;
    for warning in &loaded.warnings {
        output::complain(&format!("warning: {warning}\n"));
    }
    Ok(loaded)
}

/// The configuration; what is wrong with it is told by whoever asks for it.
pub(crate) fn load_silently(root: PathBuf, global: &Global, env: &Environment, flags: Vec<Layer>) -> Result<Loaded> {
    let mut layers = flags;
    for pair in &global.set {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(Failure::usage(format!("--set takes KEY=VALUE, but got `{pair}`")));
        };
        layers.push(value_for(&key_path(key.trim())?, value, Origin::Flag("--set"))?);
    }
    crate::config::load(Some(&root), env, layers)
}
