//! The first steps: choose a provider, give it a key where it needs one, choose a model, test it.

use super::field::Field;
use super::scroll::Scroll;
use crate::house::{Access, Keep, Provider, Trouble, Which};
use crate::input::Input;
use crate::keys::{Context, Deed, Key};
use crate::row::{Row, wrap};
use crate::view::{Cx, Errand, Outcome, Place, View, Wish};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use session::Command;

/// The most rows that words at the foot take.
const FOOT: usize = 4;

/// The first steps.
#[derive(Default)]
pub(crate) struct Setup {
    providers: Vec<Provider>,
    fetching: Option<Errand<Vec<Provider>>>,
    begun: bool,
    step: Step,
    /// What the rows are searched for.
    filter: Field,
    scroll: Scroll,
    said: Option<(bool, String)>,
    /// The choice is being kept.
    saving: Option<Errand<String>>,
    /// Why no session could be opened; without one there is nothing to go back to.
    first: Option<String>,
}

#[derive(Default)]
enum Step {
    /// Which provider?
    #[default]
    Provider,
    /// Its key, and where that is being kept.
    Key(Provider, Field, Option<Errand<String>>),
    /// Where is the key to be kept? And whether it is being kept.
    Keep(Provider, String, Vec<(Keep, String)>, Option<Errand<String>>),
    /// Which of its models?
    Model(Provider),
    /// Does it answer?
    Test(String, Errand<String>),
    /// It answered, or not.
    Tested(String, Result<String, Trouble>),
}

impl Setup {
    /// The first steps of somebody who cannot do anything else yet, for this reason.
    pub(crate) fn first(why: &str) -> Self {
        Setup {
            first: Some(why.to_owned()),
            ..Setup::default()
        }
    }

    fn settle(&mut self, cx: &Cx<'_>) {
        if !self.begun && self.fetching.is_none() {
            self.fetching = Some(cx.fetch(cx.house.providers()));
        }
        if let Some(answer) = self.fetching.as_ref().and_then(Errand::take) {
            self.fetching = None;
            self.begun = true;
            match answer {
                Ok(providers) => self.providers = providers,
                Err(trouble) => self.said = Some((false, trouble.to_string())),
            }
        }
        if let Some(answer) = self.saving.as_ref().and_then(Errand::take) {
            self.saving = None;
            if let Err(trouble) = answer {
                self.said = Some((false, trouble.told()));
            }
        }
        match &mut self.step {
            Step::Key(provider, field, keeping) => {
                let Some(answer) = keeping.as_ref().and_then(Errand::take) else {
                    return;
                };
                let (provider, key) = (std::mem::take(provider), field.text().trim().to_owned());
                match answer {
                    Ok(text) => self.kept(provider, text),
                    // A keyring that does not do it is no reason to give the key a second time.
                    Err(trouble) => {
                        let mut places = cx.house.key_places();
                        places.retain(|(keep, _)| *keep != Keep::Keyring);
                        self.go(Step::Keep(provider, key, places, None));
                        self.said = Some((false, trouble.told()));
                    }
                }
            }
            Step::Keep(provider, _, _, keeping) => {
                let Some(answer) = keeping.as_ref().and_then(Errand::take) else {
                    return;
                };
                *keeping = None;
                match answer {
                    Ok(text) => {
                        let provider = std::mem::take(provider);
                        self.kept(provider, text);
                    }
                    Err(trouble) => self.said = Some((false, trouble.told())),
                }
            }
            Step::Test(model, errand) => {
                let Some(answer) = errand.take() else { return };
                // What works is kept before anything is begun with it.
                if answer.is_ok() {
                    self.saving = Some(cx.fetch(cx.house.set("model".into(), model.clone())));
                }
                self.step = Step::Tested(std::mem::take(model), answer);
            }
            Step::Provider | Step::Model(_) | Step::Tested(..) => {}
        }
    }

