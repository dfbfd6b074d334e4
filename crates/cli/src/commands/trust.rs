//! `hew trust`: says which folders are trusted.

use super::ask;
use crate::args::{Global, Trust as Args};
use crate::config::Files;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Result;
use crate::trust::{Trust, TrustList};
use crate::{output, places, project};
use std::path::{Path, PathBuf};

pub(super) fn trust(args: &Args, global: &Global, env: &Environment) -> Result<Exit> {
    let mut list = TrustList::load(env)?;
    if args.list {
        show(&list, args.json, env)?;
        return Ok(Exit::Done);
    }
    let folder = match &args.path {
        Some(path) => project::root(Some(path), env)?,
        None => project::top(&project::root(global.cwd.as_deref(), env)?),
    };
    let shown = places::tidy(&folder, env);
    if args.remove {
        let told = match list.of(&folder) {
            Trust::Trusted => format!("{shown} is trusted no longer\n"),
            Trust::Declined | Trust::Unknown => format!("{shown} was not trusted\n"),
        };
        // One above it may be trusted still.
        let rest = match list
            .trusted
            .iter()
            .any(|above| folder.starts_with(above) && **above != *folder)
        {
            true => Trust::Declined,
            false => Trust::Unknown,
        };
        list.say(&folder, rest, env)?;
        output::complain(&told);
    } else {
        list.say(&folder, Trust::Trusted, env)?;
        output::complain(&format!(
            "{shown} is trusted: its configuration may allow more, choose models and run hooks\n"
        ));
    }
    Ok(Exit::Done)
}

fn show(list: &TrustList, json: bool, env: &Environment) -> Result<()> {
    if json {
        return output::deliver(&output::pretty(list)?);
    }
    let line = |what: &str, folder: &PathBuf| format!("{what:<9} {}\n", places::tidy(folder, env));
    let trusted = list.trusted.iter().map(|folder| line("trusted", folder));
    let declined = list.declined.iter().map(|folder| line("declined", folder));
    let text: String = trusted.chain(declined).collect();
    output::deliver(if text.is_empty() {
        "no folder is trusted\n"
    } else {
        &text
    })
}

/// Asks once whether a project is trusted that brings something which trust decides about.
pub(super) fn ask_first(root: &Path, env: &Environment) -> Result<()> {
    let top = project::top(root);
    let mut list = TrustList::load(env)?;
    if list.of(&top) != Trust::Unknown {
        return Ok(());
    }
    let config = Files::of(Some(root), env)?.project;
    let more = [".roomodes", ".hew/modes.yaml"]
        .iter()
        .map(|name| root.join(name))
        .filter(|file| file.is_file());
    let brings: Vec<String> = config
        .into_iter()
        .chain(more)
        .map(|file| places::tidy(&file, env))
        .collect();
    if brings.is_empty() {
        return Ok(());
    }
    let question = format!(
        "This project brings its own settings: {}\nIf you trust the folder {}, they may allow more than you do, choose models and run hooks.\nDo you trust it?",
        brings.join(", "),
        places::tidy(&top, env)
    );
    let said = match ask::confirm(&question) {
        true => Trust::Trusted,
        false => Trust::Declined,
    };
    list.say(&top, said, env)?;
    output::complain("`hew trust` and `hew trust --remove` change that later\n");
    Ok(())
}
