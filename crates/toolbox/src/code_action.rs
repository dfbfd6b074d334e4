//! What a language server offers to do about a line, such as a missing import; carries one of the offers out.

use std::sync::Arc;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Tool};

use crate::code_server::{CodeServer, Remedy};
use crate::project::Project;
use crate::rewriting;
use crate::text::count;

pub(crate) struct CodeAction(pub(crate) Project, pub(crate) Arc<dyn CodeServer>);

/// Lists quick fixes and refactorings of the language server for a line, or applies one.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "file_path", alias = "filePath")]
    path: String,
    line: usize,
    /// The title of the one to apply; lists them without.
    apply: Option<String>,
}

impl Tool for CodeAction {
    const NAME: &'static str = "code_action";
    const ALIASES: &'static [&'static str] = &["lsp_code_action", "quick_fix"];
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        let place = format!("{}:{}", input.path, input.line);
        match &input.apply {
            Some(title) => format!("{place} {title}"),
            None => place,
        }
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        self.0.reading(&input.path)
    }

    async fn run(&self, input: Input, context: Context) -> Result<Output, Error> {
        let path = self.0.locate(&input.path)?.path().to_owned();
        let offers = self.1.remedies(&path, input.line).await.map_err(Error::Failed)?;
        let Some(wanted) = input.apply else {
            return Ok(list(&offers));
        };
        match offers.into_iter().find(|offer| offer.title == wanted) {
            Some(offer) => rewriting::carry(&self.0, &context, offer.rewrites, &offer.title).await,
            None => Err(Error::Failed(format!(
                "there is no \"{wanted}\" here; list them without apply"
            ))),
        }
    }
}

fn list(offers: &[Remedy]) -> Output {
    let text: String = offers.iter().map(|offer| format!("{}\n", offer.title)).collect();
    let found = count(offers.len(), "action");
    Output::text(format!("{text}[{found}]")).summary(found)
}
