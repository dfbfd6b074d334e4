//! `hew modes`: lists the modes that can be chosen.

use super::load;
use crate::args::{Global, Modes as Args};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Result;
use crate::wiring::modes;
use crate::{output, places};
use policy::{Group, Mode};
use serde_json::{Value, json};

pub(super) fn modes(args: &Args, global: &Global, env: &Environment) -> Result<Exit> {
    let (root, loaded) = load(global, env, Vec::new())?;
    let found = modes::find(&root, loaded.trust, env);
    for problem in &found.problems {
        output::complain(&format!("warning: {problem}\n"));
    }
    let source = |mode: &Mode| match found.sources.get(&mode.name) {
        Some(file) => places::tidy(file, env),
        None => "built in".into(),
    };
    let edit = Mode::edit(Vec::new());
    let all = found.modes.iter().chain([&edit]);
    if args.json {
        let list: Vec<Value> = all
            .map(|mode| {
                let mut value = json!(mode);
                if let Some(object) = value.as_object_mut() {
                    object.insert("source".into(), source(mode).into());
                    object.remove("only");
                }
                value
            })
            .collect();
        output::deliver(&output::pretty(&list)?)?;
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    for mode in all {
        text.push_str(&format!("{}  {}\n", mode.name, mode.when_to_use.trim()));
        text.push_str(&format!("    tools: {}\n", groups(mode)));
        for rule in mode.files.iter().filter(|rule| rule.group == Group::Edit) {
            text.push_str(&format!("    changes only files that match {}\n", rule.pattern));
        }
        if mode.name == "edit" && mode.only.is_some() {
            text.push_str("    changes only the files given with --files\n");
        }
        if let Some(model) = &mode.model {
            text.push_str(&format!("    model: {model}\n"));
        }
        text.push_str(&format!("    from: {}\n", source(mode)));
    }
    output::deliver(&text)?;
    Ok(Exit::Done)
}

fn groups(mode: &Mode) -> String {
    let names = mode.groups.iter().map(|group| match group {
        Group::Read => "read",
        Group::Edit => "edit",
        Group::Command => "command",
        Group::Browser => "browser",
        Group::Mcp => "mcp",
        Group::Modes => "modes",
    });
    names.collect::<Vec<_>>().join(", ")
}
