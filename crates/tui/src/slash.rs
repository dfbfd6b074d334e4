//! Built-in slash commands as data, and their actions.

mod suggestions;

pub use suggestions::nearest_command;
pub(crate) use suggestions::{nearest, unknown_command};

use crate::action::AppAction;
use crate::backend::{BackendFuture, OperationResult, PanelRow, PickerItem, SessionTarget};
use crate::format::{dollars, plural, tokens};
use crate::keys::KeyAction;
use crate::view::ViewContext;
use crate::views::code_search::CodeMatchPicker;
use crate::views::effort::{EFFORTS, EffortPicker, effort_name};
use crate::views::help::{HelpPicker, HelpTopic};
use crate::views::list::ListView;
use crate::views::memory::MemoryPicker;
use crate::views::panels::PanelPicker;
use futures::future::FutureExt as _;
use model::Effort;
use policy::ApprovalMode;
use session::{Command, ItemId};

/// A built-in command.
#[derive(Debug, Clone, Copy)]
pub struct BuiltInCommand {
    /// The name without the slash.
    pub name: &'static str,
    /// Alternative names.
    pub aliases: &'static [&'static str],
    /// The arguments; empty if there are none.
    pub arguments: &'static str,
    /// A short description.
    pub description: &'static str,
    action: SlashAction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlashAction {
    /// A key action.
    Key(KeyAction),
    Code,
    Compact,
    Continue,
    Doctor,
    Effort,
    Export,
    Fork,
    Goal,
    Help,
    Init,
    Mode,
    Memory,
    Model,
    Panels,
    Quit,
    Redo,
    Rename,
    Review,
    Status,
    Theme,
    Undo,
}

/// Arguments with known values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArgumentKind {
    Model,
    Mode,
    Effort,
    Theme,
    PanelVerb,
}

