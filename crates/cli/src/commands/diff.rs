//! `hew diff`: the file changes of a session as a patch.

use super::history::open_history;
use crate::args::{DiffArgs, GlobalArgs};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::output;
use crate::output::color::ColorMode;
use crate::output::format::sanitise;
use crate::output::patch::{ChangedPathJson, changed_path_json, patches_text, stat_line};
use host::sessions::short_id;
use review::diff::{ChangedPath, PatchTarget, session_diff};
use review::{PathScope, SessionAccess};
use session::ChangeCount;
use std::io::IsTerminal;
use std::path::PathBuf;
use workspace::Workspace;

pub(super) async fn diff(args: &DiffArgs, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let (session, paths) = split_session_and_paths(&args.what, env);
    let history = open_history(session.as_deref(), SessionAccess::Read, global, env).await?;
    let since = match &args.since {
        Some(name) => Some(history.find_item(name).await?),
        None => None,
    };
    let workspace = Workspace::open(history.root()).map_err(review::Error::from)?;
    let scope = PathScope::new(&paths, &workspace, env.cwd.as_deref())?;
    let stdout = std::io::stdout();
    let target = match stdout.is_terminal() || args.json || args.stat {
        true => PatchTarget::Display,
        false => PatchTarget::Git,
    };
    let changed = session_diff(&history, since, &scope, target).await?;
    if args.json {
        let rows: Vec<ChangedPathJson<'_>> = changed.iter().map(changed_path_json).collect();
        output::print_checked(&output::pretty(&rows)?)?;
        return Ok(ExitStatus::Done);
    }
    if changed.is_empty() {
        let is_missing = |path: &&PathBuf| !env.cwd.as_deref().is_some_and(|cwd| cwd.join(path).exists());
        if let Some(path) = paths.iter().find(is_missing) {
            let name = sanitise(&path.display().to_string());
            return Err(
                Failure::usage(format!("`{name}` is neither a session nor a file that was changed"))
                    .hint("`hew sessions list` lists the sessions"),
            );
        }
        output::print_stderr(&format!("no changes in session {}\n", short_id(history.id())));
        return Ok(ExitStatus::Done);
    }
    let paint = ColorMode::of(&stdout, env);
    let text: String = match args.stat {
        true => changed.iter().map(stat_line).collect(),
        false => patches_text(&changed, paint, stdout.is_terminal()),
    };
    output::print_document(&text)?;
    let mut count = ChangeCount::default();
    for ChangedPath { change, .. } in changed.iter().filter(|changed| changed.change.changed_since) {
        count.count(change.before.as_ref(), change.after.as_ref());
    }
    if !count.is_empty() && !args.stat {
        output::print_stderr(&format!(
            "{count} changed since, outside the session; the diff shows the result of the session\n"
        ));
    }
    Ok(ExitStatus::Done)
}

/// Takes the first argument as a session if it looks like an id and no such file exists.
fn split_session_and_paths(what: &[PathBuf], env: &ProcessEnv) -> (Option<String>, Vec<PathBuf>) {
    let Some((first, rest)) = what.split_first() else {
        return (None, Vec::new());
    };
    let name = first.to_string_lossy();
    let is_file = env.cwd.as_deref().is_some_and(|cwd| cwd.join(first).exists());
    let is_id = name == "last" || (name.len() >= 4 && name.chars().all(|c| c.is_ascii_hexdigit() || c == '-'));
    match is_id && !is_file {
        true => (Some(name.into_owned()), rest.to_vec()),
        false => (None, what.to_vec()),
    }
}
