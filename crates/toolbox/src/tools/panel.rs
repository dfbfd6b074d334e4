//! Opens and closes panels.

use std::sync::Arc;

use futures::future::join_all;
use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{CallContext, DynTool, Error, Output, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, erase};

use crate::panels::OpenPanels;
use crate::registry::{BuiltIn, ToolParts};

/// The tool that opens and closes panels.
pub(crate) struct PanelTool(pub(crate) OpenPanels);

/// Opens and closes panels: context that is kept up to date next to the conversation. There are todo, library,
/// statistics, tools, tree, repo_map (or repo_map:WORDS of the task), memories, notifications, logs, scratchpad, console,
/// diagnostics, file:PATH, git:ARGS, github:ARGS, console:JOB, skill:NAME, history:NUMBER (an earlier part of the
/// conversation in full).
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// Such as file:src/main.rs or git:status --short.
    #[serde(default)]
    open: Vec<String>,
    #[serde(default, alias = "ids")]
    close: Vec<String>,
}

impl BuiltIn for PanelTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        let panels = parts.options.panels.clone()?;
        panels.set_sources(parts.panel_sources());
        Some(erase(PanelTool(panels)))
    }
}

impl Tool for PanelTool {
    const NAME: &'static str = "panel";
    const ALIASES: &'static [&'static str] = &["panels", "dynamic_panel", "Close_panel", "open_panel", "close_panel"];
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Read,
        peers: &[(PeerAgent::ContextPilot, &["Close_panel", "dynamic_panel"])],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        let opened = input.open.iter().map(|name| format!("open {name}"));
        let closed = input.close.iter().map(|name| format!("close {name}"));
        opened.chain(closed).collect::<Vec<_>>().join(", ")
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        input.open.iter().flat_map(|name| self.0.actions(name)).collect()
    }

    async fn run(&self, input: Input, _: CallContext) -> Result<Output, Error> {
        let mut problems: Vec<String> = input
            .open
            .iter()
            .filter_map(|name| Some(self.0.open(name).err()?.to_string()))
            .collect();
        for name in &input.close {
            if !self.0.close(name) {
                problems.push(format!("no panel `{name}` is open"));
            }
        }
        if !problems.is_empty() {
            return Err(Error::Failed(problems.join("; ")));
        }
        join_all(input.open.iter().map(|name| self.0.load(name))).await;
        let names = self.0.names();
        Ok(match names.is_empty() {
            true => Output::text("No panel is open."),
            false => Output::text(format!("Open: {}. Their content follows.", names.join(", "))),
        }
        .with_summary(match names.len() {
            1 => "1 panel is open".to_owned(),
            many => format!("{many} panels are open"),
        }))
    }
}