/// All built-in commands.
pub const COMMANDS: &[BuiltInCommand] = &[
    slash(
        "new",
        &["reset"],
        "",
        "start a new session",
        SlashAction::Key(KeyAction::NewSession),
    ),
    slash(
        "clear",
        &[],
        "",
        "start a new session (same as /new)",
        SlashAction::Key(KeyAction::NewSession),
    ),
    slash(
        "init",
        &[],
        "",
        "create or improve AGENTS.md for this project",
        SlashAction::Init,
    ),
    slash(
        "sessions",
        &["resume", "history"],
        "",
        "search, resume, fork or rename a session",
        SlashAction::Key(KeyAction::Sessions),
    ),
    slash("model", &["models"], "[NAME]", "choose a model", SlashAction::Model),
    slash(
        "mode",
        &["modes", "agent"],
        "[NAME]",
        "choose a mode",
        SlashAction::Mode,
    ),
    slash(
        "effort",
        &["reasoning", "thinking"],
        "[LEVEL]",
        "set the reasoning effort of this session",
        SlashAction::Effort,
    ),
    slash(
        "status",
        &[],
        "",
        "show the session, the model, rules files, permissions and usage",
        SlashAction::Status,
    ),
    slash(
        "goal",
        &[],
        "[TEXT] [--check COMMAND]",
        "work until a goal is reached or a command succeeds",
        SlashAction::Goal,
    ),
    slash(
        "changes",
        &["diff"],
        "",
        "review the changes of this session",
        SlashAction::Key(KeyAction::Changes),
    ),
    slash(
        "review",
        &[],
        "[INSTRUCTIONS]",
        "let the model review the uncommitted changes",
        SlashAction::Review,
    ),
    slash("undo", &[], "", "undo the last turn's file changes", SlashAction::Undo),
    slash("redo", &[], "", "redo the undone file changes", SlashAction::Redo),
    slash(
        "rewind",
        &["back", "checkpoint", "timeline"],
        "",
        "rewind to an earlier prompt",
        SlashAction::Key(KeyAction::Rewind),
    ),
    slash(
        "fork",
        &["branch"],
        "",
        "continue in a copy of this session",
        SlashAction::Fork,
    ),
    slash(
        "compact",
        &["summarise", "summarize"],
        "[INSTRUCTIONS]",
        "replace the conversation with a summary",
        SlashAction::Compact,
    ),
    slash(
        "context",
        &["cost", "usage", "stats"],
        "",
        "show context usage and cost",
        SlashAction::Key(KeyAction::ContextView),
    ),
    slash(
        "todo",
        &["todos"],
        "",
        "show the todo list",
        SlashAction::Key(KeyAction::Todo),
    ),
    slash(
        "jobs",
        &["ps", "bashes"],
        "",
        "show background jobs",
        SlashAction::Key(KeyAction::Jobs),
    ),
    slash(
        "agents",
        &["subagents", "tasks"],
        "",
        "show subtasks: watch, steer, stop",
        SlashAction::Key(KeyAction::Subagents),
    ),
    slash(
        "servers",
        &["mcp", "lsp"],
        "",
        "show MCP and language servers",
        SlashAction::Key(KeyAction::Servers),
    ),
    slash(
        "panels",
        &["panel"],
        "[open|close NAME]",
        "list, open or close panels",
        SlashAction::Panels,
    ),
    slash(
        "memory",
        &["rules"],
        "",
        "show and edit rules files",
        SlashAction::Memory,
    ),
    slash(
        "permissions",
        &["allow", "approvals"],
        "",
        "show and revoke permission rules and grants",
        SlashAction::Key(KeyAction::Permissions),
    ),
    slash("theme", &["themes"], "[NAME]", "choose a theme", SlashAction::Theme),
    slash(
        "settings",
        &["config"],
        "",
        "show settings and their sources",
        SlashAction::Key(KeyAction::Settings),
    ),
    slash(
        "setup",
        &["login", "connect"],
        "",
        "choose a provider, store a key, test the connection",
        SlashAction::Key(KeyAction::Setup),
    ),
    slash("help", &["keys", "?"], "", "show commands and keys", SlashAction::Help),
    slash(
        "editor",
        &[],
        "",
        "edit the prompt in your editor",
        SlashAction::Key(KeyAction::Editor),
    ),
    slash(
        "vim",
        &[],
        "",
        "turn Vim keys on or off",
        SlashAction::Key(KeyAction::ToggleVim),
    ),
    slash(
        "copy",
        &[],
        "",
        "copy the last reply",
        SlashAction::Key(KeyAction::Copy),
    ),
    slash(
        "search",
        &["find"],
        "",
        "search the conversation",
        SlashAction::Key(KeyAction::Search),
    ),
    slash(
        "code",
        &["codebase"],
        "WORDS",
        "find code by meaning, with its text",
        SlashAction::Code,
    ),
    slash(
        "transcript",
        &[],
        "",
        "show the full conversation",
        SlashAction::Key(KeyAction::Transcript),
    ),
    slash(
        "export",
        &[],
        "[FILE]",
        "export this session as Markdown",
        SlashAction::Export,
    ),
    slash(
        "doctor",
        &[],
        "",
        "check the configuration and the providers",
        SlashAction::Doctor,
    ),
    slash(
        "rename",
        &["title"],
        "TITLE",
        "rename this session",
        SlashAction::Rename,
    ),
    slash(
        "continue",
        &[],
        "",
        "continue the interrupted turn",
        SlashAction::Continue,
    ),
    slash("quit", &["exit", "q"], "", "quit", SlashAction::Quit),
];

const fn slash(
    name: &'static str,
    aliases: &'static [&'static str],
    takes: &'static str,
    says: &'static str,
    does: SlashAction,
) -> BuiltInCommand {
    BuiltInCommand {
        name,
        aliases,
        arguments: takes,
        description: says,
        action: does,
    }
}

