//! The commands.

mod acp;
mod agents;
mod apply;
mod attach;
mod browser;
mod canary;
mod changes;
mod code_search;
mod compact;
mod config;
mod cost;
mod demo;
mod diff;
mod doctor;
mod eval;
mod export;
mod help;
mod history;
mod keys;
mod line_session;
mod login;
mod lsp;
mod mcp;
mod models;
mod modes;
mod open;
mod permissions;
mod predict;
mod prompt;
mod prompts;
mod replay;
mod resume;
mod rewind;
mod run;
mod serve;
mod sessions;
mod slash_commands;
mod stats;
mod tools;
mod trust;
mod undo;

use crate::args::{Cli, CliCommand, GlobalArgs, TurnArgs};
use crate::config::{ConfigLayer, ConfigOrigin, LoadedConfig, parse_key_path, value_for};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::output::json::JsonWriter;
use crate::{log, output, project};
use host::SessionFlags;
use host::redaction::Redactor;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;

/// Runs a command and prints its failure.
pub(crate) fn dispatch(hew: Cli) -> ExitStatus {
    let env = process_env();
    let json = match &hew.command {
        None => false,
        Some(command) => wants_json(command),
    };
    match run_command(hew, &env) {
        Ok(exit) => exit,
        Err(failure) => {
            let failure = Redactor::for_failures(&env).failure(failure);
            if json {
                JsonWriter::stdout().error(&failure);
            }
            output::print_failure(&failure);
            ExitStatus::from(&failure)
        }
    }
}

fn process_env() -> ProcessEnv {
    // hew uses no variable that is not Unicode.
    let variables =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    ProcessEnv::new(variables, std::env::current_dir().ok())
}

/// Whether a command reports errors as JSON.
fn wants_json(command: &CliCommand) -> bool {
    match command {
        CliCommand::Run(run) => run.turn.json,
        CliCommand::Resume(resume) => resume.turn.json,
        CliCommand::Changes(changes) => changes.json,
        CliCommand::Undo(undo) => undo.going.json,
        CliCommand::Redo(redo) => redo.going.json,
        CliCommand::Diff(diff) => diff.json,
        CliCommand::Rewind(rewind) => rewind.going.json,
        _ => false,
    }
}

fn run_command(hew: Cli, env: &ProcessEnv) -> Result<ExitStatus> {
    let global = &hew.global;
    // Plain text for screen readers: no screen, colours, tables or animation.
    let plain = hew.open.plain.then(|| env.clone().with("TERM", Path::new("dumb")));
    let env = plain.as_ref().unwrap_or(env);
    log::init(global.log.as_deref(), env)?;
    let Some(command) = hew.command else {
        return block_on(open::open(hew.open, global, env));
    };
    match command {
        CliCommand::Run(args) => block_on(run::run(*args, global, env)),
        CliCommand::Resume(args) => block_on(resume::resume(*args, global, env)),
        CliCommand::Fork { session } => block_on(resume::fork(session.as_deref(), global, env)),
        CliCommand::Sessions { list, command } => block_on(sessions::sessions(&list, command.as_ref(), global, env)),
        CliCommand::Compact(args) => block_on(compact::compact(args, global, env)),
        CliCommand::Apply(args) => apply::apply(&args),
        CliCommand::Changes(args) => block_on(changes::changes(&args, global, env)),
        CliCommand::Undo(args) => block_on(undo::undo(&args, global, env)),
        CliCommand::Redo(args) => block_on(undo::redo(&args, global, env)),
        CliCommand::Diff(args) => block_on(diff::diff(&args, global, env)),
        CliCommand::Rewind(args) => block_on(rewind::rewind(&args, global, env)),
        CliCommand::Models(args) => block_on(models::models(&args, global, env)),
        CliCommand::Tools(args) => block_on(tools::tools(&args, global, env)),
        CliCommand::Prompt { command } => block_on(prompt::prompt(&command, global, env)),
        CliCommand::Search(args) => block_on(code_search::search(&args, global, env)),
        CliCommand::Index { command } => block_on(code_search::index(command.as_ref(), global, env)),
        CliCommand::Cost(args) => block_on(cost::cost(&args, global, env)),
        CliCommand::Eval(args) => block_on(eval::eval(*args, global, env)),
        CliCommand::Canary { command } => block_on(canary::canary(command, global, env)),
        CliCommand::Replay(args) => block_on(replay::replay_session(&args, global, env)),
        CliCommand::Stats(args) => block_on(stats::stats(&args, global, env)),
        CliCommand::Config { command } => block_on(config::config(command.as_ref(), global, env)),
        CliCommand::Permissions { command } => permissions::permissions(command.as_ref(), global, env),
        CliCommand::Trust(args) => trust::trust(&args, global, env),
        CliCommand::Modes(args) => modes::modes(&args, global, env),
        CliCommand::Lsp(args) => block_on(lsp::lsp(&args, global, env)),
        CliCommand::Commands(args) => slash_commands::commands(&args, global, env),
        CliCommand::Prompts { list, command } => prompts::prompts(&list, command, global, env),
        CliCommand::Acp(args) => acp::acp(args, global, env),
        CliCommand::Predict(args) => block_on(predict::predict(args, global, env)),
        CliCommand::Serve(args) => serve::serve(*args, global, env),
        CliCommand::Agents { command } => block_on(agents::agents(&command, global, env)),
        CliCommand::Mcp { command } => block_on(mcp::mcp(command, global, env)),
        CliCommand::Keys { command } => block_on(keys::keys(&command, global, env)),
        CliCommand::Login(args) => block_on(login::login(&args, global, env)),
        CliCommand::Logout(args) => block_on(login::logout(&args, global, env)),
        CliCommand::Accounts { json } => login::accounts(json, env),
        CliCommand::Doctor(args) => block_on(doctor::doctor(&args, global, env)),
        CliCommand::Demo(args) => block_on(demo::demo(&args, env)),
        CliCommand::Schema { of } => help::schema(of),
        CliCommand::Completions { shell } => help::completions(shell),
        CliCommand::Man { out } => help::man(out.as_deref()),
    }
}

