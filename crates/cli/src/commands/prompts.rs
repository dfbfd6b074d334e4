//! `hew prompts`: manages saved prompts, Markdown files with a front matter.

use super::load;
use crate::args::{GlobalArgs, PromptsCommand, PromptsListArgs};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::{input, output, paths};
use context::SavedPrompt;
use host::saved_prompts::{NewPrompt, PromptFiles};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::io::IsTerminal;
use std::path::Path;

pub(super) fn prompts(
    listed: &PromptsListArgs,
    command: Option<PromptsCommand>,
    global: &GlobalArgs,
    env: &ProcessEnv,
) -> Result<ExitStatus> {
    let (root, loaded) = load(global, env, Vec::new())?;
    let files = PromptFiles {
        root: &root,
        loaded: &loaded,
        env,
    };
    match command {
        None => list(&files, listed.json)?,
        Some(PromptsCommand::List(args)) => list(&files, args.json || listed.json)?,
        Some(PromptsCommand::Show { name }) => output::print_checked(&format!("{}\n", files.find(&name)?.text))?,
        Some(PromptsCommand::Add {
            name,
            text,
            description,
            default,
            project,
        }) => {
            let prompt = NewPrompt {
                name: &name,
                description: description.as_deref(),
                default,
                in_project: project,
            };
            let text = text_argument(&text)?;
            let path = files.add(&prompt, text.as_deref())?;
            if text.is_none() {
                let edited = open_editor(&path, &root, env);
                let written = files.discard_if_empty(&path);
                edited.and(written)?;
            }
            let shown = paths::display_path(&path, env);
            output::print_checked(&format!("saved in {shown}; mention it with @rule:{name}\n"))?;
        }
        Some(PromptsCommand::Edit { name, text }) => match text_argument(&text)? {
            Some(text) => files.replace_text(&name, &text)?,
            None => open_editor(&files.find(&name)?.path, &root, env)?,
        },
        Some(PromptsCommand::Remove { name }) => {
            let path = files.remove(&name)?;
            output::print_checked(&format!("removed {}\n", paths::display_path(&path, env)))?;
        }
        Some(PromptsCommand::Default { name, off }) => {
            files.set_default(&name, !off)?;
            output::print_checked(match off {
                false => "included in every session from now on\n",
                true => "no longer included by default\n",
            })?;
        }
    }
    Ok(ExitStatus::Done)
}

fn list(files: &PromptFiles<'_>, json: bool) -> Result<()> {
    let all = files.all()?;
    if json {
        let list: Vec<Value> = all.values().map(prompt_json).collect();
        return output::print_checked(&output::pretty(&list)?);
    }
    if all.is_empty() {
        return output::print_checked("no saved prompts; add one with `hew prompts add NAME \"…\"`\n");
    }
    let mut text = String::new();
    for saved in all.values() {
        let marked = if saved.default { "  (default)" } else { "" };
        let first = saved.text.lines().next().unwrap_or_default();
        let about = saved.description.as_deref().unwrap_or(first);
        text.push_str(&format!("{}{marked}  {about}\n", saved.name));
        text.push_str(&format!("    from: {}\n", paths::display_path(&saved.path, files.env)));
    }
    output::print_checked(&text)
}

/// Opens the user's editor.
fn open_editor(path: &Path, root: &Path, env: &ProcessEnv) -> Result<()> {
    let editor = env.first(["VISUAL", "EDITOR"]).map(|(_, editor)| editor.to_owned());
    let shown = paths::display_path(path, env);
    let no_text = || Failure::usage("no text given").hint(format!("pass a text, pipe one in, or edit {shown}"));
    let editor = editor.filter(|_| std::io::stdin().is_terminal()).ok_or_else(no_text)?;
    let mut words = editor.split_whitespace();
    let program = words.next().ok_or_else(no_text)?;
    let arguments: Vec<&OsStr> = words.map(OsStr::new).chain([path.as_os_str()]).collect();
    let status = sandbox::run_in_terminal(OsStr::new(program), &arguments, root);
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::failed(format!("`{editor}` failed: {status}"))),
        Err(error) => {
            Err(Failure::failed(format!("cannot start `{editor}`: {error}"))
                .hint("set VISUAL or EDITOR to your editor"))
        }
    }
}

/// The text from the arguments or from stdin.
fn text_argument(words: &[String]) -> Result<Option<String>> {
    Ok(input::message(words, &[])?.map(|message| message.text()))
}

fn prompt_json(saved: &SavedPrompt) -> Value {
    json!({
        "name": saved.name,
        "description": saved.description,
        "default": saved.default,
        "project": saved.from_project,
        "path": saved.path,
    })
}
