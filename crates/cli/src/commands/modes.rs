//! `hew modes`: lists the available modes.

use super::load;
use crate::args::{GlobalArgs, ModesArgs as Args};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::Result;
use crate::{output, paths};
use host::project_context::load_modes;
use policy::{Mode, ToolGroup};
use serde_json::{Value, json};

pub(super) fn modes(args: &Args, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let (root, loaded) = load(global, env, Vec::new())?;
    let found = load_modes(&root, loaded.trust, env);
    for problem in &found.problems {
        output::print_stderr(&format!("warning: {problem}\n"));
    }
    let source = |mode: &Mode| match found.sources.get(&mode.name) {
        Some(file) => paths::display_path(file, env),
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
        output::print_checked(&output::pretty(&list)?)?;
        return Ok(ExitStatus::Done);
    }
    let mut text = String::new();
    for mode in all {
        text.push_str(&format!("{}  {}\n", mode.name, mode.when_to_use.trim()));
        text.push_str(&format!("    tools: {}\n", groups(mode)));
        for rule in mode.files.iter().filter(|rule| rule.group == ToolGroup::Edit) {
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
    output::print_checked(&text)?;
    Ok(ExitStatus::Done)
}

fn groups(mode: &Mode) -> String {
    let names = mode.groups.iter().map(|group| match group {
        ToolGroup::Read => "read",
        ToolGroup::Edit => "edit",
        ToolGroup::Command => "command",
        ToolGroup::Browser => "browser",
        ToolGroup::Mcp => "mcp",
        ToolGroup::Modes => "modes",
    });
    names.collect::<Vec<_>>().join(", ")
}
