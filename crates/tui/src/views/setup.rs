//! Setup: choose a provider, enter its key, choose a model, test the connection.

use super::field::InputField;
use super::list::more_below;
use super::scroll::ScrollState;
use crate::action::{AppAction, KeyResponse};
use crate::backend::{KeyStorage, ProviderAccess, ProviderRow, SessionTarget, SignInPrompt, UserError};
use crate::input::Input;
use crate::keys::{KeyAction, KeyChord, KeyContext};
use crate::row::{StyledRow, wrap};
use crate::view::{ModalView, PendingResult, ViewContext, ViewPlacement};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use session::Command;

/// Maximum rows of the footer.
const MAX_FOOTER: usize = 4;

const TRY_AGAIN: &str = "Try again";
const USE_ANYWAY: &str = "Use anyway";
const ANOTHER_KEY: &str = "Enter another key";
/// The choices after a failed test.
const FAILED_TEST: [&str; 4] = [TRY_AGAIN, USE_ANYWAY, ANOTHER_KEY, "Choose another provider"];

/// The setup view.
#[derive(Default)]
pub(crate) struct SetupView {
    providers: Vec<ProviderRow>,
    loading: Option<PendingResult<Vec<ProviderRow>>>,
    loaded: bool,
    step: SetupStep,
    /// The search text.
    filter: InputField,
    scroll: ScrollState,
    message: Option<(bool, String)>,
    /// Rows below the visible ones.
    below: usize,
    /// Pending save of the chosen model.
    saving: Option<PendingResult<String>>,
    /// Why no session could be opened; without a session, closing setup quits.
    open_error: Option<String>,
}

#[derive(Default)]
enum SetupStep {
    /// Choose a provider.
    #[default]
    Provider,
    /// Enter the address of a provider that has one for each account, and wait until it is stored.
    Address(ProviderRow, InputField, Option<PendingResult<String>>),
    /// Enter its key, and wait until it is stored.
    Key(ProviderRow, InputField, Option<PendingResult<String>>),
    /// Choose where to store the key, and wait until it is stored.
    KeyStorage(
        ProviderRow,
        String,
        Vec<(KeyStorage, String)>,
        Option<PendingResult<String>>,
    ),
    /// Sign in: show the code, and wait until the user has entered it.
    SignIn(ProviderRow, SignInProgress),
    /// Choose a model.
    Model(ProviderRow),
    /// Test the connection.
    Test(ProviderRow, String, PendingResult<String>),
    /// The test result.
    Tested(ProviderRow, String, Result<String, UserError>),
}

enum SignInProgress {
    Starting(PendingResult<SignInPrompt>),
    Shown {
        page: String,
        code: String,
        finished: PendingResult<String>,
    },
}

impl SetupView {
    /// Starts setup because no session could be opened.
    pub(crate) fn without_session(why: &str) -> Self {
        SetupView {
            open_error: Some(why.to_owned()),
            ..SetupView::default()
        }
    }

