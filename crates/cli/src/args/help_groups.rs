//! The commands in groups, for `hew --help`.

use clap::Command;

/// The groups in display order, with their commands.
const GROUPS: &[(&str, &[&str])] = &[
    ("Work", &["run", "resume", "fork", "demo"]),
    (
        "Sessions and changes",
        &[
            "sessions", "changes", "diff", "undo", "redo", "rewind", "compact", "apply",
        ],
    ),
    (
        "Setup",
        &[
            "doctor",
            "models",
            "keys",
            "login",
            "logout",
            "accounts",
            "config",
            "permissions",
            "trust",
            "mcp",
        ],
    ),
    ("Customisation", &["modes", "commands", "prompts", "agents"]),
    ("Code", &["search", "index", "lsp"]),
    ("Requests and costs", &["cost", "stats", "prompt", "tools", "replay"]),
    ("Evaluation", &["eval", "canary"]),
    ("Editors and browsers", &["serve", "acp", "predict"]),
    ("Shell", &["completions", "man", "schema", "help"]),
];

/// Lists the commands in groups in the help.
pub(super) fn grouped(definition: Command) -> Command {
    let style = *definition.get_styles().get_header();
    let (bold, plain) = (style.render().to_string(), style.render_reset().to_string());
    let literal = *definition.get_styles().get_literal();
    let (name_style, name_end) = (literal.render().to_string(), literal.render_reset().to_string());
    let width = definition
        .get_subcommands()
        .map(|command| command.get_name().len())
        .max();
    let mut text = String::new();
    for (title, names) in GROUPS {
        text.push_str(&format!("{bold}{title}:{plain}\n"));
        for name in *names {
            let about = definition.find_subcommand(name).and_then(Command::get_about);
            let about = about.map_or_else(|| HELP_ABOUT.to_owned(), ToString::to_string);
            let pad = " ".repeat(width.unwrap_or_default() - name.len());
            text.push_str(&format!("  {name_style}{name}{name_end}{pad}  {about}\n"));
        }
        text.push('\n');
    }
    definition.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{text}{bold}Arguments:{plain}\n{{positionals}}\n\n\
         {bold}Options:{plain}\n{{options}}{{after-help}}"
    ))
}

/// The description of `help`, which clap adds later.
const HELP_ABOUT: &str = "Print this message or the help of a command";

#[cfg(test)]
mod tests {
    use super::super::definition;
    use super::*;

    #[test]
    fn each_command_is_in_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let definition = definition();
        let mut all: Vec<&str> = definition.get_subcommands().map(Command::get_name).collect();
        all.push("help");
        grouped.sort_unstable();
        all.sort_unstable();
        assert_eq!(grouped, all);
    }
}