/// The prompt of `/init`.
const INIT: &str = "Explore this project and write AGENTS.md in its root: what a newcomer must know to work in it. How to \
build, test and lint it (including how to run a single test), how it is organised, and conventions that are not obvious from \
the code. Include only facts that you have verified here, no general advice. At most one page. If AGENTS.md exists, keep what \
is correct and improve it. Incorporate other instructions for agents that exist in the project.";

/// The prompt of `/review`.
const REVIEW: &str = "Review the uncommitted changes of this project (`git diff HEAD` and untracked files; without any, the last commit). Report bugs, regressions, missing tests and security problems, the most serious first, each with its file and line and the reason. Do not report style. Change nothing. If there is no problem, state that.";

/// The prompt of a built-in command that only sends one; `None` for other commands.
pub fn prompt_of_command(name: &str, arguments: &str) -> Option<String> {
    match name {
        "init" => Some(INIT.to_owned()),
        "review" => Some(format!("{REVIEW} {arguments}").trim_end().to_owned()),
        _ => None,
    }
}

/// The result of running a line that begins with a slash.
pub(crate) enum SlashOutcome {
    /// An action for the app.
    Action(AppAction),
    /// An error for the user.
    Invalid(String),
    /// Not a built-in command: a prompt or a custom command for the agent.
    NotBuiltIn,
}

/// Runs a line such as `/model anthropic/claude-sonnet-4-6`; `more` are custom commands.
pub(crate) fn run(line: &str, more: &[PickerItem], cx: &ViewContext<'_>) -> SlashOutcome {
    let Some(rest) = line.strip_prefix('/') else {
        return SlashOutcome::NotBuiltIn;
    };
    let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let arguments = arguments.trim();
    if let Some(command) = find(name) {
        return command.run(arguments, cx);
    }
    if more.iter().any(|choice| choice.name == name) {
        // The agent expands it.
        return SlashOutcome::NotBuiltIn;
    }
    match name.is_empty() || name.contains(['/', '.']) {
        // A path or a lone slash.
        true => SlashOutcome::NotBuiltIn,
        false => SlashOutcome::Invalid(unknown_command(name, more.iter().map(|choice| choice.name.as_str()))),
    }
}

/// The built-in command with this name or alias.
pub(crate) fn find(name: &str) -> Option<&'static BuiltInCommand> {
    COMMANDS
        .iter()
        .find(|command| command.name == name || command.aliases.contains(&name))
}

impl BuiltInCommand {
    /// The kind of the first argument, if its values are known.
    pub(crate) fn argument_kind(&self) -> Option<ArgumentKind> {
        Some(match self.action {
            SlashAction::Model => ArgumentKind::Model,
            SlashAction::Mode => ArgumentKind::Mode,
            SlashAction::Effort => ArgumentKind::Effort,
            SlashAction::Theme => ArgumentKind::Theme,
            SlashAction::Panels => ArgumentKind::PanelVerb,
            _ => return None,
        })
    }

    /// The key action that is equivalent to it.
    pub(crate) fn key_action(&self) -> Option<KeyAction> {
        Some(match self.action {
            SlashAction::Key(action) => action,
            SlashAction::Model => KeyAction::Models,
            SlashAction::Mode => KeyAction::Modes,
            SlashAction::Theme => KeyAction::Themes,
            SlashAction::Undo => KeyAction::UndoTurn,
            SlashAction::Redo => KeyAction::RedoTurn,
            SlashAction::Quit => KeyAction::Leave,
            SlashAction::Help => KeyAction::Help,
            SlashAction::Code
            | SlashAction::Compact
            | SlashAction::Continue
            | SlashAction::Doctor
            | SlashAction::Effort
            | SlashAction::Export
            | SlashAction::Fork
            | SlashAction::Goal
            | SlashAction::Init
            | SlashAction::Memory
            | SlashAction::Panels
            | SlashAction::Rename
            | SlashAction::Review
            | SlashAction::Status => return None,
        })
    }

