//! Renders panels as messages: as results of calls, or as text, depending on the model.

use super::PanelUpdate;
use super::recognition::CALL;
use crate::assembly::history::format_time;
use crate::budget::{SizeRequest, TokenBudget, allocate, cut_middle};
use crate::tokens::TokenizerFamily;
use model::{Block, CallId, Info, Message, Part, Role, ToolOutcome};
use serde::Deserialize;
use serde_json::json;
use session::Time;
use std::sync::Arc;

/// How panels are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PanelForm {
    /// As results of synthetic calls: the model treats them as requested data.
    Calls,
    /// As text.
    Text,
}

impl PanelForm {
    /// Returns the form for a model. Reasoning models must sign their calls, and models without tools make none.
    pub fn of(info: &Info) -> Self {
        match info.features.tools && !info.features.reasoning {
            true => PanelForm::Calls,
            false => PanelForm::Text,
        }
    }
}

/// Texts around panels.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PanelTexts {
    /// Before the first panel.
    pub header: String,
    /// Before a panel, with its name and the time of its last change.
    pub open: String,
    /// After a panel.
    pub close: String,
    /// After the last panel of a full layout, with the date.
    pub footer: String,
    /// Replaces a closed panel.
    pub gone: String,
    /// At the beginning of a history panel.
    pub history: String,
    /// Replaces a change that is too long to show.
    pub outdated: String,
    /// Before the repeated system prompt.
    pub repeated: String,
    /// Name of the tool in synthetic calls.
    pub tool: String,
}

impl PanelTexts {
    /// Returns the built-in texts.
    pub fn load() -> Self {
        // A test parses the built-in file.
        serde_yaml_ng::from_str(include_str!("../../templates/panels.yaml")).unwrap_or_default()
    }
}

/// Maximum tokens of one panel.
const PAGE: u64 = 25_000;
/// Maximum bytes of panels if the window is unknown.
const UNKNOWN: u64 = 20_000;

/// Which panels are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PanelExtent {
    All,
    Changed,
}

/// Returns the messages that show these panels. With `all`, they are a complete layout, which ends with a footer.
pub fn render(
    updates: &[PanelUpdate],
    all: bool,
    form: PanelForm,
    family: TokenizerFamily,
    budget: Option<TokenBudget>,
    at: Time,
) -> Vec<Arc<Message>> {
    if updates.is_empty() {
        return Vec::new();
    }
    let texts = PanelTexts::load();
    let extent = if all { PanelExtent::All } else { PanelExtent::Changed };
    let bodies = bodies(updates, &texts, family, budget);
    let footer = texts.footer.replace("{date}", &format_time(at)[..10]);
    let messages = match form {
        PanelForm::Text => vec![as_text(&texts.header, &bodies, &footer, extent)],
        PanelForm::Calls => as_calls(updates, &texts, bodies, &footer, extent, at),
    };
    messages.into_iter().map(Arc::new).collect()
}

/// Renders each panel within its share of the budget.
fn bodies(
    updates: &[PanelUpdate],
    texts: &PanelTexts,
    family: TokenizerFamily,
    budget: Option<TokenBudget>,
) -> Vec<String> {
    let requested: Vec<SizeRequest> = updates
        .iter()
        .map(|update| SizeRequest {
            limit: Some(PAGE),
            ..SizeRequest::of_size(update.text.as_deref().map_or(0, |text| family.estimate(text)))
        })
        .collect();
    let rooms = allocate(&requested, budget.map_or(UNKNOWN, TokenBudget::panels));
    let shown = updates
        .iter()
        .zip(requested.iter().zip(rooms))
        .map(|(update, (flex, room))| {
            let body = match &update.text {
                None => texts.gone.clone(),
                Some(text) if flex.requested > room => {
                    // Cut proportionally, so that dense texts are cut to fewer bytes.
                    let bytes = text.len() as u64 * room / flex.requested.max(1);
                    cut_middle(text.trim_end(), bytes as usize)
                }
                Some(text) => text.trim_end().to_owned(),
            };
            let open = texts
                .open
                .replace("{name}", &update.name)
                .replace("{time}", &format_time(update.since));
            format!("{open}\n{body}\n{}", texts.close)
        });
    shown.collect()
}

fn as_text(header: &str, bodies: &[String], footer: &str, extent: PanelExtent) -> Message {
    let mut text = match extent {
        PanelExtent::All => format!("{header}\n"),
        PanelExtent::Changed => String::new(),
    };
    text.push_str(&bodies.join("\n"));
    if extent == PanelExtent::All {
        text.push_str(&format!("\n{footer}"));
    }
    Message::user(text)
}

/// One reply with a call per panel, and their results.
fn as_calls(
    updates: &[PanelUpdate],
    texts: &PanelTexts,
    bodies: Vec<String>,
    footer: &str,
    extent: PanelExtent,
    at: Time,
) -> Vec<Message> {
    let id = |index: usize| CallId::from(format!("{CALL}{:x}_{index}", at.0));
    let mut messages = Vec::with_capacity(updates.len() + 3);
    if extent == PanelExtent::All {
        messages.push(Message::user(texts.header.clone()));
    }
    let calls = updates.iter().enumerate().map(|(index, update)| Part::ToolCall {
        id: id(index),
        name: texts.tool.clone(),
        input: json!({"open": [update.name]}),
        malformed: None,
        replay: None,
    });
    messages.push(Message {
        role: Role::Assistant,
        parts: calls.collect(),
    });
    let results = bodies.into_iter().enumerate().map(|(index, body)| Message {
        role: Role::User,
        parts: vec![Part::ToolResult {
            id: id(index),
            name: texts.tool.clone(),
            content: vec![Block::text(body)],
            outcome: ToolOutcome::Ok,
        }],
    });
    messages.extend(results);
    if extent == PanelExtent::All {
        messages.push(Message::user(footer));
    }
    messages
}
