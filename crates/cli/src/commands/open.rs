//! `hew` without a command: opens the TUI, or a line-based session on dumb terminals.

use super::line_session;
use crate::args::{DemoArgs, GlobalArgs, OpenArgs, TurnArgs};
use crate::config::Config;
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::{input, output, project};
use backends::TuiBackend;
use headless::output::color::color_depth;
use headless::output::terminal_kind;
use model::Message;
use std::io::IsTerminal;
use std::sync::Arc;
use tui::{Options, SessionTarget, TuiExit};

/// Whether the terminal front end can be shown here.
pub(super) fn is_possible(env: &ProcessEnv) -> bool {
    is_terminal() && !is_dumb(env)
}

/// Whether a session can only be shown line by line here.
pub(super) fn is_line_based(env: &ProcessEnv) -> bool {
    is_terminal() && is_dumb(env)
}

fn is_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

fn is_dumb(env: &ProcessEnv) -> bool {
    matches!(env.get("TERM"), None | Some("dumb"))
}

pub(super) async fn open(args: OpenArgs, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    if !is_terminal() {
        return Err(
            Failure::usage("hew without a command requires a terminal").hint(format!(
                "describe a task: hew run {}, or pipe it into `hew run`; `hew --help` lists the commands",
                quoted(&args.prompt.join(" "))
            )),
        );
    }
    let turn = args.turn();
    let first = match args.prompt.is_empty() {
        true if !args.file.is_empty() => {
            return Err(Failure::usage("--file requires a task").hint("describe the task: hew --file FILE \"…\""));
        }
        true => None,
        false => input::message(&args.prompt, &args.file)?,
    };
    if let Some(server) = &args.attach {
        let session = args.session.map_or(SessionTarget::Newest, SessionTarget::Named);
        return super::attach::attach(server, session, first, global, env).await;
    }
    if is_dumb(env) {
        return line_session::talk(args, turn, global, env).await;
    }
    let which = match (args.session, args.continue_last) {
        (Some(id), _) => SessionTarget::Named(id),
        (None, true) => SessionTarget::Newest,
        (None, false) => SessionTarget::New,
    };
    show(which, turn, first, UnfinishedTurn::Waits, global, env).await
}

/// How to treat an unfinished turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnfinishedTurn {
    /// Continue it.
    On,
    /// Wait for the user.
    Waits,
}

/// Opens the front end with a session, and sends the given prompt.
pub(super) async fn show(
    which: SessionTarget,
    turn: TurnArgs,
    first: Option<Message>,
    going: UnfinishedTurn,
    global: &GlobalArgs,
    env: &ProcessEnv,
) -> Result<ExitStatus> {
    let root = project::root(global.cwd.as_deref(), env)?;
    super::trust::ask_first(&root, env)?;
    let flags = super::session_flags(&turn, global)?;
    let config = flags.load_config(&root, env)?.config;
    let home = Arc::new(TuiBackend::new(root, flags, env.clone()));
    let mut options = display_options(which, first, &config, env);
    options.continue_turn = going == UnfinishedTurn::On;
    let ended = tui::run(Arc::clone(&home) as _, options).await;
    finish(ended, || home.open_failure(), env).await
}

/// The options of the front end: the session, and what the terminal and the configuration determine.
pub(super) fn display_options(
    session: SessionTarget,
    prompt: Option<Message>,
    config: &Config,
    env: &ProcessEnv,
) -> Options {
    let (theme, keys, problems) = backends::chosen(config, env);
    problems
        .iter()
        .for_each(|problem| output::print_stderr(&format!("warning: {problem}\n")));
    Options {
        session,
        prompt,
        continue_turn: false,
        theme,
        keys,
        vim: config.tui.vim,
        depth: color_depth(env),
        reflow: terminal_kind::reflow(env),
        pictures: terminal_kind::image_protocol(env),
    }
}

/// Reports the result of the front end. `open_failure` is the reason why a session could not be opened, with its kind.
pub(super) async fn finish(
    ended: std::io::Result<TuiExit>,
    open_failure: impl FnOnce() -> Option<Failure>,
    env: &ProcessEnv,
) -> Result<ExitStatus> {
    let TuiExit {
        resume_command: resume,
        signal,
        error: trouble,
        demo,
        ..
    } = ended.map_err(|error| Failure::failed(format!("the terminal cannot be used: {error}")))?;
    if let Some(resume) = resume {
        output::print_stderr(&format!("to continue: {resume}\n"));
    }
    match (signal, trouble) {
        (Some(2), _) => Ok(ExitStatus::Interrupted),
        (Some(_), _) => Ok(ExitStatus::Terminated),
        (None, _) if demo => super::demo::demo(&DemoArgs::default(), env).await,
        (None, Some(trouble)) => Err(open_failure().unwrap_or_else(|| Failure::failed(trouble.message))),
        (None, None) => Ok(ExitStatus::Done),
    }
}

/// A task quoted for the shell.
fn quoted(task: &str) -> String {
    match task {
        "" => "\"…\"".into(),
        task if !task.contains(['"', '$', '`', '\\', '!', '\n']) => format!("\"{task}\""),
        task => format!("'{}'", task.replace('\'', "'\\''")),
    }
}
