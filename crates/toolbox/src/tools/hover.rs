//! Shows the language server's information about a symbol.

use std::sync::Arc;

use policy::Action;
use serde_json::{Map, Value};
use tool::{CallContext, DynTool, Error, Output, Tool, ToolEffect, ToolFacts, ToolKind, ToolSet, erase};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::code_server::CodeServer;
use crate::support::project::Project;
use crate::support::symbols;

pub(crate) struct HoverTool(pub(crate) Project, pub(crate) Arc<dyn CodeServer>);

/// Shows a symbol's type and documentation.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Input {
    #[serde(flatten)]
    symbol: symbols::SymbolInput,
}

impl BuiltIn for HoverTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(HoverTool(
            parts.project.clone(),
            parts.options.code_server.clone()?,
        )))
    }
}

impl Tool for HoverTool {
    const NAME: &'static str = "hover";
    const ALIASES: &'static [&'static str] = &["lsp_hover", "symbol_info"];
    const EFFECT: ToolEffect = ToolEffect::ReadOnly;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Read,
        sets: &[ToolSet::AskProfile],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.symbol.title()
    }

    fn adapt(&self, _called: &str, input: &mut Map<String, Value>) {
        symbols::adapt(input);
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        input.symbol.actions(&self.0)
    }

    async fn run(&self, input: Input, _: CallContext) -> Result<Output, Error> {
        let symbol = symbols::resolve_location(&self.0, input.symbol.symbol(&self.0)?).await?;
        match self.1.hover(&symbol).await.filter(|text| !text.trim().is_empty()) {
            Some(text) => Ok(Output::text(text.trim())),
            None => Err(Error::Failed(format!(
                "the language server has no information about {}",
                symbol.name
            ))),
        }
    }
}