    /// Runs the command.
    pub(crate) fn run(&self, arguments: &str, cx: &ViewContext<'_>) -> SlashOutcome {
        let named = |action: KeyAction, make: &dyn Fn(String) -> AppAction| match arguments.is_empty() {
            true => AppAction::Key(action),
            false => make(arguments.to_owned()),
        };
        SlashOutcome::Action(match self.action {
            SlashAction::Key(action) => AppAction::Key(action),
            SlashAction::Model => named(KeyAction::Models, &|name| AppAction::Send(Command::SetModel { name })),
            SlashAction::Mode => named(KeyAction::Modes, &|name| AppAction::Send(Command::SetMode { name })),
            SlashAction::Theme => named(KeyAction::Themes, &AppAction::SetTheme),
            SlashAction::Compact => AppAction::Send(Command::Compact {
                instructions: (!arguments.is_empty()).then(|| arguments.to_owned()),
            }),
            SlashAction::Continue => AppAction::Send(Command::Continue),
            SlashAction::Goal => AppAction::Goal(arguments.to_owned()),
            SlashAction::Help => AppAction::OpenView(Box::new(ListView::new(HelpPicker {
                first: HelpTopic::Commands,
            }))),
            SlashAction::Status => AppAction::Notice(status_text(cx)),
            SlashAction::Memory => AppAction::OpenView(Box::new(ListView::new(MemoryPicker))),
            SlashAction::Doctor => AppAction::All(vec![
                AppAction::Flash("checking …".into()),
                AppAction::AwaitOperation(notice(cx.backend.run_hew(vec!["doctor".into()]))),
            ]),
            SlashAction::Effort => match parse_effort(arguments) {
                Ok(None) if arguments.is_empty() => AppAction::OpenView(Box::new(ListView::new(EffortPicker))),
                Ok(effort) => AppAction::SetEffort(effort),
                Err(error) => return SlashOutcome::Invalid(error.to_string()),
            },
            SlashAction::Export => match cx.state.session {
                Some(session) => AppAction::AwaitOperation(export(&session.to_string(), arguments, cx)),
                None => return SlashOutcome::Invalid("no session is open".into()),
            },
            SlashAction::Panels => match arguments.split_once(char::is_whitespace) {
                Some((verb @ ("open" | "close"), name)) => {
                    let panel = PanelRow {
                        name: name.trim().to_owned(),
                        is_open: verb == "close",
                    };
                    AppAction::AwaitOperation(notice(cx.backend.toggle_panel(panel)))
                }
                Some(_) | None if arguments.is_empty() => AppAction::OpenView(Box::new(ListView::new(PanelPicker))),
                Some(_) | None => return SlashOutcome::Invalid("usage: /panels [open|close NAME]".into()),
            },
            SlashAction::Code => match arguments {
                "" => return SlashOutcome::Invalid("usage: /code WORDS".into()),
                words => AppAction::OpenView(Box::new(ListView::new(CodeMatchPicker::new(words.to_owned())))),
            },
            SlashAction::Init | SlashAction::Review => match prompt_of_command(self.name, arguments) {
                Some(prompt) => AppAction::Prompt(prompt),
                None => return SlashOutcome::NotBuiltIn,
            },
            SlashAction::Undo => AppAction::Key(KeyAction::UndoTurn),
            SlashAction::Redo => AppAction::Key(KeyAction::RedoTurn),
            SlashAction::Quit => AppAction::Quit,
            SlashAction::Fork => match cx.state.session {
                Some(session) => AppAction::OpenSession(SessionTarget::Fork {
                    session,
                    upto: None::<ItemId>,
                }),
                None => return SlashOutcome::Invalid("no session is open".into()),
            },
            SlashAction::Rename => match (cx.state.session, arguments) {
                (_, "") => return SlashOutcome::Invalid("usage: /rename TITLE".into()),
                (Some(session), title) => AppAction::RenameSession(session, title.to_owned()),
                (None, _) => return SlashOutcome::Invalid("no session is open".into()),
            },
        })
    }
}

