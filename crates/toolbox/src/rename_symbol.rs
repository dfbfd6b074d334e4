//! Renames a symbol everywhere, as the language server sees it.

use std::sync::Arc;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Tool};

use crate::code_server::CodeServer;
use crate::definition;
use crate::project::Project;
use crate::rewriting;
use crate::symbols;

pub(crate) struct RenameSymbol(pub(crate) Project, pub(crate) Arc<dyn CodeServer>);

/// Renames a symbol and every use of it, by the language server.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(flatten)]
    symbol: definition::Input,
    #[serde(alias = "newName", alias = "new")]
    new_name: String,
}

impl Tool for RenameSymbol {
    const NAME: &'static str = "rename_symbol";
    const ALIASES: &'static [&'static str] = &["lsp_rename", "rename"];
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        format!("{} → {}", input.symbol.title(), input.new_name)
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        input.symbol.actions(&self.0)
    }

    async fn run(&self, input: Input, context: Context) -> Result<Output, Error> {
        let symbol = symbols::pin(&self.0, input.symbol.symbol(&self.0)?).await?;
        let rewrites = self.1.rename(&symbol, &input.new_name).await.map_err(Error::Failed)?;
        let done = format!("renamed {} to {}", symbol.name, input.new_name);
        rewriting::carry(&self.0, &context, rewrites, &done).await
    }
}
