//! Switches the mode.

use std::sync::Arc;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tool::{
    CallContext, DynTool, Error, NextStep, Output, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, ToolListing, erase,
};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::arguments;
use crate::support::mode_names::{ModeName, find_mode, list_modes};

pub(crate) struct SwitchModeTool {
    modes: Vec<ModeName>,
}

/// Switches to another mode, if the user agrees: code, architect (plans), ask, debug, or another that you know of.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "mode_slug")]
    mode: String,
    /// Reason, for the user.
    reason: Option<String>,
}

impl BuiltIn for SwitchModeTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        let modes = &parts.options.modes;
        (!modes.is_empty()).then(|| erase(SwitchModeTool { modes: modes.clone() }))
    }
}

impl Tool for SwitchModeTool {
    const NAME: &'static str = "switch_mode";
    // Later calls in the same reply are still decided in the old mode.
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    const FACTS: ToolFacts = ToolFacts {
        listing: ToolListing::Listed,
        kind: ToolKind::SwitchMode,
        peers: &[
            (PeerAgent::RooCode, &["switch_mode"]),
            (PeerAgent::Copilot, &["switch_agent"]),
            (PeerAgent::ContextPilot, &["agent_load"]),
        ],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        match &input.reason {
            Some(reason) => format!("{}: {reason}", input.mode),
            None => input.mode.clone(),
        }
    }

    fn adapt(&self, _called: &str, input: &mut Map<String, Value>) {
        arguments::rename(input, &["agentName", "agent_name", "agent", "id"], "mode");
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        // Do not request approval for a mode that does not exist.
        let mode = find_mode(&self.modes, &input.mode).into_iter();
        mode.map(|mode| Action::SwitchMode { to: mode.into() }).collect()
    }

    async fn run(&self, input: Input, _: CallContext) -> Result<Output, Error> {
        let Some(mode) = find_mode(&self.modes, &input.mode) else {
            let names = list_modes(&self.modes);
            return Err(Error::Failed(format!(
                "there is no mode `{}`; the modes are {names}",
                input.mode
            )));
        };
        let text = format!("You now work in the mode `{mode}`.");
        Ok(Output {
            next: NextStep::SwitchMode(mode.into()),
            ..Output::text(text)
        })
    }
}
