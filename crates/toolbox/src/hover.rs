//! Shows what a language server knows of a symbol.

use std::sync::Arc;

use policy::Action;
use tool::{Context, Effect, Error, Output, Tool};

use crate::code_server::CodeServer;
use crate::definition::Input;
use crate::project::Project;
use crate::symbols;

pub(crate) struct Hover(pub(crate) Project, pub(crate) Arc<dyn CodeServer>);

/// Shows a symbol's type and documentation.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Asked {
    #[serde(flatten)]
    symbol: Input,
}

impl Tool for Hover {
    const NAME: &'static str = "hover";
    const ALIASES: &'static [&'static str] = &["lsp_hover", "symbol_info"];
    const EFFECT: Effect = Effect::Reads;
    type Input = Asked;

    fn title(&self, input: &Asked) -> String {
        input.symbol.title()
    }

    fn actions(&self, input: &Asked) -> Vec<Action> {
        input.symbol.actions(&self.0)
    }

    async fn run(&self, input: Asked, _: Context) -> Result<Output, Error> {
        let symbol = symbols::pin(&self.0, input.symbol.symbol(&self.0)?).await?;
        match self.1.hover(&symbol).await.filter(|text| !text.trim().is_empty()) {
            Some(text) => Ok(Output::text(text.trim())),
            None => Err(Error::Failed(format!(
                "the language server knows nothing of {}",
                symbol.name
            ))),
        }
    }
}
