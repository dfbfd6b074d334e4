//! Everything that can be done, in one list: commands of the app, slash commands, and commands from files.

use super::list::{Act, Fetch, Source};
use crate::house::Choice;
use crate::keys::{Context, Deed};
use crate::row::Row;
use crate::slash::{COMMANDS, Ran};
use crate::view::{Cx, Wish};

/// The list of everything.
pub(crate) struct Palette {
    commands: Vec<Choice>,
}

/// Something that can be done.
#[derive(Debug, Clone)]
pub(crate) enum Entry {
    /// A built-in slash command, by its place in the list.
    Slash(usize),
    /// A command from a file.
    File(Choice),
    /// What only a key does.
    Deed(Deed),
}

impl Palette {
    /// The list, with the commands that files define.
    pub(crate) fn new(commands: &[Choice]) -> Self {
        Palette {
            commands: commands.to_vec(),
        }
    }
}

/// What has no command of its own and makes sense without the place it belongs to.
const BARE: &[Deed] = &[
    Deed::NextMode,
    Deed::ToggleThinking,
    Deed::ToggleDetails,
    Deed::HistorySearch,
    Deed::PasteImage,
    Deed::Suspend,
    Deed::Redraw,
];

impl Source for Palette {
    type Entry = Entry;

    fn title(&self) -> String {
        "Commands".into()
    }

    fn fetch(&mut self, _: &Cx<'_>) -> Fetch<Entry> {
        let built_in = (0..COMMANDS.len()).map(Entry::Slash);
        let files = self.commands.iter().cloned().map(Entry::File);
        let bare = BARE.iter().copied().map(Entry::Deed);
        Fetch::Now(built_in.chain(files).chain(bare).collect())
    }

    fn name(&self, entry: &Entry) -> String {
        match entry {
            Entry::Slash(index) => format!("/{}", COMMANDS[*index].name),
            Entry::File(choice) => format!("/{}", choice.name),
            Entry::Deed(deed) => deed.binding().name.to_owned(),
        }
    }

    fn about(&self, entry: &Entry, cx: &Cx<'_>) -> (Row, Row) {
        let (about, deed) = match entry {
            Entry::Slash(index) => (COMMANDS[*index].says, COMMANDS[*index].deed()),
            Entry::File(choice) => (choice.about.as_str(), None),
            Entry::Deed(deed) => (deed.binding().says, Some(*deed)),
        };
        // Keys that only count in another place would mislead here.
        let everywhere = |deed: &Deed| matches!(deed.binding().context, Context::Everywhere | Context::Composer);
        let key = deed
            .filter(everywhere)
            .map(|deed| cx.keys.hint(deed))
            .unwrap_or_default();
        (Row::of(about, cx.theme.dim), Row::of(key, cx.theme.dim))
    }

    fn verb(&self) -> &'static str {
        "do it"
    }

    fn choose(&mut self, entry: &Entry, cx: &Cx<'_>) -> Act {
        match entry {
            Entry::Slash(index) => {
                let command = &COMMANDS[*index];
                // What needs words is put into the line, to be completed there.
                if command.takes.starts_with(char::is_alphabetic) {
                    return Act::CloseAnd(Wish::Compose(format!("/{} ", command.name)));
                }
                match command.run("", cx) {
                    Ran::Wish(wish) => Act::CloseAnd(wish),
                    Ran::Wrong(why) => Act::CloseAnd(Wish::Flash(why)),
                    Ran::NotOne => Act::Close,
                }
            }
            Entry::File(choice) => Act::CloseAnd(Wish::Compose(format!("/{} ", choice.name))),
            Entry::Deed(deed) => Act::CloseAnd(Wish::Act(*deed)),
        }
    }
}

/// Every deed that opens something can be reached without a key, through the palette.
#[cfg(test)]
pub(super) fn reachable() -> Vec<Deed> {
    let slashes = COMMANDS.iter().filter_map(|command| command.deed());
    slashes.chain(BARE.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::BINDINGS;

    #[test]
    fn everything_that_works_everywhere_is_in_the_palette() {
        let known = reachable();
        let missing: Vec<&str> = BINDINGS
            .iter()
            .filter(|binding| binding.context == Context::Everywhere && !known.contains(&binding.deed))
            .map(|binding| binding.name)
            .collect();
        // These end or close something, or are the palette itself.
        assert_eq!(missing, ["interrupt", "cancel", "palette"]);
    }
}
