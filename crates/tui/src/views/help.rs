//! Slash commands, and keys with their actions.

use super::list::{ListItems, ListResponse, ListSource};
use crate::action::AppAction;
use crate::keys::{BINDINGS, KeyBinding, KeyContext};
use crate::row::StyledRow;
use crate::slash::{BuiltInCommand, COMMANDS, SlashOutcome};
use crate::view::{ViewContext, ViewPlacement};

/// All commands and keys.
pub(crate) struct HelpPicker {
    /// Which of them are listed first.
    pub(crate) first: HelpTopic,
}

/// A part of the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HelpTopic {
    Commands,
    Keys,
}

/// A row of the help.
pub(crate) struct HelpRow {
    text: String,
    subject: HelpSubject,
}

#[derive(Clone, Copy)]
enum HelpSubject {
    Command(&'static BuiltInCommand),
    Key(&'static KeyBinding),
    Prefix(&'static str),
}

/// Characters with a meaning at the beginning of a word or a line.
const PREFIXES: [(&str, &str); 4] = [
    ("/", "List commands"),
    ("@", "Mention a file, a folder or @diff"),
    ("#", "Mention a symbol"),
    ("!", "Run a command in your shell"),
];

/// The width of the first column.
const NAME_WIDTH: usize = 18;

impl HelpRow {
    fn new(name: &str, description: &str, subject: HelpSubject) -> Self {
        HelpRow {
            text: format!("{name:<NAME_WIDTH$}  {}", description.replace('`', "")),
            subject,
        }
    }
}

impl ListSource for HelpPicker {
    type Item = HelpRow;

    fn title(&self) -> String {
        match self.first {
            HelpTopic::Commands => "Commands and keys".into(),
            HelpTopic::Keys => "Keys and commands".into(),
        }
    }

    fn placement(&self) -> ViewPlacement {
        ViewPlacement::Full
    }

    fn load(&mut self, cx: &ViewContext<'_>) -> ListItems<HelpRow> {
        let commands = COMMANDS.iter().map(|command| {
            let name = format!("/{} {}", command.name, command.arguments);
            HelpRow::new(name.trim_end(), command.description, HelpSubject::Command(command))
        });
        let keys = BINDINGS.iter().map(|binding| {
            let keys = cx.keys.keys(binding.action).join("  ");
            HelpRow::new(&keys, binding.description, HelpSubject::Key(binding))
        });
        let prefixes = PREFIXES
            .iter()
            .map(|(prefix, description)| HelpRow::new(prefix, description, HelpSubject::Prefix(prefix)));
        ListItems::Ready(match self.first {
            HelpTopic::Commands => commands.chain(prefixes).chain(keys).collect(),
            HelpTopic::Keys => prefixes.chain(keys).chain(commands).collect(),
        })
    }

    fn name(&self, row: &HelpRow) -> String {
        row.text.clone()
    }

    fn columns(&self, row: &HelpRow, cx: &ViewContext<'_>) -> (StyledRow, StyledRow) {
        let right = match row.subject {
            HelpSubject::Command(command) => {
                let names: Vec<String> = command.aliases.iter().map(|alias| format!("/{alias}")).collect();
                names.join(" ")
            }
            HelpSubject::Key(binding) => binding.context.title().to_owned(),
            HelpSubject::Prefix(_) => KeyContext::Composer.title().to_owned(),
        };
        (StyledRow::empty(), StyledRow::new(right, cx.theme.dim))
    }

    fn choose_label(&self) -> &'static str {
        "run"
    }

    fn choose(&mut self, row: &HelpRow, cx: &ViewContext<'_>) -> ListResponse {
        match row.subject {
            HelpSubject::Command(command) => match command.run("", cx) {
                SlashOutcome::Action(action) => ListResponse::close_and(action),
                SlashOutcome::Invalid(_) | SlashOutcome::NotBuiltIn => {
                    ListResponse::close_and(AppAction::SetInput(format!("/{} ", command.name)))
                }
            },
            HelpSubject::Prefix(prefix) => ListResponse::close_and(AppAction::SetInput(prefix.to_owned())),
            HelpSubject::Key(binding) => match binding.context {
                KeyContext::Everywhere | KeyContext::Composer | KeyContext::Conversation => {
                    ListResponse::close_and(AppAction::Key(binding.action))
                }
                KeyContext::Completion | KeyContext::Approval | KeyContext::List | KeyContext::Changes => {
                    ListResponse::close()
                }
            },
        }
    }
}
