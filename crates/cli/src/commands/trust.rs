//! `hew trust`: manages trusted folders.

use crate::args::{GlobalArgs, TrustArgs as Args};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::Result;
use crate::trust::{ProjectTrust, TrustList};
use crate::{output, paths, project};
use headless::terminal_answers;
use host::project_programs;
use host::trust_question::{settings_files, settings_that_need_trust};
use std::path::{Path, PathBuf};

pub(super) fn trust(args: &Args, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let mut list = TrustList::load(env)?;
    if args.list {
        show(&list, args.json, env)?;
        return Ok(ExitStatus::Done);
    }
    let (root, folder) = match &args.path {
        Some(path) => {
            let root = project::root(Some(path), env)?;
            (root.clone(), root)
        }
        None => {
            let root = project::root(global.cwd.as_deref(), env)?;
            let top = project::repository_root(&root);
            (root, top)
        }
    };
    let shown = paths::display_path(&folder, env);
    if args.remove {
        let message = match list.get(&folder) {
            ProjectTrust::Trusted => format!("{shown} is no longer trusted\n"),
            ProjectTrust::Declined | ProjectTrust::Unknown => format!("{shown} was not trusted\n"),
        };
        // A folder above it may still be trusted.
        let rest = match list
            .trusted
            .iter()
            .any(|above| folder.starts_with(above) && **above != *folder)
        {
            true => ProjectTrust::Declined,
            false => ProjectTrust::Unknown,
        };
        list.set(&folder, rest, env)?;
        output::print_stderr(&message);
    } else {
        list.set(&folder, ProjectTrust::Trusted, env)?;
        let programs = project_programs::all(&root, env)?;
        project_programs::approve(&programs, &root, &mut list, env)?;
        output::print_stderr(&format!(
            "{shown} is trusted: its configuration may allow more, choose models and run hooks\n"
        ));
        for program in &programs {
            output::print_stderr(&format!("approved: {}\n", program.describe()));
        }
    }
    Ok(ExitStatus::Done)
}

fn show(list: &TrustList, json: bool, env: &ProcessEnv) -> Result<()> {
    if json {
        return output::print_checked(&output::pretty(list)?);
    }
    let line = |what: &str, folder: &PathBuf| format!("{what:<9} {}\n", paths::display_path(folder, env));
    let trusted = list.trusted.iter().map(|folder| line("trusted", folder));
    let declined = list.declined.iter().map(|folder| line("declined", folder));
    let text: String = trusted.chain(declined).collect();
    output::print_checked(if text.is_empty() {
        "no folder is trusted\n"
    } else {
        &text
    })
}

/// Asks once whether to trust a project with settings that need trust.
pub(super) fn ask_first(root: &Path, env: &ProcessEnv) -> Result<()> {
    let top = project::repository_root(root);
    let mut list = TrustList::load(env)?;
    match list.get(&top) {
        ProjectTrust::Unknown => {}
        ProjectTrust::Trusted => return ask_about_programs(root, &mut list, env),
        ProjectTrust::Declined => return Ok(()),
    }
    let files = settings_files(root, env)?;
    if files.all.is_empty() {
        return Ok(());
    }
    let files_shown: Vec<String> = files.all.iter().map(|file| paths::display_path(file, env)).collect();
    let settings = settings_that_need_trust(&files, root);
    let settings: String = match settings.is_empty() {
        true => "Nothing in them requires trust now; later changes may.".into(),
        false => settings.iter().map(|setting| format!("- {setting}\n")).collect(),
    };
    let question = format!(
        "This project has its own settings: {}\nIf you trust the folder {}, the following takes effect:\n{}\nDo you trust it?",
        files_shown.join(", "),
        paths::display_path(&top, env),
        settings.trim_end(),
    );
    let trust = match terminal_answers::confirm(&question) {
        true => ProjectTrust::Trusted,
        false => ProjectTrust::Declined,
    };
    list.set(&top, trust, env)?;
    if trust == ProjectTrust::Trusted {
        project_programs::approve(&project_programs::all(root, env)?, root, &mut list, env)?;
    }
    output::print_stderr("change this with `hew trust` or `hew trust --remove`\n");
    Ok(())
}

/// Asks about programs of a trusted project that are new or changed.
fn ask_about_programs(root: &Path, list: &mut TrustList, env: &ProcessEnv) -> Result<()> {
    let programs = project_programs::unapproved(root, env)?;
    if programs.is_empty() {
        return Ok(());
    }
    let lines: String = programs
        .iter()
        .map(|program| format!("- {}\n", program.describe()))
        .collect();
    let question = format!("This project defines programs that are new or changed:\n{lines}Do you approve them?");
    match terminal_answers::confirm(&question) {
        true => project_programs::approve(&programs, root, list, env),
        false => Ok(()),
    }
}
