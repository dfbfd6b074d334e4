//! Formats a file as its language server does.

use std::sync::Arc;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Tool};

use crate::code_server::CodeServer;
use crate::project::Project;
use crate::rewriting;

pub(crate) struct FormatFile(pub(crate) Project, pub(crate) Arc<dyn CodeServer>);

/// Formats a file by its language server.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "file_path", alias = "filePath")]
    path: String,
}

impl Tool for FormatFile {
    const NAME: &'static str = "format_file";
    const ALIASES: &'static [&'static str] = &["lsp_format", "format_document"];
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.path.clone()
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        self.0.writing(&input.path)
    }

    async fn run(&self, input: Input, context: Context) -> Result<Output, Error> {
        let path = self.0.locate(&input.path)?.path().to_owned();
        let rewrites = self.1.format(&path).await.map_err(Error::Failed)?;
        if rewrites.is_empty() {
            return Ok(Output::text("it is formatted already").summary("nothing to change"));
        }
        rewriting::carry(&self.0, &context, rewrites, "formatted").await
    }
}
