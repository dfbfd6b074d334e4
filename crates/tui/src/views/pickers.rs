//! Choosing a model, a mode or a theme.

use super::list::{Act, Fetch, Source};
use crate::house::Choice;
use crate::row::Row;
use crate::theme::{self, Theme};
use crate::view::{Cx, Wish};
use session::Command;

/// The models that can be chosen.
pub(crate) struct Models;

/// The modes that can be chosen.
pub(crate) struct Modes;

/// The themes that can be chosen.
pub(crate) struct Themes {
    before: Theme,
}

impl Themes {
    /// The themes; the one that is in force now is kept if none is chosen.
    pub(crate) fn new(before: Theme) -> Self {
        Themes { before }
    }
}

fn about(choice: &Choice, is_current: bool, cx: &Cx<'_>) -> (Row, Row) {
    let about = match &choice.obstacle {
        Some(obstacle) => Row::of(format!("{} · {obstacle}", choice.about), cx.theme.dim),
        None => Row::of(&*choice.about, cx.theme.dim),
    };
    let now = if is_current {
        Row::of("now", cx.theme.good)
    } else {
        Row::empty()
    };
    (about, now)
}

fn current(entries: &[Choice], name: &str) -> usize {
    entries.iter().position(|choice| choice.name == name).unwrap_or(0)
}

impl Source for Models {
    type Entry = Choice;

    fn title(&self) -> String {
        "Models".into()
    }

    fn fetch(&mut self, cx: &Cx<'_>) -> Fetch<Choice> {
        Fetch::Later(cx.fetch(cx.house.models()))
    }

    fn name(&self, choice: &Choice) -> String {
        choice.name.clone()
    }

    fn about(&self, choice: &Choice, cx: &Cx<'_>) -> (Row, Row) {
        about(choice, choice.name == cx.state.facts.model, cx)
    }

    fn first(&self, entries: &[Choice], cx: &Cx<'_>) -> usize {
        current(entries, &cx.state.facts.model)
    }

    fn choose(&mut self, choice: &Choice, _: &Cx<'_>) -> Act {
        match &choice.obstacle {
            Some(obstacle) => Act::Do(Wish::Flash(format!("{}: {obstacle}; /setup stores a key", choice.name))),
            None => Act::CloseAnd(Wish::Send(Command::SetModel {
                name: choice.name.clone(),
            })),
        }
    }

    fn empty(&self) -> &'static str {
        "no models are known; /setup finds some"
    }
}

impl Source for Modes {
    type Entry = Choice;

    fn title(&self) -> String {
        "Modes".into()
    }

    fn fetch(&mut self, cx: &Cx<'_>) -> Fetch<Choice> {
        Fetch::Later(cx.fetch(cx.house.modes()))
    }

    fn name(&self, choice: &Choice) -> String {
        choice.name.clone()
    }

    fn about(&self, choice: &Choice, cx: &Cx<'_>) -> (Row, Row) {
        about(choice, choice.name == cx.state.facts.mode, cx)
    }

    fn first(&self, entries: &[Choice], cx: &Cx<'_>) -> usize {
        current(entries, &cx.state.facts.mode)
    }

    fn choose(&mut self, choice: &Choice, _: &Cx<'_>) -> Act {
        Act::CloseAnd(Wish::Send(Command::SetMode {
            name: choice.name.clone(),
        }))
    }
}

impl Source for Themes {
    type Entry = String;

    fn title(&self) -> String {
        "Themes".into()
    }

    fn fetch(&mut self, cx: &Cx<'_>) -> Fetch<String> {
        let own = cx.house.themes();
        let built_in = theme::NAMES.iter().map(|name| (*name).to_owned());
        Fetch::Now(built_in.chain(own.into_keys()).collect())
    }

    fn name(&self, name: &String) -> String {
        name.clone()
    }

    /// A line in the theme itself, so that it can be seen before it is chosen.
    fn about(&self, name: &String, cx: &Cx<'_>) -> (Row, Row) {
        let now = if *name == self.before.name {
            Row::of("now", cx.theme.good)
        } else {
            Row::empty()
        };
        let Ok(theme) = Theme::find(name, &cx.house.themes()) else {
            return (Row::of("it has a mistake", cx.theme.bad), now);
        };
        let sample = Row::of("accent ", theme.accent)
            .and("good ", theme.good)
            .and("warn ", theme.warn)
            .and("bad ", theme.bad)
            .and(" + added ", theme.added)
            .and(" - removed ", theme.removed)
            .and(" dim", theme.dim);
        (sample, now)
    }

    fn first(&self, entries: &[String], _: &Cx<'_>) -> usize {
        entries.iter().position(|name| *name == self.before.name).unwrap_or(0)
    }

    fn choose(&mut self, name: &String, _: &Cx<'_>) -> Act {
        Act::CloseAnd(Wish::ThemeNamed(name.clone()))
    }
}
