//! `hew` alone: opens the terminal front end, or talks line by line where the terminal can do no more.

use super::run;
use crate::args::{Global, Open, Run, Turn};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::wiring::tui::Home;
use crate::{output, project, wiring};
use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use tui::{Depth, Ended, Options, Pictures, Reflow, Which};

/// Whether the terminal front end can be shown here.
pub(super) fn is_possible(env: &Environment) -> bool {
    is_terminal() && !is_dumb(env)
}

fn is_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

fn is_dumb(env: &Environment) -> bool {
    matches!(env.get("TERM"), None | Some("dumb"))
}

pub(super) async fn open(args: Open, global: &Global, env: &Environment) -> Result<Exit> {
    if !is_terminal() {
        return Err(Failure::usage("there is no terminal to open")
            .hint("say what to do: hew run \"…\"; `hew --help` lists the commands"));
    }
    let turn = args.turn();
    if is_dumb(env) {
        return talk(args, turn, global, env).await;
    }
    let which = match (args.session, args.continue_last) {
        (Some(id), _) => Which::Named(id),
        (None, true) => Which::Newest,
        (None, false) => Which::New,
    };
    show(which, turn, Going::Waits, global, env).await
}

/// What happens with a turn that was left unfinished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Going {
    /// It goes on at once.
    On,
    /// It waits until the person says so.
    Waits,
}

/// Opens the front end with a session.
pub(super) async fn show(which: Which, turn: Turn, going: Going, global: &Global, env: &Environment) -> Result<Exit> {
    let root = project::root(global.cwd.as_deref(), env)?;
    super::trust::ask_first(&root, env)?;
    let config = super::load_silently(root.clone(), global, env, turn.layers())?.config;
    let (theme, keys, problems) = crate::wiring::tui::chosen(&config, env);
    problems
        .iter()
        .for_each(|problem| output::complain(&format!("warning: {problem}\n")));
    let home = Arc::new(Home::new(root, turn, global.clone(), env.clone()));
    let options = Options {
        which,
        prompt: None,
        go_on: going == Going::On,
        theme,
        keys,
        vim: config.tui.vim == Some(true),
        depth: depth(env),
        reflow: reflow(env),
        pictures: pictures(env),
    };
    let ended = tui::run(home, options).await;
    let Ended { resume, signal, .. } =
        ended.map_err(|error| Failure::failed(format!("the terminal cannot be used: {error}")))?;
    if let Some(resume) = resume {
        output::complain(&format!("to go on: {resume}\n"));
    }
    Ok(match signal {
        Some(_) => Exit::Terminated,
        None => Exit::Done,
    })
}

/// Talks line by line: each line is a task, and all of them are one session.
async fn talk(args: Open, turn: Turn, global: &Global, env: &Environment) -> Result<Exit> {
    let root: PathBuf = project::root(global.cwd.as_deref(), env)?;
    let mut session = args.session;
    if args.continue_last {
        let store = wiring::open_store(env)?;
        session = Some(run::find(&store, None, &root).await?.id.to_string());
    }
    loop {
        output::complain("> ");
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line);
        let said = line.trim();
        match read {
            Ok(0) | Err(_) => return Ok(Exit::Done),
            Ok(_) if said.is_empty() => continue,
            Ok(_) if matches!(said, "/quit" | "/exit") => return Ok(Exit::Done),
            Ok(_) => {}
        }
        let task = Run {
            prompt: vec![said.into()],
            session: session.clone(),
            turn: turn.clone(),
            ..Run::default()
        };
        if let Err(failure) = run::run(task, global, env).await {
            failure.print();
        }
        if session.is_none() {
            let store = wiring::open_store(env)?;
            session = run::find(&store, None, &root)
                .await
                .ok()
                .map(|meta| meta.id.to_string());
        }
    }
}

/// How many colours the terminal has, as far as it says.
fn depth(env: &Environment) -> Depth {
    if env.get("NO_COLOR").is_some() {
        return Depth::Mono;
    }
    let term = env.get("TERM").unwrap_or_default();
    match env.get("COLORTERM") {
        Some("truecolor" | "24bit") => Depth::True,
        Some(_) | None if term.contains("256color") || term.contains("kitty") || term.contains("direct") => {
            Depth::Indexed
        }
        Some(_) => Depth::Indexed,
        None => Depth::Basic,
    }
}

/// How the terminal shows images, by its name. What stands between, such as tmux, would have to pass them on.
fn pictures(env: &Environment) -> Pictures {
    let term = env.get("TERM").unwrap_or_default();
    let within = env.get("TMUX").is_some() || env.get("STY").is_some() || term.starts_with("screen");
    let program = env.get("TERM_PROGRAM").or(env.get("LC_TERMINAL")).unwrap_or_default();
    match program {
        _ if within => Pictures::None,
        "iTerm.app" | "iTerm2" | "WezTerm" | "mintty" => Pictures::Iterm,
        "ghostty" => Pictures::Kitty,
        _ if env.get("KITTY_WINDOW_ID").is_some() || env.get("KONSOLE_VERSION").is_some() => Pictures::Kitty,
        _ if term.contains("kitty") || term.contains("ghostty") => Pictures::Kitty,
        _ => Pictures::None,
    }
}

/// What the terminal does with long rows, by its name.
fn reflow(env: &Environment) -> Reflow {
    let term = env.get("TERM").unwrap_or_default();
    let within = [
        "TMUX",
        "TERM_PROGRAM",
        "VTE_VERSION",
        "KITTY_WINDOW_ID",
        "WT_SESSION",
        "KONSOLE_VERSION",
        "ALACRITTY_WINDOW_ID",
    ];
    let is_known = within.iter().any(|name| env.get(name).is_some());
    let cuts = ["xterm", "linux", "rxvt", "screen", "st-", "vt"];
    // Many terminals call themselves xterm; xterm itself says so in a variable.
    let is_xterm = env.get("XTERM_VERSION").is_some();
    match is_xterm || (!is_known && !term.starts_with("xterm") && cuts.iter().any(|name| term.starts_with(name))) {
        true => Reflow::Cuts,
        false => Reflow::Wraps,
    }
}