    fn apply_results(&mut self, cx: &ViewContext<'_>) {
        if !self.loaded && self.loading.is_none() {
            self.loading = Some(cx.start(cx.backend.providers()));
        }
        if let Some(answer) = self.loading.as_ref().and_then(PendingResult::take) {
            self.loading = None;
            self.loaded = true;
            match answer {
                Ok(providers) => self.providers = providers,
                Err(error) => self.message = Some((false, error.to_string())),
            }
        }
        if let Some(answer) = self.saving.as_ref().and_then(PendingResult::take) {
            self.saving = None;
            if let Err(error) = answer {
                self.message = Some((false, error.with_hint()));
            }
        }
        match &mut self.step {
            SetupStep::Address(provider, _, saving) => {
                let Some(answer) = saving.as_ref().and_then(PendingResult::take) else {
                    return;
                };
                *saving = None;
                match answer {
                    Ok(_) => {
                        provider.address_example = None;
                        let provider = std::mem::take(provider);
                        self.open_provider(provider, cx);
                    }
                    Err(error) => self.message = Some((false, error.with_hint())),
                }
            }
            SetupStep::Key(provider, field, keeping) => {
                let Some(answer) = keeping.as_ref().and_then(PendingResult::take) else {
                    return;
                };
                let (provider, key) = (std::mem::take(provider), field.text().trim().to_owned());
                match answer {
                    Ok(text) => self.key_stored(provider, text),
                    // If the keyring fails, the key does not have to be entered again.
                    Err(error) => {
                        let mut places = cx.backend.key_storages();
                        places.retain(|(keep, _)| *keep != KeyStorage::Keyring);
                        self.go_to(SetupStep::KeyStorage(provider, key, places, None));
                        self.message = Some((false, error.with_hint()));
                    }
                }
            }
            SetupStep::KeyStorage(provider, _, _, keeping) => {
                let Some(answer) = keeping.as_ref().and_then(PendingResult::take) else {
                    return;
                };
                *keeping = None;
                match answer {
                    Ok(text) => {
                        let provider = std::mem::take(provider);
                        self.key_stored(provider, text);
                    }
                    Err(error) => self.message = Some((false, error.with_hint())),
                }
            }
            SetupStep::SignIn(provider, SignInProgress::Starting(pending)) => match pending.take() {
                Some(Ok(SignInPrompt { page, code, finished })) => {
                    let finished = cx.start(finished);
                    let shown = SignInProgress::Shown { page, code, finished };
                    self.step = SetupStep::SignIn(std::mem::take(provider), shown);
                }
                Some(Err(error)) => self.sign_in_failed(&error),
                None => {}
            },
            SetupStep::SignIn(provider, SignInProgress::Shown { finished, .. }) => match finished.take() {
                Some(Ok(text)) => {
                    let provider = std::mem::take(provider);
                    self.key_stored(provider, text);
                }
                Some(Err(error)) => self.sign_in_failed(&error),
                None => {}
            },
            SetupStep::Test(provider, model, pending) => {
                let Some(answer) = pending.take() else { return };
                // Save a working model before it is used.
                if answer.is_ok() {
                    self.saving = Some(cx.start(cx.backend.change_setting("model".into(), model.clone())));
                }
                self.step = SetupStep::Tested(std::mem::take(provider), std::mem::take(model), answer);
            }
            SetupStep::Provider | SetupStep::Model(_) | SetupStep::Tested(..) => {}
        }
    }

    fn sign_in_failed(&mut self, error: &UserError) {
        self.go_to(SetupStep::Provider);
        self.message = Some((false, error.with_hint()));
    }

    fn key_stored(&mut self, mut provider: ProviderRow, message: String) {
        if provider.access == ProviderAccess::NeedsKey {
            provider.access = ProviderAccess::Key("entered just now".into());
        }
        // The list of providers shows which have a key.
        self.loaded = false;
        self.go_to(SetupStep::Model(provider));
        self.message = Some((true, message));
    }

    fn go_to(&mut self, step: SetupStep) {
        self.step = step;
        self.filter = InputField::default();
        self.scroll = ScrollState::default();
        self.message = None;
    }

    /// The names of the rows.
    fn names(&self) -> Vec<&str> {
        match &self.step {
            SetupStep::Provider => self.providers.iter().map(|provider| provider.title.as_str()).collect(),
            SetupStep::Model(provider) => provider.models.iter().map(|model| model.name.as_str()).collect(),
            SetupStep::Tested(provider, _, Err(_)) => {
                let mut choices = FAILED_TEST.to_vec();
                choices.retain(|choice| *choice != ANOTHER_KEY || provider.access.accepts_key());
                choices
            }
            SetupStep::KeyStorage(_, _, places, _) => places.iter().map(|(_, about)| about.as_str()).collect(),
            SetupStep::Address(..)
            | SetupStep::Key(..)
            | SetupStep::SignIn(..)
            | SetupStep::Test(..)
            | SetupStep::Tested(_, _, Ok(_)) => Vec::new(),
        }
    }

