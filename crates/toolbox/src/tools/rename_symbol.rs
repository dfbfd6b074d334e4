//! Renames a symbol everywhere, with the language server.

use std::sync::Arc;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tool::{CallContext, DynTool, Error, Output, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, erase};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::code_server::CodeServer;
use crate::support::edits::rewrite;
use crate::support::project::Project;
use crate::support::symbols;

pub(crate) struct RenameSymbolTool(pub(crate) Project, pub(crate) Arc<dyn CodeServer>);

/// Renames a symbol and all its uses, with the language server.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(flatten)]
    symbol: symbols::SymbolInput,
    #[serde(alias = "newName", alias = "new")]
    new_name: String,
}

impl BuiltIn for RenameSymbolTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(RenameSymbolTool(
            parts.project.clone(),
            parts.options.code_server.clone()?,
        )))
    }
}

impl Tool for RenameSymbolTool {
    const NAME: &'static str = "rename_symbol";
    const ALIASES: &'static [&'static str] = &["lsp_rename", "rename"];
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Edit,
        peers: &[
            (PeerAgent::Zed, &["rename_symbol"]),
            (PeerAgent::Crush, &["lsp_rename"]),
            (PeerAgent::Copilot, &["vscode_renameSymbol"]),
        ],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        format!("{} → {}", input.symbol.title(), input.new_name)
    }

    fn adapt(&self, _called: &str, input: &mut Map<String, Value>) {
        symbols::adapt(input);
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        input.symbol.actions(&self.0)
    }

    async fn run(&self, input: Input, context: CallContext) -> Result<Output, Error> {
        let symbol = symbols::resolve_location(&self.0, input.symbol.symbol(&self.0)?).await?;
        let rewrites = self.1.rename(&symbol, &input.new_name).await?;
        let done = format!("renamed {} to {}", symbol.name, input.new_name);
        rewrite::apply_rewrites(&self.0, &context, rewrites, &done).await
    }
}
