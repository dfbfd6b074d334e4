//! `hew` alone: opens the terminal front end, or talks line by line where the terminal can do no more.

use super::run;
use crate::args::{Demo, Global, Open, Run, Turn};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::wiring::tui::Home;
use crate::{input, output, project, wiring};
use model::Message;
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
        return Err(Failure::usage("there is no terminal to open").hint(format!(
            "say what to do: hew run {}; `hew --help` lists the commands",
            quoted(&args.prompt.join(" "))
        )));
    }
    let turn = args.turn();
    let first = match args.prompt.is_empty() {
        true if !args.file.is_empty() => {
            return Err(Failure::usage("--file needs a task to go with").hint("say what to do: hew --file FILE \"…\""));
        }
        true => None,
        false => input::message(&args.prompt, &args.file)?,
    };
    if is_dumb(env) {
        return talk(args, turn, global, env).await;
    }
    let which = match (args.session, args.continue_last) {
        (Some(id), _) => Which::Named(id),
        (None, true) => Which::Newest,
        (None, false) => Which::New,
    };
    show(which, turn, first, Going::Waits, global, env).await
}

/// What happens with a turn that was left unfinished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Going {
    /// It goes on at once.
    On,
    /// It waits until the person says so.
    Waits,
}

/// Opens the front end with a session, and says something in it at once where there is something to say.
pub(super) async fn show(
    which: Which,
    turn: Turn,
    first: Option<Message>,
    going: Going,
    global: &Global,
    env: &Environment,
) -> Result<Exit> {
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
        prompt: first,
        go_on: going == Going::On,
        theme,
        keys,
        vim: config.tui.vim == Some(true),
        depth: depth(env),
        reflow: reflow(env),
        pictures: pictures(env),
    };
    let ended = tui::run(Arc::clone(&home) as _, options).await;
    let Ended {
        resume,
        signal,
        trouble,
        demo,
        ..
    } = ended.map_err(|error| Failure::failed(format!("the terminal cannot be used: {error}")))?;
    if let Some(resume) = resume {
        output::complain(&format!("to go on: {resume}\n"));
    }
    match (signal, trouble) {
        (Some(_), _) => Ok(Exit::Terminated),
        (None, _) if demo => super::demo::demo(&Demo::default(), env).await,
        (None, Some(trouble)) => Err(home.failed().unwrap_or_else(|| Failure::failed(trouble.what))),
        (None, None) => Ok(Exit::Done),
    }
}

/// Talks line by line: each line is a task, and all of them are one session.
async fn talk(args: Open, turn: Turn, global: &Global, env: &Environment) -> Result<Exit> {
    let root: PathBuf = project::root(global.cwd.as_deref(), env)?;
    let mut session = args.session;
    if args.continue_last {
        let store = wiring::open_store(env)?;
        session = match run::find(&store, None, &root).await {
            Ok(meta) => Some(meta.id.to_string()),
            Err(failure) if failure.exit == Exit::Usage => {
                output::complain(&format!("{}; this is a new one\n", failure.what));
                None
            }
            Err(failure) => return Err(failure),
        };
    }
    let mut first = Some(args.prompt).filter(|prompt| !prompt.is_empty());
    let mut files = Some(turn.file.clone());
    loop {
        let prompt = match first.take() {
            Some(prompt) => prompt,
            None => match line() {
                Line::Said(line) => vec![line],
                Line::Nothing => continue,
                Line::End => return Ok(Exit::Done),
            },
        };
        let task = Run {
            prompt,
            session: session.clone(),
            turn: Turn {
                file: files.take().unwrap_or_default(),
                ..turn.clone()
            },
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

/// A task as shells take it.
fn quoted(task: &str) -> String {
    match task {
        "" => "\"…\"".into(),
        task if !task.contains(['"', '$', '`', '\\', '!', '\n']) => format!("\"{task}\""),
        task => format!("'{}'", task.replace('\'', "'\\''")),
    }
}

/// What the person says in a line.
enum Line {
    Said(String),
    Nothing,
    End,
}

fn line() -> Line {
    output::complain("> ");
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    match (read, line.trim()) {
        (Ok(0) | Err(_), _) | (Ok(_), "/quit" | "/exit") => Line::End,
        (Ok(_), "") => Line::Nothing,
        (Ok(_), said) => Line::Said(said.into()),
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