    /// Indices of the rows that match the search.
    fn matching_rows(&self) -> Vec<usize> {
        let query = self.filter.text().to_lowercase();
        let names = self.names().into_iter().enumerate();
        let fits = |name: &str| {
            let name = name.to_lowercase();
            query.split_whitespace().all(|word| name.contains(word))
        };
        names.filter(|(_, name)| fits(name)).map(|(at, _)| at).collect()
    }

    fn choose(&mut self, cx: &ViewContext<'_>) -> KeyResponse {
        let chosen = self.matching_rows().get(self.scroll.selected()).copied();
        match &mut self.step {
            SetupStep::Provider => {
                let Some(provider) = chosen.and_then(|at| self.providers.get(at)).cloned() else {
                    return KeyResponse::Handled;
                };
                match &provider.address_example {
                    Some(_) => self.go_to(SetupStep::Address(provider, InputField::default(), None)),
                    None => self.open_provider(provider, cx),
                }
            }
            SetupStep::Address(provider, field, saving) => {
                let address = field.text().trim().to_owned();
                if !address.is_empty() && saving.is_none() {
                    let key = format!("providers.{}.base_url", provider.name);
                    *saving = Some(cx.start(cx.backend.change_setting(key, address)));
                }
            }
            SetupStep::Key(provider, field, keeping) => {
                let key = field.text().trim().to_owned();
                if key.is_empty() || keeping.is_some() {
                    return KeyResponse::Handled;
                }
                let places = cx.backend.key_storages();
                match places.first() {
                    Some((KeyStorage::File | KeyStorage::Memory, _)) => {
                        let provider = std::mem::take(provider);
                        self.go_to(SetupStep::KeyStorage(provider, key, places, None));
                    }
                    Some((KeyStorage::Keyring, _)) | None => {
                        *keeping = Some(cx.start(cx.backend.save_key(provider.name.clone(), key, KeyStorage::Keyring)));
                    }
                }
            }
            SetupStep::KeyStorage(provider, key, places, keeping) => {
                let Some((keep, _)) = chosen.and_then(|at| places.get(at)) else {
                    return KeyResponse::Handled;
                };
                if keeping.is_none() {
                    *keeping = Some(cx.start(cx.backend.save_key(provider.name.clone(), key.clone(), *keep)));
                }
            }
            SetupStep::Model(provider) => {
                let listed = chosen
                    .and_then(|at| provider.models.get(at))
                    .map(|model| model.name.clone());
                let Some(model) = listed.or_else(|| unlisted_model(provider, self.filter.text())) else {
                    return KeyResponse::Handled;
                };
                let provider = std::mem::take(provider);
                self.test(provider, model, cx);
            }
            SetupStep::SignIn(..) | SetupStep::Test(..) => {}
            SetupStep::Tested(_, _, Ok(_)) if self.saving.is_some() => {}
            SetupStep::Tested(_, model, Ok(_)) => {
                let name = std::mem::take(model);
                return KeyResponse::close_and(match cx.state.session {
                    Some(_) => AppAction::Send(Command::SetModel { name }),
                    None => AppAction::OpenSession(SessionTarget::New),
                });
            }
            SetupStep::Tested(_, _, Err(_)) => {
                let choice = chosen.and_then(|at| self.names().get(at).map(|name| (*name).to_owned()));
                let SetupStep::Tested(provider, model, _) = &mut self.step else {
                    return KeyResponse::Handled;
                };
                match choice.as_deref() {
                    Some(TRY_AGAIN) => {
                        let (provider, model) = (std::mem::take(provider), std::mem::take(model));
                        self.test(provider, model, cx);
                    }
                    Some(USE_ANYWAY) => self.use_anyway(cx),
                    Some(ANOTHER_KEY) => {
                        let provider = std::mem::take(provider);
                        self.go_to(SetupStep::Key(provider, InputField::hidden(), None));
                    }
                    Some(_) | None => self.go_to(SetupStep::Provider),
                }
            }
        }
        KeyResponse::Handled
    }