    fn kept(&mut self, provider: Provider, told: String) {
        self.go(Step::Model(provider));
        self.said = Some((true, told));
    }

    fn go(&mut self, step: Step) {
        self.step = step;
        self.filter = Field::default();
        self.scroll = Scroll::default();
        self.said = None;
    }

    /// The names of the rows.
    fn names(&self) -> Vec<&str> {
        match &self.step {
            Step::Provider => self.providers.iter().map(|provider| provider.title.as_str()).collect(),
            Step::Model(provider) => provider.models.iter().map(String::as_str).collect(),
            Step::Keep(_, _, places, _) => places.iter().map(|(_, about)| about.as_str()).collect(),
            Step::Key(..) | Step::Test(..) | Step::Tested(..) => Vec::new(),
        }
    }

    /// The numbers of the rows that fit the search.
    fn found(&self) -> Vec<usize> {
        let wanted = self.filter.text().to_lowercase();
        let names = self.names().into_iter().enumerate();
        let fits = |name: &str| {
            let name = name.to_lowercase();
            wanted.split_whitespace().all(|word| name.contains(word))
        };
        names.filter(|(_, name)| fits(name)).map(|(at, _)| at).collect()
    }

    fn choose(&mut self, cx: &Cx<'_>) -> Outcome {
        let chosen = self.found().get(self.scroll.chosen()).copied();
        match &mut self.step {
            Step::Provider => {
                let Some(provider) = chosen.and_then(|at| self.providers.get(at)).cloned() else {
                    return Outcome::Stay;
                };
                match &provider.access {
                    Access::Key(_) | Access::Local => self.go(Step::Model(provider)),
                    Access::NeedsKey => self.go(Step::Key(provider, Field::hidden(), None)),
                    Access::Absent(why) => self.said = Some((false, why.clone())),
                }
            }
            Step::Key(provider, field, keeping) => {
                let key = field.text().trim().to_owned();
                if key.is_empty() || keeping.is_some() {
                    return Outcome::Stay;
                }
                let places = cx.house.key_places();
                match places.first() {
                    Some((Keep::File | Keep::Now, _)) => {
                        let provider = std::mem::take(provider);
                        self.go(Step::Keep(provider, key, places, None));
                    }
                    Some((Keep::Keyring, _)) | None => {
                        *keeping = Some(cx.fetch(cx.house.save_key(provider.name.clone(), key, Keep::Keyring)));
                    }
                }
            }
            Step::Keep(provider, key, places, keeping) => {
                let Some((keep, _)) = chosen.and_then(|at| places.get(at)) else {
                    return Outcome::Stay;
                };
                if keeping.is_none() {
                    *keeping = Some(cx.fetch(cx.house.save_key(provider.name.clone(), key.clone(), *keep)));
                }
            }
            Step::Model(provider) => {
                let Some(model) = chosen.and_then(|at| provider.models.get(at)).cloned() else {
                    return Outcome::Stay;
                };
                let errand = cx.fetch(cx.house.test(model.clone()));
                self.go(Step::Test(model, errand));
            }
            Step::Test(..) => {}
            Step::Tested(_, Ok(_)) if self.saving.is_some() => {}
            Step::Tested(model, Ok(_)) => {
                let name = std::mem::take(model);
                return Outcome::CloseAnd(match cx.state.session {
                    Some(_) => Wish::Send(Command::SetModel { name }),
                    None => Wish::Switch(Which::New),
                });
            }
            Step::Tested(_, Err(_)) => self.go(Step::Provider),
        }
        Outcome::Stay
    }

    /// The end of it; where there is nothing to go back to, of everything.
    fn close(&self) -> Outcome {
        match self.first {
            Some(_) => Outcome::CloseAnd(Wish::Quit),
            None => Outcome::Close,
        }
    }