/// Runs a future on this thread, because hew mostly waits.
fn block_on<'a>(work: impl Future<Output = Result<ExitStatus>> + 'a) -> Result<ExitStatus> {
    // Boxed, so that the runtime is instantiated once, not once per command.
    let work: Pin<Box<dyn Future<Output = Result<ExitStatus>> + 'a>> = Box::pin(work);
    // Signals are noticed between any two tasks, even if a server sends more than hew can process.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .event_interval(1)
        .build();
    let runtime = runtime.map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    let exit = runtime.block_on(work);
    // A tool that reads a huge file must not delay the exit.
    runtime.shutdown_background();
    exit
}

/// The project's folder and its configuration.
fn load(global: &GlobalArgs, env: &ProcessEnv, flags: Vec<ConfigLayer>) -> Result<(PathBuf, LoadedConfig)> {
    let root = project::root(global.cwd.as_deref(), env)?;
    let loaded = load_for(root.clone(), global, env, flags)?;
    Ok((root, loaded))
}

fn load_for(root: PathBuf, global: &GlobalArgs, env: &ProcessEnv, flags: Vec<ConfigLayer>) -> Result<LoadedConfig> {
    let loaded = load_silently(root, global, env, flags)?;
    warn(&loaded.warnings);
    Ok(loaded)
}

/// The flags for the sessions of a front end.
fn session_flags(turn: &TurnArgs, global: &GlobalArgs) -> Result<SessionFlags> {
    Ok(SessionFlags {
        directory: global.cwd.clone(),
        layers: with_set(turn.layers(), global)?,
        files: turn.files.clone(),
        model_origin: turn.model_origin(),
    })
}

/// Prints warnings to stderr.
fn warn(warnings: &[String]) {
    for warning in warnings {
        output::print_stderr(&format!("warning: {warning}\n"));
    }
}

/// Loads the configuration without printing its warnings.
fn load_silently(
    root: PathBuf,
    global: &GlobalArgs,
    env: &ProcessEnv,
    flags: Vec<ConfigLayer>,
) -> Result<LoadedConfig> {
    crate::config::load(Some(&root), env, with_set(flags, global)?)
}

/// Adds the values of `--set` to the layers of other flags.
fn with_set(flags: Vec<ConfigLayer>, global: &GlobalArgs) -> Result<Vec<ConfigLayer>> {
    let mut layers = flags;
    layers.extend(global.turn.layers());
    for pair in &global.set {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(Failure::usage(format!("--set takes KEY=VALUE, but got `{pair}`")));
        };
        layers.push(value_for(
            &parse_key_path(key.trim())?,
            value,
            ConfigOrigin::Flag("--set"),
        )?);
    }
    Ok(layers)
}