    /// Goes to the first step of a provider with a known address.
    fn open_provider(&mut self, provider: ProviderRow, cx: &ViewContext<'_>) {
        match &provider.access {
            ProviderAccess::Key(_) | ProviderAccess::Credentials(_) | ProviderAccess::Local => {
                self.go_to(SetupStep::Model(provider))
            }
            ProviderAccess::NeedsKey => self.go_to(SetupStep::Key(provider, InputField::hidden(), None)),
            ProviderAccess::SignIn(_) => {
                let starting = SignInProgress::Starting(cx.start(cx.backend.sign_in(provider.name.clone())));
                self.go_to(SetupStep::SignIn(provider, starting));
            }
            ProviderAccess::Absent(why) => self.message = Some((false, why.clone())),
        }
    }

    fn test(&mut self, provider: ProviderRow, model: String, cx: &ViewContext<'_>) {
        let pending = cx.start(cx.backend.test_model(model.clone()));
        self.go_to(SetupStep::Test(provider, model, pending));
    }

    /// Saves the model although its test failed.
    fn use_anyway(&mut self, cx: &ViewContext<'_>) {
        if let SetupStep::Tested(provider, model, Err(_)) = &mut self.step {
            let (provider, model) = (std::mem::take(provider), std::mem::take(model));
            self.saving = Some(cx.start(cx.backend.change_setting("model".into(), model.clone())));
            self.step = SetupStep::Tested(provider, model, Ok("not tested".into()));
        }
    }

    /// Closes setup; quits if no session is open.
    fn close(&self) -> KeyResponse {
        match self.open_error {
            Some(_) => KeyResponse::close_and(AppAction::Quit),
            None => KeyResponse::close(),
        }
    }

    fn draw_rows(&mut self, area: Rect, buf: &mut Buffer, cx: &ViewContext<'_>) {
        let theme = cx.theme;
        let found = self.matching_rows();
        let nothing = match &self.step {
            SetupStep::Provider if !self.loaded && self.providers.is_empty() => {
                "looking for keys and local models …".to_owned()
            }
            SetupStep::Model(provider) if found.is_empty() => match unlisted_model(provider, self.filter.text()) {
                Some(model) => format!("not in the list; enter uses {model}"),
                None => "type the name of your model or deployment".to_owned(),
            },
            _ if found.is_empty() => "no match".to_owned(),
            _ => String::new(),
        };
        StyledRow::new(format!("  {nothing}"), theme.dim).draw(area.x, area.y, area.width, buf);
        let window = self.scroll.visible(found.len(), area.height.into());
        self.below = found.len() - window.end;
        let names = self.names();
        let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        for (offset, at) in found.get(window.clone()).unwrap_or_default().iter().enumerate() {
            let is_chosen = window.start + offset == self.scroll.selected();
            let name = names.get(*at).copied().unwrap_or_default();
            let (about, style) = match (&self.step, self.providers.get(*at)) {
                (SetupStep::Model(provider), _) => {
                    let about = provider.models.get(*at).map(|model| model.description.clone());
                    (about.unwrap_or_default(), theme.dim)
                }
                (SetupStep::Provider, Some(provider)) => match &provider.access {
                    ProviderAccess::Key(place) => (format!("key found: {place}"), theme.good),
                    ProviderAccess::Credentials(text) => (text.clone(), theme.dim),
                    ProviderAccess::Local => (format!("local, {} models", provider.models.len()), theme.good),
                    ProviderAccess::NeedsKey => ("requires a key".to_owned(), theme.dim),
                    ProviderAccess::SignIn(_) => ("sign in with your subscription".to_owned(), theme.dim),
                    ProviderAccess::Absent(why) => (why.clone(), theme.dim),
                },
                _ => (String::new(), theme.dim),
            };
            let row = StyledRow::new(if is_chosen { "› " } else { "  " }, theme.accent)
                .push(
                    format!("{name:<widest$}  "),
                    if is_chosen { theme.strong } else { theme.text },
                )
                .push(about, style);
            let y = area.y + u16::try_from(offset).unwrap_or(0);
            row.truncate(area.width.into()).draw(area.x, y, area.width, buf);
        }
    }

