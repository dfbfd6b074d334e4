//! Commands that begin with a slash: the built-in ones as data, and what each of them asks for.

use crate::house::{Choice, Which};
use crate::keys::Deed;
use crate::view::{Cx, Wish};
use session::{Command, ItemId};

/// A built-in command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slash {
    /// Its name, without the slash.
    pub(crate) name: &'static str,
    /// Other names for it.
    pub(crate) aliases: &'static [&'static str],
    /// What may stand behind it; empty where nothing does.
    pub(crate) takes: &'static str,
    /// What it does, in a few words.
    pub(crate) says: &'static str,
    does: Does,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    /// What a key does too.
    Deed(Deed),
    Compact,
    Continue,
    Fork,
    Init,
    Mode,
    Model,
    Quit,
    Redo,
    Rename,
    Theme,
    Undo,
}

/// Every built-in command.
pub(crate) const COMMANDS: &[Slash] = &[
    slash(
        "new",
        &["reset"],
        "",
        "begin a new session",
        Does::Deed(Deed::NewSession),
    ),
    slash("clear", &[], "", "the same as /new", Does::Deed(Deed::NewSession)),
    slash(
        "init",
        &[],
        "",
        "have AGENTS.md written: what an agent should know of this project",
        Does::Init,
    ),
    slash(
        "sessions",
        &["resume", "history"],
        "",
        "search, resume, fork or rename a session",
        Does::Deed(Deed::Sessions),
    ),
    slash("model", &["models"], "[NAME]", "choose a model", Does::Model),
    slash("mode", &["modes", "agent"], "[NAME]", "choose a mode", Does::Mode),
    slash(
        "changes",
        &["diff", "review"],
        "",
        "what this session changed, to accept or take back",
        Does::Deed(Deed::Changes),
    ),
    slash(
        "undo",
        &[],
        "",
        "take the last turn's changes of files back",
        Does::Undo,
    ),
    slash("redo", &[], "", "make again what was undone", Does::Redo),
    slash(
        "rewind",
        &["back"],
        "",
        "go back to an earlier prompt",
        Does::Deed(Deed::Rewind),
    ),
    slash("fork", &["branch"], "", "go on in a copy of this session", Does::Fork),
    slash(
        "compact",
        &["summarise", "summarize"],
        "[WHAT TO HEED]",
        "replace the conversation so far by notes",
        Does::Compact,
    ),
    slash(
        "context",
        &["cost", "usage", "stats"],
        "",
        "what the context is made of, and what it costs",
        Does::Deed(Deed::ContextView),
    ),
    slash(
        "todo",
        &["todos"],
        "",
        "the list of things to do",
        Does::Deed(Deed::Todo),
    ),
    slash(
        "jobs",
        &["ps"],
        "",
        "commands in the background",
        Does::Deed(Deed::Jobs),
    ),
    slash(
        "agents",
        &["subagents", "tasks"],
        "",
        "subtasks: watch, steer, stop",
        Does::Deed(Deed::Subagents),
    ),
    slash(
        "servers",
        &["mcp", "lsp"],
        "",
        "MCP and language servers",
        Does::Deed(Deed::Servers),
    ),
    slash(
        "permissions",
        &["allow", "approvals"],
        "",
        "what is allowed",
        Does::Deed(Deed::Permissions),
    ),
    slash("theme", &["themes"], "[NAME]", "choose a theme", Does::Theme),
    slash(
        "settings",
        &["config"],
        "",
        "settings, and where each comes from",
        Does::Deed(Deed::Settings),
    ),
    slash(
        "setup",
        &["login", "connect"],
        "",
        "choose a provider, store a key, test the connection",
        Does::Deed(Deed::Setup),
    ),
    slash("help", &["keys", "?"], "", "keys and commands", Does::Deed(Deed::Help)),
    slash("editor", &[], "", "write in your editor", Does::Deed(Deed::Editor)),
    slash("vim", &[], "", "turn vim's keys on or off", Does::Deed(Deed::ToggleVim)),
    slash("copy", &[], "", "copy the last reply", Does::Deed(Deed::Copy)),
    slash(
        "search",
        &["find"],
        "",
        "search the conversation",
        Does::Deed(Deed::Search),
    ),
    slash(
        "transcript",
        &[],
        "",
        "look back through the whole conversation",
        Does::Deed(Deed::Transcript),
    ),
    slash(
        "rename",
        &["title"],
        "TITLE",
        "give this session another title",
        Does::Rename,
    ),
    slash(
        "continue",
        &[],
        "",
        "go on with the turn that was interrupted",
        Does::Continue,
    ),
    slash("quit", &["exit", "q"], "", "leave", Does::Quit),
];

const fn slash(
    name: &'static str,
    aliases: &'static [&'static str],
    takes: &'static str,
    says: &'static str,
    does: Does,
) -> Slash {
    Slash {
        name,
        aliases,
        takes,
        says,
        does,
    }
}

