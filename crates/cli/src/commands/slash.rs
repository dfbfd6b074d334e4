//! `hew commands`: lists slash commands, and shows what one stands for.

use super::load;
use crate::args::{Commands, CommandsCommand, Global};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::wiring::shelves;
use crate::{output, places};
use agent::Called;
use prompt::{Kind, Owner, Slash};
use serde_json::{Value, json};

pub(super) fn commands(args: &Commands, global: &Global, env: &Environment) -> Result<Exit> {
    let (root, loaded) = load(global, env, Vec::new())?;
    match &args.command {
        Some(CommandsCommand::Show { name, arguments }) => {
            let name = name.trim_start_matches('/');
            let slash = match shelves::called(name, &root, &loaded, env)? {
                Called::Command(slash) => slash,
                Called::Unknown { near } => return Err(unknown(name, &near)),
                Called::Nothing => return Err(unknown(name, &[])),
            };
            let expanded = slash.expand(&arguments.join(" "));
            for text in &expanded.told {
                output::complain(&format!("note: {text}\n"));
            }
            output::deliver(&format!("{}\n", expanded.text))?;
        }
        Some(CommandsCommand::List { json }) => {
            list(*json || args.json, &shelves::commands(&root, &loaded, env)?, env)?
        }
        None => list(args.json, &shelves::commands(&root, &loaded, env)?, env)?,
    }
    Ok(Exit::Done)
}

fn list(json: bool, all: &std::collections::BTreeMap<String, Slash>, env: &Environment) -> Result<()> {
    if json {
        let list: Vec<Value> = all.values().map(described).collect();
        return output::deliver(&output::pretty(&list)?);
    }
    if all.is_empty() {
        return output::deliver(
            "no commands; put Markdown files into .hew/commands, or hew/commands beside your configuration\n",
        );
    }
    let mut text = String::new();
    for slash in all.values() {
        let hint = slash.hint.as_deref().map(|hint| format!(" {hint}")).unwrap_or_default();
        text.push_str(&format!("/{}{hint}  {}\n", slash.name, slash.description));
        text.push_str(&format!("    from: {}\n", places::tidy(&slash.path, env)));
    }
    output::deliver(&text)
}

fn described(slash: &Slash) -> Value {
    json!({
        "name": slash.name,
        "description": slash.description,
        "argument_hint": slash.hint,
        "mode": slash.mode,
        "model": slash.model,
        "kind": match slash.kind {
            Kind::Command => "command",
            Kind::Skill => "skill",
        },
        "trusted": slash.owner == Owner::Person,
        "path": slash.path,
    })
}

fn unknown(name: &str, near: &[String]) -> Failure {
    let failure = Failure::usage(format!("there is no command /{name}"));
    match near {
        [] => failure.hint("`hew commands` lists them"),
        near => failure.hint(format!("did you mean {}?", near.join(" or "))),
    }
}