    fn heading(&self) -> &'static str {
        match &self.step {
            SetupStep::Provider => "Choose a model provider",
            SetupStep::Address(..) => "Enter the address",
            SetupStep::Key(..) => "Enter the API key",
            SetupStep::SignIn(..) => "Sign in",
            SetupStep::KeyStorage(..) => "Where should the key be stored?",
            SetupStep::Model(_) => "Choose a model (prices per million tokens)",
            SetupStep::Test(..) => "Testing the connection",
            SetupStep::Tested(..) if self.saving.is_some() => "Saving",
            SetupStep::Tested(_, _, Ok(_)) => "Ready",
            SetupStep::Tested(_, _, Err(_)) => "Connection failed",
        }
    }

    /// The footer: the last message and key hints.
    fn footer(&self, width: u16, cx: &ViewContext<'_>) -> Vec<StyledRow> {
        let theme = cx.theme;
        let more = match &self.step {
            SetupStep::Provider | SetupStep::Model(_) => more_below(self.below),
            _ => String::new(),
        };
        let keys = |words: &[(&str, &str)]| {
            let row = words
                .iter()
                .enumerate()
                .fold(StyledRow::empty(), |row, (at, (key, word))| {
                    let gap = if at == 0 { "" } else { "   " };
                    row.push(format!("{gap}{key}"), theme.strong)
                        .push(format!(" {word}"), theme.dim)
                });
            row.push(more.as_str(), theme.dim).truncate(width.into())
        };
        let next = cx.keys.hint(KeyAction::NextPane);
        let mut rows = Vec::new();
        if let Some((is_good, text)) = &self.message {
            let style = if *is_good { theme.good } else { theme.bad };
            rows = wrap(&StyledRow::new(text.as_str(), style), width.into(), &StyledRow::empty());
            rows.truncate(MAX_FOOTER - 1);
        }
        rows.push(match &self.step {
            SetupStep::Provider if self.open_error.is_some() => {
                keys(&[("enter", "choose"), (&next, "demo without a key"), ("esc", "quit")])
            }
            SetupStep::Provider => keys(&[("enter", "choose"), ("esc", "close")]),
            SetupStep::Model(provider) if provider.access.accepts_key() => {
                keys(&[("enter", "continue"), (&next, "enter another key"), ("esc", "back")])
            }
            SetupStep::Tested(_, _, Ok(_)) => keys(&[("enter", "start")]),
            SetupStep::SignIn(..) => keys(&[("esc", "back")]),
            _ => keys(&[("enter", "continue"), ("esc", "back")]),
        });
        rows
    }
}

impl ModalView for SetupView {
    fn placement(&self) -> ViewPlacement {
        ViewPlacement::Full
    }