/// An operation that shows this text.
fn notice(text: BackendFuture<String>) -> BackendFuture<OperationResult> {
    let shown = |message: String| OperationResult {
        message: message.trim_end().to_owned(),
        log_entry: None,
    };
    text.map(move |text| text.map(shown)).boxed()
}

/// Exports the session to a file in the project.
fn export(session: &str, file: &str, cx: &ViewContext<'_>) -> BackendFuture<OperationResult> {
    let file = match file {
        "" => format!("hew-session-{}.md", session.get(..8).unwrap_or(session)),
        file => file.to_owned(),
    };
    let arguments = ["sessions", "export", session, "--output", file.as_str()];
    let exporting = cx.backend.run_hew(arguments.map(String::from).to_vec());
    let text = exporting.map(move |output| {
        output.map(|output| match output.trim() {
            "" => format!("exported this session to {file}"),
            output => output.to_owned(),
        })
    });
    notice(text.boxed())
}

/// No effort has this name.
#[derive(Debug, thiserror::Error)]
#[error("unknown effort `{0}`; {hint}", hint = effort_hint(.0))]
struct UnknownEffort(String);

fn effort_hint(name: &str) -> String {
    let names = EFFORTS.map(effort_name);
    match nearest(name, names.into_iter()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("choose default, {}", names.join(", ")),
    }
}

/// The effort with this name; `None` for the model's default.
fn parse_effort(name: &str) -> Result<Option<Effort>, UnknownEffort> {
    match name {
        "" | "default" => Ok(None),
        name => {
            let found = EFFORTS.into_iter().find(|effort| effort_name(*effort) == name);
            found.map(Some).ok_or_else(|| UnknownEffort(name.to_owned()))
        }
    }
}

/// What `/status` shows.
fn status_text(cx: &ViewContext<'_>) -> String {
    let (state, info) = (cx.state, &cx.state.info);
    let or = |text: &str, other: &str| {
        if text.is_empty() {
            other.to_owned()
        } else {
            text.to_owned()
        }
    };
    let used = state.usage.prompt_tokens() + state.usage.output;
    let rows = [
        ("session", state.session.map(|id| id.to_string()).unwrap_or_default()),
        ("title", info.title.clone().unwrap_or_else(|| "–".into())),
        ("folder", info.display_path.clone()),
        (
            "model",
            format!("{}, effort {}", info.model, or(&info.effort, "default")),
        ),
        (
            "mode",
            match info.edit_approval {
                _ if info.permission == "read-only" => info.mode.clone(),
                Some(ApprovalMode::Ask) => format!("{}, asks before each change and command", info.mode),
                Some(ApprovalMode::Allow) | None if info.mode == "code" => "code, accepts edits in the project".into(),
                Some(ApprovalMode::Allow) | None => info.mode.clone(),
            },
        ),
        ("permission", info.permission.clone()),
        ("sandbox", or(&info.sandbox, "none")),
        ("rules", or(&info.rules.join(", "), "none")),
        (
            "context",
            format!("{} of {} tokens", tokens(used), tokens(info.context_window)),
        ),
        (
            "cost",
            format!(
                "{} in {}",
                dollars(state.totals.cost),
                plural(state.totals.requests, "request")
            ),
        ),
        ("jobs", format!("{} running", state.running_jobs)),
    ];
    let lines = rows.iter().map(|(name, value)| format!("{name:<11} {value}"));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Markdown table of all commands for the documentation.
    fn markdown() -> String {
        let row = |command: &BuiltInCommand| {
            let takes = match command.arguments {
                "" => String::new(),
                takes => format!(" {takes}"),
            };
            let others: Vec<String> = command.aliases.iter().map(|other| format!("`/{other}`")).collect();
            format!(
                "| `/{}{takes}` | {} | {} |\n",
                command.name,
                others.join(", "),
                command.description
            )
        };
        let rows: String = COMMANDS.iter().map(row).collect();
        format!("| command | also | |\n|---|---|---|\n{rows}")
    }

    #[test]
    fn the_documentation_lists_every_command() {
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
