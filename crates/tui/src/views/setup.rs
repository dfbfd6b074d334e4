//! The first steps: choose a provider, give it a key where it needs one, choose a model, test it.

use super::field::Field;
use super::scroll::Scroll;
use crate::house::{Access, Provider, Trouble, Which};
use crate::input::Input;
use crate::keys::{Context, Deed, Key};
use crate::row::{Row, wrap};
use crate::view::{Cx, Errand, Outcome, Place, View, Wish};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use session::Command;

/// So many rows tell what was done or went wrong.
const SAID: usize = 4;

/// The first steps.
#[derive(Default)]
pub(crate) struct Setup {
    providers: Vec<Provider>,
    fetching: Option<Errand<Vec<Provider>>>,
    begun: bool,
    step: Step,
    scroll: Scroll,
    said: Option<(bool, String)>,
    /// The choice is being kept.
    saving: Option<Errand<String>>,
}

#[derive(Default)]
enum Step {
    /// Which provider?
    #[default]
    Provider,
    /// Its key, and where that is being kept.
    Key(Provider, Field, Option<Errand<String>>),
    /// Which of its models?
    Model(Provider),
    /// Does it answer?
    Test(String, Errand<String>),
    /// It answered, or not.
    Tested(String, Result<String, Trouble>),
}

