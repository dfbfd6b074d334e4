//! `hew commands`: lists slash commands and shows the expansion of one.

use super::load;
use crate::args::{CommandsArgs, CommandsSubcommand, GlobalArgs};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::{output, paths};
use host::{SessionProject, project_context};
use model::Part;
use prompt::{CommandLookup, CommandOwner, SlashCommand, SlashCommandKind};
use serde_json::{Value, json};
use session::Command;

pub(super) fn commands(args: &CommandsArgs, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let (root, loaded) = load(global, env, Vec::new())?;
    match &args.command {
        Some(CommandsSubcommand::Show { name, arguments }) => {
            let name = name.trim_start_matches('/');
            let slash = match project_context::resolve_command(name, &root, &loaded, env)? {
                CommandLookup::Command(slash) => slash,
                CommandLookup::Unknown { similar: near } => return Err(unknown(name, &near)),
                CommandLookup::NotACommand => return Err(unknown(name, &[])),
            };
            let expanded = slash.expand(&arguments.join(" "));
            for text in &expanded.notices {
                output::print_stderr(&format!("note: {text}\n"));
            }
            output::print_checked(&format!("{}\n", expanded.text))?;
        }
        Some(CommandsSubcommand::List { json }) => list(
            *json || args.json,
            &project_context::commands(&root, &loaded, env)?,
            env,
        )?,
        None => list(args.json, &project_context::commands(&root, &loaded, env)?, env)?,
    }
    Ok(ExitStatus::Done)
}

fn list(json: bool, all: &std::collections::BTreeMap<String, SlashCommand>, env: &ProcessEnv) -> Result<()> {
    if json {
        let list: Vec<Value> = all.values().map(command_json).collect();
        return output::print_checked(&output::pretty(&list)?);
    }
    if all.is_empty() {
        return output::print_checked(
            "no commands; add Markdown files to .hew/commands, or to commands/ next to your config.toml\n",
        );
    }
    let mut text = String::new();
    for slash in all.values() {
        let hint = slash.hint.as_deref().map(|hint| format!(" {hint}")).unwrap_or_default();
        text.push_str(&format!("/{}{hint}  {}\n", slash.name, slash.description));
        text.push_str(&format!("    from: {}\n", paths::display_path(&slash.path, env)));
    }
    output::print_checked(&text)
}

fn command_json(slash: &SlashCommand) -> Value {
    json!({
        "name": slash.name,
        "description": slash.description,
        "argument_hint": slash.hint,
        "mode": slash.mode,
        "model": slash.model,
        "kind": match slash.kind {
            SlashCommandKind::Command => "command",
            SlashCommandKind::Skill => "skill",
        },
        "trusted": slash.owner == CommandOwner::User,
        "path": slash.path,
    })
}

/// Replaces a built-in command that is a prompt, such as `/review`, by its text. Commands of the project and of the user
/// with the same name precede it. Other built-in commands are an error.
pub(super) fn expand_built_in(command: Command, project: &SessionProject, env: &ProcessEnv) -> Result<Command> {
    let Command::Prompt { mut message, delivery } = command else {
        return Ok(command);
    };
    if let Some(Part::Text { text, .. }) = message.parts.first_mut()
        && let Some(line) = text.strip_prefix('/')
    {
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let named = |built_in: &&tui::BuiltInCommand| built_in.name == name || built_in.aliases.contains(&name);
        if let Some(built_in) = tui::SLASH_COMMANDS.iter().find(named)
            && !project_context::commands(&project.root, &project.loaded, env)?.contains_key(name)
        {
            *text = match tui::prompt_of_command(built_in.name, rest.trim()) {
                Some(prompt) => prompt,
                None => {
                    let failure = Failure::usage(format!("/{name} is a command of the terminal front end"));
                    return Err(
                        failure.hint("run `hew` without a command to use it; `hew --help` lists the commands here")
                    );
                }
            };
        }
    }
    Ok(Command::Prompt { message, delivery })
}

fn unknown(name: &str, near: &[String]) -> Failure {
    let failure = Failure::usage(format!("there is no command /{name}"));
    match near {
        [] => failure.hint("list the commands with `hew commands`"),
        near => failure.hint(format!("did you mean {}?", near.join(" or "))),
    }
}