    fn handle(&mut self, input: Input, cx: &ViewContext<'_>) -> KeyResponse {
        let key = match input {
            Input::Key(event) => KeyChord::from(event),
            Input::Paste(text) => {
                match &mut self.step {
                    SetupStep::Key(_, field, None) | SetupStep::Address(_, field, None) => field.paste(&text),
                    SetupStep::Provider | SetupStep::Model(_) => {
                        self.filter.paste(&text);
                        self.scroll.select(0);
                    }
                    _ => {}
                }
                return KeyResponse::Handled;
            }
            Input::Focus(_) => return KeyResponse::Handled,
        };
        let count = self.matching_rows().len();
        let is_searching = !self.filter.text().is_empty();
        match (cx.keys.action(KeyContext::List, key), &mut self.step) {
            (Some(KeyAction::Choose), _) => return self.choose(cx),
            (Some(KeyAction::Cancel | KeyAction::Leave), _) => return self.close(),
            (Some(KeyAction::Close), _) if is_searching => self.filter = InputField::default(),
            (Some(KeyAction::Close), SetupStep::Provider) => return self.close(),
            (Some(KeyAction::Close), _) => self.go_to(SetupStep::Provider),
            (Some(KeyAction::Suspend | KeyAction::Redraw), _) => return KeyResponse::Ignored,
            (_, SetupStep::Key(_, field, None) | SetupStep::Address(_, field, None)) => {
                field.handle_key(key, cx.keys);
            }
            (Some(KeyAction::ListUp), _) => self.scroll.select_next(false, count),
            (Some(KeyAction::ListDown), _) => self.scroll.select_next(true, count),
            (Some(KeyAction::ListPageUp), _) => self.scroll.move_by(false, 10, count),
            (Some(KeyAction::ListPageDown), _) => self.scroll.move_by(true, 10, count),
            (Some(KeyAction::ListTop), _) => self.scroll.select(0),
            (Some(KeyAction::ListBottom), _) => self.scroll.select(count.saturating_sub(1)),
            (Some(KeyAction::NextPane), SetupStep::Provider) if self.open_error.is_some() => {
                return KeyResponse::close_and(AppAction::Demo);
            }
            (Some(KeyAction::NextPane), SetupStep::Model(provider)) if provider.access.accepts_key() => {
                let provider = std::mem::take(provider);
                self.go_to(SetupStep::Key(provider, InputField::hidden(), None));
            }
            (_, SetupStep::Provider | SetupStep::Model(_)) if self.filter.handle_key(key, cx.keys) => {
                self.scroll.select(0)
            }
            (None, SetupStep::Tested(_, _, Err(_))) if key.types() == Some('u') => self.use_anyway(cx),
            (Some(_) | None, _) => {}
        }
        KeyResponse::Handled
    }

    fn draw(&mut self, area: Rect, buf: &mut Buffer, cx: &ViewContext<'_>) -> Option<Position> {
        self.apply_results(cx);
        if area.height < 6 || area.width < 10 {
            return None;
        }
        let theme = cx.theme;
        let is_first = matches!(self.step, SetupStep::Provider);
        let why = self.open_error.as_deref().filter(|_| is_first).unwrap_or_default();
        StyledRow::new("Setup", theme.title)
            .push(if why.is_empty() { "" } else { "  " }, theme.dim)
            .push(why, theme.warn)
            .truncate(area.width.into())
            .draw(area.x, area.y, area.width, buf);
        let head = StyledRow::new(self.heading(), theme.strong).push("  ", theme.dim);
        let left = u16::try_from(head.width()).unwrap_or(0).min(area.width);
        head.draw(area.x, area.y + 2, area.width, buf);
        let low = u16::try_from(self.footer(area.width, cx).len().min(MAX_FOOTER)).unwrap_or(1);
        let body = Rect::new(area.x, area.y + 4, area.width, area.height.saturating_sub(5 + low));
        let mut caret = None;
        match &mut self.step {
            SetupStep::Provider | SetupStep::Model(_) => {
                let field = Rect::new(area.x + left, area.y + 2, area.width - left, 1);
                caret = self.filter.draw(field, buf, theme, "type to search");
                self.draw_rows(body, buf, cx);
            }
            SetupStep::KeyStorage(..) => self.draw_rows(body, buf, cx),
            SetupStep::Key(provider, field, keeping) => {
                let hint = if keeping.is_some() { "…" } else { "paste it here" };
                let place = match &provider.access {
                    ProviderAccess::Key(place) => format!("hew now uses the key from: {place}"),
                    _ => String::new(),
                };
                let page = match provider.key_page.as_str() {
                    "" => String::new(),
                    page => format!("Get a key at {page}"),
                };
                caret = draw_field(provider, field, hint, &[&page, &place], body, buf, cx);
            }
            SetupStep::Address(provider, field, saving) => {
                let hint = if saving.is_some() {
                    "…"
                } else {
                    "type or paste it here"
                };
                let example = provider.address_example.as_deref().unwrap_or_default();
                let about = format!("The address of your account, such as {example}");
                caret = draw_field(provider, field, hint, &[&about], body, buf, cx);
            }
            SetupStep::SignIn(provider, progress) => draw_sign_in(provider, progress, body, buf, cx),
            SetupStep::Test(_, model, _) => {
                StyledRow::new(format!("  sending a test request to {model} …"), theme.dim)
                    .draw(body.x, body.y, body.width, buf);
            }
            SetupStep::Tested(_, model, answer) => {
                let (text, style) = match answer {
                    Ok(text) => (format!("{model}: {text}"), theme.good),
                    Err(error) => (format!("{model}: {}", error.with_hint()), theme.bad),
                };
                let has_failed = answer.is_err();
                let rows = wrap(&StyledRow::new(text, style), body.width.into(), &StyledRow::empty());
                for (row, y) in rows.iter().zip(body.y..body.bottom()) {
                    row.draw(body.x, y, body.width, buf);
                }
                if has_failed {
                    let used = u16::try_from(rows.len())
                        .unwrap_or(body.height)
                        .saturating_add(1)
                        .min(body.height);
                    let below = Rect::new(body.x, body.y + used, body.width, body.height - used);
                    self.draw_rows(below, buf, cx);
                }
            }
        }
        // The number of rows below is known only now.
        let foot = self.footer(area.width, cx);
        for (row, y) in foot.iter().zip(area.bottom() - low..area.bottom()) {
            row.draw(area.x, y, area.width, buf);
        }
        caret
    }
}

