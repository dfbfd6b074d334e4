//! What a request was built from, besides the items of the session: enough to build it again, unchanged or with a change.

use super::request::{RequestFrame, RequestOptions};
use crate::budget::TokenBudget;
use crate::system_prompt::{PromptEnvironment, SystemPromptInput, TemplateOverrides, system_prompt};
use crate::tokens::TokenizerFamily;
use crate::{CallProtocol, SystemPrompt};
use model::{Info, Request, ToolSpec};
use policy::Mode;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a system prompt was rendered from, besides mode, model and tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemPromptFacts {
    /// Facts about the environment, with the rules.
    pub environment: PromptEnvironment,
    /// The templates of the user.
    pub overrides: TemplateOverrides,
}

/// What a request of a turn was built from, besides the items of the session and the options of the request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RequestInputs {
    /// The system prompt.
    pub source: SystemPromptFacts,
    /// The mode.
    pub mode: Mode,
    /// The model, as the session knows it.
    pub model: Info,
    /// The listed tools, if the request itself does not have them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
    /// Names of tools that the model can search for.
    pub deferred: Vec<String>,
    /// Blocks of the system prompt that were added after rendering.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub appended: Vec<String>,
    /// The token budget.
    pub budget: Option<u64>,
    /// The provider's settings that determine the body, as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<String>,
}

/// A frame that was rendered again.
#[derive(Debug, Clone)]
pub struct RebuiltFrame {
    /// The frame.
    pub frame: RequestFrame,
    /// The system prompt, with the places of its sections.
    pub system: SystemPrompt,
}

impl RequestInputs {
    /// Renders the frame of a request again. The options are those of the recorded request.
    pub fn rebuild(&self, recorded: &Request) -> RebuiltFrame {
        let tools: Arc<[ToolSpec]> = match self.tools.is_empty() {
            true => Arc::clone(&recorded.tools),
            false => self.tools.clone().into(),
        };
        let deferred: Vec<&str> = self.deferred.iter().map(String::as_str).collect();
        let input = SystemPromptInput {
            mode: &self.mode,
            model: &self.model,
            listed: &tools,
            deferred: &deferred,
        };
        let system = system_prompt(&self.source.environment, &input, &self.source.overrides);
        let family = TokenizerFamily::of(&self.model);
        let appended = self.appended.iter().map(|text| Arc::from(text.as_str()));
        let frame = RequestFrame {
            tools,
            system: system.blocks.iter().cloned().chain(appended).collect(),
            affinity: recorded.affinity.clone(),
            call: RequestOptions {
                effort: recorded.effort,
                temperature: recorded.temperature,
                max_output: recorded.max_output,
                output_schema: recorded.output_schema.clone(),
                options: recorded.options.clone(),
            },
            protocol: CallProtocol::of(&self.model),
            family,
            budget: self.budget.map(|tokens| TokenBudget { family, tokens }),
        };
        RebuiltFrame { frame, system }
    }
}

/// Where two requests differ: the section, in the words of the ledger. `None` if they are equal.
pub fn differing_section(recorded: &Request, rebuilt: &Request, system: &SystemPrompt) -> Option<String> {
    if recorded.tools != rebuilt.tools {
        let names = |request: &Request| -> Vec<String> { request.tools.iter().map(|tool| tool.name.clone()).collect() };
        let (before, after) = (names(recorded), names(rebuilt));
        let place = recorded
            .tools
            .iter()
            .zip(rebuilt.tools.iter())
            .position(|(one, other)| one != other);
        let place = place.unwrap_or(before.len().min(after.len()));
        let name = after.get(place).or(before.get(place)).cloned().unwrap_or_default();
        return Some(format!("tools/{name}"));
    }
    for (number, block) in rebuilt.system.iter().enumerate() {
        let before = recorded.system.get(number).map_or("", |block| block);
        if before == &**block {
            continue;
        }
        let offset = before
            .bytes()
            .zip(block.bytes())
            .take_while(|(one, other)| one == other)
            .count();
        // A catalogue of tools in the text is a block of its own.
        let text = system.blocks.iter().position(|own| own == block);
        let starts = text.map(|text| system.places.iter().filter(move |place| place.block == text));
        let section = starts.into_iter().flatten().rfind(|place| place.start <= offset);
        return Some(match section {
            Some(place) => format!("system/{}", place.name),
            None => format!("system/{number}"),
        });
    }
    if recorded.system.len() != rebuilt.system.len() {
        return Some(format!("system/{}", rebuilt.system.len()));
    }
    let messages = recorded.messages.iter().zip(rebuilt.messages.iter());
    let place = messages.clone().position(|(one, other)| one != other);
    if let Some(place) = place.or((recorded.messages.len() != rebuilt.messages.len()).then(|| messages.count())) {
        return Some(format!("messages/{place}"));
    }
    if recorded.breakpoints != rebuilt.breakpoints {
        return Some("breakpoints".into());
    }
    None
}
