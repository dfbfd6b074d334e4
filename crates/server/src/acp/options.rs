//! Session options for an editor: mode, model and access level.

use acp::schema::{
    Error, SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption, SessionMode, SessionModeState,
};
use policy::AccessLevel;
use serde_json::Value;
use session::Command;

use super::{SelectOption, SelectState};

/// The options and their current values.
#[derive(Debug, Clone, Default)]
pub(super) struct SessionOptions {
    pub(super) modes: SelectState,
    pub(super) models: SelectState,
    pub(super) levels: SelectState,
}

const MODE: &str = "mode";
const MODEL: &str = "model";
const LEVEL: &str = "permission";

impl SessionOptions {
    /// The modes, for older editors.
    pub(super) fn modes(&self) -> SessionModeState {
        let modes = self.modes.all.iter().map(|choice| {
            let about = Some(choice.description.clone()).filter(|about| !about.is_empty());
            SessionMode::new(choice.name.clone(), capitalized(&choice.name)).description(about)
        });
        SessionModeState::new(self.modes.current.clone(), modes.collect())
    }

    /// All options.
    pub(super) fn options(&self) -> Vec<SessionConfigOption> {
        let select = |id: &'static str, name: &'static str, chosen: &SelectState, shown: fn(&str) -> String| {
            let options: Vec<SessionConfigSelectOption> = chosen.all.iter().map(|it| option(it, shown)).collect();
            SessionConfigOption::select(id, name, chosen.current.clone(), options)
        };
        vec![
            select(MODE, "Mode", &self.modes, capitalized).category(SessionConfigOptionCategory::Mode),
            select(MODEL, "Model", &self.models, str::to_owned).category(SessionConfigOptionCategory::Model),
            select(LEVEL, "Permissions", &self.levels, capitalized)
                .description("What hew may do without approval.".to_owned()),
        ]
    }

    /// Selects an option and returns the command for the session.
    pub(super) fn select(&mut self, option: &str, value: &str) -> Result<Command, Error> {
        let wrong = |why: String| Error::invalid_params().data(Value::from(why));
        let chosen = match option {
            MODE => &mut self.modes,
            MODEL => &mut self.models,
            LEVEL => &mut self.levels,
            _ => return Err(wrong(format!("unknown option `{option}`"))),
        };
        if !chosen.all.iter().any(|choice| choice.name == value) {
            let names: Vec<&str> = chosen.all.iter().map(|choice| choice.name.as_str()).collect();
            return Err(wrong(format!(
                "unknown {option} `{value}`; available: {}",
                names.join(", ")
            )));
        }
        chosen.current = value.to_owned();
        let name = value.to_owned();
        Ok(match option {
            MODE => Command::SetMode { name },
            MODEL => Command::SetModel { name },
            _ => Command::SetLevel {
                level: parse_level(value),
            },
        })
    }
}

fn parse_level(name: &str) -> AccessLevel {
    match name {
        "read-only" => AccessLevel::ReadOnly,
        "full" => AccessLevel::Full,
        _ => AccessLevel::Workspace,
    }
}

fn option(choice: &SelectOption, shown: fn(&str) -> String) -> SessionConfigSelectOption {
    let about = Some(choice.description.clone()).filter(|about| !about.is_empty());
    SessionConfigSelectOption::new(choice.name.clone(), shown(&choice.name)).description(about)
}

fn capitalized(name: &str) -> String {
    let mut letters = name.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}