/// The name of a model that the list does not contain; `None` if nothing was typed.
fn unlisted_model(provider: &ProviderRow, typed: &str) -> Option<String> {
    let typed = typed.trim();
    let id = typed.strip_prefix(&format!("{}/", provider.name)).unwrap_or(typed);
    (!id.is_empty()).then(|| format!("{}/{id}", provider.name))
}

/// Draws a text field after the provider's title, with explanations below it.
fn draw_field(
    provider: &ProviderRow,
    field: &mut InputField,
    hint: &str,
    about: &[&str],
    area: Rect,
    buf: &mut Buffer,
    cx: &ViewContext<'_>,
) -> Option<Position> {
    let head = StyledRow::new(format!("{}: ", provider.title), cx.theme.accent);
    let left = u16::try_from(head.width()).unwrap_or(0).min(area.width / 2);
    head.draw(area.x, area.y, left, buf);
    let about = about.iter().filter(|text| !text.is_empty());
    let rows = about.flat_map(|text| {
        let row = StyledRow::new(*text, cx.theme.dim);
        wrap(&row, area.width.into(), &StyledRow::empty())
    });
    for (row, y) in rows.zip(area.y + 2..area.bottom()) {
        row.draw(area.x, y, area.width, buf);
    }
    let place = Rect::new(area.x + left, area.y, area.width - left, 1);
    field.draw(place, buf, cx.theme, hint)
}

/// Draws the code of a sign-in and the terms.
fn draw_sign_in(provider: &ProviderRow, progress: &SignInProgress, area: Rect, buf: &mut Buffer, cx: &ViewContext<'_>) {
    let theme = cx.theme;
    let mut rows = match progress {
        SignInProgress::Starting(_) => vec![StyledRow::new("  requesting a code …", theme.dim)],
        SignInProgress::Shown { page, code, .. } => vec![
            StyledRow::new("Open ", theme.text)
                .push(page.as_str(), theme.link)
                .push(" on any device and enter this code:", theme.text),
            StyledRow::empty(),
            StyledRow::new(format!("    {code}"), theme.strong),
            StyledRow::empty(),
            StyledRow::new("waiting …", theme.dim),
        ],
    };
    if let ProviderAccess::SignIn(terms) = &provider.access {
        rows.push(StyledRow::empty());
        rows.push(StyledRow::new(terms.as_str(), theme.dim));
    }
    let rows = rows
        .iter()
        .flat_map(|row| wrap(row, area.width.into(), &StyledRow::empty()));
    for (row, y) in rows.zip(area.y..area.bottom()) {
        row.draw(area.x, y, area.width, buf);
    }
}