/// What `/init` asks of the model.
const INIT: &str = "Look around in this project and write AGENTS.md in its root: what somebody who has never seen it must know \
to work in it. How it is built, tested and checked (also a single test), how it is laid out, the conventions that its code \
follows and that cannot be seen at a glance. Only what is true here and what you have checked; no general advice. At most a \
page. Where AGENTS.md is there already, keep what is right and improve it; take over what other instructions for agents say \
that lie in the project.";

/// What came of a line that begins with a slash.
pub(crate) enum Ran {
    /// It asks for this.
    Wish(Wish),
    /// It cannot be done like this.
    Wrong(String),
    /// It is for the agent: a prompt that begins with a slash, or a command from a file.
    NotOne,
}

/// Runs a line such as `/model anthropic/claude-sonnet-4-6`; `more` are commands from files.
pub(crate) fn run(line: &str, more: &[Choice], cx: &Cx<'_>) -> Ran {
    let Some(rest) = line.strip_prefix('/') else {
        return Ran::NotOne;
    };
    let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let arguments = arguments.trim();
    if let Some(command) = find(name) {
        return command.run(arguments, cx);
    }
    if more.iter().any(|choice| choice.name == name) {
        // The agent knows what it stands for.
        return Ran::NotOne;
    }
    match name.is_empty() || name.contains(['/', '.']) {
        // A path, or a lone slash.
        true => Ran::NotOne,
        false => Ran::Wrong(format!("there is no command /{name}; / alone lists them")),
    }
}

/// The built-in command of this name, or with this other name.
pub(crate) fn find(name: &str) -> Option<&'static Slash> {
    COMMANDS
        .iter()
        .find(|command| command.name == name || command.aliases.contains(&name))
}

impl Slash {
    /// What a key would do for it, where there is one.
    pub(crate) fn deed(&self) -> Option<Deed> {
        Some(match self.does {
            Does::Deed(deed) => deed,
            Does::Model => Deed::Models,
            Does::Mode => Deed::Modes,
            Does::Theme => Deed::Themes,
            Does::Undo => Deed::UndoTurn,
            Does::Redo => Deed::RedoTurn,
            Does::Quit => Deed::Leave,
            Does::Compact | Does::Continue | Does::Fork | Does::Init | Does::Rename => return None,
        })
    }

    /// Does it.
    pub(crate) fn run(&self, arguments: &str, cx: &Cx<'_>) -> Ran {
        let named = |deed: Deed, make: &dyn Fn(String) -> Wish| match arguments.is_empty() {
            true => Wish::Act(deed),
            false => make(arguments.to_owned()),
        };
        Ran::Wish(match self.does {
            Does::Deed(deed) => Wish::Act(deed),
            Does::Model => named(Deed::Models, &|name| Wish::Send(Command::SetModel { name })),
            Does::Mode => named(Deed::Modes, &|name| Wish::Send(Command::SetMode { name })),
            Does::Theme => named(Deed::Themes, &Wish::ThemeNamed),
            Does::Compact => Wish::Send(Command::Compact {
                instructions: (!arguments.is_empty()).then(|| arguments.to_owned()),
            }),
            Does::Continue => Wish::Send(Command::Continue),
            Does::Init => Wish::Say(INIT.into()),
            Does::Undo => Wish::Act(Deed::UndoTurn),
            Does::Redo => Wish::Act(Deed::RedoTurn),
            Does::Quit => Wish::Quit,
            Does::Fork => match cx.state.session {
                Some(session) => Wish::Switch(Which::Fork {
                    session,
                    upto: None::<ItemId>,
                }),
                None => return Ran::Wrong("no session is open yet".into()),
            },
            Does::Rename => match (cx.state.session, arguments) {
                (_, "") => return Ran::Wrong("write the new title behind /rename".into()),
                (Some(session), title) => Wish::Rename(session, title.to_owned()),
                (None, _) => return Ran::Wrong("no session is open yet".into()),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of all commands for the book, in Markdown.
    fn markdown() -> String {
        let row = |command: &Slash| {
            let takes = match command.takes {
                "" => String::new(),
                takes => format!(" {takes}"),
            };
            let others: Vec<String> = command.aliases.iter().map(|other| format!("`/{other}`")).collect();
            format!(
                "| `/{}{takes}` | {} | {} |\n",
                command.name,
                others.join(", "),
                command.says
            )
        };
        let rows: String = COMMANDS.iter().map(row).collect();
        format!("| command | also | |\n|---|---|---|\n{rows}")
    }

    #[test]
    fn the_book_lists_every_command() {
        assert!(
            include_str!("../../../docs/tui.md").contains(&markdown()),
            "docs/tui.md needs this:\n{}",
            markdown()
        );
    }

    #[test]
    fn no_two_commands_share_a_name() {
        let mut names: Vec<&str> = COMMANDS
            .iter()
            .flat_map(|command| std::iter::once(command.name).chain(command.aliases.iter().copied()))
            .collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
