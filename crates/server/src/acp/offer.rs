//! What an editor may choose in a session: mode, model, and what is allowed without asking.

use acp::schema::{
    Error, SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption, SessionMode, SessionModeState,
};
use policy::Level;
use serde_json::Value;
use session::Command;

use super::{Choice, Chosen};

/// What can be chosen, and what is.
#[derive(Debug, Clone, Default)]
pub(super) struct Offer {
    pub(super) modes: Chosen,
    pub(super) models: Chosen,
    pub(super) levels: Chosen,
}

const MODE: &str = "mode";
const MODEL: &str = "model";
const LEVEL: &str = "permission";

impl Offer {
    /// The modes, the way older editors know them.
    pub(super) fn modes(&self) -> SessionModeState {
        let modes = self.modes.all.iter().map(|choice| {
            let about = Some(choice.about.clone()).filter(|about| !about.is_empty());
            SessionMode::new(choice.name.clone(), capital(&choice.name)).description(about)
        });
        SessionModeState::new(self.modes.current.clone(), modes.collect())
    }

    /// All of it.
    pub(super) fn options(&self) -> Vec<SessionConfigOption> {
        let select = |id: &'static str, name: &'static str, chosen: &Chosen, shown: fn(&str) -> String| {
            let options: Vec<SessionConfigSelectOption> = chosen.all.iter().map(|it| option(it, shown)).collect();
            SessionConfigOption::select(id, name, chosen.current.clone(), options)
        };
        vec![
            select(MODE, "Mode", &self.modes, capital).category(SessionConfigOptionCategory::Mode),
            select(MODEL, "Model", &self.models, str::to_owned).category(SessionConfigOptionCategory::Model),
            select(LEVEL, "Permissions", &self.levels, capital)
                .description("What hew may do without asking.".to_owned()),
        ]
    }

    /// Chooses something. The command makes the session do so.
    pub(super) fn choose(&mut self, option: &str, value: &str) -> Result<Command, Error> {
        let wrong = |why: String| Error::invalid_params().data(Value::from(why));
        let chosen = match option {
            MODE => &mut self.modes,
            MODEL => &mut self.models,
            LEVEL => &mut self.levels,
            _ => return Err(wrong(format!("there is no option `{option}`"))),
        };
        if !chosen.all.iter().any(|choice| choice.name == value) {
            let names: Vec<&str> = chosen.all.iter().map(|choice| choice.name.as_str()).collect();
            return Err(wrong(format!(
                "there is no {option} `{value}`; there are {}",
                names.join(", ")
            )));
        }
        chosen.current = value.to_owned();
        let name = value.to_owned();
        Ok(match option {
            MODE => Command::SetMode { name },
            MODEL => Command::SetModel { name },
            _ => Command::SetLevel { level: level(value) },
        })
    }
}

fn level(name: &str) -> Level {
    match name {
        "read-only" => Level::ReadOnly,
        "full" => Level::Full,
        _ => Level::Workspace,
    }
}

fn option(choice: &Choice, shown: fn(&str) -> String) -> SessionConfigSelectOption {
    let about = Some(choice.about.clone()).filter(|about| !about.is_empty());
    SessionConfigSelectOption::new(choice.name.clone(), shown(&choice.name)).description(about)
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}