impl Setup {
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
                self.said = Some((false, told(&trouble)));
            }
        }
        match &mut self.step {
            Step::Key(provider, _, keeping) => {
                let Some(answer) = keeping.as_ref().and_then(Errand::take) else {
                    return;
                };
                *keeping = None;
                match answer {
                    Ok(text) => {
                        self.said = Some((true, text));
                        self.step = Step::Model(std::mem::take(provider));
                        self.scroll = Scroll::default();
                    }
                    Err(trouble) => self.said = Some((false, told(&trouble))),
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

    fn count(&self) -> usize {
        match &self.step {
            Step::Provider => self.providers.len(),
            Step::Model(provider) => provider.models.len(),
            Step::Key(..) | Step::Test(..) | Step::Tested(..) => 0,
        }
    }

    fn choose(&mut self, cx: &Cx<'_>) -> Outcome {
        let chosen = self.scroll.chosen();
        match &mut self.step {
            Step::Provider => {
                let Some(provider) = self.providers.get(chosen).cloned() else {
                    return Outcome::Stay;
                };
                self.said = None;
                self.scroll = Scroll::default();
                self.step = match &provider.access {
                    Access::Key(_) | Access::Local => Step::Model(provider),
                    Access::NeedsKey => Step::Key(provider, Field::hidden(), None),
                    Access::Absent(why) => {
                        self.said = Some((false, why.clone()));
                        Step::Provider
                    }
                };
            }
            Step::Key(provider, field, keeping) => {
                let key = field.text().trim().to_owned();
                if !key.is_empty() && keeping.is_none() {
                    *keeping = Some(cx.fetch(cx.house.save_key(provider.name.clone(), key)));
                }
            }
            Step::Model(provider) => {
                let Some(model) = provider.models.get(chosen).cloned() else {
                    return Outcome::Stay;
                };
                let errand = cx.fetch(cx.house.test(model.clone()));
                self.said = None;
                self.step = Step::Test(model, errand);
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
            Step::Tested(_, Err(_)) => self.back(),
        }
        Outcome::Stay
    }

    fn back(&mut self) {
        self.step = Step::Provider;
        self.scroll = Scroll::default();
        self.said = None;
    }

    fn draw_providers(&mut self, area: Rect, buf: &mut Buffer, cx: &Cx<'_>) {
        let theme = cx.theme;
        if !self.begun {
            Row::of("  looking for keys and for models on this machine …", theme.dim)
                .draw(area.x, area.y, area.width, buf);
            return;
        }
        let window = self.scroll.window(self.providers.len(), area.height.into());
        let widest = self
            .providers
            .iter()
            .map(|provider| provider.title.chars().count())
            .max()
            .unwrap_or(0);
        for (offset, provider) in self.providers[window.clone()].iter().enumerate() {
            let is_chosen = window.start + offset == self.scroll.chosen();
            let (text, style) = match &provider.access {
                Access::Key(place) => (format!("key found: {place}"), theme.good),
                Access::Local => (format!("on this machine, {} models", provider.models.len()), theme.good),
                Access::NeedsKey => ("needs a key".to_owned(), theme.dim),
                Access::Absent(why) => (why.clone(), theme.dim),
            };
            let name = format!("{:<widest$}  ", provider.title);
            let row = Row::of(if is_chosen { "› " } else { "  " }, theme.accent)
                .and(name, if is_chosen { theme.strong } else { theme.text })
                .and(text, style);
            let y = area.y + u16::try_from(offset).unwrap_or(0);
            row.cut(area.width.into()).draw(area.x, y, area.width, buf);
        }
    }

    fn draw_models(&mut self, area: Rect, buf: &mut Buffer, cx: &Cx<'_>) {
        let Step::Model(provider) = &self.step else { return };
        let theme = cx.theme;
        if provider.models.is_empty() {
            Row::of("  it offers no models", theme.dim).draw(area.x, area.y, area.width, buf);
        }
        let window = self.scroll.window(provider.models.len(), area.height.into());
        for (offset, model) in provider.models[window.clone()].iter().enumerate() {
            let is_chosen = window.start + offset == self.scroll.chosen();
            let row = Row::of(if is_chosen { "› " } else { "  " }, theme.accent)
                .and(model.as_str(), if is_chosen { theme.strong } else { theme.text });
            let y = area.y + u16::try_from(offset).unwrap_or(0);
            row.cut(area.width.into()).draw(area.x, y, area.width, buf);
        }
    }

    fn head(&self) -> &'static str {
        match &self.step {
            Step::Provider => "Whose models should do the work?",
            Step::Key(..) => "Its API key",
            Step::Model(_) => "Which model?",
            Step::Test(..) => "Does it answer?",
            Step::Tested(_, Ok(_)) => "It works",
            Step::Tested(_, Err(_)) => "It does not answer",
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
        let count = self.count();
        match (cx.keys.deed(Context::List, key), &mut self.step) {
            (Some(Deed::Choose), _) => return self.choose(cx),
            (Some(Deed::Cancel | Deed::Leave), _) | (Some(Deed::Close), Step::Provider) => return Outcome::Close,
            (Some(Deed::Close), _) => self.back(),
            (Some(Deed::Suspend | Deed::Redraw), _) => return Outcome::Pass,
            (_, Step::Key(_, field, None)) => {
                field.press(key, cx.keys);
            }
            (Some(Deed::ListUp), _) => self.scroll.turn(false, count),
            (Some(Deed::ListDown), _) => self.scroll.turn(true, count),
            (Some(Deed::ListPageUp), _) => self.scroll.step(false, 10, count),
            (Some(Deed::ListPageDown), _) => self.scroll.step(true, 10, count),
            (_, Step::Provider) if key.types() == Some('d') => {
                return Outcome::Do(Wish::Tell(
                    "`hew demo` shows a whole task without any key, in a folder of its own".into(),
                ));
            }
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
        Row::of("Setting up", theme.title).draw(area.x, area.y, area.width, buf);
        Row::of(self.head(), theme.strong).draw(area.x, area.y + 2, area.width, buf);
        let body = Rect::new(area.x, area.y + 4, area.width, area.height.saturating_sub(6));
        let mut caret = None;
        match &mut self.step {
            Step::Provider => self.draw_providers(body, buf, cx),
            Step::Model(_) => self.draw_models(body, buf, cx),
            Step::Key(provider, field, keeping) => {
                let head = Row::of(format!("{}: ", provider.title), theme.accent);
                let left = u16::try_from(head.width()).unwrap_or(0).min(body.width / 2);
                head.draw(body.x, body.y, left, buf);
                let hint = if keeping.is_some() {
                    "…"
                } else {
                    "paste it here; it is kept in the system's keyring"
                };
                caret = field.draw(Rect::new(body.x + left, body.y, body.width - left, 1), buf, theme, hint);
            }
            Step::Test(model, _) => {
                Row::of(format!("  asking {model} …"), theme.dim).draw(body.x, body.y, body.width, buf);
            }
            Step::Tested(model, answer) => {
                let (text, style) = match answer {
                    Ok(text) => (format!("{model}: {text}"), theme.good),
                    Err(trouble) => (format!("{model}: {}", told(trouble)), theme.bad),
                };
                for (row, y) in wrap(&Row::of(text, style), body.width.into(), &Row::empty())
                    .iter()
                    .zip(body.y..body.bottom())
                {
                    row.draw(body.x, y, body.width, buf);
                }
            }
        }
        let foot = match (&self.said, &self.step) {
            (Some((true, text)), _) => Row::of(text.as_str(), theme.good),
            (Some((false, text)), _) => Row::of(text.as_str(), theme.bad),
            (None, Step::Provider) => super::list::hints(&[Deed::Choose, Deed::Close], "take", area.width, cx)
                .and("   d", theme.strong)
                .and(" demo without a key", theme.dim),
            (None, Step::Tested(_, Ok(_))) => Row::of("enter", theme.strong).and(" begin", theme.dim),
            (None, _) => Row::of("enter", theme.strong)
                .and(" go on   ", theme.dim)
                .and("esc", theme.strong)
                .and(" back", theme.dim),
        };
        // What went wrong is said in full.
        let mut feet = match &self.said {
            Some(_) => wrap(&foot, area.width.into(), &Row::empty()),
            None => vec![foot.cut(area.width.into())],
        };
        feet.truncate(SAID);
        let first = area.bottom() - u16::try_from(feet.len()).unwrap_or(1);
        for (row, y) in feet.iter().zip(first..) {
            row.draw(area.x, y, area.width, buf);
        }
        caret
    }
}

fn told(trouble: &Trouble) -> String {
    match &trouble.hint {
        Some(hint) => format!("{}; {hint}", trouble.what),
        None => trouble.what.clone(),
    }
}