    fn draw_rows(&mut self, area: Rect, buf: &mut Buffer, cx: &Cx<'_>) {
        let theme = cx.theme;
        let found = self.found();
        let nothing = match &self.step {
            Step::Provider if !self.begun => "looking for keys and for models on this machine …",
            Step::Model(provider) if provider.models.is_empty() => "it offers no models",
            _ if found.is_empty() => "nothing fits",
            _ => "",
        };
        Row::of(format!("  {nothing}"), theme.dim).draw(area.x, area.y, area.width, buf);
        let window = self.scroll.window(found.len(), area.height.into());
        let names = self.names();
        let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        for (offset, at) in found.get(window.clone()).unwrap_or_default().iter().enumerate() {
            let is_chosen = window.start + offset == self.scroll.chosen();
            let name = names.get(*at).copied().unwrap_or_default();
            let (about, style) = match (&self.step, self.providers.get(*at)) {
                (Step::Provider, Some(provider)) => match &provider.access {
                    Access::Key(place) => (format!("key found: {place}"), theme.good),
                    Access::Local => (format!("on this machine, {} models", provider.models.len()), theme.good),
                    Access::NeedsKey => ("needs a key".to_owned(), theme.dim),
                    Access::Absent(why) => (why.clone(), theme.dim),
                },
                _ => (String::new(), theme.dim),
            };
            let row = Row::of(if is_chosen { "› " } else { "  " }, theme.accent)
                .and(
                    format!("{name:<widest$}  "),
                    if is_chosen { theme.strong } else { theme.text },
                )
                .and(about, style);
            let y = area.y + u16::try_from(offset).unwrap_or(0);
            row.cut(area.width.into()).draw(area.x, y, area.width, buf);
        }
    }

    fn head(&self) -> &'static str {
        match &self.step {
            Step::Provider => "Whose models should do the work?",
            Step::Key(..) => "Its API key",
            Step::Keep(..) => "Where is the key to be kept?",
            Step::Model(_) => "Which model?",
            Step::Test(..) => "Does it answer?",
            Step::Tested(_, Ok(_)) => "It works",
            Step::Tested(_, Err(_)) => "It does not answer",
        }
    }

    /// What stands at the foot: what was said last, or what keys do.
    fn foot(&self, width: u16, cx: &Cx<'_>) -> Vec<Row> {
        let theme = cx.theme;
        let keys = |words: &[(&str, &str)]| {
            let row = words.iter().enumerate().fold(Row::empty(), |row, (at, (key, word))| {
                let gap = if at == 0 { "" } else { "   " };
                row.and(format!("{gap}{key}"), theme.strong)
                    .and(format!(" {word}"), theme.dim)
            });
            vec![row.cut(width.into())]
        };
        let demo = cx.keys.hint(Deed::NextPane);
        match (&self.said, &self.step) {
            (Some((is_good, text)), _) => {
                let style = if *is_good { theme.good } else { theme.bad };
                wrap(&Row::of(text.as_str(), style), width.into(), &Row::empty())
            }
            (None, Step::Provider) if self.first.is_some() => {
                keys(&[("enter", "take"), (&demo, "demo without a key"), ("esc", "leave")])
            }
            (None, Step::Provider) => keys(&[("enter", "take"), ("esc", "close")]),
            (None, Step::Tested(_, Ok(_))) => keys(&[("enter", "begin")]),
            (None, _) => keys(&[("enter", "go on"), ("esc", "back")]),
        }
    }
}

impl View for Setup {
    fn place(&self) -> Place {
        Place::Full
    }

