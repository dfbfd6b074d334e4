//! Hints about unknown commands.

use super::COMMANDS;

/// The error for an unknown command.
pub(crate) fn unknown_command<'a>(name: &str, custom: impl Iterator<Item = &'a str>) -> String {
    let equivalent = EQUIVALENTS.iter().find(|(other, _)| *other == name);
    match (equivalent, nearest_command(name, custom)) {
        (Some((_, hint)), _) => format!("unknown command /{name}; {hint}"),
        (None, Some(near)) => format!("unknown command /{name}; did you mean /{near}?"),
        (None, None) => format!("unknown command /{name}; type / to list commands"),
    }
}

/// Commands of other agents, and how to do the same.
const EQUIVALENTS: &[(&str, &str)] = &[
    ("add-dir", "start hew with --add-dir DIR"),
    ("approve", "/permissions shows rules and grants"),
    (
        "bug",
        "run `hew doctor` and `hew sessions export`, and report both to the project",
    ),
    (
        "background",
        "ctrl+b moves the running command to the background; /new leaves the session working",
    ),
    (
        "bg",
        "ctrl+b moves the running command to the background; /new leaves the session working",
    ),
    ("cd", "start hew in the other folder, or with `-C DIR`"),
    (
        "commands",
        "type / to list commands; `hew commands` shows where they are defined",
    ),
    ("details", "ctrl+o shows or hides tool output"),
    (
        "feedback",
        "run `hew doctor` and `hew sessions export`, and report both to the project",
    ),
    (
        "hooks",
        "hooks are set in the configuration, with `hew config edit`; `hew doctor` checks it",
    ),
    ("ide", "`hew acp` serves editors"),
    ("image", "paste the path of an image, or press ctrl+v"),
    ("key", "/setup stores the key of a provider"),
    (
        "keybindings",
        "/keys lists them; `keys` in the configuration changes them",
    ),
    ("logout", "run `hew logout PROVIDER`"),
    ("mention", "type @ to mention a file"),
    (
        "output-style",
        "/theme changes the colours, and rules files the way of answering; /memory edits them",
    ),
    ("plan", "/mode plan, or shift+tab"),
    ("plugin", "/servers shows MCP servers; `hew mcp add` adds one"),
    (
        "privacy-settings",
        "hew sends nothing except to the servers that you configured",
    ),
    ("prompts", "`hew prompts` manages saved prompts"),
    ("provider", "/setup chooses a provider; /model a model"),
    ("providers", "/setup chooses a provider; /model a model"),
    ("release-notes", "CHANGELOG.md lists the changes"),
    (
        "sandbox",
        "/permissions shows what is allowed; `--permission` sets it at the start",
    ),
    ("share", "/export writes this session to a file"),
    ("side", "/fork continues in a copy of this session"),
    ("skills", "type / to list skills and commands of the project"),
    ("statusline", "the status line cannot be configured"),
    ("stop", "esc interrupts the turn; /jobs stops background jobs"),
    (
        "terminal-setup",
        "alt+enter, ctrl+j, or a backslash before enter insert a new line",
    ),
    ("tokens", "/context shows the used part of the window"),
    ("tools", "`hew tools` lists the tools with their cost"),
    ("unshare", "/export writes this session to a file"),
    ("update", "hew does not update itself; install it as you did before"),
    ("upgrade", "hew does not update itself; install it as you did before"),
    ("version", "`hew --version` prints it"),
];

/// The built-in or custom command with the most similar name.
pub fn nearest_command<'a>(name: &str, custom: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let names = COMMANDS.iter().map(|command| command.name);
    let aliases = COMMANDS.iter().flat_map(|command| command.aliases.iter().copied());
    nearest(name, names.chain(custom).chain(aliases))
}

/// The name that is most likely meant: at most two letters differ, or one in three.
pub(crate) fn nearest<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (wrong.chars().count() / 3).clamp(1, 2);
    names
        .map(|name| (strsim::damerau_levenshtein(wrong, name), name))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}
