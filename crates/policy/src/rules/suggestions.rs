//! Rules for commands that are offered for not asking again.

use super::rule::{Match, MatchMode, Rule};
use crate::shell::{self, ShellWord, SimpleCommand};

/// Programs that remove or overwrite what their arguments name. A rule for all their uses is not suggested.
const DESTRUCTIVE_PROGRAMS: &[&str] = &[
    "chmod", "chown", "dd", "doas", "kill", "killall", "mkfs", "mv", "pkill", "rm", "rmdir", "shred", "sudo",
    "truncate", "unlink",
];

/// Subcommands that remove something, of any program.
const DESTRUCTIVE_SUBCOMMANDS: &[&str] = &["clean", "delete", "destroy", "prune", "purge", "rm"];

/// Programs that do what their subcommand names. A rule without it is not suggested.
#[rustfmt::skip]
const SUBCOMMAND_PROGRAMS: &[&str] = &[
    "apt", "apt-get", "brew", "bun", "bundle", "cargo", "composer", "conda", "deno", "dnf", "docker", "dotnet", "git",
    "gmake", "go", "helm", "hg", "jj", "just", "kubectl", "make", "mise", "mix", "nix", "npm", "npx", "pdm", "pip", "pip3",
    "pipenv", "pnpm", "podman", "poetry", "rustup", "rye", "svn", "systemctl", "task", "terraform", "uv", "uvx", "yarn",
];

/// Programs, and those of their subcommands that run the next word or group further subcommands. An empty list stands for all.
const NESTED_SUBCOMMANDS: &[(&str, &[&str])] = &[
    ("aws", &[]),
    ("az", &[]),
    ("bun", &["run", "x"]),
    ("bundle", &["exec"]),
    ("conda", &["run"]),
    ("deno", &["run", "task"]),
    (
        "docker",
        &[
            "compose",
            "container",
            "exec",
            "image",
            "network",
            "run",
            "system",
            "volume",
        ],
    ),
    ("gcloud", &[]),
    ("gh", &[]),
    ("go", &["run", "tool"]),
    ("hatch", &["run"]),
    ("kubectl", &["exec"]),
    ("mise", &["exec", "run"]),
    ("npm", &["exec", "run", "run-script"]),
    ("pdm", &["run"]),
    ("pipenv", &["run"]),
    ("pnpm", &["dlx", "exec", "run"]),
    ("podman", &["exec", "run"]),
    ("poetry", &["run"]),
    ("rye", &["run"]),
    ("uv", &["pip", "run", "tool"]),
    ("yarn", &["dlx", "exec", "run", "workspace"]),
];

/// Rules that together cover the commands of a line, each by its program and subcommand. Empty if a command is not covered
/// by such a rule, or the rule would allow much more than this command.
pub(super) fn command_rules(commands: &[&SimpleCommand]) -> Vec<String> {
    let mut rules = Vec::new();
    for command in commands {
        match command_rule(command) {
            Some(rule) if rules.contains(&rule) => {}
            Some(rule) => rules.push(rule),
            None => return Vec::new(),
        }
    }
    rules
}

fn command_rule(command: &SimpleCommand) -> Option<String> {
    let program = command.program()?;
    // The name does not determine what such a program does.
    if program.contains('/') || is_unlimited(&program) {
        return None;
    }
    let mut words = vec![program.to_string()];
    let subcommand = plain_word(command, 1);
    match &subcommand {
        Some(subcommand) if DESTRUCTIVE_SUBCOMMANDS.contains(&subcommand.as_str()) => return None,
        Some(subcommand) => words.push(subcommand.clone()),
        None if SUBCOMMAND_PROGRAMS.contains(&program.as_ref()) => return None,
        None => {}
    }
    let nested = NESTED_SUBCOMMANDS.iter().find(|(name, _)| *name == program);
    let is_nested = nested.is_some_and(|(_, groups)| {
        groups.is_empty() || subcommand.is_some_and(|subcommand| groups.contains(&subcommand.as_str()))
    });
    if is_nested {
        let next = plain_word(command, 2)?;
        if is_unlimited(&next) || DESTRUCTIVE_SUBCOMMANDS.contains(&next.as_str()) {
            return None;
        }
        words.push(next);
    }
    let rule = format!("run({})", words.join(" "));
    let parsed: Rule = rule.parse().ok()?;
    (parsed.matches_command("", command, MatchMode::Narrow) == Match::Yes).then_some(rule)
}

/// Whether a program does anything that its arguments name.
fn is_unlimited(program: &str) -> bool {
    shell::is_shell(program) || shell::is_interpreter(program) || DESTRUCTIVE_PROGRAMS.contains(&program)
}

/// A word that looks like the name of a subcommand.
fn plain_word(command: &SimpleCommand, index: usize) -> Option<String> {
    let word = command.words.get(index).and_then(ShellWord::plain)?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':');
    (!word.is_empty() && !word.starts_with('-') && word.chars().all(is_name)).then(|| word.to_string())
}