    fn handle(&mut self, input: Input, cx: &Cx<'_>) -> Outcome {
        let key = match input {
            Input::Key(event) => Key::from(event),
            Input::Paste(text) => {
                if let Step::Key(_, field, _) = &mut self.step {
                    field.paste(&text);
                }
                return Outcome::Stay;
            }
            Input::Focus(_) => return Outcome::Stay,
        };
        let count = self.found().len();
        let is_searching = !self.filter.text().is_empty();
        match (cx.keys.deed(Context::List, key), &mut self.step) {
            (Some(Deed::Choose), _) => return self.choose(cx),
            (Some(Deed::Cancel | Deed::Leave), _) => return self.close(),
            (Some(Deed::Close), _) if is_searching => self.filter = Field::default(),
            (Some(Deed::Close), Step::Provider) => return self.close(),
            (Some(Deed::Close), _) => self.go(Step::Provider),
            (Some(Deed::Suspend | Deed::Redraw), _) => return Outcome::Pass,
            (_, Step::Key(_, field, None)) => {
                field.press(key, cx.keys);
            }
            (Some(Deed::ListUp), _) => self.scroll.turn(false, count),
            (Some(Deed::ListDown), _) => self.scroll.turn(true, count),
            (Some(Deed::ListPageUp), _) => self.scroll.step(false, 10, count),
            (Some(Deed::ListPageDown), _) => self.scroll.step(true, 10, count),
            (Some(Deed::ListTop), _) => self.scroll.choose(0),
            (Some(Deed::ListBottom), _) => self.scroll.choose(count.saturating_sub(1)),
            (Some(Deed::NextPane), Step::Provider) if self.first.is_some() => return Outcome::CloseAnd(Wish::Demo),
            (_, Step::Provider | Step::Model(_)) if self.filter.press(key, cx.keys) => self.scroll.choose(0),
            (Some(_) | None, _) => {}
        }
        Outcome::Stay
    }

    fn draw(&mut self, area: Rect, buf: &mut Buffer, cx: &Cx<'_>) -> Option<Position> {
        self.settle(cx);
        if area.height < 6 || area.width < 10 {
            return None;
        }
        let theme = cx.theme;
        let why = self.first.as_deref().unwrap_or_default();
        Row::of("Setting up", theme.title)
            .and(if why.is_empty() { "" } else { "  " }, theme.dim)
            .and(why, theme.warn)
            .cut(area.width.into())
            .draw(area.x, area.y, area.width, buf);
        let head = Row::of(self.head(), theme.strong).and("  ", theme.dim);
        let left = u16::try_from(head.width()).unwrap_or(0).min(area.width);
        head.draw(area.x, area.y + 2, area.width, buf);
        let foot = self.foot(area.width, cx);
        let low = u16::try_from(foot.len().min(FOOT)).unwrap_or(1);
        let body = Rect::new(area.x, area.y + 4, area.width, area.height.saturating_sub(5 + low));
        let mut caret = None;
        match &mut self.step {
            Step::Provider | Step::Model(_) => {
                let field = Rect::new(area.x + left, area.y + 2, area.width - left, 1);
                caret = self.filter.draw(field, buf, theme, "type to search");
                self.draw_rows(body, buf, cx);
            }
            Step::Keep(..) => self.draw_rows(body, buf, cx),
            Step::Key(provider, field, keeping) => {
                let head = Row::of(format!("{}: ", provider.title), theme.accent);
                let left = u16::try_from(head.width()).unwrap_or(0).min(body.width / 2);
                head.draw(body.x, body.y, left, buf);
                let hint = if keeping.is_some() { "…" } else { "paste it here" };
                caret = field.draw(Rect::new(body.x + left, body.y, body.width - left, 1), buf, theme, hint);
            }
            Step::Test(model, _) => {
                Row::of(format!("  asking {model} …"), theme.dim).draw(body.x, body.y, body.width, buf);
            }
            Step::Tested(model, answer) => {
                let (text, style) = match answer {
                    Ok(text) => (format!("{model}: {text}"), theme.good),
                    Err(trouble) => (format!("{model}: {}", trouble.told()), theme.bad),
                };
                for (row, y) in wrap(&Row::of(text, style), body.width.into(), &Row::empty())
                    .iter()
                    .zip(body.y..body.bottom())
                {
                    row.draw(body.x, y, body.width, buf);
                }
            }
        }
        for (row, y) in foot.iter().zip(area.bottom() - low..area.bottom()) {
            row.draw(area.x, y, area.width, buf);
        }
        caret
    }
}
