//! Panels as messages: as results of calls, or as text, whichever the provider takes.

use super::Fresh;
use super::named::CALL;
use crate::budget::{Budget, Flex, cut, lay_out};
use crate::history::moment;
use crate::tokens::Family;
use model::{Block, CallId, Info, Message, Outcome, Part, Role};
use serde::Deserialize;
use serde_json::json;
use session::Time;
use std::sync::Arc;

/// How panels are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As calls that the model is said to have made, and their results: it takes them as data that it asked for.
    Calls,
    /// As text.
    Text,
}

impl Form {
    /// How panels are shown to a model. One that thinks has to sign its calls, and one without tools makes none.
    pub fn of(info: &Info) -> Self {
        match info.features.tools && !info.features.reasoning {
            true => Form::Calls,
            false => Form::Text,
        }
    }
}

/// What stands around panels, from a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Texts {
    /// Before the first panel.
    pub header: String,
    /// Before a panel, with its name and since when it is as it is.
    pub open: String,
    /// After a panel.
    pub close: String,
    /// After the last panel, where all are shown, with the date.
    pub footer: String,
    /// Instead of a panel that is closed.
    pub gone: String,
    /// At the beginning of a panel of history.
    pub history: String,
    /// Before the system prompt, where it is repeated.
    pub repeated: String,
    /// What the tool is called whose results panels are.
    pub tool: String,
}

impl Texts {
    /// The texts that are built in.
    pub fn load() -> Self {
        // A test reads them; there is nothing to say about a file that is part of the program.
        serde_yaml_ng::from_str(include_str!("../../templates/panels.yaml")).unwrap_or_default()
    }
}

/// A single panel takes at most so many tokens.
const PAGE: u64 = 25_000;
/// At most so many bytes of panels where nobody knows the window.
const UNKNOWN: u64 = 20_000;

/// Which of the panels are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    All,
    Changed,
}

/// The messages that show these panels. `all` says whether these are all of them, laid out anew: then a footer ends them.
pub fn render(
    fresh: &[Fresh],
    all: bool,
    form: Form,
    family: Family,
    budget: Option<Budget>,
    at: Time,
) -> Vec<Arc<Message>> {
    if fresh.is_empty() {
        return Vec::new();
    }
    let texts = Texts::load();
    let extent = if all { Extent::All } else { Extent::Changed };
    let bodies = bodies(fresh, &texts, family, budget);
    let footer = texts.footer.replace("{date}", &moment(at)[..10]);
    let messages = match form {
        Form::Text => vec![as_text(&texts.header, &bodies, &footer, extent)],
        Form::Calls => as_calls(fresh, &texts, bodies, &footer, extent, at),
    };
    messages.into_iter().map(Arc::new).collect()
}

/// Each panel between its opening and its close, in the room that there is for it.
fn bodies(fresh: &[Fresh], texts: &Texts, family: Family, budget: Option<Budget>) -> Vec<String> {
    let wants: Vec<Flex> = fresh
        .iter()
        .map(|fresh| Flex {
            limit: Some(PAGE),
            ..Flex::wanting(fresh.text.as_deref().map_or(0, |text| family.estimate(text)))
        })
        .collect();
    let rooms = lay_out(&wants, budget.map_or(UNKNOWN, Budget::panels));
    let shown = fresh.iter().zip(wants.iter().zip(rooms)).map(|(fresh, (flex, room))| {
        let body = match &fresh.text {
            None => texts.gone.clone(),
            Some(text) if flex.wants > room => {
                // In proportion, so that dense texts are cut to fewer bytes.
                let bytes = text.len() as u64 * room / flex.wants.max(1);
                cut(text.trim_end(), bytes as usize)
            }
            Some(text) => text.trim_end().to_owned(),
        };
        let open = texts
            .open
            .replace("{name}", &fresh.name)
            .replace("{time}", &moment(fresh.since));
        format!("{open}\n{body}\n{}", texts.close)
    });
    shown.collect()
}

fn as_text(header: &str, bodies: &[String], footer: &str, extent: Extent) -> Message {
    let mut text = match extent {
        Extent::All => format!("{header}\n"),
        Extent::Changed => String::new(),
    };
    text.push_str(&bodies.join("\n"));
    if extent == Extent::All {
        text.push_str(&format!("\n{footer}"));
    }
    Message::user(text)
}

/// One reply with a call for each panel, and their results.
fn as_calls(
    fresh: &[Fresh],
    texts: &Texts,
    bodies: Vec<String>,
    footer: &str,
    extent: Extent,
    at: Time,
) -> Vec<Message> {
    let id = |place: usize| CallId::from(format!("{CALL}{:x}_{place}", at.0));
    let mut messages = Vec::with_capacity(fresh.len() + 3);
    if extent == Extent::All {
        messages.push(Message::user(texts.header.clone()));
    }
    let calls = fresh.iter().enumerate().map(|(place, fresh)| Part::ToolCall {
        id: id(place),
        name: texts.tool.clone(),
        input: json!({"open": [fresh.name]}),
        malformed: None,
        replay: None,
    });
    messages.push(Message {
        role: Role::Assistant,
        parts: calls.collect(),
    });
    let results = bodies.into_iter().enumerate().map(|(place, body)| Message {
        role: Role::User,
        parts: vec![Part::ToolResult {
            id: id(place),
            name: texts.tool.clone(),
            content: vec![Block::text(body)],
            outcome: Outcome::Ok,
        }],
    });
    messages.extend(results);
    if extent == Extent::All {
        messages.push(Message::user(footer));
    }
    messages
}
